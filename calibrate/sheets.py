"""CSV that is safe to open in a spreadsheet, and comes back unharmed.

A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break for a formula, whatever quotation
marks stand round it (OWASP, "CSV Injection"), and one that looks like a number or a date for that. Such a text gets an
apostrophe in front, which spreadsheets know as "this is text"; so does a text that begins with one, so that taking one
off gives back what it was.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence

Cell = str | int | float | None
DANGEROUS = tuple("=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20")
"""First characters of a cell that may run as a formula (the last four are full-width forms), and the mark itself."""
LIKE_A_NUMBER = re.compile(r"\.?\d[\d\s./:,%eE+-]*")
PLAIN_NUMBER = re.compile(r"0|[1-9]\d{0,14}", re.ASCII)
"""Comes back from every spreadsheet as it was."""


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet runs or rewrites."""
    first = text.lstrip(" ")[:1]
    rewritten = LIKE_A_NUMBER.fullmatch(text) and not PLAIN_NUMBER.fullmatch(text)
    return "'" + text if first and (first in DANGEROUS or text[0] in DANGEROUS or rewritten) else text


def unguarded(cell: str) -> str:
    """The text that `guarded` was given."""
    return cell[1:] if cell.startswith("'") else cell


def sheet(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """A CSV file in UTF-8 with the mark that spreadsheets know it by. Texts are quoted and guarded; numbers stay numbers;
    null is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    for row in (header, *rows):
        writer.writerow([guarded(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row])
    return out.getvalue().encode("utf-8-sig", "replace")

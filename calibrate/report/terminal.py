"""Sections as plain text for a terminal."""

import textwrap
from collections.abc import Sequence

from calibrate.report.shown import Section

WIDTH = 120


def terminal(sections: Sequence[Section]) -> str:
    parts = []
    for section in sections:
        parts.append(plain(section.title))
        for text in section.text:
            parts += textwrap.wrap(plain(text), WIDTH, initial_indent="  ", subsequent_indent="  ")
        if section.rows:
            parts += _aligned([section.header, *section.rows])
        parts.append("")
    return "\n".join(parts)


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others too: cells hold words as well as numbers."""
    cells = [[plain(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells]


def plain(text: str) -> str:
    """On one line, and without control characters: a name that comes from data must not steer the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

r"""Sections as LaTeX: tables in the manner of booktabs, to \input or to paste into a paper. Names in them come from data, so
every text is escaped."""

import re
from collections.abc import Sequence

from calibrate.report.shown import Section

ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "-{}",  # two of them would become a dash
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
}
MINUS = re.compile(r"(?<![^\s(])-\{\}(?=\d)")
"""A hyphen that is the sign of a number."""
FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
"""A table wider than the text is shrunk to its width."""
NUMBER = re.compile(r"[-+]?[\d.,]+%?\*?")


def latex(sections: Sequence[Section]) -> str:
    """Each table with its title as caption and its notes below. Needs booktabs, graphicx, and textcomp in an old LaTeX."""
    head = (
        "% Made by `python -m calibrate`. In the preamble: \\usepackage{booktabs,graphicx} \\usepackage[T1]{fontenc}\n"
    )
    tables = [_table(s, number) for number, s in enumerate((s for s in sections if s.rows), 1)]
    return "\n".join([head, *tables])


def escape(text: str) -> str:
    """The text as it stands, on one line, without anything that LaTeX reads."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return MINUS.sub("$-$", "".join(ESCAPES.get(c, c) for c in flat))


def _table(section: Section, number: int) -> str:
    columns = "".join("r" if _numbers(column) else "l" for column in zip(*section.rows, strict=True))
    label = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")[:40]
    lines = [
        r"\begin{table}[htbp]",
        r"  \centering\small",
        rf"  \caption{{{escape(section.title)}}}",
        rf"  \label{{tab:calibrate-{number}-{label}}}\par\smallskip",
        rf"  {FITTED}\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"    \toprule",
        f"    {_line(section.header)}",
        r"    \midrule",
        *(f"    {_line(row)}" for row in section.rows),
        r"    \bottomrule",
        r"  \end{tabular}}",
        *(rf"  \par\smallskip\footnotesize {escape(text)}" for text in section.text),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"


def _numbers(column: Sequence[str]) -> bool:
    return any(column) and all(cell in ("", "-") or NUMBER.fullmatch(cell) for cell in column)

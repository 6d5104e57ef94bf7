"""Every figure of metrics.json as rows of CSV files that are safe to open in a spreadsheet: one file for each of its parts."""

from collections.abc import Iterator, Mapping
from typing import Any

from calibrate.sheets import Cell, sheet

Json = dict[str, Any]
FIGURE = {"value", "low", "high", "n", "n_problems", "method"}
COLUMNS = ("value", "low", "high", "n", "n_problems", "method")
REMARKS = ("why", "degenerate", "warning")
LEVELS = {
    "human_gold": ("by", "group", "figure", "tag"),
    "planted": ("by", "group", "figure", "tag"),
    "final_answers": ("by", "group", "figure"),
    "judges": ("judge", "part", "of", "figure"),
    "human_human": ("part", "one", "other", "of", "figure"),
    "differences": ("between", "of", "one", "other", "figure"),
}
"""What the keys on the way to a figure are called; further ones, and those of other parts, are numbered."""


def tables(metrics: Json) -> dict[str, bytes]:
    """File name and content of each part that holds figures."""
    found = {}
    for part, block in metrics.items():
        rows = list(_figures(block, ()))
        if not rows:
            continue
        depth = max(len(path) for path, _ in rows)
        known = LEVELS.get(part, ())
        header = [*known, *(f"level {i + 1}" for i in range(len(known), depth))]
        lines = [[*path, *[""] * (len(header) - len(path)), *_cells(figure)] for path, figure in rows]
        found[f"{part}.csv"] = sheet([*header, *COLUMNS, "remark"], lines)
    return found


def _figures(block: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Every figure with the keys that lead to it; `overall` has no group, and takes its place all the same."""
    if isinstance(block, Mapping):
        if set(block) >= FIGURE:
            yield path, dict(block)
        for key, value in block.items():
            step = (str(key), "") if path == () and key == "overall" else (str(key),)
            yield from _figures(value, (*path, *step))
    elif isinstance(block, list):
        for number, value in enumerate(block, 1):
            yield from _figures(value, (*path, str(number)))


def _cells(figure: Json) -> list[Cell]:
    return [*(figure[c] for c in COLUMNS), "; ".join(str(figure[k]) for k in REMARKS if figure.get(k))]

"""What a section of a report is, and how a number is shown in it."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Section:
    title: str
    text: list[str] = field(default_factory=list)
    """Paragraphs before the table."""
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    level: int = 2


# --- how a number is shown --------------------------------------------------------------------------------------------


def number(value: float | None, percent: bool) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}%" if percent else f"{value:.3f}"


def interval(estimate: Json, percent: bool) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return "-"
    low, high = (number(estimate[side], percent).removesuffix("%") for side in ("low", "high"))
    return f"({low}, {high})"


def whole(estimate: Json, percent: bool) -> str:
    """Value, interval and n in one cell."""
    if estimate["value"] is None:
        return "-"
    spread = interval(estimate, percent)
    return number(estimate["value"], percent) + (f" {spread}" if spread != "-" else "") + f" n={estimate['n']}"


def remark(estimate: Json) -> str:
    return str(estimate.get("degenerate") or estimate.get("why") or estimate.get("warning") or "")

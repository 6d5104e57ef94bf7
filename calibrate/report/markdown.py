"""Sections as Markdown (GitHub's kind). Names in them come from data, so every text is escaped."""

import html
import re
from collections.abc import Sequence

from calibrate.report.shown import Section


def markdown(sections: Sequence[Section]) -> str:
    parts = []
    for section in sections:
        parts.append("#" * section.level + " " + escape(section.title))
        parts += [escape(text) for text in section.text]
        if section.rows:
            lines = [section.header, ["---"] * len(section.header), *section.rows]
            parts.append("\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text if text == "---" else escape(text)


def escape(text: str) -> str:
    """The text as it stands, whatever it holds: on one line, without HTML or a character that Markdown reads."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    safe = html.escape(re.sub(r"([\\`*\[\]~$!#])", r"\\\1", flat), quote=False)
    safe = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", safe)  # within a word an underscore is itself
    return safe.replace("|", "&#124;").replace("://", "&#58;//")

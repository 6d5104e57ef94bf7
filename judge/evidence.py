"""Quotes held against the solution's text: where does it say what the judge says it says?"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from generate.prompts import UNSEEN
from judge.verdicts import Fallacy

Quotes = Literal["required", "optional"]
"""Whether a tag without a quote counts."""

SHORTEST = 4
"""Characters that a quote must have left to be found other than exactly: less is found anywhere."""
_SPACING = r"[,;:!> ()\[\]]|(?:quad|qquad|thinspace|medspace|thickspace|left|right|displaystyle|textstyle)(?![a-zA-Z])"
_SAME = {"≤": r"le|leq|leqslant", "≥": r"ge|geq|geqslant", "≠": r"ne|neq", "×": r"times", "·": r"cdot",
         "…": r"dots|ldots|cdots", "∞": r"infty", "→": r"to|rightarrow", "⇒": r"implies|Rightarrow", "∈": r"in",
         "≡": r"equiv", "±": r"pm"}  # fmt: skip
_PIECE = re.compile(rf"\\(?:{_SPACING})|" + "|".join(rf"\\(?:{w})(?![a-zA-Z])" for w in _SAME.values()) + r"|.", re.S)
_COMMANDS = {f"\\{word}": sign for sign, words in _SAME.items() for word in words.split("|")}
_FORMS = {**dict.fromkeys("‐‑‒–—―−﹣", "-"), **dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟″«»", '"'), "⩽": "≤",
          "⩾": "≥", "⋅": "·", "∙": "·", "•": "·", "⋯": "…"}  # fmt: skip
_AROUND = re.compile(r"^[\s\"'“”‘’`.…]+|[\s\"'“”‘’`.…]+$")


def locate(quote: str | None, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text, as (start, end) in characters, end exclusive; null where it does not.

    Exactly, or but for white space, LaTeX spacing (`\\,`, `\\quad`, `~`, `\\left`, dollar signs), case, unicode forms
    (composed or not, dashes, quotation marks, `≤` for `\\leq`), characters that cannot be seen, and the quotation marks
    or dots that a judge puts around it.
    """
    if quote is None or not quote.strip():
        return None
    if (start := text.find(quote)) >= 0:
        return start, start + len(quote)
    wanted, _ = _plain(_AROUND.sub("", quote))
    plain, places = _plain(text)
    at = plain.find(wanted) if len(wanted) >= SHORTEST else -1
    if at < 0:
        return None
    last = places[at + len(wanted) - 1]
    return places[at], last + len(_PIECE.match(text, last)[0])  # type: ignore[index]


@lru_cache(maxsize=256)
def _plain(text: str) -> tuple[str, list[int]]:
    """The text in one form, without what is passed over; and for each character left its place."""
    kept: list[str] = []
    places: list[int] = []
    for piece in _PIECE.finditer(text):
        sign = _COMMANDS.get(piece[0], piece[0])
        if len(sign) > 1 or sign.isspace() or sign in "$~":
            continue
        if not sign.isascii():
            sign = _FORMS.get(sign) or unicodedata.normalize("NFKD", sign)
        for c in sign.casefold():
            c = _FORMS.get(c, c)
            if not c.isspace() and not UNSEEN.match(c):
                kept.append(c)
                places.append(piece.start())
    return "".join(kept), places


def grounded(fallacies: list[Fallacy], text: str, quotes: Quotes) -> tuple[list[Fallacy], list[Fallacy]]:
    """The fallacies with the place of their quotes, and those that are kept apart: without a quote where quotes are
    required. A quote that does not stand in the text marks its fallacy as not grounded; it is kept."""
    kept: list[Fallacy] = []
    apart: list[Fallacy] = []
    for fallacy in fallacies:
        quoted = bool(fallacy.quote and fallacy.quote.strip())
        place = locate(fallacy.quote, text)
        start, end = place if place else (None, None)
        found = fallacy.model_copy(
            update={"start": start, "end": end, "grounded": place is not None if quoted else None}
        )
        (kept if quoted or quotes == "optional" else apart).append(found)
    return kept, apart

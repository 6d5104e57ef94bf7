"""Quotes held against the solution's text: where does it say what the judge says it says?"""

import re
import unicodedata


def locate(quote: str | None, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text, as (start, end) in characters, end exclusive; null where it does not.

    Exactly, or but for white space, case, dollar signs and the quotation marks or dots that a judge puts around it.
    """
    if quote is None or not quote.strip():
        return None
    if (start := text.find(quote)) >= 0:
        return start, start + len(quote)
    wanted, _ = _plain(re.sub(r"^[\s\"'“”‘’`.…]+|[\s\"'“”‘’`.…]+$", "", quote))
    plain, places = _plain(text)
    at = plain.find(wanted) if len(wanted) >= 4 else -1
    return (places[at], places[at + len(wanted) - 1] + 1) if at >= 0 else None


def _plain(text: str) -> tuple[str, list[int]]:
    """The text without white space and dollar signs, in one case; and for each character left its place."""
    kept, places = [], []
    for place, character in enumerate(text):
        for c in unicodedata.normalize("NFKC", character).casefold():
            if not c.isspace() and c not in "$\u2060":
                kept.append(c)
                places.append(place)
    return "".join(kept), places

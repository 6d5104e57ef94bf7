"""Texts cut into words and formulas, and formulas turned from TeX to MathML, without a network.

A formula is a tree of lists, `["mfrac", ["mi", "a"], ["mi", "b"]]`, with an object of attributes in second place where
there are any. The page builds elements from it one by one; nowhere does a string of markup exist. What latex2mathml
does not convert, or should not be asked to, stays TeX.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import orjson

Json = Any
MAX_CHARACTERS = 3_000
"""Of one formula. latex2mathml takes time in proportion to it: some 25 ms for the slowest formula of this length."""
MAX_DEPTH = 40
"""Of braces, environments and \\left ... \\right within each other."""
MAX_ELEMENTS = 4_000
MAX_CONVERTED = 60_000_000
"""Characters of different formulas in one report; those after it stay TeX, so that the time for a report is bounded."""
MAX_EM = 10.0
"""The widest space that a formula may ask for; a larger one, or one to the left, could lay text over other text."""

ELEMENTS = frozenset(
    [
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "ms",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mmultiscripts",
        "mprescripts",
        "none",
        "mtable",
        "mtr",
        "mtd",
        "menclose",
        "mstyle",
        "mpadded",
        "merror",
    ]
)
ATTRIBUTES = frozenset(
    [
        "mathvariant",
        "stretchy",
        "symmetric",
        "largeop",
        "movablelimits",
        "fence",
        "separator",
        "form",
        "accent",
        "accentunder",
        "displaystyle",
        "scriptlevel",
        "linethickness",
        "columnalign",
        "rowalign",
        "columnlines",
        "rowlines",
        "columnspacing",
        "rowspacing",
        "notation",
        "minsize",
        "maxsize",
        "width",
        "lspace",
        "rspace",
    ]
)
"""Neither colours nor sizes, links, styles or classes: nothing hides a text or makes it something else than a text."""
LENGTHS = frozenset(("width", "lspace", "rspace", "minsize", "maxsize", "linethickness"))
VALUE = re.compile(r"[A-Za-z0-9.% +-]{0,40}")
ENTITY = re.compile(r"&#x([0-9A-Fa-f]{2,6});")
ENVIRONMENTS = (
    "equation|align|alignat|aligned|gather|gathered|multline|eqnarray|displaymath|math|split|cases|[pbvBV]?matrix"
)
OPENER = re.compile(rf"\\\\|\\\$|\$\$|\$|\\\[|\\\(|\\begin\{{(?:{ENVIRONMENTS})\*?\}}")
CLOSERS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
DEEPER = re.compile(
    r"\\left(?![a-zA-Z])|\\begin(?![a-zA-Z])|(?<!\\)\{|(\\right(?![a-zA-Z])|\\end(?![a-zA-Z])|(?<!\\)\})"
)
REFUSED = re.compile(
    r"(?<!\\)%|\\(?:re|provide)?newcommand|\\providecommand|\\[gex]?def(?![a-zA-Z])|\\let(?![a-zA-Z])|\\DeclareMathOperator"
)
"""Comments, which latex2mathml drops though the judge read them, and macros, which can grow without bound."""


def formulas(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Where formulas stand in a text: start, end (exclusive), the TeX to convert, and whether it is set as a block."""
    at = 0
    while match := OPENER.search(text, at):
        opener, start, inner = match[0], match.start(), match.end()
        at = inner
        if opener in ("\\\\", "\\$"):
            continue
        if opener == "$":
            close = _dollar(text, inner)
            end = close + 1
        else:
            closer = CLOSERS.get(opener) or opener.replace("begin", "end", 1)
            close = text.find(closer, inner, inner + MAX_CHARACTERS + len(closer))
            end = close + len(closer)
        if close < 0 or not text[inner:close].strip() or "\n\n" in text[inner:close].strip():
            continue
        own = opener.startswith("\\begin")
        yield start, end, text[start:end] if own else text[inner:close], own or opener in ("$$", "\\[")
        at = end


def _dollar(text: str, start: int) -> int:
    """The dollar sign that closes a formula; -1 where there is none."""
    at = text.find("$", start, start + MAX_CHARACTERS)
    while at > 0 and text[at - 1] == "\\":
        at = text.find("$", at + 1, start + MAX_CHARACTERS)
    return at


class Setter:
    """Sets the formulas of one report. Equal formulas are converted once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], Json] = {}
        self._left = MAX_CONVERTED
        self.stayed: set[str] = set()
        """Formulas that stay TeX."""

    def cut(self, text: str, marks: Sequence[tuple[int, int]] = ()) -> tuple[list[Json], list[tuple[int, int]]]:
        """The text as pieces, and where the marks fall.

        A piece is a string, or a formula `{"m": tree or null, "d": 1 for a block, "s": [its source]}`. Pieces are cut
        where a mark begins or ends, a formula's source too, so each mark is a run of parts: of a string, which is one
        part, or of a formula, which has as many as its source has strings. Joined, all parts are the text.

        Args:
            text: any text.
            marks: (start, end) in characters, end exclusive; what lies outside the text is cut off.

        Returns:
            The pieces, and for each mark the (first, last + 1) of its parts.
        """
        edges = sorted({max(0, min(at, len(text))) for mark in marks for at in mark})
        part_at: dict[int, int] = {}
        pieces: list[Json] = []
        parts = 0

        def strings(start: int, end: int) -> list[str]:
            nonlocal parts
            cuts = [start, *(e for e in edges if start < e < end), end]
            found = []
            for a, b in pairwise(cuts):
                part_at[a] = parts
                parts += 1
                found.append(text[a:b])
            return found

        at = 0
        for start, end, tex, block in formulas(text):
            if at < start:
                pieces += strings(at, start)
            pieces.append({"m": self._set(tex, block), "d": int(block), "s": strings(start, end)})
            at = end
        if at < len(text):
            pieces += strings(at, len(text))
        part_at[len(text)] = parts
        places = [tuple(part_at[max(0, min(at, len(text)))] for at in mark) for mark in marks]
        return pieces, places  # type: ignore[return-value]

    def _set(self, tex: str, block: bool) -> Json:
        key = (tex, block)
        if key not in self._known:
            self._left -= len(tex)
            tree = None if self._left < 0 else converted(tex, block)
            if tree is None:
                self.stayed.add(tex)
            self._known[key] = None if tree is None else orjson.Fragment(orjson.dumps(tree))
        return self._known[key]


def converted(tex: str, block: bool) -> Json:
    """The formula as a tree; null where it stays TeX."""
    if len(tex) > MAX_CHARACTERS or REFUSED.search(tex) or _depth(tex) > MAX_DEPTH:
        return None
    from latex2mathml.converter import convert_to_element

    try:
        found = convert_to_element(tex.strip(), display="block" if block else "inline")
    except Exception:  # latex2mathml raises its own kinds, and IndexError, StopIteration, ... for broken TeX
        return None
    if sum(1 for _ in found.iter()) > MAX_ELEMENTS:
        return None
    return ["math", *(_tree(child, 0) for child in found)]


def _depth(tex: str) -> int:
    deepest = depth = 0
    for match in DEEPER.finditer(tex):
        depth += -1 if match[1] else 1
        deepest = max(deepest, depth)
    return deepest


def _tree(element: Any, depth: int) -> Json:
    """The element with what is on the lists of this module; an element that is not, and what is nested beyond measure,
    becomes a row or a text."""
    children = list(element)
    if depth > 3 * MAX_DEPTH:
        return ["mtext", "".join(element.itertext())]
    node: list[Json] = [element.tag if element.tag in ELEMENTS else "mrow"]
    if attributes := {k: str(v) for k, v in element.attrib.items() if _allowed(k, str(v))}:
        node.append(attributes)
    if element.text:
        said = ENTITY.sub(_character, element.text)
        node.append(said if not children else ["mtext", said])
    if children and node[0] in ("mi", "mn", "mo", "mtext", "ms"):
        node[0] = "mrow"  # tokens hold text alone
    for child in children:
        node.append(_tree(child, depth + 1))
        if child.tail and child.tail.strip():
            node.append(["mtext", ENTITY.sub(_character, child.tail)])
    return node


def _allowed(name: str, value: str) -> bool:
    if name not in ATTRIBUTES or not VALUE.fullmatch(value):
        return False
    if name in LENGTHS:
        amount = re.fullmatch(r"(-?\d*\.?\d+)(em|ex|px|pt)?", value)
        return amount is not None and -0.3 <= float(amount[1]) <= MAX_EM
    return True


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match[0]

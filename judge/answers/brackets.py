"""Lists of tokens and the brackets in them."""

from __future__ import annotations

from collections.abc import Callable

from .normalise import Token

_OPEN = frozenset(["(", "[", "{", "\\{", "lfloor", "lceil", "langle"])
_CLOSE = frozenset([")", "]", "}", "\\}", "rfloor", "rceil", "rangle"])


def depth_of(token: Token) -> int:
    if token.kind in ("op", "cmd"):
        return (token.text in _OPEN) - (token.text in _CLOSE)
    return 0


def split(items: list[Token], is_separator: Callable[[Token], bool]) -> list[list[Token]]:
    """The pieces between separators that stand outside of all brackets."""
    pieces: list[list[Token]] = [[]]
    level = 0
    for token in items:
        level += depth_of(token)
        if level == 0 and depth_of(token) == 0 and is_separator(token):
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def unwrap(items: list[Token]) -> list[Token]:
    """Without braces around the whole, and without the punctuation at its ends."""
    while items:
        if (items[-1].kind == "op" and items[-1].text in (".", ",", ";", ":", "!?")) or items[-1] == ("op", "?"):
            items = items[:-1]
        elif items[0].kind == "op" and items[0].text in (",", ";", ":", "."):
            items = items[1:]
        elif items[0] == ("op", "{") and items[-1] == ("op", "}") and wraps(items):
            items = items[1:-1]
        else:
            break
    return items


def wraps(items: list[Token]) -> bool:
    """Whether the first token's bracket closes with the last token."""
    level = 0
    for index, token in enumerate(items):
        level += depth_of(token)
        if level <= 0:
            return index == len(items) - 1
    return False


def balanced(items: list[Token]) -> bool:
    level = 0
    for token in items:
        level += depth_of(token)
        if level < 0:
            return False
    return level == 0

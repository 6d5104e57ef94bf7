"""HTML and SVG from plain texts: whatever is not `Markup` is escaped."""

import html
from typing import Any


class Markup(str):
    """Text that is markup already."""


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """One element. `class_="x"` is class, `data_x` is data-x; null and false: no such attribute; true: one without value."""
    said = "".join(_attribute(k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items())
    inner = text(*children)
    return Markup(f"<{name}{said}>" if name in ("meta", "br", "wbr") else f"<{name}{said}>{inner}</{name}>")


def text(*children: Any) -> Markup:
    """The children one after another; null is nothing."""
    return Markup("".join(_child(c) for c in children))


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, list | tuple):
        return "".join(map(_child, child))
    return html.escape(str(child), quote=True)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value), quote=True)}"'

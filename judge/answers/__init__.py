"""Final answers: `extract` finds one in a reply, `compare` holds it against the gold answer.

`compare(gold, reply).outcome` is `equal` or `different` where that is proven, and `undecided` otherwise; a reply without
a final answer is `undecided` too, with `.missing` true (and `.recorded` is then `"missing"`, the word of the answer
records). Importing this package loads neither sympy nor anything else that is slow.
"""

from typing import TYPE_CHECKING, Any

from .outcome import Comparison, Extraction, Outcome
from .policy import Policy

if TYPE_CHECKING:
    from .checker import compare, compare_many, self_check
    from .extraction import extract

__all__ = ["Comparison", "Extraction", "Outcome", "Policy", "compare", "compare_many", "extract", "self_check"]


def __getattr__(name: str) -> Any:
    """The functions, loaded when they are first asked for: a config that names a `Policy` needs none of them."""
    if name == "extract":
        from .extraction import extract as found
    elif name in ("compare", "compare_many", "self_check"):
        from . import checker

        found = getattr(checker, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found

"""Final answers: `extract` finds one in a reply, `compare` holds it against the gold answer.

`compare(gold, reply).outcome` is `equal` or `different` where that is proven, and `undecided` otherwise; a reply without
a final answer is `undecided` too, with `.missing` true (and `.recorded` is then `"missing"`, the word of the answer
records). Importing this package loads neither sympy nor anything else that is slow.
"""

from .compare import compare, compare_many, self_check
from .extract import extract
from .outcome import Comparison, Extraction, Outcome
from .policy import Policy

__all__ = ["Comparison", "Extraction", "Outcome", "Policy", "compare", "compare_many", "extract", "self_check"]

"""The kinds of answers: plain records that the reader makes, and the comparison takes apart."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .algebra import Algebra
from .normalise import Refused
from .numeric import WHOLE
from .parse import Expr, symbols


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, perhaps with a unit; `rounded` where it was given as an approximation only."""

    expr: Expr
    unit: tuple[str, int] | None = None  # its name and power
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers: a bare `list`, a `set` in braces, a `tuple` in parentheses, a `bracket` [a,b],
    or what letters are `assigned` one by one (`x=1, y=2`)."""

    kind: str
    items: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """A real interval; `None` is an infinite end. `var` is the letter that the answer says lies in it."""

    low: Expr | None
    high: Expr | None
    low_closed: bool
    high_closed: bool
    var: str | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """A union of intervals and finite sets."""

    parts: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """What letters are equal to: `x=3`, `(a,b)=(1,2)`."""

    names: tuple[str, ...]
    value: Answer


@dataclass(frozen=True, slots=True)
class Function:
    """A function by its formula. Without parameters it is a constant one (`f \\equiv 0`)."""

    name: str
    params: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation that is not a definition."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Inequality:
    """An inequality between expressions: `left < right` or `left <= right`."""

    left: Expr
    right: Expr
    strict: bool


@dataclass(frozen=True, slots=True)
class Residues:
    """Whole numbers by their remainders."""

    var: str | None
    modulus: int
    residues: frozenset[int]


@dataclass(frozen=True, slots=True)
class Progression:
    """A list with dots: what stands before them, and after."""

    first: tuple[Expr, ...]
    last: Expr | None


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numbers divided by colons: a ratio, or the time of day."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """Free text, in lower case; `name` where it is a single name."""

    words: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes or No."""

    yes: bool


@dataclass(frozen=True, slots=True)
class Empty:
    """No solutions; `among` are the words that say of which kind ("real", "integer"), if any."""

    among: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NumberSet:
    """One of the standard number sets: N, Z, Q, R, C, or Z+ for the positive integers."""

    name: str


@dataclass(frozen=True, slots=True)
class Conditioned:
    """An answer with a condition or an explanation that counts."""

    inner: Answer
    condition: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Notation that the arithmetic steps don't read."""

    key: tuple[str, ...]
    why: str


Answer = (
    Value | Group | Interval | Union | Named | Function | Equation | Inequality | Residues | Progression | Ratio | Words
    | Verdict | Empty | NumberSet | Conditioned | Opaque
)  # fmt: skip


def as_interval(group: Group) -> Interval | None:
    """A pair in brackets, read as an interval."""
    low, high = group.items
    if isinstance(low, Value) and isinstance(high, Value) and low.unit is None and high.unit is None:
        closed = group.kind == "bracket"
        return Interval(low.expr, high.expr, closed, closed)
    return None


def as_residues(answer: Answer) -> Residues | None:
    """`n = 4k+3` as the numbers that leave 3 when divided by 4.

    Only with 0 <= 3 < 4, or a negative rest above -4: `n=4k+7` would leave open whether 3 is meant too.
    """
    var = None
    if isinstance(answer, Named) and len(answer.names) == 1:
        var, answer = answer.names[0], answer.value
    if isinstance(answer, Residues):
        return answer
    if var is None or not isinstance(answer, Value) or answer.unit is not None or answer.rounded:
        return None  # a bare 2k-1 is a formula in k, not the odd numbers
    letters = symbols(answer.expr)
    if len(letters) != 1 or not all(letter[0] in WHOLE for letter in (*letters, *var.replace("?", ""))):
        return None  # y=2x is a line, not the even numbers
    algebra = Algebra()
    try:
        form = algebra.of(answer.expr)
    except Refused:
        return None
    if not algebra.letters_only(form) or form.den != {(): 1} or set(form.num) - {(), ((0, 1),)}:
        return None
    slope, rest = form.num.get(((0, 1),), Fraction(0)), form.num.get((), Fraction(0))
    if slope.denominator != 1 or rest.denominator != 1 or not 2 <= slope <= 10**9 or not -slope < rest < slope:
        return None
    return Residues(None if var == "?" else var, int(slope), frozenset([int(rest) % int(slope)]))


def kind_of(answer: Answer) -> str:
    """What to call it in a reason."""
    names: dict[type, str] = {
        Value: "a value", Interval: "an interval", Union: "a union of intervals", Named: "a named value",
        Function: "a function", Equation: "an equation", Inequality: "an inequality", Residues: "a class of remainders",
        Progression: "a list with dots", Ratio: "a ratio", Words: "free text", Verdict: "yes or no", Empty: "no solutions",
        NumberSet: "a set of numbers", Conditioned: "an answer under a condition", Opaque: "an answer that can't be read",
    }  # fmt: skip
    if isinstance(answer, Group):
        return {
            "list": "a list",
            "set": "a set",
            "tuple": "a tuple",
            "bracket": "a list in brackets",
            "assigned": "a list of values by name",
        }[answer.kind]
    return names[type(answer)]

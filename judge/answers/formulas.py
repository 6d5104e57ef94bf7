"""Two expressions: exact and algebraic normal forms, proofs of difference by intervals, and what sympy said.

`equal` and `different` are proven; what is left over is `undecided`, and is put on the list for sympy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Literal

from . import limits, numeric
from .algebra import Algebra, Ratio
from .normalise import Refused
from .outcome import Outcome
from .parse import ELEMENTARY, Expr, Num, Op, Sym, mentions, substitute, symbols
from .policy import Policy


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome, the step that decided, and why."""

    outcome: Outcome
    method: str
    reason: str


def equal(method: str, reason: str) -> Result:
    """A proven equality."""
    return Result("equal", method, reason)


def different(method: str, reason: str) -> Result:
    """A proven difference."""
    return Result("different", method, reason)


def undecided(reason: str, method: str = "structure") -> Result:
    """Neither was proven."""
    return Result("undecided", method, reason)


Pair = tuple[Expr, Expr]
Proven = Literal["equal", "different", "undecided"]


class Formulas:
    """Comparisons of expressions, with the work that they may still cost.

    Args:
        policy: what counts as the same.
        solved: what sympy has said of earlier `pending` pairs.
    """

    def __init__(self, policy: Policy, solved: dict[Pair, Proven] | None = None) -> None:
        self.policy = policy
        self.solved = solved or {}
        self.pending: list[Pair] = []
        self.memo: dict[Pair, Result] = {}
        self.pairings = 0
        self.effort = numeric.Effort()
        self.work = 0  # products of terms

    def expressions(self, a: Expr, b: Expr) -> Result:
        """Two expressions: exact and algebraic normal forms, then intervals, then what sympy said."""
        found = self.memo.get((a, b))
        if found is None:
            self.pairings += 1
            if self.pairings > limits.MAX_PAIRINGS or self.work + self.effort.nodes > limits.MAX_WORK:
                return undecided("it takes too much work to compare all parts", "limit")
            found = self.memo[a, b] = self._expressions(a, b)
        return found

    def _expressions(self, a: Expr, b: Expr) -> Result:
        if a == b:
            return equal("structure", "both are the same formula")
        angle = self._degrees(a, b)
        if angle is not None:
            return angle
        infinite = _infinite(a), _infinite(b)
        if infinite != (0, 0):
            if all(infinite) or not (symbols(a) | symbols(b) or has_constant(b if infinite[0] else a, "infty")):
                return different("structure", "one of them is infinite, and not the other in the same way")
            return undecided("one of them is infinite")
        letters = symbols(a) | symbols(b)
        if "i" in letters:
            return self._imaginary(a, b, letters)
        algebra = Algebra()
        forms = normal_forms(a, b, algebra)
        why = forms if isinstance(forms, str) else ""
        if not isinstance(forms, str):
            _, one, two = forms
            left, right = one.constant(), two.constant()
            if left is not None and right is not None:
                if left == right:
                    return equal("exact", f"both are {_show(left)}")
                return different("exact", f"{_show(left)} is not {_show(right)}")
            try:
                if algebra.same(one, two):
                    return equal("algebra", "both have the same normal form")
                if algebra.letters_only(one) and algebra.letters_only(two):
                    return different("algebra", "their normal forms, as quotients of polynomials, differ")
            except Refused as refused:
                why = str(refused)
        self.work += algebra.spent
        place = self._apart(a, b, letters)
        if place is not None:
            return different("interval", f"their values differ{_at(place)}")
        answer = self.solved.get((a, b))
        if answer == "equal":
            return equal("sympy", "sympy simplifies their difference to zero")
        if answer is None:
            self.pending.append((a, b))
        return undecided(
            why or "neither their equality nor a difference could be proven",
            "sympy" if answer else "algebra",
        )

    def _apart(self, a: Expr, b: Expr, letters: frozenset[str]) -> dict[str, Fraction] | None:
        place = numeric.differ(a, b, letters, effort=self.effort)
        if place is not None and (mentions(a, "log") or mentions(b, "log")):
            # a logarithm without a base is the natural or the decimal one: they have to differ either way
            return numeric.differ(a, b, letters, decimal_log=True, effort=self.effort)
        return place

    def _degrees(self, a: Expr, b: Expr) -> Result | None:
        """A degree sign outside of sines and the like: an angle, whose unit the other side may leave out."""
        plain_a, plain_b = _without_degrees(a), _without_degrees(b)
        if plain_a == a and plain_b == b:
            return None
        exact = self.expressions(as_radians(a), as_radians(b))
        if (plain_a != a) and (plain_b != b):
            return exact
        dropped = self.expressions(plain_a, plain_b)
        if exact.outcome == "equal":
            return exact
        if dropped.outcome == "equal":
            if self.policy.units == "strict":
                return undecided("they are equal but for a degree sign", "units")
            return equal("units", f"{dropped.reason}, the degree sign left out")
        if exact.outcome == dropped.outcome == "different":
            return dropped
        return undecided("one has a degree sign", "units")

    def _imaginary(self, a: Expr, b: Expr, letters: frozenset[str]) -> Result:
        """Letters with an i among them, which may be the imaginary unit or an index."""
        forms = normal_forms(a, b)
        if isinstance(forms, str):
            return undecided(forms, "algebra")
        algebra, one, two = forms
        try:
            if algebra.same(one, two):
                return equal("algebra", "both have the same normal form")
            algebra = Algebra()
            atom = algebra.atom_id("i")
            algebra.rules[atom] = (2, Ratio({(): Fraction(-1)}))
            one, two = algebra.of(a), algebra.of(b)
            if algebra.same(one, two):
                if letters == {"i"}:
                    return equal("algebra", "both have the same normal form, with i the imaginary unit")
                return undecided("they are equal only if i is the imaginary unit", "algebra")
            if algebra.letters_only(one) and algebra.letters_only(two):
                return different("algebra", "their normal forms, as quotients of polynomials, differ")
        except Refused as refused:
            return undecided(str(refused), "algebra")
        if ("i" in symbols(a)) != ("i" in symbols(b)) and letters == {"i"} and _is_real_multiple(a, b):
            return different("structure", "one is real, the other is not")
        self.pending.append((a, b))
        answer = self.solved.get((a, b))
        if answer == "equal" and letters == {"i"}:
            return equal("sympy", "sympy simplifies their difference to zero")
        return undecided("an i in it may be the imaginary unit", "algebra")

    def renamed(self, a: Expr, b: Expr, bound: frozenset[str] = frozenset()) -> Result:
        """Two expressions, whose letters may have other names: the bound ones freely, the others by policy."""
        plain = self.expressions(a, b)
        if plain.outcome == "equal":
            return plain
        shared = sorted(symbols(a) & symbols(b) & bound)
        if 2 <= len(shared) <= 4 and symbols(a) == symbols(b):
            for order in permutations(shared):
                swapped = substitute(b, {old: Sym(new) for old, new in zip(shared, order, strict=True)})
                if self.expressions(a, swapped).outcome == "equal":
                    return undecided("they are equal if their parameters change places", "renaming")
        only_a, only_b = sorted(symbols(a) - symbols(b)), sorted(symbols(b) - symbols(a))
        if not only_a or len(only_a) != len(only_b) or len(only_a) > 4:
            return plain
        for count, order in enumerate(permutations(only_a)):
            if count >= limits.MAX_RENAMINGS:
                break
            values: dict[str, Expr] = {old: Sym(new) for old, new in zip(only_b, order, strict=True)}
            other = self.expressions(a, substitute(b, values))
            if other.outcome == "equal":
                names = ", ".join(f"{new} for {old}" for old, new in zip(only_b, order, strict=True))
                allowed = self.policy.renamed_parameters
                if allowed == "any" or (allowed == "bound" and set(only_a) | set(only_b) <= bound):
                    return equal("renaming", f"{other.reason}, with {names}")
                return undecided(f"they are equal if one may write {names}", "renaming")
        return plain


def normal_forms(a: Expr, b: Expr, algebra: Algebra | None = None) -> tuple[Algebra, Ratio, Ratio] | str:
    """Both normal forms over the same atoms, or why there are none."""
    algebra = algebra or Algebra()
    try:
        return algebra, algebra.of(a), algebra.of(b)
    except Refused as refused:
        return str(refused)
    except RecursionError:
        return "it is nested too deeply"


def _show(value: Fraction) -> str:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 200:
        return "a large number"
    return str(value)


def _at(place: dict[str, Fraction]) -> str:
    if not place:
        return ""
    return " at " + ", ".join(f"{name} = {value}" for name, value in sorted(place.items()))


def strongest(results: Sequence[Result]) -> str:
    """The method to name for several: the one furthest down the cascade."""
    order = ("text", "structure", "words", "exact", "congruence", "units", "algebra", "interval", "sympy", "renaming")
    return max((r.method for r in results), key=lambda m: order.index(m) if m in order else 0, default="structure")


def _without_degrees(expr: Expr) -> Expr:
    """The degree signs dropped, but for those inside of sines and the like."""
    if isinstance(expr, Op):
        if expr.op == "deg":
            return _without_degrees(expr.args[0])
        if expr.op in ELEMENTARY:
            return expr
        return Op(expr.op, tuple(_without_degrees(a) for a in expr.args))
    return expr


def as_radians(expr: Expr) -> Expr:
    """The degree signs outside of sines and the like as factors pi/180."""
    if isinstance(expr, Op):
        if expr.op == "deg":
            return Op("mul", (as_radians(expr.args[0]), Op("div", (Sym("pi"), Num(Fraction(180))))))
        if expr.op in ELEMENTARY:
            return expr
        return Op(expr.op, tuple(as_radians(a) for a in expr.args))
    return expr


def has_constant(expr: Expr, name: str) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Sym) and node.name == name:
            return True
        if isinstance(node, Op):
            stack.extend(node.args)
    return False


def _infinite(expr: Expr) -> int:
    """1 or -1 for an infinite value, 0 for all else."""
    if isinstance(expr, Op) and expr.op == "neg":
        return -_infinite(expr.args[0])
    return int(isinstance(expr, Sym) and expr.name == "infty")


def _is_real_multiple(a: Expr, b: Expr) -> bool:
    """Whether the side with the i is a plain product with it, hence not real (unless zero)."""
    side = a if "i" in symbols(a) else b
    return isinstance(side, Sym) or (
        isinstance(side, Op)
        and side.op == "mul"
        and side.args.count(Sym("i")) == 1
        and all(isinstance(x, (Num, Sym)) for x in side.args)
    )

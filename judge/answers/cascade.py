"""The comparison of two answers, kind by kind: exact arithmetic, structure, proofs of difference by intervals.

`equal` and `different` are proven; what is left over is `undecided`, with the pairs of expressions that sympy may still
decide in `Cascade.pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Literal

from . import limits, numeric
from .algebra import Algebra, Ratio
from .normalise import Refused
from .outcome import Outcome
from .parse import ELEMENTARY, Expr, Num, Op, Sym, mentions, substitute, symbols
from .policy import Policy
from .structure import (
    Answer,
    Conditioned,
    Empty,
    Equation,
    Function,
    Group,
    Inequality,
    Interval,
    Named,
    NumberSet,
    Opaque,
    Progression,
    Ratio as Colon,
    Residues,
    Union,
    Value,
    Verdict,
    Words,
    as_interval,
    as_residues,
)


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

# Unit: what it measures, and how much of it in a base unit.
_UNITS: dict[str, tuple[str, Fraction]] = {
    "mm": ("length", Fraction(1, 1000)), "cm": ("length", Fraction(1, 100)), "dm": ("length", Fraction(1, 10)),
    "m": ("length", Fraction(1)), "meter": ("length", Fraction(1)), "meters": ("length", Fraction(1)),
    "metre": ("length", Fraction(1)), "metres": ("length", Fraction(1)), "km": ("length", Fraction(1000)),
    "centimeters": ("length", Fraction(1, 100)), "centimetres": ("length", Fraction(1, 100)),
    "in": ("inch", Fraction(1)), "inch": ("inch", Fraction(1)), "inches": ("inch", Fraction(1)),
    "ft": ("inch", Fraction(12)), "foot": ("inch", Fraction(12)), "feet": ("inch", Fraction(12)),
    "mile": ("inch", Fraction(63360)), "miles": ("inch", Fraction(63360)),
    "mg": ("mass", Fraction(1, 1000)), "g": ("mass", Fraction(1)), "gram": ("mass", Fraction(1)), "grams": ("mass", Fraction(1)),
    "kg": ("mass", Fraction(1000)),
    "ml": ("volume", Fraction(1, 1000)), "liter": ("volume", Fraction(1)), "liters": ("volume", Fraction(1)),
    "litre": ("volume", Fraction(1)), "litres": ("volume", Fraction(1)),
    "s": ("time", Fraction(1)), "sec": ("time", Fraction(1)), "second": ("time", Fraction(1)), "seconds": ("time", Fraction(1)),
    "min": ("time", Fraction(60)), "minute": ("time", Fraction(60)), "minutes": ("time", Fraction(60)),
    "h": ("time", Fraction(3600)), "hr": ("time", Fraction(3600)), "hour": ("time", Fraction(3600)),
    "hours": ("time", Fraction(3600)), "day": ("time", Fraction(86400)), "days": ("time", Fraction(86400)),
    "cent": ("money", Fraction(1, 100)), "cents": ("money", Fraction(1, 100)),
    "dollar": ("money", Fraction(1)), "dollars": ("money", Fraction(1)),
}  # fmt: skip
_BARE_UNITS = frozenset(["unit", "units", "rad", "radian", "radians", "percent"])
_OPPOSITES = tuple(
    frozenset(group.split())
    for group in (
        "odd even", "first second third fourth", "possible impossible", "true false", "rational irrational", "left right",
        "black white red blue green yellow", "increasing decreasing", "finite infinite", "north south east west",
        "convergent divergent", "acute obtuse right", "prime composite", "winning losing", "always never",
    )
)  # fmt: skip
_NESTED_SETS = ("Z+", "N", "Z", "Q", "R", "C")


class Cascade:
    """One comparison.

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

    # Expressions

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
        letters = symbols(a) | symbols(b)
        if "i" in letters:
            return self._imaginary(a, b, letters)
        algebra = Algebra()
        forms = _forms(a, b, algebra)
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
        return undecided(why and f"{why}" or "neither their equality nor a difference could be proven", "sympy" if answer else "algebra")

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
        exact = self.expressions(_as_radians(a), _as_radians(b))
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
        forms = _forms(a, b)
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

    # Answers

    def answers(self, a: Answer, b: Answer) -> Result:
        """Two answers of any kind."""
        self.pairings += 1
        if self.pairings > limits.MAX_PAIRINGS:
            return undecided("there are too many parts to compare", "limit")
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            if isinstance(a, Opaque) and isinstance(b, Opaque) and a.key == b.key:
                return equal("structure", "both are written with the same symbols")
            why = a.why if isinstance(a, Opaque) else b.why if isinstance(b, Opaque) else ""
            return undecided(f"{'the gold answer' if isinstance(a, Opaque) else 'the reply'} can't be read: {why}", "structure")
        if isinstance(a, Conditioned) or isinstance(b, Conditioned):
            return self.conditioned(a, b)
        if isinstance(a, Named) or isinstance(b, Named):
            return self.named(a, b)
        if isinstance(a, Value) and isinstance(b, Value):
            return self.values(a, b)
        if isinstance(a, Residues) or isinstance(b, Residues):
            return self.residues(a, b)
        if any(isinstance(x, Empty) and isinstance(y, Group) for x, y in ((a, b), (b, a))):
            return different("structure", "only one of them has a solution")
        if isinstance(a, Group) and len(a.items) == 1 and not (isinstance(b, Group) and b.kind == a.kind):
            return self.answers(a.items[0], b)
        if isinstance(b, Group) and len(b.items) == 1 and not isinstance(a, Group):
            return self.answers(a, b.items[0])
        if isinstance(a, Function) or isinstance(b, Function):
            return self.functions(a, b)
        if isinstance(a, (Interval, Union)) or isinstance(b, (Interval, Union)):
            return self.real_sets(a, b)
        if isinstance(a, Group) and isinstance(b, Group):
            return self.groups(a, b)
        if isinstance(a, Progression) or isinstance(b, Progression):
            return self.progressions(a, b)
        if isinstance(a, Equation) or isinstance(b, Equation):
            return self.equations(a, b)
        if isinstance(a, (Words, Verdict)) or isinstance(b, (Words, Verdict)):
            return self.words(a, b)
        if isinstance(a, Empty) or isinstance(b, Empty):
            return self.empty(a, b)
        if isinstance(a, NumberSet) or isinstance(b, NumberSet):
            return self.number_sets(a, b)
        if isinstance(a, Inequality) and isinstance(b, Inequality):
            return self.inequalities(a, b)
        if isinstance(a, Colon) or isinstance(b, Colon):
            return self.ratios(a, b)
        if isinstance(a, Group) or isinstance(b, Group):
            group, other = (a, b) if isinstance(a, Group) else (b, a)
            assert isinstance(group, Group)
            return self.several_and_one(group, other)
        return undecided(f"{_kind(a)} can't be held against {_kind(b)}")

    def conditioned(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Conditioned) and isinstance(b, Conditioned):
            inner = self.answers(a.inner, b.inner)
            if inner.outcome == "equal" and a.condition != b.condition:
                return undecided("they agree but for their conditions")
            explained = {"where", "with"} & {*a.condition[:1], *b.condition[:1]}
            if inner.outcome == "different" and explained:
                return undecided("one has an explanation of its letters")
            return inner
        holder, plain = (a, b) if isinstance(a, Conditioned) else (b, a)
        assert isinstance(holder, Conditioned)
        inner = self.answers(a.inner if a is holder else a, b.inner if b is holder else b)  # type: ignore[union-attr]
        if inner.outcome == "equal":
            return undecided("they agree, but one of them is stated under a condition")
        if inner.outcome == "different" and "where" not in holder.condition and not isinstance(plain, (Words, Residues)):
            if isinstance(holder.inner, Value) and not symbols(holder.inner.expr):
                return inner
            if set(holder.condition) & {"excluding", "except", "unless", "otherwise"}:
                return undecided("one of them is stated under a condition")
            return inner if isinstance(holder.inner, (Function, Interval, Value)) else undecided("one of them is stated under a condition")
        return undecided("one of them is stated under a condition")

    def named(self, a: Answer, b: Answer) -> Result:
        """Values that are given by name, on one side or on both."""
        if isinstance(a, Named) and isinstance(b, Named):
            if len(a.names) != len(b.names):
                return undecided("they name different numbers of letters")
            if set(a.names) == set(b.names):
                if len(a.names) > 1 and isinstance(a.value, Group) and isinstance(b.value, Group) and a.names != b.names:
                    if len(a.value.items) == len(b.value.items) == len(a.names):
                        by_name = dict(zip(b.names, b.value.items, strict=True))
                        return self.in_order(a.value.items, tuple(by_name[n] for n in a.names))
                    return undecided("their letters stand in different orders")
                if len(a.names) > 1 and isinstance(a.value, Group) and isinstance(b.value, Group):
                    if len(a.value.items) == len(b.value.items) == len(a.names) and {a.value.kind, b.value.kind} == {"list", "tuple"}:
                        return self.in_order(a.value.items, b.value.items)
                return self._family(a, b) or self.answers(a.value, b.value)
            if len(a.names) == 1 and isinstance(a.value, Value) and isinstance(b.value, Value):
                if a.names[0] in symbols(b.value.expr) or b.names[0] in symbols(a.value.expr):
                    return self.equations(Equation(Sym(a.names[0]), a.value.expr), Equation(Sym(b.names[0]), b.value.expr))
            inner = self._family(a, b) or self.answers(a.value, b.value)
            if inner.outcome == "equal":
                if self.policy.renamed_parameters == "any":
                    return equal("renaming", f"{inner.reason}, under other names")
                return undecided(f"they are equal, but one is {', '.join(a.names)} and the other {', '.join(b.names)}", "renaming")
            return inner
        holder, other = (a, b) if isinstance(a, Named) else (b, a)
        assert isinstance(holder, Named)
        first = holder is a
        if isinstance(other, Equation) and len(holder.names) == 1 and isinstance(holder.value, Value):
            equation = Equation(Sym(holder.names[0]), holder.value.expr)
            return self.equations(equation, other) if first else self.equations(other, equation)
        if isinstance(other, Residues):
            return self.residues(a, b)
        if isinstance(other, Interval) and other.var is not None and other.var not in holder.names:
            inner = self.answers(holder.value, other)
            return undecided("they speak of different letters") if inner.outcome == "equal" else inner
        if isinstance(other, Function):
            inner = self.functions(holder.value, other)
            return undecided("one is a function, the other a value") if inner.outcome == "equal" else inner
        if len(holder.names) > 1 and isinstance(other, Group) and isinstance(holder.value, Group) and holder.value.kind == "list":
            # a=1, b=2 against (1,2): nothing tells that a comes first
            ordered = self.in_order(holder.value.items, other.items) if first else self.in_order(other.items, holder.value.items)
            as_sets = self.same_set(holder.value.items, other.items)
            if as_sets.outcome == "different":
                return as_sets
            return undecided("only one of them says which value is whose") if ordered.outcome != "different" or True else ordered
        if isinstance(other, Value) and isinstance(holder.value, Value):
            family = self._family(a, b)
            if family is not None:
                return family
        return self.answers(holder.value, other) if first else self.answers(other, holder.value)

    def _family(self, a: Answer, b: Answer) -> Result | None:
        """`n=4k+3` against the like: a parameter may have another name."""
        one, two = (x.value if isinstance(x, Named) else x for x in (a, b))
        if not (isinstance(one, Value) and isinstance(two, Value)):
            return None
        first, second = symbols(one.expr), symbols(two.expr)
        if not first and not second:
            return None
        if bool(first) != bool(second):
            return None
        left, right = as_residues(a), as_residues(b)
        if left is not None and right is not None:
            return self.residues(a, b)
        return self.values(one, two, bound=first | second if isinstance(a, Named) and isinstance(b, Named) else frozenset())

    def values(self, a: Value, b: Value, bound: frozenset[str] = frozenset()) -> Result:
        if a.rounded or b.rounded:
            exact = self.values(replace(a, rounded=False), replace(b, rounded=False), bound)
            if exact.outcome == "equal" and a.rounded != b.rounded:
                return undecided("one of them is given as an approximation only", "decimals")
            return exact
        if a.unit is not None or b.unit is not None:
            return self.with_units(a, b)
        result = self.renamed(a.expr, b.expr, bound)
        if result.outcome == "equal":
            return result
        return self._percent(a.expr, b.expr, result) or self._decimal(a.expr, b.expr, result) or self._angle(a.expr, b.expr, result) or result

    def _percent(self, a: Expr, b: Expr, result: Result) -> Result | None:
        """50% against a bare 50."""
        holders = [isinstance(x, Op) and x.op == "percent" for x in (a, b)]
        if holders[0] == holders[1]:
            return None
        bare = [x.args[0] if isinstance(x, Op) and h else x for x, h in zip((a, b), holders, strict=True)]
        if self.expressions(bare[0], bare[1]).outcome != "equal":
            return None
        if self.policy.percent == "bare":
            return equal("percent", "both are the same number, the percent sign left out")
        return undecided("they are equal but for a percent sign", "percent")

    def _decimal(self, a: Expr, b: Expr, result: Result) -> Result | None:
        """A decimal that is the other value, rounded."""
        if self.policy.decimal_approximations != "rounded" or result.outcome == "equal" or symbols(a) or symbols(b):
            return None
        for rough, exact in ((a, b), (b, a)):
            if not isinstance(rough, Num) or not rough.decimal:
                continue
            digits = len(str(abs(int(rough.value * 10**rough.decimal))))
            if digits < 3 or (isinstance(exact, Num) and exact.decimal is not None and exact.decimal <= rough.decimal):
                continue
            half = Fraction(1, 2 * 10**rough.decimal)
            above = numeric.compare_numbers(exact, Num(rough.value + half))
            below = numeric.compare_numbers(exact, Num(rough.value - half))
            if above == -1 and below == 1:
                return equal("decimals", f"one is the other, rounded to {rough.decimal} places")
        return None

    def _angle(self, a: Expr, b: Expr, result: Result) -> Result | None:
        """60 against pi/3: perhaps an angle in degrees and the same one in radians."""
        if result.outcome != "different" or symbols(a) or symbols(b):
            return None
        has_pi = [_has_constant(x, "pi") for x in (a, b)]
        if has_pi[0] == has_pi[1]:
            return None
        turned = [Op("mul", (x, Op("div", (Num(Fraction(180)), Sym("pi"))))) if h else x for x, h in zip((a, b), has_pi, strict=True)]
        if self.expressions(turned[0], turned[1]).outcome == "equal":
            return undecided("they are equal if one is in degrees and the other in radians", "units")
        return None

    def with_units(self, a: Value, b: Value) -> Result:
        bare_a, bare_b = replace(a, unit=None), replace(b, unit=None)
        if self.policy.units == "ignored" or a.unit == b.unit:
            return self.values(bare_a, bare_b)
        if a.unit is None or b.unit is None:
            inner = self.values(bare_a, bare_b)
            unit = a.unit or b.unit
            if inner.outcome == "equal" and self.policy.units == "strict" and unit is not None and unit[0] not in _BARE_UNITS:
                return undecided("they are equal but for a unit on one side", "units")
            if inner.outcome == "equal":
                return equal("units", f"{inner.reason}, the unit left out")
            if unit == ("percent", 1):
                part = self.values(*(Value(Op("percent", (x.expr,))) if x.unit else x for x in (a, b)))
                return part if part.outcome != "different" else inner
            return inner
        one, two = _UNITS.get(a.unit[0]), _UNITS.get(b.unit[0])
        if one is None or two is None:
            if a.unit[0] in _BARE_UNITS or b.unit[0] in _BARE_UNITS:
                return self.values(bare_a, bare_b)
            return undecided("they have different units", "units")
        if one[0] != two[0] or a.unit[1] != b.unit[1]:
            if {one[0], two[0]} == {"length", "inch"}:
                return undecided("their units are of different systems", "units")
            return different("units", "their units measure different things")
        scaled = [Op("mul", (x.expr, Num(u[1] ** (x.unit or ("", 1))[1]))) for x, u in ((a, one), (b, two))]
        return self.expressions(scaled[0], scaled[1])

    # Several values

    def groups(self, a: Group, b: Group) -> Result:
        kinds = {a.kind, b.kind}
        if not self.policy.ordered_tuples:
            return self.same_set(a.items, b.items, bag="tuple" in kinds or "bracket" in kinds)
        if kinds <= {"list", "set"}:
            return self.same_set(a.items, b.items)
        if kinds == {"tuple"} or kinds == {"bracket"}:
            return self.in_order(a.items, b.items)
        if kinds == {"tuple", "bracket"}:
            inner = self.in_order(a.items, b.items)
            return undecided("their entries agree, but not their brackets") if inner.outcome == "equal" else inner
        inner = self.same_set(a.items, b.items)
        if inner.outcome == "equal":
            return undecided("they hold the same entries, but only one of them is ordered")
        return inner

    def in_order(self, a: Sequence[Answer], b: Sequence[Answer]) -> Result:
        """Entry by entry."""
        if len(a) != len(b):
            return different("structure", f"one has {len(a)} entries, the other {len(b)}")
        results = [self.answers(x, y) for x, y in zip(a, b, strict=True)]
        for index, result in enumerate(results, 1):
            if result.outcome == "different":
                return different(result.method, f"entry {index} differs: {result.reason}")
        for index, result in enumerate(results, 1):
            if result.outcome != "equal":
                return undecided(f"entry {index}: {result.reason}", result.method)
        return equal(_strongest(results), "all entries are equal, in order")

    def same_set(self, a: Sequence[Answer], b: Sequence[Answer], *, bag: bool = False) -> Result:
        """Member by member in any order; how often a member stands does not count, unless `bag`."""
        plain_a, plain_b = _constants(a), _constants(b)
        if plain_a is not None and plain_b is not None:
            same = sorted(plain_a) == sorted(plain_b) if bag else set(plain_a) == set(plain_b)
            if same:
                return equal("exact", "both have the same members")
            return different("exact", "a member of one is not in the other")
        if len(a) * len(b) > limits.MAX_PAIRINGS:
            return undecided("they have too many members to compare", "limit")
        table = [[self.answers(x, y) for y in b] for x in a]
        if bag and len(a) == len(b):
            free = list(range(len(b)))
            for row in table:
                hit = next((j for j in free if row[j].outcome == "equal"), None)
                if hit is None:
                    break
                free.remove(hit)
            else:
                return equal("structure", "both have the same members")
        covered = all(any(r.outcome == "equal" for r in row) for row in table)
        covers = all(any(row[j].outcome == "equal" for row in table) for j in range(len(b)))
        if covered and covers and not bag:
            return equal(_strongest([r for row in table for r in row if r.outcome == "equal"]), "both have the same members")
        for i, row in enumerate(table, 1):
            if all(r.outcome == "different" for r in row):
                return different(_strongest(row), f"member {i} of the gold answer is not in the reply")
        for j in range(len(b)):
            column = [row[j] for row in table]
            if all(r.outcome == "different" for r in column):
                return different(_strongest(column), f"member {j + 1} of the reply is not in the gold answer")
        if len(a) != len(b):
            larger = a if len(a) > len(b) else b
            if self._all_distinct(larger):
                return different("structure", f"one has {len(a)} members, the other {len(b)}")
        loose = next((r for row in table for r in row if r.outcome == "undecided"), undecided("their members can't be matched"))
        return undecided(f"a member can't be matched: {loose.reason}", loose.method)

    def _all_distinct(self, items: Sequence[Answer]) -> bool:
        return all(self.answers(x, y).outcome == "different" for i, x in enumerate(items) for y in items[:i])

    def several_and_one(self, group: Group, other: Answer) -> Result:
        if isinstance(other, (Value, Ratio, Colon)):
            if group.kind in ("tuple", "bracket"):
                return different("structure", f"one has {len(group.items)} entries, the other is a single value")
            results = [self.answers(item, other) for item in group.items]
            if any(r.outcome == "different" for r in results):
                return different("structure", "one has a member that the other has not")
            if all(r.outcome == "equal" for r in results):
                return equal(_strongest(results), "all members are equal to the other's value")
            return undecided("one has several members, the other is a single value")
        if isinstance(other, Empty):
            return different("structure", "one has members, the other has none")
        if isinstance(other, NumberSet):
            return different("structure", "one is finite, the other is not")
        if isinstance(other, Verdict):
            return different("structure", "one is Yes or No, the other is not")
        return undecided(f"{_kind(group)} can't be held against {_kind(other)}")

    # Sets of real numbers

    def real_sets(self, a: Answer, b: Answer) -> Result:
        pair = [a, b]
        for i in (0, 1):
            other = pair[1 - i]
            this = pair[i]
            if isinstance(this, Group) and this.kind in ("tuple", "bracket") and len(this.items) == 2 and isinstance(other, (Interval, Union)):
                interval = as_interval(this)
                if interval is not None:
                    pair[i] = interval
        parts = [_parts(x) for x in pair]
        if any(isinstance(x, Conditioned) for x in pair):
            return undecided("one of them is stated under a condition")
        for x in pair:
            if isinstance(x, Words):
                return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
            if isinstance(x, (Verdict, Function)):
                return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
            if isinstance(x, NumberSet) and x.name != "R":
                return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
        if parts[0] is None or parts[1] is None:
            return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
        variables = {x.var for x in pair if isinstance(x, Interval) and x.var is not None}
        result = self._real_sets(parts[0], parts[1])
        if len(variables) == 2 and result.outcome == "equal":
            if self.policy.renamed_parameters == "any":
                return equal("renaming", f"{result.reason}, under other names")
            return undecided("they are equal, but speak of different letters", "renaming")
        if result.outcome == "different" and self._same_integers(parts[0], parts[1], variables):
            return undecided("they hold the same whole numbers, but not the same real ones")
        return result

    def _real_sets(self, a: list[Interval], b: list[Interval]) -> Result:
        """Unions of intervals (a point is a closed one), by their members at and between all end points."""
        if len(a) == len(b) == 1:
            ends = [self._end(a[0].low, b[0].low), self._end(a[0].high, b[0].high)]
            closed = (a[0].low_closed, a[0].high_closed) == (b[0].low_closed, b[0].high_closed)
            if all(r.outcome == "equal" for r in ends):
                if closed:
                    return equal(_strongest(ends), "both have the same ends")
                if self._proper(a[0]):
                    return different("structure", "an end belongs to one of them only")
                return undecided("an end belongs to one of them only")
            if any(r.outcome == "different" for r in ends):
                if self._proper(a[0]) and self._proper(b[0]) or any(x.low is None or x.high is None for x in a + b):
                    return different(_strongest(ends), "an end differs: " + next(r.reason for r in ends if r.outcome == "different"))
            else:
                return undecided("; ".join(r.reason for r in ends if r.outcome == "undecided"))
        cuts: list[Expr] = []
        places: dict[Expr, int] = {}
        ends = {end: None for interval in a + b for end in (interval.low, interval.high) if end is not None}
        for end in ends:
            if not self._insert(cuts, end):
                return undecided("the order of their ends is not certain")
        for end in ends:
            place = self._find(cuts, end)
            if place is None:
                return undecided("the order of their ends is not certain")
            places[end] = 2 * place + 1
        # odd places are the ends, even ones the gaps between them
        held = [[_covers(interval, places, 2 * len(cuts) + 1) for interval in side] for side in (a, b)]
        for index in range(2 * len(cuts) + 1):
            if any(low <= index <= high for low, high in held[0]) != any(low <= index <= high for low, high in held[1]):
                return different("structure", "some real numbers belong to one of them only")
        return equal("structure", "both are the same set of real numbers")

    def _end(self, a: Expr | None, b: Expr | None) -> Result:
        if a is None or b is None:
            return equal("structure", "both are unbounded") if a is b else different("structure", "only one of them is bounded")
        return self.expressions(a, b)

    def _proper(self, interval: Interval) -> bool:
        """Whether its ends are certainly in order."""
        if interval.low is None or interval.high is None:
            return True
        return self._order(interval.low, interval.high) == -1

    def _order(self, a: Expr, b: Expr) -> int | None:
        if symbols(a) or symbols(b):
            return None
        result = self.expressions(a, b)
        if result.outcome == "equal":
            return 0
        forms = _forms(a, b)
        if not isinstance(forms, str):
            one, two = forms[1].constant(), forms[2].constant()
            if one is not None and two is not None:
                return -1 if one < two else 1
        return numeric.compare_numbers(a, b)

    def _find(self, cuts: list[Expr], end: Expr) -> int | None:
        """Where it stands among the sorted cuts; `None` where it doesn't, or where that is not certain."""
        low, high = 0, len(cuts)
        while low < high:
            middle = (low + high) // 2
            order = self._order(end, cuts[middle])
            if order is None:
                return None
            if order == 0:
                return middle
            low, high = (low, middle) if order < 0 else (middle + 1, high)
        return None

    def _insert(self, cuts: list[Expr], end: Expr) -> bool:
        """Puts it among the sorted cuts, unless it is there; false where its place is not certain."""
        if symbols(end):
            return False
        low, high = 0, len(cuts)
        while low < high:
            middle = (low + high) // 2
            order = self._order(end, cuts[middle])
            if order is None:
                return False
            if order == 0:
                return True
            low, high = (low, middle) if order < 0 else (middle + 1, high)
        cuts.insert(low, end)
        return True

    def _same_integers(self, a: list[Interval], b: list[Interval], variables: set[str]) -> bool:
        """Whether both hold the same whole numbers, where that may be what is asked for."""
        if variables and not all(v[0] in numeric.WHOLE for v in variables):
            return False
        if not variables:
            return False
        sides = []
        for side in (a, b):
            whole = []
            for interval in side:
                low = _whole_end(interval.low, interval.low_closed, 1)
                high = _whole_end(interval.high, interval.high_closed, -1)
                if low is False or high is False:
                    return False
                whole.append((low, high))
            sides.append(whole)
        merged = [_merge(side) for side in sides]
        return merged[0] == merged[1]

    # Other kinds

    def residues(self, a: Answer, b: Answer) -> Result:
        one, two = as_residues(a), as_residues(b)
        if one is None or two is None:
            other = a if one is None else b
            inner = other.value if isinstance(other, Named) else other
            if isinstance(inner, Value) and not symbols(inner.expr):
                return different("structure", "one is a whole class of numbers, the other a single one")
            if isinstance(inner, Group):
                if all(isinstance(i, Value) and not symbols(i.expr) for i in inner.items):
                    return different("structure", "one is a whole class of numbers, the other is finite")
            if isinstance(inner, (Empty, Verdict, Ratio)):
                return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
            return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
        if len(one.residues) == len(two.residues) == 1 and (one.modulus, one.residues) != (two.modulus, two.residues):
            return different("congruence", "they are different classes of remainders")
        size = one.modulus * two.modulus
        if size > 10**12 or one.modulus * len(two.residues) + two.modulus * len(one.residues) > 10**6:
            return undecided("their moduli are too large", "limit")
        lifted = [
            {r + k * x.modulus for r in x.residues for k in range(y.modulus)} if one.modulus != two.modulus else set(x.residues)
            for x, y in ((one, two), (two, one))
        ]
        if lifted[0] != lifted[1]:
            return different("congruence", "some numbers leave one of the remainders only")
        if one.var is not None and two.var is not None and one.var != two.var and self.policy.renamed_parameters != "any":
            return undecided("they are equal, but speak of different letters", "renaming")
        return equal("congruence", "both are the same numbers by remainder")

    def functions(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Function) and isinstance(b, Function):
            if a.params and b.params and len(a.params) != len(b.params):
                return different("structure", "they take different numbers of arguments")
            params = a.params or b.params
            body = _with_params(b, a.params) if a.params and b.params else b.body
            if body is None:
                return undecided("a letter stands for the variable of one, and for something else in the other")
            loose = (symbols(a.body) | symbols(body)) - set(params)
            result = self.renamed(a.body, body, frozenset(loose))
            if result.outcome == "equal" and a.name != b.name:
                if self.policy.renamed_parameters == "any":
                    return equal("renaming", f"{result.reason}, under other names")
                return undecided(f"they are equal, but one is called {a.name} and the other {b.name}", "renaming")
            return result
        function, other = (a, b) if isinstance(a, Function) else (b, a)
        assert isinstance(function, Function)
        if isinstance(other, Value):
            pair = (function.body, other.expr) if function is a else (other.expr, function.body)
            loose = symbols(function.body) - set(function.params)
            result = self.renamed(*pair, bound=loose)
            if result.outcome == "equal" and not symbols(other.expr):
                return undecided("one is a constant function, the other a number")
            if result.outcome == "different" and not (symbols(other.expr) & set(function.params)) and symbols(other.expr):
                return undecided("one is a function, the other a formula in other letters")
            return result
        if isinstance(other, Group):
            results = [self.answers(item, function) for item in other.items]
            if any(r.outcome == "different" for r in results) and other.kind in ("list", "set"):
                return different("structure", "one has a member that the other has not")
            return undecided("one has several members, the other is one function")
        if isinstance(other, (Empty, Verdict, Interval, Union, NumberSet, Residues, Ratio)):
            return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
        return undecided(f"{_kind(a)} can't be held against {_kind(b)}")

    def equations(self, a: Answer, b: Answer) -> Result:
        """Equations are equal up to a nonzero factor, and differ if a point solves one of them only."""
        if not (isinstance(a, Equation) and isinstance(b, Equation)):
            other = b if isinstance(a, Equation) else a
            if isinstance(other, Value) and not symbols(other.expr) or isinstance(other, (Empty, Verdict, NumberSet)):
                return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
            if isinstance(other, Group) and other.kind in ("tuple", "bracket"):
                return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
            return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
        if self.expressions(a.left, b.left).outcome == "equal" and self.expressions(a.right, b.right).outcome == "equal":
            return equal("structure", "both have the same sides")
        one, two = Op("add", (a.left, Op("neg", (a.right,)))), Op("add", (b.left, Op("neg", (b.right,))))
        try:
            algebra = Algebra()
            left, right = algebra.of(one), algebra.of(two)
            if not left.num or not right.num:
                return undecided("one of them is true everywhere")
            factor = algebra.divide(left, right)
            back = algebra.multiply_out(right.num, left.den)
            front = algebra.multiply_out(left.num, right.den)
            mono = next(iter(sorted(front.num)))
            if factor.constant() is None and mono in back.num:
                scaled = algebra.scale(back, front.num[mono] / back.num[mono])
                if algebra.same(front, scaled) and left.den == right.den:
                    return equal("algebra", "one is a multiple of the other by a nonzero number")
            elif factor.constant() is not None:
                return equal("algebra", "one is a multiple of the other by a nonzero number")
            if symbols(one) != symbols(two):
                if symbols(one) & symbols(two) == frozenset() or len(symbols(one)) == len(symbols(two)):
                    return undecided("they speak of different letters")
            for first, second in ((left, right), (right, left)):
                if algebra.letters_only(first) and algebra.letters_only(second) and _solves_one_only(algebra, first, second):
                    return different("algebra", "a point solves one of them only")
        except Refused as refused:
            return undecided(str(refused), "algebra")
        return undecided("neither is a multiple of the other by a number")

    def inequalities(self, a: Inequality, b: Inequality) -> Result:
        one, two = Op("add", (a.right, Op("neg", (a.left,)))), Op("add", (b.right, Op("neg", (b.left,))))
        forms = _forms(one, two)
        if isinstance(forms, str):
            return undecided(forms, "algebra")
        algebra, left, right = forms
        try:
            factor = algebra.divide(left, right).constant() if right.num else None
        except Refused as refused:
            return undecided(str(refused), "algebra")
        if factor is not None and factor > 0:
            if a.strict == b.strict:
                return equal("algebra", "one is a multiple of the other by a positive number")
            return undecided("only one of them is strict")
        return undecided("neither is a multiple of the other by a positive number")

    def progressions(self, a: Answer, b: Answer) -> Result:
        if not (isinstance(a, Progression) and isinstance(b, Progression)):
            other = b if isinstance(a, Progression) else a
            this = a if isinstance(a, Progression) else b
            assert isinstance(this, Progression)
            members = _expand(this, {})
            if members is not None:
                listed = Group("set", tuple(Value(Num(m)) for m in members))
                return self.answers(listed, other) if this is a else self.answers(other, listed)
            if isinstance(other, (Value, Empty, Verdict)) and not (isinstance(other, Value) and symbols(other.expr)):
                return different("structure", f"one is {_kind(a)}, the other {_kind(b)}")
            return undecided(f"{_kind(a)} can't be held against {_kind(b)}")
        if (a.last is None) != (b.last is None):
            return different("structure", "only one of the lists ends")
        steps = [_step(x) for x in (a, b)]
        if len(a.first) == len(b.first) and all(self.expressions(x, y).outcome == "equal" for x, y in zip(a.first, b.first, strict=True)):
            if a.last is None or b.last is None:
                return equal("structure", "both lists start in the same way")
            ends = self.expressions(a.last, b.last)
            if ends.outcome == "equal":
                return equal("structure", "both lists start and end in the same way")
            if ends.outcome == "different" and None not in steps:
                return different(ends.method, f"their last members differ: {ends.reason}")
        if None not in steps and steps[0] == steps[1] and a.last is not None and b.last is not None:
            starts, ends = self.expressions(a.first[0], b.first[0]), self.expressions(a.last, b.last)
            if starts.outcome == ends.outcome == "equal":
                return equal("structure", "both lists have the same start, step and end")
        letters = frozenset().union(*(symbols(e) for x in (a, b) for e in (*x.first, *((x.last,) if x.last is not None else ()))))
        if None in steps:
            return undecided("the rule of one of the lists is not certain")
        if a.last is None or b.last is None:
            starts = self.expressions(a.first[0], b.first[0])
            if starts.outcome == "different" or steps[0] != steps[1]:
                return different("structure", "the lists start or go on differently")
            return undecided("the lists have no end")
        for value in (5, 8, 9, 12):
            sets = [_expand(x, {name: Fraction(value) for name in letters}) for x in (a, b)]
            if sets[0] is not None and sets[1] is not None and set(sets[0]) != set(sets[1]):
                return different("structure", "the lists have different members")
        return undecided("their lists can't be told apart")

    def words(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Verdict) and isinstance(b, Verdict):
            return equal("words", "both say the same") if a == b else different("words", "one says yes, the other no")
        if isinstance(a, Words) and isinstance(b, Words):
            if a.words == b.words:
                return equal("words", "both have the same words")
            if a.name is not None and b.name is not None:
                return different("words", "they are different names")
            if len(a.words) == len(b.words):
                off = [(x, y) for x, y in zip(a.words, b.words, strict=True) if x != y]
                if len(off) == 1 and any(set(off[0]) <= group for group in _OPPOSITES):
                    return different("words", f"one says {off[0][0]}, the other {off[0][1]}")
            return undecided("their words differ", "words")
        if isinstance(a, Verdict) or isinstance(b, Verdict):
            other = b if isinstance(a, Verdict) else a
            if isinstance(other, Words) and other.name is None:
                return undecided("one is yes or no, the other is free text", "words")
            if isinstance(other, (Value, Group, Words, Interval, Equation, Colon)):
                if isinstance(other, Value) and other.expr in (Num(Fraction(0)), Num(Fraction(1))):
                    return undecided("0 or 1 may stand for no or yes", "words")
                return different("words", f"one is {_kind(a)}, the other {_kind(b)}")
            return undecided(f"{_kind(a)} can't be held against {_kind(b)}", "words")
        named, other = (a, b) if isinstance(a, Words) else (b, a)
        assert isinstance(named, Words)
        if named.name is not None and isinstance(other, Value) and not symbols(other.expr):
            return different("words", "one is a name, the other a number")
        return undecided("one of them is free text", "words")

    def empty(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Empty) and isinstance(b, Empty):
            return equal("structure", "both are empty")
        other = b if isinstance(a, Empty) else a
        if isinstance(other, Value):
            if other.expr == Num(Fraction(0)):
                return undecided("0 may be the number of solutions")
            return different("structure", "only one of them has a solution")
        if isinstance(other, (Group, NumberSet, Colon, Equation)):
            return different("structure", "only one of them has a solution")
        return undecided(f"{_kind(a)} can't be held against {_kind(b)}")

    def number_sets(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, NumberSet) and isinstance(b, NumberSet):
            if a.name == b.name:
                return equal("structure", "both are the same set of numbers")
            if {a.name, b.name} == {"N", "Z+"}:
                return undecided("the natural numbers may or may not hold 0")
            return different("structure", "they are different sets of numbers")
        other = b if isinstance(a, NumberSet) else a
        if isinstance(other, Value) and not symbols(other.expr):
            return different("structure", "one is a set of numbers, the other a number")
        if isinstance(other, Group):
            return self.several_and_one(other, a if other is b else b)
        return undecided(f"{_kind(a)} can't be held against {_kind(b)}")

    def ratios(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Colon) and isinstance(b, Colon):
            if len(a.parts) != len(b.parts):
                return different("structure", "they have different numbers of parts")
            one, two = [Fraction(p) for p in a.parts], [Fraction(p) for p in b.parts]
            if one == two:
                return equal("exact", "both have the same parts")
            clock = all(len(p) == 2 and p.isdecimal() for x in (a, b) for p in x.parts[1:])
            proportional = all(x * two[0] == y * one[0] for x, y in zip(one, two, strict=True)) and one[0] and two[0]
            if proportional and not clock and all(one) and all(two):
                return equal("exact", "both are the same ratio")
            if proportional and all(one) and all(two):
                return undecided("as ratios they are equal, as times they are not")
            return different("exact", "their parts differ")
        colon, other = (a, b) if isinstance(a, Colon) else (b, a)
        assert isinstance(colon, Colon)
        if isinstance(other, Value) and not symbols(other.expr) and len(colon.parts) == 2 and Fraction(colon.parts[1]):
            quotient = Num(Fraction(colon.parts[0]) / Fraction(colon.parts[1]))
            if self.expressions(quotient, other.expr).outcome != "different":
                return undecided("one is a ratio, the other a number")
            return different("structure", "one is a ratio or a time, the other a different number")
        return undecided(f"{_kind(a)} can't be held against {_kind(b)}")


def _forms(a: Expr, b: Expr, algebra: Algebra | None = None) -> tuple[Algebra, Ratio, Ratio] | str:
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


def _kind(answer: Answer) -> str:
    names: dict[type, str] = {
        Value: "a value", Interval: "an interval", Union: "a union of intervals", Named: "a named value",
        Function: "a function", Equation: "an equation", Inequality: "an inequality", Residues: "a class of remainders",
        Progression: "a list with dots", Colon: "a ratio", Words: "free text", Verdict: "yes or no", Empty: "no solutions",
        NumberSet: "a set of numbers", Conditioned: "an answer under a condition", Opaque: "an answer that can't be read",
    }  # fmt: skip
    if isinstance(answer, Group):
        return {"list": "a list", "set": "a set", "tuple": "a tuple", "bracket": "a list in brackets"}[answer.kind]
    return names[type(answer)]


def _strongest(results: Sequence[Result]) -> str:
    """The method to name for several: the one furthest down the cascade."""
    order = ("text", "structure", "words", "exact", "congruence", "units", "algebra", "renaming", "interval", "sympy")
    return max((r.method for r in results), key=lambda m: order.index(m) if m in order else 0, default="structure")


def _constants(items: Sequence[Answer]) -> list[Fraction] | None:
    """The members as rational literals, if they are."""
    out = []
    for item in items:
        if not isinstance(item, Value) or item.unit is not None or item.rounded or not isinstance(item.expr, Num):
            return None
        out.append(item.expr.value)
    return out


def _without_degrees(expr: Expr) -> Expr:
    """The degree signs dropped, but for those inside of sines and the like."""
    if isinstance(expr, Op):
        if expr.op == "deg":
            return _without_degrees(expr.args[0])
        if expr.op in ELEMENTARY:
            return expr
        return Op(expr.op, tuple(_without_degrees(a) for a in expr.args))
    return expr


def _as_radians(expr: Expr) -> Expr:
    """The degree signs outside of sines and the like as factors pi/180."""
    if isinstance(expr, Op):
        if expr.op == "deg":
            return Op("mul", (_as_radians(expr.args[0]), Op("div", (Sym("pi"), Num(Fraction(180))))))
        if expr.op in ELEMENTARY:
            return expr
        return Op(expr.op, tuple(_as_radians(a) for a in expr.args))
    return expr


def _has_constant(expr: Expr, name: str) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Sym) and node.name == name:
            return True
        if isinstance(node, Op):
            stack.extend(node.args)
    return False


def _is_real_multiple(a: Expr, b: Expr) -> bool:
    """Whether the side with the i is a plain product with it, hence not real (unless zero)."""
    side = a if "i" in symbols(a) else b
    return isinstance(side, Sym) or (
        isinstance(side, Op) and side.op == "mul" and side.args.count(Sym("i")) == 1 and all(isinstance(x, (Num, Sym)) for x in side.args)
    )


def _parts(answer: Answer) -> list[Interval] | None:
    """A set of reals as intervals."""
    if isinstance(answer, Interval):
        return [answer]
    if isinstance(answer, Value) and answer.unit is None and not answer.rounded:
        return [Interval(answer.expr, answer.expr, True, True)]
    if isinstance(answer, Empty):
        return []
    if isinstance(answer, NumberSet) and answer.name == "R":
        return [Interval(None, None, False, False)]
    if isinstance(answer, (Union, Group)):
        if isinstance(answer, Group) and answer.kind not in ("list", "set"):
            return None
        out: list[Interval] = []
        for part in answer.parts if isinstance(answer, Union) else answer.items:
            inner = part.value if isinstance(part, Named) and len(part.names) == 1 else part
            parts = _parts(inner)
            if parts is None:
                return None
            out.extend(parts)
        return out
    return None


def _covers(interval: Interval, places: dict[Expr, int], top: int) -> tuple[int, int]:
    """The first and last place that it holds."""
    low = 0 if interval.low is None else places[interval.low] + (0 if interval.low_closed else 1)
    high = top if interval.high is None else places[interval.high] - (0 if interval.high_closed else 1)
    return low, high


def _whole_end(end: Expr | None, closed: bool, step: int) -> int | None | Literal[False]:
    """The outermost whole number of an interval at this end; `False` where it is not certain."""
    if end is None:
        return None
    value = end.value if isinstance(end, Num) else None
    if value is None:
        forms = _forms(end, end)
        value = None if isinstance(forms, str) else forms[1].constant()
    if value is None:
        return False
    whole = -((-value.numerator) // value.denominator) if step > 0 else value.numerator // value.denominator
    if not closed and whole == value:
        whole += step
    return int(whole)


def _merge(pairs: list[tuple[int | None | Literal[False], int | None | Literal[False]]]) -> list[tuple[float, float]]:
    """Ranges of whole numbers, sorted, the adjoining ones joined."""
    spans = sorted((float("-inf") if low is None else low, float("inf") if high is None else high) for low, high in pairs)
    out: list[tuple[float, float]] = []
    for low, high in spans:
        if low > high:
            continue
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return out


def _with_params(function: Function, params: tuple[str, ...]) -> Expr | None:
    """Its body with these variables; `None` where one of them already means something else in it."""
    loose = symbols(function.body) - set(function.params)
    if loose & (set(params) - set(function.params)):
        return None
    return substitute(function.body, {old: Sym(new) for old, new in zip(function.params, params, strict=True)})


def _solves_one_only(algebra: Algebra, first: Ratio, second: Ratio) -> bool:
    """Whether some rational point on `first = 0` is not on `second = 0`, by solving for a letter that is linear in it."""
    letters = sorted({a for m in (*first.num, *second.num) for a, _ in m})
    for solved in letters:
        degrees = {dict(m).get(solved, 0) for m in first.num}
        if not degrees <= {0, 1} or 1 not in degrees:
            continue
        for seed in (1, 2, 5):
            point = {a: Fraction(2 * i + seed, 1 + (i + seed) % 3) for i, a in enumerate(letters) if a != solved}
            slope = _at_point({m: c for m, c in first.num.items() if dict(m).get(solved, 0)}, {**point, solved: Fraction(1)})
            rest = _at_point({m: c for m, c in first.num.items() if not dict(m).get(solved, 0)}, point)
            if not slope:
                continue
            point[solved] = -rest / slope
            try:
                bottoms = _at_point(first.den, point), _at_point(second.den, point)
                if all(bottoms) and _at_point(second.num, point):
                    return True
            except ZeroDivisionError:
                continue
    return False


def _at_point(poly: dict[tuple[tuple[int, int], ...], Fraction], point: dict[int, Fraction]) -> Fraction:
    total = Fraction(0)
    for mono, coefficient in poly.items():
        term = coefficient
        for atom, exponent in mono:
            if abs(exponent) > 200:
                raise Refused("its exponent is too large")
            term *= point[atom] ** exponent
        total += term
    return total


def _step(progression: Progression) -> Fraction | None:
    """The step of an arithmetic list; of one with a single first member, 1."""
    if len(progression.first) == 1:
        return Fraction(1)
    algebra = Algebra()
    try:
        forms = [algebra.of(e) for e in progression.first]
        steps = {algebra.add(y, algebra.scale(x, Fraction(-1))).constant() for x, y in zip(forms, forms[1:], strict=False)}
    except Refused:
        return None
    step = steps.pop() if len(steps) == 1 else None
    return step if step else None


def _expand(progression: Progression, values: dict[str, Fraction]) -> list[Fraction] | None:
    """Its members with these values, if it is arithmetic and short."""
    step = _step(progression)
    if step is None or progression.last is None:
        return None
    known: dict[str, Expr] = {name: Num(value) for name, value in values.items()}
    forms = _forms(substitute(progression.first[0], known), substitute(progression.last, known))
    if isinstance(forms, str):
        return None
    first, last = forms[1].constant(), forms[2].constant()
    if first is None or last is None:
        return None
    count = (last - first) / step
    if count.denominator != 1 or not 0 <= count < 5_000:
        return None
    if count + 1 < len(progression.first):
        return None
    return [first + step * k for k in range(int(count) + 1)]


Hook = Callable[[], None]

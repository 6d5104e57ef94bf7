"""The comparison of two answers, kind by kind."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from . import limits, numeric
from .algebra import Algebra
from .families import expand, may_be_one_family, solves_one_only, step_of, with_params
from .formulas import Result, different, equal, normal_forms, strongest, undecided
from .kinds import (
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
    Ratio,
    Residues,
    Union,
    Value,
    Verdict,
    Words,
    as_residues,
    kind_of,
)
from .normalise import Refused
from .parse import Num, Op, Sym, symbols
from .realsets import RealSets

_OPPOSITES = tuple(
    frozenset(group.split())
    for group in (
        "odd even", "first second third fourth", "possible impossible", "true false", "rational irrational", "left right",
        "black white red blue green yellow", "increasing decreasing", "finite infinite", "north south east west",
        "convergent divergent", "acute obtuse right", "prime composite", "winning losing", "always never",
    )
)  # fmt: skip


Names = tuple[str, ...]


class Cascade(RealSets):
    """One comparison of two answers, of whatever kind."""

    def answers(self, a: Answer, b: Answer) -> Result:
        """Two answers of any kind."""
        self.pairings += 1
        if self.pairings > limits.MAX_PAIRINGS:
            return undecided("there are too many parts to compare", "limit")
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            if isinstance(a, Opaque) and isinstance(b, Opaque) and a.key == b.key:
                return equal("structure", "both are written with the same symbols")
            why = a.why if isinstance(a, Opaque) else b.why if isinstance(b, Opaque) else ""
            return undecided(
                f"{'the gold answer' if isinstance(a, Opaque) else 'the reply'} can't be read: {why}", "structure"
            )
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
        if isinstance(a, Ratio) or isinstance(b, Ratio):
            return self.ratios(a, b)
        if isinstance(a, Group) or isinstance(b, Group):
            group, other = (a, b) if isinstance(a, Group) else (b, a)
            assert isinstance(group, Group)
            return self.several_and_one(group, other)
        return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")

    def conditioned(self, a: Answer, b: Answer) -> Result:
        """Answers under a condition: the same one on both sides, or one that nothing is proven about."""
        if isinstance(a, Conditioned) and isinstance(b, Conditioned):
            inner = self.answers(a.inner, b.inner)
            if inner.outcome == "equal" and a.condition != b.condition:
                return undecided("they agree but for their conditions")
            if inner.outcome == "equal" and inner.method == "renaming":
                return undecided("they are equal under other names, but their conditions may speak of the old ones")
            explained = {"where", "with"} & {*a.condition[:1], *b.condition[:1]}
            if inner.outcome == "different" and explained:
                return undecided("one has an explanation of its letters")
            return inner
        holder, plain = (a, b) if isinstance(a, Conditioned) else (b, a)
        assert isinstance(holder, Conditioned)
        inner = self.answers(a.inner if a is holder else a, b.inner if b is holder else b)
        if inner.outcome == "equal":
            return undecided("they agree, but one of them is stated under a condition")
        if (
            inner.outcome == "different"
            and "where" not in holder.condition
            and not isinstance(plain, (Words, Residues))
        ):
            if isinstance(holder.inner, Value) and not symbols(holder.inner.expr):
                return inner
            if set(holder.condition) & {"excluding", "except", "unless", "otherwise"}:
                return undecided("one of them is stated under a condition")
            return (
                inner
                if isinstance(holder.inner, (Function, Interval, Value))
                else undecided("one of them is stated under a condition")
            )
        return undecided("one of them is stated under a condition")

    def named(self, a: Answer, b: Answer) -> Result:
        """Values that are given by name, on one side or on both."""
        if isinstance(a, Named) and isinstance(b, Named):
            if len(a.names) != len(b.names):
                return undecided("they name different numbers of letters")
            if set(a.names) == set(b.names):
                if len(a.names) > 1 and isinstance(a.value, Group) and isinstance(b.value, Group):
                    return self.by_name(a.names, a.value, b.names, b.value)
                return self._family(a, b) or self.answers(a.value, b.value)
            if (
                len(a.names) == 1
                and isinstance(a.value, Value)
                and isinstance(b.value, Value)
                and (a.names[0] in symbols(b.value.expr) or b.names[0] in symbols(a.value.expr))
            ):
                # y=2x against x=y/2: no definitions, but equations
                return self.equations(Equation(Sym(a.names[0]), a.value.expr), Equation(Sym(b.names[0]), b.value.expr))
            values = [x.value for x in (a, b) if isinstance(x.value, Group) and x.value.kind == "assigned"]
            if len(values) == 2:
                as_sets = self.same_set(values[0].items, values[1].items, bag=True)
                return as_sets if as_sets.outcome == "different" else undecided("they speak of different letters")
            inner = self._family(a, b) or self.answers(a.value, b.value)
            if inner.outcome == "equal":
                if self.policy.renamed_parameters == "any":
                    return equal("renaming", f"{inner.reason}, under other names")
                return undecided(
                    f"they are equal, but one is {', '.join(a.names)} and the other {', '.join(b.names)}", "renaming"
                )
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
        if (
            len(holder.names) > 1
            and isinstance(other, Group)
            and isinstance(holder.value, Group)
            and holder.value.kind == "assigned"
        ):
            # a=1, b=2 against (1,2): nothing tells that a comes first
            as_sets = self.same_set(holder.value.items, other.items)
            if as_sets.outcome == "different":
                return as_sets
            return undecided("only one of them says which value is whose")
        if isinstance(other, Value) and isinstance(holder.value, Value):
            family = self._family(a, b)
            if family is not None:
                return family
        return self.answers(holder.value, other) if first else self.answers(other, holder.value)

    def by_name(self, names: Names, a: Group, other_names: Names, b: Group) -> Result:
        """The values of the same several letters, perhaps named in another order: one row of values, or several."""
        order = [other_names.index(n) for n in names]
        sides = []
        for side, places in ((a, range(len(names))), (b, order)):
            if side.kind in ("tuple", "assigned"):
                if len(side.items) != len(names):
                    return undecided("there are not as many values as letters")
                sides.append(Group("tuple", tuple(side.items[p] for p in places)))
            elif _rows(side, len(names)):
                rows = [r.items for r in side.items if isinstance(r, Group)]
                sides.append(Group("list", tuple(Group("tuple", tuple(r[p] for p in places)) for r in rows)))
            elif names == other_names:
                sides.append(side)
            else:
                return undecided("their letters stand in different orders")
        if sides[0].kind == sides[1].kind == "tuple":
            return self.in_order(sides[0].items, sides[1].items)  # by name: whatever the policy on tuples
        for side, other in (sides, sides[::-1]):
            if side.kind == "tuple" and _rows(other, len(names)):
                return (
                    self.answers(Group("list", (side,)), other)
                    if side is sides[0]
                    else self.answers(other, Group("list", (side,)))
                )
        return self.answers(*sides)

    def _family(self, a: Answer, b: Answer) -> Result | None:
        """`n=4k+3` against the like: a parameter may have another name."""
        one, two = (x.value if isinstance(x, Named) else x for x in (a, b))
        if not (isinstance(one, Value) and isinstance(two, Value)):
            return None
        first, second = symbols(one.expr), symbols(two.expr)
        if not first or not second:
            return None
        left, right = as_residues(a), as_residues(b)
        if left is not None and right is not None:
            return self.residues(a, b)
        names = [name for x in (a, b) if isinstance(x, Named) for name in x.names]
        both = isinstance(a, Named) and isinstance(b, Named)
        # the i and j of a_{ij} are bound by it, and have no other names
        fixed = frozenset("".join(name.partition("_")[2] for name in names))
        result = self.values(one, two, bound=(first | second) - fixed if both else frozenset())
        if both and result.outcome == "different" and all(n[0] in numeric.WHOLE for n in (*names, *first, *second)):
            return undecided("as families they may have the same members")
        return result

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
        return equal(strongest(results), "all entries are equal, in order")

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
            return equal(
                strongest([r for row in table for r in row if r.outcome == "equal"]), "both have the same members"
            )
        for i, row in enumerate(table, 1):
            if all(r.outcome == "different" for r in row):
                return different(strongest(row), f"member {i} of the gold answer is not in the reply")
        for j in range(len(b)):
            column = [row[j] for row in table]
            if all(r.outcome == "different" for r in column):
                return different(strongest(column), f"member {j + 1} of the reply is not in the gold answer")
        if len(a) != len(b):
            larger = a if len(a) > len(b) else b
            if self._all_distinct(larger):
                return different("structure", f"one has {len(a)} members, the other {len(b)}")
        loose = next(
            (r for row in table for r in row if r.outcome == "undecided"), undecided("their members can't be matched")
        )
        return undecided(f"a member can't be matched: {loose.reason}", loose.method)

    def _all_distinct(self, items: Sequence[Answer]) -> bool:
        return all(self.answers(x, y).outcome == "different" for i, x in enumerate(items) for y in items[:i])

    def several_and_one(self, group: Group, other: Answer) -> Result:
        if isinstance(other, (Value, Ratio, Ratio)):
            if group.kind in ("tuple", "bracket"):
                return different("structure", f"one has {len(group.items)} entries, the other is a single value")
            results = [self.answers(item, other) for item in group.items]
            if any(r.outcome == "different" for r in results):
                return different("structure", "one has a member that the other has not")
            if all(r.outcome == "equal" for r in results):
                return equal(strongest(results), "all members are equal to the other's value")
            return undecided("one has several members, the other is a single value")
        if isinstance(other, Empty):
            return different("structure", "one has members, the other has none")
        if isinstance(other, NumberSet):
            return different("structure", "one is finite, the other is not")
        if isinstance(other, Verdict):
            return different("structure", "one is Yes or No, the other is not")
        return undecided(f"{kind_of(group)} can't be held against {kind_of(other)}")

    # Sets of real numbers

    # Other kinds

    def residues(self, a: Answer, b: Answer) -> Result:
        one, two = as_residues(a), as_residues(b)
        if one is None or two is None:
            other = a if one is None else b
            inner = other.value if isinstance(other, Named) else other
            if isinstance(inner, Value) and not symbols(inner.expr):
                return different("structure", "one is a whole class of numbers, the other a single one")
            if isinstance(inner, Group) and all(isinstance(i, Value) and not symbols(i.expr) for i in inner.items):
                return different("structure", "one is a whole class of numbers, the other is finite")
            if isinstance(inner, (Empty, Verdict, Ratio)):
                return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
            return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
        if len(one.residues) == len(two.residues) == 1 and (one.modulus, one.residues) != (two.modulus, two.residues):
            return different("congruence", "they are different classes of remainders")
        size = one.modulus * two.modulus
        if size > 10**12 or one.modulus * len(two.residues) + two.modulus * len(one.residues) > 10**6:
            return undecided("their moduli are too large", "limit")
        lifted = [
            {r + k * x.modulus for r in x.residues for k in range(y.modulus)}
            if one.modulus != two.modulus
            else set(x.residues)
            for x, y in ((one, two), (two, one))
        ]
        if lifted[0] != lifted[1]:
            return different("congruence", "some numbers leave one of the remainders only")
        if (
            one.var is not None
            and two.var is not None
            and one.var != two.var
            and self.policy.renamed_parameters != "any"
        ):
            return undecided("they are equal, but speak of different letters", "renaming")
        return equal("congruence", "both are the same numbers by remainder")

    def functions(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Function) and isinstance(b, Function):
            if a.params and b.params and len(a.params) != len(b.params):
                return different("structure", "they take different numbers of arguments")
            params = a.params or b.params
            body = with_params(b, a.params) if a.params and b.params else b.body
            if body is None:
                return undecided("a letter stands for the variable of one, and for something else in the other")
            loose = (symbols(a.body) | symbols(body)) - set(params)
            result = self.renamed(a.body, body, frozenset(loose))
            if result.outcome == "different" and may_be_one_family(a.body, body, frozenset(params)):
                return undecided("they differ, but may be the same with other values of their parameters")
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
            if (
                result.outcome == "different"
                and not (symbols(other.expr) & set(function.params))
                and symbols(other.expr)
            ):
                return undecided("one is a function, the other a formula in other letters")
            return result
        if isinstance(other, Group):
            results = [self.answers(item, function) for item in other.items]
            if any(r.outcome == "different" for r in results) and other.kind in ("list", "set"):
                return different("structure", "one has a member that the other has not")
            return undecided("one has several members, the other is one function")
        if isinstance(other, (Empty, Verdict, Interval, Union, NumberSet, Residues, Ratio)):
            return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
        return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")

    def equations(self, a: Answer, b: Answer) -> Result:
        """Equations are equal up to a nonzero factor, and differ if a point solves one of them only."""
        if not (isinstance(a, Equation) and isinstance(b, Equation)):
            other = b if isinstance(a, Equation) else a
            if (isinstance(other, Value) and not symbols(other.expr)) or isinstance(other, (Empty, Verdict, NumberSet)):
                return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
            if isinstance(other, Group) and other.kind in ("tuple", "bracket"):
                return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
            return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
        if (
            self.expressions(a.left, b.left).outcome == "equal"
            and self.expressions(a.right, b.right).outcome == "equal"
        ):
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
            first_letters, second_letters = symbols(one), symbols(two)
            if first_letters != second_letters and (
                not first_letters & second_letters or len(first_letters) == len(second_letters)
            ):
                return undecided("they speak of different letters")
            for first, second in ((left, right), (right, left)):
                if (
                    algebra.letters_only(first)
                    and algebra.letters_only(second)
                    and solves_one_only(algebra, first, second)
                ):
                    return different("algebra", "a point solves one of them only")
        except Refused as refused:
            return undecided(str(refused), "algebra")
        return undecided("neither is a multiple of the other by a number")

    def inequalities(self, a: Inequality, b: Inequality) -> Result:
        one, two = Op("add", (a.right, Op("neg", (a.left,)))), Op("add", (b.right, Op("neg", (b.left,))))
        forms = normal_forms(one, two)
        if isinstance(forms, str):
            return undecided(forms, "algebra")
        algebra, left, right = forms
        try:
            factor = algebra.divide(left, right).constant() if right.num else None
        except Refused as refused:
            return undecided(str(refused), "algebra")
        if factor is None and left.den == right.den and left.num.keys() == right.num.keys():
            ratios = {left.num[mono] / right.num[mono] for mono in left.num}
            factor = ratios.pop() if len(ratios) == 1 and algebra.letters_only(left) else None
            if left.den != {(): 1}:
                factor = None  # the common denominator may be negative
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
            members = expand(this, {})
            if members is not None:
                listed = Group("set", tuple(Value(Num(m)) for m in members))
                return self.answers(listed, other) if this is a else self.answers(other, listed)
            if isinstance(other, (Value, Empty, Verdict)) and not (isinstance(other, Value) and symbols(other.expr)):
                return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
            return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
        if (a.last is None) != (b.last is None):
            return different("structure", "only one of the lists ends")
        steps = [step_of(x) for x in (a, b)]
        if len(a.first) == len(b.first) and all(
            self.expressions(x, y).outcome == "equal" for x, y in zip(a.first, b.first, strict=True)
        ):
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
                if min(len(a.first), len(b.first)) == 1:
                    return undecided("they are equal if the list with one member before its dots has the same step")
                return equal("structure", "both lists have the same start, step and end")
        letters = frozenset().union(
            *(symbols(e) for x in (a, b) for e in (*x.first, *((x.last,) if x.last is not None else ())))
        )
        if None in steps:
            return undecided("the rule of one of the lists is not certain")
        if a.last is None or b.last is None:
            starts = self.expressions(a.first[0], b.first[0])
            if starts.outcome == "different" or steps[0] != steps[1]:
                return different("structure", "the lists start or go on differently")
            return undecided("the lists have no end")
        for value in (5, 8, 9, 12):
            sets = [expand(x, {name: Fraction(value) for name in letters}) for x in (a, b)]
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
            if isinstance(other, (Value, Group, Words, Interval, Equation, Ratio)):
                if isinstance(other, Value) and other.expr in (Num(Fraction(0)), Num(Fraction(1))):
                    return undecided("0 or 1 may stand for no or yes", "words")
                return different("words", f"one is {kind_of(a)}, the other {kind_of(b)}")
            return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}", "words")
        named, other = (a, b) if isinstance(a, Words) else (b, a)
        assert isinstance(named, Words)
        if named.name is not None and isinstance(other, Value) and not symbols(other.expr):
            return different("words", "one is a name, the other a number")
        return undecided("one of them is free text", "words")

    def empty(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Empty) and isinstance(b, Empty):
            if a.among and b.among and a.among != b.among:
                return undecided("both say that there are none, but not of the same kind")
            return equal("structure", "both are empty")
        other = b if isinstance(a, Empty) else a
        if isinstance(other, Value):
            if other.expr == Num(Fraction(0)):
                return undecided("0 may be the number of solutions")
            return different("structure", "only one of them has a solution")
        if isinstance(other, (Group, NumberSet, Ratio, Equation)):
            return different("structure", "only one of them has a solution")
        return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")

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
        return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")

    def ratios(self, a: Answer, b: Answer) -> Result:
        if isinstance(a, Ratio) and isinstance(b, Ratio):
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
        colon, other = (a, b) if isinstance(a, Ratio) else (b, a)
        assert isinstance(colon, Ratio)
        if isinstance(other, Value) and not symbols(other.expr) and len(colon.parts) == 2 and Fraction(colon.parts[1]):
            quotient = Num(Fraction(colon.parts[0]) / Fraction(colon.parts[1]))
            if self.expressions(quotient, other.expr).outcome != "different":
                return undecided("one is a ratio, the other a number")
            return different("structure", "one is a ratio or a time, the other a different number")
        return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")


def _rows(group: Group, length: int) -> bool:
    """Whether it is a list of tuples of this length: several values of all the letters."""
    return all(isinstance(i, Group) and i.kind == "tuple" and len(i.items) == length for i in group.items)


def _constants(items: Sequence[Answer]) -> list[Fraction] | None:
    """The members as rational literals, if they are."""
    out = []
    for item in items:
        if not isinstance(item, Value) or item.unit is not None or item.rounded or not isinstance(item.expr, Num):
            return None
        out.append(item.expr.value)
    return out

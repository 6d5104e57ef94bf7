"""Two sets of real numbers: intervals, inequalities, unions of them, and finite sets."""

from __future__ import annotations

from typing import Literal

from . import numeric
from .formulas import Result, different, equal, normal_forms, strongest, undecided
from .kinds import (
    Answer,
    Conditioned,
    Empty,
    Function,
    Group,
    Interval,
    Named,
    NumberSet,
    Union,
    Value,
    Verdict,
    Words,
    as_interval,
    kind_of,
)
from .parse import Expr, Num, symbols
from .quantities import Quantities


class RealSets(Quantities):
    """Comparisons of sets of real numbers."""

    def real_sets(self, a: Answer, b: Answer) -> Result:
        pair = [a, b]
        for i in (0, 1):
            other = pair[1 - i]
            this = pair[i]
            if (
                isinstance(this, Group)
                and this.kind in ("tuple", "bracket")
                and len(this.items) == 2
                and isinstance(other, (Interval, Union))
            ):
                interval = as_interval(this)
                if interval is not None:
                    pair[i] = interval
        parts = [_parts(x) for x in pair]
        if any(isinstance(x, Conditioned) for x in pair):
            return undecided("one of them is stated under a condition")
        for x in pair:
            if isinstance(x, Words):
                return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
            if isinstance(x, (Verdict, Function)):
                return different("structure", f"one is {kind_of(a)}, the other {kind_of(b)}")
            if isinstance(x, NumberSet) and x.name != "R":
                return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
        if parts[0] is None or parts[1] is None:
            return undecided(f"{kind_of(a)} can't be held against {kind_of(b)}")
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
                    return equal(strongest(ends), "both have the same ends")
                if self._proper(a[0]):
                    return different("structure", "an end belongs to one of them only")
                return undecided("an end belongs to one of them only")
            if any(r.outcome == "different" for r in ends):
                if (self._proper(a[0]) and self._proper(b[0])) or any(x.low is None or x.high is None for x in a + b):
                    return different(
                        strongest(ends), "an end differs: " + next(r.reason for r in ends if r.outcome == "different")
                    )
            else:
                return undecided("; ".join(r.reason for r in ends if r.outcome == "undecided"))
        cuts: list[Expr] = []
        places: dict[Expr, int] = {}
        cut_ends = {end: None for interval in a + b for end in (interval.low, interval.high) if end is not None}
        for end in cut_ends:
            if not self._insert(cuts, end):
                return undecided("the order of their ends is not certain")
        for end in cut_ends:
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
            return (
                equal("structure", "both are unbounded")
                if a is b
                else different("structure", "only one of them is bounded")
            )
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
        forms = normal_forms(a, b)
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


def _whole_end(end: Expr | None, closed: bool, step: int) -> int | Literal[False] | None:
    """The outermost whole number of an interval at this end; `False` where it is not certain."""
    if end is None:
        return None
    value = end.value if isinstance(end, Num) else None
    if value is None:
        forms = normal_forms(end, end)
        value = None if isinstance(forms, str) else forms[1].constant()
    if value is None:
        return False
    whole = -((-value.numerator) // value.denominator) if step > 0 else value.numerator // value.denominator
    if not closed and whole == value:
        whole += step
    return int(whole)


def _merge(pairs: list[tuple[int | Literal[False] | None, int | Literal[False] | None]]) -> list[tuple[float, float]]:
    """Ranges of whole numbers, sorted, the adjoining ones joined."""
    spans = sorted(
        (float("-inf") if low is None else low, float("inf") if high is None else high) for low, high in pairs
    )
    out: list[tuple[float, float]] = []
    for low, high in spans:
        if low > high:
            continue
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return out

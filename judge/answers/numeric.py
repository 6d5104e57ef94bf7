"""Interval arithmetic: proofs that two values differ.

Every value is an interval that certainly holds it (mpmath's `libmp`, pure functions with the precision as an argument, so
that no global state is shared between threads). Two disjoint intervals prove a difference; overlapping ones prove
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from . import limits
from .normalise import Refused
from .parse import ELEMENTARY, Expr, Num, Op, Sym

Interval = Any  # a pair of mpmath raw floats, low and high: libmp has no types


@lru_cache(maxsize=1)
def _libmp() -> Any:
    import mpmath.libmp as found

    # It keeps its constants at the highest precision so far, not safely for threads: after this they are only read.
    for constant in (found.mpf_pi, found.mpf_e, found.mpf_ln2, found.mpf_ln10):
        constant(2 * limits.INTERVAL_BITS_FINE)
    return found


class Evaluator:
    """Intervals for expressions, at given values of the letters.

    Args:
        values: an exact value for each letter.
        bits: the precision.
        log_unit: what a logarithm without a base is divided by: 1 (natural) or ln 10.
    """

    def __init__(self, values: dict[str, Fraction], bits: int, *, decimal_log: bool = False) -> None:
        self.values = values
        self.bits = bits
        self.decimal_log = decimal_log
        self.mp = _libmp()
        self.nodes = 0  # operations done

    def of(self, expr: Expr) -> Interval:
        """An interval that holds the value; raises `Refused` where that is undefined, unknown or too large."""
        self.nodes += 200 if isinstance(expr, Op) and expr.op in ("fact", "fact2", "binom") else 1
        if self.nodes > limits.MAX_INTERVAL_NODES:
            raise Refused("it takes too much work to evaluate")
        result = self._of(expr)
        for end in result:
            if end in (self.mp.finf, self.mp.fninf, self.mp.fnan):
                raise Refused("its value is not bounded")
            if end[1] and abs(end[2] + end[3]) > limits.MAX_INTERVAL_EXPONENT:
                raise Refused("its value is too large or too small")
        return result

    def exact(self, value: Fraction) -> Interval:
        mp, bits = self.mp, self.bits
        return (
            mp.from_rational(value.numerator, value.denominator, bits, mp.round_floor),
            mp.from_rational(value.numerator, value.denominator, bits, mp.round_ceiling),
        )

    def pi(self) -> Interval:
        return self.mp.mpf_pi(self.bits, self.mp.round_floor), self.mp.mpf_pi(self.bits, self.mp.round_ceiling)

    def _of(self, expr: Expr) -> Interval:
        mp, bits = self.mp, self.bits
        if isinstance(expr, Num):
            return self.exact(expr.value)
        if isinstance(expr, Sym):
            if expr.name == "pi":
                return self.pi()
            if expr.name == "e":
                return mp.mpf_e(bits, mp.round_floor), mp.mpf_e(bits, mp.round_ceiling)
            if expr.name not in self.values:
                raise Refused(f"{expr.name} has no value")
            return self.exact(self.values[expr.name])
        if expr.op == "pow":
            return self.power(expr.args[0], expr.args[1])
        if expr.op in ("call", "percent", "root"):
            return self.special(expr)
        args = [self.of(a) for a in expr.args]
        one = args[0]
        if expr.op in ELEMENTARY and self.magnitude(one) > limits.MAX_ANGLE_BITS:
            raise Refused("its argument is too large")
        match expr.op:
            case "add":
                for other in args[1:]:
                    one = mp.mpi_add(one, other, bits)
                return one
            case "mul":
                for other in args[1:]:
                    one = mp.mpi_mul(one, other, bits)
                return one
            case "neg":
                return mp.mpi_neg(one, bits)
            case "div":
                return self.quotient(one, args[1])
            case "sin":
                return mp.mpi_sin(one, bits)
            case "cos":
                return mp.mpi_cos(one, bits)
            case "tan":
                return self.quotient(mp.mpi_sin(one, bits), mp.mpi_cos(one, bits))
            case "cot":
                return self.quotient(mp.mpi_cos(one, bits), mp.mpi_sin(one, bits))
            case "sec":
                return self.quotient(self.exact(Fraction(1)), mp.mpi_cos(one, bits))
            case "csc":
                return self.quotient(self.exact(Fraction(1)), mp.mpi_sin(one, bits))
            case "arctan":
                return mp.mpi_atan(one, bits)
            case "ln":
                return self.log(one)
            case "log":
                if len(args) == 2:
                    return self.quotient(self.log(one), self.log(args[1]))
                return (
                    self.quotient(self.log(one), self.log(self.exact(Fraction(10))))
                    if self.decimal_log
                    else self.log(one)
                )
            case "abs":
                return mp.mpi_abs(one, bits)
            case "deg":
                return mp.mpi_mul(one, mp.mpi_div(self.pi(), self.exact(Fraction(180)), bits), bits)
            case "floor" | "ceil":
                return self.rounded(one, up=expr.op == "ceil")
            case "fact":
                n = self.integer(one)
                if not 0 <= n <= limits.MAX_FACTORIAL:
                    raise Refused("its factorial is out of range")
                return self.exact(Fraction(math.factorial(n)))
            case "fact2":
                n = self.integer(one)
                if not -1 <= n <= limits.MAX_FACTORIAL:
                    raise Refused("its factorial is out of range")
                return self.exact(Fraction(math.prod(range(n, 0, -2))))
            case "binom":
                n, k = self.integer(one), self.integer(args[1])
                if not (0 <= n <= limits.MAX_FACTORIAL and k >= 0):
                    raise Refused("its binomial coefficient is out of range")
                return self.exact(Fraction(math.comb(n, k)))
            case "mod":
                n, k = self.integer(one), self.integer(args[1])
                if k <= 0:
                    raise Refused("its modulus is out of range")
                return self.exact(Fraction(n % k))
            case "gcd" | "lcm":
                whole = [self.integer(a) for a in args]
                return self.exact(Fraction(math.gcd(*whole) if expr.op == "gcd" else math.lcm(*whole)))
            case "min" | "max":
                lows, highs = [a[0] for a in args], [a[1] for a in args]
                return self.extreme(lows, expr.op), self.extreme(highs, expr.op)
        raise Refused(f"{expr.op} is not evaluated")

    def extreme(self, ends: list[Any], op: str) -> Any:
        """The smallest or largest of some raw floats."""
        best = ends[0]
        for end in ends[1:]:
            if self.mp.mpf_lt(end, best) == (op == "min"):
                best = end
        return best

    def special(self, expr: Op) -> Interval:
        mp, bits = self.mp, self.bits
        if expr.op == "percent":
            return mp.mpi_div(self.of(expr.args[0]), self.exact(Fraction(100)), bits)
        if expr.op == "root":
            index = expr.args[1]
            if not isinstance(index, Num) or index.value.denominator != 1 or not 1 <= index.value <= 60:
                raise Refused("its root has an unusual index")
            n = int(index.value)
            inner = self.of(expr.args[0])
            if n == 2:
                self.not_negative(inner)
                return mp.mpi_sqrt(inner, bits)
            if self.sign(inner) == 0:
                return self.exact(Fraction(0))
            if self.sign(inner) == -1:
                if n % 2 == 0:
                    raise Refused("it has a root of a negative number")
                return mp.mpi_neg(self.real_power(mp.mpi_neg(inner, bits), self.exact(Fraction(1, n))), bits)
            return self.real_power(inner, self.exact(Fraction(1, n)))
        raise Refused("a function that is not known has no value")

    def magnitude(self, x: Interval) -> int:
        """About log2 of the largest absolute value in it."""
        return max((end[2] + end[3] for end in x if end[1]), default=0)

    def sign(self, x: Interval) -> int:
        """1, 0 or -1; raises where the interval does not tell."""
        low, high = self.mp.mpf_sign(x[0]), self.mp.mpf_sign(x[1])
        if low > 0:
            return 1
        if high < 0:
            return -1
        if low == high == 0:
            return 0
        raise Refused("the sign of a part of it is not certain")

    def not_negative(self, x: Interval) -> None:
        if self.mp.mpf_sign(x[0]) < 0:
            raise Refused("it has a root of what may be negative")

    def quotient(self, a: Interval, b: Interval) -> Interval:
        if self.sign(b) == 0:
            raise Refused("it divides by zero")
        return self.mp.mpi_div(a, b, self.bits)

    def log(self, x: Interval) -> Interval:
        if self.sign(x) != 1:
            raise Refused("it has a logarithm of what is not positive")
        return self.mp.mpi_log(x, self.bits)

    def integer(self, x: Interval) -> int:
        if x[0] != x[1] or self.magnitude(x) > limits.MAX_BITS:
            raise Refused("a part of it is not certainly whole")
        numerator, denominator = self.mp.to_rational(x[0])
        if denominator != 1:
            raise Refused("a part of it is not whole")
        return int(numerator)

    def rounded(self, x: Interval, *, up: bool) -> Interval:
        function = self.mp.mpf_ceil if up else self.mp.mpf_floor
        low, high = function(x[0], self.bits), function(x[1], self.bits)
        if low != high:
            raise Refused("its rounding is not certain")
        return low, high

    def power(self, base_expr: Expr, exponent_expr: Expr) -> Interval:
        mp, bits = self.mp, self.bits
        base, exponent = self.of(base_expr), self.of(exponent_expr)
        if self.magnitude(exponent) > 64:
            raise Refused("its value is too large or too small")
        size = max(abs(e[2] + e[3]) if e[1] else 0 for e in base)
        top = max(abs(mp.to_int(e)) for e in exponent) + 1
        if (size + 1) * top > limits.MAX_INTERVAL_EXPONENT:
            raise Refused("its value is too large or too small")
        whole: int | None
        try:
            whole = self.integer(exponent)
        except Refused:
            whole = None
        if whole is not None:
            if whole <= 0 and self.sign(base) == 0:
                raise Refused("a power of zero")
            if whole < 0:
                return self.quotient(self.exact(Fraction(1)), mp.mpi_pow_int(base, -whole, bits))
            return mp.mpi_pow_int(base, whole, bits)
        if self.sign(base) == 0 and self.sign(exponent) == 1:
            return self.exact(Fraction(0))
        return self.real_power(base, exponent)

    def real_power(self, base: Interval, exponent: Interval) -> Interval:
        mp, bits = self.mp, self.bits
        return mp.mpi_exp(mp.mpi_mul(exponent, self.log(base), bits), bits)


def apart(a: Interval, b: Interval) -> bool:
    """Whether the two intervals have no point in common."""
    mp = _libmp()
    return bool(mp.mpf_lt(a[1], b[0]) or mp.mpf_lt(b[1], a[0]))


# Letters that stand for whole numbers in nearly every problem: they are given only whole values.
WHOLE = frozenset("ijklmnpqNMKdsuv")
# Fewer of them are so in every problem: only these may be taken for whole where that makes two formulas equal.
COUNTED = frozenset("ijkmnN")
_WHOLE_VALUES = (7, 4, 11, 6, 13, 5, 9, 12, 3, 10, 2, 8)
_REAL_VALUES = (
    Fraction(7),
    Fraction(4, 5),
    Fraction(11, 3),
    Fraction(1, 7),
    Fraction(6),
    Fraction(13, 9),
    Fraction(3, 11),
    Fraction(29, 2),
)


def points(letters: frozenset[str]) -> Iterator[dict[str, Fraction]]:
    """Places to try: all letters positive, in several orders of size, since problems are mostly about positive numbers."""
    names = sorted(letters)
    for shift in range(8):
        values: dict[str, Fraction] = {}
        for index, name in enumerate(names):
            step = shift + index * 3 if shift % 2 == 0 else shift + (len(names) - index) * 5
            if name[0] in WHOLE:
                values[name] = Fraction(_WHOLE_VALUES[step % len(_WHOLE_VALUES)])
            else:
                values[name] = _REAL_VALUES[step % len(_REAL_VALUES)]
        yield values
    yield {name: Fraction(3 + 4 * i) for i, name in enumerate(names)}
    yield {name: Fraction(1, 3 + 2 * i) for i, name in enumerate(names) if name[0] not in WHOLE} | {
        name: Fraction(2 + i) for i, name in enumerate(names) if name[0] in WHOLE
    }


class Effort:
    """Interval operations done, over several searches."""

    def __init__(self) -> None:
        self.nodes = 0


def differ(
    a: Expr, b: Expr, letters: frozenset[str], *, decimal_log: bool = False, effort: Effort | None = None
) -> dict[str, Fraction] | None:
    """A place at which the two certainly have different values; `None` if none was found."""
    for values in points(letters) if letters else iter([{}]):
        for bits in (limits.INTERVAL_BITS, limits.INTERVAL_BITS_FINE):
            evaluator = Evaluator(values, bits, decimal_log=decimal_log)
            try:
                one, two = evaluator.of(a), evaluator.of(b)
            except (Refused, ValueError, ZeroDivisionError, OverflowError):
                break
            finally:
                if effort is not None:
                    effort.nodes += evaluator.nodes * (1 if bits == limits.INTERVAL_BITS else 4)
            if apart(one, two):
                return values
            if bits == limits.INTERVAL_BITS and letters:
                break  # at a special place only; the next one will tell
    return None


def compare_numbers(a: Expr, b: Expr) -> int | None:
    """-1 or 1 where the first number is certainly smaller or larger; `None` where that is not certain."""
    for bits in (limits.INTERVAL_BITS, limits.INTERVAL_BITS_FINE):
        evaluator = Evaluator({}, bits)
        try:
            one, two = evaluator.of(a), evaluator.of(b)
        except (Refused, ValueError, ZeroDivisionError, OverflowError):
            return None
        if apart(one, two):
            return -1 if _libmp().mpf_lt(one[1], two[0]) else 1
    return None

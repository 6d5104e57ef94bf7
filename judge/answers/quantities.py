"""Two values: numbers and formulas, with units, degrees, percent signs and roundings, as the policy has it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from . import numeric
from .formulas import Formulas, Result, as_radians, different, equal, has_constant, undecided
from .kinds import Value
from .parse import Expr, Num, Op, Sym, mentions, symbols

# Unit: what it measures, and how much of it in a base unit.
_UNITS: dict[str, tuple[str, Fraction]] = {
    "mm": ("length", Fraction(1, 1000)), "cm": ("length", Fraction(1, 100)), "dm": ("length", Fraction(1, 10)),
    "m": ("length", Fraction(1)), "meter": ("length", Fraction(1)), "meters": ("length", Fraction(1)),
    "metre": ("length", Fraction(1)), "metres": ("length", Fraction(1)), "km": ("length", Fraction(1000)),
    **dict.fromkeys(["kilometer", "kilometers", "kilometre", "kilometres"], ("length", Fraction(1000))),
    **dict.fromkeys(["millimeter", "millimeters", "millimetre", "millimetres"], ("length", Fraction(1, 1000))),
    **dict.fromkeys(["centimeter", "centimetre"], ("length", Fraction(1, 100))),
    **dict.fromkeys(["kilogram", "kilograms"], ("mass", Fraction(1000))),
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
_RADIANS = frozenset(["rad", "radian", "radians"])
_BARE_UNITS = frozenset(["unit", "units", "rad", "radian", "radians", "percent"])


def _unit_read(value: Value) -> Value | None:
    """`3000 g` with its last letter read as a unit, as it may be beside an answer with one."""
    expr = value.expr
    if not (
        isinstance(expr, Op)
        and expr.op == "mul"
        and isinstance(expr.args[-1], Sym)
        and expr.args[-1].name in ("m", "g", "s", "h")
    ):
        return None
    rest = expr.args[0] if len(expr.args) == 2 else Op("mul", expr.args[:-1])
    return None if symbols(rest) else Value(rest, (expr.args[-1].name, 1))


class Quantities(Formulas):
    """Comparisons of values."""

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
        first, second = symbols(a.expr), symbols(b.expr)
        if result.outcome == "different" and first != second and first and second:
            return undecided("they are formulas in different letters, which the problem may relate to each other")
        if result.outcome == "different" and bool(first) != bool(second) and self._unit_letter(a.expr, b.expr):
            return undecided("they are equal if a letter is a unit or a label", "units")
        return (
            self._percent(a.expr, b.expr, result)
            or self._decimal(a.expr, b.expr, result)
            or self._angle(a.expr, b.expr, result)
            or result
        )

    def _unit_letter(self, a: Expr, b: Expr) -> bool:
        """10 m against 10, or (B) 10."""
        product, other = (a, b) if symbols(a) else (b, a)
        if not isinstance(product, Op) or product.op != "mul":
            return False
        for letter, rest in ((product.args[-1], product.args[:-1]), (product.args[0], product.args[1:])):
            if isinstance(letter, Sym) and letter.name in ("mgshlL" if letter is product.args[-1] else "ABCDE"):
                value = rest[0] if len(rest) == 1 else Op("mul", rest)
                if not symbols(value) and self.expressions(value, other).outcome == "equal":
                    return True
        return False

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
        has_pi = [has_constant(x, "pi") for x in (a, b)]
        if has_pi[0] == has_pi[1]:
            return None
        turned = [
            Op("mul", (x, Op("div", (Num(Fraction(180)), Sym("pi"))))) if h else x
            for x, h in zip((a, b), has_pi, strict=True)
        ]
        if self.expressions(turned[0], turned[1]).outcome == "equal":
            return undecided("they are equal if one is in degrees and the other in radians", "units")
        return None

    def with_units(self, a: Value, b: Value) -> Result:
        if ("percent", 1) in (a.unit, b.unit):
            one, two = (Value(Op("percent", (x.expr,))) if x.unit == ("percent", 1) else x for x in (a, b))
            return self.values(one, two)
        if self.policy.units != "ignored" and (a.unit is None) != (b.unit is None):
            lettered = [_unit_read(x) if x.unit is None else x for x in (a, b)]
            if None not in lettered and all(
                x is not None and x.unit is not None and x.unit[0] in _UNITS for x in lettered
            ):
                read_as = self.with_units(*(x for x in lettered if x is not None))
                return read_as if read_as.outcome == "equal" else undecided("a letter may be a unit", "units")
        bare_a, bare_b = replace(a, unit=None), replace(b, unit=None)
        if any(x.unit is not None and x.unit[0] in _RADIANS for x in (a, b)) and (
            mentions(a.expr, "deg") or mentions(b.expr, "deg")
        ):
            return self.expressions(as_radians(a.expr), as_radians(b.expr))
        if self.policy.units == "ignored" or a.unit == b.unit:
            return self.values(bare_a, bare_b)
        if a.unit is None or b.unit is None:
            inner = self.values(bare_a, bare_b)
            unit = a.unit or b.unit
            if (
                inner.outcome == "equal"
                and self.policy.units == "strict"
                and unit is not None
                and unit[0] not in _BARE_UNITS
            ):
                return undecided("they are equal but for a unit on one side", "units")
            if inner.outcome == "equal":
                return equal("units", f"{inner.reason}, the unit left out")
            return inner
        first, second = _UNITS.get(a.unit[0]), _UNITS.get(b.unit[0])
        if first is None or second is None:
            if a.unit[0] in _BARE_UNITS or b.unit[0] in _BARE_UNITS:
                return self.values(bare_a, bare_b)
            return undecided("they have different units", "units")
        if first[0] != second[0] or a.unit[1] != b.unit[1]:
            if {first[0], second[0]} == {"length", "inch"}:
                return undecided("their units are of different systems", "units")
            return different("units", "their units measure different things")
        scaled = [Op("mul", (x.expr, Num(u[1] ** (x.unit or ("", 1))[1]))) for x, u in ((a, first), (b, second))]
        return self.expressions(scaled[0], scaled[1])

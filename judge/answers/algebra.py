"""Exact arithmetic: expressions to quotients of polynomials with rational coefficients.

Numbers are integers and fractions of any size (up to `limits`), never floats. What is not rational (a root, a sine, a
power with a letter in its exponent, a factorial) becomes an atom, a letter of its own, with the few rewriting rules that
hold wherever both sides are defined: sqrt(2)^2 = 2, 2^(n+1) = 2*2^n, (n+1)! = (n+1)*n!, sin^2 = 1 - cos^2, and so on.

Two expressions with one normal form are equal. The converse holds only where no atoms are involved: there, and only
there, different normal forms are a proof that the expressions differ. All of it is plain dictionaries with a budget,
so that it is safe, and fast, in the calling process; what it can't show goes on to sympy in a worker.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from . import limits
from .normalise import Refused
from .parse import Expr, Num, Op, Sym

Mono = tuple[tuple[int, int], ...]  # (atom, exponent), by atom; exponents may be negative
Poly = dict[Mono, Fraction]

_ONE: Poly = {(): Fraction(1)}


class Ratio:
    """A quotient of two polynomials in atoms."""

    __slots__ = ("den", "num")

    def __init__(self, num: Poly, den: Poly | None = None) -> None:
        self.num = num
        self.den = _ONE if den is None else den

    def constant(self) -> Fraction | None:
        """Its value if it is a rational number."""
        if self.den != _ONE:
            return None
        if not self.num:
            return Fraction(0)
        if len(self.num) == 1 and () in self.num:
            return self.num[()]
        return None

    def key(self) -> Hashable:
        """Equal for equal normal forms."""
        return (tuple(sorted(self.num.items())), tuple(sorted(self.den.items())))

    def single(self) -> tuple[Fraction, Mono] | None:
        """Its coefficient and monomial if it is a single term."""
        if self.den == _ONE and len(self.num) == 1:
            ((mono, coefficient),) = self.num.items()
            return coefficient, mono
        return None


def rational(value: Fraction | int) -> Ratio:
    """A rational number."""
    return Ratio({(): Fraction(value)} if value else {})


class Algebra:
    """The atoms of one comparison, and the budget that its expressions share."""

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.names: list[Hashable] = []
        self.rules: dict[int, tuple[int, Ratio]] = {}  # atom^n -> value
        self.positive: set[int] = set()
        self.powers: dict[int, tuple[int, Mono, int]] = {}  # atom -> base atom, exponent monomial, its denominator
        self.spent = 0

    def of(self, expr: Expr) -> Ratio:
        """The normal form; raises `Refused` where it is undefined or over a limit."""
        if isinstance(expr, Num):
            return rational(expr.value)
        if isinstance(expr, Sym):
            if expr.name == "infty":
                raise Refused("infinity is not a number")
            return self.atom(expr.name, positive=expr.name in ("pi", "e"))
        handler = getattr(self, "_" + expr.op, None)
        if handler is None:
            return self.opaque(expr)
        result: Ratio = handler(expr)
        return result

    def same(self, a: Ratio, b: Ratio) -> bool:
        """Whether the two are one (proven), or not shown to be."""
        if a.num == b.num and a.den == b.den:
            return True
        if not a.num or not b.num:
            return not a.num and not b.num
        difference = self.add(
            self.multiply_out(a.num, b.den), self.scale(self.multiply_out(b.num, a.den), Fraction(-1))
        )
        return not difference.num

    def letters_only(self, ratio: Ratio) -> bool:
        """Whether all its atoms are plain letters, so that the normal form is canonical."""
        return all(
            isinstance(self.names[a], str) and self.names[a] not in ("pi", "e")
            for p in (ratio.num, ratio.den)
            for m in p
            for a, _ in m
        )

    # Polynomials

    def spend(self, products: int) -> None:
        self.spent += products
        if self.spent > limits.MAX_PRODUCTS:
            raise Refused("its normal form takes too much work")

    def atom(self, name: Hashable, *, positive: bool = False) -> Ratio:
        return Ratio({((self.atom_id(name, positive=positive), 1),): Fraction(1)})

    def atom_id(self, name: Hashable, *, positive: bool = False) -> int:
        found = self.ids.get(name)
        if found is None:
            found = self.ids[name] = len(self.names)
            self.names.append(name)
            if positive:
                self.positive.add(found)
        return found

    def mono_product(self, a: Mono, b: Mono) -> tuple[Fraction, Mono, list[tuple[int, int]]]:
        """Coefficient, monomial, and the atoms that a rule applies to with something else than a number."""
        exponents = dict(a)
        for atom, exponent in b:
            exponents[atom] = exponents.get(atom, 0) + exponent
        coefficient = Fraction(1)
        pending: list[tuple[int, int]] = []
        kept: list[tuple[int, int]] = []
        for atom, exponent in sorted(exponents.items()):
            rule = self.rules.get(atom)
            if rule is not None and not 0 <= exponent < rule[0]:
                turns, rest = divmod(exponent, rule[0])
                value = rule[1].constant()
                if value is not None:
                    if value == 0 or abs(turns) * _bits(value) > limits.MAX_BITS:
                        raise Refused("it makes numbers that are too large")
                    coefficient *= value**turns
                    exponent = rest
                elif turns > 0:
                    pending.append((atom, turns))
                    exponent = rest
            if exponent:
                kept.append((atom, exponent))
        return coefficient, tuple(kept), pending

    def multiply_out(self, a: Poly, b: Poly) -> Ratio:
        """The product of two polynomials, with every rule applied."""
        if len(a) == 1 and () in a:
            a, b = b, a
        if len(b) == 1 and () in b:
            return self.scale(Ratio(a), b[()])
        self.spend(len(a) * len(b) * _cost(_size(a) + _size(b)))
        out: Poly = {}
        extra: list[Ratio] = []
        for mono_a, coefficient_a in a.items():
            for mono_b, coefficient_b in b.items():
                factor, mono, pending = self.mono_product(mono_a, mono_b)
                coefficient = coefficient_a * coefficient_b * factor
                if pending:
                    term = Ratio({mono: coefficient})
                    for atom, turns in pending:
                        term = self.mul(term, self.integer_power(self.rules[atom][1], turns))
                    extra.append(term)
                    continue
                total = out.get(mono, 0) + coefficient
                if total:
                    out[mono] = total
                else:
                    out.pop(mono, None)
        self.check(out)
        result = Ratio(out)
        for term in extra:
            result = self.add(result, term)
        return result

    def check(self, poly: Poly) -> None:
        if len(poly) > limits.MAX_TERMS:
            raise Refused("its normal form has too many terms")
        for coefficient in poly.values():
            if _bits(coefficient) > 2 * limits.MAX_BITS:
                raise Refused("it makes numbers that are too large")

    def scale(self, a: Ratio, factor: Fraction) -> Ratio:
        if not factor:
            return Ratio({})
        size = _bits(factor)
        if size > 500:
            whole = size + _size(a.num)
            if whole > 2 * limits.MAX_BITS:
                raise Refused("it makes numbers that are too large")
            self.spend(len(a.num) * _cost(whole))
        return Ratio({m: c * factor for m, c in a.num.items()}, a.den)

    def add(self, a: Ratio, b: Ratio) -> Ratio:
        if a.den == b.den:
            num = dict(a.num)
            for mono, coefficient in b.num.items():
                total = num.get(mono, 0) + coefficient
                if total:
                    num[mono] = total
                else:
                    num.pop(mono, None)
            self.spend(len(b.num) * _cost(_size(a.num) + _size(b.num)))
            self.check(num)
            return Ratio(num, a.den if num else None)
        left, right = self.mul(Ratio(a.num), Ratio(b.den)), self.mul(Ratio(b.num), Ratio(a.den))
        return self.divide(self.add(left, right), self.mul(Ratio(a.den), Ratio(b.den)))

    def mul(self, a: Ratio, b: Ratio) -> Ratio:
        if a.den == _ONE and b.den == _ONE:
            return self.multiply_out(a.num, b.num)
        if a.num == b.den:
            return Ratio(b.num, a.den)
        if b.num == a.den:
            return Ratio(a.num, b.den)
        return self.divide(self.multiply_out(a.num, b.num), self.multiply_out(a.den, b.den))

    def divide(self, a: Ratio, b: Ratio) -> Ratio:
        """a/b, with a one-term denominator folded into the numerator."""
        if not b.num:
            raise Refused("it divides by zero")
        if not a.num:
            return Ratio({})
        if a.den != _ONE or b.den != _ONE:
            top, bottom = self.multiply_out(a.num, b.den), self.multiply_out(a.den, b.num)
            if top.den != _ONE or bottom.den != _ONE:
                raise Refused("its normal form takes too much work")
            return self.divide(top, bottom)
        if a.num == b.num:
            return rational(1)
        lead, coefficient = max(b.num.items())
        foldable = tuple((atom, exponent) for atom, exponent in lead if self.invertible(atom))
        inverse = self.reduce(Ratio({tuple((atom, -exponent) for atom, exponent in foldable): 1 / coefficient})).num
        top = self.multiply_out(a.num, inverse)
        bottom = self.multiply_out(b.num, inverse)
        if top.den != _ONE or bottom.den != _ONE:
            raise Refused("its normal form takes too much work")
        return Ratio(top.num, bottom.num)

    def invertible(self, atom: int) -> bool:
        rule = self.rules.get(atom)
        return rule is None or rule[1].constant() is not None

    def integer_power(self, base: Ratio, exponent: int) -> Ratio:
        if exponent == 0:
            if not base.num:
                raise Refused("0^0 is not defined")
            return rational(1)
        if exponent < 0:
            return self.divide(rational(1), self.integer_power(base, -exponent))
        single = base.single()
        if single is not None:
            coefficient, mono = single
            if exponent * _bits(coefficient) > limits.MAX_BITS:
                raise Refused("it makes numbers that are too large")
            if exponent > 10**6:
                raise Refused("its exponent is too large")
            result = Ratio({tuple((a, e * exponent) for a, e in mono): coefficient**exponent})
            return self.reduce(result)
        if exponent > limits.MAX_EXPANDED_POWER:
            raise Refused("its power is too high to be multiplied out")
        result, square = rational(1), base
        while True:
            if exponent & 1:
                result = self.mul(result, square)
            exponent >>= 1
            if not exponent:
                return result
            square = self.mul(square, square)

    def reduce(self, a: Ratio) -> Ratio:
        """The rules applied to a single term."""
        total = Ratio({})
        for mono, coefficient in a.num.items():
            factor, kept, pending = self.mono_product(mono, ())
            term = Ratio({kept: coefficient * factor})
            for atom, turns in pending:
                if turns > limits.MAX_EXPANDED_POWER:
                    raise Refused("its power is too high to be multiplied out")
                term = self.mul(term, self.integer_power(self.rules[atom][1], turns))
            total = self.add(total, term)
        return total

    # Operations

    def opaque(self, expr: Op) -> Ratio:
        return self.atom((expr.op, *(self.of(a).key() for a in expr.args)))

    def _call(self, expr: Op) -> Ratio:
        function = expr.args[0]
        name = function.name if isinstance(function, Sym) else ""
        return self.atom(("call", name, *(self.of(a).key() for a in expr.args[1:])))

    def _add(self, expr: Op) -> Ratio:
        total = self.of(expr.args[0])
        for term in expr.args[1:]:
            total = self.add(total, self.of(term))
        return total

    def _mul(self, expr: Op) -> Ratio:
        total = self.of(expr.args[0])
        for factor in expr.args[1:]:
            total = self.mul(total, self.of(factor))
        return total

    def _neg(self, expr: Op) -> Ratio:
        return self.scale(self.of(expr.args[0]), Fraction(-1))

    def _div(self, expr: Op) -> Ratio:
        return self.divide(self.of(expr.args[0]), self.of(expr.args[1]))

    def _percent(self, expr: Op) -> Ratio:
        return self.scale(self.of(expr.args[0]), Fraction(1, 100))

    def _deg(self, expr: Op) -> Ratio:
        inner = self.of(expr.args[0])
        return self.mul(inner, self.scale(self.atom("pi", positive=True), Fraction(1, 180)))

    def _pow(self, expr: Op) -> Ratio:
        base, exponent = self.of(expr.args[0]), self.of(expr.args[1])
        return self.power(base, exponent)

    def _root(self, expr: Op) -> Ratio:
        inner, index = self.of(expr.args[0]), self.of(expr.args[1]).constant()
        if index is None or index.denominator != 1 or not 1 <= index <= 60:
            raise Refused("its root has an unusual index")
        constant = inner.constant()
        if constant is not None and constant < 0 and index % 2 == 1:
            return self.scale(self.rational_power(rational(-constant), Fraction(1, int(index))), Fraction(-1))
        return self.rational_power(inner, Fraction(1, int(index)))

    def power(self, base: Ratio, exponent: Ratio) -> Ratio:
        constant = exponent.constant()
        if constant is not None:
            if constant.denominator == 1:
                try:
                    return self.integer_power(base, constant.numerator)
                except Refused:
                    if not base.num or abs(constant) > 10**18:
                        raise
                    return self.unexpanded(base, constant.numerator)
            return self.rational_power(base, constant)
        if not base.num:
            raise Refused("a power of zero with an unknown exponent")
        single = base.single()
        if single is None:
            return self.atom_power(self.atom_id(("base", base.key())), exponent)
        coefficient, mono = single
        integral = exponent.den == _ONE and all(c.denominator == 1 for c in exponent.num.values())
        if (coefficient < 0 and not integral) or any(
            e != 1 and a not in self.positive and not integral for a, e in mono
        ):
            return self.atom_power(self.atom_id(("base", base.key())), exponent)
        result = rational(1)
        if coefficient < 0:
            result = self.minus_one(exponent)
            coefficient = -coefficient
        for prime, times in factor(coefficient):
            part = self.atom_power(self.number_atom(prime), self.scale(exponent, Fraction(times)))
            result = self.mul(result, part)
        for atom, times in mono:
            result = self.mul(result, self.atom_power(atom, self.scale(exponent, Fraction(times))))
        return result

    def unexpanded(self, base: Ratio, exponent: int) -> Ratio:
        """A power that is too large to be written out: an atom of its own, or of each prime, equal only to its like."""
        value = base.constant()
        if value is None or value < 0:
            return self.atom(("power", base.key(), exponent))
        atoms = tuple(sorted((self.atom_id(("prime", p), positive=True), e * exponent) for p, e in factor(value)))
        return Ratio({atoms: Fraction(1)})

    def number_atom(self, prime: int) -> int:
        """A positive integer as the base of powers. Its first power is the number itself, see `atom_power`."""
        return self.atom_id(("number", prime), positive=True)

    def minus_one(self, exponent: Ratio) -> Ratio:
        """(-1)^exponent for an exponent with integer coefficients: only their parity counts."""
        result = rational(1)
        for mono, coefficient in exponent.num.items():
            if int(coefficient) % 2:
                if mono == ():
                    result = self.scale(result, Fraction(-1))
                    continue
                atom = self.atom_id(("sign", mono))
                self.rules[atom] = (2, rational(1))
                result = self.mul(result, Ratio({((atom, 1),): Fraction(1)}))
        return result

    def atom_power(self, base: int, exponent: Ratio) -> Ratio:
        """base^exponent, where the exponent is no number: split along the terms of the exponent."""
        name = self.names[base]
        constant = exponent.constant()
        if constant is not None and constant.denominator == 1:
            whole = self.value_of(base)
            return self.integer_power(whole, int(constant))
        if exponent.den != _ONE:
            return self.atom(("power", name, exponent.key()), positive=base in self.positive)
        if base in self.powers and base in self.positive:
            inner, mono, denominator = self.powers[base]
            return self.atom_power(inner, self.mul(exponent, Ratio({mono: Fraction(1, denominator)})))
        result = rational(1)
        for mono, coefficient in exponent.num.items():
            if mono == ():
                turns = math.floor(coefficient)
                result = self.mul(result, self.integer_power(self.value_of(base), turns))
                if coefficient != turns:
                    result = self.mul(result, self.rational_power(self.value_of(base), coefficient - turns))
                continue
            if abs(coefficient.numerator) > 10**6:
                raise Refused("its exponent is too large")
            atom = self.atom_id(("power", name, mono, coefficient.denominator), positive=base in self.positive)
            self.powers[atom] = (base, mono, coefficient.denominator)
            result = self.mul(result, Ratio({((atom, coefficient.numerator),): Fraction(1)}))
        return result

    def value_of(self, base: int) -> Ratio:
        """What the base atom of a power stands for."""
        name: Any = self.names[base]
        if isinstance(name, tuple) and name[0] == "number":
            return rational(name[1])
        if isinstance(name, tuple) and name[0] == "base":
            return Ratio(dict(name[1][0]), dict(name[1][1]))
        return Ratio({((base, 1),): Fraction(1)})

    def rational_power(self, base: Ratio, exponent: Fraction) -> Ratio:
        if exponent.denominator == 1:
            return self.integer_power(base, int(exponent))
        if exponent.denominator > 60 or abs(exponent.numerator) > 1000:
            return self.atom(("power", base.key(), exponent))
        if not base.num:
            if exponent > 0:
                return Ratio({})
            raise Refused("it divides by zero")
        content, rest = self.content(base)
        result = rational(1)
        for prime, times in factor(content):
            total = times * exponent
            whole = math.floor(total)
            result = self.mul(result, self.integer_power(rational(prime), whole))
            if total != whole:
                part = total - whole
                atom = self.atom_id(("root", prime, part.denominator), positive=True)
                self.rules[atom] = (part.denominator, rational(prime))
                result = self.mul(result, Ratio({((atom, part.numerator),): Fraction(1)}))
        single = rest.single()
        if single is not None and single[0] > 0:
            loose: list[tuple[int, int]] = []
            for atom, times in single[1]:
                if atom not in self.positive:
                    loose.append((atom, times))
                    continue
                total = times * exponent
                root = self.atom_id(("root of", self.names[atom], total.denominator), positive=True)
                if total.denominator == 1:
                    root = atom
                else:
                    self.rules[root] = (total.denominator, Ratio({((atom, 1),): Fraction(1)}))
                result = self.mul(result, self.reduce(Ratio({((root, total.numerator),): Fraction(1)})))
            if not loose:
                return result
            rest = Ratio({tuple(loose): Fraction(1)})
        elif rest.constant() is not None:
            raise Refused("it has a root of a negative number")
        atom = self.atom_id(("root of", rest.key(), exponent.denominator))
        self.rules[atom] = (exponent.denominator, rest)
        return self.mul(result, self.reduce(Ratio({((atom, exponent.numerator),): Fraction(1)})))

    def content(self, a: Ratio) -> tuple[Fraction, Ratio]:
        """The positive rational factor that all coefficients share, and the rest."""
        divisor = Fraction(0)
        for coefficient in a.num.values():
            divisor = Fraction(
                math.gcd(divisor.numerator * coefficient.denominator, coefficient.numerator * divisor.denominator),
                divisor.denominator * coefficient.denominator,
            )
        return divisor, self.scale(a, 1 / divisor)

    def _fact(self, expr: Op) -> Ratio:
        inner = self.of(expr.args[0])
        constant = inner.constant()
        if constant is not None:
            if constant.denominator != 1 or constant < 0:
                raise Refused("it has a factorial of something else than a natural number")
            if constant > limits.MAX_FACTORIAL:
                return self.atom(("fact", inner.key()), positive=True)
            return rational(math.factorial(int(constant)))
        return self.factorial(inner)

    def factorial(self, inner: Ratio) -> Ratio:
        """(n+k)! as (n+k)...(n+1) n!."""
        shift = inner.num.get((), Fraction(0)) if inner.den == _ONE else Fraction(0)
        if shift.denominator != 1 or abs(shift) > limits.MAX_SHIFT:
            shift = Fraction(0)
        base = self.add(inner, rational(-shift))
        result = self.atom(("fact", base.key()), positive=True)
        for step in range(1, int(shift) + 1):
            result = self.mul(result, self.add(base, rational(step)))
        for step in range(0, int(shift), -1):
            result = self.divide(result, self.add(base, rational(step)))
        return result

    def _fact2(self, expr: Op) -> Ratio:
        constant = self.of(expr.args[0]).constant()
        if constant is None:
            return self.opaque(expr)
        if constant.denominator != 1 or not -1 <= constant <= limits.MAX_FACTORIAL:
            raise Refused("it has a factorial of something else than a natural number")
        return rational(math.prod(range(int(constant), 0, -2)))

    def _binom(self, expr: Op) -> Ratio:
        top, bottom = self.of(expr.args[0]), self.of(expr.args[1])
        n, k = top.constant(), bottom.constant()
        if n is not None and k is not None and n.denominator == k.denominator == 1:
            if k < 0 or n < 0 or n > limits.MAX_FACTORIAL:
                raise Refused("its binomial coefficient is out of range")
            return rational(math.comb(int(n), int(k)))
        if k is not None and k.denominator == 1 and 0 <= k <= limits.MAX_SHIFT:
            result = rational(1)
            for step in range(int(k)):
                result = self.mul(result, self.add(top, rational(-step)))
            return self.scale(result, Fraction(1, math.factorial(int(k))))
        below = self.add(top, self.scale(bottom, Fraction(-1)))
        difference = below.constant()
        if difference is not None and difference.denominator == 1 and 0 <= difference <= limits.MAX_SHIFT:
            return self._binom(Op("binom", (expr.args[0], Num(difference))))
        if n is not None or k is not None:
            return self.opaque(expr)
        parts = self.mul(self.factorial(bottom), self.factorial(below))
        return self.divide(self.factorial(top), parts)

    def _floor(self, expr: Op) -> Ratio:
        return self.floor(self.of(expr.args[0]))

    def _ceil(self, expr: Op) -> Ratio:
        return self.scale(self.floor(self.scale(self.of(expr.args[0]), Fraction(-1))), Fraction(-1))

    def floor(self, inner: Ratio) -> Ratio:
        """floor(x+k) = floor(x)+k for a whole k."""
        constant = inner.constant()
        if constant is not None:
            return rational(math.floor(constant))
        shift = math.floor(inner.num.get((), Fraction(0))) if inner.den == _ONE else 0
        rest = self.add(inner, rational(-shift))
        return self.add(self.atom(("floor", rest.key())), rational(shift))

    def _abs(self, expr: Op) -> Ratio:
        inner = self.of(expr.args[0])
        constant = inner.constant()
        if constant is not None:
            return rational(abs(constant))
        content, rest = self.content(inner)
        single = rest.single()
        if single is not None and all(a in self.positive for a, _ in single[1]):
            return self.scale(rest, content * single[0])
        return self.scale(self.atom(("abs", self.unsigned(rest)[1].key())), content)

    def unsigned(self, a: Ratio) -> tuple[int, Ratio]:
        """Sign and rest, the same rest for a and -a."""
        if a.num and max(a.num.items())[1] < 0:
            return -1, self.scale(a, Fraction(-1))
        return 1, a

    def _ln(self, expr: Op) -> Ratio:
        return self.logarithm(self.of(expr.args[0]))

    def _log(self, expr: Op) -> Ratio:
        top = self.logarithm(self.of(expr.args[0]))
        if len(expr.args) == 1:
            # without a base: natural or decimal, so only what holds for both is shown
            return self.mul(top, self.atom("log unit", positive=True))
        return self.divide(top, self.logarithm(self.of(expr.args[1])))

    def logarithm(self, inner: Ratio) -> Ratio:
        content, rest = self.content(inner) if inner.num else (Fraction(0), inner)
        if not inner.num:
            raise Refused("it has a logarithm of zero")
        single = rest.single()
        if single is not None and single[0] < 0 and not single[1]:
            raise Refused("it has a logarithm of a negative number")
        if single is None or single[0] < 0 or any(a not in self.positive for a, _ in single[1]):
            return self.atom(("ln", inner.key()))
        total = Ratio({})
        for prime, times in factor(content):
            total = self.add(total, self.scale(self.atom(("ln", prime)), Fraction(times)))
        for atom, times in single[1]:
            name: Any = self.names[atom]
            if name == "e":
                part = rational(1)
            elif isinstance(name, tuple) and name[0] == "root":
                part = self.scale(self.logarithm(rational(name[1])), Fraction(1, name[2]))
            elif atom in self.powers:
                base, mono, denominator = self.powers[atom]
                part = self.mul(self.logarithm(self.value_of(base)), Ratio({mono: Fraction(1, denominator)}))
            else:
                part = self.atom(("ln", name))
            total = self.add(total, self.scale(part, Fraction(times)))
        return total

    def _cos(self, expr: Op) -> Ratio:
        return self.cosine(self.of(expr.args[0]))

    def _sin(self, expr: Op) -> Ratio:
        return self.sine(self.of(expr.args[0]))

    def turns(self, inner: Ratio) -> Fraction | None:
        """The argument as a multiple of pi, if it is one."""
        if not inner.num:
            return Fraction(0)
        single = inner.single()
        if single is not None and len(single[1]) == 1 and single[1][0][1] == 1 and self.names[single[1][0][0]] == "pi":
            return single[0]
        return None

    def cosine(self, inner: Ratio) -> Ratio:
        turns = self.turns(inner)
        if turns is None:
            return self.atom(("cos", self.unsigned(inner)[1].key()))
        turns = abs(turns) % 2
        if turns > 1:
            turns = 2 - turns
        if turns > Fraction(1, 2):
            return self.scale(self.cosine_of(1 - turns), Fraction(-1))
        return self.cosine_of(turns)

    def cosine_of(self, turns: Fraction) -> Ratio:
        """cos(turns*pi) for 0 <= turns <= 1/2: exact where it is a square root expression of a small angle."""
        two, three, five, six = (self.rational_power(rational(k), Fraction(1, 2)) for k in (2, 3, 5, 6))
        table = {
            Fraction(0): rational(1),
            Fraction(1, 2): Ratio({}),
            Fraction(1, 3): rational(Fraction(1, 2)),
            Fraction(1, 4): self.scale(two, Fraction(1, 2)),
            Fraction(1, 6): self.scale(three, Fraction(1, 2)),
            Fraction(1, 5): self.scale(self.add(five, rational(1)), Fraction(1, 4)),
            Fraction(2, 5): self.scale(self.add(five, rational(-1)), Fraction(1, 4)),
            Fraction(1, 12): self.scale(self.add(six, two), Fraction(1, 4)),
            Fraction(5, 12): self.scale(self.add(six, self.scale(two, Fraction(-1))), Fraction(1, 4)),
        }
        return table.get(turns) or self.atom(("cos pi", turns), positive=True)

    def sine(self, inner: Ratio) -> Ratio:
        turns = self.turns(inner)
        if turns is not None:
            return self.cosine(self.add(inner, self.scale(self.atom("pi", positive=True), Fraction(-1, 2))))
        sign, rest = self.unsigned(inner)
        atom = self.atom_id(("sin", rest.key()))
        cosine = self.cosine(rest)
        self.rules[atom] = (2, self.add(rational(1), self.scale(self.mul(cosine, cosine), Fraction(-1))))
        return Ratio({((atom, 1),): Fraction(sign)})

    def _tan(self, expr: Op) -> Ratio:
        inner = self.of(expr.args[0])
        return self.divide(self.sine(inner), self.cosine(inner))

    def _cot(self, expr: Op) -> Ratio:
        inner = self.of(expr.args[0])
        return self.divide(self.cosine(inner), self.sine(inner))

    def _sec(self, expr: Op) -> Ratio:
        return self.divide(rational(1), self.cosine(self.of(expr.args[0])))

    def _csc(self, expr: Op) -> Ratio:
        return self.divide(rational(1), self.sine(self.of(expr.args[0])))

    def integers(self, expr: Op) -> list[int] | None:
        values = [self.of(a).constant() for a in expr.args]
        if any(v is None or v.denominator != 1 for v in values):
            return None
        return [int(v) for v in values if v is not None]

    def _mod(self, expr: Op) -> Ratio:
        values = self.integers(expr)
        if values is None or values[1] <= 0:
            return self.opaque(expr)
        return rational(values[0] % values[1])

    def _gcd(self, expr: Op) -> Ratio:
        values = self.integers(expr)
        return rational(math.gcd(*values)) if values is not None else self.unordered(expr)

    def _lcm(self, expr: Op) -> Ratio:
        values = self.integers(expr)
        return rational(math.lcm(*values)) if values is not None else self.unordered(expr)

    def _min(self, expr: Op) -> Ratio:
        return self.extreme(expr, min)

    def _max(self, expr: Op) -> Ratio:
        return self.extreme(expr, max)

    def extreme(self, expr: Op, choose: Any) -> Ratio:
        values = [self.of(a).constant() for a in expr.args]
        if any(v is None for v in values):
            return self.unordered(expr)
        return rational(choose(values))

    def unordered(self, expr: Op) -> Ratio:
        return self.atom((expr.op, *sorted((self.of(a).key() for a in expr.args), key=repr)))


def _size(poly: Poly) -> int:
    """The bits of its largest coefficient."""
    return max(map(_bits, poly.values()), default=0)


def _cost(size: int) -> int:
    """What one operation on numbers of so many bits costs, in operations on small ones: fractions are reduced by gcd,
    whose time grows with the square."""
    return 1 + (size // 800) ** 2


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


@lru_cache(maxsize=2048)
def factor(value: Fraction) -> tuple[tuple[int, int], ...]:
    """A positive rational as a product of integer powers: primes, and what trial division leaves over.

    A left-over that is a perfect square or cube is taken apart, any other counts as one base: that can hide an equality
    between roots of such numbers, never make one up.
    """
    out: dict[int, int] = {}
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        for prime in _primes():
            if number == 1 or prime * prime > number:
                break
            while number % prime == 0:
                number //= prime
                out[prime] = out.get(prime, 0) + sign
        if number > 1:
            root, times = _perfect(number)
            out[root] = out.get(root, 0) + sign * times
    return tuple(sorted((p, e) for p, e in out.items() if e))


def _perfect(number: int) -> tuple[int, int]:
    root = math.isqrt(number)
    if root * root == number:
        inner, times = _perfect(root)
        return inner, 2 * times
    if number.bit_length() < 900:
        guess = round(number ** (1 / 3))
        for candidate in range(max(guess - 1, 1), guess + 2):
            if candidate**3 == number:
                return candidate, 3
    return number, 1


@lru_cache(maxsize=1)
def _primes() -> tuple[int, ...]:
    return tuple(n for n in range(2, limits.TRIAL_DIVISION) if all(n % d for d in range(2, math.isqrt(n) + 1)))

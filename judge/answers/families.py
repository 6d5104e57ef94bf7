"""Families with parameters, equations, and lists with dots: what the comparison of such answers computes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from .algebra import Algebra, Ratio
from .formulas import normal_forms
from .kinds import Function, Progression
from .normalise import Refused
from .parse import Expr, Num, Sym, substitute, symbols


def with_params(function: Function, params: tuple[str, ...]) -> Expr | None:
    """Its body with these variables; `None` where one of them already means something else in it."""
    loose = symbols(function.body) - set(function.params)
    if loose & (set(params) - set(function.params)):
        return None
    return substitute(function.body, {old: Sym(new) for old, new in zip(function.params, params, strict=True)})


def may_be_one_family(a: Expr, b: Expr, variables: frozenset[str]) -> bool:
    """Whether two formulas with parameters may describe the same functions.

    They don't if, with the parameters of the first one fixed, no values of those of the second one give the same
    polynomial: a system of linear equations, where the second one is linear in them.
    """
    loose_a, loose_b = symbols(a) - variables, symbols(b) - variables
    if not loose_a or not loose_b:
        return False
    fixed = {name: Num(Fraction(3 + 2 * i, 2)) for i, name in enumerate(sorted(loose_a))}
    algebra = Algebra()
    try:
        one, two = algebra.of(substitute(a, dict(fixed))), algebra.of(b)
    except Refused:
        return True
    if not (algebra.letters_only(one) and algebra.letters_only(two)) or one.den != {(): 1} or two.den != {(): 1}:
        return True
    unknowns = [algebra.ids[name] for name in sorted(loose_b) if name in algebra.ids]
    rows: dict[tuple[tuple[int, int], ...], list[Fraction]] = {}
    for mono, coefficient in one.num.items():
        rows.setdefault(mono, [Fraction(0)] * (len(unknowns) + 1))[-1] += coefficient
    for mono, coefficient in two.num.items():
        parameters = [(atom, exponent) for atom, exponent in mono if atom in unknowns]
        if len(parameters) > 1 or any(exponent != 1 for _, exponent in parameters):
            return True
        row = rows.setdefault(tuple(m for m in mono if m[0] not in unknowns), [Fraction(0)] * (len(unknowns) + 1))
        if parameters:
            row[unknowns.index(parameters[0][0])] += coefficient
        else:
            row[-1] -= coefficient
    return _solvable(list(rows.values()))


def _solvable(rows: list[list[Fraction]]) -> bool:
    """Whether linear equations, with the right-hand side last, have a solution."""
    for column in range(len(rows[0]) - 1 if rows else 0):
        pivot = next((r for r in rows if r[column]), None)
        if pivot is None:
            continue
        rows = [
            [x - y * row[column] / pivot[column] for x, y in zip(row, pivot, strict=True)]
            for row in rows
            if row is not pivot
        ]
    return not any(row[-1] for row in rows)


def solves_one_only(algebra: Algebra, first: Ratio, second: Ratio) -> bool:
    """Whether some rational point on `first = 0` is not on `second = 0`, by solving for a letter that is linear in it."""
    letters = sorted({a for m in (*first.num, *second.num) for a, _ in m})
    for solved in letters:
        degrees = {dict(m).get(solved, 0) for m in first.num}
        if not degrees <= {0, 1} or 1 not in degrees:
            continue
        for seed in (1, 2, 5):
            point = {a: Fraction(2 * i + seed, 1 + (i + seed) % 3) for i, a in enumerate(letters) if a != solved}
            slope = _at_point(
                {m: c for m, c in first.num.items() if dict(m).get(solved, 0)}, {**point, solved: Fraction(1)}
            )
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


def step_of(progression: Progression) -> Fraction | None:
    """The step of an arithmetic list; of one with a single first member, 1."""
    if len(progression.first) == 1:
        return Fraction(1)
    algebra = Algebra()
    try:
        forms = [algebra.of(e) for e in progression.first]
        steps = {algebra.add(y, algebra.scale(x, Fraction(-1))).constant() for x, y in pairwise(forms)}
    except Refused:
        return None
    step = steps.pop() if len(steps) == 1 else None
    if len(forms) == 2 and step and _also_geometric(progression):
        return None
    return step if step else None


def _also_geometric(progression: Progression) -> bool:
    """Whether 2, 4, ..., 16 may as well be the powers of 2."""
    members = [*progression.first, *([progression.last] if progression.last is not None else [])]
    values = [e.value for e in members if isinstance(e, Num)]
    if len(values) != len(members) or len(values) < 3 or 0 in values[:2]:
        return False
    ratio, here = values[1] / values[0], values[1]
    for _ in range(200):
        if here == values[-1]:
            return abs(ratio) != 1
        here *= ratio
    return False


def expand(progression: Progression, values: dict[str, Fraction]) -> list[Fraction] | None:
    """Its members with these values, if it is arithmetic and short."""
    step = step_of(progression)
    if step is None or progression.last is None:
        return None
    known: dict[str, Expr] = {name: Num(value) for name, value in values.items()}
    forms = normal_forms(substitute(progression.first[0], known), substitute(progression.last, known))
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

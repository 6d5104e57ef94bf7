"""The symbolic step, inside a worker process: sympy, and math-verify's LaTeX parser for notation that ours refuses.

Nothing here is evaluated from a string: expressions arrive as lists and are built with sympy's constructors, and LaTeX
goes through math-verify's grammar. `equal` needs a difference that simplifies to zero.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy
from sympy import Expr, Integer, Rational, Symbol

from .normalise import words

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "sinh": sympy.sinh, "cosh": sympy.cosh,
    "tanh": sympy.tanh, "ln": sympy.log, "fact": sympy.factorial, "fact2": sympy.factorial2, "floor": sympy.floor,
    "ceil": sympy.ceiling, "abs": sympy.Abs, "binom": sympy.binomial, "mod": sympy.Mod, "gcd": sympy.gcd, "lcm": sympy.lcm,
    "min": sympy.Min, "max": sympy.Max,
}  # fmt: skip


def handle(request: dict[str, Any]) -> list[str]:
    """`equal` or `undecided` for each pair of a request."""
    if request["op"] == "load":
        return []  # sympy is imported now
    if request["op"] == "expressions":
        return [expressions(a, b, set(request["whole"])) for a, b in request["pairs"]]
    if request["op"] == "latex":
        return [latex(a, b) for a, b in request["pairs"]]
    raise ValueError("unknown request")


def build(data: list[Any], letters: dict[str, Symbol]) -> Any:
    """A sympy expression from the lists of `parse.to_json`."""
    if data[0] == "n":
        return Rational(int(data[1], 16), int(data[2], 16))
    if data[0] == "s":
        name = data[1]
        if name == "pi":
            return sympy.pi
        if name == "e":
            return sympy.E
        if name == "i":
            return sympy.I
        return letters[name]
    op, args = data[1], [build(a, letters) for a in data[2]] if data[1] != "call" else []
    match op:
        case "add":
            return sympy.Add(*args)
        case "mul":
            return sympy.Mul(*args)
        case "neg":
            return -args[0]
        case "div":
            return args[0] / args[1]
        case "pow":
            return sympy.Pow(args[0], args[1])
        case "root":
            if args[0].is_negative and args[1].is_odd:
                return -sympy.root(-args[0], args[1])
            return sympy.root(args[0], args[1])
        case "percent":
            return args[0] / 100
        case "deg":
            return args[0] * sympy.pi / 180
        case "log":
            # without a base: with an unknown factor, so that only what holds for every base is shown
            return (
                sympy.log(args[0]) * Symbol("log_unit", positive=True)
                if len(args) == 1
                else sympy.log(args[0]) / sympy.log(args[1])
            )
        case "call":
            return sympy.Function("call_" + data[2][0][1], real=True)(*(build(a, letters) for a in data[2][1:]))
    return _FUNCTIONS[op](*args)


def _names(data: list[Any]) -> set[str]:
    if data[0] == "s":
        return {data[1]} - {"pi", "e", "i"}
    if data[0] == "o":
        return set().union(*(_names(a) for a in data[2]))
    return set()


def expressions(a: list[Any], b: list[Any], whole: set[str]) -> str:
    """Whether two expressions are equal wherever both are real and their letters are positive (whole, where the letter is
    used so), with a check that no sign of the letters tells them apart."""
    names = sorted(_names(a) | _names(b))
    positive = {n: Symbol(n, positive=True, integer=True if n in whole else None) for n in names}
    difference = build(a, positive) - build(b, positive)
    if not _vanishes(difference):
        return "undecided"
    return "equal" if _values_agree(a, b, names, whole) else "undecided"


def _values_agree(a: list[Any], b: list[Any], names: list[str], whole: set[str]) -> bool:
    """No difference at points of every sign: sqrt(x^2) is x only for a positive x. It also guards against a wrong
    simplification, so at one point at least both must have a value."""
    rng = random.Random(0)
    free = [n for n in names if n not in whole]
    agreed = 0
    for turn in range(3 if not free else 4 + 6 * 2 ** min(len(free), 3)):
        values: dict[str, Any] = {
            n: Integer(rng.randint(2, 9))
            if n in whole
            else rng.choice((1, 1) if turn < 4 else (-1, 1)) * Rational(rng.randint(1, 40), rng.randint(2, 9))
            for n in names
        }
        try:
            one, two = (sympy.N(build(x, values), 30) for x in (a, b))
            if not (one.is_finite and two.is_finite and one.is_number and two.is_number):
                continue
            close = bool(abs(one - two) <= Fraction(1, 10**15) * (1 + abs(one)))
        except (ZeroDivisionError, ValueError, TypeError, AttributeError):
            continue
        if close:
            agreed += 1
        elif (one.is_real and two.is_real) or turn < 4:
            return False
    return agreed > 0


def _vanishes(difference: Any) -> bool:
    """Whether sympy can show that it is zero."""
    if difference == 0:
        return True
    steps: list[Callable[[Any], Any]] = [
        sympy.expand,
        lambda d: sympy.radsimp(sympy.together(d)),
        sympy.simplify,
        lambda d: sympy.simplify(sympy.expand_func(sympy.expand_log(d, force=False))),
        lambda d: (
            sympy.combsimp(d.rewrite(sympy.gamma)) if d.has(sympy.factorial, sympy.binomial, sympy.factorial2) else d
        ),
        lambda d: sympy.expand(d.rewrite(sympy.exp), complex=False) if d.has(sympy.sin, sympy.cos, sympy.tan) else d,
        lambda d: sympy.sqrtdenest(d),
    ]
    for step in steps:
        if step(difference) == 0:
            return True
    if not difference.free_symbols and isinstance(difference, Expr) and difference.is_algebraic:
        return bool(sympy.minimal_polynomial(difference, Symbol("x")) == Symbol("x"))
    return False


# What the guards let through to the LaTeX parser: letters, digits and these commands. What it doesn't know it may drop
# silently, which would make two formulas equal that are not.
_COMMANDS = words(
    "frac sqrt sum prod int lim infty pi cdot times sin cos tan cot log ln exp binom to alpha beta gamma "
    "theta lambda mu lfloor rfloor lceil rceil limits dfrac tfrac rightarrow"
)
_ALLOWED = re.compile(r"[A-Za-z0-9\\{}()\[\]|+\-*/^_=<>.,:;!' &]*")
_BOUND = re.compile(r"_\s*\{\s*[a-zA-Z]\s*=[^{}=]*\}")  # the lower bound of a sum
_DEEP_POWER = re.compile(r"\^\s*(?:\{[^{}]*\^|\d{5,})|![^a-z]*!|\d{40,}")


def latex(a: str, b: str) -> str:
    """Two formulas that only math-verify's parser reads: equal if sympy can show it."""
    parsed = []
    for text in (a, b):
        if not _ALLOWED.fullmatch(text) or _DEEP_POWER.search(text):
            return "undecided"
        plain = _BOUND.sub("", text)
        if not set(re.findall(r"\\([a-zA-Z]+)", text)) <= _COMMANDS or re.search(r"[=<>,;:'&|]|\.\.", plain):
            return "undecided"
        parsed.append(_parse(text))
    one, two = parsed
    if one is None or two is None:
        return "undecided"
    if not (isinstance(one, Expr) and isinstance(two, Expr)):
        return "undecided"
    difference = (one - two).doit()
    return "equal" if _vanishes(difference) else "undecided"


def _parse(text: str) -> Any:
    import math_verify

    found = math_verify.parse(
        f"${text}$", extraction_config=[math_verify.LatexExtractionConfig()], parsing_timeout=None, fallback_mode="no_fallback",
        extraction_mode="first_match",
    )  # fmt: skip
    expressions = [f for f in found if not isinstance(f, str)]
    return expressions[0] if len(expressions) == 1 else None

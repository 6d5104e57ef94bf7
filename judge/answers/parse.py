"""Tokens to an expression tree: a small recursive-descent parser for the arithmetic that final answers are written in.

It builds plain data and evaluates nothing. Notation that it doesn't know is refused, never guessed at; notation with
two customary readings (`1/2x`, a degree sign beside bare letters) is read as the caller asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from . import limits
from .normalise import Refused, Token, words


@dataclass(frozen=True, slots=True)
class Num:
    """An exact rational number; `decimal` tells how many digits a decimal literal had after its point."""

    value: Fraction
    decimal: int | None = None


@dataclass(frozen=True, slots=True)
class Sym:
    """A letter, with its subscript if any. `pi`, `e` and `infty` are constants."""

    name: str


@dataclass(frozen=True, slots=True)
class Op:
    """An operation on expressions: add, mul, div, neg, pow, root, fact, fact2, floor, ceil, abs, log, binom, deg, percent,
    mod, gcd, lcm, min, max, call (a function of the problem's own), and the elementary functions by name."""

    op: str
    args: tuple[Expr, ...]


Expr = Num | Sym | Op

ELEMENTARY = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "exp"]
)
GREEK = words(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi omicron rho "
    "varrho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi "
    "Omega ell"
)
_ATOM_COMMANDS = (
    GREEK
    | ELEMENTARY
    | {"frac", "sqrt", "binom", "lfloor", "lceil", "pi", "infty", "log", "lg", "overline", "floor", "ceil"}
)
_CALLED = frozenset("fghFGH")
_DIGITS = frozenset("ABCDEF")  # of a number base above ten
_COUNTS = frozenset("ACP")  # C_n^k, A_n^k and P_n^k may be numbers of choices
_END = Token("end", "")


class Parser:
    """One parse over a token list.

    Args:
        items: the tokens of one expression.
        tight: whether an implied product binds tighter than a slash (`1/2x` is 1/(2x)).
    """

    def __init__(self, items: list[Token], *, tight: bool = False) -> None:
        self.items = [*items, _END]
        self.at = 0
        self.depth = 0
        self.tight = tight
        self.ambiguous = False  # whether the two readings of a slash differ

    def parse(self) -> Expr:
        """The expression that all the tokens make; raises `Refused`."""
        result = self.sum()
        if self.items[self.at] is not _END:
            raise Refused(f"{self.items[self.at].text[:20]!r} is out of place in it")
        if depth(result) > 3 * limits.MAX_NESTING:
            raise Refused("it is nested too deeply")
        return result

    def peek(self, *texts: str) -> bool:
        kind, text = self.items[self.at]
        return kind in ("op", "cmd") and text in texts

    def take(self, *texts: str) -> bool:
        if self.peek(*texts):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise Refused(f"{text!r} is missing in it")

    def sum(self) -> Expr:
        self.depth += 1
        if self.depth > limits.MAX_NESTING:
            raise Refused("it is nested too deeply")
        terms = [self.product()]
        while True:
            if self.take("+"):
                terms.append(self.product())
            elif self.take("-"):
                terms.append(negate(self.product()))
            else:
                break
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Op("add", tuple(terms))

    def product(self) -> Expr:
        left = self.signed()
        while True:
            if self.take("*"):
                left = times(left, self.signed())
            elif self.take("/"):
                right = self.signed()
                if self.starts_factor():
                    self.ambiguous = True
                    while self.tight and self.starts_factor():
                        right = times(right, self.power())
                left = Op("div", (left, right))
            elif self.take("mod"):
                left = Op("mod", (left, self.signed()))
            elif self.starts_factor():
                left = self.implied(left)
            else:
                return left

    def implied(self, left: Expr) -> Expr:
        """A product without a sign; an integer before a proper fraction of integers is a mixed number."""
        before, here = self.items[self.at - 1], self.items[self.at]
        right = self.power()
        if (
            before.kind == "num"
            and here == ("cmd", "frac")
            and isinstance(left, Num)
            and left.value.denominator == 1
            and isinstance(right, Op)
            and right.op == "div"
            and all(isinstance(a, Num) and a.value.denominator == 1 for a in right.args)
        ):
            top, bottom = (a.value for a in right.args if isinstance(a, Num))
            if 0 < top < bottom:
                return Op("add", (left, right if left.value >= 0 else negate(right)))
        return times(left, right)

    def starts_factor(self) -> bool:
        kind, text = self.items[self.at]
        if kind == "sym":
            return True
        if kind == "num":
            before = self.items[max(self.at - 2, 0) : self.at]
            if before and before[-1].kind == "op":
                return before[-1].text in ")}!"
            return len(before) == 2 and before[0] == ("op", "^") and before[1].kind == "sym"  # 2^a 3^b
        if kind == "op":
            return text in ("(", "{")
        return kind == "cmd" and text in _ATOM_COMMANDS

    def signed(self) -> Expr:
        if self.take("-"):
            self.depth += 1
            if self.depth > limits.MAX_NESTING:
                raise Refused("it is nested too deeply")
            inner = negate(self.signed())
            self.depth -= 1
            return inner
        if self.take("+"):
            return self.signed_once()
        return self.power()

    def signed_once(self) -> Expr:
        if self.peek("+"):
            raise Refused("two signs follow each other in it")
        return self.signed()

    def power(self) -> Expr:
        mixed = self.mixed()
        if mixed is not None:
            return mixed
        base = self.postfix(self.atom())
        if self.take("^"):
            base = self.postfix(Op("pow", (base, self.exponent())))
            if self.peek("^"):
                raise Refused("it has two exponents on one base")
        return base

    def mixed(self) -> Expr | None:
        """A mixed number such as `2\\frac{1}{3}`, before any product or sign takes its whole part away."""
        kind, text = self.items[self.at]
        if kind != "num" or not text.isdecimal() or self.items[self.at + 1] != ("cmd", "frac"):
            return None
        at = self.at + 2
        parts: list[int] = []
        for _ in range(2):
            braced = self.items[at : at + 1] == [("op", "{")]
            token = self.items[min(at + braced, len(self.items) - 1)]
            if token.kind != "num" or not token.text.isdecimal() or not (braced or len(token.text) == 1):
                return None
            at += 1 + braced
            if braced:
                if self.items[at] != ("op", "}"):
                    return None
                at += 1
            parts.append(int(token.text))
        if not 0 < parts[0] < parts[1] or self.items[at] in (("op", "^"), ("op", "!")):
            return None
        self.at = at
        return Num(int(text) + Fraction(parts[0], parts[1]))

    def exponent(self) -> Expr:
        if self.take("{"):
            inner = self.sum()
            self.expect("}")
            return inner
        self.depth += 1
        if self.depth > limits.MAX_NESTING:
            raise Refused("it is nested too deeply")
        inner = negate(self.exponent()) if self.take("-") else self.atom()
        self.depth -= 1
        return inner

    def postfix(self, inner: Expr) -> Expr:
        while True:
            if self.take("!"):
                inner = Op("fact2", (inner,)) if self.take("!") else Op("fact", (inner,))
            elif self.take("%"):
                inner = Op("percent", (inner,))
            elif self.take("deg"):
                inner = Op("deg", (inner,))
            elif self.peek("^") and self.items[self.at + 1] == ("cmd", "circ"):
                self.at += 2
                inner = Op("deg", (inner,))
            elif self.peek("^") and self.items[self.at + 1 : self.at + 4] == [
                ("op", "{"),
                ("cmd", "circ"),
                ("op", "}"),
            ]:
                self.at += 4
                inner = Op("deg", (inner,))
            elif self.peek("^") and self.items[self.at + 1] == ("cmd", "deg"):
                self.at += 2
                inner = Op("deg", (inner,))
            elif self.peek("^") and self.items[self.at + 1 : self.at + 4] == [("op", "{"), ("cmd", "deg"), ("op", "}")]:
                self.at += 4
                inner = Op("deg", (inner,))
            else:
                return inner

    def group(self) -> Expr:
        """The argument of a command: a braced expression or a single token."""
        if self.take("{"):
            inner = self.sum()
            self.expect("}")
            return inner
        kind, text = self.items[self.at]
        if kind == "num" and len(text) > 1:
            raise Refused("an argument without braces has several digits")
        return self.atom()

    def atom(self) -> Expr:
        self.depth += 1
        if self.depth > limits.MAX_NESTING:
            raise Refused("it is nested too deeply")
        result = self._atom()
        self.depth -= 1
        return result

    def _atom(self) -> Expr:
        kind, text = self.items[self.at]
        if kind == "end":
            raise Refused("it breaks off")
        if kind in ("num", "sym") and self.letter_digits():
            raise Refused("its letters may be digits of a number base")
        self.at += 1
        if kind == "num":
            return self.number(text)
        if kind == "sym":
            return self.letter(text)
        if kind == "op":
            if text == "(":
                inner = self.sum()
                self.expect(")")
                return self.based(inner)
            if text == "{":
                inner = self.sum()
                self.expect("}")
                return self.based(inner)
            if text == "|":
                inner = self.sum()
                self.expect("|")
                return Op("abs", (inner,))
        if kind == "cmd":
            return self.command(text)
        raise Refused(f"{text!r} is not part of a formula")

    def number(self, text: str) -> Expr:
        if self.take("overline"):
            if "." not in text:
                raise Refused("a bar stands over digits in it")
            digits = "".join(t.text for t in self.raw_group())
            if not digits.isdecimal() or len(digits) > 50:
                raise Refused("its repeating decimal can't be read")
            start = Fraction(text.rstrip("."))
            places = len(text) - text.index(".") - 1
            return Num(start + Fraction(int(digits), (10 ** len(digits) - 1) * 10**places))
        if self.peek("_") and "." not in text:
            return self.in_base(text)
        decimal = len(text) - text.index(".") - 1 if "." in text else None
        whole = Num(Fraction(text), decimal)
        ahead = self.items[self.at : self.at + 3]
        if (
            decimal is None
            and len(ahead) == 3
            and ahead[0].kind == ahead[2].kind == "num"
            and ahead[1] == ("op", "/")
            and ahead[0].text.isdecimal()
            and ahead[2].text.isdecimal()
            and 0 < int(ahead[0].text) < int(ahead[2].text)
        ):
            self.at += 3
            return Num(whole.value + Fraction(int(ahead[0].text), int(ahead[2].text)))
        return whole

    def based(self, inner: Expr) -> Expr:
        """`(1011)_2` and `{1011}_2`."""
        if self.peek("_") and isinstance(inner, Num) and inner.value.denominator == 1 and inner.decimal is None:
            return self.in_base(str(inner.value.numerator))
        return inner

    def in_base(self, digits: str) -> Num:
        self.expect("_")
        tokens = self.raw_group() if self.peek("{") else [self.items[self.at]]
        if len(tokens) == 1 and tokens[0] is self.items[self.at]:
            self.at += 1
        text = "".join(t.text for t in tokens if t.text not in "(){}").lower()
        base = {"two": 2, "three": 3, "eight": 8, "ten": 10, "sixteen": 16}.get(
            text, int(text) if text.isdecimal() and len(text) < 3 else 0
        )
        if not 2 <= base <= 36 or any(int(d) >= base for d in digits):
            raise Refused("its number base can't be read")
        value = 0
        for digit in digits:
            value = value * base + int(digit)
        return Num(Fraction(value))

    def raw_group(self) -> list[Token]:
        """The tokens of the braced group that comes next, unparsed."""
        self.expect("{")
        depth, start = 1, self.at
        while depth:
            kind, text = self.items[self.at]
            if kind == "end":
                raise Refused("its braces don't match")
            depth += (text == "{") - (text == "}") if kind == "op" else 0
            self.at += 1
        return self.items[start : self.at - 1]

    def subscript(self) -> str:
        if not self.take("_"):
            return ""
        if self.peek("{"):
            inner = self.raw_group()
        else:
            inner = [self.items[self.at]]
            if inner[0] is _END:
                raise Refused("it breaks off")
            self.at += 1
        text = "".join(t.text for t in inner if t.text not in "{}")
        if not text or len(text) > 40:
            raise Refused("its subscript can't be read")
        return "_" + text

    def letter_digits(self) -> bool:
        """Whether digits and letters A to F come next, with a base above ten below the last: `1A_{16}`."""
        at = self.at
        while self.items[at].kind == "num" or (self.items[at].kind == "sym" and self.items[at].text in _DIGITS):
            at += 1
        if at < self.at + 2 or self.items[at] != ("op", "_") or all(t.kind == "num" for t in self.items[self.at : at]):
            return False
        base = next((t for t in self.items[at + 1 :] if t.text not in "({"), _END)
        return base.kind == "num" and base.text.isdecimal() and len(base.text) == 2 and 11 <= int(base.text) <= 36

    def letter(self, name: str) -> Expr:
        plain = name
        name += self.subscript()
        if plain in _COUNTS and name != plain and self.peek("^"):
            raise Refused("an index above and below a letter may make it a number of choices")
        while self.take("'"):
            name += "'"
        if self.peek("("):
            content = self.bracket_content()
            if name[0] in _CALLED or any(t == ("op", ",") for t in content):
                self.at += 1
                args = [self.sum()]
                while self.take(","):
                    args.append(self.sum())
                self.expect(")")
                return Op("call", (Sym(name), *args))
        return Sym(name)

    def bracket_content(self) -> list[Token]:
        depth = 0
        for index in range(self.at, len(self.items)):
            kind, text = self.items[index]
            if kind == "op":
                depth += (text == "(") - (text == ")")
                if depth == 0:
                    return self.items[self.at + 1 : index]
        raise Refused("its brackets don't match")

    def command(self, name: str) -> Expr:
        if name in GREEK or name in ("pi", "infty"):
            return self.letter(name) if name not in ("pi", "infty") else Sym(name)
        if name == "frac":
            return Op("div", (self.group(), self.group()))
        if name == "binom":
            if self.take("("):
                top = self.sum()
                self.expect(",")
                bottom = self.sum()
                self.expect(")")
                return Op("binom", (top, bottom))
            return Op("binom", (self.group(), self.group()))
        if name == "sqrt":
            index: Expr = Num(Fraction(2))
            if self.take("["):
                index = self.sum()
                self.expect("]")
            if self.peek("("):
                return Op("root", (self.atom(), index))
            return Op("root", (self.group(), index))
        if name in ("lfloor", "lceil"):
            inner = self.sum()
            self.expect("rfloor" if name == "lfloor" else "rceil")
            return Op("floor" if name == "lfloor" else "ceil", (inner,))
        if name in ("floor", "ceil"):
            self.expect("(")
            inner = self.sum()
            self.expect(")")
            return Op(name, (inner,))
        if name in ("gcd", "lcm", "min", "max"):
            close = ")" if self.take("(") else "\\}" if self.take("\\{") else None
            if close is None:
                raise Refused(f"{name} has no argument")
            args = [self.sum()]
            while self.take(","):
                args.append(self.sum())
            self.expect(close)
            return Op(name, tuple(args))
        if name in ("log", "lg", "ln") or name in ELEMENTARY:
            return self.function(name)
        raise Refused(f"\\{name} is not read by the arithmetic steps")

    def function(self, name: str) -> Expr:
        base: Expr | None = Num(Fraction(10)) if name == "lg" else None
        power: Expr | None = None
        if name == "log" and self.take("_"):
            base = self.group() if self.items[self.at].kind != "num" else self.plain_number()
        if self.take("^"):
            power = self.exponent()
            if isinstance(power, Op) and power.op == "neg":
                raise Refused("an inverse function or a reciprocal: it has two readings")
            if name == "log" and self.take("_"):
                base = self.group() if self.items[self.at].kind != "num" else self.plain_number()
        if self.peek("("):
            inner = self.atom()
            inner = self.postfix(inner) if self.peek("!", "deg") else inner
        else:
            inner = self.power()
            while self.starts_factor() and not self.peek("("):
                kind, text = self.items[self.at]
                if kind == "cmd" and (text in ELEMENTARY or text in ("log", "lg")):
                    break
                inner = times(inner, self.power())
        if name in ("log", "lg"):
            # a logarithm without a base is the natural one in mathematics, the decimal one elsewhere: its own function
            result: Expr = Op("log", (inner,) if base is None else (inner, base))
        elif name == "exp":
            result = Op("pow", (Sym("e"), inner))
        else:
            result = Op(name, (inner,))
        return result if power is None else Op("pow", (result, power))

    def plain_number(self) -> Expr:
        self.at += 1
        return Num(Fraction(self.items[self.at - 1].text))


def negate(inner: Expr) -> Expr:
    """The negative; of a literal, a literal."""
    if isinstance(inner, Num):
        return Num(-inner.value, inner.decimal)
    return Op("neg", (inner,))


def times(left: Expr, right: Expr) -> Expr:
    """The product of two factors; a long product stays flat."""
    if isinstance(left, Op) and left.op == "mul":
        return Op("mul", (*left.args, right))
    return Op("mul", (left, right))


def depth(expr: Expr) -> int:
    """How deep the tree is (a chain of slashes or factorials is deep without any brackets)."""
    deepest = 0
    stack: list[tuple[Expr, int]] = [(expr, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(node, Op):
            stack.extend((a, level + 1) for a in node.args)
    return deepest


def symbols(expr: Expr) -> frozenset[str]:
    """The names of the letters in it, constants aside."""
    found: set[str] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Sym):
            if node.name not in ("pi", "e", "infty"):
                found.add(node.name)
        elif isinstance(node, Op):
            stack.extend(node.args)
    return frozenset(found)


def mentions(expr: Expr, *ops: str) -> bool:
    """Whether one of these operations occurs in it."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Op):
            if node.op in ops:
                return True
            stack.extend(node.args)
    return False


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """The expression with letters replaced, all at once."""
    if isinstance(expr, Sym):
        return values.get(expr.name, expr)
    if isinstance(expr, Op):
        return Op(expr.op, tuple(substitute(a, values) for a in expr.args))
    return expr


def to_json(expr: Expr) -> list[object]:
    """Plain lists and strings, for the way to a worker process."""
    if isinstance(expr, Num):
        return ["n", hex(expr.value.numerator), hex(expr.value.denominator)]
    if isinstance(expr, Sym):
        return ["s", expr.name]
    return ["o", expr.op, [to_json(a) for a in expr.args]]

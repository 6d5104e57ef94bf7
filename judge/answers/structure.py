"""What kind of answer it is: a number, a set, a tuple, an interval, a congruence, a function, an equation, words, ...

`read` turns tokens into one of a few plain records. A comma list such as `100,200` may also be one number with a
thousands separator, and `1/2x` may be either of two quotients: then there are several readings, and the comparison
has to look at all of them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from . import limits, numeric
from .brackets import balanced, depth_of, split, unwrap, wraps
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
    as_interval,
    as_residues,
)
from .normalise import Refused, Token, key
from .parse import Expr, Num, Op, Parser, Sym, negate, symbols
from .phrases import (
    CARDINALS,
    FORM,
    MULTIPLES,
    NOTHING,
    NUMBER_WORDS,
    PARITY,
    POLITE,
    has_words,
    phrase_of,
    says_nothing,
    single_name,
    skip_tokens,
    split_condition,
    strip_units,
    without_lead,
    without_remark,
)

_RELATIONS = frozenset(["=", "<", ">", "le", "ge", "ne", "in", "equiv", "approx", "notin", "to", "mapsto", "sim"])
_NUMBER_SETS = {"N": "N", "Z": "Z", "Q": "Q", "R": "R", "C": "C"}


def read(items: list[Token], *, grouped: bool = False) -> list[Answer]:
    """Every reading of an answer, the likeliest first; never empty, and `Opaque` where there is none.

    Args:
        items: its tokens.
        grouped: whether its commas stand between digits like thousands separators, so that it may be one number.
    """
    try:
        loose = _Reader(tight=False)
        readings = [loose.answer(items)]
        if loose.ambiguous:
            readings.append(_Reader(tight=True).answer(items))
    except Refused as refused:
        return [Opaque(key(items), str(refused))]
    except RecursionError:
        return [Opaque(key(items), "it is nested too deeply")]
    if grouped:
        text = "".join(t.text for t in items if t.text != ",")
        value = Fraction(text)
        digits = len(text) - text.index(".") - 1 if "." in text else None
        readings.insert(0, Value(Num(value, digits)))
    return readings


class _Reader:
    """One way to read an answer (`tight`: an implied product binds tighter than a slash)."""

    def __init__(self, *, tight: bool) -> None:
        self.tight = tight
        self.ambiguous = False

    def expr(self, items: list[Token]) -> Expr:
        parser = Parser(_flat(items), tight=self.tight)
        result = parser.parse()
        self.ambiguous |= parser.ambiguous
        return result

    def answer(self, items: list[Token]) -> Answer:
        items = unwrap(items)
        if not items:
            raise Refused("it is empty")
        if has_words(items):
            if items[0] == ("op", "\\{") and wraps(items) and not any(_is_separator(t) for t in items):
                return self.answer(items[1:-1])  # {all odd integers}
            worded = self.worded(items)
            if worded is not None:
                return worded
        return self.collection(items)

    # Words

    def worded(self, items: list[Token]) -> Answer | None:
        """An answer in words, or with a condition in words; `None` where the words only join formulas."""
        phrase = phrase_of(items)
        text = " ".join(phrase)
        if text in ("yes", "true"):
            return Verdict(True)
        if text in ("no", "false"):
            return Verdict(False)
        if NOTHING.fullmatch(text):
            kinds = {w.removesuffix("s") for w in phrase} & {
                "real",
                "integer",
                "positive",
                "natural",
                "rational",
                "nonzero",
            }
            return Empty(frozenset(kinds))
        if text in CARDINALS:
            return Value(Num(Fraction(CARDINALS[text])))
        if text in NUMBER_WORDS:
            return NumberSet(NUMBER_WORDS[text])
        if phrase[0] in ("yes", "no") and len(phrase) > 2 and phrase[1] in (",", ";", "-", "!"):
            rest = set(phrase[2:])
            if rest <= POLITE or (
                phrase[0] == "no"
                and rest <= POLITE | {"not", "impossible", "cannot", "no"}
                and rest & {"not", "impossible", "cannot", "no"}
            ):
                return Verdict(phrase[0] == "yes")
        match = PARITY.fullmatch(text)
        if match is not None and (match["vc"] is None or match["vc"] == match["vd"]):
            parity = match["a"] or match["b"] or match["c"]
            return Residues(match["va"] or match["vb"] or match["vc"], 2, frozenset([1 if parity == "odd" else 0]))
        match = MULTIPLES.fullmatch(text)
        if match is not None and int(match["m"]) > 0:
            return Residues(match["va"], int(match["m"]), frozenset([0]))
        match = FORM.match(text)
        if match is not None:
            skip = len(match[0].split())
            rest_items = [t for t in items if not (t.kind == "op" and t.text in ("{", "}"))][skip:]
            if rest_items and not has_words(rest_items):
                family = self.collection(skip_tokens(items, skip))
                residue = as_residues(Named(("?",), family) if isinstance(family, Value) else family)
                if residue is not None:
                    return residue
        name = single_name(items)
        if name is not None:
            return Words((name,), name)
        functions = self.functions(items)
        if functions is not None:
            return functions
        head, condition = split_condition(items)
        if condition and head:
            if "if" in phrase or "otherwise" in phrase:
                return Words(without_lead(phrase))
            inner = self.answer(head)
            if isinstance(inner, Words):
                return Words(without_lead(phrase))
            if says_nothing(condition, inner):
                return inner
            return Conditioned(inner, phrase_of(condition))
        head = without_remark(items)
        if len(head) < len(items) and head:
            return self.answer(head)
        loose = [t for t in strip_units(items)[0] if t.kind == "word" and t.text.lower() not in ("or", "and")]
        joined = [
            t.text.lower()
            for piece in split(items, _is_separator)
            for t in strip_units(unwrap(piece))[0]
            if t.kind == "word"
        ]
        if loose and joined:
            if all(w in ("or", "and", "mod", "infinity") for w in joined):
                return None
            return Words(without_lead(phrase))
        return None

    # Formulas

    def collection(self, items: list[Token]) -> Answer:
        items = unwrap(items)
        if any(t == ("cmd", "cup") for t in items):
            parts = split(items, lambda t: t == ("cmd", "cup"))
            if len(parts) > 1:
                return self.union(parts)
        if any(t.text in ("equiv",) for t in items if t.kind == "cmd"):
            congruence = self.congruence(items)
            if congruence is not None:
                return congruence
        pieces = [unwrap(p) for p in split(items, _is_separator)]
        pieces = [p for p in pieces if p]
        if not pieces:
            raise Refused("it is empty")
        if len(pieces) == 1:
            return self.item(pieces[0])
        if len(pieces) > limits.MAX_ITEMS:
            raise Refused("it has too many members")
        if any(_is_dots(p) for p in pieces):
            return self.progression(pieces)
        read_items = [self.item(p) for p in pieces]
        free = _letters_of(read_items[0])
        condition: tuple[str, ...] = ()
        while len(read_items) > 1 and _restricts(read_items[-1], free):
            last, piece = read_items.pop(), pieces.pop()
            if not (isinstance(last, Named) and last.value in (NumberSet("R"), NumberSet("Z"))):
                condition = (*phrase_of(piece), *condition)
        alternatives = any(t.kind == "word" and t.text.lower() == "or" for t in items)
        if len(read_items) > 1 and not alternatives:
            _check_alternatives(read_items)
        held = _gather(read_items, alternatives=alternatives) if len(read_items) > 1 else read_items[0]
        return Conditioned(held, condition) if condition else held

    def functions(self, items: list[Token]) -> Answer | None:
        """Several functions, each with an idle condition of its own: "f(x)=0 for all x, and f(x)=x for all x"."""
        pieces = [p for p in map(unwrap, split(items, _is_separator)) if p]
        if not 1 < len(pieces) <= limits.MAX_ITEMS or any(_is_dots(p) for p in pieces):
            return None
        try:
            found = [self.answer(p) for p in pieces]
        except Refused:
            return None
        return _gather(found, alternatives=True) if all(isinstance(f, Function) for f in found) else None

    def union(self, parts: list[list[Token]]) -> Answer:
        var = None
        head = split(parts[0], lambda t: t == ("cmd", "in"))
        if len(head) == 2:
            left = self.expr(head[0])
            if not isinstance(left, Sym):
                raise Refused("its union can't be read")
            var, parts = left.name, [head[1], *parts[1:]]
        read_parts = [self.item(unwrap(p)) for p in parts]
        out: list[Answer] = []
        for part in read_parts:
            if isinstance(part, Group) and part.kind in ("tuple", "bracket") and len(part.items) == 2:
                interval = as_interval(part)
                if interval is None:
                    raise Refused("its union can't be read")
                out.append(interval)
            elif isinstance(part, Interval) or (isinstance(part, Group) and part.kind == "set"):
                out.append(part)
            else:
                raise Refused("its union can't be read")
        union = Union(tuple(out))
        return Named((var,), union) if var is not None else union

    def congruence(self, items: list[Token]) -> Answer | None:
        """`n \\equiv 1, 2 \\pmod 3`; `f \\equiv 0` without a modulus is a constant function."""
        sides = split(items, lambda t: t == ("cmd", "equiv"))
        if len(sides) != 2:
            return None  # none outside of brackets, or several: they are read one by one
        left, right = sides
        modulus_at = next(
            (i for i, t in enumerate(right) if t.text in ("pmod", "mod", "pod") and t.kind in ("cmd", "word")), None
        )
        if modulus_at is None:
            pieces = split(items, _is_separator)
            if len(pieces) > 1:
                return None
            body = self.expr(right)
            flat = _flat(left)
            if flat and flat[0].kind == "sym":
                if len(flat) == 1:
                    return Function(flat[0].text, (), body)
                if len(flat) == 4 and flat[1] == ("op", "(") and flat[2].kind == "sym":
                    return Function(flat[0].text, (flat[2].text,), body)
            raise Refused("its congruence has no modulus")
        before, after = right[:modulus_at], _flat(right[modulus_at + 1 :])
        while before and before[-1] in (("op", "("), ("op", "{")):
            before = before[:-1]
        while after and after[-1] in (("op", ")"), ("op", "}")) and not balanced(after):
            after = after[:-1]
        modulus = self.expr(unwrap(after))
        variable = self.expr(left)
        if not isinstance(modulus, Num) or modulus.value.denominator != 1 or not 1 <= modulus.value <= 10**9:
            raise Refused("its modulus is not a number")
        if not isinstance(variable, Sym):
            raise Refused("its congruence is not one for a letter")
        m = int(modulus.value)
        residues: set[int] = set()
        if len(before) > 2 and before[0] == ("op", "\\{") and before[-1] == ("op", "\\}"):
            before = before[1:-1]
        for piece in split(before, _is_separator):
            for residue in self.signs(unwrap(piece)):
                if isinstance(residue, Op) and residue.op == "neg" and isinstance(residue.args[0], Num):
                    residue = Num(-residue.args[0].value)
                if not isinstance(residue, Num) or residue.value.denominator != 1:
                    raise Refused("its residue is not a number")
                residues.add(int(residue.value) % m)
        return Residues(variable.name, m, frozenset(residues))

    def signs(self, items: list[Token]) -> list[Expr]:
        """The one or two expressions that a plus-minus sign stands for."""
        if not any(t.kind == "cmd" and t.text in ("pm", "mp") for t in items):
            return [self.expr(items)]
        both = []
        for plus, minus in (("+", "-"), ("-", "+")):
            both.append(
                self.expr(
                    [
                        Token("op", {"pm": plus, "mp": minus}[t.text])
                        if t.kind == "cmd" and t.text in ("pm", "mp")
                        else t
                        for t in items
                    ]
                )
            )
        return both

    def progression(self, pieces: list[list[Token]]) -> Answer:
        dots = [i for i, p in enumerate(pieces) if _is_dots(p)]
        if len(dots) != 1 or dots[0] == 0 or dots[0] < len(pieces) - 2:
            raise Refused("its dots can't be read")
        first = tuple(self.expr(p) for p in pieces[: dots[0]])
        last = self.expr(pieces[-1]) if dots[0] == len(pieces) - 2 else None
        return Progression(first, last)

    def item(self, items: list[Token]) -> Answer:
        items = unwrap(items)
        if not items:
            raise Refused("it is empty")
        if items == [("cmd", "emptyset")]:
            return Empty()
        sides = split(items, lambda t: t.text in _RELATIONS and t.kind in ("op", "cmd"))
        if len(sides) > 1:
            return self.relation(items, sides)
        colons = split(items, lambda t: t == ("op", ":"))
        if len(colons) > 1:
            if all(len(c) == 1 and c[0].kind == "num" for c in colons):
                return Ratio(tuple(c[0].text for c in colons))
            raise Refused("its colon can't be read")
        grouped = self.bracketed(items)
        if grouped is not None:
            return grouped
        if len(items) > 3 and [t.text for t in items[::2][:2]] == ["(", ")"] and items[1].text in tuple("ABCDEabcde"):
            raise Refused("its first letter may be a label")
        without = split(items, lambda t: t == ("cmd", "setminus"))
        if len(without) == 2:
            return self.reals_without(*without)
        bare, unit = strip_units(items)
        if bare and bare[0] == ("op", "$"):
            bare, unit = bare[1:], ("dollars", 1)
        if len(bare) == 1 and bare[0].kind == "cmd" and bare[0].text.startswith("mathbb "):
            name = _NUMBER_SETS.get(bare[0].text[-1])
            if name is not None:
                return NumberSet(name)
        if bare == [("cmd", "mathbb Z"), ("op", "^"), ("op", "+")] or [t.text for t in bare] in (
            ["mathbb Z", "_", "{", ">", "0", "}"], ["mathbb Z", "^", "{", "+", "}"], ["mathbb Z", "_", "+"],
        ):  # fmt: skip
            return NumberSet("Z+")
        exprs = self.signs(bare)
        degree = unit is not None and unit[0] == "degree"
        values = [Value(Op("deg", (e,)), None) if degree else Value(e, unit) for e in exprs]
        if len(values) == 1:
            return values[0]
        return Group("list", tuple(values))

    def reals_without(self, whole: list[Token], taken: list[Token]) -> Answer:
        """All real numbers but for some rational ones, as a union of intervals."""
        kept, out = self.item(unwrap(whole)), self.item(unwrap(taken))
        if kept not in (NumberSet("R"), Interval(None, None, False, False)) or not isinstance(out, Group):
            raise Refused("its difference of sets can't be read")
        ends = [i.expr for i in out.items if isinstance(i, Value) and isinstance(i.expr, Num) and i.unit is None]
        if out.kind != "set" or len(ends) != len(out.items):
            raise Refused("its difference of sets can't be read")
        cuts: list[Expr | None] = [None, *sorted(set(ends), key=lambda e: e.value), None]
        return Union(tuple(Interval(low, high, False, False) for low, high in pairwise(cuts)))

    def bracketed(self, items: list[Token]) -> Answer | None:
        """A set, tuple, list in brackets or interval; `None` where the brackets only group a formula."""
        first, last = items[0], items[-1]
        if first.kind != "op" or last.kind != "op" or not wraps(items):
            return None
        inner = items[1:-1]
        if first.text == "\\{" and last.text == "\\}":
            if not unwrap(inner):
                return Empty()
            if any(t in (("cmd", "mid"), ("op", "|"), ("op", ":")) for t in inner):
                return self.set_builder(inner)
            content = self.collection(inner)
            if isinstance(content, Progression):
                return content
            if isinstance(content, Group) and content.kind == "list":
                return Group("set", content.items)
            return Group("set", (content,))
        if first.text not in ("(", "[") or last.text not in (")", "]"):
            return None
        pieces = [unwrap(p) for p in split(inner, lambda t: t.kind == "op" and t.text in (",", ";"))]
        if len(pieces) < 2:
            if first.text == "[" and last.text == "]" and pieces and pieces[0]:
                raise Refused("square brackets around one thing may be its integer part")
            parenthesised = first.text == "(" and last.text == ")"
            if parenthesised and (any(t.text in _RELATIONS for t in inner) or self._is_group(inner)):
                return self.item(inner)
            return None
        if any(not p for p in pieces) or len(pieces) > limits.MAX_ITEMS:
            raise Refused("an entry of it is empty, or there are too many")
        if any(_is_dots(p) for p in pieces):
            raise Refused("its dots can't be read")
        infinite = [_infinity(p) for p in pieces]
        mixed = (first.text == "(") != (last.text == ")")
        if len(pieces) == 2 and (any(infinite) or mixed):
            low = None if infinite[0] else self.expr(pieces[0])
            high = None if infinite[1] else self.expr(pieces[1])
            if infinite[0] == "+" or infinite[1] == "-":
                raise Refused("its interval runs backwards")
            if (infinite[0] and first.text == "[") or (infinite[1] and last.text == "]"):
                raise Refused("its interval is closed at infinity")
            return Interval(low, high, first.text == "[" and low is not None, last.text == "]" and high is not None)
        if mixed:
            raise Refused("its brackets don't match")
        return Group("tuple" if first.text == "(" else "bracket", tuple(self.item(p) for p in pieces))

    def _is_group(self, items: list[Token]) -> bool:
        items = unwrap(items)
        return bool(items) and items[0].text in ("(", "\\{", "[") and wraps(items)

    def set_builder(self, inner: list[Token]) -> Answer:
        for mark in (("cmd", "mid"), ("op", "|"), ("op", ":")):
            sides = split(inner, lambda t, mark=mark: t == mark)  # type: ignore[misc]
            if len(sides) == 2:
                break
        else:
            raise Refused("its set can't be read")
        head, condition = (unwrap(s) for s in sides)
        member = split(head, lambda t: t == ("cmd", "in"))
        if len(member) == 2 and member[1] != [("cmd", "mathbb R")] and member[1] != [("cmd", "mathbb Z")]:
            raise Refused("its set can't be read")
        shape = self.expr(member[0])
        if isinstance(shape, Sym):
            held = self.answer(condition)
            if (isinstance(held, Interval) and held.var == shape.name) or (
                isinstance(held, Residues) and held.var == shape.name
            ):
                return replace(held, var=None)
            if isinstance(held, Named) and held.names == (shape.name,) and isinstance(held.value, Union):
                return held.value
            raise Refused("its set can't be read")
        family = as_residues(Named(("?",), Value(shape)))
        domain = [t.text for t in condition]
        if family is not None and domain in ([s, "in", "mathbb Z"] for s in symbols(shape)):
            return family
        raise Refused("its set can't be read")

    def relation(self, items: list[Token], sides: list[list[Token]]) -> Answer:
        operators = []
        level = 0
        for t in items:
            level += depth_of(t)
            if level == 0 and depth_of(t) == 0 and t.text in _RELATIONS and t.kind in ("op", "cmd"):
                operators.append(t.text)
        if "approx" in operators or "sim" in operators:
            at = operators.index("approx") if "approx" in operators else operators.index("sim")
            before = sides[: at + 1]
            if any(before[-1]):
                return self.item(_join(before, operators))
            rest = self.item(_join(sides[at + 1 :], operators[at + 1 :]))
            return replace(rest, rounded=True) if isinstance(rest, Value) else rest
        if any(not unwrap(s) for s in sides):
            raise Refused("a side of its relation is empty")
        if set(operators) == {"="}:
            return self.equality(sides)
        if operators == ["equiv"]:
            congruence = self.congruence(items)
            if congruence is not None:
                return congruence
        if operators == ["in"]:
            return self.membership(sides)
        if set(operators) <= {"<", "le"} or set(operators) <= {">", "ge"}:
            return self.inequality(sides, operators)
        if operators == ["ne"]:
            left, right = self.expr(sides[0]), self.expr(sides[1])
            if isinstance(left, Sym) and not symbols(right):
                return Named(
                    (left.name,), Union((Interval(None, right, False, False), Interval(right, None, False, False)))
                )
        raise Refused("its relations can't be read")

    def membership(self, sides: list[list[Token]]) -> Answer:
        names = _names(_flat(unwrap(sides[0])))
        if names is not None and len(names) > 1:
            held = self.item(unwrap(sides[1]))
            if isinstance(held, Group) and held.kind == "set" and _tuples(held, len(names)):
                return Named(names, replace(held, kind="list"))
            raise Refused("its set can't be read")
        left = self.expr(sides[0])
        if not isinstance(left, Sym):
            raise Refused("it is not a letter that lies in its set")
        right = self.item(unwrap(sides[1]))
        if isinstance(right, Group) and right.kind in ("tuple", "bracket") and len(right.items) == 2:
            interval = as_interval(right)
            if interval is None:
                raise Refused("its interval can't be read")
            right = interval
        if isinstance(right, Interval):
            return replace(right, var=left.name)
        if isinstance(right, (Group, NumberSet, Empty, Progression, Union)):
            return Named((left.name,), right)
        raise Refused("its set can't be read")

    def equality(self, sides: list[list[Token]]) -> Answer:
        left = _flat(unwrap(sides[0]))
        if len(sides) > 2:
            # x = 2^10 = 1024: all but the first say the same; the comparison looks at the last, and checks the others
            values = [self.item(unwrap(s)) for s in sides[1:]]
            if all(isinstance(v, Value) and not symbols(v.expr) for v in values):
                if not _one_value([v.expr for v in values if isinstance(v, Value)]):
                    raise Refused("the sides of its equation differ")
                return self.equality([sides[0], sides[-1]])
            raise Refused("its chain of equations can't be read")
        right = unwrap(sides[1])
        names = _names(left)
        if names is not None:
            value = self.item(right)
            if isinstance(value, (Value, Group, Ratio, Interval, Empty, NumberSet)):
                used = symbols(value.expr) if isinstance(value, Value) else frozenset()
                if not used & set(names):
                    return Named(names, value)
                if isinstance(value, Value) and len(names) == 1:
                    return Equation(Sym(names[0]), value.expr)
            raise Refused("its definition can't be read")
        signature = _signature(left)
        if signature is not None:
            bodies = self.signs(right)
            made = [Function(signature[0], signature[1], body) for body in bodies]
            return made[0] if len(made) == 1 else Group("list", tuple(made))
        if any(t.kind == "cmd" and t.text in ("pm", "mp") for t in left + right):
            raise Refused("a plus-minus sign in its equation")
        one, two = self.expr(left), self.expr(right)
        if not symbols(one) and not symbols(two):
            if not _one_value([one, two]):
                raise Refused("the sides of its equation differ")
            return self.item(right)
        if isinstance(two, Sym) and two.name not in symbols(one):
            return Named((two.name,), Value(one))
        return Equation(one, two)

    def inequality(self, sides: list[list[Token]], operators: list[str]) -> Answer:
        infinite = [_infinity(unwrap(s)) for s in sides]
        parts = [Sym("infty") if infinite[i] else self.expr(s) for i, s in enumerate(sides)]
        if operators[0] in (">", "ge"):
            parts.reverse()
            infinite.reverse()
            operators = [{">": "<", "ge": "le"}[o] for o in reversed(operators)]
        if len(parts) == 3:
            middle = parts[1]
            if isinstance(middle, Sym) and middle.name not in symbols(parts[0]) | symbols(parts[2]):
                low, high = (None if infinite[0] else parts[0]), (None if infinite[2] else parts[2])
                return Interval(
                    low,
                    high,
                    operators[0] == "le" and low is not None,
                    operators[1] == "le" and high is not None,
                    middle.name,
                )
            raise Refused("its chain of inequalities can't be read")
        if len(parts) != 2 or any(infinite):
            raise Refused("its chain of inequalities can't be read")
        left, right = parts
        closed = operators[0] == "le"
        for inner, bound in ((left, right), (right, left)):
            if isinstance(inner, Op) and inner.op == "abs" and isinstance(inner.args[0], Sym) and not symbols(bound):
                if numeric.compare_numbers(bound, Num(Fraction(0))) != 1:
                    continue
                name = inner.args[0].name
                if inner is left:
                    return Interval(negate(bound), bound, closed, closed, name)
                outer = Interval(None, negate(bound), False, closed), Interval(bound, None, closed, False)
                return Named((name,), Union(outer))
        if isinstance(left, Sym) and not symbols(right):
            return Interval(None, right, False, closed, left.name)
        if isinstance(right, Sym) and not symbols(left):
            return Interval(left, None, closed, False, right.name)
        return Inequality(left, right, not closed)


def _tuples(group: Group, length: int) -> bool:
    return all(isinstance(i, Group) and i.kind == "tuple" and len(i.items) == length for i in group.items)


def _flat(items: list[Token]) -> list[Token]:
    return unwrap(items)


def _join(sides: list[list[Token]], operators: list[str]) -> list[Token]:
    out = list(sides[0])
    for operator, side in zip(operators, sides[1:], strict=False):
        out.append(Token("op" if operator in "=<>" else "cmd", operator))
        out.extend(side)
    return out


def _is_separator(token: Token) -> bool:
    return (token.kind == "op" and token.text in (",", ";", "&")) or (
        token.kind == "word" and token.text.lower() in ("or", "and")
    )


def _is_dots(items: list[Token]) -> bool:
    return items == [("cmd", "ldots")] or (len(items) == 3 and all(t == ("op", ".") for t in items))


def _infinity(items: list[Token]) -> str | None:
    texts = [t.text for t in items]
    if texts in (["infty"], ["+", "infty"]):
        return "+"
    return "-" if texts == ["-", "infty"] else None


def _names(items: list[Token]) -> tuple[str, ...] | None:
    """`x`, `x_1` or `(a,b,c)` on the left of an equals sign."""
    try:
        if items and items[0] == ("op", "(") and items[-1] == ("op", ")") and wraps(items):
            parts = [Parser(p).parse() for p in split(items[1:-1], lambda t: t == ("op", ","))]
        else:
            parts = [Parser(items).parse()]
    except Refused:
        return None
    names = tuple(p.name for p in parts if isinstance(p, Sym) and p.name not in ("pi", "e", "infty"))
    return names if len(names) == len(parts) == len(set(names)) else None


def _signature(items: list[Token]) -> tuple[str, tuple[str, ...]] | None:
    """`f(x)` or `g(m, n)` on the left of an equals sign."""
    if len(items) < 4 or items[-1] != ("op", ")"):
        return None
    opening = next((i for i, t in enumerate(items) if t == ("op", "(")), 0)
    if opening == 0 or not wraps(items[opening:]):
        return None
    try:
        name = Parser(items[:opening]).parse()
    except Refused:
        return None
    params = _names(items[opening:])
    if not isinstance(name, Sym) or name.name in ("pi", "e", "infty") or params is None or name.name in params:
        return None
    return name.name, params


def _gather(items: list[Answer], *, alternatives: bool) -> Answer:
    """A bare list; names that stand at its members are taken out of it.

    `x=1, y=2` gives values to two letters; as `alternatives` (x=1 or y=2) it doesn't.
    """
    flat: list[Answer] = []
    for item in items:
        if isinstance(item, Group) and item.kind == "list":
            flat.extend(item.items)
        elif (
            isinstance(item, Named)
            and len(item.names) == 1
            and isinstance(item.value, Group)
            and item.value.kind == "list"
        ):
            flat.extend(Named(item.names, v) for v in item.value.items)
        else:
            flat.append(item)
    if sum(isinstance(f, Named) and isinstance(f.value, Union) for f in flat) and len(flat) > 1:
        raise Refused("its conditions may be meant together, or one by one")
    first = flat[0]
    if isinstance(first, Named):
        same = [f for f in flat if isinstance(f, Named) and f.names == first.names]
        bare = [f for f in flat if not isinstance(f, (Named, Interval, Function, Equation))]
        if len(same) + len(bare) == len(flat) and isinstance(flat[0], Named):
            return Named(first.names, Group("list", tuple(f.value if isinstance(f, Named) else f for f in flat)))
        names = [f.names[0] for f in flat if isinstance(f, Named) and len(f.names) == 1]
        if len(names) == len(flat) == len(set(names)) and not alternatives:
            return Named(tuple(names), Group("assigned", tuple(f.value for f in flat if isinstance(f, Named))))
        if len(names) == len(flat) and len(set(names)) < len(names):
            raise Refused("nothing tells which values of its letters belong together")
    return Group("list", tuple(flat))


def _check_alternatives(items: list[Answer]) -> None:
    """Refuses a list of conditions that may be meant to hold together: `x>1, x<3` is not a union.

    Intervals that have nothing in common (`x<1, x>3`) can only be alternatives.
    """
    if sum(isinstance(i, (Residues, Inequality, Equation)) for i in items) > 1:
        raise Refused("its conditions may be meant together, or one by one")
    intervals = [i for i in items if isinstance(i, Interval)]
    for index, one in enumerate(intervals):
        for other in intervals[:index]:
            ends = ((one.high, other.low), (other.high, one.low))
            if not any(isinstance(high, Num) and isinstance(low, Num) and high.value < low.value for high, low in ends):
                raise Refused("its conditions may be meant together, or one by one")


def _letters_of(answer: Answer) -> frozenset[str]:
    """The variables of a function, and the parameters of a family."""
    if isinstance(answer, Function):
        return symbols(answer.body) | set(answer.params)
    if isinstance(answer, Named) and isinstance(answer.value, Value):
        return symbols(answer.value.expr)
    return symbols(answer.expr) if isinstance(answer, Value) else frozenset()


def _restricts(answer: Answer, letters: frozenset[str]) -> bool:
    """Whether it says no more than where one of these letters lies: `k \\ge 1` behind `n=3k`."""
    if isinstance(answer, Interval):
        return answer.var in letters
    return (
        isinstance(answer, Named)
        and len(answer.names) == 1
        and answer.names[0] in letters
        and isinstance(answer.value, (NumberSet, Union))
    )


def _one_value(exprs: list[Expr]) -> bool:
    from .algebra import Algebra

    algebra = Algebra()
    values = [algebra.of(e) for e in exprs]
    return all(algebra.same(values[0], v) for v in values[1:])

"""Rewritings that keep a value are never called different, edits that change it never equal.

Hundreds of examples for each property in CI, thousands with HYPOTHESIS_PROFILE=nightly.
"""

import random
import re
from fractions import Fraction
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from judge.answers import compare, extract

OUTCOMES = {"equal", "different", "undecided"}


def boxed(text: str) -> str:
    return f"Therefore the answer is $\\boxed{{{text}}}$."


def outcome(gold: str, text: str) -> str:
    found = compare(f"${gold}$", boxed(text))
    assert found.method != "error", (gold, text, found.reason)
    return found.outcome


# Formulas: nested tuples ("num", k), ("let", x), ("+", a, b), ("*", a, b), ("/", a, b), ("^", a, k), ("sqrt", a), ("-", a)

Tree = tuple[Any, ...]
numbers = st.integers(1, 30).map(lambda k: ("num", k))
letters = st.sampled_from(["x", "y", "n", "a"]).map(lambda x: ("let", x))


def combine(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.just("+"), inner, inner),
        st.tuples(st.just("*"), inner, inner),
        st.tuples(st.just("/"), inner, inner),
        st.tuples(st.just("^"), inner, st.integers(2, 3)),
        st.tuples(st.just("-"), inner),
    )


rational_trees = st.recursive(numbers, combine, max_leaves=8)
letter_trees = st.recursive(st.one_of(numbers, letters), combine, max_leaves=7)
root_trees = st.recursive(
    st.one_of(numbers, letters), lambda t: st.one_of(combine(t), st.tuples(st.just("sqrt"), t)), max_leaves=5
)


def value(tree: Tree, at: dict[str, Fraction]) -> Fraction:
    """The exact value; ZeroDivisionError where it is undefined."""
    match tree:
        case ("num", k):
            return Fraction(k)
        case ("let", x):
            return at[x]
        case ("+", a, b):
            return value(a, at) + value(b, at)
        case ("*", a, b):
            return value(a, at) * value(b, at)
        case ("/", a, b):
            return value(a, at) / value(b, at)
        case ("^", a, k):
            return value(a, at) ** k
        case ("-", a):
            return -value(a, at)
    raise AssertionError(tree)


def defined(tree: Tree) -> bool:
    """Whether no division in it is one by zero at a point where its letters are in general position."""
    try:
        value(tree, {"x": Fraction(17, 3), "y": Fraction(29, 7), "n": Fraction(41, 5), "a": Fraction(53, 11)})
    except ZeroDivisionError:
        return False
    return True


def latex(tree: Tree, style: random.Random) -> str:
    """One of the many ways to write it."""
    match tree:
        case ("num", k):
            return str(k)
        case ("let", x):
            return str(x)
        case ("+", a, ("-", b)) if style.random() < 0.7:
            return f"{latex(a, style)} - {brackets(b, style, product=True)}"
        case ("+", a, b):
            plus = style.choice(["+", " + ", r"\,+\,"])
            right = latex(b, style)
            return f"{latex(a, style)}{plus}{wrap(right, style) if right.startswith('-') else right}"
        case ("*", a, b):
            times = style.choice([r" \cdot ", r" \times ", "*", "·"])
            return f"{brackets(a, style, product=True)}{times}{brackets(b, style, product=True)}"
        case ("/", a, b):
            command = style.choice([r"\frac", r"\dfrac", r"\tfrac"])
            return f"{command}{{{latex(a, style)}}}{{{latex(b, style)}}}"
        case ("^", a, k):
            base = latex(a, style) if a[0] in ("num", "let") else wrap(latex(a, style), style)
            return style.choice([f"{base}^{k}", f"{base}^{{{k}}}", base + {2: "²", 3: "³"}[k]])
        case ("sqrt", a):
            return rf"\sqrt{{{latex(a, style)}}}"
        case ("-", a):
            return style.choice(["-", "−"]) + brackets(a, style, product=True)
    raise AssertionError(tree)


def wrap(text: str, style: random.Random) -> str:
    return style.choice([f"({text})", rf"\left({text}\right)", rf"\left( {text} \right)", rf"\bigl({text}\bigr)"])


def brackets(tree: Tree, style: random.Random, *, product: bool) -> str:
    text = latex(tree, style)
    return wrap(text, style) if tree[0] in ("+", "-", "*") and product else text


def rewritten(tree: Tree, style: random.Random) -> Tree:
    """The same value by another formula: commuted, scaled by k/k, a term added and taken away, doubly negated."""
    match tree[0]:
        case "num" | "let":
            out: Tree = tree
        case "^":
            out = ("^", rewritten(tree[1], style), tree[2])
        case "-" | "sqrt":
            out = (tree[0], rewritten(tree[1], style))
        case operator:
            a, b = rewritten(tree[1], style), rewritten(tree[2], style)
            out = (operator, b, a) if operator in "+*" and style.random() < 0.5 else (operator, a, b)
    k: Tree = ("num", style.randint(2, 9))
    match style.randrange(8):
        case 0:
            return ("*", ("/", k, ("num", 1)), ("/", out, k))
        case 1:
            return ("+", ("+", out, k), ("-", k))
        case 2:
            return ("-", ("-", out))
        case 3:
            return ("/", ("*", k, out), k)
        case 4 if out[0] == "^" and out[2] == 2:
            return ("*", out[1], out[1])
    return out


seeds = st.integers(0, 2**32).map(random.Random)


@given(rational_trees, seeds)
def test_a_rewritten_number_is_equal(tree: Tree, style: random.Random) -> None:
    assume(defined(tree))
    assert outcome(latex(tree, style), latex(rewritten(tree, style), style)) == "equal"


@given(letter_trees, seeds)
def test_a_rewritten_formula_is_equal(tree: Tree, style: random.Random) -> None:
    assume(defined(tree))
    assert outcome(latex(tree, style), latex(rewritten(tree, style), style)) == "equal"


@given(root_trees, seeds)
def test_a_rewritten_formula_with_roots_is_never_different(tree: Tree, style: random.Random) -> None:
    assert outcome(latex(tree, style), latex(rewritten(tree, style), style)) != "different"


def edited(tree: Tree, style: random.Random) -> Tree:
    """One leaf or one operation changed."""
    if tree[0] == "num":
        return ("num", tree[1] + style.choice([1, 2, 10]))
    if tree[0] == "let":
        return style.choice([("num", 2), ("+", tree, ("num", 1)), ("let", "z")])
    if style.random() < 0.3:
        match tree[0]:
            case "+":
                return ("+", tree[1], ("-", tree[2]))
            case "*":
                return ("+", tree[1], tree[2])
            case "/":
                return ("/", tree[2], tree[1])
            case "^":
                return ("^", tree[1], 5 - tree[2])
            case "-":
                return tree[1]  # type: ignore[no-any-return]
    place = style.choice([i for i, part in enumerate(tree) if isinstance(part, tuple)])
    return (*tree[:place], edited(tree[place], style), *tree[place + 1 :])


@given(letter_trees, seeds)
def test_an_edited_formula_is_never_equal(tree: Tree, style: random.Random) -> None:
    other = edited(tree, style)
    at = {
        "x": Fraction(17, 3),
        "y": Fraction(29, 7),
        "n": Fraction(41, 5),
        "a": Fraction(53, 11),
        "z": Fraction(61, 13),
    }
    try:
        assume(value(tree, at) != value(other, at))
    except ZeroDivisionError:
        assume(False)
    assert outcome(latex(tree, style), latex(rewritten(other, style), style)) != "equal"


@given(rational_trees, seeds)
def test_an_edited_number_is_different(tree: Tree, style: random.Random) -> None:
    other = edited(tree, style)
    try:
        assume(value(tree, {}) != value(other, {}))
    except ZeroDivisionError:
        assume(False)
    assert outcome(latex(tree, style), latex(other, style)) == "different"


# Numbers as they are written


@given(st.integers(-(10**30), 10**30), seeds)
def test_thousands_separators_keep_a_number(number: int, style: random.Random) -> None:
    grouped = f"{number:,}".replace(",", style.choice([",", "{,}", r"\,", r"\;", " ", r"{,}", r",\!"]))
    assert outcome(str(number), grouped) == "equal"
    assert outcome(grouped, str(number)) == "equal"
    assert outcome(str(number), f"{number + style.choice([1, -1, 1000, 10**6]):,}") == "different"


@given(st.decimals(-1000, 1000, places=4, allow_nan=False))
def test_a_decimal_is_its_fraction(number: Any) -> None:
    exact = Fraction(number)
    fraction = rf"\frac{{{exact.numerator}}}{{{exact.denominator}}}"
    assert outcome(str(number), fraction) == "equal"
    assert outcome(fraction, f"{number}1") == "different"


@given(st.integers(2, 10), st.integers(1, 10**6), seeds)
def test_number_bases(base: int, number: int, style: random.Random) -> None:
    digits, rest = "", number
    while rest:
        digits, rest = str(rest % base) + digits, rest // base
    written = style.choice(
        [f"{digits}_{{{base}}}", f"({digits})_{{{base}}}", f"{digits}_{base}" if base < 10 else f"{digits}_{{10}}"]
    )
    assert outcome(str(number), written) == "equal"
    assert outcome(str(number + 1), written) != "equal"
    assert outcome(written, f"{digits}_{{{base + 1}}}") != "equal" or number < base


# Several values

small = st.fractions(-50, 50, max_denominator=12)
sets = st.lists(small, min_size=2, max_size=7, unique=True)


def fraction(number: Fraction, style: random.Random) -> str:
    if number.denominator == 1:
        return str(number)
    command = style.choice([r"\frac", r"\dfrac"])
    return f"{'-' if number < 0 else ''}{command}{{{abs(number.numerator)}}}{{{number.denominator}}}"


def listed(members: list[Fraction], style: random.Random) -> str:
    written = [fraction(m, style) for m in members]
    match style.randrange(4):
        case 0:
            return r"\{" + ", ".join(written) + r"\}"
        case 1:
            return r"\left\{ " + ",\\ ".join(written) + r" \right\}"
        case 2:
            return ", ".join(written[:-1]) + r" \text{ and } " + written[-1]
    return ", ".join(written)


@given(sets, seeds)
def test_the_order_of_a_set_does_not_count(members: list[Fraction], style: random.Random) -> None:
    shuffled = style.sample(members, len(members))
    assert outcome(listed(members, style), listed(shuffled, style)) == "equal"


@given(sets, small, seeds)
def test_a_set_with_a_member_more_or_less_or_another_one_is_different(
    members: list[Fraction], extra: Fraction, style: random.Random
) -> None:
    assume(extra not in members)
    gold = listed(members, style)
    place = style.randrange(len(members))
    assert outcome(gold, listed([*members, extra], style)) == "different"
    assert outcome(gold, listed([extra if i == place else m for i, m in enumerate(members)], style)) == "different"
    if len(members) > 2:
        assert outcome(gold, listed([m for i, m in enumerate(members) if i != place], style)) == "different"
    assert outcome(gold, fraction(members[place], style)) == "different"


@given(st.lists(small, min_size=2, max_size=5), seeds)
def test_the_order_of_a_tuple_counts(entries: list[Fraction], style: random.Random) -> None:
    gold = "(" + ", ".join(fraction(e, style) for e in entries) + ")"
    again = r"\left(" + ",".join(fraction(e, style) for e in entries) + r"\right)"
    named = "(" + ",".join("abcdu"[: len(entries)]) + ")=" + again
    assert outcome(gold, again) == "equal"
    assert outcome(gold, named) == "equal"
    shuffled = style.sample(entries, len(entries))
    if shuffled != entries:
        assert outcome(gold, "(" + ", ".join(fraction(e, style) for e in shuffled) + ")") == "different"
    assert outcome(gold, "(" + ", ".join(fraction(e, style) for e in entries[:-1]) + ")") == "different"


@given(small, small, st.booleans(), st.booleans(), seeds)
def test_intervals_and_inequalities(a: Fraction, b: Fraction, low: bool, high: bool, style: random.Random) -> None:
    assume(a < b)
    x, y = fraction(a, style), fraction(b, style)

    def sign(closed: bool, *, down: bool = False) -> str:
        if down:
            return r"\ge" if closed else ">"
        return style.choice(["≤", r"\le", r"\leq", r"\leqslant"]) if closed else "<"

    interval = rf"x\in{'[' if low else '('}{x}, {y}{']' if high else ')'}"
    chain = f"{x} {sign(low)} x {sign(high)} {y}"
    turned = f"{y} {sign(high, down=True)} x {sign(low, down=True)} {x}"
    assert outcome(interval, chain) == outcome(chain, interval) == outcome(interval, turned) == "equal"
    assert outcome(interval, f"{x} {sign(not low)} x {sign(high)} {y}") == "different"
    assert outcome(interval, f"{x} {sign(low)} x {sign(high)} {fraction(b + 1, style)}") == "different"
    assert outcome(interval, f"x {sign(low, down=True)} {x}") == "different"
    assert outcome(f"x < {x}", f"x > {x}") == "different"
    assert outcome(rf"x \le {x}", f"x < {x}") == "different"
    assert outcome(rf"x \le {x}", rf"(-\infty, {x}]") == "equal"


@given(st.integers(2, 60), st.integers(0, 200), st.integers(-5, 5))
def test_congruences(modulus: int, residue: int, turns: int) -> None:
    gold = rf"n \equiv {residue} \pmod{{{modulus}}}"
    assert outcome(gold, rf"n\equiv {residue + turns * modulus}\pmod {{{modulus}}}") == "equal"
    assert outcome(gold, rf"n\equiv {residue + 1}\pmod {{{modulus}}}") == "different"
    assert outcome(gold, rf"n\equiv {residue}\pmod {{{modulus + 1}}}") == "different"
    assert outcome(gold, rf"n\equiv {residue}, {residue + modulus}\pmod {{{2 * modulus}}}") == "equal"
    assert outcome(gold, str(residue)) == "different"
    assert outcome(f"n={modulus}k+{residue % modulus}", rf"n\equiv {residue + 1}\pmod {{{modulus}}}") == "different"


@given(letter_trees, letter_trees, seeds)
def test_functions_up_to_the_name_of_their_variable(body: Tree, other: Tree, style: random.Random) -> None:
    assume(defined(body))
    gold = f"f(x)={latex(body, style)}"
    renamed = rename(body, "x", "t")
    assert outcome(gold, f"f(t)={latex(rewritten(renamed, style), style)}") == "equal"
    at = {"x": Fraction(17, 3), "y": Fraction(29, 7), "n": Fraction(41, 5), "a": Fraction(53, 11)}
    try:
        assume(value(body, at) != value(other, at))
    except ZeroDivisionError:
        assume(False)
    if names(body) - {"x"} == names(other) - {"x"}:  # else the one's parameters may be the other's under new names
        assert outcome(gold, f"f(x)={latex(other, style)}") != "equal"


def rename(tree: Tree, old: str, new: str) -> Tree:
    return tuple(
        new if part == old and tree[0] == "let" else rename(part, old, new) if isinstance(part, tuple) else part
        for part in tree
    )


def names(tree: Tree) -> set[str]:
    if tree[0] == "let":
        return {tree[1]}
    return set().union(*(names(part) for part in tree if isinstance(part, tuple)))


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.integers(1, 7), seeds)
def test_equations_up_to_a_factor(coefficients: list[int], factor: int, style: random.Random) -> None:
    a, b, c = coefficients
    assume(a and b)
    gold = f"{a}x + ({b})y + ({c}) = 0"
    k = factor * style.choice([1, -1])
    assert outcome(gold, f"{a * k}x + ({b * k})y + ({c * k}) = 0") == "equal"
    assert outcome(gold, f"{a}x + ({b})y = {-c}") == "equal"
    assert outcome(gold, f"y = -\\frac{{{a}x + ({c})}}{{{b}}}") == "equal"
    assert outcome(gold, f"{a}x + ({b})y + ({c + 1}) = 0") == "different"
    assert outcome(gold, f"{a}x - ({b})y + ({c}) = 0") == "different"


# Anything at all

_SOUP = [
    *"0123456789", *"xyznkfabe", "+", "-", "*", "/", "^", "_", "=", "<", ">", "(", ")", "[", "]", "{", "}", r"\{", r"\}", ",", ".", "!",
    "|", "%", "'", " ", r"\frac", r"\sqrt", r"\binom", r"\pi", r"\infty", r"\le", r"\ge", r"\equiv", r"\pmod", r"\cup", r"\in", r"\pm",
    r"\ldots", r"\sin", r"\log", r"\lfloor", r"\rfloor", r"^\circ", r"\text{ or }", r"\text{and}", "odd ", "for all ", "$", r"\left", r"\right",
    r"\emptyset", r"\mathbb{R}", "Yes", r"\mid", ":", ";", r"\boxed{", "√", "²", "≤", "1/2x", "1,234", r"\overline", "e^{", r"\sum_{k=1}^{n}",
]  # fmt: skip
soup = st.lists(st.sampled_from(_SOUP), max_size=14).map("".join)


@given(soup, soup)
def test_any_two_texts_have_one_outcome_in_either_direction(a: str, b: str) -> None:
    there, back = compare(a, boxed(b)), compare(b, boxed(a))
    assert there.outcome in OUTCOMES and "error" not in (there.method, back.method), (a, b, there.reason, back.reason)
    assert {there.outcome, back.outcome} != {"equal", "different"}, (a, b)


@given(soup)
def test_no_text_is_different_from_itself(a: str) -> None:
    assert compare(a, boxed(a), text_step=False).outcome != "different"
    spaced = re.sub(r"(?<=[+=<>,])", " ", a)
    assert compare(a, boxed(spaced)).outcome != "different" or "\\" + " " in spaced


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            [*_SOUP, "\n", "Answer: ", "the answer is ", "<think>", "</think>", "**", r"\boxed{4}", "words "]
        )
    ).map("".join)
)
def test_an_extraction_is_a_span_of_the_text(text: str) -> None:
    found = extract(text)
    if found.text is None:
        assert found.why and found.start is None and found.end is None
    else:
        assert text[found.start : found.end] == found.text and found.how and found.why is None
    assert compare("42", text).outcome in OUTCOMES

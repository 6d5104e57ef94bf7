"""The starter set: its structure, and its mathematics held against computations of their own.

Nothing of the project is imported: the set is data, and is read here as a person would read it. The answers are
computed by brute force or exact algebra, never by the method of the written solutions.
"""

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sympy
import yaml
from sympy.parsing.sympy_parser import implicit_multiplication, parse_expr, standard_transformations

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS: list[dict[str, Any]] = yaml.safe_load((ROOT / "generate/starter/starter.yaml").read_text("utf-8"))["problems"]
TAXONOMY: dict[str, Any] = yaml.safe_load((ROOT / "conf/taxonomy/brains_vs_bytes.yaml").read_text("utf-8"))

BY_ID: dict[str, dict[str, Any]] = {p["id"]: p for p in PROBLEMS}
SOLUTIONS: list[dict[str, Any]] = [s for p in PROBLEMS for s in p["solutions"]]
SOLUTION_BY_ID: dict[str, dict[str, Any]] = {s["id"]: s for s in SOLUTIONS}
FLAWS: list[tuple[dict[str, Any], dict[str, Any]]] = [(s, f) for s in SOLUTIONS for f in s["flaws"]]
TAGS = [
    "Proof by Example",
    "Proposal Without Verification",
    "Inventing Wrong Facts",
    "Begging the Question",
    "Solution by Trial and Error",
    "Calculation Mistake",
]

Point = tuple[Any, Any]


# ------------------------------------------------------------------------------------------------- structure


def test_taxonomy_has_the_six_fallacies_with_every_text() -> None:
    assert TAXONOMY["name"] == "brains_vs_bytes"
    assert sorted(f["name"] for f in TAXONOMY["fallacies"]) == sorted(TAGS)
    for fallacy in TAXONOMY["fallacies"]:
        assert set(fallacy) == {"name", "definition", "recognise", "not_this"}
        for key in ("definition", "recognise", "not_this"):
            assert 40 <= len(fallacy[key]) <= 500, (fallacy["name"], key)


def test_counts_of_problems() -> None:
    assert len(PROBLEMS) >= 16
    topics = Counter(p["topic"] for p in PROBLEMS)
    assert set(topics) == {"Algebra", "Combinatorics", "Geometry", "Number Theory"}
    assert min(topics.values()) >= 4
    assert sum(p["answer"] is not None for p in PROBLEMS) >= 10
    assert sum(p["answer"] is None for p in PROBLEMS) >= 5


def test_every_fallacy_is_planted_at_least_seven_times() -> None:
    planted = Counter(f["tag"] for _, f in FLAWS)
    assert set(planted) == set(TAGS)
    assert min(planted.values()) >= 7, planted


def test_kinds_of_flawed_solutions() -> None:
    flawed = [s for s in SOLUTIONS if s["flaws"]]
    assert sum(s["answer_correct"] is True for s in flawed) >= 6
    assert sum(s["answer_correct"] is False and s["flaws"][0]["tag"] == "Calculation Mistake" for s in flawed) >= 6
    assert sum(s["verdict"] == "partially_correct" for s in flawed) >= 6
    assert sum(len({f["tag"] for f in s["flaws"]}) >= 2 for s in flawed) >= 3


def test_at_least_four_problems_are_short() -> None:
    short = [p for p in PROBLEMS if all(len(t) < 700 for t in [p["statement"], *(s["text"] for s in p["solutions"])])]
    assert len(short) >= 4


def test_ids() -> None:
    problem_ids = [p["id"] for p in PROBLEMS]
    solution_ids = [s["id"] for s in SOLUTIONS]
    assert len(set(problem_ids)) == len(problem_ids)
    assert len(set(solution_ids)) == len(solution_ids)
    for p in PROBLEMS:
        topic = p["topic"].lower().replace(" ", "-")
        assert re.fullmatch(rf"starter-{topic}-[1-9]\d*", p["id"])
        names = [s["id"].removeprefix(p["id"] + "/") for s in p["solutions"]]
        assert names == ["sound", *"abcdefgh"[: len(names) - 1]]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p["id"])
def test_problem_is_complete(problem: dict[str, Any]) -> None:
    assert set(problem) == {"id", "topic", "statement", "answer", "rubric", "reference_solution", "solutions"}
    assert problem["answer"] is None or (isinstance(problem["answer"], str) and problem["answer"].strip())
    assert problem["rubric"] is None or isinstance(problem["rubric"], str)
    assert len(problem["statement"]) >= 50
    assert len(problem["reference_solution"]) >= 100
    assert sum(not s["flaws"] for s in problem["solutions"]) == 1
    assert len(problem["solutions"]) >= 3
    for text in (s["text"] for s in problem["solutions"]):
        assert text != problem["reference_solution"]


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda s: s["id"])
def test_solution_is_complete(solution: dict[str, Any]) -> None:
    sound = solution["id"].endswith("/sound")
    problem = BY_ID[solution["id"].rsplit("/", 1)[0]]
    assert set(solution) == {"id", "verdict", "answer_correct", "flaws", "text"} | (set() if sound else {"comment"})
    assert solution["verdict"] in {"correct", "partially_correct", "incorrect"}
    assert (solution["verdict"] == "correct") == (not solution["flaws"]) == sound
    assert sound or len(solution["comment"]) >= 30
    assert 400 <= len(solution["text"]) <= 2500
    if problem["answer"] is None:
        assert solution["answer_correct"] is None
        assert "boxed" not in solution["text"]
    else:
        assert isinstance(solution["answer_correct"], bool)
        assert solution["answer_correct"] or not sound


@pytest.mark.parametrize(("solution", "flaw"), FLAWS, ids=lambda v: v.get("id", v.get("tag")))
def test_flaw_stands_in_its_text_once(solution: dict[str, Any], flaw: dict[str, Any]) -> None:
    assert set(flaw) == {"tag", "quote", "explanation"}
    assert flaw["tag"] in TAGS
    assert solution["text"].count(flaw["quote"]) == 1
    assert "\n" not in flaw["quote"]
    assert len(flaw["quote"]) >= 10
    assert len(flaw["explanation"]) >= 15


# --------------------------------------------------------------------------------------------- final answers


def boxed(text: str) -> str:
    """What stands in the last \\boxed{...} of the text, which must be its last line."""
    last = text.rstrip().splitlines()[-1]
    assert "inal answer" in last
    start = last.index(r"\boxed{") + len(r"\boxed{")
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(last[end], 0)
        end += 1
    assert not last[end:].strip("$. *")
    return last[start : end - 1]


def expression(latex: str) -> sympy.Expr:
    """A formula of the few forms that the set uses, in sympy."""
    text = re.sub(r"\^\\circ", "", latex)
    text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = text.replace(r"\cdot", "*").replace("^", "**")
    assert "\\" not in text, latex
    names = {"n": sympy.Symbol("n", positive=True), "x": sympy.Symbol("x", real=True)}
    return parse_expr(text, local_dict=names, transformations=(*standard_transformations, implicit_multiplication))


def read(answer: str) -> Any:
    """An answer as a word, a set, a pair or a formula."""
    if re.fullmatch(r"\\text\{[^{}]*\}|Yes|No|Ben|Anna", answer):
        return answer.removeprefix(r"\text{").removesuffix("}")
    answer = answer.split("=")[-1].strip()
    if answer.startswith(r"\{"):
        return {int(k) for k in re.findall(r"\d+", answer)}
    if re.fullmatch(r"\(\d+, \d+\)", answer):
        return tuple(int(k) for k in re.findall(r"\d+", answer))
    return expression(answer)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, sympy.Expr) and isinstance(other, sympy.Expr):
        return bool(sympy.simplify(one - other) == 0)
    return type(one) is type(other) and bool(one == other)


def gold(problem_id: str) -> Any:
    return read(BY_ID[problem_id]["answer"])


@pytest.mark.parametrize("solution", [s for s in SOLUTIONS if s["answer_correct"] is not None], ids=lambda s: s["id"])
def test_answer_label_agrees_with_the_boxed_answer(solution: dict[str, Any]) -> None:
    answer = gold(solution["id"].rsplit("/", 1)[0])
    assert same(read(boxed(solution["text"])), answer) is solution["answer_correct"]


# ---------------------------------------------------------------------------------------------------- algebra


def test_algebra_1() -> None:
    def f(x: float) -> float:
        return 2**x + 3 ** (3 - x) + x - 12

    zeros = gold("starter-algebra-1")
    assert all(f(x) == 0 for x in zeros)
    # the sign on a fine grid: +, -, + and no other change; outside the grid one of the powers exceeds all the rest
    grid = [k / 200 for k in range(-2000, 4001) if k / 200 not in zeros]
    changes = [(a, b) for a, b in itertools.pairwise(grid) if f(a) * f(b) < 0]
    assert len(changes) == len(zeros)
    assert all(any(a < z < b for a, b in changes) for z in zeros)


def test_algebra_1_the_cited_theorem_is_false() -> None:
    # x^3 increases and -x decreases, and the sum is 0 three times
    assert [x for x in range(-5, 6) if x**3 + -x == 0] == [-1, 0, 1]


def power_sum(x: Fraction | float) -> Fraction | float:
    y = 2 - x
    return x**5 * y + x * y**5


def test_algebra_2() -> None:
    best = gold("starter-algebra-2")
    x = sympy.Symbol("x", real=True)
    f = sympy.expand(x**5 * (2 - x) + x * (2 - x) ** 5)
    critical = [r for r in sympy.Poly(f.diff(x), x).nroots(n=30) if r.is_real and 0 <= r <= 2]
    assert len(critical) == 3
    values = [f.subs(x, r).evalf(25) for r in [*critical, 0, 2]]
    assert abs(max(values) - best.evalf(25)) < 1e-18
    assert max(power_sum(k / 10000) for k in range(20001)) <= float(best) + 1e-12


def test_algebra_2_the_flawed_values_are_not_the_maximum() -> None:
    assert power_sum(Fraction(3, 2)) == Fraction(123, 32) > power_sum(Fraction(1)) == 2  # not where x = y
    tried = [power_sum(Fraction(*q)) for q in ((1, 1), (3, 2), (8, 5), (7, 4))]
    assert tried == [2, Fraction(123, 32), Fraction(65792, 15625), Fraction(8407, 2048)]
    assert max(tried) < power_sum(Fraction(5, 3))
    assert read(boxed(SOLUTION_BY_ID["starter-algebra-2/c"]["text"])) == sympy.Rational(65792, 15625)


def test_algebra_3() -> None:
    x, u, v = sympy.symbols("x u v", real=True)
    right = x**3 - x**2 + 2 * x + 1
    solved = sympy.solve([u + x * v - right, v + (1 - x) * u - right.subs(x, 1 - x)], [u, v], dict=True)
    assert len(solved) == 1
    assert same(sympy.factor(solved[0][u]), gold("starter-algebra-3"))
    # the slip of /b: the right side at 1 - x, and what follows from the wrong constant
    assert sympy.expand(right.subs(x, 1 - x)) == -(x**3) + 2 * x**2 - 3 * x + 3
    wrong = -(x**3) + 2 * x**2 - 3 * x + 1
    followed = sympy.solve([u + x * v - right, v + (1 - x) * u - wrong], [u, v], dict=True)[0][u]
    assert same(followed, read(boxed(SOLUTION_BY_ID["starter-algebra-3/b"]["text"])))


def cyclic_sum(values: list[float]) -> float:
    return sum(math.sqrt(a + a * b) for a, b in zip(values, values[1:] + values[:1], strict=True))


@pytest.mark.parametrize("n", range(2, 8))
def test_algebra_4(n: int) -> None:
    rng = random.Random(n)
    bound = math.sqrt(n + 1)
    assert cyclic_sum([1 / n] * n) == pytest.approx(bound, abs=1e-12)
    for _ in range(2000):
        raw = [rng.random() ** rng.choice((1, 3, 10)) for _ in range(n)]
        assert cyclic_sum([r / sum(raw) for r in raw]) <= bound + 1e-12


def test_algebra_4_the_cited_bound_is_false() -> None:
    x = [Fraction(1, 2), Fraction(1, 2), Fraction(0)]
    assert sum(x) == 1
    assert x[0] * x[1] > Fraction(1, len(x) ** 2)


def test_algebra_5() -> None:
    formula = gold("starter-algebra-5")
    (n,) = formula.free_symbols
    total = first = Fraction(1)
    assert formula.subs(n, 1) == first
    terms = [first]
    for k in range(2, 40):
        a = total / (Fraction(k * k * (k + 1), 2) - k)  # total + k a = k^2 (k + 1) / 2 a
        total += k * a
        terms.append(a)
        assert Fraction(str(formula.subs(n, k))) == a
    assert terms[:5] == [1, Fraction(1, 4), Fraction(1, 10), Fraction(1, 20), Fraction(1, 35)]
    assert math.prod(k + 2 for k in range(2, 7)) == math.factorial(8) // 6  # /c has 2 instead of 6


# ---------------------------------------------------------------------------------------------- combinatorics


def ben_wins(cells: int) -> bool:
    """The whole game tree."""

    @cache
    def even_wins(row: tuple[int | None, ...]) -> bool:
        free = [i for i, d in enumerate(row) if d is None]
        if not free:
            return sum(a != b for a, b in itertools.pairwise(row)) % 2 == 0
        bens_turn = (len(row) - len(free)) % 2 == 1
        nexts = (even_wins((*row[:i], d, *row[i + 1 :])) for i in free for d in (0, 1))
        return any(nexts) if bens_turn else all(nexts)

    return even_wins((None,) * cells)


def test_combinatorics_1() -> None:
    assert gold("starter-combinatorics-1") == "Ben"
    assert [ben_wins(cells) for cells in (2, 4, 6)] == [True, True, True]
    assert [ben_wins(cells) for cells in (3, 5)] == [False, False]
    # only the two end cells and the number of free inner cells matter ...
    for word in itertools.product((0, 1), repeat=9):
        assert (sum(a != b for a, b in itertools.pairwise(word)) % 2 == 0) == (word[0] == word[-1])
    # ... so that the game on 2026 cells can be solved backwards: state (left, right) -> does Ben win
    cells = 2026
    ends = list(itertools.product((None, 0, 1), repeat=2))
    table: dict[tuple[int | None, int | None], bool] = {}
    for inner in range(cells - 1):
        new: dict[tuple[int | None, int | None], bool] = {}
        for left, right in sorted(ends, key=lambda e: e.count(None)):
            filled = cells - inner - (left, right).count(None)
            nexts = [table[left, right]] if inner else []
            nexts += [new[d, right] for d in (0, 1)] if left is None else []
            nexts += [new[left, d] for d in (0, 1)] if right is None else []
            if not nexts:
                new[left, right] = left == right
            else:
                new[left, right] = any(nexts) if filled % 2 == 1 else all(nexts)
        table = new
    assert table[None, None] is True


def test_combinatorics_1_copying_inside_blocks_of_two_fails() -> None:
    row = [0] * 2024 + [1, 1]
    assert all(row[i] == row[i + 1] for i in range(0, 2026, 2))
    assert sum(a != b for a, b in itertools.pairwise(row)) == 1


def apart(n: int) -> int:
    """The subsets of 1..n without two numbers that differ by 3."""
    return sum(mask & (mask >> 3) == 0 for mask in range(2**n))


def test_combinatorics_2() -> None:
    assert gold("starter-combinatorics-2") == apart(15)
    assert [apart(n) for n in (3, 4, 5, 6)] == [8, 12, 18, 27]  # what /a found
    assert apart(7) != 4 * 3 * 3  # and what it then took for granted


def rank(rows: list[list[int]]) -> int:
    """The rank over the field of five elements."""
    left, found = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column] % 5), None)
        if pivot is None:
            continue
        left.remove(pivot)
        found += 1
        inverse = pow(pivot[column], -1, 5)
        left = [[(a - row[column] * inverse * b) % 5 for a, b in zip(row, pivot, strict=True)] for row in left]
    return found


def dial_moves(n: int) -> list[list[int]]:
    return [[int((j - i) % n < 3) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("n", range(4, 20))
def test_combinatorics_3(n: int) -> None:
    # every state can be reached from the zero state if and only if the moves span everything
    assert (rank(dial_moves(n)) == n) == (n % 3 != 0)


def test_combinatorics_3_the_greedy_procedure_may_never_end() -> None:
    moves, state, seen = dial_moves(4), [0, 0, 0, 1], []
    while any(state) and state not in seen:
        seen.append(state)
        for dial in range(4):
            times = -state[dial] % 5
            state = [(a + times * b) % 5 for a, b in zip(state, moves[dial], strict=True)]
    assert any(state)


@pytest.mark.parametrize("times", [(2, 1, 2, 2), (4, 3, 3, 4, 3)])
def test_combinatorics_3_the_two_examples_are_right(times: tuple[int, ...]) -> None:
    n = len(times)
    raised = [sum(t * move[j] for t, move in zip(times, dial_moves(n), strict=True)) % 5 for j in range(n)]
    assert raised == [1] + [0] * (n - 1)


def most_marked(size: int) -> int:
    """The maximum over all markings, row by row; the state is the last two rows."""
    rows = [r for r in range(2**size) if not r & (r >> 1) and not r & (r >> 2)]
    best = {(0, 0): 0}
    for _ in range(size):
        new: dict[tuple[int, int], int] = {}
        for (above, last), count in best.items():
            for r in rows:
                if not r & above and not r & last:
                    new[last, r] = max(new.get((last, r), 0), count + r.bit_count())
        best = new
    return max(best.values())


def strips(size: int) -> Iterator[list[tuple[int, int]]]:
    for i, j in itertools.product(range(1, size + 1), range(1, size - 1)):
        yield [(i, j + d) for d in range(3)]
        yield [(j + d, i) for d in range(3)]


def test_combinatorics_4() -> None:
    assert gold("starter-combinatorics-4") == most_marked(7)


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        (lambda i, j: (i + j) % 3 == 0, 16),
        (lambda i, j: (i + j) % 3 == 1, 16),
        (lambda i, j: (j - i) % 3 == 1, 16),
        (lambda i, j: (i - j) % 3 == 0, 17),
        (lambda i, j: (i + j) % 3 == 2, 17),
    ],
)
def test_combinatorics_4_arrangements(rule: Callable[[int, int], bool], cells: int) -> None:
    marked = {(i, j) for i in range(1, 8) for j in range(1, 8) if rule(i, j)}
    assert len(marked) == cells
    # each strip has exactly one marked cell: admissible, and no cell can be added, also where there are only 16
    assert all(sum(cell in marked for cell in strip) == 1 for strip in strips(7))


def test_combinatorics_4_the_greedy_filling_has_17_cells() -> None:
    marked: set[tuple[int, int]] = set()
    for cell in itertools.product(range(1, 8), range(1, 8)):
        if all(sum(c in marked or c == cell for c in strip) <= 1 for strip in strips(7)):
            marked.add(cell)
    assert len(marked) == 17


def slow(n: int) -> list[tuple[int, ...]]:
    places = range(1, 2 * n + 2)
    return [p for p in itertools.permutations(places) if all(v <= 2 * i + 1 for i, v in enumerate(p, 1))]


@pytest.mark.parametrize("n", range(1, 5))
def test_combinatorics_5(n: int) -> None:
    formula = gold("starter-combinatorics-5")
    (symbol,) = formula.free_symbols
    found = slow(n)
    assert formula.subs(symbol, n) == len(found)
    # the coding of /a really is a bijection onto the words it names
    words = {tuple(sum(w < v for w in p[i:]) for i, v in enumerate(p[:-1])) for p in found}
    letters = [range(i + 2) for i in range(1, n + 1)] + [range(2 * n + 2 - i) for i in range(n + 1, 2 * n + 1)]
    assert words == set(itertools.product(*letters))


# --------------------------------------------------------------------------------------------------- geometry


def minus(p: Point, q: Point) -> Point:
    return p[0] - q[0], p[1] - q[1]


def dot(p: Point, q: Point) -> Any:
    return p[0] * q[0] + p[1] * q[1]


def cross(p: Point, q: Point) -> Any:
    return p[0] * q[1] - p[1] * q[0]


def centre(a: Point, b: Point, c: Point) -> Point:
    """The circumcentre."""
    u, v = minus(b, a), minus(c, a)
    d, uu, vv = 2 * cross(u, v), dot(u, u), dot(v, v)
    return a[0] + (v[1] * uu - u[1] * vv) / d, a[1] + (u[0] * vv - v[0] * uu) / d


def again(p: Point, direction: Point, o: Point) -> Point:
    """Where the line through p meets the circle around o through p again."""
    t = 2 * dot(direction, minus(o, p)) / dot(direction, direction)
    return p[0] + t * direction[0], p[1] + t * direction[1]


def distance(p: Point, q: Point) -> float:
    return math.hypot(*minus(p, q))


def test_geometry_1() -> None:
    b, c, a = (Fraction(0), Fraction(0)), (Fraction(14), Fraction(0)), (Fraction(5), Fraction(12))
    assert [dot(minus(p, q), minus(p, q)) for p, q in ((a, b), (b, c), (c, a))] == [13**2, 14**2, 15**2]
    m = (Fraction(7), Fraction(0))
    o = (m[0], dot(minus(a, m), minus(a, m)) / (2 * (a[1] - m[1])))  # above m, and as far from a as from m
    assert dot(minus(o, a), minus(o, a)) == dot(minus(o, m), minus(o, m))
    x, y = again(a, minus(b, a), o), again(a, minus(c, a), o)
    ratio = cross(minus(x, a), minus(y, a)) / cross(minus(b, a), minus(c, a))
    assert gold("starter-geometry-1") == sympy.Rational(ratio.numerator, ratio.denominator)
    assert dot(x, x) == Fraction(49, 13) ** 2 != 7**2  # /a takes BX for 7
    assert cross(minus(y, x), minus(c, b)) != 0


@pytest.mark.parametrize("seed", range(20))
def test_geometry_2(seed: int) -> None:
    rng = random.Random(seed)
    a = (Fraction(0), Fraction(0))
    b = (Fraction(rng.randint(1, 20)), Fraction(0))
    d = (Fraction(rng.randint(-15, 15)), Fraction(rng.randint(1, 20)))
    c = (b[0] + 2 * d[0], b[1] + 2 * d[1])
    p = again(a, c, centre(a, b, d))
    # P lies on the ray AC, so the product of the lengths is the scalar product
    assert dot(p, c) == dot(b, b) + 2 * dot(d, d)
    assert dot(p, c) > 0
    if d[0] != 0:
        assert dot(minus(a, b), minus(p, b)) != 0  # no right angle at B, which /b takes for granted


def bisector_end(alpha: float, ab: float, ac: float) -> tuple[float, float]:
    """AD and the diameter of the circumcircle."""
    b, c = (ab, 0.0), (ac * math.cos(alpha), ac * math.sin(alpha))
    o = centre((0.0, 0.0), b, c)
    d = again((0.0, 0.0), (math.cos(alpha / 2), math.sin(alpha / 2)), o)
    return math.hypot(*d), 2 * math.hypot(*o)


@pytest.mark.parametrize("ac", [1.0, 1.5, 4.0])
def test_geometry_3(ac: float) -> None:
    ratio = {deg: (1 + ac) / bisector_end(math.radians(deg), 1.0, ac)[0] for deg in range(1, 180)}
    assert [deg for deg, q in ratio.items() if abs(q - math.sqrt(3)) < 1e-9] == [gold("starter-geometry-3")]
    assert (ratio[90], ratio[120]) == pytest.approx((math.sqrt(2), 1))  # the two others that /c tries
    ad, diameter = bisector_end(math.radians(60), 1.0, ac)
    assert (abs(ad - diameter) < 1e-9) == (ac == 1.0)  # a diameter only in the isosceles case, against /a


def test_geometry_4() -> None:
    best = float(gold("starter-geometry-4"))
    b, c = (5.0, 0.0), (8 * math.cos(math.pi / 3), 8 * math.sin(math.pi / 3))
    lengths = []
    for k in range(1, 5001):
        s = k / 5000  # X = s B; the share of the area is s t with Y = t C
        t = 0.5 / s
        if t <= 1:
            x, y = (s * b[0], s * b[1]), (t * c[0], t * c[1])
            assert cross(x, y) == pytest.approx(cross(b, c) / 2)
            lengths.append(distance(x, y))
    assert min(lengths) >= best - 1e-12
    assert min(lengths) == pytest.approx(best, abs=1e-6)
    assert min(lengths) < math.sqrt(21) - 0.1  # against /a
    # /c: the parallel segment is longer, and BC is 7
    assert distance(b, c) == pytest.approx(7)
    assert distance(b, c) / math.sqrt(2) > best + 0.4


@pytest.mark.parametrize("seed", range(30))
def test_geometry_5(seed: int) -> None:
    rng = random.Random(seed)
    a, alpha, ab = (0.0, 0.0), rng.uniform(0.2, 2.9), rng.uniform(0.3, 1.0)
    ac = ab + rng.uniform(0.1, 2.0)
    b, c = (ab, 0.0), (ac * math.cos(alpha), ac * math.sin(alpha))
    d = (ab * math.cos(alpha), ab * math.sin(alpha))
    sides = (distance(b, c), ac, ab)
    i = tuple(sum(w * p[k] for w, p in zip(sides, (a, b, c), strict=True)) / sum(sides) for k in range(2))
    share = distance(c, d) / distance(c, b)
    assert 0 < share < 1
    e = (c[0] + share * (b[0] - c[0]), c[1] + share * (b[1] - c[1]))
    o = centre(b, d, e)
    assert distance(o, (i[0], i[1])) < 1e-6


# ---------------------------------------------------------------------------------------------- number theory


def test_number_theory_1() -> None:
    small = {(m, n) for n in range(1, 7) for m in range(1, 7) if 5**m + 39 == 2**n}
    assert small == {gold("starter-number-theory-1")}
    # from n = 7 on there is no solution modulo 128 * 3 * 97 (the powers are periodic, 200 of them show all residues)
    modulus = 128 * 3 * 97
    left = {(pow(5, m, modulus) + 39) % modulus for m in range(1, 200)}
    assert left.isdisjoint({pow(2, n, modulus) for n in range(7, 207)})


def test_number_theory_1_the_cited_theorem_is_false() -> None:
    assert 2**3 - 5**1 == 2**7 - 5**3 == 3


def test_number_theory_2() -> None:
    # for n >= 10 the remainder 3n - 27 lies strictly between 0 and n^2 + 3
    assert {n for n in range(1, 5000) if (n**3 + 27) % (n**2 + 3) == 0} == gold("starter-number-theory-2")
    # /a: the divisor of a product that divides no factor
    assert (12 * 63) % 84 == 0
    assert 12 % 84 != 0
    assert 63 % 84 != 0


@pytest.mark.parametrize("n", range(3, 40, 2))
def test_number_theory_3(n: int) -> None:
    assert sum(pow(k, n**2, n**3) for k in range(1, 2 * n, 2)) % n**3 == 0


def test_number_theory_3_the_cited_divisibility_is_false() -> None:
    assert (1**3 + 2**3) % (1 + 2) ** 3 != 0


def sums_between(low: int, high: int) -> list[int]:
    """The numbers a^2 + b^3 with positive a, b from low up to high, in order."""
    found: set[int] = set()
    for b in itertools.count(1):
        if b**3 >= high:
            return sorted(found)
        a = max(1, math.isqrt(max(low - b**3, 0)))
        while a * a + b**3 <= high:
            found.add(a * a + b**3)
            a += 1
    raise AssertionError


def longest_run(numbers: list[int]) -> int:
    return max(b - a - 1 for a, b in itertools.pairwise(numbers))


def test_number_theory_4() -> None:
    assert gold("starter-number-theory-4") == "Yes"
    low, high = 10**12, 10**12 + 10**6
    inside = [s for s in sums_between(low, high) if s >= low]
    assert longest_run(inside) >= 1000  # such a block, found by search


def test_number_theory_4_the_slip_of_c_matters() -> None:
    # with the right exponent the chosen X has more pairs than blocks
    assert 10**6 * 10**4 > 10**12 // 1000


def test_number_theory_4_the_table_is_right() -> None:
    text = SOLUTION_BY_ID["starter-number-theory-4/b"]["text"]
    table = {int(k): int(v) for k, v in re.findall(r"\| \$(\d+)\$ \| \$(\d+)\$ \|", text)}
    assert table == {limit: longest_run(sums_between(1, limit)) for limit in (10**2, 10**3, 10**4, 10**5, 10**6)}


def test_number_theory_5() -> None:
    roots = {x for x in range(11) if (x * x - 3) % 11 == 0}
    assert roots == {5, 6}
    for n in range(2, 12):
        roots = {
            x + 11 ** (n - 1) * t for x in roots for t in range(11) if ((x + 11 ** (n - 1) * t) ** 2 - 3) % 11**n == 0
        }
        assert len(roots) == 2


# ------------------------------------------------------------------------------------------------------ slips

X, N = sympy.symbols("x n")


@pytest.mark.parametrize(
    ("solution_id", "written", "claimed", "true"),
    [
        ("starter-algebra-2/b", r"24 - 80 + 20\sqrt{10}}{3} = \frac{20\sqrt{10} - 54}", -54, 24 - 80),
        ("starter-algebra-3/b", "-x^3 + 2x^2 - 3x + 1", 1, 1**3 - 1**2 + 2 * 1 + 1),
        ("starter-algebra-5/c", r"\frac{(n + 2)!}{2}", math.factorial(9) // 2, math.prod(k + 2 for k in range(2, 8))),
        ("starter-combinatorics-2/b", r"169 \cdot 13 = 2187", 2187, 169 * 13),
        ("starter-combinatorics-2/c", "5 + 8 = 12", 12, 5 + 8),
        (
            "starter-combinatorics-5/c",
            r"3 \cdot 4 \cdots (n + 2) \cdot (n + 1)! = (n + 2)! \cdot (n + 1)!",
            math.factorial(7),
            math.prod(range(3, 8)),
        ),
        ("starter-geometry-1/b", r"\frac{225 - 49}{15} = \frac{166}{15}", 166, 225 - 49),
        (
            "starter-geometry-3/b",
            r"\frac{\sqrt3}{2}$ gives $\frac{\alpha}{2} = 60",
            60,
            sympy.acos(sympy.sqrt(3) / 2) * 180 / sympy.pi,
        ),
        ("starter-geometry-4/c", r"80\cos 60^\circ = 89 - 20", 20, 80 * sympy.cos(sympy.pi / 3)),
        ("starter-number-theory-1/c", r"2 \cdot 5^k = 13 - 3 = 16", 16, 13 - 3),
        ("starter-number-theory-2/b", "n(n^2 + 3) + (27 - n)", N * (N**2 + 3) + 27 - N, N**3 + 27),
        ("starter-number-theory-2/c", "216 + 27 = 234", 234, 216 + 27),
        (
            "starter-number-theory-4/c",
            "= X^{1/6}",
            X ** sympy.Rational(1, 6),
            sympy.sqrt(X) * X ** sympy.Rational(1, 3),
        ),
    ],
)
def test_slip_is_a_slip(solution_id: str, written: str, claimed: Any, true: Any) -> None:
    (quote,) = [f["quote"] for f in SOLUTION_BY_ID[solution_id]["flaws"] if f["tag"] == "Calculation Mistake"]
    assert written in quote
    assert sympy.simplify(sympy.sympify(claimed) - sympy.sympify(true)) != 0


def test_every_slip_is_checked() -> None:
    marks = [m for m in test_slip_is_a_slip.pytestmark if m.name == "parametrize"]
    checked = {case[0] for case in marks[0].args[1]}
    assert checked == {s["id"] for s, f in FLAWS if f["tag"] == "Calculation Mistake"}

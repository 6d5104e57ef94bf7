"""What the page is made of, without a browser: formulas, marks, warnings."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.report.page.concerns import CONCERNS, gravest
from calibrate.report.page.figures import pointer
from calibrate.report.page.markup import Markup, tag, text
from calibrate.report.page.mathematics import (
    ATTRIBUTES,
    ELEMENTS,
    MAX_CHARACTERS,
    Setter,
    converted,
    formulas,
)
from calibrate.report.page.trust import verdict_on

TEX = st.text(alphabet=r"\{}[]()$^_&%ab1 <>'", max_size=60) | st.sampled_from(
    [
        r"\frac{a}{b}",
        r"\left(x\right)",
        r"\begin{align}a&=b\end{align}",
        r"\text{<b>}",
        "\n\n",
        r"\sum_{k=1}^n k^2",
        "𝔸",
    ]
)
TEXTS = st.lists(TEX, max_size=12).map("".join)


def joined(pieces: list[Any]) -> list[str]:
    return [part for p in pieces for part in ([p] if isinstance(p, str) else p["s"])]


@given(TEXTS, st.lists(st.tuples(st.integers(-5, 200), st.integers(-5, 200)).map(sorted), max_size=4))
def test_the_parts_of_a_text_are_the_text_and_those_of_a_mark_its_characters(said: str, marks: list[Any]) -> None:
    pieces, places = Setter().cut(said, [tuple(m) for m in marks])
    parts = joined(pieces)
    assert "".join(parts) == said
    for (start, end), (first, last) in zip(marks, places, strict=True):
        assert "".join(parts[first:last]) == said[max(0, start) : max(0, end)]


def names(tree: Any) -> set[str]:
    return {tree[0]} | {n for child in tree[1:] if isinstance(child, list) for n in names(child)}


def attributes(tree: Any) -> set[str]:
    own = {k for child in tree[1:] if isinstance(child, dict) for k in child}
    return own | {n for child in tree[1:] if isinstance(child, list) for n in attributes(child)}


@given(TEXTS)
def test_a_set_formula_holds_nothing_but_listed_elements_and_attributes(said: str) -> None:
    for _, _, tex, block in formulas(f"${said}$ \\[{said}\\]"):
        tree = converted(tex, block)
        if tree is not None:
            assert names(tree) <= ELEMENTS | {"math"} and attributes(tree) <= ATTRIBUTES
            orjson.dumps(tree)


def characters(tree: Any) -> str:
    return "".join(c if isinstance(c, str) else characters(c) if isinstance(c, list) else "" for c in tree[1:])


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}",
        r"\class{evil}{x}",
        r"\color{white}x",
        r"\phantom{x}",
        r"\hspace{-50em}x",
        r"\mathbf{x}\tiny x",
    ],
)
def test_no_formula_links_hides_or_moves_anything(tex: str) -> None:
    tree = converted(tex, False)
    assert tree is not None and "x" in characters(tree)
    said = orjson.dumps(tree).decode()
    for forbidden in ("href", "javascript", 'style":', "class", "mathcolor", "mphantom", "-50", "mathsize"):
        assert forbidden not in said


@pytest.mark.parametrize(
    "tex",
    [
        "a % hidden from latex2mathml\n b",  # a comment: the judge read it, so the reader must see it
        r"\newcommand{\a}{\b\b}\a",
        r"\def\a{x}\a",
        "x" * (MAX_CHARACTERS + 1),
        "{" * 60 + "x" + "}" * 60,
        r"\begin{matrix}" * 50,
        "h_a_b",  # broken TeX
    ],
)
def test_what_should_not_or_cannot_be_set_stays_tex(tex: str) -> None:
    assert converted(tex, False) is None
    setter = Setter()
    pieces, _ = setter.cut(f"see \\({tex}\\) there")
    assert "".join(joined(pieces)) == f"see \\({tex}\\) there" and len(setter.stayed) == (len(tex) <= MAX_CHARACTERS)


@pytest.mark.parametrize(
    "unit",
    ["{", "a_", "\\left(", "\\frac", "\\sqrt[", "&", "$", "\\\\", "'", "\\text{", "\\begin{matrix}", "x^{", "\\not", "1",
     "\\substack{", "\\over ", "\\xrightarrow[", "\\operatorname{", "\\color{red}", "\\verb|", "\\mathbb{", "(("],
)  # fmt: skip
def test_no_formula_takes_long(unit: str) -> None:
    began = time.process_time()
    converted((unit * MAX_CHARACTERS)[:MAX_CHARACTERS], True)
    assert time.process_time() - began < 1.0


def test_text_without_end_takes_no_longer_than_its_length() -> None:
    began = time.process_time()
    for opener in ("$", "\\(", "\\[", "\\begin{align}", "$$"):
        list(formulas(f"{opener} x " * 20_000))
    assert time.process_time() - began < 5.0


def test_formulas_are_found_in_all_ways_of_writing_them() -> None:
    said = r"a $x$ b \(y\) c \[z\] d $$w$$ e \begin{align*}u&=v\end{align*} f \$5 and \\[2pt] g"
    found = [(tex, block) for _, _, tex, block in formulas(said)]
    assert found == [("x", False), ("y", False), ("z", True), ("w", True), (r"\begin{align*}u&=v\end{align*}", True)]


# --- warnings ---------------------------------------------------------------------------------------------------------

SOLUTION = {"text": "So the answer is $42$.", "finish_reason": "stop"}
MISSED = {"gold": "42", "outcome": "missing"}
VERDICT = {"verdict": "correct", "votes": [{"verdict": "correct"}, {"verdict": "correct"}]}


@pytest.mark.parametrize(
    ("solution", "verdict", "answer", "wanted"),
    [
        (SOLUTION, VERDICT, None, None),
        (SOLUTION | {"finish_reason": "length"}, VERDICT, None, "cut off"),
        (SOLUTION, VERDICT | {"votes": [{"verdict": "correct", "finish_reason": "length"}]}, MISSED, "cut off"),
        (SOLUTION, VERDICT | {"fallacies": [{"tag": "t", "quote": "q", "start": None}]}, MISSED, "ungrounded quote"),
        (SOLUTION, VERDICT | {"fallacies": [{"tag": "t", "quote": None}]}, None, None),
        (SOLUTION, VERDICT, MISSED, "gold answer in the text, not extracted"),
        (SOLUTION, VERDICT, MISSED | {"outcome": "equal"}, None),
        (SOLUTION, VERDICT, MISSED | {"gold": "2"}, None),  # a 2 is in 42, yet the answer 2 is not
        (SOLUTION, VERDICT | {"votes": [{"verdict": "correct"}, {"verdict": "incorrect"}]}, None, "votes split"),
        (SOLUTION, {"verdict": None, "error": {"kind": "unparsed"}}, None, "parse failed"),
        (SOLUTION, VERDICT | {"votes": [{"verdict": "correct"}, {"verdict": None}]}, None, "parse failed"),
        (SOLUTION, VERDICT | {"points": 5}, None, "near the threshold"),
        (SOLUTION, VERDICT | {"points": 7}, None, None),
        (SOLUTION, VERDICT | {"probabilities": {"correct": 0.47, "incorrect": 0.45}}, None, "near the threshold"),
        (SOLUTION, None, None, None),
    ],
)
def test_the_gravest_warning_is_shown(solution: Any, verdict: Any, answer: Any, wanted: str | None) -> None:
    found = gravest(solution, verdict, answer, 6.0)
    assert (None if found is None else CONCERNS[found]) == wanted


# --- how far a judge can be trusted, in words -------------------------------------------------------------------------


def told(kappa: Any, **judge: Any) -> tuple[str, str]:
    """What is said of a judge whose kappa is this, with 50 solutions by both."""
    none = {"value": None, "low": None, "high": None, "n": 0, "n_problems": 0, "why": "no labels"}
    block = {"cohen_kappa": kappa, "accuracy": none}
    agreement = {"verdict": block, "pass": {"cohen_kappa": none, "accuracy": none}, "fallacies": {}}
    coverage = {"labelled": 50, "judged": 50, "errors": {}}
    people = [{"annotator": "a", "kind": "human", "labels": 50}]
    metrics = {
        "judges": {"j": {"agreement": agreement, "coverage": coverage} | judge},
        "baselines": {},
        "annotators": people,
    }
    summary, reasons = verdict_on(metrics, "j")
    return summary, " ".join(reasons)


def figure(value: float | None, low: float | None, high: float | None, n: int = 50) -> Any:
    return {"value": value, "low": low, "high": high, "n": n, "n_problems": n, "why": "both always say the same"}


@pytest.mark.parametrize(
    ("kappa", "wanted"),
    [
        (figure(0.7, 0.62, 0.78), "at least to a substantial degree"),
        (figure(0.7, 0.41, 0.9), "at least to a moderate degree"),  # the lower end decides, not the value
        (figure(0.3, -0.1, 0.6), "Do not rely on j here"),
        (
            figure(0.3, None, None, 4) | {"why": "no interval: one problem"},
            "kappa is 0.300 on 4 solutions (no interval: one problem)",
        ),
        (figure(0.0, None, None) | {"degenerate": "the judge says only 'correct'"}, "(the judge says only 'correct')"),
        (figure(None, None, None), "cannot be said: its agreement with humans is undefined (both always say the same)"),
        (figure(None, None, None, 0), "Nothing here says how far j can be trusted"),
    ],
)
def test_trust_goes_by_the_lower_end_of_kappa(kappa: Any, wanted: str) -> None:
    assert wanted in told(kappa)[0]


def test_trust_names_the_human_ceiling_and_what_has_no_verdict() -> None:
    sides = {"judge": {"cohen_kappa": figure(0.5, 0.4, 0.6)}, "annotators": {"cohen_kappa": figure(0.8, 0.7, 0.9)}}
    said = told(figure(0.7, 0.6, 0.8), ceiling={"why": None, **sides})[1]
    assert "reaches kappa 0.500 (0.400, 0.600), where a human reaches 0.800 (0.700, 0.900)" in said
    assert "one annotator a solution" in told(figure(0.7, 0.6, 0.8))[1]
    lost = {"labelled": 50, "judged": 40, "errors": {"unparsed": 10}}
    said = told(
        figure(0.7, 0.6, 0.8), coverage=lost, trained="x@k", grounded={"tags": 30, "grounded": 27, "share": 0.9}
    )[1]
    assert (
        "no verdict on 10 of 50 solutions (20.0%: 10 unparsed). That is a lot" in said and "trained on labels" in said
    )
    assert "Of the 30 fallacies that it names 27 (90.0%) quote what stands in the solution" in said
    assert "a verdict on each of the 50 solutions" in told(figure(0.7, 0.6, 0.8))[1]


# --- markup -----------------------------------------------------------------------------------------------------------


def test_markup_escapes_all_that_is_not_markup() -> None:
    said = tag("p", "<b>", Markup("<i>"), ["&", None, 3], class_='"', data_x="<", hidden=True, title=None)
    assert said == '<p class="&quot;" data-x="&lt;" hidden>&lt;b&gt;<i>&amp;3</p>'
    assert text("<", Markup("<")) == "&lt;<"
    assert pointer("a/b", "~", 0) == "/a~1b/~0/0"

"""The metrics of Mahdavi et al. 2025, "Brains vs. Bytes" (arXiv:2504.01995), from one source of verdicts at a time.

The same functions serve human labels (`human_gold`), planted labels (`planted`) and a judge's verdicts (`estimates`);
which of them it was is said by the key that the figures stand under, and they are never mixed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from calibrate.intervals import Intervals, undefined
from calibrate.pairs import Said
from generate.labels import VERDICTS
from generate.problems import Problem
from generate.solutions import Solution
from judge.verdicts import Answer, Opinion

Json = dict[str, Any]
AnswerState = Literal["right", "wrong", "missing", "cut_off", "undecided", "failed", "unchecked"]
NOT_RIGHT: tuple[AnswerState, ...] = ("wrong", "missing", "cut_off")
OPEN: tuple[AnswerState, ...] = ("undecided", "failed", "unchecked")
"""Left out of final-answer accuracy; its bounds count them as all wrong and as all right."""


@dataclass(frozen=True)
class Case:
    """One solution as the metrics see it, and what is said of it."""

    problem: str
    model: str
    topic: str | None
    has_answer: bool
    """Its problem has a final answer; otherwise it is a proof problem."""
    answer: AnswerState
    lenient: AnswerState
    """The same by the lenient reading of the answer checker."""
    opinions: dict[str, str]
    """By model, what it says of the answer where that is undecided: equal, different, unsure, or error."""
    by_label: bool
    """The label says whether the final answer is right."""
    said: Said


def case(
    solution: Solution,
    problem: Problem | None,
    answer: Answer | None,
    lenient: Answer | None,
    opinions: dict[str, Opinion],
    human: bool | None,
    said: Said,
) -> Case:
    has_answer = human is not None or (problem is not None and problem.answer is not None)
    state = answer_state(solution, answer, human)
    return Case(
        problem=solution.problem_id,
        model=solution.model,
        topic=problem.topic if problem else None,
        has_answer=has_answer,
        answer=state,
        lenient=answer_state(solution, lenient or answer, human),
        opinions={model: o.outcome or "error" for model, o in opinions.items()} if state == "undecided" else {},
        by_label=human is not None,
        said=said,
    )


def answer_state(solution: Solution, answer: Answer | None, human: bool | None) -> AnswerState:
    """How the final answer stands. A human's word wins over the checker.

    A solver that gave no answer, or was cut off by the token limit before it was done, is not right. A failure of the
    engine says nothing of the solver.
    """
    if human is not None:
        return "right" if human else "wrong"
    if solution.cut_off:
        return "cut_off"
    if solution.error is not None:
        return "missing" if solution.finish_reason is not None else "failed"
    if answer is None:
        return "unchecked"
    states: dict[str, AnswerState] = {"equal": "right", "different": "wrong", "missing": "missing"}
    return states.get(answer.outcome, "undecided")


def final_answer_accuracy(cases: Sequence[Case], intervals: Intervals, empty: str) -> Json:
    """Share of solutions whose final answer is right, whatever the reasoning, over problems that have one.

    The value leaves out what could not be decided; `bounds` count that as all wrong and as all right. `lenient` is the
    same by the lenient reading, null where it decides nothing differently. `asked_model` counts what a model says of
    the undecided ones, null where none was asked; it has no part in the value or the bounds.
    """
    asked = [c for c in cases if c.has_answer]
    decided = [c for c in asked if c.answer not in OPEN]
    why = (
        empty if not cases else "no problem of these has a final answer" if not asked else "no final answer was decided"
    )
    estimate = intervals.share([c.problem for c in decided], [c.answer == "right" for c in decided], why)
    counts = Counter(c.answer for c in asked)
    right, n = counts["right"], len(asked)
    undecided = sum(counts[state] for state in OPEN)
    bounds = {"low": right / n, "high": (right + undecided) / n, "n": n} if n else None
    states: tuple[AnswerState, ...] = ("right", *NOT_RIGHT, *OPEN)
    by_label = {"by_label": sum(c.by_label for c in asked)}
    return estimate.as_json() | {
        "bounds": bounds,
        "counts": {s: counts[s] for s in states} | by_label,
        "lenient": _lenient(asked, intervals),
        "asked_model": _asked_model(asked),
    }


def _lenient(asked: Sequence[Case], intervals: Intervals) -> Json | None:
    if all(c.lenient == c.answer for c in asked):
        return None
    decided = [c for c in asked if c.lenient not in OPEN]
    right = [c.lenient == "right" for c in decided]
    return intervals.share([c.problem for c in decided], right, "no final answer was decided").as_json()


def _asked_model(asked: Sequence[Case]) -> dict[str, dict[str, int]] | None:
    counts: dict[str, Counter[str]] = {}
    for c in asked:
        for model, said in c.opinions.items():
            counts.setdefault(model, Counter())[said] += 1
    return {m: {s: n[s] for s in ("equal", "different", "unsure", "error")} for m, n in sorted(counts.items())} or None


def metrics(cases: Sequence[Case], tags: Sequence[str], intervals: Intervals, empty: str) -> Json:
    """The keys of `human_gold` for one group of cases. `empty` says why there are none, where there are none."""
    judged = [c for c in cases if c.said.verdict is not None]
    three = [c for c in judged if not c.said.binary]
    right = [c for c in judged if c.has_answer and c.answer == "right"]
    tagged = [c for c in cases if c.said.tags is not None]
    no_verdict = "none of these has a verdict" if cases else empty
    no_three = "the labels only say pass or not" if judged else no_verdict
    no_tags = "fallacies are not annotated" if cases else empty

    def share(of: Sequence[Case], hit: Callable[[Case], bool], why: str) -> Json:
        return intervals.share([c.problem for c in of], [hit(c) for c in of], why).as_json()

    def bears(tag: str) -> Callable[[Case], bool]:
        return lambda c: tag in (c.said.tags or ())

    given_right = share(right, lambda c: c.said.verdict == "correct", "")
    if not right:
        given_right = undefined("no solution has a right final answer and a verdict", 0, 0).as_json() | {"value": 0.0}
    incorrect, partial, correct = VERDICTS
    return {
        "final_answer_accuracy": final_answer_accuracy(cases, intervals, empty),
        "correct_given_correct_answer": given_right,
        "correct": share(judged, lambda c: c.said.verdict == correct, no_verdict),
        "partially_correct": share(three, lambda c: c.said.verdict == partial, no_three),
        "incorrect": share(three, lambda c: c.said.verdict == incorrect, no_three),
        "fallacies": {tag: share(tagged, bears(tag), no_tags) for tag in tags},
    }


def grouped(cases: Sequence[Case], figures: Callable[[Sequence[Case]], Json]) -> Json:
    """The figures over all cases, and by model, by topic (problems without one are in none), by kind of answer."""

    def by(key: Callable[[Case], str | None]) -> Json:
        names = sorted({k for c in cases if (k := key(c)) is not None})
        return {name: figures([c for c in cases if key(c) == name]) for name in names}

    return {
        "overall": figures(cases),
        "by_model": by(lambda c: c.model),
        "by_topic": by(lambda c: c.topic),
        "by_answer_type": by(lambda c: "final_answer" if c.has_answer else "proof"),
    }

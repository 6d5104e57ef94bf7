"""Verdict and Answer: what a judge says of a solution, and what the answer checker says of its final answer."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from generate.journal import Failure, Record, text_hash
from generate.labels import VerdictName
from generate.problems import Problem
from generate.solutions import Solution, Usage


class Answer(Record):
    """The final answer of one solution, held against the gold answer. One for each solution of a problem with a gold
    answer, made before any judge and used by every report."""

    key: str
    """Hash of gold answer, solution text, checker and its policy."""
    solution_id: str
    text_hash: str | None = None
    """Of the solution text that was checked, so that a later change of the text shows."""
    checker: str
    """`strict` or `lenient`: which of the two policies (conf/answers) it was checked by."""
    gold: str | None = None
    extracted: str | None = None
    start: int | None = None
    """Where `extracted` stands in the solution's text, in characters; `end` exclusive."""
    end: int | None = None
    outcome: Literal["equal", "different", "undecided", "missing"]
    """`missing`: the solution states no final answer. `undecided`: the checker cannot prove either."""
    method: str = ""
    """Which step of the checker decided."""
    reason: str = ""


class Fallacy(Record):
    """One fallacy that a judge sees in a solution."""

    tag: str
    """A name of the taxonomy."""
    quote: str | None = None
    """The judge's words for where it is, copied from the solution."""
    start: int | None = None
    """Where the quote stands in the solution's text, in characters; null where it does not stand there."""
    end: int | None = None
    explanation: str | None = None
    probability: float | None = None


class Vote(Record):
    """One reply of the judge's model."""

    verdict: VerdictName | None = None
    raw: str | None = None
    finish_reason: str | None = None
    seed: int | None = None
    error: Failure | None = None


class Verdict(Record):
    """What one judge says of one solution, or why it says nothing."""

    key: str
    """Hash of all that it depends on: problem, solution text, program, taxonomy, the judge's model and sampling."""
    id: str
    """judge/solution id."""
    solution_id: str
    text_hash: str | None = None
    """Of the solution text that was judged, so that a later change of the text shows."""
    problem_hash: str | None = None
    """Of what the judge was shown of the problem (statement, answer, reference, rubric), for the same reason."""
    judge: str
    judge_key: str
    """The part of the key that describes the judge. Verdicts of different judge keys are never mixed."""
    error: Failure | None = None
    """Why there is no verdict. (Names and error stand first in a line: opening a journal reads only these.)"""
    compiled: str | None = None
    """NAME@KEY of the trained program that judged, whose manifest lists the labels it saw; null: none was loaded."""
    verdict: VerdictName | None = None
    """Null only with an error."""
    probabilities: dict[str, float] | None = None
    points: float | None = None
    max_points: float | None = None
    items: list[dict[str, object]] | None = None
    """Judgements of a rubric's items."""
    fallacies: list[Fallacy] | None = None
    """`[]`: none found. Null: this judge does not tag, or an error."""
    first_wrong_step: str | None = None
    reasoning: str | None = None
    votes: list[Vote] = Field(default_factory=list)
    usage: Usage | None = None


@dataclass(frozen=True)
class Case:
    """One solution to judge, with its problem and what the strict answer check says of it (null: no gold answer)."""

    problem: Problem
    solution: Solution
    answer: Answer | None = None


@dataclass(frozen=True)
class Reading:
    """What one reading of a case came to: the content of a verdict, or the error. `raw` and what follows is of the
    model's reply, where a model was asked."""

    verdict: VerdictName | None = None
    fallacies: list[Fallacy] | None = None
    """Null: this judge does not tag, or an error."""
    first_wrong_step: str | None = None
    reasoning: str | None = None
    points: float | None = None
    max_points: float | None = None
    items: list[dict[str, object]] | None = None
    probabilities: dict[str, float] | None = None
    error: Failure | None = None
    raw: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None


def verdict_of(reading: Reading, case: Case, **names: Any) -> Verdict:
    """The record of one reading."""
    vote = Vote(verdict=reading.verdict, raw=reading.raw, finish_reason=reading.finish_reason, error=reading.error)
    return Verdict(
        solution_id=case.solution.id,
        text_hash=text_hash(case.solution.text),
        verdict=reading.verdict,
        probabilities=reading.probabilities,
        points=reading.points,
        max_points=reading.max_points,
        items=reading.items,
        fallacies=reading.fallacies,
        first_wrong_step=reading.first_wrong_step,
        reasoning=reading.reasoning,
        votes=[vote] if reading.raw is not None or reading.error else [],
        usage=reading.usage,
        error=reading.error,
        **names,
    )


class Opinion(Record):
    """What a model says of a final answer that the checker could not decide. Never part of a human-gold figure."""

    key: str
    solution_id: str
    text_hash: str | None = None
    problem_hash: str | None = None
    judge: str
    judge_key: str
    error: Failure | None = None
    gold: str
    answer: str
    outcome: Literal["equal", "different", "unsure"] | None = None
    """Null only with an error."""
    reasoning: str | None = None
    raw: str | None = None
    usage: Usage | None = None

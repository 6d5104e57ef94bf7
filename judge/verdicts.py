"""Verdict and Answer: what a judge says of a solution, and what the answer checker says of its final answer."""

from typing import Literal

from pydantic import Field

from generate.journal import Failure, Record
from generate.labels import VerdictName
from generate.solutions import Usage


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

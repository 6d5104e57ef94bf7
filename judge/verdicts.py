"""Verdict and Answer: what a judge says of a solution, and what the answer checker says of its final answer."""

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import Field

from generate.journal import Failure, Journal, Record, text_hash
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
    grounded: bool | None = None
    """Whether the quote stands in the solution; null where there is no quote."""
    explanation: str | None = None
    fatal: bool | None = None
    """Whether the solution falls with it; null where the judge was not asked."""
    probability: float | None = None
    """Of several votes, the share that names this tag."""


class Vote(Record):
    """One reading of the judge's model, or one member of a panel."""

    judge: str | None = None
    """The member of a panel whose verdict this is; null: the judge itself."""
    verdict: VerdictName | None = None
    points: float | None = None
    tags: list[str] | None = None
    """The fallacies it names; null where it does not tag."""
    raw: str | None = None
    """Its reply as it came, without the model's reasoning."""
    earlier: list[str] | None = None
    """The replies before that one, where a reading takes several calls."""
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
    apart: list[Fallacy] | None = None
    """What was named and enters no figure about tags: tags without a quote, where quotes are required, and flaws that no
    tag fits (`Other`)."""
    doubts: list[dict[str, object]] | None = None
    """Steps that a first reading doubted, each with `quote` and `why`; null where there was no such reading."""
    first_wrong_step: str | None = None
    reasoning: str | None = None
    votes: list[Vote] = Field(default_factory=list)
    """Every reading, in order."""
    votes_saved: int = 0
    """Readings that were asked for and not made, since they could not have changed the outcome."""
    usage: Usage | None = None
    """Of all readings."""
    seconds: float | None = None
    """From the begin of the first reading to the end of the last; other verdicts were under way meanwhile."""


@dataclass(frozen=True)
class Case:
    """One solution to judge, with its problem and what the strict answer check says of it (null: no gold answer)."""

    problem: Problem
    solution: Solution
    answer: Answer | None = None


@dataclass(frozen=True)
class Reading:
    """What one reading of a case came to: the content of a verdict, or the error. The fields are those of Verdict; `raw`
    and what follows is of the model's replies, where a model was asked."""

    verdict: VerdictName | None = None
    fallacies: list[Fallacy] | None = None
    apart: list[Fallacy] | None = None
    doubts: list[dict[str, object]] | None = None
    first_wrong_step: str | None = None
    reasoning: str | None = None
    points: float | None = None
    max_points: float | None = None
    items: list[dict[str, object]] | None = None
    probabilities: dict[str, float] | None = None
    error: Failure | None = None
    judge: str | None = None
    raw: str | None = None
    earlier: list[str] | None = None
    finish_reason: str | None = None
    seed: int | None = None
    usage: Usage | None = None

    def vote(self) -> Vote:
        tags = None if self.fallacies is None else list(dict.fromkeys(f.tag for f in self.fallacies))
        return Vote(judge=self.judge, verdict=self.verdict, points=self.points, tags=tags, raw=self.raw,
                    earlier=self.earlier, finish_reason=self.finish_reason, seed=self.seed, error=self.error)  # fmt: skip


def verdict_of(reading: Reading, case: Case, **more: Any) -> Verdict:
    """The record of what a case came to. Its names, its votes and what else is known of it are given as `more`."""
    content = {name: getattr(reading, name) for name in CONTENT}
    return Verdict(solution_id=case.solution.id, text_hash=text_hash(case.solution.text), **{**content, **more})


CONTENT = ("error", "verdict", "probabilities", "points", "max_points", "items", "fallacies", "apart", "doubts",
           "first_wrong_step", "reasoning", "usage")  # fmt: skip


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


V = TypeVar("V", Verdict, Opinion)


def leave_last(journal: Journal[V], keys: list[str]) -> None:
    """Reports take the judge key of a journal's last line: see to it that it is this run's, also where all stood there."""
    last, own = journal.last(), next((r for k in reversed(keys) if (r := journal.get(k))), None)
    if last and own and last.judge_key != own.judge_key:
        journal.append(own)

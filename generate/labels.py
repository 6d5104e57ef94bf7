"""Judgements that a source brings along: human labels, and the words of recorded judges."""

from typing import Literal

from pydantic import Field

from generate.journal import Failure, Record

VerdictName = Literal["incorrect", "partially_correct", "correct"]
VERDICTS: tuple[VerdictName, ...] = ("incorrect", "partially_correct", "correct")
"""The three verdicts, from the lowest to the highest."""


class Span(Record):
    """A stretch of a solution's text, in characters from its start, end exclusive."""

    start: int
    end: int
    tag: str | None = None
    comment: str | None = None


class HumanLabel(Record):
    """What one annotator said of one solution."""

    solution_id: str
    annotator: str
    kind: Literal["human", "planted"] = "human"
    """`planted`: a flaw that was written in on purpose. Never counted as human gold."""
    verdict: VerdictName | None = None
    """Null: not labelled, or only points without a scale."""
    fallacies: list[str] | None = None
    """`[]`: none found. Null: not annotated; such a label never enters figures about tags."""
    answer_correct: bool | None = None
    points: float | None = None
    max_points: float | None = None
    scale: Literal["three", "binary"] = "three"
    """`binary`: this person only said pass (`correct`) or not (`incorrect`); only pass figures are comparable."""
    spans: list[Span] | None = None
    comment: str | None = None
    stratum: str | None = None
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    sampling: Literal["random", "random_problems", "stratified"] | None = None
    """How the solution was drawn for labelling; null: not stated. Stratum and weight are its place in that sample."""
    text_hash: str | None = None
    """Of the solution text that was labelled, so that a later change of the text shows."""


class Finding(Record):
    """One thing that a recorded judge finds wrong in a solution."""

    tag: str
    start: int | None = None
    """Where it stands in the solution's text, in characters, `end` exclusive; null: the judge names no place."""
    end: int | None = None
    comment: str | None = None


class Judgement(Record):
    """What a recorded judge said of one solution, as the source has it and as it was read.

    `error` says why it could not be read (an empty cell, a word that is no verdict, points outside the scale).
    """

    solution_id: str
    judge: str
    error: Failure | None = None
    fallacies: list[Finding] | None = None
    """`[]`: none found. Null: this judge names none."""
    raw: str | None = None
    verdict: VerdictName | None = None
    points: float | None = None
    max_points: float | None = None

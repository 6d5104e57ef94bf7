"""Solution: what a model wrote for a problem, or why it wrote nothing."""

from typing import Any

from pydantic import Field

from generate.journal import Failure, Record


class Usage(Record):
    """Tokens read and written for one piece of work; null where the engine does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    calls: int | None = None
    """Calls of the model; null: one."""


class Solution(Record):
    """One solution of one problem."""

    key: str
    """Hash of all that it depends on: prompt, model and revision, sampling, seed, sample number."""
    id: str
    """Its name, which labels join on: the source's own, or problem/model/sample."""
    problem_id: str
    model: str
    """The name of the model, as the model's config or the source gives it."""
    sample: int = 0
    """Which of several samples of one model on one problem, from 0."""
    settings_key: str | None = None
    """Hash of what all solutions of one run share: model, engine, prompt, sampling. Null for recorded solutions."""
    seed: int | None = None
    """The seed of this sample alone."""
    error: Failure | None = None
    """Why there is no solution. (Names, settings and error stand first in a line: opening a journal reads only these.)"""
    text: str | None = None
    """The solution, without what stood inside think tags; null where there is none, or the source has no texts."""
    reasoning: str | None = None
    """What stood inside the think tags."""
    finish_reason: str | None = None
    """`stop`, or `length` for a reply cut off by the token limit; null for recorded solutions."""
    usage: Usage | None = None
    meta: dict[str, Any] = Field(default_factory=dict)

    @property
    def cut_off(self) -> bool:
        return self.finish_reason == "length"

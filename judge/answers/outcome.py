"""The two records that the checker hands out. They are plain data: nothing here knows how they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["equal", "different", "undecided"]
Recorded = Literal["equal", "different", "undecided", "missing"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The final answer of a reply, and how it was found.

    Attributes:
        text: the answer as it stands in the reply (`reply[start:end]`), or `None` where there is none.
        start: where it starts in the given text, in characters.
        end: where it ends.
        how: the rule that found it (`"boxed"`, `"final-answer line"`, ...); empty where there is none.
        why: why there is no answer; `None` where there is one.
    """

    text: str | None
    start: int | None
    end: int | None
    how: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of holding a reply against a gold answer.

    Attributes:
        outcome: `equal` and `different` are proven; `undecided` is all the rest, a reply without an answer included.
        method: the step that decided (`"text"`, `"exact"`, `"algebra"`, `"interval"`, ...).
        reason: one plain sentence.
        extraction: the reply's final answer.
    """

    outcome: Outcome
    method: str
    reason: str
    extraction: Extraction

    @property
    def missing(self) -> bool:
        """Whether the reply holds no final answer at all."""
        return self.extraction.text is None

    @property
    def recorded(self) -> Recorded:
        """The outcome as the answer records have it: `missing` where the reply holds no final answer."""
        return "missing" if self.missing else self.outcome

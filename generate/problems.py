"""Problem, and what every reader of problems yields. The readers themselves: `starter.py` and `tables.py`."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from generate.journal import BadInput, Record
from generate.labels import HumanLabel, Judgement
from generate.solutions import Solution


class Problem(Record):
    """One problem."""

    id: str
    statement: str | None = None
    """Null where the source has no texts (a table of scores)."""
    answer: str | None = None
    """The gold final answer; null for a proof problem."""
    topic: str | None = None
    source: str | None = None
    reference_solution: str | None = None
    rubric: str | None = None
    """Grading guidelines for this problem."""
    meta: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """All that a source brings along."""

    problems: list[Problem]
    solutions: list[Solution] = field(default_factory=list)
    labels: list[HumanLabel] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    def only(self, topics: Iterable[str] | None, limit: int | None) -> "Dataset":
        """The part about the given topics (in any case of letters), then the first `limit` problems of it."""
        kept = self.problems
        if topics is not None:
            wanted = {t.casefold() for t in topics}
            known = {p.topic for p in self.problems if p.topic}
            unknown = wanted - {t.casefold() for t in known}
            if unknown:
                raise BadInput(
                    f"topics: no problem has the topic {sorted(unknown)[0]!r}; there are: {', '.join(sorted(known))}"
                )
            kept = [p for p in kept if p.topic and p.topic.casefold() in wanted]
        kept = kept[:limit]
        ids = {p.id for p in kept}
        solutions = [s for s in self.solutions if s.problem_id in ids]
        names = {s.id for s in solutions}
        return replace(
            self,
            problems=kept,
            solutions=solutions,
            labels=[x for x in self.labels if x.solution_id in names],
            judgements=[x for x in self.judgements if x.solution_id in names],
        )


@runtime_checkable
class Reader(Protocol):
    """What `dataset=` names. A class of yours with these two works as ours do: name it as `_target_` in a config."""

    name: str
    """The dataset's name: the default name of the study, and the name of its label file."""

    def read(self) -> Dataset:
        """All that the source holds. Raises BadInput, naming file, row and column."""
        ...

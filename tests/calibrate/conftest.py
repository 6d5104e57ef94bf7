"""Small studies, made from the records' own classes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generate.journal import text_hash
from generate.labels import HumanLabel
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.taxonomy import Tag, Taxonomy
from judge.verdicts import Answer, Fallacy, Verdict

TAGS = ("Proof by Example", "Calculation Mistake")


@pytest.fixture
def taxonomy() -> Taxonomy:
    return Taxonomy(name="two", fallacies=[Tag(name=t, definition="d", recognise="r", not_this="n") for t in TAGS])


class Maker:
    """Writes records into a study under tmp_path, through the same journals as the stages do."""

    def __init__(self, root: Path):
        self.root = root / "studies"
        self.study = Study(self.root / "s")
        (self.study.path / "manifests").mkdir(parents=True)

    def problem(self, id: str, **fields: Any) -> None:
        with self.study.problems_journal() as journal:
            journal.append(Problem(id=id, **fields))

    def solution(
        self, id: str, problem_id: str = "", text: str | None = "text", model: str = "m", **fields: Any
    ) -> None:
        with self.study.solutions_journal(model) as journal:
            key = f"{id}-{text_hash(text)}"
            journal.append(Solution(key=key, id=id, problem_id=problem_id or id, model=model, text=text, **fields))

    def label(
        self, solution_id: str, verdict: str | None = None, annotator: str = "ann", source: str = "src", **f: Any
    ) -> None:
        with self.study.labels_journal(source) as journal:
            journal.append(HumanLabel(solution_id=solution_id, annotator=annotator, verdict=verdict, **f))  # type: ignore[arg-type]

    def verdict(
        self,
        solution_id: str,
        verdict: str | None = None,
        judge: str = "j",
        judge_key: str = "k",
        tags: Any = None,
        **f: Any,
    ) -> None:
        with self.study.journal("verdicts", judge, Verdict) as journal:
            record = Verdict(
                key=f"{judge_key}/{solution_id}/{len(journal)}",
                id=f"{judge}/{solution_id}",
                solution_id=solution_id,
                judge=judge,
                judge_key=judge_key,
                verdict=verdict,  # type: ignore[arg-type]
                fallacies=None if tags is None else [Fallacy(tag=t) for t in tags],
                **f,
            )
            journal.append(record)

    def answer(self, solution_id: str, outcome: str, checker: str = "strict", **f: Any) -> None:
        """As checked against the gold answer that the problem has now, but for what is said otherwise."""
        problem = self.study.problems()[self.study.solutions()[solution_id].problem_id]
        fields = {"key": f"{solution_id}/{outcome}", "gold": problem.answer, "extracted": "a", "outcome": outcome} | f
        with self.study.journal("answers", checker, Answer) as journal:
            journal.append(Answer(solution_id=solution_id, checker=checker, **fields))  # type: ignore[arg-type]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest.fixture
def metrics_of(make: Maker, taxonomy: Taxonomy) -> Callable[..., dict[str, Any]]:
    """The metrics of the study as it stands, without the command line."""
    from calibrate.intervals import Intervals
    from calibrate.labels import FromStudy, collect
    from calibrate.material import gather
    from calibrate.metrics import build
    from calibrate.pairs import Terms

    def compute(judges: list[str] | None = None, **terms: Any) -> dict[str, Any]:
        labels = collect(make.study, [], FromStudy(), taxonomy)
        material = gather(make.study, labels, taxonomy, judges)
        return build(material, Terms(TAGS, **terms), Intervals(0, 200))

    return compute

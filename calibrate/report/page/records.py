"""What the page shows of each solution, read from the study's journals: the table's rows, and the texts behind them.

Journals are read line by line as plain JSON. Which verdicts count is told by metrics.json: those under the judge key
that its figures rest on. Labels come as calibrate counts them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from generate.journal import text_hash
from generate.labels import VERDICTS, HumanLabel
from generate.problems import Problem
from generate.study import Study
from judge.adjudication import Adjudication, Gold, Kind, adjudicate
from judge.checking import LENIENT, STRICT
from judge.program import problem_hash

Json = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """One solution with all that is known of it."""

    solution: Json
    problem: Problem | None
    answer: Json | None
    """By the strict reading of the answer checker."""
    lenient: Json | None
    gold: Gold | None
    """What the human annotators say together; where there are none, what is planted."""
    kind: Kind | None
    labels: list[HumanLabel]
    verdicts: list[Json | None]
    """In the order of the judges; null where one has not judged it."""


@dataclass
class Records:
    """A study as the page sees it."""

    judges: list[str]
    problems: dict[str, Problem]
    total: int
    """Solutions in the study; the page may show fewer."""
    shown: list[str]
    """Their ids. Where not all are shown: those on which humans and judges differ most, then other labelled ones, then
    the rest."""
    _solutions: dict[str, bytes] = field(default_factory=dict)
    _answers: dict[str, dict[str, bytes]] = field(default_factory=dict)
    _verdicts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    _labels: dict[str, list[HumanLabel]] = field(default_factory=dict)
    _gold: dict[Kind, dict[str, Gold]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Judged]:
        for name in self.shown:
            solution = orjson.loads(self._solutions[name])
            problem = self.problems.get(solution["problem_id"])
            human, planted = self._gold["human"].get(name), self._gold["planted"].get(name)
            yield Judged(
                solution,
                problem,
                self._answer(STRICT, name, solution, problem),
                self._answer(LENIENT, name, solution, problem),
                human or planted,
                "human" if human else "planted" if planted else None,
                self._labels.get(name, []),
                [self._verdict(judge, name, solution, problem) for judge in self.judges],
            )

    def _answer(self, checker: str, name: str, solution: Json, problem: Problem | None) -> Json | None:
        answer = _loaded(self._answers.get(checker, {}).get(name))
        if answer is None or _of_another_text(answer, solution):
            return None
        changed = problem is not None and answer.get("gold") is not None and answer["gold"] != problem.answer
        return None if changed else answer

    def _verdict(self, judge: str, name: str, solution: Json, problem: Problem | None) -> Json | None:
        verdict = _loaded(self._verdicts.get(judge, {}).get(name))
        if verdict is None or _of_another_text(verdict, solution):
            return None
        known = verdict.get("problem_hash")
        return None if known is not None and problem is not None and known != problem_hash(problem) else verdict


def gather(study: Study, labels: Sequence[HumanLabel], how: Adjudication, metrics: Json, most: int) -> Records:
    """The records of at most `most` solutions. `labels` are those that count, adjudicated as `how` says."""
    keys = {name: judge["judge_key"] for name, judge in metrics["judges"].items()}
    by_solution: dict[str, list[HumanLabel]] = {}
    for label in labels:
        by_solution.setdefault(label.solution_id, []).append(label)
    gold: dict[Kind, dict[str, Gold]] = {
        "human": adjudicate(labels, "human", how),
        "planted": adjudicate(labels, "planted"),
    }
    records = Records(list(keys), study.problems(), 0, [], _labels=by_solution, _gold=gold)

    def counts(record: Json) -> bool:
        return keys.get(record.get("judge", "")) == record.get("judge_key")

    ids = list(dict.fromkeys(r["id"] for r, _ in _lines(study, "solutions")))
    apart = _distances(study, gold["human"] or gold["planted"], counts) if len(ids) > most else {}
    records.total = len(ids)
    ids.sort(key=lambda name: (-apart.get(name, -1.0), name))
    records.shown = ids[:most]
    wanted = set(records.shown)
    records._solutions = {r["id"]: line for r, line in _lines(study, "solutions") if r["id"] in wanted}
    for record, line in _lines(study, "answers"):
        if record["solution_id"] in wanted:
            records._answers.setdefault(record["checker"], {})[record["solution_id"]] = line
    for record, line in _lines(study, "verdicts"):
        if record["solution_id"] in wanted and counts(record):
            records._verdicts.setdefault(record["judge"], {})[record["solution_id"]] = line
    return records


def _distances(study: Study, gold: Mapping[str, Gold], counts: Callable[[Json], bool]) -> dict[str, float]:
    """For each labelled solution how far the judge that differs most is from the label."""
    worst = dict.fromkeys(gold, 0.0)
    for record, _ in _lines(study, "verdicts"):
        name = record["solution_id"]
        if name in gold and counts(record):
            worst[name] = max(worst[name], distance(gold[name], record) or 0.0)
    return worst


def distance(gold: Gold, verdict: Json) -> float | None:
    """How far a judge is from the label: steps between the verdicts (pass or not: two), then less than one more for the
    points. Null where one of the two says nothing that the other does."""
    theirs, ours = gold.verdict, verdict.get("verdict")
    steps = points = None
    if theirs is not None and ours is not None:
        steps = VERDICTS.index(ours) - VERDICTS.index(theirs)
        if gold.binary:
            steps = 2 * ((ours == "correct") - (theirs == "correct"))
    if gold.points is not None and verdict.get("points") is not None:
        points = abs(gold.points - verdict["points"]) / ((gold.max_points or gold.points or 1) + 1)
    if steps is None and points is None:
        return None
    return abs(steps or 0) + (points or 0.0)


def _lines(study: Study, folder: str) -> Iterator[tuple[Json, bytes]]:
    """The records of a folder, oldest first within a file, each with its line."""
    for file in study.files(folder):
        yield from _lines_of(file)


def _lines_of(file: Path) -> Iterator[tuple[Json, bytes]]:
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n") and line.strip():
                yield orjson.loads(line), line


def _loaded(line: bytes | None) -> Json | None:
    return None if line is None else orjson.loads(line)


def _of_another_text(record: Json, solution: Json) -> bool:
    known = record.get("text_hash")
    return known is not None and known != text_hash(solution.get("text"))

"""What a report is made of: a study's records, joined on solution ids, and what did not join."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from calibrate.labels import Gold, Labels, combine
from calibrate.labels import is_of_another_text as of_another_text
from calibrate.pairs import Said
from generate.journal import BadInput, key_of
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.checking import LENIENT, STRICT
from judge.taxonomy import Taxonomy
from judge.verdicts import Answer, Opinion, Verdict

SHAPE = 2
"""Of metrics.json; a report in another shape is made anew."""


@dataclass(frozen=True)
class Judge:
    """One judge's newest description of itself, and what it says under that."""

    name: str
    judge_key: str
    other_keys: dict[str, int]
    """Older descriptions, with the number of their verdicts. Never mixed in."""
    said: dict[str, Said | None]
    """By solution; null where the judge failed."""
    errors: dict[str, int]
    unknown_tags: dict[str, int]
    """Tags that the taxonomy does not have: counted, and left out."""
    unjoined: list[str]
    """Solutions that are not in the study."""
    changed: list[str]
    """Solutions whose text has changed since they were judged."""


@dataclass(frozen=True)
class Material:
    study: str
    problems: dict[str, Problem]
    solutions: dict[str, Solution]
    labels: Labels
    human: dict[str, Gold]
    planted: dict[str, Gold]
    answers: dict[str, Answer] = field(default_factory=dict)
    """By the strict reading of the answer checker, on which the figures rest."""
    lenient: dict[str, Answer] = field(default_factory=dict)
    opinions: dict[str, dict[str, Opinion]] = field(default_factory=dict)
    """By model, what it says of answers that the checker left undecided."""
    judges: dict[str, Judge] = field(default_factory=dict)


def gather(study: Study, labels: Labels, taxonomy: Taxonomy, judges: Sequence[str] | None) -> Material:
    """Raises BadInput for a judge that is not there, and for a study without solutions."""
    solutions = study.solutions()
    if not solutions:
        raise BadInput(f"{study.path} holds no solutions: run `python -m generate` first")
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in study.every("verdicts", Verdict):
        by_judge.setdefault(verdict.judge, []).append(verdict)
    for name in judges or ():
        if name not in by_judge:
            raise BadInput(
                f"judges: '{name}' has judged nothing here; there are: {', '.join(sorted(by_judge)) or 'none'}"
            )
    chosen = sorted(by_judge if judges is None else set(judges))
    answers = _answers(study, solutions, STRICT)
    return Material(
        study=study.name,
        problems=study.problems(),
        solutions=solutions,
        labels=labels,
        human=combine(labels.counting, "human"),
        planted=combine(labels.counting, "planted"),
        answers=answers,
        lenient=_answers(study, solutions, LENIENT),
        opinions=_opinions(study, answers),
        judges={name: _judge(name, by_judge[name], solutions, taxonomy) for name in chosen},
    )


def _answers(study: Study, solutions: dict[str, Solution], checker: str) -> dict[str, Answer]:
    """What one reading of the checker says of the present texts."""
    newest = {a.solution_id: a for a in study.every("answers", Answer) if a.checker == checker}
    return {k: a for k, a in newest.items() if k in solutions and not of_another_text(a, solutions[k])}


def _opinions(study: Study, answers: dict[str, Answer]) -> dict[str, dict[str, Opinion]]:
    """By model, the newest opinion on each answer that stands undecided now."""
    by_model: dict[str, dict[str, Opinion]] = {}
    for o in study.every("opinions", Opinion):
        answer = answers.get(o.solution_id)
        if answer and answer.outcome == "undecided" and (answer.gold, answer.extracted) == (o.gold, o.answer):
            by_model.setdefault(o.judge, {})[o.solution_id] = o
    return by_model


def _judge(name: str, records: list[Verdict], solutions: dict[str, Solution], taxonomy: Taxonomy) -> Judge:
    judge_key = records[-1].judge_key
    newest = {r.solution_id: r for r in records if r.judge_key == judge_key}
    said: dict[str, Said | None] = {}
    errors: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    unjoined, changed = [], []
    for solution_id, record in sorted(newest.items()):
        solution = solutions.get(solution_id)
        if solution is None:
            unjoined.append(solution_id)
        elif of_another_text(record, solution):
            changed.append(solution_id)
        elif record.error is not None or (record.verdict is None and record.points is None):
            errors[record.error.kind if record.error else "no_verdict"] += 1
            said[solution_id] = None
        else:
            said[solution_id] = _said(record, taxonomy, unknown)
    others = Counter(r.judge_key for r in records if r.judge_key != judge_key)
    return Judge(name, judge_key, dict(others), said, dict(sorted(errors.items())), dict(unknown), unjoined, changed)


def _said(record: Verdict, taxonomy: Taxonomy, unknown: Counter[str]) -> Said:
    tags = None
    if record.fallacies is not None:
        named = {f.tag: taxonomy.find(f.tag) for f in record.fallacies}
        unknown.update(tag for tag, known in named.items() if known is None)
        tags = frozenset(known for known in named.values() if known is not None)
    return Said(record.verdict, False, record.points, record.max_points, tags)


def fingerprint(study: Study, labels: Labels, terms: dict[str, Any]) -> str:
    """A hash of all that a report depends on: records, labels, settings, and the version of this toolkit."""
    files = {}
    for folder in (".", "solutions", "answers", "opinions", "verdicts"):
        for file in sorted((study.path / folder).glob("*.jsonl")):
            files[f"{folder}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    said = [[x.model_dump(mode="json") for x in part] for part in (labels.counting, labels.unjoined, labels.changed)]
    return key_of(shape=SHAPE, version=metadata.version("olympiad-judge"), files=files, labels=said, terms=terms)

"""What a report is made of: a study's records, joined on solution ids, and what did not join."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Literal

from calibrate.labels import Labels
from calibrate.labels import is_of_another_text as of_another_text
from calibrate.pairs import Said
from generate.journal import BadInput, key_of
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.adjudication import Adjudication, Gold, adjudicate
from judge.checking import LENIENT, STRICT
from judge.program import problem_hash
from judge.taxonomy import Taxonomy
from judge.verdicts import Answer, Opinion, Verdict

SHAPE = 3
"""Of metrics.json; a report in another shape is made anew."""
Change = Literal["text", "problem", "gold"]
"""What has become another since a record was made."""


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
    changed: dict[Change, list[str]]
    """Solutions that were judged before their text, or their problem, became another."""


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
    old_answers: dict[Change, list[str]] = field(default_factory=dict)
    """Solutions that were checked before their text, or the gold answer, became another."""
    opinions: dict[str, dict[str, Opinion]] = field(default_factory=dict)
    """By model, what it says of answers that the checker left undecided."""
    judges: dict[str, Judge] = field(default_factory=dict)


def gather(
    study: Study,
    labels: Labels,
    taxonomy: Taxonomy,
    judges: Sequence[str] | None,
    adjudication: Adjudication | None = None,
) -> Material:
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
    problems = study.problems()
    answers, old_answers = _answers(study, solutions, problems, STRICT)
    return Material(
        study=study.name,
        problems=problems,
        solutions=solutions,
        labels=labels,
        human=adjudicate(labels.counting, "human", adjudication),
        planted=adjudicate(labels.counting, "planted"),
        answers=answers,
        lenient=_answers(study, solutions, problems, LENIENT)[0],
        old_answers=old_answers,
        opinions=_opinions(study, answers, solutions, problems),
        judges={name: _judge(name, by_judge[name], solutions, problems, taxonomy) for name in chosen},
    )


def changed_since(record: Answer | Verdict | Opinion, solution: Solution, problem: Problem | None) -> Change | None:
    """Why a record says nothing of the solution as it is now; null where it does. What it does not tell is trusted."""
    if of_another_text(record, solution):
        return "text"
    if problem is None:
        return None
    if isinstance(record, Answer):
        return "gold" if record.gold is not None and record.gold != problem.answer else None
    return "problem" if record.problem_hash is not None and record.problem_hash != problem_hash(problem) else None


def _answers(
    study: Study, solutions: dict[str, Solution], problems: dict[str, Problem], checker: str
) -> tuple[dict[str, Answer], dict[Change, list[str]]]:
    """What one reading of the checker says of the present solutions, and which solutions it read before a change."""
    standing: dict[str, Answer] = {}
    changed: dict[Change, list[str]] = {"text": [], "gold": []}
    newest = {a.solution_id: a for a in study.every("answers", Answer) if a.checker == checker}
    for solution_id, answer in sorted(newest.items()):
        solution = solutions.get(solution_id)
        if solution is None:
            continue
        change = changed_since(answer, solution, problems.get(solution.problem_id))
        if change is None:
            standing[solution_id] = answer
        else:
            changed[change].append(solution_id)
    return standing, changed


def _opinions(
    study: Study, answers: dict[str, Answer], solutions: dict[str, Solution], problems: dict[str, Problem]
) -> dict[str, dict[str, Opinion]]:
    """By model, its opinion on each answer that stands undecided now, under its newest description as of judges."""
    records = list(study.every("opinions", Opinion))
    newest_key = {o.judge: o.judge_key for o in records}
    by_model: dict[str, dict[str, Opinion]] = {}
    for o in records:
        answer = answers.get(o.solution_id) if o.judge_key == newest_key[o.judge] else None
        if answer is None or answer.outcome != "undecided" or (answer.gold, answer.extracted) != (o.gold, o.answer):
            continue
        solution = solutions[o.solution_id]
        if changed_since(o, solution, problems.get(solution.problem_id)) is None:
            by_model.setdefault(o.judge, {})[o.solution_id] = o
    return by_model


def _judge(
    name: str,
    records: list[Verdict],
    solutions: dict[str, Solution],
    problems: dict[str, Problem],
    taxonomy: Taxonomy,
) -> Judge:
    judge_key = records[-1].judge_key
    newest = {r.solution_id: r for r in records if r.judge_key == judge_key}
    said: dict[str, Said | None] = {}
    errors: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    unjoined: list[str] = []
    changed: dict[Change, list[str]] = {"text": [], "problem": []}
    for solution_id, record in sorted(newest.items()):
        solution = solutions.get(solution_id)
        if solution is None:
            unjoined.append(solution_id)
        elif change := changed_since(record, solution, problems.get(solution.problem_id)):
            changed[change].append(solution_id)
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
    for folder in (".", "solutions", "answers", "opinions", "verdicts", "controls/solutions", "controls/verdicts"):
        for file in sorted((study.path / folder).glob("*.jsonl")):
            files[f"{folder}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    said = [[x.model_dump(mode="json") for x in part] for part in (labels.counting, labels.unjoined, labels.changed)]
    return key_of(shape=SHAPE, version=metadata.version("olympiad-judge"), files=files, labels=said, terms=terms)

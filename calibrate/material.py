"""What a report is made of: a study's records, joined on solution ids, and what did not join."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any, Literal

import numpy as np

from calibrate.columns import (
    VERDICT_CODE,
    Bools,
    Coder,
    Rows,
    Said,
    Small,
    Solutions,
    blank,
    columns_of,
    one_hot,
    read_solutions,
    stream,
)
from calibrate.gates import BASELINES
from calibrate.labels import Labels
from generate.journal import BadInput, key_of
from generate.labels import VERDICTS
from generate.study import Study
from judge.adjudication import Adjudication, Gold, adjudicate
from judge.checking import LENIENT, STRICT
from judge.program import problem_hash
from judge.taxonomy import Taxonomy
from judge.verdicts import Answer, Opinion, Verdict

SHAPE = 5
"""Of metrics.json; a report in another shape is made anew."""
Change = Literal["text", "problem", "gold"]
"""What has become another since a record was made."""
OUTCOMES = ("equal", "different", "undecided", "missing")
STANDING, TEXT, OTHER = 0, 1, 2
"""What became of a record: it stands, or it was made for another text, or for another problem or gold answer."""


@dataclass(frozen=True)
class Judge:
    """One judge's newest description of itself, and what it says under that."""

    name: str
    judge_key: str
    other_keys: dict[str, int]
    """Older descriptions, with the number of their verdicts. Never mixed in."""
    said: Said
    """Of all solutions that it met, those that it failed on among them."""
    errors: dict[str, int]
    quoted: Rows
    """For each tag of the taxonomy that it named with a quote, the solution's row."""
    grounded: Bools
    """Whether that quote stands in the solution."""
    unknown_tags: dict[str, int]
    """Tags that the taxonomy does not have: counted, and left out."""
    unjoined: list[str]
    """Solutions that are not in the study."""
    changed: dict[Change, list[str]]
    """Solutions that were judged before their text, or their problem, became another."""
    compiled: str | None = None
    """NAME@KEY of the trained program that judged; null: none was loaded."""
    seen: frozenset[str] = frozenset()
    """The problems whose labels that program saw."""
    human: Said = field(default_factory=lambda: blank(np.arange(0), 0))
    """The human gold that it may be held against: of a trained judge not all of it."""
    planted: Said = field(default_factory=lambda: blank(np.arange(0), 0))


@dataclass(frozen=True)
class Answers:
    """What one reading of the answer checker says of the present solutions."""

    outcome: Small
    """For each solution, its place in OUTCOMES; -1: unchecked."""
    undecided: dict[int, tuple[str | None, str | None]]
    """By the solution's row, gold answer and extracted answer of those that are undecided."""
    changed: dict[Change, list[str]]
    """Solutions that were checked before their text, or the gold answer, became another."""


@dataclass(frozen=True)
class Material:
    study: str
    solutions: Solutions
    labels: Labels
    golds: dict[str, Gold]
    """The human gold by solution, as `human` has it in columns."""
    human: Said
    planted: Said
    answers: Answers
    """By the strict reading of the answer checker, on which the figures rest."""
    lenient: Answers
    opinions: dict[str, dict[int, str]] = field(default_factory=dict)
    """By model and the solution's row, what it says of answers that the checker left undecided, or `error`."""
    judges: dict[str, Judge] = field(default_factory=dict)


def gather(
    study: Study,
    labels: Labels,
    taxonomy: Taxonomy,
    judges: Sequence[str] | None,
    adjudication: Adjudication | None = None,
    solutions: Solutions | None = None,
) -> Material:
    """Raises BadInput for a judge that is not there, and for a study without solutions. `solutions` are the study's,
    where they have been read already."""
    solutions = solutions or read_solutions(study)
    if not len(solutions):
        raise BadInput(f"{study.path} holds no solutions: run `python -m generate` first")
    tags = taxonomy.names
    hashes = _Hashes(solutions)
    golds = adjudicate(labels.counting, "human", adjudication)
    planted = adjudicate(labels.counting, "planted")
    strict, lenient = _answers(study, solutions)
    of_humans = columns_of(list(golds.values()), solutions.rows(golds), tags)
    of_planted = columns_of(list(planted.values()), solutions.rows(planted), tags)
    found = _judges(study, solutions, taxonomy, judges, hashes)
    return Material(
        study=study.name,
        solutions=solutions,
        labels=labels,
        golds=golds,
        human=of_humans,
        planted=of_planted,
        answers=strict,
        lenient=lenient,
        opinions=_opinions(study, solutions, strict, hashes),
        judges={name: replace(judge, human=of_humans, planted=of_planted) for name, judge in found.items()},
    )


class _Hashes:
    """Whether a record was made for the solution's present text and problem. What a record does not tell is trusted."""

    def __init__(self, solutions: Solutions):
        self.text = solutions.text_hash
        self.of_row = solutions.problem.codes.tolist()
        self.problem: list[str | None] = [
            problem_hash(p) if (p := solutions.problems.get(name)) is not None else None
            for name in solutions.problem.names
        ]

    def change(self, row: int, text: str | None, problem: str | None) -> int:
        if text is not None and text != self.text[row]:
            return TEXT
        now = self.problem[self.of_row[row]] if problem is not None else None
        return OTHER if now is not None and problem != now else STANDING


def _answers(study: Study, solutions: Solutions) -> tuple[Answers, Answers]:
    """The strict and the lenient reading: the newest record of each solution counts."""
    n, place, texts = len(solutions), solutions.place, solutions.text_hash
    outcome = {checker: np.full(n, -1, dtype=np.int8) for checker in (STRICT, LENIENT)}
    change = {checker: np.zeros(n, dtype=np.int8) for checker in (STRICT, LENIENT)}
    undecided: dict[str, dict[int, tuple[str | None, str | None]]] = {STRICT: {}, LENIENT: {}}
    code = {name: i for i, name in enumerate(OUTCOMES)}
    golds = [p.answer if (p := solutions.problems.get(name)) is not None else None for name in solutions.problem.names]
    known = [name in solutions.problems for name in solutions.problem.names]
    problem_of = solutions.problem.codes.tolist()

    def take(r: dict[str, Any]) -> None:
        row, checker, said, gold = place.get(r["solution_id"]), r["checker"], code[r["outcome"]], r.get("gold")
        if row is None or checker not in outcome:
            return
        outcome[checker][row] = said
        hashed, problem = r.get("text_hash"), problem_of[row]
        if hashed is not None and hashed != texts[row]:
            change[checker][row] = TEXT
        elif known[problem] and gold is not None and gold != golds[problem]:
            change[checker][row] = OTHER
        else:
            change[checker][row] = STANDING
        if said == 2:
            undecided[checker][row] = gold, r.get("extracted")

    stream(study, "answers", Answer, take)

    def reading(checker: str) -> Answers:
        states = np.where(change[checker] == STANDING, outcome[checker], np.int8(-1)).astype(np.int8)
        open_ = {row: pair for row, pair in undecided[checker].items() if states[row] == 2}
        names = solutions.ids
        changed: dict[Change, list[str]] = {
            "text": [names[i] for i in np.flatnonzero(change[checker] == TEXT)],
            "gold": [names[i] for i in np.flatnonzero(change[checker] == OTHER)],
        }
        return Answers(states, open_, changed)

    return reading(STRICT), reading(LENIENT)


def _opinions(study: Study, solutions: Solutions, answers: Answers, hashes: _Hashes) -> dict[str, dict[int, str]]:
    """By model, its opinion on each answer that stands undecided now, under its newest description as of judges."""
    records = list(study.every("opinions", Opinion))
    newest_key = {o.judge: o.judge_key for o in records}
    by_model: dict[str, dict[int, str]] = {}
    for o in records:
        row = solutions.place.get(o.solution_id)
        if row is None or o.judge_key != newest_key[o.judge] or answers.undecided.get(row) != (o.gold, o.answer):
            continue
        if hashes.change(row, o.text_hash, o.problem_hash) == STANDING:
            by_model.setdefault(o.judge, {})[row] = o.outcome or "error"
    return by_model


# --- judges -----------------------------------------------------------------------------------------------------------


class _Verdicts:
    """The verdicts of one judge under one description, as they come."""

    def __init__(self) -> None:
        self.row, self.change, self.verdict, self.error = array("i"), array("b"), array("b"), array("i")
        self.points, self.max_points, self.tagged = array("d"), array("d"), array("b")
        self.tag_at, self.tag, self.tag_probability, self.grounded = array("i"), array("i"), array("d"), array("b")
        self.probabilities: dict[int, list[float]] = {}
        self.unjoined: set[str] = set()
        self.compiled: str | None = None


def _judges(
    study: Study, solutions: Solutions, taxonomy: Taxonomy, wanted: Sequence[str] | None, hashes: _Hashes
) -> dict[str, Judge]:
    found: dict[tuple[str, str], _Verdicts] = {}
    newest: dict[str, str] = {}
    errors, tags = Coder(), Coder()
    place = solutions.place
    nan = float("nan")

    def take(r: dict[str, Any]) -> None:
        name, key, solution_id = r["judge"], r["judge_key"], r["solution_id"]
        verdict, points, top, failure = VERDICT_CODE[r.get("verdict")], r.get("points"), r.get("max_points"), r.get("error")  # fmt: skip
        if type(name) is not str or type(key) is not str or type(solution_id) is not str:
            raise TypeError
        named = r.get("fallacies")
        marks = [(tags(f["tag"]), f.get("probability"), _grounded(f)) for f in named] if named else ()
        numbers = nan if points is None else float(points), nan if top is None else float(top)
        silent = verdict < 0 and points is None and named is None  # a judge may name fallacies only
        kind = errors(failure["kind"]) if failure else errors("no_verdict") if silent else -1
        spread = [float(r["probabilities"].get(v, nan)) for v in VERDICTS] if r.get("probabilities") else None
        newest[name] = key
        of = found.get((name, key))
        if of is None:
            of = found[name, key] = _Verdicts()
        of.compiled = r.get("compiled")
        at, row = len(of.row), place.get(solution_id, -1)
        of.row.append(row)
        of.change.append(hashes.change(row, r.get("text_hash"), r.get("problem_hash")) if row >= 0 else STANDING)
        of.verdict.append(verdict)
        of.error.append(kind)
        of.points.append(numbers[0])
        of.max_points.append(numbers[1])
        of.tagged.append(named is not None)
        for tag, probability, grounded in marks:
            of.tag_at.append(at)
            of.tag.append(tag)
            of.tag_probability.append(nan if probability is None else probability)
            of.grounded.append(grounded)
        if spread is not None:
            of.probabilities[at] = spread
        if row < 0:
            of.unjoined.add(solution_id)

    stream(study, "verdicts", Verdict, take)
    for name in wanted or ():
        if name not in newest:
            raise BadInput(
                f"judges: '{name}' has judged nothing here; there are: {', '.join(sorted(newest)) or 'none'}"
            )
    judges = {}
    chosen = newest if wanted is None else set(wanted)
    for name in sorted(chosen, key=lambda name: (name in BASELINES, name)):  # what is there to be beaten comes last
        others = {key: len(of.row) for (who, key), of in found.items() if who == name and key != newest[name]}
        of = found[name, newest[name]]
        judges[name] = _judge(name, newest[name], others, of, solutions, taxonomy, list(errors.code), list(tags.code))
    return judges


def _grounded(fallacy: dict[str, Any]) -> int:
    """Whether the quote of a tag stands in the solution's text: 1 or 0; -1 where there is no quote."""
    told = fallacy.get("grounded")
    if told is None and fallacy.get("quote") is not None:  # a record that does not say it says where the quote stands
        told = fallacy.get("start") is not None
    return -1 if told is None else int(told)


def _judge(
    name: str,
    judge_key: str,
    other_keys: dict[str, int],
    of: _Verdicts,
    solutions: Solutions,
    taxonomy: Taxonomy,
    error_names: list[str],
    tag_names: list[str],
) -> Judge:
    row, change = np.asarray(of.row, dtype=np.intp), np.asarray(of.change)
    last = np.full(len(solutions), -1, dtype=np.intp)
    last[row[row >= 0]] = np.flatnonzero(row >= 0)  # of several records of a solution the last one counts
    changed: dict[Change, list[str]] = {}
    kinds: tuple[tuple[Change, int], ...] = (("text", TEXT), ("problem", OTHER))
    for kind, state in kinds:
        rows = np.flatnonzero((last >= 0) & (change[last] == state)) if len(row) else last[:0]
        changed[kind] = [solutions.ids[i] for i in rows]
    stands = np.flatnonzero((last >= 0) & (change[last] == STANDING)) if len(row) else last[:0]
    at = last[stands]
    error = np.asarray(of.error)[at]
    counts = Counter(error_names[i] for i in error[error >= 0].tolist())
    said = blank(stands, len(taxonomy.names))
    failed = error >= 0
    tags, probabilities, quoted, grounded, unknown = _tags(of, at, failed, taxonomy, tag_names)
    verdict = np.where(failed, np.int8(-1), np.asarray(of.verdict)[at]).astype(np.int8)
    spread = None
    if of.probabilities:
        spread = np.full((len(at), len(VERDICTS)), np.nan)
        by_record = {record: i for i, record in enumerate(at.tolist())}
        for record, row_of in of.probabilities.items():
            if record in by_record:
                spread[by_record[record]] = row_of
    said = replace(
        said,
        verdict=verdict,
        shares=one_hot(verdict),
        points=np.where(failed, np.nan, np.asarray(of.points)[at]),
        max_points=np.where(failed, np.nan, np.asarray(of.max_points)[at]),
        tags=tags,
        failed=failed,
        probabilities=spread,
        tag_probabilities=probabilities,
    )
    return Judge(
        name=name,
        judge_key=judge_key,
        other_keys=other_keys,
        said=said,
        errors=dict(sorted(counts.items())),
        quoted=stands[quoted],
        grounded=grounded,
        unknown_tags=unknown,
        unjoined=sorted(of.unjoined),
        changed=changed,
        compiled=of.compiled,
    )


def _tags(
    of: _Verdicts, at: Rows, failed: Bools, taxonomy: Taxonomy, tag_names: list[str]
) -> tuple[Any, Any, Rows, Bools, dict[str, int]]:
    """Tags (m, tags) and their probabilities; of each named tag that has a quote, its place and whether the quote stands
    in the solution; and tags that are not known."""
    wanted = {tag: i for i, tag in enumerate(taxonomy.names)}
    found = [taxonomy.find(name) for name in tag_names]
    known = np.array([-1 if tag is None else wanted[tag] for tag in found] or [-1], dtype=np.intp)
    tagged = (np.asarray(of.tagged, dtype=np.int8)[at] > 0) & ~failed
    tags = np.where(tagged[:, None], 0.0, np.nan) * np.ones(len(wanted))
    place = np.full(len(of.row), -1, dtype=np.intp)
    place[at[tagged]] = np.flatnonzero(tagged)
    record, tag = np.asarray(of.tag_at, dtype=np.intp), np.asarray(of.tag, dtype=np.intp)
    counted = place[record] >= 0 if len(record) else np.zeros(0, dtype=bool)
    here, code = place[record[counted]], tag[counted]
    good = known[code] >= 0 if len(code) else np.zeros(0, dtype=bool)
    tags[here[good], known[code[good]]] = 1
    pairs = {(int(i), int(t)) for i, t in zip(here[~good], code[~good], strict=True)}  # a tag counts once in a verdict
    unknown = Counter(tag_names[t] for _, t in sorted(pairs))
    grounded = np.asarray(of.grounded, dtype=np.int8)[counted][good]
    quoted = grounded >= 0
    each = np.asarray(of.tag_probability)[counted][good]
    probabilities = None
    if len(each) and not np.isnan(each).all():
        probabilities = np.where(tagged[:, None], 0.0, np.nan) * np.ones(len(wanted))
        probabilities[here[good], known[code[good]]] = each
    return tags, probabilities, here[good][quoted], grounded[quoted] > 0, dict(unknown)


def fingerprint(study: Study, labels: Labels, terms: dict[str, Any]) -> str:
    """A hash of all that a report depends on: records, labels, settings, and the version of this toolkit."""
    files = {}
    for folder in (".", "solutions", "answers", "opinions", "verdicts", "controls/solutions", "controls/verdicts"):
        for file in sorted((study.path / folder).glob("*.jsonl")):
            with file.open("rb") as content:
                files[f"{folder}/{file.name}"] = hashlib.file_digest(content, "sha256").hexdigest()
    said = [[x.model_dump(mode="json") for x in part] for part in (labels.counting, labels.unjoined, labels.changed)]
    return key_of(shape=SHAPE, version=metadata.version("olympiad-judge"), files=files, labels=said, terms=terms)

"""What people say of each other: agreement between annotators, of a judge with each of them, and the human ceiling.

The ceiling is like with like. Each annotator in turn is left out; that annotator and the judge are held against the
majority of the same remaining annotators, on the same solutions. A judge that agrees with people as much as they agree
with each other reaches the ceiling, whatever an adjudicated gold would have made of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrate.agreement import accuracy, cohen_kappa, f1, krippendorff_alpha, why_undefined
from calibrate.alt_test import AltTest, alt_test
from calibrate.columns import Bools, Rows, Said, Small, Solutions, columns_of
from calibrate.intervals import Array, Codes, Estimate, Formula, Intervals, Sums, undefined
from calibrate.pairs import CORRECT, Terms, agreement
from generate.labels import VERDICTS, HumanLabel
from judge.adjudication import adjudicate

Json = dict[str, Any]
MOST = 12
"""With more annotators than this there is no block for each two of them; alpha, ceiling and test take them all."""
ONE, NOBODY, APART = "there is one annotator only", "there are no human labels", "no two annotators share a solution"
TOO_MANY = f"there are more than {MOST} annotators"
CELLS = len(VERDICTS) * (len(VERDICTS) + 1)
"""A table of verdicts with a last column for the judge's failures."""


@dataclass(frozen=True)
class People:
    """The human annotators of a study, each with what they say."""

    names: list[str]
    said: list[Said]
    row: Rows
    """Rows of `Solutions` that any of them labelled, ascending; m of them."""
    problem: Codes
    """(m,)"""
    verdicts: Small
    """(m, annotators), places in VERDICTS, -1 none. Where some only say pass or not, nobody says more."""
    tags: Array
    """(m, annotators, tags): 1, 0, nan not annotated."""
    binary: bool
    """Verdicts are pass or not, since some annotators say no more."""

    def __len__(self) -> int:
        return len(self.names)

    def on(self, row: Rows) -> "People":
        """The same, of these rows of `Solutions` alone."""
        here = np.isin(self.row, row)
        said = [s.at(np.isin(s.row, row)) for s in self.said]
        parts = (self.row[here], self.problem[here], self.verdicts[here], self.tags[here])
        return People(self.names, said, *parts, self.binary)

    def why_alone(self) -> str | None:
        """Why they cannot be held against each other; null where they can."""
        if len(self) < 2:
            return ONE if self.names else NOBODY
        shared = ((self.verdicts >= 0) | ~np.isnan(self.tags).all(axis=2)).sum(axis=1) > 1
        points = np.stack([~np.isnan(np.append(s.points, np.nan)[s.of_rows(self.row)]) for s in self.said], axis=1)
        return None if (shared | (points.sum(axis=1) > 1)).any() else APART


def people(labels: Sequence[HumanLabel], solutions: Solutions, tags: Sequence[str]) -> People:
    """The annotators of the human labels, in the order of their names."""
    by_name: dict[str, list[HumanLabel]] = {}
    for x in labels:
        if x.kind == "human":
            by_name.setdefault(x.annotator, []).append(x)
    names = sorted(by_name)
    said = []
    for name in names:
        alone = adjudicate(by_name[name])  # of one person: what that person says
        said.append(columns_of(list(alone.values()), solutions.rows(alone), tags))
    row = np.unique(np.concatenate([s.row for s in said])) if said else np.zeros(0, dtype=np.intp)
    verdicts = np.full((len(row), len(names)), -1, dtype=np.int8)
    tagged = np.full((len(row), len(names), len(tags)), np.nan)
    for i, s in enumerate(said):
        at = np.searchsorted(row, s.row)
        verdicts[at, i] = s.verdict
        tagged[at, i] = s.tags
    binary = any(bool((s.binary & (s.verdict >= 0)).any()) for s in said)
    if binary:
        verdicts = passing(verdicts)
    return People(names, said, row, solutions.problem.codes[row], verdicts, tagged, binary)


def passing(verdict: Small) -> Small:
    """Verdicts as pass or not: whatever is less than correct is incorrect."""
    return np.where(verdict < 0, verdict, np.where(verdict == CORRECT, CORRECT, 0)).astype(np.int8)


# --- of each other ----------------------------------------------------------------------------------------------------


def human_human(who: People, terms: Terms, intervals: Intervals) -> Json:
    """The `human_human` block: Krippendorff's alpha over all annotators, and the agreement of each two."""
    why = who.why_alone()
    block: Json = {"annotators": len(who), "why": why, "alpha": _alphas(who, terms.tags, intervals), "pairs": {}}
    if why is None and len(who) > MOST:
        return block | {"why": f"{TOO_MANY}: only alpha is given"}
    for i, one in enumerate(who.names):
        for j in range(i + 1, len(who)) if why is None else ():
            a, b = who.said[i], who.said[j]
            problem, a, b = _met(who, a, b)
            block["pairs"].setdefault(one, {})[who.names[j]] = {
                "shared": len(a), **_named(agreement(problem, a, b, terms, intervals))
            }  # fmt: skip
    return block


def _met(who: People, a: Said, b: Said) -> tuple[Codes, Said, Said]:
    """The rows that both speak of, and their problems."""
    at = b.of_rows(a.row)
    met = at >= 0
    problem = who.problem[np.searchsorted(who.row, a.row[met])]
    return problem, a.at(met), b.at(at[met])


def _named(block: Any) -> Any:
    """A block made for labels and a judge, in words for two annotators."""
    if isinstance(block, dict):
        return {k: _named(v) for k, v in block.items()}
    if isinstance(block, str):
        for ours, theirs in (("this judge's verdict", "the other's label"), ("by this judge", "by the other"),
                             ("the labels say", "the first says"), ("the judge says", "the other says"),
                             ("the judge only", "the other only"), ("of the labels", "of the first"),
                             ("of the judge", "of the other"), ("the judge's", "the other's"), ("the labels'", "the first's"),
                             ("in the labels", "by the first"), ("the judge never", "the other never"),
                             ("no label bears it", "the first never names it")):  # fmt: skip
            block = block.replace(ours, theirs)
    return block


def coincidences(counts: Array) -> Array:
    """Of units (m, k), how many raters gave each value: what each adds to Krippendorff's table of coincidences, (m, k, k).
    Units with a single value add nothing."""
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - np.einsum("ij,jk->ijk", counts, np.eye(counts.shape[1]))
    return np.where(raters[:, None, None] > 1, pairs / np.maximum(raters - 1, 1)[:, None, None], 0.0)


def _alphas(who: People, tags: Sequence[str], intervals: Intervals) -> Json:
    alone = (ONE if who.names else NOBODY) if len(who) < 2 else None

    def alpha(said: Any, names: Sequence[str], ordinal: bool = False) -> Json:
        """Of words (m, annotators) that are places in names, -1 none."""
        k = len(names)
        counts = np.stack([(said == value).sum(axis=1) for value in range(k)], axis=1).astype(np.float64)
        rows = counts.sum(axis=1) > 1
        if alone is not None or not rows.any():
            return undefined(alone or "no two annotators label the same solution").as_json()
        sums = Sums(who.problem[rows], coincidences(counts[rows]).reshape(-1, k * k))
        table = sums.total.reshape(k, k)

        def formula(s: Array) -> Array:
            return krippendorff_alpha(s.reshape(*s.shape[:-1], k, k), "ordinal" if ordinal else "nominal")

        used = table.sum(axis=0) / table.sum()

        def perfect(u: float) -> tuple[float, float]:
            """As if a share u of the pairs differed, with the frequencies as they are."""
            return max(-1.0, 1 - u / max(1e-9, 1 - float((used**2).sum()))), 1.0

        spread = perfect if np.trace(table) == table.sum() else None
        why = why_undefined("chance", table, names)
        return intervals.figure(sums, formula, "", why, without_spread=spread).as_json()

    verdicts = who.verdicts if len(who) else np.zeros((0, 0), dtype=np.int8)
    some = np.full_like(verdicts, -1) if who.binary else verdicts
    passes = np.where(verdicts < 0, -1, verdicts == CORRECT)
    present = np.where(np.isnan(who.tags), -1, who.tags > 0.5)
    return {
        "verdict": alpha(some, VERDICTS),
        "verdict_ordinal": alpha(some, VERDICTS, ordinal=True),
        "pass": alpha(passes, ("not passed", "passed")),
        "fallacies": {tag: alpha(present[:, :, i], ("absent", "present")) for i, tag in enumerate(tags)},
    }


# --- a judge beside them ----------------------------------------------------------------------------------------------


def by_annotator(who: People, judge: Said, terms: Terms, intervals: Intervals) -> Json:
    """The agreement of a judge with each annotator, tied solutions among them. Empty, with the reason, where it would only
    say again what the agreement with the gold says."""
    if len(who) < 2:
        return {"why": f"{ONE if who.names else NOBODY}: the agreement with the gold says it", "annotators": {}}
    if len(who) > MOST:
        return {"why": TOO_MANY, "annotators": {}}
    found = {}
    for name, said in zip(who.names, who.said, strict=True):
        problem, labels, judged = _met(who, said, judge)
        found[name] = {"shared": len(labels), **agreement(problem, labels, judged, terms, intervals)}
    return {"why": None, "annotators": found}


def _of_rows(who: People, judge: Said, missing_is_wrong: bool) -> tuple[Small, Array]:
    """The judge's verdicts (m,) and tags (m, tags) of the annotators' rows: -1 nothing, -2 a failure that counts."""
    at = judge.of_rows(who.row)
    failed = np.append(judge.failed, False)[at]
    verdict = np.where(at < 0, np.int8(-1), np.append(judge.verdict, np.int8(-1))[at]).astype(np.int8)
    if who.binary:
        verdict = passing(verdict)
    if missing_is_wrong:
        verdict = np.where(failed, np.int8(-2), verdict).astype(np.int8)
    tags = np.concatenate([judge.tags, np.full((1, judge.tags.shape[1]), np.nan)])[at]
    return verdict, np.where((at < 0)[:, None], np.nan, tags)


def alt_test_of(who: People, judge: Said, terms: Terms, how: AltTest, intervals: Intervals) -> Json:
    """The `alt_test` block of one judge, on verdicts (where some annotators only say pass or not, on that)."""
    verdict, _ = _of_rows(who, judge, terms.missing == "wrong")
    return alt_test(who.problem.astype(np.intp), who.verdicts, verdict, who.names, how, intervals)


def ceiling(who: People, judge: Said, terms: Terms, intervals: Intervals) -> Json:
    """The `ceiling` block of one judge: its agreement and the annotators' own, each the mean over the annotators left out
    in turn, and how far the judge is above them on the same solutions."""
    why = who.why_alone()
    verdict, tags = _of_rows(who, judge, terms.missing == "wrong")
    halves = [_held_against_others(who, i, verdict, tags) for i in range(len(who))] if why is None else []
    names = ("accuracy", "cohen_kappa", "pass_accuracy", "fallacy_micro_f1")
    if why is None and not any(h.rows.any() for h in halves):
        why = "no solution has this judge's word and those of two annotators"
    if why is not None:
        nothing = {name: undefined(why).as_json() for name in names}
        return {"why": why, "judge": nothing, "annotators": nothing, "difference": nothing, "by_annotator": {}}
    width = halves[0].judge.shape[1]
    used = np.any([h.rows for h in halves], axis=0)
    sums = Sums(who.problem[used], np.concatenate([x[used] for h in halves for x in (h.judge, h.annotator)], axis=1))

    def mean(formula: Formula, side: int) -> Formula:
        """The mean over those annotators for whom it is defined, of the judge (0) or of the annotators (1)."""

        def figure(s: Array) -> Array:
            each = s.reshape(*s.shape[:-1], len(halves), 2, width)[..., side, :]
            values = formula(each)
            known = np.isfinite(values)
            with np.errstate(invalid="ignore"):
                figures: Array = np.where(known, values, 0).sum(axis=-1) / known.sum(axis=-1)
            return figures

        return figure

    def formulas(name: str) -> tuple[Formula, Callable[[_Half], Bools]]:
        return {
            "accuracy": (_accuracy, lambda h: h.worded),
            "cohen_kappa": (lambda s: cohen_kappa(_table(s)[..., :-1]), lambda h: h.worded),
            "pass_accuracy": (_pass_accuracy, lambda h: h.worded),
            "fallacy_micro_f1": (lambda s: f1(s[..., CELLS : CELLS + 3]), lambda h: h.tagged),
        }[name]

    block: Json = {"why": None, "judge": {}, "annotators": {}, "difference": {}, "by_annotator": {}}
    for name in names:
        formula, rows_of = formulas(name)
        met = np.any([rows_of(h) for h in halves], axis=0)
        empty = None if met.any() else "no annotator and judge speak of the same solution"
        rests_on = int(met.sum()), len(np.unique(who.problem[met]))
        if who.binary and name in ("accuracy", "cohen_kappa"):
            empty = "the labels only say pass or not: only pass figures are comparable"
        own, human = mean(formula, 0), mean(formula, 1)
        for key, of in (("judge", own), ("annotators", human), ("difference", lambda s, a=own, b=human: a(s) - b(s))):
            block[key][name] = _figure(
                sums, of, empty, intervals, name == "cohen_kappa" or key == "difference", rests_on
            ).as_json()
    for i, name in enumerate(who.names):
        half = halves[i]
        total = np.stack([half.judge.sum(axis=0), half.annotator.sum(axis=0)])
        block["by_annotator"][name] = {
            "n": int(half.worded.sum()),
            "judge_accuracy": _or_none(_accuracy(total)[0]),
            "annotator_accuracy": _or_none(_accuracy(total)[1]),
        }
    return block


def _figure(
    sums: Sums, formula: Formula, empty: str | None, intervals: Intervals, both_ways: bool, rests_on: tuple[int, int]
) -> Estimate:
    if empty is not None:
        return undefined(empty)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(formula(sums.total))
    why = None if np.isfinite(value) else "no annotator for whom it is defined: one word only, or no tag is borne"

    def spread(u: float) -> tuple[float, float]:
        low, high = (-1.0 if both_ways else 0.0), 1.0
        return max(low, value - u), min(high, value + u)

    return intervals.figure(sums, formula, "", why, without_spread=spread, rests_on=rests_on)


def _or_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _table(s: Array) -> Array:
    return s[..., :CELLS].reshape(*s.shape[:-1], len(VERDICTS), len(VERDICTS) + 1)


def _accuracy(s: Array) -> Array:
    return accuracy(_table(s))


def _pass_accuracy(s: Array) -> Array:
    """Share on which both sides pass it, or neither does; a failure is neither."""
    table = _table(s)
    with np.errstate(divide="ignore", invalid="ignore"):
        same: Array = (table[..., CORRECT, CORRECT] + table[..., :CORRECT, :CORRECT].sum(axis=(-2, -1))) / table.sum(
            axis=(-2, -1)
        )
    return same


@dataclass(frozen=True)
class _Half:
    """Judge and one annotator against the others, (m, CELLS + 3) each: a table of verdicts, and hits of tags."""

    judge: Array
    annotator: Array
    worded: Bools
    tagged: Bools

    @property
    def rows(self) -> Bools:
        return self.worded | self.tagged


def _held_against_others(who: People, i: int, verdict: Small, tags: Array) -> _Half:
    k = len(VERDICTS)
    own, others = who.verdicts[:, i], np.delete(who.verdicts, i, axis=1)
    counts = np.stack([(others == v).sum(axis=1) for v in range(k)], axis=1)
    first = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    reference = first / np.maximum(first.sum(axis=1, keepdims=True), 1)  # those that tie count in equal parts
    worded = (own >= 0) & (verdict != -1) & first.any(axis=1)

    named, rest = who.tags[:, i], np.delete(who.tags, i, axis=1)
    heard = ~np.isnan(rest)
    share = np.where(heard, rest, 0).sum(axis=1) / np.maximum(heard.sum(axis=1), 1)
    borne = np.where(share == 0.5, 0.5, share > 0.5)  # as with verdicts: where they tie, half borne and half not
    annotated = [heard.any(axis=(1, 2)), ~np.isnan(named).any(axis=1), ~np.isnan(tags).any(axis=1)]
    tagged: Bools = np.all(annotated, axis=0)
    if tags.shape[1] == 0:
        tagged[:] = False

    def side(said: Small, marks: Array) -> Array:
        words = np.where(said < 0, k, said)
        cells = np.where(worded[:, None, None], reference[:, :, None] * (words[:, None, None] == np.arange(k + 1)), 0.0)
        claims = marks > 0.5
        hits = np.stack([borne * claims, (1 - borne) * claims, borne * ~claims], axis=-1).sum(axis=1)
        return np.concatenate([cells.reshape(-1, CELLS), np.where(tagged[:, None], hits, 0.0)], axis=1)

    return _Half(side(verdict, tags), side(own, named), worded, tagged)

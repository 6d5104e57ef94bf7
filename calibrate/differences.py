"""Differences between two judges, and between two models, on the same problems, with a paired interval.

Both sides of a pair are resampled together by problem, so that what a hard problem does to both cancels out.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrate.agreement import accuracy, cohen_kappa, weighted_kappa, why_undefined
from calibrate.columns import Said
from calibrate.gold import RIGHT, UNDECIDED, Cases
from calibrate.intervals import Array, Codes, Estimate, Formula, Intervals, Sums
from calibrate.pairs import Missing, passes, same_scale
from generate.labels import VERDICTS

Json = dict[str, Any]
MOST_PAIRS = 66
"""Of judges, or of models: with more there are no differences, and the reason is said."""


def between_judges(problem: Codes, labels: Mapping[str, Said], judges: Mapping[str, Said], missing: Missing,
                   threshold: float | None, intervals: Intervals) -> Json:  # fmt: skip
    """For each two judges, the first less the second: agreement with the human gold on the labelled solutions that both
    met. `problem` holds the problem of every solution of the study; `labels` the gold that each judge may be held
    against. Of failures `missing=leave_out` leaves the row out for both; `wrong` counts it against the judge that failed.
    """
    return _each_two(
        list(judges),
        lambda a, b: _two_judges(problem, labels[a], labels[b], judges[a], judges[b], missing, threshold, intervals),
    )


def _each_two(names: list[str], compare: Callable[[str, str], Json]) -> Json:
    """By first and second name, in order."""
    count = len(names) * (len(names) - 1) // 2
    why = f"there are {count} pairs, and at most {MOST_PAIRS} are compared" if count > MOST_PAIRS else None
    pairs: Json = {}
    for i, a in enumerate(names if why is None else ()):
        for b in names[i + 1 :]:
            pairs.setdefault(a, {})[b] = compare(a, b)
    return {"why": why, "pairs": pairs}


def _two_judges(problem: Codes, label_a: Said, label_b: Said, a: Said, b: Said, missing: Missing,
                threshold: float | None, intervals: Intervals) -> Json:  # fmt: skip
    """Where one of the judges may be held against fewer labels than the other, both are held against those."""
    gold = label_a.at(np.isin(label_a.row, label_b.row))
    at = [judge.of_rows(gold.row) for judge in (a, b)]
    met = (at[0] >= 0) & (at[1] >= 0)
    gold, sides = gold.at(met), [judge.at(i[met]) for judge, i in zip((a, b), at, strict=True)]
    if missing == "leave_out":
        both = ~(sides[0].failed | sides[1].failed)
        gold, sides = gold.at(both), [side.at(both) for side in sides]
    where = problem[gold.row]
    k = len(VERDICTS)
    three = [gold.verdict, *(side.verdict for side in sides)]
    worded = (gold.verdict >= 0) & ~gold.binary
    worded &= np.all([side.failed | (side.verdict >= 0) for side in sides], axis=0)
    known = passes(gold, threshold)
    passed = [np.where(side.failed, 1 - known, passes(side, threshold)) for side in sides]
    heard = (known >= 0) & np.all([p >= 0 for p in passed], axis=0)
    if threshold is not None:
        heard &= np.all([side.failed | same_scale(gold, side) for side in sides], axis=0)
    empty = "no labelled solution that both judges met"
    verdicts = _tables(where[worded], [x[worded] for x in three], k)
    passing = _tables(where[heard], [x[heard] for x in (known, *passed)], 2)
    return {
        "accuracy": _difference(verdicts, k, accuracy, empty, intervals, failures_count=True),
        "cohen_kappa": _difference(verdicts, k, cohen_kappa, empty, intervals),
        "weighted_kappa": _difference(verdicts, k, weighted_kappa, empty, intervals),
        "pass_accuracy": _difference(passing, 2, accuracy, empty, intervals, failures_count=True),
        "pass_kappa": _difference(passing, 2, cohen_kappa, empty, intervals),
    }


def _tables(problem: Codes, words: list[Any], k: int) -> Sums:
    """By problem the table of either judge, k x (k + 1) each: the label in rows, a failure in the last column."""
    label, *judges = words
    rows = np.zeros((len(problem), 2, k, k + 1))
    for side, said in enumerate(judges):
        rows[np.arange(len(problem)), side, label, np.where(said < 0, k, said)] = 1
    return Sums(problem, rows.reshape(len(problem), 2 * k * (k + 1)))


def _difference(
    sums: Sums, k: int, formula: Formula, empty: str, intervals: Intervals, failures_count: bool = False
) -> Json:
    def figure(s: Array) -> Array:
        tables = s.reshape(*s.shape[:-1], 2, k, k + 1)
        if failures_count:
            lost = np.zeros((*tables.shape[:-2], 1, k + 1))  # square, so that a failure is off the diagonal
            values = formula(np.concatenate([tables, lost], axis=-2))
        else:
            values = formula(tables[..., :k])
        difference: Array = values[..., 0] - values[..., 1]
        return difference

    why = None
    if sums.n and not failures_count:
        tables = sums.total.reshape(2, k, k + 1)[..., :k]
        reasons = [why_undefined("chance", t, [str(i) for i in range(k)]) for t in tables if t.sum()]
        why = "one of the two has no value: one word only" if any(reasons) or len(reasons) < 2 else None
    return _paired(sums, figure, empty, why, intervals).as_json()


def _paired(
    sums: Sums,
    figure: Formula,
    empty: str,
    why: str | None,
    intervals: Intervals,
    rests_on: tuple[int, int] | None = None,
) -> Estimate:
    n, n_problems = rests_on or (sums.n, sums.n_problems)
    value = float(figure(sums.total)) if n and why is None else 0.0

    def spread(u: float) -> tuple[float, float]:
        return max(-1.0, value - u), min(1.0, value + u)

    return intervals.figure(sums, figure, empty, why, without_spread=spread, rests_on=(n, n_problems))


def between_models(c: Cases, intervals: Intervals) -> Json:
    """For each two models, the first less the second, from the human gold: shares of the verdicts and final-answer
    accuracy, on the problems for which both have labelled solutions. Rows count by their weight."""
    groups = dict(c.model.groups())
    names = list(groups)
    return _each_two(names, lambda a, b: _two_models(c.at(groups[a]), c.at(groups[b]), intervals))


def _two_models(a: Cases, b: Cases, intervals: Intervals) -> Json:
    """All figures from the same draws of problems."""
    names = (*reversed(VERDICTS), "final_answer_accuracy")
    problems, rows, rests_on = [], [], []
    for i, name in enumerate(names):
        sides = [_rows(side, name) for side in (a, b)]
        shared = np.intersect1d(sides[0][0], sides[1][0])
        rests_on.append((sum(int(np.isin(s[0], shared).sum()) for s in sides), len(shared)))
        for place, (problem, value, weight) in enumerate(sides):
            here = np.isin(problem, shared)
            part = np.zeros((int(here.sum()), 4 * len(names)))
            at = 4 * i + 2 * place
            part[:, at], part[:, at + 1] = (value * weight)[here], weight[here]
            problems.append(problem[here])
            rows.append(part)
    sums = Sums(np.concatenate(problems), np.concatenate(rows))
    empty = "no problem has labelled solutions by both"
    return {
        name: _paired(sums, _difference_of(i), empty, None, intervals, rests_on[i]).as_json()
        for i, name in enumerate(names)
    }


def _rows(c: Cases, name: str) -> tuple[Codes, Array, Array]:
    """Problem, value in 0..1 and weight of the rows that a figure rests on."""
    if name == "final_answer_accuracy":
        of = c.has_answer & (c.answer < UNDECIDED)
        value = (c.answer == RIGHT).astype(np.float64)
    else:
        of = c.said.shares.sum(axis=1) > 0
        of &= ~c.said.binary | (name == "correct")
        value = c.said.shares[:, VERDICTS.index(name)]
    return c.problem.codes[of], value[of], c.said.weight[of]


def _difference_of(i: int) -> Formula:
    """The difference of the two means of figure i."""

    def figure(s: Array) -> Array:
        difference: Array = s[..., 4 * i] / s[..., 4 * i + 1] - s[..., 4 * i + 2] / s[..., 4 * i + 3]
        return difference

    return figure

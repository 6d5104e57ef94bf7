"""What a judge says held against what labels say: from two columns to the `agreement` block of metrics.json.

Agreement is of the labelled rows, each counted once: a sample's weights enter shares and corrections, not these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from calibrate.agreement import (
    NEVER_SAID,
    NOT_NAMED,
    Need,
    cohen_kappa,
    f1,
    gwet_ac1,
    interval_alpha,
    kendall,
    macro,
    mcc,
    pearson,
    precision,
    recall,
    spearman,
    steps,
    two_sided_alpha,
    weighted_kappa,
    why_degenerate,
    why_undefined,
)
from calibrate.calibration import Method
from calibrate.columns import Bools, Said, Small
from calibrate.estimate import Estimand
from calibrate.intervals import Array, Codes, Estimate, Formula, Intervals, Sums, ratio, undefined
from generate.labels import VERDICTS

Json = dict[str, Any]
MOST_CELLS = 50_000_000
"""A table of points larger than this (different values of either side x rows) gets no rank figures."""
CORRECT = VERDICTS.index("correct")

Missing = Literal["leave_out", "wrong"]


@dataclass(frozen=True)
class Terms:
    """How agreement is counted, and estimates are made.

    `missing=wrong` counts a judge's failure as a disagreement: in accuracy, recall and F1 of verdicts, in all pass
    figures, in exact points, and as the largest possible error in points. Figures that know no such thing (kappa of
    verdicts, precision, bias, correlations, tags) leave it out, and their n shows it.
    """

    tags: tuple[str, ...]
    missing: Missing = "leave_out"
    pass_threshold: float | None = None
    """Points from which on a solution passes; null: it passes when its verdict is `correct`."""
    estimand: Estimand = "problems"
    """What corrected estimates are about: new problems of this kind, or just the `pool` of these solutions."""
    calibration: Method = "auto"
    """How probabilities are mapped to human frequencies."""


def agreement(problem: Codes, label: Said, judge: Said, terms: Terms, intervals: Intervals) -> Json:
    """The agreement block: `verdict`, `pass`, `points`, `fallacies`. The two sides speak of the same solutions in the same
    order, and `problem` names their problems; the label's side never fails."""
    if terms.missing == "leave_out" and judge.failed.any():
        met = ~judge.failed
        problem, label, judge = problem[met], label.at(met), judge.at(met)
    return {
        "verdict": _verdict(problem, label, judge, intervals),
        "pass": _pass(problem, label, judge, terms.pass_threshold, intervals),
        "points": _points(problem, label, judge, intervals),
        "fallacies": _fallacies(problem, label, judge, terms.tags, intervals),
    }


# --- what the blocks are made of --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coded:
    """Two sides' words for n solutions, as places in `names`. The judge's is -1 where it failed, which is counted as
    another word than the label's. `empty` says why there is no row, if so it is."""

    problem: Codes
    label: Codes
    judge: Codes
    names: Sequence[str]
    empty: str
    among: "tuple[Sums, int] | None" = None
    """Sums that hold this one's cells too, and where they begin; null: it has sums of its own."""

    @property
    def k(self) -> int:
        return len(self.names)

    @property
    def width(self) -> int:
        return self.width_of(self.k)

    @staticmethod
    def width_of(k: int) -> int:
        return k * k + k

    @cached_property
    def sums(self) -> Sums:
        """By problem: the k x k cells of the table, the label in rows, then k cells for the judge's failures."""
        if self.among is not None:
            return self.among[0]
        k = self.k
        cells = np.where(self.judge < 0, k * k + self.label, self.label.astype(np.intp) * k + self.judge)
        return Sums.of_cells(self.problem, cells, self.width)

    def own(self, sums: Array) -> Array:
        """Its cells of sums (..., m): (..., k k + k)."""
        start = self.among[1] if self.among is not None else 0
        return sums[..., start : start + self.width]

    def table(self, sums: Array) -> Array:
        return self.own(sums)[..., : self.k * self.k].reshape(*sums.shape[:-1], self.k, self.k)

    def hits(self, sums: Array, word: int) -> Array:
        """True positives, false positives and false negatives of one word, (..., 3)."""
        table = self.table(sums)
        tp = table[..., word, word]
        named, borne = table[..., :, word].sum(axis=-1), table[..., word, :].sum(axis=-1)
        lost = self.own(sums)[..., self.k * self.k + word]
        return np.stack([tp, named - tp, borne + lost - tp], axis=-1)

    def all_hits(self, sums: Array) -> Array:
        """Those of all words, (..., 3 k)."""
        return np.concatenate([self.hits(sums, word) for word in range(self.k)], axis=-1)

    def same(self, intervals: Intervals) -> Estimate:
        """Share of solutions on which both say the same."""
        return intervals.share(self.problem, self.label == self.judge, self.empty)

    def chance_corrected(
        self, intervals: Intervals, formula: Formula, weights: Array, need: Need = "chance"
    ) -> Estimate:
        """A kappa, or what resembles one, of the solutions on which both say something. `weights` (k, k) says how much
        words disagree, for the interval of a judge that never did."""
        total = self.table(self.sums.total)
        both = self.judge >= 0

        def perfect(u: float) -> tuple[float, float]:
            """As if a share u disagreed as much as two can, with the frequencies as they are."""
            by_chance = np.outer(total.sum(axis=1), total.sum(axis=0)) / total.sum() ** 2
            expected = float((weights * by_chance).sum())
            return (max(-1.0, 1 - u * float(weights.max()) / expected) if expected > 0 else 1 - u), 1.0

        return intervals.figure(
            self.sums,
            lambda sums: formula(self.table(sums)),
            self.empty,
            why_undefined(need, total, self.names) if both.any() else None,
            why_degenerate(total, self.names) if need == "chance" else None,
            perfect if np.trace(total) == total.sum() else None,
            (int(both.sum()), _count(self.problem[both])),
        )  # fmt: skip

    def agreement_by_chance(self, intervals: Intervals, orders: bool = False) -> dict[str, Estimate]:
        """Figures that take off what chance gives; those that know the words' order where there is one."""
        differ = steps(self.k, 0)
        kappa = self.chance_corrected(intervals, cohen_kappa, differ)
        figures = {"cohen_kappa": kappa}
        if orders:
            linear, quadratic = steps(self.k, 1), steps(self.k, 2)
            ordinal = self.chance_corrected(intervals, lambda t: two_sided_alpha(t, "ordinal"), quadratic)
            figures |= {
                "linear_kappa": self.chance_corrected(intervals, lambda t: weighted_kappa(t, linear), linear),
                "weighted_kappa": self.chance_corrected(intervals, weighted_kappa, quadratic),
                "krippendorff_alpha_ordinal": ordinal,
            }
        alpha = self.chance_corrected(intervals, two_sided_alpha, differ)
        return figures | {
            "krippendorff_alpha": alpha,
            "gwet_ac1": self._ac1(intervals),
            "mcc": self.chance_corrected(intervals, mcc, differ, "both vary"),
        }

    def _ac1(self, intervals: Intervals) -> Estimate:
        total = self.table(self.sums.total)
        both = self.judge >= 0
        never_differ = np.trace(total) == total.sum()

        def perfect(u: float) -> tuple[float, float]:
            used = total.sum(axis=0) / total.sum()
            return max(-1.0, 1 - u / (1 - float((used * (1 - used)).sum()) / (self.k - 1))), 1.0

        return intervals.figure(
            self.sums, lambda sums: gwet_ac1(self.table(sums)), self.empty,
            without_spread=perfect if never_differ else None, rests_on=(int(both.sum()), _count(self.problem[both])),
        )  # fmt: skip

    def one_class(self, word: int, intervals: Intervals) -> dict[str, Estimate]:
        """Of one word: precision (a share of those that the judge names), recall (of those that the labels name), F1."""
        some = len(self.problem) > 0
        claimed, named = self.judge == word, self.label == word
        not_named = NOT_NAMED if some else self.empty
        return {
            "precision": intervals.share(self.problem[claimed], named[claimed], NEVER_SAID if some else self.empty),
            "recall": intervals.share(self.problem[named], claimed[named], not_named),
            "f1": self.f1(word, intervals),
        }

    def f1(self, word: int, intervals: Intervals) -> Estimate:
        """It rests on the rows that either side names."""
        some = len(self.problem) > 0
        return _f1(self.sums, lambda sums: self.hits(sums, word), NOT_NAMED if some else self.empty, intervals)

    def macros(self, intervals: Intervals) -> dict[str, Estimate]:
        return _macros(self.sums, self.all_hits, self.empty, intervals)


def _count(problems: Codes) -> int:
    """How many different ones."""
    return int((np.bincount(problems) > 0).sum()) if len(problems) else 0


def _f1(sums: Sums, hits: Formula, empty: str, intervals: Intervals) -> Estimate:
    """F1 of the counts that `hits` takes from sums; it rests on the rows that either side names."""
    total = hits(sums.total)
    tp, fp, fn = total
    rests_on = int(total.sum()), int((hits(sums.by_problem).sum(axis=-1) > 0).sum())

    def perfect(u: float) -> tuple[float, float]:
        """F1 = 2 J / (1 + J), where J is the share that both sides name of what either names."""
        return 2 * (1 - u) / (2 - u), 1.0

    def hopeless(u: float) -> tuple[float, float]:
        return 0.0, 2 * u / (1 + u)

    spread = hopeless if tp == 0 else perfect if fp + fn == 0 else None
    why = why_undefined("support", total)
    return intervals.figure(sums, lambda s: f1(hits(s)), empty, why, without_spread=spread, rests_on=rests_on)


def _part(hits: Formula, start: int) -> Formula:
    """Three numbers of those that `hits` takes."""
    return lambda sums: hits(sums)[..., start : start + 3]


def _macros(sums: Sums, hits: Formula, empty: str, intervals: Intervals) -> dict[str, Estimate]:
    """Mean precision, recall and F1 over the classes that the labels bear, from `hits` (..., 3 k)."""
    each = hits(sums.total).reshape(-1, 3)
    why = why_undefined("support", each.sum(axis=0)) if sums.n else None
    borne = [i for i in range(len(each)) if each[i, 0] + each[i, 2] > 0]
    constant = all(each[i, 0] == 0 or each[i, 1:].sum() == 0 for i in borne)

    def without_spread(_: float) -> tuple[float, float] | None:
        """The mean of the classes' own intervals of F1; null where one of them has none."""
        own = [_f1(sums, _part(hits, 3 * i), "", intervals) for i in borne]
        lows, highs = [e.low for e in own if e.low is not None], [e.high for e in own if e.high is not None]
        return (float(np.mean(lows)), float(np.mean(highs))) if len(lows) == len(highs) == len(own) else None

    def mean(formula: Callable[[Array], Array]) -> Estimate:
        spread = without_spread if constant else None
        found = intervals.figure(sums, lambda s: macro(formula, hits(s)), empty, why, without_spread=spread)
        return replace(found, over=len(borne))

    return {"macro_precision": mean(precision), "macro_recall": mean(recall), "macro_f1": mean(f1)}


def _empty(rows: int, what: str, labelled: bool) -> str:
    if not rows:
        return "no solution has both a label and this judge's verdict"
    return f"no {what} by this judge" if labelled else f"no {what} in the labels"


def _json(figures: dict[str, Estimate]) -> Json:
    return {name: estimate.as_json() for name, estimate in figures.items()}


def same_scale(label: Said, judge: Said) -> Bools:
    """Rows whose points are out of the same; those that do not tell are trusted."""
    same: Bools = np.isnan(label.max_points) | np.isnan(judge.max_points) | (label.max_points == judge.max_points)
    return same


# --- the blocks -------------------------------------------------------------------------------------------------------


def _verdict(problem: Codes, label: Said, judge: Said, intervals: Intervals) -> Json:
    labelled = (label.verdict >= 0) & ~label.binary
    rows = labelled & (judge.failed | (judge.verdict >= 0))
    empty = _empty(len(label), "verdict", bool(labelled.any()))
    if not labelled.any() and label.binary.any():
        empty = "the labels only say pass or not: only pass figures are comparable"
    coded = Coded(problem[rows], label.verdict[rows], judge.verdict[rows], VERDICTS, empty)
    figures = {"accuracy": coded.same(intervals)} | coded.agreement_by_chance(intervals, orders=True)
    support = np.bincount(coded.label, minlength=coded.k).tolist()
    return _json(figures | coded.macros(intervals)) | {
        "labels": list(VERDICTS),
        "confusion": coded.table(coded.sums.total).astype(int).tolist(),
        "by_class": {v: _json(coded.one_class(i, intervals)) | {"support": support[i]} for i, v in enumerate(VERDICTS)},
    }


def passes(said: Said, threshold: float | None) -> Small:
    """Whether each solution passes, as one side has it: 1 or 0; -1 where that side does not say."""
    with np.errstate(invalid="ignore"):
        known = said.verdict >= 0 if threshold is None else ~np.isnan(said.points)
        passing = said.verdict == CORRECT if threshold is None else said.points >= threshold
    return np.where(known, passing, -1).astype(np.int8)


def _pass(problem: Codes, label: Said, judge: Said, threshold: float | None, intervals: Intervals) -> Json:
    known, judged = passes(label, threshold), passes(judge, threshold)
    judged = np.where(judge.failed & (known >= 0), 1 - known, judged)
    rows = (known >= 0) & (judged >= 0)
    if threshold is not None:
        rows &= judge.failed | same_scale(label, judge)
    empty = _empty(len(label), "verdict" if threshold is None else "points", bool((known >= 0).any()))
    coded = Coded(problem[rows], known[rows], judged[rows], ("not passed", "passed"), empty)
    figures = {"accuracy": coded.same(intervals)} | coded.agreement_by_chance(intervals)
    return _json(figures | coded.one_class(1, intervals)) | {"threshold": threshold}


def _points(problem: Codes, label: Said, judge: Said, intervals: Intervals) -> Json:
    labelled = ~np.isnan(label.points)
    judged = labelled & ~np.isnan(judge.points) & ~judge.failed
    both = judged & same_scale(label, judge)
    rows = both | (labelled & judge.failed)
    empty = _empty(len(label), "points", bool(labelled.any()))
    if judged.any() and not both.any():
        empty = "the judge's points are on another scale than the labels'"

    x, y, top, at = label.points[rows], judge.points[rows], label.max_points[rows], problem[rows]
    apart = np.where(judge.failed[rows], top, np.abs(y - x))
    no_top = "the labels do not say how many points there are" if np.isnan(top).any() else None
    all_exact = len(at) > 0 and not apart.any()
    most = float(top.max()) if len(at) and no_top is None else None

    share_of_top = np.divide(apart, top, out=np.full(len(at), np.nan), where=top > 0)
    errors = Sums(at, np.stack([apart, share_of_top, np.ones(len(at))], axis=-1))
    difference = (judge.points - label.points)[both]
    known = all_exact and most is not None
    figures = {
        "exact": intervals.share(at, apart == 0, empty),
        "mae": intervals.figure(
            errors, lambda s: ratio(s[..., [0, 2]]), empty, no_top if np.isnan(apart).any() else None,
            without_spread=(lambda u: (0.0, u * most)) if known else None,  # type: ignore[operator]
        ),
        "nmae": intervals.figure(
            errors, lambda s: ratio(s[..., 1:]), empty, no_top, without_spread=(lambda u: (0.0, u)) if all_exact else None
        ),
        "bias": intervals.figure(
            Sums(problem[both], np.stack([difference, np.ones(len(difference))], axis=-1)), ratio, empty,
            without_spread=(lambda u: (-u * most, u * most)) if known else None,  # type: ignore[operator]
        ),
        **_correlations(problem[both], label.points[both], judge.points[both], empty, intervals),
    }  # fmt: skip
    return _json(figures)


def _correlations(problem: Codes, label: Array, judge: Array, empty: str, intervals: Intervals) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall from the table of how often each two points meet."""
    x, y = np.unique(label), np.unique(judge)
    shape = (len(x), len(y))
    if len(x) * len(y) * len(problem) > MOST_CELLS:
        return dict.fromkeys(("pearson", "spearman", "kendall"), undefined("too many different points"))
    cells = np.searchsorted(x, label) * len(y) + np.searchsorted(y, judge)
    sums = Sums.of_cells(problem, cells, len(x) * len(y))
    why = why_undefined("spread", sums.total.reshape(shape)) if sums.n else None

    def on(formula: Formula) -> Formula:
        return lambda flat: formula(flat.reshape(*flat.shape[:-1], *shape))

    formulas: dict[str, Formula] = {
        "pearson": on(lambda table: pearson(table, x, y)),
        "spearman": on(spearman),
        "kendall": on(kendall),
    }

    def perfect(u: float) -> tuple[float, float]:
        """As if a share u were guesses, which leaves 1 - u of the correlation."""
        return (1 - u, 1.0) if rising else (-1.0, u - 1)

    figures = {"krippendorff_alpha": _interval_alpha(problem, label, judge, empty, why, intervals)}
    for name, formula in formulas.items():
        value = None if why or not sums.n else float(formula(sums.total))
        rising = value is not None and value > 0
        spread = perfect if value is not None and abs(value) > 1 - 1e-9 else None
        figures[name] = intervals.figure(sums, formula, empty, why, without_spread=spread)
    return figures


def _interval_alpha(
    problem: Codes, label: Array, judge: Array, empty: str, constant: str | None, intervals: Intervals
) -> Estimate:
    """Krippendorff's alpha of points as numbers. `constant`: why one side's points say little."""
    used = np.unique(np.concatenate([label, judge]))
    squares = np.stack([(label - judge) ** 2, label + judge, label**2 + judge**2, np.full(len(label), 2.0)], axis=-1)
    sums = Sums(problem, squares)
    why = why_undefined("chance", np.array([[len(label)]]), [f"{used[0]:g} points"]) if len(used) == 1 else None

    def perfect(u: float) -> tuple[float, float]:
        """As if a share u were as far apart as two can be, with the points as they are."""
        return max(-1.0, 1 - u * float(np.ptp(used)) ** 2 / (2 * float(label.var()))), 1.0

    never_apart = len(label) > 0 and not sums.total[0]
    spread = perfect if never_apart else None
    return intervals.figure(sums, interval_alpha, empty, why, constant, spread)


def _fallacies(problem: Codes, label: Said, judge: Said, tags: Sequence[str], intervals: Intervals) -> Json:
    """Where people tie on a tag there is no gold of it: the solution has no part in that tag's figures, and the tag none in
    the solution's set."""
    labelled = label.tagged
    rows = labelled & judge.tagged
    empty = _empty(len(label), "fallacy tags", bool(labelled.any()))
    known = ~label.tied_tags[rows]
    at, a, b = problem[rows], label.tags[rows] > 0.5, (judge.tags[rows] > 0.5) & known
    some = len(at) > 0
    union = (a | b).sum(axis=1)
    shared = np.divide((a & b).sum(axis=1), union, out=np.ones(len(at)), where=union > 0)  # two empty sets are the same
    each = []
    for i in range(len(tags)):
        of = known[:, i]
        why = "people tie on it wherever they annotate it" if some and not of.any() else empty
        each.append(Coded(at[of], a[of, i].astype(np.int8), b[of, i].astype(np.int8), ("absent", "present"), why))
    width = Coded.width_of(2)
    # What nobody settled goes to a cell of its own, which no figure reads.
    cells = [np.where(known[:, i], 2 * a[:, i] + b[:, i], width) for i in range(len(tags))]
    parts = [Sums.of_cells(at, of, width + 1) for of in cells]
    joint = Sums.beside([*parts, Sums(at, np.stack([shared, np.ones(len(at))], axis=-1))])
    each = [replace(coded, among=(joint, i * (width + 1))) for i, coded in enumerate(each)]
    block: Json = {}
    for tag, coded in zip(tags, each, strict=True):
        figures = {
            **coded.one_class(1, intervals),
            "kappa": coded.chance_corrected(intervals, cohen_kappa, steps(2, 0)),
            "prevalence": intervals.share(coded.problem, coded.label == 1, coded.empty),
        }
        block[tag] = _json(figures) | {"support": int(coded.label.sum())}

    spreads = {1.0: lambda u: (1 - u, 1.0), 0.0: lambda u: (0.0, u)}
    spread = spreads.get(float(shared[0])) if some and (shared == shared[0]).all() else None

    def all_hits(sums: Array) -> Array:
        return np.concatenate([coded.hits(sums, 1) for coded in each], axis=-1)

    def pooled(sums: Array) -> Array:
        of_all: Array = np.sum([coded.hits(sums, 1) for coded in each], axis=0)
        return of_all

    claimed, present = b.ravel(), a.ravel()
    at_each = np.repeat(at, len(tags))
    not_named = NOT_NAMED if some else empty
    overall = {
        "micro_precision": intervals.share(at_each[claimed], present[claimed], NEVER_SAID if some else empty),
        "micro_recall": intervals.share(at_each[present], claimed[present], not_named),
        "micro_f1": _f1(joint, pooled, not_named, intervals),
        **_macros(joint, all_hits, empty, intervals),
        "jaccard": intervals.figure(joint, lambda sums: ratio(sums[..., -2:]), empty, without_spread=spread),
        "exact": intervals.share(at, (a == b).all(axis=1), empty),
    }
    return block | _json(overall)

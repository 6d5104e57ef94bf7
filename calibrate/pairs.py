"""What a judge says held against what labels say: from pairs to the `agreement` block of metrics.json."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrate.agreement import (
    NOT_NAMED,
    cohen_kappa,
    f1,
    kendall,
    macro_f1,
    pearson,
    spearman,
    weighted_kappa,
    why_degenerate,
    why_undefined,
)
from calibrate.intervals import Array, Estimate, Formula, Intervals, Sums, ratio, undefined
from generate.labels import VERDICTS

Json = dict[str, Any]
MOST_CELLS = 50_000_000
"""A table of points larger than this (different values of either side x rows) gets no rank figures."""


@dataclass(frozen=True)
class Said:
    """What one side says of one solution."""

    verdict: str | None = None
    binary: bool = False
    """Only pass (`correct`) or not was said."""
    points: float | None = None
    max_points: float | None = None
    tags: frozenset[str] | None = None
    """Null: not annotated."""


@dataclass(frozen=True)
class Pair:
    """One labelled solution, and what the judge says of it; null where the judge failed on it."""

    problem: str
    label: Said
    judge: Said | None


Missing = Literal["leave_out", "wrong"]


@dataclass(frozen=True)
class Terms:
    """How agreement is counted.

    `missing=wrong` counts a judge's failure as a disagreement: in accuracy, recall and F1 of verdicts, in all pass
    figures, in exact points, and as the largest possible error in points. Figures that know no such thing (kappa of
    verdicts, precision, bias, correlations, tags) leave it out, and their n shows it.
    """

    tags: tuple[str, ...]
    missing: Missing = "leave_out"
    pass_threshold: float | None = None
    """Points from which on a solution passes; null: it passes when its verdict is `correct`."""


def agreement(pairs: Sequence[Pair], terms: Terms, intervals: Intervals) -> Json:
    """The agreement block: `verdict`, `pass`, `points`, `fallacies`."""
    if terms.missing == "leave_out":
        pairs = [p for p in pairs if p.judge is not None]
    return {
        "verdict": _verdict(pairs, intervals),
        "pass": _pass(pairs, terms.pass_threshold, intervals),
        "points": _points(pairs, intervals),
        "fallacies": _fallacies(pairs, terms.tags, intervals),
    }


# --- what the blocks are made of --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """Two sides' words for the same solutions, in the same order. `empty` says why there are none, if so it is."""

    problems: list[str]
    label: list[Any]
    judge: list[Any]
    empty: str

    def about(self, value: Any) -> "Column":
        """Whether each side says `value`."""
        return Column(self.problems, [a == value for a in self.label], [b == value for b in self.judge], self.empty)

    def hits(self) -> Array:
        """Of true-or-false words: rows (n, 3) of true positive, false positive, false negative."""
        label, judge = np.array(self.label, dtype=bool), np.array(self.judge, dtype=bool)
        return np.stack([label & judge, ~label & judge, label & ~judge], axis=-1).astype(np.float64).reshape(-1, 3)

    def table(self, rows: Sequence[Any], columns: Sequence[Any]) -> Sums:
        """Sums whose total is the table of counts, flattened: the label's word in rows, the judge's in columns."""
        at_row, at_column = ({value: i for i, value in enumerate(side)} for side in (rows, columns))
        cells = np.zeros((len(self.problems), len(rows) * len(columns)))
        for i, (a, b) in enumerate(zip(self.label, self.judge, strict=True)):
            cells[i, at_row[a] * len(columns) + at_column[b]] = 1
        return Sums(self.problems, cells)

    def same(self, intervals: Intervals) -> Estimate:
        """Share of solutions on which both say the same."""
        return intervals.share(self.problems, [a == b for a, b in zip(self.label, self.judge, strict=True)], self.empty)

    def kappa(
        self, labels: Sequence[Any], intervals: Intervals, names: Sequence[str] = (), weighted: bool = False
    ) -> Estimate:
        k, names = len(labels), names or labels
        sums = self.table(labels, labels)
        table = sums.total.reshape(k, k)
        steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        weights = steps**2 if weighted else np.sign(steps)

        def perfect(u: float) -> tuple[float, float]:
            """As if a share u disagreed as much as two can, with the frequencies as they are."""
            by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
            return max(-1.0, 1 - u * float(weights.max() / (weights * by_chance).sum())), 1.0

        return intervals.figure(
            sums,
            _on(weighted_kappa if weighted else cohen_kappa, (k, k)),
            self.empty,
            why_undefined("chance", table, names),
            why_degenerate(table, names),
            perfect if np.trace(table) == table.sum() else None,
        )

    def one_class(self, intervals: Intervals) -> dict[str, Estimate]:
        """Of true-or-false words: precision (a share of those that the judge names), recall (of those that the labels
        name), and F1."""
        claimed = [(p, a) for p, a, b in zip(self.problems, self.label, self.judge, strict=True) if b]
        named = [(p, b) for p, a, b in zip(self.problems, self.label, self.judge, strict=True) if a]
        never = "the judge never says it" if self.problems else self.empty
        not_named = NOT_NAMED if self.problems else self.empty
        return {
            "precision": intervals.share([p for p, _ in claimed], [a for _, a in claimed], never),
            "recall": intervals.share([p for p, _ in named], [b for _, b in named], not_named),
            "f1": _f1(self.problems, self.hits(), not_named, intervals),
        }


def _f1(problems: Sequence[str], hits: Array, empty: str, intervals: Intervals) -> Estimate:
    """F1 of rows (n, 3), as `Column.hits` gives them; it rests on the rows that either side names."""
    some = hits.sum(axis=1) > 0
    sums = Sums([p for p, s in zip(problems, some, strict=True) if s], hits[some])
    tp, fp, fn = sums.total

    def perfect(u: float) -> tuple[float, float]:
        """F1 = 2 J / (1 + J), where J is the share that both sides name of what either names."""
        return 2 * (1 - u) / (2 - u), 1.0

    def hopeless(u: float) -> tuple[float, float]:
        return 0.0, 2 * u / (1 + u)

    spread = hopeless if tp == 0 else perfect if fp + fn == 0 else None
    return intervals.figure(sums, f1, empty, why_undefined("support", sums.total), without_spread=spread)


def _macro_f1(problems: Sequence[str], hits: Sequence[Array], empty: str, intervals: Intervals) -> Estimate:
    """Mean F1 over the classes that the labels bear."""
    sums = Sums(problems, np.concatenate(hits, axis=1))
    why = why_undefined("support", np.sum(hits, axis=(0, 1)))
    borne = [h for h in hits if h[:, 0].sum() + h[:, 2].sum() > 0]

    def without_spread(_: float) -> tuple[float, float] | None:
        """The mean of the classes' own intervals; null where one of them has none."""
        each = [_f1(problems, h, "", intervals) for h in borne]
        lows, highs = [e.low for e in each if e.low is not None], [e.high for e in each if e.high is not None]
        return (float(np.mean(lows)), float(np.mean(highs))) if len(lows) == len(highs) == len(each) else None

    constant = all(h[:, 0].sum() == 0 or h[:, 1:].sum() == 0 for h in borne)
    return intervals.figure(sums, macro_f1, empty, why, without_spread=without_spread if constant else None)


def _on(formula: Callable[[Array], Array], shape: tuple[int, int]) -> Formula:
    """The formula for a table, as one for its flattened form."""
    return lambda flat: formula(flat.reshape(*flat.shape[:-1], *shape))


def _empty(pairs: Sequence[Pair], what: str, labelled: bool) -> str:
    if not pairs:
        return "no solution has both a label and this judge's verdict"
    return f"no {what} by this judge" if labelled else f"no {what} in the labels"


def _json(figures: dict[str, Estimate]) -> Json:
    return {name: estimate.as_json() for name, estimate in figures.items()}


def _same_scale(label: Said, judge: Said) -> bool:
    return label.max_points is None or judge.max_points is None or label.max_points == judge.max_points


# --- the blocks -------------------------------------------------------------------------------------------------------


def _verdict(pairs: Sequence[Pair], intervals: Intervals) -> Json:
    labelled = [p for p in pairs if p.label.verdict is not None and not p.label.binary]
    rows = [p for p in labelled if p.judge is None or p.judge.verdict is not None]
    empty = _empty(pairs, "verdict", bool(labelled))
    if not labelled and any(p.label.binary for p in pairs):
        empty = "the labels only say pass or not: only pass figures are comparable"

    def column(of: Sequence[Pair]) -> Column:
        judge = [p.judge.verdict if p.judge else None for p in of]
        return Column([p.problem for p in of], [p.label.verdict for p in of], judge, empty)

    with_lost, both = column(rows), column([p for p in rows if p.judge])
    hits = [with_lost.about(v).hits() for v in VERDICTS]
    figures = {
        "accuracy": with_lost.same(intervals),
        "cohen_kappa": both.kappa(VERDICTS, intervals),
        "weighted_kappa": both.kappa(VERDICTS, intervals, weighted=True),
        "macro_f1": _macro_f1(with_lost.problems, hits, empty, intervals),
    }
    confusion = both.table(VERDICTS, VERDICTS).total.reshape(len(VERDICTS), -1)
    return _json(figures) | {
        "labels": list(VERDICTS),
        "confusion": confusion.astype(int).tolist(),
        "by_class": {
            v: _json(with_lost.about(v).one_class(intervals)) | {"support": with_lost.label.count(v)} for v in VERDICTS
        },
    }


def passes(said: Said, threshold: float | None) -> bool | None:
    """Whether a solution passes, as one side has it; null where that side does not say."""
    if threshold is None:
        return None if said.verdict is None else said.verdict == "correct"
    return None if said.points is None else said.points >= threshold


def _pass(pairs: Sequence[Pair], threshold: float | None, intervals: Intervals) -> Json:
    rows, labelled = [], False
    for pair in pairs:
        known = passes(pair.label, threshold)
        labelled = labelled or known is not None
        judged = (not known) if pair.judge is None else passes(pair.judge, threshold)
        comparable = threshold is None or pair.judge is None or _same_scale(pair.label, pair.judge)
        if known is not None and judged is not None and comparable:
            rows.append((pair.problem, known, judged))
    empty = _empty(pairs, "verdict" if threshold is None else "points", labelled)
    column = Column([p for p, _, _ in rows], [a for _, a, _ in rows], [b for _, _, b in rows], empty)
    figures = {
        "accuracy": column.same(intervals),
        "cohen_kappa": column.kappa((False, True), intervals, ("not passed", "passed")),
        **column.one_class(intervals),
    }
    return _json(figures) | {"threshold": threshold}


def _points(pairs: Sequence[Pair], intervals: Intervals) -> Json:
    labelled = [p for p in pairs if p.label.points is not None]
    judged = [p for p in labelled if p.judge and p.judge.points is not None]
    both = [p for p in judged if p.judge and _same_scale(p.label, p.judge)]
    lost = [p for p in labelled if p.judge is None]
    empty = _empty(pairs, "points", bool(labelled))
    if judged and not both:
        empty = "the judge's points are on another scale than the labels'"
    x = [float(p.label.points or 0) for p in both]
    y = [float(p.judge.points or 0) for p in both if p.judge]
    joint = Column([p.problem for p in both], x, y, empty)

    problems = [p.problem for p in both + lost]
    top = np.array([float(p.label.max_points or np.nan) for p in both + lost])
    apart = np.concatenate([np.abs(np.array(y) - np.array(x)), top[len(both) :]])
    ones = np.ones(len(problems))
    no_top = "the labels do not say how many points there are" if np.isnan(top).any() else None
    all_exact = bool(problems) and not apart.any()
    most = float(top.max()) if problems and no_top is None else None

    figures = {
        "exact": intervals.share(problems, (apart == 0).tolist(), empty),
        "mae": intervals.figure(
            Sums(problems, np.stack([apart, ones], axis=-1)),
            ratio,
            empty,
            no_top if np.isnan(apart).any() else None,
            without_spread=(lambda u: (0.0, u * most)) if all_exact and most is not None else None,
        ),
        "nmae": intervals.figure(
            Sums(problems, np.stack([apart / top, ones], axis=-1)),
            ratio,
            empty,
            no_top,
            without_spread=(lambda u: (0.0, u)) if all_exact else None,
        ),
        "bias": intervals.figure(
            Sums(joint.problems, np.stack([np.array(y) - np.array(x), np.ones(len(both))], axis=-1)),
            ratio,
            empty,
            without_spread=(lambda u: (-u * most, u * most)) if all_exact and most is not None else None,
        ),
        **_correlations(joint, intervals),
    }
    return _json(figures)


def _correlations(joint: Column, intervals: Intervals) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall from the table of how often each two points meet."""
    x, y = sorted(set(joint.label)), sorted(set(joint.judge))
    shape = (len(x), len(y))
    if len(x) * len(y) * len(joint.problems) > MOST_CELLS:
        return dict.fromkeys(("pearson", "spearman", "kendall"), undefined("too many different points"))
    sums = joint.table(x, y)
    why = why_undefined("spread", sums.total.reshape(shape))
    formulas: dict[str, Formula] = {
        "pearson": lambda table: pearson(table, np.array(x), np.array(y)),
        "spearman": spearman,
        "kendall": kendall,
    }

    def perfect(u: float) -> tuple[float, float]:
        """As if a share u were guesses, which leaves 1 - u of the correlation."""
        return (1 - u, 1.0) if rising else (-1.0, u - 1)

    figures = {}
    for name, formula in formulas.items():
        value = None if why or not sums.n else float(_on(formula, shape)(sums.total))
        rising = value is not None and value > 0
        spread = perfect if value is not None and abs(value) > 1 - 1e-9 else None
        figures[name] = intervals.figure(sums, _on(formula, shape), joint.empty, why, without_spread=spread)
    return figures


def _fallacies(pairs: Sequence[Pair], tags: Sequence[str], intervals: Intervals) -> Json:
    labelled = [p for p in pairs if p.label.tags is not None]
    rows = [
        (p.problem, p.label.tags, p.judge.tags)
        for p in labelled
        if p.label.tags is not None and p.judge and p.judge.tags is not None
    ]
    empty = _empty(pairs, "fallacy tags", bool(labelled))
    problems = [p for p, _, _ in rows]
    columns = {
        tag: Column(problems, [tag in a for _, a, _ in rows], [tag in b for _, _, b in rows], empty) for tag in tags
    }
    block: Json = {}
    for tag, column in columns.items():
        figures = {
            **column.one_class(intervals),
            "kappa": column.kappa((False, True), intervals, ("absent", "present")),
            "prevalence": intervals.share(problems, column.label, empty),
        }
        block[tag] = _json(figures) | {"support": sum(column.label)}

    hits = [column.hits() for column in columns.values()]
    pooled = np.sum(hits, axis=0)
    shared = [len(a & b) / len(a | b) if a | b else 1.0 for _, a, b in rows]  # two empty sets are the same set
    spread = {1.0: lambda u: (1 - u, 1.0), 0.0: lambda u: (0.0, u)}.get(shared[0]) if len(set(shared)) == 1 else None
    overall = {
        "micro_f1": _f1(problems, pooled, NOT_NAMED if rows else empty, intervals),
        "macro_f1": _macro_f1(problems, hits, empty, intervals),
        "jaccard": intervals.figure(
            Sums(problems, np.array([[j, 1.0] for j in shared]).reshape(-1, 2)),
            ratio,
            empty,
            without_spread=spread,
        ),
        "exact": intervals.share(problems, [a == b for _, a, b in rows], empty),
    }
    return block | _json(overall)

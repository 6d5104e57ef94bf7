"""What humans would say of all solutions, estimated from a judge's verdicts on all and human labels on some.

Never human gold: every figure that comes from here is named an estimate.

**Corrected**: prediction-powered inference, PPI++ (Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453): the labelled
mean, moved by lambda times how much the judge's mean over all solutions differs from its mean over the labelled ones.
It is right on average whatever the judge is worth; a good judge makes it narrow, and for a useless one lambda goes to 0,
which leaves the labelled mean. One lambda for the three verdicts keeps their sum at one.

**Inverted**: the confusion matrix inverted (Rogan & Gladen 1978, Am. J. Epidemiol. 107:71), as a cross-check.

What an interval is about, the estimand, is one of two. `problems`: new problems of this kind; labelled and unlabelled
solutions vary together, problem by problem, for a problem has both. `pool`: just these solutions; only which of them
were labelled is left to chance.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrate.intervals import Array, Codes, degrees_of_freedom, share_interval, t_quantile

Estimand = Literal["problems", "pool"]
FEWEST_LABELLED, FEWEST_LABELLED_PROBLEMS = 30, 10
"""With fewer labels than these there is no correction."""
FEWEST_IN_CELL = 5
"""Models with fewer labelled solutions than this are weighted together."""
LEAST_APART = 0.1
"""Smallest singular value of a confusion matrix (rows sum to 1) that is inverted."""
FLOOR = 0.2
"""So much of an observation of either kind of error (seen and not there, there and not seen) is added to the variance: a
judge that erred on none of the labelled rows is not known to err never. Agresti & Min 2005 (Stat. Med. 24:729) add a
half to intervals of normal form; with the t quantiles here `scripts/bench/coverage.py` finds that a fifth is enough."""


def count_of(codes: Codes) -> int:
    """How many different codes there are."""
    return int((np.bincount(codes) > 0).sum())


def why_too_few(problems: Codes) -> str | None:
    """Why labelled rows of these problems are too few to correct or calibrate a judge by; null where they are not."""
    n, n_problems = len(problems), count_of(problems)
    if n >= FEWEST_LABELLED and n_problems >= FEWEST_LABELLED_PROBLEMS:
        return None
    rows, of = f"{n} labelled solution{'' if n == 1 else 's'}", f"{n_problems} problem{'' if n_problems == 1 else 's'}"
    return f"only {rows} of {of}: {FEWEST_LABELLED} of {FEWEST_LABELLED_PROBLEMS} problems are needed"


class Units:
    """N solutions that a judge was asked about, counted by problem and cell. A cell is a model: labelled solutions are
    weighted so that each model has its share of all N. The formulas need no more of the N than sums over units, which is
    what makes a million of them cheap."""

    def __init__(self, problems: Codes, cells: Codes):
        self.problem, self.n_problems = _without_gaps(problems)
        self.cell, self.n_cells = _without_gaps(cells)
        self.size = len(problems)
        self._code = self.problem * self.n_cells + self.cell
        self.count = self.sums(None)

    def sums(self, values: Array | None) -> Array:
        """(problems, cells): sums of (N,) values; counts without any."""
        count = self.n_problems * self.n_cells
        sums = np.bincount(self._code, values, minlength=count).astype(np.float64)
        return sums.reshape(self.n_problems, self.n_cells)


def _without_gaps(codes: Codes) -> tuple[NDArray[np.intp], int]:
    there = np.bincount(codes) > 0
    if there.all():
        return codes.astype(np.intp), len(there)
    return (np.cumsum(there) - 1)[codes], int(there.sum())


@dataclass(frozen=True)
class Rows:
    """N solutions, n of them labelled."""

    units: Units
    labelled: NDArray[np.intp]
    """(n,) which of the N are labelled."""
    weights: Array
    """(n,) inclusion weights of the labelled ones, above 0."""
    one_by_one: bool = False
    """Solutions were drawn for labelling one by one, not whole problems. Counts for the estimand `pool` alone."""
    strata: Codes | None = None
    """(n,) strata that the labelled ones were drawn from. Counts for the estimand `pool` alone: other problems would
    fall into strata in other numbers."""

    @property
    def problem(self) -> NDArray[np.intp]:
        """(n,) of the labelled ones."""
        return self.units.problem[self.labelled]


@dataclass(frozen=True)
class Corrected:
    """K means with what their intervals come from."""

    value: Array
    """(K,)"""
    scores: Array
    """(units, K): what each problem (or solution, see `Rows.one_by_one`) adds to the error; the sum of squares is the
    variance."""
    labelled: NDArray[np.bool_] | None
    """(units,) whether the unit has labelled rows; null: all have."""
    floor: float
    """Variance for errors of the judge that are too rare to be seen among the labels."""
    lam: float
    """Lambda of PPI++, 0 to 1."""
    most: Array
    """(K,) the most rows that each mean may count for: as many as with a judge that never errs. Labels without a single
    case count problems."""
    nearest: float
    """Half a labelled row as a share: from shares nearer to 0 or 1 than this no effective number of rows is taken."""

    def share(self, k: int) -> tuple[float, float]:
        """95% interval of mean k, a share."""
        return self.interval(float(self.value[k]), self.scores[:, k], float(self.most[k]))

    def ratio(self) -> "Corrected | None":
        """The first mean over the second, by the delta method; null where the second is not above 0."""
        above, below = float(self.value[0]), float(self.value[1])
        if below <= 0:
            return None
        value, scores = above / below, (self.scores[:, 0] - above / below * self.scores[:, 1]) / below
        floor, most = self.floor / below**2, self.most[:1] * min(1.0, below)
        return replace(self, value=np.array([value]), scores=scores[:, None], floor=floor, most=most)

    def of_one(self) -> "Corrected":
        """The K shares of one whole. Where verdicts failed the predictions miss a part of it, and what the shares miss
        of one is spread evenly; else this changes nothing. None is below 0: they are the nearest such shares."""
        scores = self.scores - self.scores.mean(axis=1, keepdims=True)
        return replace(self, value=_nearest_shares(self.value), scores=scores)

    def interval(self, value: float, scores: Array, most: float) -> tuple[float, float]:
        """95% interval in Wilson's form: n is value (1 - value) / variance, at most `most`, and in the place of the normal
        quantile stands that of t. Its degrees of freedom come from those of the two parts of the variance, labelled
        problems (`degrees_of_freedom`) and others (Welch 1947, Biometrika 34:28)."""
        ours = scores if self.labelled is None else scores[self.labelled]
        others = scores[:0] if self.labelled is None else scores[~self.labelled]
        v1, v2 = float(np.square(ours).sum()) + self.floor, float(np.square(others).sum())
        d1, d2 = degrees_of_freedom(ours, len(ours) - 1), max(1.0, len(others) - 1)
        df = (v1 + v2) ** 2 / (v1**2 / d1 + v2**2 / d2) if v1 + v2 > 0 else d1
        return share_interval(value, v1 + v2, df, most, self.nearest)


def corrected(rows: Rows, y: Array, f: Array, estimand: Estimand = "problems") -> Corrected:
    """PPI++ for K means. `y` (n, K) is what humans say of the labelled rows, `f` (N, K) what the judge says of all:
    zeros where it failed. With one solution a problem, one model and equal weights, value and lambda are those of the
    paper's formulas, and the variance is too, but for the factor P / (P - 1) of a sum over P problems, and the floor."""
    weighted = _weighted(rows)
    mine, in_cell, weights = weighted.cell, weighted.count.sum(axis=0), weighted.weights
    n, size, cells = len(rows.labelled), rows.units.size, len(in_cell)
    fl, sums = f[rows.labelled], weighted.sums(rows.units, f)  # (n, K), (problems, cells, K)
    mean_f = sums.sum(axis=0) / in_cell[:, None]
    mean_y, mean_fl = _means(mine, y, cells, weights), _means(mine, fl, cells, weights)

    squares = sum(float(np.square(column).sum()) for column in f.T) - float((in_cell[:, None] * mean_f**2).sum())
    lam = _lambda(y - mean_y[mine], fl - mean_fl[mine], weights, squares / max(1, size - 1), size)
    on_all = lam * size / max(1, size - n)  # lambda, where all rows stand in the place of the unlabelled ones
    of_cell = mean_y + on_all * (mean_f - mean_fl)
    value: Array = (in_cell[:, None] * of_cell).sum(axis=0) / size
    errors = (weights / size)[:, None] * (y - mean_y[mine] - on_all * (fl - mean_fl[mine]))
    rare = FLOOR * lam * (1 + lam**2) / n
    worth = np.where(np.ptp(y, axis=0) > 0, n, count_of(rows.problem))
    if estimand == "pool":
        scores, unseen = _of_pool(rows, errors, weights), 1 - n / size
        most = 1 / np.maximum((1 - on_all) ** 2 / worth * unseen, 1e-12)
        return Corrected(value, scores, None, unseen * rare / len(scores), lam, most, 0.5 / n)
    # The judge's means over all rows, and the models' shares of the rows, vary with the problems as well.
    have = np.bincount(mine, minlength=cells)[:, None]
    mean_u = (in_cell[:, None] * mean_f - have * mean_fl) / np.maximum(in_cell[:, None] - have, 1)
    shift = on_all * mean_u - (of_cell - value)
    adds = (on_all * sums.sum(axis=1) - weighted.count @ shift) / size
    adds += _sums(rows.problem, errors + on_all * (mean_u - mean_fl)[mine] / size, len(adds))
    scores, labelled = _scaled(rows, adds)
    most = 1 / ((1 - lam) ** 2 / worth + lam**2 / size)
    return Corrected(value, scores, labelled, rare / int(labelled.sum()), lam, most, 0.5 / n)


def inverted(rows: Rows, y: Array, f: Array, estimand: Estimand = "problems") -> Corrected | str:
    """Rogan and Gladen's estimate for K classes: what the judge says of all rows is the true shares times the chances,
    taken from the labelled rows, that it says j where humans say k. The equations are solved for the true shares, which
    are scaled to sum 1. Intervals by the delta method.

    Refused, with the reason, for a judge that is no better than chance (the 95% interval of its informedness, the mean
    chance of the right word beyond what guessing as often gives, so that guessing is 0, reaches 0), or that can hardly tell two classes apart.
    """
    weighted = _weighted(rows)
    weights, k, size, fl = weighted.weights, y.shape[1], rows.units.size, f[rows.labelled]
    borne = (weights[:, None] * y).sum(axis=0)
    if (borne == 0).any():
        return "no label bears one of the classes, so the judge's errors on it are not known"
    chances = (weights[:, None] * y).T @ fl / borne[:, None]
    spoken = chances.sum(axis=1)  # below 1 where verdicts failed, which is no worse than guessing
    informed = (float(np.trace(chances)) - float(spoken.mean())) / (k - 1)
    apart = fl - np.diag(chances) - (fl.sum(axis=1, keepdims=True) - spoken) / k
    of_row = (weights[:, None] * y / borne * apart).sum(axis=1) / (k - 1)
    p = count_of(rows.problem)
    variance = float((np.bincount(rows.problem, of_row) ** 2).sum()) * p / max(1, p - 1)
    half = t_quantile(max(1.0, p - 1)) * variance**0.5
    if informed - half <= 0:
        interval = f" (95% interval {informed - half:.3f} to {informed + half:.3f})" if half > 1e-9 else ""
        return f"the judge is no better than chance: informedness {informed:.3f}{interval}"
    if np.linalg.svd(chances, compute_uv=False)[-1] < LEAST_APART:
        return "the judge can hardly tell two of the classes apart, so its confusion matrix has no safe inverse"
    by_problem = weighted.sums(rows.units, f).sum(axis=1)
    said = by_problem.sum(axis=0) / size
    inverse = np.linalg.inv(chances)
    shares = said @ inverse
    total = float(shares.sum())
    back = (inverse - np.outer(inverse.sum(axis=1), shares) / total) / total  # derivative of shares / total
    of_class = weights[:, None] * y / borne * shares
    errors = of_class @ chances - of_class.sum(axis=1, keepdims=True) * fl
    most = np.full(k, float(size))
    if estimand == "pool":
        return Corrected(shares / total, _of_pool(rows, errors @ back, weights), None, 0.0, 1.0, most, 0.5 / len(fl))
    adds = (by_problem - weighted.count.sum(axis=1)[:, None] * said) / size
    scores, labelled = _scaled(rows, (adds + _sums(rows.problem, errors, len(adds))) @ back)
    return Corrected(shares / total, scores, labelled, 0.0, 1.0, most, 0.5 / len(fl))


def _nearest_shares(value: Array) -> Array:
    """The numbers from 0 up with sum 1 that are nearest to the given ones (Duchi et al. 2008, ICML, fig. 1)."""
    down = np.sort(value)[::-1]
    surplus = (np.cumsum(down) - 1) / np.arange(1, len(value) + 1)
    nearest: Array = np.maximum(0.0, value - surplus[np.flatnonzero(down > surplus)[-1]])
    return nearest


@dataclass(frozen=True)
class Weighted:
    """Rows with their labels weighted by cell. Cells with few labelled rows are one; all are one where that has few too."""

    cell: NDArray[np.intp]
    """(n,) of the labelled rows."""
    weights: Array
    """(n,) adding up to the rows of each cell."""
    count: Array
    """(problems, cells)"""
    into: NDArray[np.intp]
    """(cells of the units,) the cell here that each became part of."""

    def sums(self, units: Units, f: Array) -> Array:
        """(problems, cells, K)"""
        return np.stack([self.merged(units.sums(f[:, k])) for k in range(f.shape[1])], axis=-1)

    def merged(self, table: Array) -> Array:
        return table if table.shape[1] == self.count.shape[1] else _merged(table, self.into)


def _merged(table: Array, into: NDArray[np.intp]) -> Array:
    found: Array = np.stack([table[:, into == c].sum(axis=1) for c in range(int(into.max()) + 1)], axis=1)
    return found


def _weighted(rows: Rows) -> Weighted:
    units = rows.units
    labelled = units.cell[rows.labelled]
    few = np.bincount(labelled, minlength=units.n_cells) < FEWEST_IN_CELL
    into = np.arange(units.n_cells)
    if few.any():
        together = int(few[labelled].sum()) >= FEWEST_IN_CELL
        into = np.where(few, 0, np.cumsum(~few)) if together else np.zeros_like(into)
    mine = into[labelled]
    count = units.count if not few.any() else _merged(units.count, into)
    scale = count.sum(axis=0) / np.bincount(mine, rows.weights, minlength=count.shape[1])
    return Weighted(mine, rows.weights * scale[mine], count, into)


def _means(groups: NDArray[np.intp], values: Array, count: int, weights: Array) -> Array:
    means: Array = (
        _sums(groups, weights[:, None] * values, count) / np.bincount(groups, weights, minlength=count)[:, None]
    )
    return means


def _sums(groups: Codes, values: Array, count: int) -> Array:
    return np.stack([np.bincount(groups, column, minlength=count) for column in values.T], axis=-1)


def _lambda(y: Array, fl: Array, weights: Array, spread: float, size: int) -> float:
    """The lambda in 0..1 with the smallest sum of the K variances (example 6.1 of the paper), from centred values of the
    labelled rows and the sum of the variances of all predictions."""
    n = len(y)
    if spread <= 1e-12 or n == size:
        return 0.0
    together = float((weights[:, None] * y * fl).sum() / weights.sum())
    return min(1.0, max(0.0, together / ((1 + n / (size - n)) * spread)))


def _scaled(rows: Rows, adds: Array) -> tuple[Array, NDArray[np.bool_]]:
    """What each problem adds to the error, scaled so that the sum of squares has no bias, and which are labelled."""
    labelled = np.zeros(len(adds), dtype=bool)
    labelled[rows.problem] = True
    p = int(labelled.sum())
    factor = np.where(labelled, p / max(1, p - 1), len(adds) / max(1, len(adds) - 1))
    return adds * np.sqrt(factor)[:, None], labelled


def _of_pool(rows: Rows, errors: Array, weights: Array) -> Array:
    """What each labelled row (or problem) adds to the error when only the choice of rows is left to chance: a row that
    was as good as certain to be labelled adds nothing."""
    groups = np.zeros(len(errors), dtype=np.intp) if rows.strata is None else rows.strata
    _, groups = np.unique(groups, return_inverse=True)
    count = int(groups.max()) + 1
    scores: Array = errors - _means(groups, errors, count, np.ones(len(errors)))[groups]
    scores *= np.sqrt(np.maximum(0.0, 1 - 1 / weights))[:, None]
    if rows.one_by_one:
        sizes = np.bincount(groups)[groups]
        scores *= np.sqrt(sizes / np.maximum(1, sizes - 1))[:, None]
        return scores
    problems, p = _without_gaps(rows.problem)
    by_problem: Array = _sums(problems, scores, p) * np.sqrt(p / max(1, p - 1))
    return by_problem

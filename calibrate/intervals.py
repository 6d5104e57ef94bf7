"""Estimate: a figure with its n and its 95% interval, and the ways to such an interval. All count problems, not rows:
several solutions of one problem are not independent.

**wilson**: a share. Wilson's score interval (Wilson 1927, J. Am. Stat. Assoc. 22:209) with the effective number of rows
in the place of n, and the t quantile in the place of the normal one (Korn & Graubard 1998, Survey Methodology 24:193;
Dean & Pagano 2015, J. Surv. Stat. Methodol. 3:484). The effective number is what the variance between problems leaves
of n: share (1 - share) / variance, never more than the rows are worth when taken for independent (Kish's number where
they weigh differently). Degrees of freedom: problems - 1, and fewer where a few problems carry the variance
(after Satterthwaite). Where each problem has one row this is Wilson's interval with the t quantile of n - 1.

**BCa bootstrap over problems**: any other figure. Whole problems are drawn with replacement; the bounds are quantiles of
the figure over the draws, bias-corrected and accelerated (Efron 1987, J. Am. Stat. Assoc. 82:171; acceleration from the
jackknife over problems), at levels widened for the number of problems (t quantile times sqrt(P / (P - 1)), Hesterberg
2015, Am. Stat. 69:371). The plain percentile interval covers too little with few problems. Fewer than ten problems say
too little of how problems differ to be resampled.

An interval of zero width is never given: a judge that was right on five of five solutions is not known to be perfect.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
"""Whole numbers from 0 that stand for names, such as each row's problem."""
Problems = Codes | Sequence[str]
Formula = Callable[[Array], Array]
"""From sums of shape (..., m) to figures of shape (...), nan where undefined: one call serves all resamples."""

Z95 = 1.959963984540054
WILSON, WILSON_CLUSTERED = "wilson", "wilson, effective n of problems"
WILSON_PROBLEMS = "wilson, counting problems"
BOOTSTRAP, FROM_SHARE, NO_INTERVAL = "BCa bootstrap over problems", "from the wilson interval of a share", "none"
MOST_CELLS = 60_000_000
"""Sums larger than this (problems x numbers in a row) are not resampled."""
AT_ONCE = 4_000_000
"""Numbers (resamples x problems, or problems x numbers in a row) that are worked on at a time."""
FEWEST_PROBLEMS = 10
FEWEST_CASES = 10
SAME = "every resample gives the same value"
NEARLY_SAME = f"nearly {SAME}"
SAME_WITHIN = 1e-9
"""Figures nearer to each other than this differ by rounding alone."""
FEWEST_DEFINED = 0.5
"""Share of the resamples in which a figure must be defined for them to give an interval."""


@dataclass(frozen=True)
class Estimate:
    """A figure that knows how sure it is. Shares run from 0 to 1."""

    value: float | None
    """Null where it is undefined; `why` says why."""
    low: float | None
    high: float | None
    n: int
    """Rows that it rests on."""
    n_problems: int
    """Problems that these rows belong to."""
    method: str
    """How the interval was made."""
    why: str | None = None
    """Why there is no value, or no interval."""
    degenerate: str | None = None
    """Why a value that is defined says little, such as a kappa where one side is constant."""
    warning: str | None = None
    """Why the interval may hold the truth less often than it says."""
    over: int | None = None
    """Of a macro mean: how many classes or tags it is over."""

    def as_json(self) -> dict[str, Any]:
        shown = dict(vars(self))
        return {k: v for k, v in shown.items() if v is not None or k not in ("why", "degenerate", "warning", "over")}


def undefined(why: str, n: int = 0, n_problems: int = 0) -> Estimate:
    return Estimate(None, None, None, n, n_problems, NO_INTERVAL, why)


# --- shares -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def t_quantile(df: float, level: float = 0.975) -> float:
    """Student's t: the value below which `level` of it lies. df > 0."""
    from scipy.special import stdtrit

    return float(stdtrit(df, level))


def wilson(share: float, n: float, quantile: float = Z95) -> tuple[float, float]:
    """Wilson's interval of a share in 0..1 that was seen in n > 0 rows; 95% with the normal quantile."""
    z2 = quantile**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    half = quantile / (1 + z2) * math.sqrt(share * (1 - share) / n + z2 / (4 * n))
    low = 0.0 if share == 0 else max(0.0, middle - half)
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return low, high


def share_interval(value: float, variance: float, df: float, most: float, nearest: float = 0.0) -> tuple[float, float]:
    """95% interval of a share whose variance is known from its problems: Wilson's, with n = value (1 - value) /
    variance, at most `most` rows, and the t quantile of `df` degrees of freedom.

    `most` stands for n where the variance is 0 or the share is 0 or 1, from which no n follows; shares nearer to 0 or 1
    than `nearest` are taken for that when n is found. A value outside 0..1 (a corrected share may be) is taken for the
    nearest share.
    """
    share = min(1.0, max(0.0, value))
    inside = min(max(share, nearest), 1 - nearest)
    spread = inside * (1 - inside)
    n = min(most, spread / variance) if variance > 0 and spread > 0 else most
    return wilson(share, n, t_quantile(max(df, 1.0)))


def degrees_of_freedom(scores: Array, most: float) -> float:
    """Of a variance that is the sum of squares of `scores` (one a problem, mean 0), from 1 to `most`: twice Satterthwaite's
    2 / CV², where the CV² of the sum is taken from the scores' fourth moment.

    A variance that rests on a few problems is known less well than one of as many equal problems. Satterthwaite's own
    number takes the variance's error for independent of the share's; with rare cases the two rise together, Wilson's
    form allows for that already, and intervals would cover 97% to 98% (`scripts/bench/coverage.py`, rate 0.05).
    """
    largest = float(np.abs(scores).max()) if len(scores) else 0.0
    if largest == 0:
        return max(1.0, most)
    squares = (scores / largest) ** 2  # fourth powers of small numbers would vanish
    total = float(squares.sum())
    excess = float((squares**2).sum()) / total**2 - 1 / len(scores)
    return max(1.0, most if excess <= 0 else min(most, 4 / excess))


def warning_of(n_problems: int, cases: float | None = None) -> str | None:
    """What to say of an interval from so few problems, or so few cases on a share's rarer side (null: no share)."""
    words = []
    if n_problems < FEWEST_PROBLEMS:
        words.append(f"{n_problems} problem{'' if n_problems == 1 else 's'}")
    if cases is not None and cases < FEWEST_CASES:
        words.append(f"{cases:.3g} case{'' if cases == 1 else 's'} on one side")
    return f"only {' and '.join(words)}: the interval may be too narrow" if words else None


# --- other figures ----------------------------------------------------------------------------------------------------


def coded(problems: Problems) -> tuple[NDArray[np.intp], int]:
    """Rows' problems as codes without gaps, 0 to count - 1 in the order of codes or names, and the count."""
    given = np.asarray(problems)
    if given.size == 0:
        return np.zeros(0, dtype=np.intp), 0
    if given.dtype.kind not in "iu":
        names, codes = np.unique(given, return_inverse=True)
        return codes.astype(np.intp), len(names)
    there = np.bincount(given) > 0
    if there.all():
        return given.astype(np.intp), len(there)
    return (np.cumsum(there) - 1)[given], int(there.sum())


class Sums:
    """What figures are computed from: the numbers of each row, added up for each problem.

    `problems` tells the problem of each of n rows, `rows` has shape (n, m).
    """

    def __init__(self, problems: Problems, rows: Array):
        codes, count = coded(problems)
        self.n = len(codes)
        rows = np.asarray(rows, dtype=np.float64)
        width = rows.shape[1] if rows.ndim == 2 else 0
        self.by_problem: Array = np.zeros((count, width))
        for k in range(width):
            self.by_problem[:, k] = np.bincount(codes, rows[:, k], minlength=count)
        self._resampled: tuple[tuple[int, int], Array] | None = None

    @classmethod
    def of_cells(cls, problems: Problems, cells: Codes, width: int) -> "Sums":
        """Of rows that are 1 in one of `width` cells and 0 in the others: by problem, the counts of each cell."""
        codes, count = coded(problems)
        sums = cls(codes[:0], np.zeros((0, width)))
        sums.n = len(codes)
        flat = np.bincount(codes * width + cells, minlength=count * width)
        sums.by_problem = flat.reshape(count, width).astype(np.float64)
        return sums

    @classmethod
    def beside(cls, parts: Sequence["Sums"]) -> "Sums":
        """Sums of the same rows, the numbers of the one after those of the other: one draw serves all."""
        sums = cls(np.zeros(0, dtype=np.intp), np.zeros((0, 0)))
        sums.n = parts[0].n
        sums.by_problem = np.concatenate([part.by_problem for part in parts], axis=1)
        return sums

    @property
    def n_problems(self) -> int:
        return len(self.by_problem)

    @cached_property
    def total(self) -> Array:
        total: Array = self.by_problem.sum(axis=0)
        return total

    def resampled(self, seed: int, resamples: int) -> Array:
        """The sums of each resample, (resamples, m). Kept, since many figures share one table."""
        if self._resampled is None or self._resampled[0] != (seed, resamples):
            parts = [draw.astype(np.float64) @ self.by_problem for draw in _draws(self.n_problems, resamples, seed)]
            self._resampled = (seed, resamples), np.concatenate(parts)
        return self._resampled[1]

    def without_one(self) -> Iterator[Array]:
        """The sums without each problem in turn (the jackknife), in parts of shape (some problems, m)."""
        step = max(1, AT_ONCE // max(1, self.by_problem.shape[1]))
        for start in range(0, self.n_problems, step):
            yield self.total - self.by_problem[start : start + step]


@lru_cache(maxsize=2)
def _draws(n_problems: int, resamples: int, seed: int) -> list[NDArray[np.uint8]]:
    """How often each problem is drawn, in parts of shape (some resamples, n_problems)."""
    random = np.random.default_rng([seed, n_problems])
    step = max(1, AT_ONCE // n_problems)
    parts = []
    for start in range(0, resamples, step):
        some = min(step, resamples - start)
        part = np.empty((some, n_problems), dtype=np.uint8)
        for i in range(some):
            part[i] = np.bincount(random.integers(0, n_problems, n_problems, dtype=np.int32), minlength=n_problems)
        parts.append(part)
    return parts


class Intervals:
    """Makes estimates. Equal rows, seed and number of resamples give equal intervals, to the last digit."""

    def __init__(self, seed: int = 0, resamples: int = 2000):
        self.seed = seed
        self.resamples = resamples

    def share(
        self,
        problems: Problems,
        hits: Array | Sequence[bool] | NDArray[Any],
        empty: str,
        weights: Array | None = None,
        strata: Codes | None = None,
    ) -> Estimate:
        """The mean of n numbers in 0..1: whether a row is a hit, or the part of it that is (annotators who tie).

        `weights` are the rows' inclusion weights, above 0. `strata` are the rows' strata in the design of the sample;
        they count where each problem lies in one of them (else problems, the larger units, are taken as drawn at
        random). `empty` says why there is no row, where there is none.
        """
        values = np.asarray(hits, dtype=np.float64)
        n = len(values)
        if n == 0:
            return undefined(empty)
        codes, count = coded(problems)
        plain = weights is None or bool(np.all(weights == weights[0]))
        if plain or weights is None:
            sizes, sums, kish = (
                np.bincount(codes, minlength=count),
                np.bincount(codes, values, minlength=count),
                float(n),
            )
        else:
            sizes = np.bincount(codes, weights, minlength=count)
            sums = np.bincount(codes, weights * values, minlength=count)
            kish = float(weights.sum() ** 2 / (weights**2).sum())
        whole = float(sizes.sum())
        value = float(sums.sum() / whole)
        cases = min(float(values.sum()), float(n - values.sum()))
        warning = warning_of(count, cases)
        if plain and count == n:
            return Estimate(value, *wilson(value, n, t_quantile(max(n - 1, 1))), n, count, WILSON, warning=warning)
        if cases == 0 or count == 1:  # how much problems differ does not show
            bounds = wilson(value, min(count, kish), t_quantile(max(count - 1, 1)))
            return Estimate(value, *bounds, n, count, WILSON_PROBLEMS, warning=warning)
        scores = (sums - value * sizes) / whole
        df = count - 1
        if strata is not None and (of := _stratum_of(codes, count, strata)) is not None:
            scores, df = _within(scores, of)
        else:
            scores = scores * math.sqrt(count / (count - 1))
        variance = float((scores**2).sum())
        spread = value * (1 - value)
        effective = min(kish, 1 + spread / variance if variance > 0 else kish)
        bounds = wilson(value, effective, t_quantile(degrees_of_freedom(scores, df)))
        return Estimate(value, *bounds, n, count, WILSON_CLUSTERED, warning=warning)

    def figure(
        self,
        sums: Sums,
        formula: Formula,
        empty: str,
        why: str | None = None,
        degenerate: str | None = None,
        without_spread: Callable[[float], tuple[float, float] | None] | None = None,
        rests_on: tuple[int, int] | None = None,
    ) -> Estimate:
        """A figure that is no plain share.

        `empty` says why there is no row, where there is none; `why` that the figure is undefined for these rows. Where
        all resamples give one value, `without_spread` makes the interval from the largest share of rows (Wilson's upper
        limit, counting problems) that may differ from what was seen; it gives null where that says nothing. `rests_on`
        are rows and problems that the figure rests on, where these are not all of the sums' rows.
        """
        n, n_problems = rests_on or (sums.n, sums.n_problems)
        if n == 0:
            return undefined(empty)
        if why is not None:
            return undefined(why, n, n_problems)
        value = float(formula(sums.total))
        if not math.isfinite(value):  # the caller's reason should have said so
            return undefined("the formula has no value for these rows", n, n_problems)
        if degenerate is not None:
            return Estimate(value, None, None, n, n_problems, NO_INTERVAL, degenerate=degenerate)
        interval = self._bootstrap(sums, formula, value, n_problems)
        if not isinstance(interval, str):
            return Estimate(value, *interval, n, n_problems, BOOTSTRAP)
        if interval in (SAME, NEARLY_SAME) and without_spread is not None:
            bounds = without_spread(wilson(0.0, n_problems, t_quantile(max(n_problems - 1, 1)))[1])
            if bounds is not None:
                return Estimate(value, *bounds, n, n_problems, FROM_SHARE, warning=warning_of(n_problems))
        return Estimate(value, None, None, n, n_problems, NO_INTERVAL, why=f"no interval: {interval}")

    def _bootstrap(self, sums: Sums, formula: Formula, value: float, n_problems: int) -> tuple[float, float] | str:
        """The BCa bounds of the figure, or why there are none."""
        if n_problems < 2:
            return "all rows belong to one problem"
        if sums.by_problem.size > MOST_CELLS or self.resamples * sums.by_problem.shape[1] > MOST_CELLS:
            return "too many different values to resample"
        with np.errstate(divide="ignore", invalid="ignore"):
            figures = formula(sums.resampled(self.seed, self.resamples))
        figures = figures[np.isfinite(figures)]
        if len(figures) < FEWEST_DEFINED * self.resamples:
            return "the figure is undefined in most resamples"
        if np.ptp(figures) < SAME_WITHIN:
            return SAME
        if n_problems < FEWEST_PROBLEMS:
            return f"fewer than {FEWEST_PROBLEMS} problems"
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = np.concatenate([formula(part) for part in sums.without_one()])
        low, high = np.quantile(figures, _bca_levels(value, figures, left_out, n_problems))
        if high - low < SAME_WITHIN:  # the few that differ lie beyond the bounds
            return NEARLY_SAME
        return float(low), float(high)


def _bca_levels(value: float, figures: Array, left_out: Array, n_problems: int) -> list[float]:
    """The levels, 0 to 1, at which the resampled figures give the bounds. `left_out`: the figure without each problem."""
    from scipy.special import ndtr, ndtri

    near = np.abs(figures - value) <= 1e-12
    below = float(np.mean((figures < value) & ~near) + np.mean(near) / 2)
    bias = float(ndtri(min(max(below, 1 / (len(figures) + 1)), len(figures) / (len(figures) + 1))))
    jackknife = left_out[np.isfinite(left_out)]
    apart = jackknife.mean() - jackknife if len(jackknife) else np.zeros(1)
    most = float(np.abs(apart).max())
    if most > 0:
        apart = apart / most  # the acceleration has no unit, and cubes of small numbers would vanish
    acceleration = float((apart**3).sum()) / (6 * float((apart**2).sum()) ** 1.5) if most > 0 else 0.0
    wide = math.sqrt(n_problems / (n_problems - 1)) * t_quantile(n_problems - 1)
    levels = []
    for z in (-wide, wide):
        room = 1 - acceleration * (bias + z)
        levels.append(float(ndtr(bias + (bias + z) / room)) if room > 0 else float(z > 0))
    return levels


def _stratum_of(codes: NDArray[np.intp], count: int, strata: Codes) -> NDArray[np.intp] | None:
    """The stratum of each problem; null where a problem lies in several, or there is only one."""
    strata_codes, strata_count = coded(strata)
    if strata_count < 2:
        return None
    of = np.zeros(count, dtype=np.intp)
    of[codes] = strata_codes
    return of if bool((of[codes] == strata_codes).all()) else None


def _within(scores: Array, of: NDArray[np.intp]) -> tuple[Array, int]:
    """Scores about the mean of their stratum, scaled so that their sum of squares is the variance; degrees of freedom.

    A stratum with a single problem keeps that problem's distance from the mean of all.
    """
    sizes = np.bincount(of)
    means = np.bincount(of, scores) / np.maximum(sizes, 1)
    alone = sizes[of] == 1
    centred = np.where(alone, scores, scores - means[of])
    factor = np.where(alone, 1.0, np.sqrt(sizes[of] / np.maximum(sizes[of] - 1, 1)))
    return centred * factor, max(1, len(scores) - int((sizes > 1).sum()))


def ratio(sums: Array) -> Array:
    """A mean: the first of two sums over the second, which counts the rows."""
    figures: Array = sums[..., 0] / sums[..., 1]
    return figures

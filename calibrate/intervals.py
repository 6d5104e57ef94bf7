"""Estimate: a figure with its n and its 95% interval, and the two ways to such an interval.

**wilson**: Wilson's score interval for a share (Wilson 1927, J. Am. Stat. Assoc. 22:209; Brown, Cai & DasGupta 2001).
It takes rows for independent, and is used where each problem has one row.

**bootstrap over problems**: several solutions of one problem are not independent, so whole problems are drawn with
replacement, and the interval is the middle 95% of the figure over the draws (percentile method; Efron & Tibshirani
1993, ch. 13). Fewer than ten problems say too little of how problems differ to be resampled: a share then gets Wilson's
interval as if each problem were one row, and another figure gets none.

An interval of zero width is never given: a judge that was right on five of five solutions is not known to be perfect.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Formula = Callable[[Array], Array]
"""From sums of shape (..., m) to figures of shape (...), nan where undefined: one call serves all resamples."""

Z95 = 1.959963984540054
WILSON, WILSON_PROBLEMS = "wilson", "wilson, counting problems"
BOOTSTRAP, FROM_SHARE, NO_INTERVAL = "bootstrap over problems", "from the wilson interval of a share", "none"
MOST_CELLS = 20_000_000
"""Sums larger than this (problems x numbers in a row) are not resampled."""
AT_ONCE = 4_000_000
"""Draws (resamples x problems) that are held in memory at a time."""
FEWEST_PROBLEMS = 10
SAME = "every resample gives the same value"
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

    def as_json(self) -> dict[str, Any]:
        shown = dict(vars(self))
        return {k: v for k, v in shown.items() if v is not None or k not in ("why", "degenerate")}


def undefined(why: str, n: int = 0, n_problems: int = 0) -> Estimate:
    return Estimate(None, None, None, n, n_problems, NO_INTERVAL, why)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share in 0..1 that was seen in n > 0 rows."""
    z2 = Z95**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    half = Z95 / (1 + z2) * math.sqrt(share * (1 - share) / n + z2 / (4 * n))
    low = 0.0 if share == 0 else max(0.0, middle - half)
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return low, high


class Sums:
    """What figures are computed from: the numbers of each row, added up for each problem.

    `problems` names the problem of each of n rows, `rows` has shape (n, m). Equal rows in another order are equal sums.
    """

    def __init__(self, problems: Sequence[str], rows: Array):
        self.n = len(problems)
        names = sorted(set(problems))
        place = {name: i for i, name in enumerate(names)}
        self.by_problem: Array = np.zeros((len(names), rows.shape[1] if rows.ndim == 2 else 0))
        if self.n:
            np.add.at(self.by_problem, [place[p] for p in problems], rows)

    @property
    def n_problems(self) -> int:
        return len(self.by_problem)

    @cached_property
    def total(self) -> Array:
        total: Array = self.by_problem.sum(axis=0)
        return total


@lru_cache(maxsize=16)
def _draws(n_problems: int, rows: int, seed: int, part: int) -> Array:
    """How often each problem is drawn, in each of some resamples: (rows, n_problems)."""
    random = np.random.default_rng([seed, n_problems, part])
    return random.multinomial(n_problems, np.full(n_problems, 1 / n_problems), size=rows).astype(np.float64)


class Intervals:
    """Makes estimates. Equal rows, seed and number of resamples give equal intervals, to the last digit."""

    def __init__(self, seed: int = 0, resamples: int = 2000):
        self.seed = seed
        self.resamples = resamples
        self._drawn: dict[int, tuple[Sums, Array]] = {}

    def share(self, problems: Sequence[str], hits: Sequence[bool], empty: str) -> Estimate:
        """The share of rows that are hits. `empty` says why there is no row, where there is none."""
        n = len(hits)
        if n == 0:
            return undefined(empty)
        value = sum(hits) / n
        n_problems = len(set(problems))
        if n_problems == n:
            return Estimate(value, *wilson(value, n), n, n_problems, WILSON)
        sums = Sums(problems, np.array([[h, 1.0] for h in hits], dtype=np.float64))
        interval = self._bootstrap(sums, ratio)
        if isinstance(interval, str):
            return Estimate(value, *wilson(value, n_problems), n, n_problems, WILSON_PROBLEMS)
        return Estimate(value, *interval, n, n_problems, BOOTSTRAP)

    def figure(
        self,
        sums: Sums,
        formula: Formula,
        empty: str,
        why: str | None = None,
        degenerate: str | None = None,
        without_spread: Callable[[float], tuple[float, float] | None] | None = None,
    ) -> Estimate:
        """A figure that is no plain share.

        `empty` says why there is no row, where there is none; `why` that the figure is undefined for these rows. Where
        all resamples give one value, `without_spread` makes the interval from the largest share of rows (Wilson's upper
        limit, counting problems) that may differ from what was seen; it gives null where that says nothing.
        """
        if sums.n == 0:
            return undefined(empty)
        if why is not None:
            return undefined(why, sums.n, sums.n_problems)
        value = float(formula(sums.total))
        if not math.isfinite(value):  # the caller's reason should have said so
            return undefined("the formula has no value for these rows", sums.n, sums.n_problems)
        if degenerate is not None:
            return Estimate(value, None, None, sums.n, sums.n_problems, NO_INTERVAL, degenerate=degenerate)
        interval = self._bootstrap(sums, formula)
        if not isinstance(interval, str):
            return Estimate(value, *interval, sums.n, sums.n_problems, BOOTSTRAP)
        if interval == SAME and without_spread is not None:
            bounds = without_spread(wilson(0.0, sums.n_problems)[1])
            if bounds is not None:
                return Estimate(value, *bounds, sums.n, sums.n_problems, FROM_SHARE)
        return Estimate(value, None, None, sums.n, sums.n_problems, NO_INTERVAL, why=f"no interval: {interval}")

    def _bootstrap(self, sums: Sums, formula: Formula) -> tuple[float, float] | str:
        """The middle 95% of the figure over resamples, or why there is no such interval."""
        if sums.n_problems < 2:
            return "all rows belong to one problem"
        if sums.by_problem.size > MOST_CELLS or self.resamples * sums.by_problem.shape[1] > MOST_CELLS:
            return "too many different values to resample"
        with np.errstate(divide="ignore", invalid="ignore"):
            figures = formula(self._resampled(sums))
        figures = figures[np.isfinite(figures)]
        if len(figures) < FEWEST_DEFINED * self.resamples:
            return "the figure is undefined in most resamples"
        low, high = np.quantile(figures, [0.025, 0.975])
        if high - low < 1e-12:
            return SAME
        if sums.n_problems < FEWEST_PROBLEMS:
            return f"fewer than {FEWEST_PROBLEMS} problems"
        return float(low), float(high)

    def _resampled(self, sums: Sums) -> Array:
        """The sums of each resample, (resamples, m). The last ones are kept, since many figures share one table."""
        kept = self._drawn.get(id(sums))
        if kept is None or kept[0] is not sums:
            step = max(1, AT_ONCE // sums.n_problems)
            parts = range(0, self.resamples, step)
            drawn: Array = np.concatenate(
                [_draws(sums.n_problems, min(step, self.resamples - p), self.seed, p) @ sums.by_problem for p in parts]
            )
            self._drawn = {id(sums): (sums, drawn)}
            return drawn
        return kept[1]


def ratio(sums: Array) -> Array:
    """A mean: the first of two sums over the second, which counts the rows."""
    figures: Array = sums[..., 0] / sums[..., 1]
    return figures

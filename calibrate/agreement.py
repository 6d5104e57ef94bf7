"""The formulas of agreement between a judge and labels, and when they have a value. `pairs.py` prepares what they take.

Every formula takes a table, or a stack of tables (one for each resample), with the labels' side in rows and the
judge's in columns, and returns nan where it is undefined. `why_undefined` alone decides when that is so, and says why.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from calibrate.intervals import Array

# --- formulas ---------------------------------------------------------------------------------------------------------


def accuracy(table: Array) -> Array:
    """Share of rows on the diagonal. Table (..., k, k), result (...), 0 to 1."""
    return _divide(np.trace(table, axis1=-2, axis2=-1), table.sum(axis=(-2, -1)))


def cohen_kappa(table: Array) -> Array:
    """(po - pe) / (1 - pe): agreement beyond what the two sides' own frequencies give by chance.

    1 is perfect, 0 what chance gives, below 0 worse than chance. Cohen 1960, Educ. Psychol. Meas. 20:37.
    """
    return weighted_kappa(table, 1 - np.eye(table.shape[-1]))


def weighted_kappa(table: Array, weights: Array | None = None) -> Array:
    """1 - (observed disagreement) / (disagreement by chance), where disagreements weigh differently.

    By default the square of how many steps apart the two labels are, in the order of the table. Cohen 1968,
    Psychol. Bull. 70:213.
    """
    k = table.shape[-1]
    steps = np.arange(k, dtype=np.float64)
    w = (steps[:, None] - steps) ** 2 if weights is None else weights
    n = table.sum(axis=(-2, -1))
    by_chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    return 1 - _divide((w * table).sum(axis=(-2, -1)) * n, (w * by_chance).sum(axis=(-2, -1)))


def f1(counts: Array) -> Array:
    """2 tp / (2 tp + fp + fn), from counts (..., 3) of true positives, false positives and false negatives."""
    tp, fp, fn = counts[..., 0], counts[..., 1], counts[..., 2]
    return _divide(2 * tp, 2 * tp + fp + fn)


def macro_f1(counts: Array) -> Array:
    """Mean F1 over the classes that occur in the labels. Counts (..., 3 k), three for each class as in `f1`.

    A class without support has no F1, and does not pull the mean down to 0.
    """
    per_class = counts.reshape(*counts.shape[:-1], -1, 3)
    occurs = per_class[..., 0] + per_class[..., 2] > 0
    figures = np.where(occurs, f1(per_class), 0.0)
    return _divide(figures.sum(axis=-1), occurs.sum(axis=-1))


def pearson(table: Array, x: Array, y: Array) -> Array:
    """Pearson's r of the values x (rows) and y (columns) under the table's counts. -1 to 1."""
    return _correlation(table, np.broadcast_to(x, table.shape[:-1]), np.broadcast_to(y, (*table.shape[:-2], len(y))))


def spearman(table: Array) -> Array:
    """Spearman's rho: Pearson's r of the ranks, ties at their mean rank. Rows and columns in the order of values."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    return _correlation(table, rows.cumsum(axis=-1) - rows / 2, columns.cumsum(axis=-1) - columns / 2)


def kendall(table: Array) -> Array:
    """Kendall's tau-b, which corrects for ties. Kendall 1945, Biometrika 33:239. -1 to 1."""

    def beyond(t: Array) -> Array:
        """For each cell the count of rows further down and to the right."""
        tail = np.flip(np.flip(t, (-2, -1)).cumsum(axis=-2).cumsum(axis=-1), (-2, -1))
        shifted: Array = np.zeros_like(t)
        shifted[..., :-1, :-1] = tail[..., 1:, 1:]
        return shifted

    concordant = (table * beyond(table)).sum(axis=(-2, -1))
    discordant = (table * np.flip(beyond(np.flip(table, -1)), -1)).sum(axis=(-2, -1))
    n = table.sum(axis=(-2, -1))
    untied = [n * n - (side**2).sum(axis=-1) for side in (table.sum(axis=-1), table.sum(axis=-2))]  # twice the pairs
    return _divide(2 * (concordant - discordant), np.sqrt(untied[0] * untied[1]))


def _correlation(table: Array, x: Array, y: Array) -> Array:
    n = table.sum(axis=(-2, -1))
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x = x - _divide((rows * x).sum(axis=-1), n)[..., None]
    y = y - _divide((columns * y).sum(axis=-1), n)[..., None]
    both = (x[..., :, None] * table * y[..., None, :]).sum(axis=(-2, -1))
    r = _divide(both, np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1)))
    return np.clip(r, -1.0, 1.0)


def _divide(above: Any, below: Any) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(below) == 0, np.nan, np.asarray(above, dtype=np.float64) / below)


# --- when a figure is undefined ---------------------------------------------------------------------------------------

NOT_NAMED = "no label bears it"
Need = Literal["chance", "spread", "support"]


def why_undefined(need: Need, table: Array, names: Sequence[str] = ()) -> str | None:
    """Why a figure of this table has no value, or null where it has one. The one place that decides it, but for tables
    without any row, which `Intervals` refuses.

    `chance`: two labels in use, or chance alone gives full agreement. `spread`: two values on either side, or there is
    nothing to correlate. `support` (a table of tp, fp, fn): a label that bears the class.
    """
    if need == "support":
        return NOT_NAMED if table[0] + table[2] == 0 else None
    labelled, judged = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    if need == "chance" and (labelled | judged).sum() == 1:
        only = names[int(np.argmax(labelled))]
        return f"both sides say only '{only}', so that chance alone gives full agreement"
    if need == "spread" and min(labelled.sum(), judged.sum()) < 2:
        side = "labels" if labelled.sum() < 2 else "judge"
        return "one row only" if table.sum() == 1 else f"the points of the {side} are all equal"
    return None


def why_degenerate(table: Array, names: Sequence[str]) -> str | None:
    """Why a kappa that is defined says little: a side has said only one thing, which makes it 0 whatever was said."""
    labelled, judged = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    if labelled.sum() == 1 and judged.sum() == 1 and (labelled != judged).any():
        said = f"the labels say only '{names[int(np.argmax(labelled))]}'"
        return f"{said}, and the judge only '{names[int(np.argmax(judged))]}'"
    if judged.sum() == 1 and labelled.sum() > 1:
        return f"the judge says only '{names[int(np.argmax(judged))]}'"
    if labelled.sum() == 1 and judged.sum() > 1:
        return f"the labels say only '{names[int(np.argmax(labelled))]}'"
    return None

"""The formulas of agreement between a judge and labels, and when they have a value. `pairs.py` prepares what they take.

Every formula takes a table, or a stack of tables (one for each resample), with the labels' side in rows and the
judge's in columns, and returns nan where it is undefined. `why_undefined` alone decides when that is so, and says why.
"""

from collections.abc import Callable, Sequence
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


def steps(k: int, power: int) -> Array:
    """How far two of k labels are apart in their order, to a power: weights (k, k). 0: whether they differ."""
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    weights: Array = apart**power if power else np.sign(apart)
    return weights


def krippendorff_alpha(coincidences: Array, level: Literal["nominal", "ordinal"] = "nominal") -> Array:
    """1 - (observed disagreement) / (disagreement by chance), for any number of raters and missing values.

    `coincidences` (..., k, k) counts for each unit its ordered pairs of values of different raters, each pair divided
    by the unit's number of values less one: of two raters a table and its transpose, added. 1 is perfect, 0 what
    chance gives. Krippendorff 2004, Content Analysis, ch. 11; ordinal distances are squared differences of mean ranks.
    """
    by_value = coincidences.sum(axis=-1)
    n = by_value.sum(axis=-1)
    if level == "nominal":
        distance = np.broadcast_to(steps(coincidences.shape[-1], 0), coincidences.shape)
    else:
        ranks = by_value.cumsum(axis=-1) - by_value / 2
        distance = (ranks[..., :, None] - ranks[..., None, :]) ** 2
    by_chance = by_value[..., :, None] * by_value[..., None, :]
    expected = (distance * by_chance).sum(axis=(-2, -1))
    return 1 - _divide((n - 1) * (distance * coincidences).sum(axis=(-2, -1)), expected)


def two_sided_alpha(table: Array, level: Literal["nominal", "ordinal"] = "nominal") -> Array:
    """Krippendorff's alpha of two raters who both rated every unit, from their table."""
    return krippendorff_alpha(table + np.swapaxes(table, -2, -1), level)


def interval_alpha(sums: Array) -> Array:
    """Krippendorff's alpha of two raters' numbers, apart by the square of their difference. From sums (..., 4) over the
    units: of squared differences, of both numbers, of both squares, and of 2, the count of numbers.

    The same as `krippendorff_alpha` with squared differences as distances, without a table of all numbers there are.
    """
    apart, both, squares, n = (sums[..., i] for i in range(4))
    return 1 - _divide((n - 1) * apart, n * squares - both**2)


def gwet_ac1(table: Array) -> Array:
    """(po - pe) / (1 - pe) with pe from how evenly the labels are used: high agreement on a rare class keeps it high.

    Gwet 2008, Br. J. Math. Stat. Psychol. 61:29. The table has all k labels of the scale, used or not.
    """
    k = table.shape[-1]
    n = table.sum(axis=(-2, -1))
    used = _divide(table.sum(axis=-1) + table.sum(axis=-2), 2 * n[..., None])
    by_chance = (used * (1 - used)).sum(axis=-1) / (k - 1)
    return _divide(accuracy(table) - by_chance, 1 - by_chance)


def mcc(table: Array) -> Array:
    """Matthews' correlation coefficient for any number of classes. Gorodkin 2004, Comput. Biol. Chem. 28:367."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    n = table.sum(axis=(-2, -1))
    together = np.trace(table, axis1=-2, axis2=-1) * n - (rows * columns).sum(axis=-1)
    alone = [n * n - (side**2).sum(axis=-1) for side in (rows, columns)]
    return _divide(together, np.sqrt(alone[0] * alone[1]))


def precision(counts: Array) -> Array:
    """tp / (tp + fp), from counts (..., 3) of true positives, false positives and false negatives."""
    return _divide(counts[..., 0], counts[..., 0] + counts[..., 1])


def recall(counts: Array) -> Array:
    """tp / (tp + fn), from counts as in `precision`."""
    return _divide(counts[..., 0], counts[..., 0] + counts[..., 2])


def f1(counts: Array) -> Array:
    """2 tp / (2 tp + fp + fn), from counts (..., 3) of true positives, false positives and false negatives."""
    tp, fp, fn = counts[..., 0], counts[..., 1], counts[..., 2]
    return _divide(2 * tp, 2 * tp + fp + fn)


def macro(formula: Callable[[Array], Array], counts: Array) -> Array:
    """Mean of precision, recall or F1 over the classes that occur in the labels. Counts (..., 3 k), three a class.

    A class without support has no figure, and does not pull the mean down to 0. The precision of a class that occurs
    and is never named counts as 0.
    """
    per_class = counts.reshape(*counts.shape[:-1], counts.shape[-1] // 3, 3)
    occurs = per_class[..., 0] + per_class[..., 2] > 0
    figures = np.where(occurs, np.nan_to_num(formula(per_class)), 0.0)
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

NOT_NAMED, NEVER_SAID = "no label bears it", "the judge never says it"
Need = Literal["chance", "both vary", "spread", "support"]


def why_undefined(need: Need, table: Array, names: Sequence[str] = ()) -> str | None:
    """Why a figure of this table has no value, or null where it has one. The one place that decides it, but for tables
    without any row, which `Intervals` refuses.

    `chance`: two labels in use, or chance alone gives full agreement. `both vary`: two labels in use on either side, or
    there is nothing to correlate. `spread`: the same of points. `support` (a table of tp, fp, fn): a label that bears
    the class.
    """
    if need == "support":
        return NOT_NAMED if table[0] + table[2] == 0 else None
    labelled, judged = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    if need == "chance" and (labelled | judged).sum() == 1:
        only = names[int(np.argmax(labelled))]
        return f"both sides say only '{only}', so that chance alone gives full agreement"
    if need == "both vary" and min(labelled.sum(), judged.sum()) == 1:
        return why_degenerate(table, names) or f"both sides say only '{names[int(np.argmax(labelled))]}'"
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

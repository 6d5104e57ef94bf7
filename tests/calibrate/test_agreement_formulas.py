"""Formulas against published tables, textbook examples and independent libraries."""

from functools import partial

import krippendorff as kr
import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk
from statsmodels.stats import inter_rater

from calibrate.agreement import (
    accuracy,
    cohen_kappa,
    f1,
    gwet_ac1,
    kendall,
    krippendorff_alpha,
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

NEAR = 1e-9


def table_of(a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
    table = np.zeros((k, k))
    np.add.at(table, (a, b), 1)
    return table


def test_kappa_and_weighted_kappa_of_cohens_table() -> None:
    """Cohen 1968, table 1: po .70, pe .41, kappa .492; with his weights, observed .90 of 1.38: .348."""
    table = np.array([[88.0, 14, 18], [10, 40, 10], [2, 6, 12]])
    assert cohen_kappa(table) == pytest.approx(0.492, abs=5e-4)
    assert weighted_kappa(table, np.array([[0.0, 1, 3], [1, 0, 6], [3, 6, 0]])) == pytest.approx(0.348, abs=5e-4)


def test_kappa_of_the_grant_example() -> None:
    """The example of the Wikipedia article on Cohen's kappa: 50 grant proposals, a=20 b=5 c=10 d=15, kappa 0.40."""
    assert cohen_kappa(np.array([[20.0, 5], [10, 15]])) == pytest.approx(0.40)


@pytest.mark.parametrize(("table", "kappa"), [([[45, 15], [25, 15]], 0.1304), ([[25, 35], [5, 35]], 0.2593)])
def test_kappa_of_equal_agreement_with_other_frequencies(table: list[list[float]], kappa: float) -> None:
    """The same article's pair of tables with po 0.60 each: 0.1304 and 0.2593."""
    assert cohen_kappa(np.array(table, dtype=float)) == pytest.approx(kappa, abs=5e-5)


def test_high_agreement_on_a_rare_class_gives_a_negative_kappa() -> None:
    """90% agreement where 95% are correct on either side: kappa -0.05 (shared/cases/README.md)."""
    assert cohen_kappa(np.array([[0.0, 5], [5, 90]])) == pytest.approx(-0.0526, abs=1e-4)


def two_raters(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = rng.choice(3, n, p=[0.2, 0.3, 0.5]), rng.integers(0, 3, n)
    return a, np.where(rng.random(n) < 0.6, a, b)


@pytest.mark.parametrize("seed", range(5))
def test_kappas_equal_scikit_learns_and_statsmodels(seed: int) -> None:
    a, b = two_raters(seed)
    table = table_of(a, b, 3)
    assert accuracy(table) == pytest.approx(sk.accuracy_score(a, b), abs=NEAR)
    assert cohen_kappa(table) == pytest.approx(sk.cohen_kappa_score(a, b), abs=NEAR)
    for power, weights in ((1, "linear"), (2, "quadratic")):
        expected = sk.cohen_kappa_score(a, b, weights=weights, labels=[0, 1, 2])
        assert weighted_kappa(table, steps(3, power)) == pytest.approx(expected, abs=NEAR)
        other = inter_rater.cohens_kappa(table, weights=steps(3, power), return_results=False)
        assert weighted_kappa(table, steps(3, power)) == pytest.approx(other, abs=NEAR)
    assert weighted_kappa(table) == weighted_kappa(table, steps(3, 2))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alpha_of_two_raters_equals_the_krippendorff_packages(seed: int, level: str) -> None:
    a, b = two_raters(seed)
    expected = kr.alpha(reliability_data=np.stack([a, b]), value_domain=[0, 1, 2], level_of_measurement=level)
    assert two_sided_alpha(table_of(a, b, 3), level) == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_alpha_of_krippendorffs_four_observers_with_missing_values(level: str, published: float) -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: 12 units, 4 observers, 5 values."""
    nan = np.nan
    data = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ])  # fmt: skip
    coincidences = np.zeros((5, 5))
    for unit in data.T:
        said = unit[~np.isnan(unit)].astype(int) - 1
        for i, x in enumerate(said):
            for j, y in enumerate(said):
                if i != j:
                    coincidences[x, y] += 1 / (len(said) - 1)
    alpha = krippendorff_alpha(coincidences, level)
    assert alpha == pytest.approx(published, abs=5e-4)
    assert alpha == pytest.approx(kr.alpha(reliability_data=data, level_of_measurement=level), abs=NEAR)


@pytest.mark.parametrize("seed", range(5))
def test_mcc_equals_scikit_learns(seed: int) -> None:
    a, b = two_raters(seed)
    assert mcc(table_of(a, b, 3)) == pytest.approx(sk.matthews_corrcoef(a, b), abs=NEAR)
    assert mcc(table_of((a > 0).astype(int), (b > 0).astype(int), 2)) == pytest.approx(
        sk.matthews_corrcoef(a > 0, b > 0), abs=NEAR
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[8, 1, 3], [2, 14, 0], [4, 6, 22]], 0.610033512745),
        ([[8, 1, 2], [1, 11, 3], [3, 5, 26]], 0.64317573595),
        ([[7, 2, 1], [3, 13, 2], [6, 4, 22]], 0.561287701838),
    ],
)
def test_ac1_equals_irrcacs(table: list[list[float]], expected: float) -> None:
    """What irrCAC 0.4.4 (CAC.gwet, digits=12) gives for these 60 subjects; it wants an older numpy than we do."""
    assert gwet_ac1(np.array(table, dtype=float)) == pytest.approx(expected, abs=NEAR)


def test_ac1_of_gwets_example() -> None:
    """Gwet 2008, table 1 as given in Gwet 2014, Handbook of Inter-Rater Reliability: 118 and 5, 2 and 0 of 125
    subjects: AC1 0.9408, where kappa is -0.0234."""
    table = np.array([[118.0, 5], [2, 0]])
    assert gwet_ac1(table) == pytest.approx(0.9408, abs=5e-5)
    assert cohen_kappa(table) == pytest.approx(-0.0234, abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
def test_correlations_equal_scipys_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 8, 80)
    b = np.clip(a + rng.integers(-2, 3, 80), 0, 7)
    x, y = np.unique(a), np.unique(b)
    table = np.array([[np.sum((a == i) & (b == j)) for j in y] for i in x], dtype=float)
    assert spearman(table) == pytest.approx(stats.spearmanr(a, b).statistic, abs=NEAR)
    assert kendall(table) == pytest.approx(stats.kendalltau(a, b).statistic, abs=NEAR)
    assert pearson(table, x, y) == pytest.approx(stats.pearsonr(a, b).statistic, abs=NEAR)


def test_class_figures_equal_scikit_learns_and_macro_counts_only_what_occurs() -> None:
    rng = np.random.default_rng(0)
    label, judge = rng.integers(0, 2, (50, 4)), rng.integers(0, 2, (50, 4))
    label[:, 3] = 0  # a class without support
    judge[:, 2] = 0  # one that the judge never names
    counts = np.stack(
        [(label & judge).sum(0), ((1 - label) & judge).sum(0), (label & (1 - judge)).sum(0)], axis=-1
    ).astype(float)
    for ours, theirs in ((f1, sk.f1_score), (precision, sk.precision_score), (recall, sk.recall_score)):
        expected = theirs(label, judge, average=None, zero_division=0)
        assert np.nan_to_num(ours(counts))[:3] == pytest.approx(expected[:3], abs=NEAR)
        assert macro(ours, counts.reshape(-1)) == pytest.approx(expected[:3].mean(), abs=NEAR)
        assert theirs(label, judge, average="macro", zero_division=0) < macro(ours, counts.reshape(-1))


def test_a_stack_of_tables_gives_each_tables_figure() -> None:
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 9, (7, 3, 3)).astype(float)
    ordinal = partial(two_sided_alpha, level="ordinal")
    for formula in (accuracy, cohen_kappa, weighted_kappa, two_sided_alpha, ordinal, gwet_ac1, mcc, spearman, kendall):
        assert formula(tables) == pytest.approx([float(formula(t)) for t in tables], nan_ok=True)


def test_one_label_only_is_undefined_and_says_which() -> None:
    table = np.diag([0.0, 0.0, 5.0])
    assert np.isnan(cohen_kappa(table)) and np.isnan(two_sided_alpha(table)) and np.isnan(mcc(table))
    assert gwet_ac1(table) == 1  # chance gives it nothing here
    assert "only 'c'" in str(why_undefined("chance", table, ("a", "b", "c")))


def test_one_constant_side_gives_kappa_0_and_is_marked() -> None:
    table = np.array([[0.0, 4], [0, 6]])
    assert cohen_kappa(table) == 0
    assert why_undefined("chance", table, ("a", "b")) is None
    assert why_degenerate(table, ("a", "b")) == "the judge says only 'b'"
    assert why_degenerate(table.T, ("a", "b")) == "the labels say only 'b'"
    assert why_degenerate(np.eye(2), ("a", "b")) is None
    assert why_degenerate(np.diag([0.0, 5]), ("a", "b")) is None  # undefined, and not degenerate
    apart = np.array([[0.0, 4], [0, 0]])
    assert cohen_kappa(apart) == 0
    assert why_degenerate(apart, ("a", "b")) == "the labels say only 'a', and the judge only 'b'"


def test_no_spread_and_no_support() -> None:
    assert why_undefined("spread", np.array([[1.0, 2, 3]])) == "the points of the labels are all equal"
    assert why_undefined("spread", np.array([[1.0], [3]])) == "the points of the judge are all equal"
    assert why_undefined("spread", np.array([[1.0]])) == "one row only"
    assert why_undefined("support", np.array([0.0, 3, 0])) == "no label bears it"


def test_one_constant_side_has_no_correlation() -> None:
    assert why_undefined("both vary", np.array([[0.0, 4], [0, 6]]), ("a", "b")) == "the judge says only 'b'"
    assert why_undefined("both vary", np.diag([0.0, 6]), ("a", "b")) == "both sides say only 'b'"
    assert why_undefined("both vary", np.eye(2), ("a", "b")) is None

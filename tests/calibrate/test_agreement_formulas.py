"""Formulas against published tables, textbook examples and independent libraries."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from calibrate.agreement import (
    accuracy,
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


@pytest.mark.parametrize("seed", range(5))
def test_kappas_equal_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    b = np.where(rng.random(60) < 0.6, a, b)
    table = table_of(a, b, 3)
    assert accuracy(table) == pytest.approx(sk.accuracy_score(a, b))
    assert cohen_kappa(table) == pytest.approx(sk.cohen_kappa_score(a, b))
    assert weighted_kappa(table) == pytest.approx(sk.cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2]))


@pytest.mark.parametrize("seed", range(5))
def test_correlations_equal_scipys_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 8, 80)
    b = np.clip(a + rng.integers(-2, 3, 80), 0, 7)
    x, y = np.unique(a), np.unique(b)
    table = np.array([[np.sum((a == i) & (b == j)) for j in y] for i in x], dtype=float)
    assert spearman(table) == pytest.approx(stats.spearmanr(a, b).statistic)
    assert kendall(table) == pytest.approx(stats.kendalltau(a, b).statistic)
    assert pearson(table, x, y) == pytest.approx(stats.pearsonr(a, b).statistic)


def test_f1_equals_scikit_learns_and_macro_counts_only_what_occurs() -> None:
    rng = np.random.default_rng(0)
    label, judge = rng.integers(0, 2, (50, 4)), rng.integers(0, 2, (50, 4))
    label[:, 3] = 0  # a class without support
    counts = np.stack(
        [(label & judge).sum(0), ((1 - label) & judge).sum(0), (label & (1 - judge)).sum(0)], axis=-1
    ).astype(float)
    expected = sk.f1_score(label, judge, average=None, zero_division=0)
    assert f1(counts)[:3] == pytest.approx(expected[:3])
    assert macro_f1(counts.reshape(-1)) == pytest.approx(expected[:3].mean())
    assert sk.f1_score(label, judge, average="macro", zero_division=0) < macro_f1(counts.reshape(-1))


def test_a_stack_of_tables_gives_each_tables_figure() -> None:
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 9, (7, 3, 3)).astype(float)
    for formula in (accuracy, cohen_kappa, weighted_kappa, spearman, kendall):
        assert formula(tables) == pytest.approx([float(formula(t)) for t in tables], nan_ok=True)


def test_one_label_only_is_undefined_and_says_which() -> None:
    table = np.diag([0.0, 0.0, 5.0])
    assert np.isnan(cohen_kappa(table))
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

import numpy as np
import pytest

from calibrate.estimate import Rows, Units, corrected, inverted


def test_ppi_equals_ppi_python() -> None:
    """Value, lambda and interval of three shares under one lambda, against ppi-python 0.2.3."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    from ppi_py.ppi import _calc_lam_glm

    rng = np.random.default_rng(0)
    for n, size in ((60, 300), (200, 5000), (100, 130)):
        truth, noise = rng.integers(0, 3, size), rng.integers(0, 3, size)
        judged = np.where(rng.random(size) < 0.7, truth, noise)
        failed = rng.random(size) < 0.05
        f, y = np.eye(3)[judged] * ~failed[:, None], np.eye(3)[truth]
        rows = Rows(Units(np.arange(size), np.zeros(size, dtype=int)), np.arange(n), np.ones(n))
        ours = corrected(rows, y[:n], f)
        assert ours.value == pytest.approx(ppi_mean_pointestimate(y[:n], f[:n], f[n:]), abs=1e-12)
        assert ours.of_one().value.sum() == pytest.approx(1, abs=1e-12)
        assert ours.lam == pytest.approx(_calc_lam_glm(y[:n], f[:n], f[n:], np.eye(3), clip=True), abs=1e-12)
        low, high = ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05)
        scores = ours.scores / np.where(ours.labelled, n / (n - 1), size / (size - 1))[:, None] ** 0.5
        half = 1.959963984540054 * np.sqrt((scores**2).sum(axis=0))
        assert ours.value - half == pytest.approx(low, abs=1e-9)
        assert ours.value + half == pytest.approx(high, abs=1e-9)


def binary(size: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What humans say, one column of 0 and 1, and what a judge that is right on about 85% says."""
    rng = np.random.default_rng(seed)
    y = (rng.random((size, 1)) < 0.4).astype(float)
    return y, np.where(rng.random((size, 1)) < 0.85, y, 1 - y)


def test_the_pool_alone_has_the_variance_of_a_drawn_sample() -> None:
    """(1 - n/N) s² / n of the residuals (Cochran, Sampling Techniques, 3rd ed., 7.3)."""
    size, n = 500, 120
    y, f = binary(size, n)
    rows = Rows(Units(np.arange(size) // 4, np.zeros(size, dtype=int)), np.arange(n), np.ones(n), one_by_one=True)
    found = corrected(rows, y[:n], f, "pool")
    slope = found.lam * size / (size - n)
    residuals = y[:n, 0] - slope * f[:n, 0]
    assert (found.scores**2).sum() == pytest.approx((1 - n / size) * residuals.var(ddof=1) / n, rel=1e-9)
    assert found.value[0] == pytest.approx(residuals.mean() + slope * f.mean(), abs=1e-12)


def test_strata_and_weights_of_the_pool() -> None:
    """Sum of W_h² (1 - f_h) s_h² / n_h (Cochran, 5.3): 60 of 100 and 40 of 900, with a judge of no use."""
    y, _ = binary(1000, 0)
    y[:100] = (np.arange(100) % 10 < 8)[:, None]
    labelled = np.concatenate([np.arange(60), np.arange(100, 140)])
    strata = np.repeat([0, 1], [60, 40])
    weights = np.where(strata == 0, 100 / 60, 900 / 40)
    rows = Rows(Units(np.arange(1000), np.zeros(1000, dtype=int)), labelled, weights, True, strata)
    found = corrected(rows, y[labelled], np.zeros((1000, 1)), "pool")
    one, two = y[:60, 0], y[100:140, 0]
    assert found.lam == 0 and found.value[0] == pytest.approx(0.1 * one.mean() + 0.9 * two.mean(), abs=1e-12)
    expected = 0.1**2 * 0.4 * one.var(ddof=1) / 60 + 0.9**2 * (1 - 40 / 900) * two.var(ddof=1) / 40
    assert (found.scores**2).sum() == pytest.approx(expected, rel=1e-9)


def test_the_inversion_has_rogan_and_gladens_variance() -> None:
    """(q (1 - q) / N + p² Se (1 - Se) / n1 + (1 - p)² Sp (1 - Sp) / n0) / (Se + Sp - 1)², their equation for validation
    samples apart; here the labelled are a small part of all."""
    size, n = 40_000, 400
    y, f = binary(size, n)
    rows = Rows(Units(np.arange(size), np.zeros(size, dtype=int)), np.arange(n), np.ones(n))
    found = inverted(rows, np.hstack([y[:n], 1 - y[:n]]), np.hstack([f, 1 - f]))
    assert not isinstance(found, str)
    yes = y[:n, 0] == 1
    se, sp, q = f[:n, 0][yes].mean(), 1 - f[:n, 0][~yes].mean(), f.mean()
    p = (q + sp - 1) / (se + sp - 1)
    assert found.value[0] == pytest.approx(p, abs=1e-12)
    variance = q * (1 - q) / size + p**2 * se * (1 - se) / yes.sum() + (1 - p) ** 2 * sp * (1 - sp) / (~yes).sum()
    assert (found.scores[:, 0] ** 2).sum() == pytest.approx(variance / (se + sp - 1) ** 2, rel=0.03)


def test_models_with_a_handful_of_labels_are_weighted_together() -> None:
    """Three labels of the second model and three of the third, of 100 each: no weight rests on three labels alone."""
    cells = np.repeat([0, 1, 2], 100)
    labelled = np.concatenate([np.arange(60), [100, 101, 102], [200, 201, 202]])
    y, _ = binary(300, 0)
    rows = Rows(Units(np.arange(300), cells), labelled, np.ones(66))
    found = corrected(rows, y[labelled], np.zeros((300, 1)))
    assert found.value[0] == pytest.approx((y[:60].mean() + 2 * y[labelled[60:]].mean()) / 3, abs=1e-12)


def test_shares_below_zero_move_to_the_nearest_shares() -> None:
    """Duchi et al.'s projection, by hand: (1.1, 0.2, -0.3) is nearest to (0.95, 0.05, 0)."""
    from calibrate.estimate import _nearest_shares

    assert _nearest_shares(np.array([1.1, 0.2, -0.3])) == pytest.approx([0.95, 0.05, 0.0])
    assert _nearest_shares(np.array([0.2, 0.3, 0.5])) == pytest.approx([0.2, 0.3, 0.5])


def test_failures_alone_do_not_make_a_judge_no_better_than_chance() -> None:
    """Right whenever it speaks, and silent on 7 of 10: the shares come back, for failures hang on no class."""
    t = np.tile(np.repeat([0, 1, 2], 10), 20)
    y = np.eye(3)[t]
    f = y * (np.tile(np.arange(10), 60) < 3)[:, None]
    rows = Rows(Units(np.arange(600) // 2, np.zeros(600, dtype=int)), np.arange(300), np.ones(300))
    found = inverted(rows, y[:300], f)
    assert not isinstance(found, str)
    assert found.value == pytest.approx([1 / 3] * 3, abs=1e-9)


def test_a_judge_that_says_one_thing_is_refused_without_an_interval_of_zero_width() -> None:
    y = np.eye(3)[np.arange(300) % 3]
    rows = Rows(Units(np.arange(300), np.zeros(300, dtype=int)), np.arange(150), np.ones(150))
    assert inverted(rows, y[:150], np.tile([0.0, 0.0, 1.0], (300, 1))) == (
        "the judge is no better than chance: informedness 0.000"
    )

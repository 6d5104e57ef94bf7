"""Probabilities mapped to what humans say. Expected values come from scikit-learn 1.9 and statsmodels."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, precision_recall_curve

from calibrate.calibration import (
    NEAREST,
    Forecasts,
    apply,
    brier,
    chosen,
    cross_fitted,
    ece,
    ece_rows,
    fit,
    folds_of,
    of_verdicts,
    reliability,
    risk_coverage,
    threshold_for_f1,
)
from calibrate.intervals import Intervals

INTERVALS = Intervals(0, 200)


def overconfident(
    n: int, seed: int = 0, spread: float = 1, power: float = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of three verdicts, far too sure of themselves, verdicts drawn from the true ones, problems, ones."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([spread] * 3, n)
    y = np.eye(3)[(rng.random((n, 1)) > np.cumsum(true, axis=1)).sum(axis=1).clip(0, 2)]
    said = true**power / (true**power).sum(axis=1, keepdims=True)
    return said, y, np.arange(n) // 2, np.ones(n)


def test_platt_equals_statsmodels_on_smoothed_targets() -> None:
    """A binomial GLM of Platt's targets on the log-odds, statsmodels 0.15."""
    import statsmodels.api as sm

    p, y, _, ones = overconfident(400)
    x = np.clip(p[:, 0], NEAREST, 1 - NEAREST)
    x = np.log(x / (1 - x))
    hits = y[:, 0].sum()
    target = np.where(y[:, 0] == 1, (hits + 1) / (hits + 2), 1 / (400 - hits + 2))
    expected = sm.GLM(target, sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200).params
    found = fit("platt", p[:, :1], y[:, :1], ones)["classes"][0]
    assert (found["intercept"], found["slope"]) == pytest.approx(tuple(expected), abs=1e-9)


def test_platt_stays_finite_where_the_judge_is_perfect() -> None:
    p = np.array([[0.9], [0.8], [0.1], [0.2]] * 10)
    found = fit("platt", p, (p > 0.5).astype(float), np.ones(40))
    assert 0 < apply(found, np.array([[0.9]]))[0, 0] < 1


def test_isotonic_equals_scikit_learns_and_needs_no_pickle() -> None:
    import json

    p, y, _, ones = overconfident(300)
    kept = json.loads(json.dumps(fit("isotonic", p[:, :1], y[:, :1], ones)))
    new = np.linspace(0, 1, 50)
    expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p[:, 0], y[:, 0]).predict(new)
    assert apply(kept, new[:, None])[:, 0] == pytest.approx(expected, abs=1e-9)


def test_temperature_finds_the_power_that_was_taken() -> None:
    p, y, _, ones = overconfident(20_000, spread=6, power=2)
    assert fit("temperature", p, y, ones)["temperature"] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature"])
def test_calibration_out_of_fold_makes_an_overconfident_judge_honest(method: str) -> None:
    p, y, problems, ones = overconfident(2000)
    after = cross_fitted(method, p, y, ones, folds_of(problems, 0))
    assert after.sum(axis=1) == pytest.approx(np.ones(2000))
    before_score = brier(Forecasts(p, y, problems, ones), INTERVALS)
    after_score = brier(Forecasts(after, y, problems, ones), INTERVALS)
    assert after_score["value"] < before_score["value"]
    assert after_score["parts"]["reliability"] < 0.2 * before_score["parts"]["reliability"]


def test_a_problem_has_no_part_in_its_own_fit() -> None:
    """A row's label turned round leaves the calibrated probabilities of its own problem as they were."""
    p, y, problems, ones = overconfident(200)
    folds = folds_of(problems, 3)
    assert all(len(set(folds[problems == g])) == 1 for g in np.unique(problems))
    turned = y.copy()
    turned[7] = np.roll(turned[7], 1)
    one, two = (cross_fitted("platt", p, labels, ones, folds) for labels in (y, turned))
    same_fold = folds == folds[7]
    assert (one[same_fold] == two[same_fold]).all()
    assert (one[~same_fold] != two[~same_fold]).any()


def test_brier_and_its_parts() -> None:
    """The score against scikit-learn's; parts that add up; and Murphy's by hand: ten forecasts of .25 with four hits,
    ten of .75 with eight: reliability ((.15)² + (.05)²) / 2, resolution .04, uncertainty .6 x .4."""
    rng = np.random.default_rng(1)
    p, problems, ones = rng.random((300, 1)), np.arange(300), np.ones(300)
    y = (rng.random((300, 1)) < p).astype(float)
    found = brier(Forecasts(p, y, problems, ones), INTERVALS)
    assert found["value"] == pytest.approx(brier_score_loss(y[:, 0], p[:, 0]), abs=1e-12)
    parts = found["parts"]
    total = parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["within_bins"]
    assert total == pytest.approx(found["value"], abs=1e-12)
    p = np.array([[0.25]] * 10 + [[0.75]] * 10)
    y = np.array([[1.0]] * 4 + [[0.0]] * 6 + [[1.0]] * 8 + [[0.0]] * 2)
    parts = brier(Forecasts(p, y, np.arange(20), np.ones(20)), INTERVALS)["parts"]
    assert parts["reliability"] == pytest.approx((0.15**2 + 0.05**2) / 2)
    assert (parts["resolution"], parts["uncertainty"]) == pytest.approx((0.04, 0.24))
    assert parts["within_bins"] == pytest.approx(0, abs=1e-12)


def test_ece_and_reliability_by_hand() -> None:
    """Ten rows at .95 with eight right, ten at .55 with six right: (|.95 - .8| + |.55 - .6|) / 2 = .1."""
    confidence = np.array([0.95] * 10 + [0.55] * 10)
    right = np.array([1.0] * 8 + [0.0] * 2 + [1.0] * 6 + [0.0] * 4)
    rows = ece_rows(confidence, right, np.ones(20))
    assert ece(rows.sum(axis=0)) == pytest.approx(0.1)
    bins = reliability(confidence, right, np.arange(20), np.ones(20), INTERVALS)
    assert [(b["low"], b["predicted"], b["observed"]["value"], b["observed"]["n"]) for b in bins] == [
        (0.5, pytest.approx(0.55), 0.6, 10),
        (0.9, pytest.approx(0.95), 0.8, 10),
    ]


def test_risk_falls_with_coverage_and_ties_are_kept_together() -> None:
    confidence = np.array([0.9] * 10 + [0.5] * 10)
    right = np.array([1.0] * 9 + [0.0] + [1.0] * 5 + [0.0] * 5)
    found = risk_coverage(confidence, right, np.arange(20), np.ones(20), INTERVALS)
    shown = [(x["coverage"], x["threshold"], x["risk"]["value"]) for x in found["points"]]
    assert shown == [(0.5, 0.9, pytest.approx(0.1)), (1.0, 0.5, pytest.approx(0.3))]
    assert found["area"] == pytest.approx(0.5 * 0.1 + 0.5 * 0.3)


def test_the_threshold_is_the_best_for_f1() -> None:
    """Against all thresholds of scikit-learn's precision-recall curve."""
    rng = np.random.default_rng(2)
    p = rng.random(200).round(2)
    y = (rng.random(200) < p**2).astype(float)
    found = threshold_for_f1(p, y, np.ones(200))
    precision, recall, _ = precision_recall_curve(y, p)
    best = np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    claimed = p >= found
    assert 2 * (y * claimed).sum() / (y.sum() + claimed.sum()) == pytest.approx(best, abs=1e-12)
    assert threshold_for_f1(p, np.zeros(200), np.ones(200)) is None


def test_isotonic_takes_over_at_a_thousand_labels() -> None:
    assert [chosen("auto", n) for n in (999, 1000)] == ["platt", "isotonic"]
    assert chosen("temperature", 5000) == "temperature"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature"])
@pytest.mark.parametrize("said", ["what is so", "one thing", "nothing but even chances"])
def test_judges_that_leave_nothing_to_fit_get_figures_and_no_interval_of_zero_width(method: str, said: str) -> None:
    y = np.eye(3)[np.arange(60) % 3]
    p = {"what is so": y, "one thing": np.tile([0.0, 0.0, 1.0], (60, 1))}.get(said, np.full((60, 3), 1 / 3))
    figures, fitted = of_verdicts(Forecasts(p, y, np.arange(60) // 2, np.ones(60)), method, INTERVALS)  # type: ignore[arg-type]
    assert np.isfinite(apply(fitted, p)).all()
    for name in ("brier", "ece"):
        figure = figures[name]["calibrated"]
        assert np.isfinite(figure["value"])
        assert figure["low"] is None or figure["high"] - figure["low"] > 1e-6


@pytest.mark.filterwarnings("error")
def test_platt_of_a_judge_that_always_says_the_same_is_the_smoothed_base_rate() -> None:
    """Platt 1999: targets (hits + 1) / (hits + 2) and 1 / (misses + 2)."""
    y = np.array([1.0] * 3 + [0.0] * 7)[:, None]
    fitted = fit("platt", np.full((10, 1), 0.5), y, np.ones(10))
    assert apply(fitted, np.array([[0.5], [0.9]])) == pytest.approx((3 * 4 / 5 + 7 / 9) / 10, abs=1e-12)

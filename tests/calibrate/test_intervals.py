import numpy as np
import pytest
from scipy import stats

from calibrate.intervals import (
    WILSON,
    WILSON_CLUSTERED,
    WILSON_PROBLEMS,
    Intervals,
    Sums,
    degrees_of_freedom,
    ratio,
    share_interval,
    wilson,
)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (81, 263), (1, 29), (15, 148)])
def test_wilson_equals_scipys(hits: int, n: int) -> None:
    """81 of 263 and 15 of 148 are examples of Newcombe 1998 (Stat. Med. 17:857): .2553 to .3662, .0624 to .1605."""
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    if (hits, n) == (81, 263):
        assert wilson(hits / n, n) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def t_wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's interval with the t quantile of n - 1 degrees of freedom."""
    return wilson(share, n, float(stats.t.ppf(0.975, n - 1)))


def test_a_share_of_independent_rows_has_wilsons_interval_with_a_t_quantile() -> None:
    share = Intervals().share(["a", "b", "c"], [True, False, True], "")
    assert (share.value, share.n, share.n_problems, share.method) == (2 / 3, 3, 3, WILSON)
    assert (share.low, share.high) == pytest.approx(t_wilson(2 / 3, 3), abs=1e-12)


def test_the_variance_between_problems_is_that_of_survey_statistics() -> None:
    """Linearised variance of a ratio of cluster totals, with P - 1 (Cochran 1977, Sampling Techniques, eq. 6.13): the
    sandwich of statsmodels with its small-sample factor P / (P - 1), from the regression of the rows on a constant."""
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    problems = np.repeat(np.arange(30), rng.integers(1, 8, 30))
    hits = rng.random(len(problems)) < rng.random(30)[problems]
    fit = sm.OLS(hits.astype(float), np.ones(len(hits))).fit(
        cov_type="cluster", cov_kwds={"groups": problems, "use_correction": False}
    )
    variance = float(fit.cov_params()[0, 0]) * 30 / 29
    p = hits.mean()
    sizes, sums = np.bincount(problems), np.bincount(problems, hits)
    df = degrees_of_freedom(sums - p * sizes, 29)
    expected = wilson(p, 1 + p * (1 - p) / variance, float(stats.t.ppf(0.975, df)))
    share = Intervals().share(problems, hits, "")
    assert share.method == WILSON_CLUSTERED
    assert (share.low, share.high) == pytest.approx(expected, abs=1e-9)


def test_weights_enter_the_share_and_its_variance() -> None:
    """As statsmodels' weighted regression on a constant with clusters has it; equal weights are no weights."""
    import statsmodels.api as sm

    rng = np.random.default_rng(6)
    problems = np.repeat(np.arange(40), 3)
    hits, weights = rng.random(120) < 0.4, rng.choice([1.0, 2.5, 6.0], 120)
    share = Intervals().share(problems, hits, "", weights)
    fit = sm.WLS(hits.astype(float), np.ones(120), weights).fit(
        cov_type="cluster", cov_kwds={"groups": problems, "use_correction": False}
    )
    assert share.value == pytest.approx(float(fit.params[0]), abs=1e-12)
    variance = float(fit.cov_params()[0, 0]) * 40 / 39
    n = min(1 + share.value * (1 - share.value) / variance, weights.sum() ** 2 / (weights**2).sum())
    sizes, sums = np.bincount(problems, weights), np.bincount(problems, weights * hits)
    df = degrees_of_freedom(sums - share.value * sizes, 39)
    assert (share.low, share.high) == pytest.approx(wilson(share.value, n, float(stats.t.ppf(0.975, df))), abs=1e-9)
    assert Intervals().share(problems, hits, "", np.full(120, 3.0)) == Intervals().share(problems, hits, "")


def test_strata_that_hold_whole_problems_narrow_the_interval() -> None:
    """Problems of one stratum are all but sure to be hits, of the other all but sure not to be."""
    problems = np.repeat(np.arange(40), 4)
    stratum = (problems >= 20).astype(int)
    hits = np.where(stratum == 1, problems % 7 != 0, problems % 9 == 0)
    plain = Intervals().share(problems, hits, "")
    within = Intervals().share(problems, hits, "", strata=stratum)
    assert within.value == plain.value and within.high - within.low < 0.8 * (plain.high - plain.low)
    crossed = Intervals().share(problems, hits, "", strata=np.arange(160) % 4)  # each problem lies in four strata
    assert (crossed.low, crossed.high) == (plain.low, plain.high)


def test_degrees_of_freedom_fall_where_few_problems_carry_the_variance() -> None:
    assert degrees_of_freedom(np.array([1.0, -1] * 10), 19) == 19
    assert degrees_of_freedom(np.array([3.0, -3] + [0.1, -0.1] * 9), 19) == pytest.approx(4 / (0.5 - 0.05), rel=0.05)
    assert degrees_of_freedom(np.zeros(5), 4) == 4


def test_a_share_with_a_known_variance_has_an_interval_of_the_same_form() -> None:
    assert share_interval(0.3, 0.3 * 0.7 / 80, 1e9, 1000) == pytest.approx(wilson(0.3, 80), abs=1e-6)
    assert share_interval(0.0, 0.0, 49, 50) == wilson(0.0, 50, float(stats.t.ppf(0.975, 49)))
    assert share_interval(-0.1, 0.01, 49, 50)[0] == 0


def test_few_problems_and_few_cases_are_warned_of() -> None:
    enough = Intervals().share(np.arange(40), np.arange(40) < 20, "")
    assert enough.warning is None and "warning" not in enough.as_json()
    few = Intervals().share(np.arange(40), np.arange(40) < 4, "")
    assert few.warning == "only 4 cases on one side: the interval may be too narrow"
    assert Intervals().share(np.arange(5), np.ones(5), "").warning == (
        "only 5 problems and 0 cases on one side: the interval may be too narrow"
    )


def test_solutions_of_one_problem_are_not_counted_as_independent() -> None:
    """20 problems whose ten solutions agree: the interval is about as wide as that of 20 rows, not of 200."""
    problems = [str(p) for p in range(20) for _ in range(10)]
    hits = [p < 10 for p in range(20) for _ in range(10)]
    share = Intervals().share(problems, hits, "")
    assert share.method == WILSON_CLUSTERED
    low, high = wilson(0.5, 20)
    assert share.high is not None and share.low is not None
    assert share.high - share.low == pytest.approx(high - low, abs=0.06)


def test_a_share_covers_in_a_clustered_setting() -> None:
    """60 problems of 4 solutions each whose rates differ: the interval holds the truth in about 95% of 200 draws, and
    Wilson's over the rows would not."""
    rng = np.random.default_rng(0)
    held = naive = 0
    for _ in range(200):
        rates = rng.beta(0.5, 0.5, 60)
        hits = (rng.random((60, 4)) < rates[:, None]).reshape(-1)
        share = Intervals(0, 400).share([str(p) for p in range(60) for _ in range(4)], hits.tolist(), "")
        assert share.low is not None and share.high is not None and share.value is not None
        held += share.low <= 0.5 <= share.high
        low, high = wilson(share.value, 240)
        naive += low <= 0.5 <= high
    assert held >= 180 > naive


@pytest.mark.parametrize("hit", [True, False])
def test_no_interval_has_zero_width(hit: bool) -> None:
    share = Intervals().share(["a", "a", "b", "b"], [hit] * 4, "")
    assert share.method == WILSON_PROBLEMS  # two problems, not four rows
    assert (share.low, share.high) == pytest.approx(t_wilson(float(hit), 2), abs=1e-12)
    sums = Sums(["a", "b"], np.array([[2.0, 1], [2, 1]]))
    figure = Intervals().figure(sums, ratio, "")
    assert (figure.value, figure.low, figure.high) == (2.0, None, None)
    assert figure.why == "no interval: every resample gives the same value"


def test_one_problem_gives_no_resamples() -> None:
    figure = Intervals().figure(Sums(["a", "a"], np.array([[2.0, 1], [3, 1]])), ratio, "")
    assert figure.value == 2.5 and figure.low is None and "one problem" in str(figure.why)


def test_equal_rows_in_another_order_give_equal_digits() -> None:
    rng = np.random.default_rng(1)
    problems = [str(i % 11) for i in range(50)]
    rows = np.stack([rng.random(50) < 0.5, np.ones(50)], axis=-1).astype(float)
    order = rng.permutation(50)
    one = Intervals(3).figure(Sums(problems, rows), ratio, "")
    two = Intervals(3).figure(Sums([problems[i] for i in order], rows[order]), ratio, "")
    assert one == two
    assert one != Intervals(4).figure(Sums(problems, rows), ratio, "")


def test_without_rows_there_is_a_reason() -> None:
    share = Intervals().share([], [], "nobody looked")
    assert share.as_json() == {
        "value": None, "low": None, "high": None, "n": 0, "n_problems": 0, "method": "none", "why": "nobody looked"
    }  # fmt: skip


def test_fewer_than_ten_problems_are_not_resampled() -> None:
    problems = [str(i % 9) for i in range(45)]
    hits = [i % 4 == 0 for i in range(45)]
    figure = Intervals().figure(Sums(problems, np.array([[h, 1.0] for h in hits])), ratio, "")
    assert (figure.value, figure.low, figure.why) == (12 / 45, None, "no interval: fewer than 10 problems")


def test_degrees_of_freedom_have_no_unit() -> None:
    scores = np.array([1.0, -2.0, 0.5, 0.5])
    assert degrees_of_freedom(scores * 1e-90, 3) == pytest.approx(degrees_of_freedom(scores, 3), rel=1e-12)


def test_a_bootstrap_interval_does_not_hang_on_the_unit() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack([rng.exponential(size=40), np.ones(40)], axis=-1)
    plain = Intervals(0, 500).figure(Sums(np.arange(40), rows), ratio, "")
    large = Intervals(0, 500).figure(Sums(np.arange(40), rows * [1e80, 1]), ratio, "")
    assert [large.low, large.high] == pytest.approx([plain.low * 1e80, plain.high * 1e80], rel=1e-9)  # type: ignore[operator]


def test_what_differs_by_rounding_alone_gives_no_interval() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack([0.3 + 1e-13 * rng.random(40), np.ones(40)], axis=-1)
    found = Intervals(0, 200).figure(Sums(np.arange(40), rows), ratio, "")
    assert found.low is None and found.why is not None


def test_rows_of_very_different_weight_without_a_case_count_as_kishs_number() -> None:
    """One row that weighs 99 times as much as each of 20 others: (99 + 20)^2 / (99^2 + 20) rows (Kish 1965)."""
    weights = np.array([99.0] + [1.0] * 20)
    found = Intervals().share(np.arange(21), np.zeros(21), "", weights)
    kish = 119**2 / (99**2 + 20)
    assert found.high == pytest.approx(wilson(0.0, kish, float(stats.t.ppf(0.975, 20)))[1], abs=1e-12)


def test_no_zero_width_where_nearly_all_resamples_give_one_value() -> None:
    """Macro recall of a constant judge: 1/2 but where a class is not drawn."""
    rows = np.zeros((40, 3))
    rows[:6, 0] = rows[6:, 1] = 1

    def mean_recall(sums: np.ndarray) -> np.ndarray:
        return np.where(sums[..., 0] > 0, 0.5, 1.0)

    found = Intervals(0, 2000).figure(Sums(np.arange(40), rows), mean_recall, "")
    assert found.value == 0.5 and found.low is None and "nearly every resample" in str(found.why)

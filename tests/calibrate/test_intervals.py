import numpy as np
import pytest
from scipy import stats

from calibrate.intervals import BOOTSTRAP, WILSON, WILSON_PROBLEMS, Intervals, Sums, ratio, wilson


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (81, 263), (1, 29), (15, 148)])
def test_wilson_equals_scipys(hits: int, n: int) -> None:
    """81 of 263 and 15 of 148 are examples of Newcombe 1998 (Stat. Med. 17:857): .2553 to .3662, .0624 to .1605."""
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    if (hits, n) == (81, 263):
        assert wilson(hits / n, n) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_a_share_of_independent_rows_has_wilsons_interval() -> None:
    share = Intervals().share(["a", "b", "c"], [True, False, True], "")
    assert (share.value, share.n, share.n_problems, share.method) == (2 / 3, 3, 3, WILSON)


def test_solutions_of_one_problem_are_not_counted_as_independent() -> None:
    """20 problems whose ten solutions agree: the interval is about as wide as that of 20 rows, not of 200."""
    problems = [str(p) for p in range(20) for _ in range(10)]
    hits = [p < 10 for p in range(20) for _ in range(10)]
    share = Intervals().share(problems, hits, "")
    assert share.method == BOOTSTRAP
    low, high = wilson(0.5, 20)
    assert share.high is not None and share.low is not None
    assert share.high - share.low == pytest.approx(high - low, abs=0.06)


def test_the_bootstrap_covers_in_a_clustered_setting() -> None:
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
    assert (share.low, share.high) == wilson(float(hit), 2)
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
    share = Intervals().share(problems, hits, "")
    assert share.method == "wilson, counting problems" and (share.low, share.high) == wilson(12 / 45, 9)
    figure = Intervals().figure(Sums(problems, np.array([[h, 1.0] for h in hits])), ratio, "")
    assert (figure.value, figure.low, figure.why) == (12 / 45, None, "no interval: fewer than 10 problems")

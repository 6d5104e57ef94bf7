"""The alternative annotator test, held against its procedure worked out with scipy and statsmodels."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from calibrate.alt_test import AltTest, against, alt_test, benjamini_yekutieli
from calibrate.intervals import Intervals


def labels(n: int = 120, people: int = 5, seed: int = 0, missing: float = 0.2) -> Any:
    """What annotators and a judge say of n solutions, three classes; annotators differ in how careful they are."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)

    def speak(care: float) -> Any:
        return np.where(rng.random(n) < care, truth, rng.integers(0, 3, n)).astype(np.int8)

    said = np.stack([speak(0.4 + 0.1 * i) for i in range(people)], axis=1)
    said[rng.random((n, people)) < missing] = -1
    judge = speak(0.8)
    judge[rng.random(n) < 0.1] = -1
    return said, judge


def by_the_paper(said: Any, judge: Any, epsilon: float, q: float = 0.05, fewest: int = 30) -> Any:
    """The procedure of the paper's section 3, instance by instance, with scipy's t-test and statsmodels' FDR control."""
    p_values, advantages = [], []
    for j in range(said.shape[1]):
        f_wins, h_wins = [], []
        for i in range(len(said)):
            rest = [said[i, k] for k in range(said.shape[1]) if k != j and said[i, k] != -1]
            if said[i, j] == -1 or judge[i] == -1 or not rest:
                continue
            f = np.mean([judge[i] == r for r in rest])
            h = np.mean([said[i, j] == r for r in rest])
            f_wins.append(float(f >= h))
            h_wins.append(float(h >= f))
        if len(f_wins) < fewest:
            continue
        d = np.array(h_wins) - np.array(f_wins)
        p_values.append(stats.ttest_1samp(d, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(f_wins))
    rejected = multipletests(p_values, q, method="fdr_by")[0]
    return np.mean(rejected), np.mean(advantages), p_values


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_winning_rate_advantage_and_p_values_are_those_of_the_papers_procedure(seed: int, epsilon: float) -> None:
    said, judge = labels(seed=seed)
    block = alt_test(np.arange(120), said, judge, list("abcde"), AltTest(epsilon=epsilon), Intervals(0, 200))
    rate, advantage, p_values = by_the_paper(said, judge, epsilon)
    assert block["winning_rate"]["value"] == pytest.approx(rate, abs=1e-12)
    assert block["advantage"]["value"] == pytest.approx(advantage, abs=1e-12)
    assert [a["p"] for a in block["annotators"].values()] == pytest.approx(p_values, abs=1e-9)
    assert block["passed"] == (rate >= 0.5)
    assert block["advantage"]["low"] < advantage < block["advantage"]["high"]


def test_the_cases_are_not_all_won_and_not_all_lost() -> None:
    rates = {by_the_paper(*labels(seed=s), e)[0] for s in range(4) for e in (0.0, 0.1, 0.2)}
    assert len(rates) > 2


def test_a_worked_example() -> None:
    """Three annotators, four solutions, by hand. Without the first annotator: the judge agrees with 1, 1/2, 0 and 1 of the
    other two, the annotator with 1, 1/2, 1 and 0 of them."""
    said = np.array([[2, 2, 2], [0, 0, 1], [1, 1, 1], [0, 2, 2]], dtype=np.int8)
    judge = np.array([2, 1, 0, 2], dtype=np.int8)
    found = against(said, judge, 0)
    assert found.judge.tolist() == [1, 1, 0, 1] and found.annotator.tolist() == [1, 1, 1, 0]
    # differences 0, 0, 1, -1: mean 0, standard error sqrt(2/3)/2; t = -0.2 / 0.40825 = -0.4899 with 3 degrees of freedom
    assert found.p_value(0.2) == pytest.approx(stats.t.cdf(-0.2 / (np.sqrt(2 / 3) / 2), 3), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_benjamini_and_yekutieli_reject_what_statsmodels_rejects(seed: int) -> None:
    p = np.random.default_rng(seed).random(8) ** 4
    assert benjamini_yekutieli(p.tolist(), 0.1) == multipletests(p, 0.1, method="fdr_by")[0].tolist()


def test_two_annotators_are_too_few_and_the_reason_is_said() -> None:
    said, judge = labels(people=2)
    block = alt_test(np.arange(120), said, judge, ["a", "b"], AltTest(), Intervals(0, 100))
    assert block["winning_rate"]["value"] is None and block["passed"] is None
    assert block["winning_rate"]["why"] == "the test needs 3 annotators or more, and there are 2"


def test_an_annotator_with_few_shared_solutions_is_left_out_with_the_reason() -> None:
    said, judge = labels(people=4, missing=0)
    said[20:, 0] = -1
    judge[:] = np.where(judge < 0, 0, judge)
    block = alt_test(np.arange(120), said, judge, list("abcd"), AltTest(), Intervals(0, 100))
    assert block["annotators"]["a"]["n"] == 20 and block["annotators"]["a"]["judge_wins"] is None
    assert "at least 30 are needed" in block["annotators"]["a"]["why"]
    assert all(block["annotators"][x]["judge_wins"] is not None for x in "bcd")
    none = alt_test(np.arange(120), said, judge, list("abcd"), AltTest(fewest=200), Intervals(0, 100))
    assert none["advantage"]["value"] is None and "no annotator shares 200 solutions" in none["advantage"]["why"]


def test_a_judge_that_is_like_the_annotators_everywhere_wins_without_a_division_by_zero() -> None:
    said = np.tile(np.array([0, 1, 2], dtype=np.int8), 20)[:, None].repeat(3, axis=1)
    block = alt_test(np.arange(60), said, said[:, 0], list("abc"), AltTest(), Intervals(0, 100))
    assert block["winning_rate"]["value"] == 1 and block["advantage"]["value"] == 1
    assert 0.9 < block["advantage"]["low"] < 1 == block["advantage"]["high"]


def test_a_failure_counted_as_wrong_agrees_with_nobody() -> None:
    said = np.array([[2, 2, 2], [0, 0, 0]], dtype=np.int8)
    assert against(said, np.array([-2, -1], dtype=np.int8), 0).judge.tolist() == [0]

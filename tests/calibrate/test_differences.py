"""Differences between judges and between models, on the same problems."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from calibrate.columns import Said, blank, one_hot
from calibrate.differences import between_judges, between_models
from calibrate.gold import cases
from calibrate.intervals import Intervals
from calibrate.labels import FromStudy, collect
from calibrate.material import gather
from generate.labels import VERDICTS
from judge.taxonomy import Taxonomy
from tests.calibrate.conftest import Maker

INTERVALS = Intervals(0, 500)


def speaking(verdict: Any, failed: Any = None) -> Said:
    said = blank(np.arange(len(verdict)), 0)
    verdict = np.asarray(verdict, dtype=np.int8)
    failed = np.zeros(len(verdict), dtype=bool) if failed is None else np.asarray(failed)
    verdict = np.where(failed, np.int8(-1), verdict)
    return Said(**{**vars(said), "verdict": verdict, "shares": one_hot(verdict), "failed": failed})


def compared(gold: Said, a: Said, b: Said, problem: Any, missing: Any = "leave_out") -> Any:
    labels = {"a": gold, "b": gold}
    return between_judges(problem, labels, {"a": a, "b": b}, missing, None, INTERVALS)["pairs"]["a"]["b"]


def three(n: int = 200, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.8, gold, rng.integers(0, 3, n))
    b = np.where(rng.random(n) < 0.9, a, rng.integers(0, 3, n))  # errs as `a` does, and a little more
    return gold, a, b


def test_a_difference_is_that_of_sklearns_figures_on_the_rows_that_both_judged() -> None:
    gold, a, b = three()
    lost_a, lost_b = np.arange(200) % 10 == 0, np.arange(200) % 15 == 0
    block = compared(speaking(gold), speaking(a, lost_a), speaking(b, lost_b), np.arange(200) // 2)
    both = ~lost_a & ~lost_b
    for name, formula in (("accuracy", accuracy_score), ("cohen_kappa", cohen_kappa_score)):
        expected = formula(gold[both], a[both]) - formula(gold[both], b[both])
        assert block[name]["value"] == pytest.approx(expected, abs=1e-9)
        assert block[name]["low"] < expected < block[name]["high"] and block[name]["n"] == both.sum()
    quadratic = [cohen_kappa_score(gold[both], x[both], weights="quadratic") for x in (a, b)]
    assert block["weighted_kappa"]["value"] == pytest.approx(quadratic[0] - quadratic[1], abs=1e-9)
    passed = [accuracy_score(gold[both] == 2, x[both] == 2) for x in (a, b)]
    assert block["pass_accuracy"]["value"] == pytest.approx(passed[0] - passed[1], abs=1e-9)


def test_a_failure_counts_against_the_judge_that_failed_where_the_terms_say_so() -> None:
    gold, a, b = three()
    lost = np.arange(200) % 10 == 0
    block = compared(speaking(gold), speaking(a, lost), speaking(b), np.arange(200), "wrong")
    expected = ((a == gold) & ~lost).mean() - (b == gold).mean()
    assert block["accuracy"]["value"] == pytest.approx(expected, abs=1e-9) and block["accuracy"]["n"] == 200
    kappas = cohen_kappa_score(gold[~lost], a[~lost]) - cohen_kappa_score(gold, b)
    assert block["cohen_kappa"]["value"] == pytest.approx(kappas, abs=1e-9)


def test_pairing_makes_the_interval_as_narrow_as_a_bootstrap_of_paired_differences() -> None:
    """Beside scipy's BCa bootstrap of the rows' own differences; unpaired sides would be twice as wide."""
    from scipy.stats import bootstrap

    gold, a, b = three(400)
    e = compared(speaking(gold), speaking(a), speaking(b), np.arange(400))["accuracy"]
    apart = (a == gold).astype(float) - (b == gold)
    theirs = bootstrap((apart,), np.mean, n_resamples=4000, random_state=np.random.default_rng(1)).confidence_interval
    ours, width = e["high"] - e["low"], theirs.high - theirs.low
    assert 0.85 < ours / width < 1.15
    unpaired = 2 * 1.96 * np.sqrt(((a == gold).var() + (b == gold).var()) / 400)
    assert unpaired > 1.5 * ours


def test_two_equal_judges_differ_by_nothing_and_the_interval_says_how_much_is_known() -> None:
    gold, a, _ = three(40)
    e = compared(speaking(gold), speaking(a), speaking(a), np.arange(40))["accuracy"]
    assert e["value"] == 0 and e["low"] < 0 < e["high"]


def test_no_shared_labels_and_a_constant_gold_are_said() -> None:
    gold, a, b = three(40)
    none = compared(speaking(gold), speaking(a), speaking(b).at(np.arange(0)), np.arange(40))
    assert none["accuracy"]["value"] is None and none["accuracy"]["why"] == "no labelled solution that both judges met"
    same = compared(speaking(np.full(40, 2)), speaking(np.full(40, 2)), speaking(b), np.arange(40))
    assert same["cohen_kappa"]["value"] is None and "one word only" in same["cohen_kappa"]["why"]
    assert same["accuracy"]["value"] is not None


def test_a_trained_judges_labels_are_those_that_both_are_held_against() -> None:
    gold, a, b = three(40)
    labels = {"a": speaking(gold), "b": speaking(gold).at(np.arange(10, 40))}
    found = between_judges(np.arange(40), labels, {"a": speaking(a), "b": speaking(b)}, "leave_out", None, INTERVALS)
    assert found["pairs"]["a"]["b"]["accuracy"]["n"] == 30


def test_with_very_many_judges_nothing_is_compared_and_it_is_said() -> None:
    judges = {f"j{i:02}": speaking([2]) for i in range(13)}
    found = between_judges(np.arange(1), dict.fromkeys(judges, speaking([2])), judges, "leave_out", None, INTERVALS)
    assert found == {"why": "there are 78 pairs, and at most 66 are compared", "pairs": {}}


# models


def test_points_on_another_scale_than_the_labels_pass_nothing(make: Maker, taxonomy: Taxonomy) -> None:
    for i in range(12):
        make.solution(f"s{i:02}")
        make.label(f"s{i:02}", "correct", points=7, max_points=7)
        make.verdict(f"s{i:02}", "correct", judge="a", points=7, max_points=7)
        make.verdict(f"s{i:02}", "correct", judge="b", points=7, max_points=7 if i < 5 else 100)
    m = gather(make.study, collect(make.study, [], FromStudy(), taxonomy), taxonomy, None)
    said = {name: judge.said for name, judge in m.judges.items()}
    block = between_judges(m.solutions.problem.codes, dict.fromkeys(said, m.human), said, "leave_out", 6, INTERVALS)
    assert block["pairs"]["a"]["b"]["pass_accuracy"]["n"] == 5
    assert block["pairs"]["a"]["b"]["accuracy"]["n"] == 12


@pytest.fixture
def models(make: Maker, taxonomy: Taxonomy) -> Callable[[], Any]:
    def compute() -> Any:
        m = gather(make.study, collect(make.study, [], FromStudy(), taxonomy), taxonomy, None)
        return between_models(cases(m, m.human), INTERVALS)

    return compute


def test_models_are_compared_on_the_problems_that_both_solved(make: Maker, models: Callable[[], Any]) -> None:
    rng = np.random.default_rng(0)
    right: dict[str, list[Any]] = {"a": [], "b": []}
    for i in range(40):
        make.problem(f"p{i:02}", answer="1")
        for model in ("a", "b"):
            if i >= 35 and model == "b":
                continue  # solved by `a` alone
            for k in range(1 + i % 2):
                verdict = (
                    VERDICTS[int(rng.integers(0, 3))] if rng.random() < 0.5 + 0.3 * (model == "a") else "incorrect"
                )
                make.solution(f"p{i:02}-{model}-{k}", f"p{i:02}", model=model)
                make.label(f"p{i:02}-{model}-{k}", verdict, answer_correct=verdict == "correct")
                if i < 35:
                    right[model].append(verdict)
    block = models()["pairs"]["a"]["b"]
    for name in VERDICTS:
        expected = np.mean([v == name for v in right["a"]]) - np.mean([v == name for v in right["b"]])
        assert block[name]["value"] == pytest.approx(expected, abs=1e-9)
        assert block[name]["n_problems"] == 35 and block[name]["low"] < expected < block[name]["high"]
    assert block["final_answer_accuracy"]["value"] == pytest.approx(block["correct"]["value"], abs=1e-12)


def test_models_without_a_shared_problem_are_not_compared(make: Maker, models: Callable[[], Any]) -> None:
    for i, model in enumerate(("a", "b")):
        make.problem(f"p{i}")
        make.solution(f"s{i}", f"p{i}", model=model)
        make.label(f"s{i}", "correct")
    assert models()["pairs"]["a"]["b"]["correct"]["why"] == "no problem has labelled solutions by both"

import pytest

from calibrate.gates import Gates, figure_of, in_words, outcomes


def judge(low: float | None, **more: object) -> dict:  # type: ignore[type-arg]
    figure = {"value": 0.7, "low": low, "high": 0.9, "n": 50} | more
    return {"agreement": {"verdict": {"cohen_kappa": figure}, "pass": {"f1": figure}}}


def test_a_gate_tests_the_lower_end_and_not_the_value() -> None:
    gates = Gates(verdict_kappa=0.6).given()
    (fails,) = outcomes({"j": judge(0.55)}, gates, None)
    (passes,) = outcomes({"j": judge(0.6)}, gates, None)
    assert not fails["passed"] and passes["passed"]
    assert list(in_words([fails, passes])) == [
        "gate.verdict_kappa=0.6 failed: judge j: the interval's lower end is 0.550"
    ]


def test_a_figure_without_an_interval_fails_and_says_why() -> None:
    (g,) = outcomes({"j": judge(None, value=None, why="no label bears it")}, {"verdict_kappa": -1.0}, None)
    assert not g["passed"]
    assert list(in_words([g])) == ["gate.verdict_kappa=-1 failed: judge j: no label bears it"]
    (g,) = outcomes({"j": judge(None, degenerate="the judge says only 'correct'")}, {"pass_f1": 0.0}, None)
    assert "the judge says only 'correct'" in next(in_words([g]))


def test_every_judge_is_tested_but_baselines_only_when_named() -> None:
    judges = {"constant": judge(0.0), "a": judge(0.9), "tfidf": judge(0.0), "b": judge(0.1)}
    assert [g["judge"] for g in outcomes(judges, {"pass_f1": 0.5}, None)] == ["a", "b"]
    assert len(outcomes(judges, {"pass_f1": 0.5}, list(judges))) == 4


def test_a_gate_without_a_judge_fails() -> None:
    found = outcomes({}, {"pass_f1": 0.5, "verdict_kappa": 0.1}, None)
    assert list(in_words(found)) == ["gate.pass_f1=0.5 failed: there is no judge to test",
                                     "gate.verdict_kappa=0.1 failed: there is no judge to test"]  # fmt: skip


@pytest.mark.parametrize("low", [0.3])
def test_figures_are_found_by_their_documented_names(low: float) -> None:
    assert figure_of(judge(low), "verdict_kappa")["low"] == low

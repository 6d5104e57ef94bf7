"""The `estimates` and `calibration` blocks of a study, from its records."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import numpy as np
import pytest
from sklearn.metrics import f1_score

from calibrate.report import schema
from calibrate.report.markdown import markdown
from calibrate.report.sections import calibrations, estimates
from generate.journal import Failure
from generate.labels import VERDICTS, HumanLabel
from generate.problems import Problem
from generate.solutions import Solution
from judge.verdicts import Answer, Fallacy, Verdict
from tests.calibrate.conftest import TAGS, Maker
from tests.calibrate.test_report import whole

Metrics = Callable[..., dict[str, Any]]
TAG = TAGS[0]


class Made:
    """A study of P problems with one solution by each model, and what was drawn for it, so that tests can do the sums."""

    def __init__(self, make: Maker, problems: int, labelled: dict[str, int], knows: float = 0.8, **how: Any):
        """`labelled`: for each model, how many of its solutions have labels. `how`: failed (share of verdicts), votes
        (probabilities from so many), answers (final answers are known), human_answers (and humans say so too), scale."""
        rng = np.random.default_rng(3)
        models = list(labelled)
        n = problems * len(models)
        self.model = np.repeat(np.arange(len(models)), problems)
        self.labelled = np.concatenate([np.arange(problems) < k for k in labelled.values()])
        self.y = rng.choice(3, n, p=[0.3, 0.2, 0.5])
        votes = how.get("votes", 1)
        sure = rng.random((n, votes)) < knows
        said = np.where(sure, self.y[:, None], rng.integers(0, 3, (n, votes)))
        self.p = np.stack([(said == k).mean(axis=1) for k in range(3)], axis=-1)
        self.f = self.p.argmax(axis=1)
        self.failed = rng.random(n) < how.get("failed", 0)
        self.tag = rng.random(n) < 0.3
        self.tag_p = np.clip(np.where(self.tag, 0.6, 0.2) + 0.2 * rng.standard_normal(n), 0.01, 0.99).round(3)
        self.right = rng.random(n) < 0.6
        records: dict[str, list[Any]] = {"solutions": [], "verdicts": [], "labels": [], "answers": []}
        for i in range(n):
            name, problem = f"s{i:05}", f"p{i % problems:04}"
            records["solutions"].append(
                Solution(key=name, id=name, problem_id=problem, model=models[self.model[i]], text="t")
            )
            if self.failed[i]:
                said_of: dict[str, Any] = {"error": Failure(kind="unparsed", message="m")}
            else:
                named = Fallacy(tag=TAG, probability=float(self.tag_p[i]) if votes > 1 else None)
                said_of = {"verdict": VERDICTS[self.f[i]], "fallacies": [named] if self.tag_p[i] >= 0.5 else []}
                if votes > 1:
                    said_of |= {
                        "probabilities": dict(zip(VERDICTS, self.p[i].tolist(), strict=True)),
                        "fallacies": [named],
                    }
            records["verdicts"].append(
                Verdict(key=name, id=f"j/{name}", solution_id=name, judge="j", judge_key="k", **said_of)
            )
            if self.labelled[i]:
                human = {"answer_correct": bool(self.right[i])} if how.get("human_answers") else {}
                tags = [TAG] if self.tag[i] else []
                label = HumanLabel(
                    solution_id=name,
                    annotator="a",
                    verdict=VERDICTS[self.y[i] // 2 * 2 if how.get("scale") == "binary" else self.y[i]],
                    fallacies=tags,
                    scale=how.get("scale", "three"),
                    sampling="random",
                    **human,
                )
                records["labels"].append(label)
            if how.get("answers"):
                outcome = "equal" if self.right[i] else "different"
                records["answers"].append(
                    Answer(key=name, solution_id=name, checker="strict", gold="1", extracted="a", outcome=outcome)
                )
        with make.study.problems_journal() as journal:
            for g in range(problems):
                journal.append(Problem(id=f"p{g:04}", answer="1" if how.get("answers") else None))
        with make.study.solutions_journal("m") as journal:
            for r in records["solutions"]:
                journal.append(r)
        with make.study.journal("verdicts", "j", Verdict) as journal:
            for r in records["verdicts"]:
                journal.append(r)
        with make.study.labels_journal("src") as journal:
            for r in records["labels"]:
                journal.append(r)
        with make.study.journal("answers", "strict", Answer) as journal:
            for r in records["answers"]:
                journal.append(r)


def of(metrics: dict[str, Any]) -> dict[str, Any]:
    jsonschema.Draft202012Validator(schema()).validate(whole(metrics))
    found: dict[str, Any] = metrics["judges"]["j"]["estimates"]
    return found


def test_corrected_shares_are_those_of_ppi_python(make: Maker, metrics_of: Metrics) -> None:
    """From records to shares and lambda: one model, one solution a problem."""
    from ppi_py import ppi_mean_pointestimate
    from ppi_py.ppi import _calc_lam_glm

    made = Made(make, 300, {"m": 90})
    found = of(metrics_of())
    y, f, some = np.eye(3)[made.y], np.eye(3)[made.f], made.labelled
    expected = ppi_mean_pointestimate(y[some], f[some], f[~some])
    block = found["corrected"]["overall"]
    assert [block[v]["value"] for v in VERDICTS] == pytest.approx(expected, abs=1e-9)
    lam = _calc_lam_glm(y[some], f[some], f[~some], np.eye(3), clip=True)
    assert block["correct"]["lambda"] == found["lambda"]["correct"] == pytest.approx(lam, abs=1e-9)
    assert (block["correct"]["n"], block["correct"]["n_problems"], found["solutions"]) == (90, 90, 300)
    assert block["correct"]["low"] < 0.5 < block["correct"]["high"]
    t = (made.tag_p >= 0.5).astype(float)
    expected = ppi_mean_pointestimate(made.tag[some].astype(float), t[some], t[~some])
    assert block["fallacies"][TAG]["value"] == pytest.approx(float(expected[0]), abs=1e-9)


def test_a_failed_verdict_is_a_prediction_of_zeros_and_shares_add_up_to_one(make: Maker, metrics_of: Metrics) -> None:
    from ppi_py import ppi_mean_pointestimate

    made = Made(make, 300, {"m": 90}, failed=0.2)
    found = of(metrics_of())
    assert (found["solutions"], found["labelled"]) == (300, 90)
    block = found["corrected"]["overall"]
    y, f, some = np.eye(3)[made.y], np.eye(3)[made.f] * ~made.failed[:, None], made.labelled
    expected = ppi_mean_pointestimate(y[some], f[some], f[~some])
    missing = 1 - expected.sum()
    assert [block[v]["value"] for v in VERDICTS] == pytest.approx(expected + missing / 3, abs=1e-9)
    assert sum(block[v]["value"] for v in VERDICTS) == pytest.approx(1, abs=1e-12)


def test_a_model_without_labels_is_refused_and_in_no_pooled_figure(make: Maker, metrics_of: Metrics) -> None:
    Made(make, 100, {"a": 50, "b": 0, "c": 12})
    found = of(metrics_of())
    assert (found["models"], found["models_without_labels"], found["solutions"]) == (["a"], ["b", "c"], 100)
    refused = found["corrected"]["by_model"]["b"]
    assert refused["correct"]["value"] is None and refused["correct"]["why"] == "no labels for this model"
    assert "no labels for this model: only 12" in found["corrected"]["by_model"]["c"]["fallacies"][TAG]["why"]
    one, pooled = found["corrected"]["by_model"]["a"]["correct"], found["corrected"]["overall"]["correct"]
    assert one == pooled and one["value"] is not None
    text = markdown(estimates(whole(metrics_of())))
    assert "Not covered, for want of labels of their own: b, c" in text and "not human gold" in text


def test_models_count_by_their_share_of_the_pool_however_many_labels_they_have(
    make: Maker, metrics_of: Metrics
) -> None:
    """Model b is worse and has fewer labels; the mean over the labels would be off."""
    made = Made(make, 200, {"a": 160, "b": 40})
    with make.study.labels_journal("src") as journal:
        for i in np.flatnonzero(made.labelled & (made.model == 1)).tolist():
            journal.append(HumanLabel(solution_id=f"s{i:05}", annotator="a", verdict="incorrect", sampling="random"))
    found = of(metrics_of())
    by_model = found["corrected"]["by_model"]
    assert by_model["b"]["correct"]["value"] == pytest.approx(0, abs=0.02)
    half = (by_model["a"]["correct"]["value"] + by_model["b"]["correct"]["value"]) / 2
    assert found["corrected"]["overall"]["correct"]["value"] == pytest.approx(half, abs=0.05)


def test_a_judge_no_better_than_chance_is_not_inverted_and_lambda_is_near_zero(
    make: Maker, metrics_of: Metrics
) -> None:
    made = Made(make, 400, {"m": 200}, knows=0.0)
    found = of(metrics_of())
    inverted, fixed = found["inverted"]["overall"]["correct"], found["corrected"]["overall"]["correct"]
    assert inverted["value"] is None and "no better than chance" in inverted["why"]
    assert fixed["lambda"] < 0.1
    assert fixed["value"] == pytest.approx((made.y[made.labelled] == 2).mean(), abs=0.01)
    assert fixed["low"] < 0.5 < fixed["high"]


def test_a_judge_that_never_erred_has_no_interval_of_zero_width(make: Maker, metrics_of: Metrics) -> None:
    Made(make, 400, {"m": 40}, knows=1.0)
    fixed = of(metrics_of())["corrected"]["overall"]["correct"]
    assert fixed["high"] - fixed["low"] > 0.05


def test_the_inversion_agrees_with_rogan_and_gladens_formula(make: Maker, metrics_of: Metrics) -> None:
    """(share named + specificity - 1) / (sensitivity + specificity - 1)."""
    made = Made(make, 300, {"m": 150})
    found = of(metrics_of())["inverted"]["overall"]["fallacies"][TAG]
    t, some = made.tag_p >= 0.5, made.labelled
    sensitivity, specificity = t[some & made.tag].mean(), (~t)[some & ~made.tag].mean()
    expected = (t.mean() + specificity - 1) / (sensitivity + specificity - 1)
    assert found["value"] == pytest.approx(expected, abs=1e-9)
    assert found["low"] < expected < found["high"]


def test_of_the_pool_alone_a_fully_labelled_study_is_known(make: Maker, metrics_of: Metrics) -> None:
    """Intervals are narrower than those about new problems, and there is nothing to estimate where all is labelled."""
    made = Made(make, 100, {"m": 60})
    both = {e: of(metrics_of(estimand=e)) for e in ("problems", "pool")}
    width = {
        e: x["corrected"]["overall"]["correct"]["high"] - x["corrected"]["overall"]["correct"]["low"]
        for e, x in both.items()
    }
    assert width["pool"] < 0.95 * width["problems"]
    assert (
        both["pool"]["estimand"] == "pool"
        and "these solutions alone" in both["pool"]["corrected"]["overall"]["correct"]["method"]
    )
    with make.study.labels_journal("src") as journal:
        for i in np.flatnonzero(~made.labelled).tolist():
            verdict = VERDICTS[made.y[i]]
            journal.append(HumanLabel(solution_id=f"s{i:05}", annotator="a", verdict=verdict, sampling="random"))
    fixed = of(metrics_of(estimand="pool"))["corrected"]["overall"]["correct"]
    assert fixed["value"] == pytest.approx((made.y == 2).mean(), abs=1e-12)
    assert fixed["high"] is None and fixed["why"] == "every solution has a label, so that nothing is estimated"


def test_correct_given_correct_answer(make: Maker, metrics_of: Metrics) -> None:
    """A mean over the solutions whose answer is right: the plain formula on these alone."""
    from ppi_py import ppi_mean_pointestimate

    made = Made(make, 400, {"m": 150}, answers=True)
    fixed = of(metrics_of())["corrected"]["overall"]["correct_given_correct_answer"]
    y, f = (made.y == 2).astype(float)[made.right], (made.f == 2).astype(float)[made.right]
    some = made.labelled[made.right]
    assert fixed["value"] == pytest.approx(float(ppi_mean_pointestimate(y[some], f[some], f[~some])[0]), abs=1e-9)
    assert fixed["n"] == some.sum()


def test_with_answers_labelled_by_humans_it_is_a_ratio(make: Maker, metrics_of: Metrics) -> None:
    made = Made(make, 400, {"m": 150}, answers=True, human_answers=True)
    block = of(metrics_of())["corrected"]["overall"]
    fixed = block["correct_given_correct_answer"]
    assert fixed["low"] < 0.5 < fixed["high"] and fixed["n"] == 150
    assert block["final_answer_accuracy"]["value"] == pytest.approx(made.right.mean(), abs=0.02)


def test_calibration_of_votes(make: Maker, metrics_of: Metrics) -> None:
    """Vote shares as they are recorded: figures for verdicts and tags, calibrators that fit the schema, thresholds."""
    made = Made(make, 300, {"m": 120}, votes=5, knows=0.5)
    metrics = metrics_of()
    of(metrics)
    block = metrics["judges"]["j"]["calibration"]
    assert (block["why"], block["method"], block["labels"]) == (None, "platt", 120)
    y, some = np.eye(3)[made.y], made.labelled
    assert block["brier"]["raw"]["value"] == pytest.approx(((made.p - y)[some] ** 2).sum(axis=1).mean(), abs=1e-9)
    assert set(block["reliability"]["raw"]) == {"verdict given", *VERDICTS}
    assert sum(b["observed"]["n"] for b in block["reliability"]["raw"]["correct"]) == 120
    assert block["risk_coverage"]["raw"]["points"][-1]["coverage"] == 1
    tag = block["fallacies"][TAG]
    assert 0.2 < block["thresholds"][TAG] < 0.6
    assert tag["f1"]["half"]["value"] == pytest.approx(f1_score(made.tag[some], made.tag_p[some] >= 0.5), abs=1e-9)
    assert set(block["calibrator"]["fallacies"]) == {TAG}
    assert (
        "Risk against coverage" not in (text := markdown(calibrations(whole(metrics))))
        and "risk against coverage" in text
    )


def test_without_probabilities_there_is_a_reason(make: Maker, metrics_of: Metrics) -> None:
    Made(make, 100, {"m": 50})
    block = metrics_of()["judges"]["j"]["calibration"]
    assert "gives no probabilities" in block["why"] and block["calibrator"] is None


def test_the_calibrator_is_kept_and_applied_to_what_is_not_labelled(make: Maker) -> None:
    from calibrate.calibration import apply
    from tests.calibrate.test_calibrate_stage import calibrate

    made = Made(make, 120, {"m": 60}, votes=5)
    run = calibrate(make, "study=s")
    assert run.returncode == 0, run.stderr
    folder = make.study.path / "reports" / "report"
    kept = json.loads(next((folder / "calibrators").iterdir()).read_bytes())
    lines = [json.loads(line) for line in next((folder / "calibrated").iterdir()).read_bytes().splitlines()]
    assert kept["judge"] == "j" and kept["judge_key"] == "k"
    assert [x["solution_id"] for x in lines] == [f"s{i:05}" for i in range(60, 120)]
    found = np.array([list(x["probabilities"].values()) for x in lines])
    assert found == pytest.approx(apply(kept["verdict"], made.p[60:]), abs=1e-6)


def test_labels_that_only_say_pass_or_not_correct_the_share_of_correct_ones(make: Maker, metrics_of: Metrics) -> None:
    from ppi_py import ppi_mean_pointestimate

    made = Made(make, 300, {"m": 90}, scale="binary")
    block = of(metrics_of())["corrected"]["overall"]
    y, f, some = (made.y == 2).astype(float), (made.f == 2).astype(float), made.labelled
    expected = float(ppi_mean_pointestimate(y[some], f[some], f[~some])[0])
    assert block["correct"]["value"] == pytest.approx(expected, abs=1e-9)
    assert block["incorrect"]["value"] is None and block["incorrect"]["why"] == "the labels only say pass or not"

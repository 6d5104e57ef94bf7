"""What is written: metrics.json against its schema, and a page that shows whose numbers it shows."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

from calibrate.report import Report, schema
from calibrate.report.markdown import escape, markdown
from calibrate.report.sections import in_full, in_short
from calibrate.report.terminal import terminal
from generate.journal import BadInput, Failure
from judge.verdicts import Opinion
from tests.calibrate.conftest import Maker

Metrics = Callable[..., dict[str, Any]]
SETTINGS = {
    "split": "all", "gate": {}, "alt_test": {"epsilon": 0.2, "q": 0.05, "fewest": 30},
    "adjudication": {"method": "majority", "adjudicator": None},
    "missing": "leave_out", "pass_threshold": None, "estimand": "problems", "calibration": "auto", "taxonomy": "two",
    "seed": 0, "resamples": 200
}  # fmt: skip


def whole(metrics: dict[str, Any]) -> dict[str, Any]:
    return {"report": "r", "inputs": "h", "settings": SETTINGS} | metrics


def check(metrics: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema()).validate(whole(metrics))


@pytest.fixture
def human(make: Maker) -> Maker:
    for i, verdict in enumerate(["correct", "incorrect", "partially_correct", "correct", "incorrect"]):
        make.problem(f"p{i}", answer="1" if i < 3 else None, topic="Algebra" if i % 2 else "Geometry")
        make.solution(f"s{i}", f"p{i}")
        make.label(
            f"s{i}", verdict, points=float(2 * i), max_points=8.0, fallacies=["Proof by Example"] if i % 2 else []
        )
        make.verdict(
            f"s{i}", "correct" if i < 4 else "incorrect", points=float(i), max_points=8.0, tags=["Proof by Example"]
        )
    return make


def test_the_schema_is_one_and_holds_for_every_kind_of_study(human: Maker, metrics_of: Metrics) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    check(metrics_of())
    check(metrics_of(missing="wrong", pass_threshold=6.0))
    human.label("s0", "incorrect", "author", kind="planted")
    check(metrics_of())


def test_the_schema_holds_for_a_study_without_labels_or_judges(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    check(metrics_of())


def test_the_schema_refuses_a_bare_float_and_a_null_without_a_reason(human: Maker, metrics_of: Metrics) -> None:
    metrics = metrics_of()
    kappa = metrics["judges"]["j"]["agreement"]["verdict"]["cohen_kappa"]
    metrics["judges"]["j"]["agreement"]["verdict"]["cohen_kappa"] = kappa["value"]
    with pytest.raises(jsonschema.ValidationError):
        check(metrics)
    metrics["judges"]["j"]["agreement"]["verdict"]["cohen_kappa"] = {**kappa, "value": None, "why": None}
    with pytest.raises(jsonschema.ValidationError):
        check(metrics)


def test_human_gold_comes_first_and_says_when_there_is_none(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.label("s", "incorrect", "author", kind="planted", fallacies=[])
    make.verdict("s", "correct", tags=[])
    for text in (markdown(in_full(whole(metrics_of()))), terminal(in_short(whole(metrics_of())))):
        titles = [
            text.index(t)
            for t in ("Human gold", "Planted labels: flaws written in on purpose", "Judges against the human")
        ]
        assert titles == sorted(titles)
        assert "There are no human labels in this study, so there is no human gold." in text
        assert "how far any judge agrees with humans is not known" in text
        assert "not human gold" in text


def test_the_pages_show_what_the_metrics_say(human: Maker, metrics_of: Metrics) -> None:
    metrics = whole(metrics_of())
    kappa = metrics["judges"]["j"]["agreement"]["verdict"]["cohen_kappa"]
    for text in (markdown(in_full(metrics)), terminal(in_short(metrics))):
        assert f"{kappa['value']:.3f}" in text
        assert "40.0%" in text and "(7.4, 84.7)" in text  # two of five correct, and Wilson's interval with t of 4
        said = "for each figure what serves it best (verdict: incorrect; pass: not passed; points: 4): what it reaches"
        assert "(constant)" in text and said in " ".join(text.split())
        assert "Base rates, as the labels have it: 40.0% correct, 20.0% partially correct, 40.0% incorrect." in text
    assert "fewer than 10 problems" in markdown(in_full(metrics))  # why the kappa has no interval


def test_solvers_failures_have_a_table_and_one_line_on_the_terminal(human: Maker, metrics_of: Metrics) -> None:
    assert "Solutions\n" not in terminal(in_short(whole(metrics_of())))
    human.solution("e", "p4", text=None, model="k", error=Failure(kind="timeout", message="m"))
    human.solution("c", "p4", model="k", finish_reason="length")
    metrics = metrics_of()
    check(metrics)
    line = "Of 7 solutions: 1 cut off by the token limit; errors: 1 timeout."
    assert line in terminal(in_short(whole(metrics)))
    page = markdown(in_full(whole(metrics)))
    for row in ("| all | 5 | 1 | 1 timeout |", "| model k | 0 | 1 | 1 timeout |", "| model m | 5 | 0 | none |"):
        assert row in page


def test_strict_and_lenient_accuracy_and_opinions_stand_apart(human: Maker, metrics_of: Metrics) -> None:
    for i, (strict, lenient) in enumerate((("equal", "equal"), ("different", "equal"), ("undecided", "undecided"))):
        human.answer(f"s{i}", strict)
        human.answer(f"s{i}", lenient, "lenient")
    with human.study.journal("opinions", "opinion-m", Opinion) as journal:
        fields = {"key": "k", "solution_id": "s2", "judge": "opinion-m", "judge_key": "k", "gold": "1", "answer": "a"}
        journal.append(Opinion(outcome="equal", **fields))
    metrics = metrics_of()
    check(metrics)
    page = markdown(in_full(whole(metrics)))
    assert "| all | 50.0% (0.3, 99.7) n=2 | 100.0% (1.2, 100.0) n=2 | only 2 problems and 1 case on one side" in page
    assert "too narrow; left out: 1 undecided;" in page
    assert "| | model | undecided | equal |".replace("| |", "|  |") in page
    assert "| all | opinion-m | 1 | 1 | 0 | 0 | 0 |" in page
    assert "undecided final answers (not counted here)" in page
    for text in (page, terminal(in_short(whole(metrics)))):
        assert "by the lenient reading 100.0%" in text
        assert "of the undecided ones opinion-m says: 1 equal (not counted here)" in " ".join(text.split())


def test_what_was_made_before_a_change_is_listed(human: Maker, metrics_of: Metrics) -> None:
    human.answer("s0", "equal", gold="another")
    human.answer("s1", "equal", text_hash="of another text")
    human.verdict("s2", "correct", problem_hash="of another problem")
    metrics = metrics_of()
    check(metrics)
    for text in (markdown(in_full(whole(metrics))), terminal(in_short(whole(metrics)))):
        for what in ("whose gold answer has changed", "whose solution's text has changed", "whose problem (statement"):
            assert what in text


def test_a_judges_own_shares_are_said_to_be_the_judges(human: Maker, metrics_of: Metrics) -> None:
    text = markdown(in_full(whole(metrics_of())))
    at = text.index("| judge j |")
    assert "What the judges alone would report (not human gold)" in text[:at]
    assert text.index("Human gold") < at


def test_names_from_data_cannot_break_the_page(make: Maker, metrics_of: Metrics) -> None:
    nasty = "a|b\n# <script>alert(1)</script> [x](javascript:1) `c` *d* \x1b[31m"
    make.problem("p", topic=nasty)
    make.problem("q", topic="Algebra")
    for i, model in enumerate((nasty, "m")):
        make.solution(f"s{i}", "pq"[i], model=model)
        make.label(f"s{i}", "correct", nasty)
        make.verdict(f"s{i}", "correct", judge=nasty)
    page = markdown(in_full(whole(metrics_of())))
    assert "<script" not in page and "\x1b" not in page and "\n# <" not in page
    tables = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(line.count("|") == previous.count("|") for previous, line in pairwise(tables) if "---" in line)
    shown = terminal(in_short(whole(metrics_of())))
    assert "\x1b" not in shown


def test_escape_leaves_plain_names_readable() -> None:
    assert escape("gpt_oss_120b 31.5% (25.5, 38.2)") == "gpt_oss_120b 31.5% (25.5, 38.2)"
    assert escape("a|b\nc") == "a&#124;b c"
    assert escape("_x_ <b> ![i](http://e)") == r"\_x\_ &lt;b&gt; \!\[i\](http&#58;//e)"


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", ".hidden"])
def test_a_reports_name_cannot_lead_elsewhere(make: Maker, name: str) -> None:
    with pytest.raises(BadInput, match="a report's name is letters"):
        Report(make.study, name)


def test_half_a_report_is_no_report(make: Maker) -> None:
    report = Report(make.study, "r")
    assert report.known() is None
    report.path.mkdir(parents=True)
    (report.path / "report.md").write_text("half")
    assert report.known() is None
    (report.path / "metrics.json").write_text("{")
    assert report.known() == {}

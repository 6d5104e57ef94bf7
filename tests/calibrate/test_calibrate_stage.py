"""`python -m calibrate` as it is run."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from calibrate.report import schema
from tests.calibrate.conftest import Maker

Run = subprocess.CompletedProcess[str]


def calibrate(make: Maker, *args: str) -> Run:
    command = [sys.executable, "-m", "calibrate", *args]
    return subprocess.run(command, cwd=make.root.parent, capture_output=True, text=True, timeout=120)


def metrics(make: Maker, name: str = "report") -> Any:
    return json.loads((make.study.path / "reports" / name / "metrics.json").read_text())


def state(make: Maker) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in make.study.path.rglob("*.jsonl")}


@pytest.fixture
def judged(make: Maker) -> Maker:
    for i, verdict in enumerate(["correct", "incorrect", "partially_correct", "correct"]):
        make.problem(f"p{i}")
        make.solution(f"s{i}", f"p{i}")
        make.label(f"s{i}", verdict)
        make.verdict(f"s{i}", "correct" if i else "incorrect")
    return make


def test_a_report_is_made_shown_again_and_not_overwritten_unasked(judged: Maker) -> None:
    first = calibrate(judged, "study=s")
    assert first.returncode == 0, first.stderr
    assert "Human gold" in first.stdout and "accuracy" in first.stdout
    made = metrics(judged)
    jsonschema.Draft202012Validator(schema()).validate(made)
    assert made["judges"]["j"]["agreement"]["verdict"]["accuracy"]["value"] == 0.25
    assert list(judged.study.path.glob("manifests/calibrate-*.json"))
    assert {p.name for p in judged.root.parent.iterdir()} == {"studies"}

    again = calibrate(judged, "study=s")
    assert again.returncode == 0 and "nothing has changed" in again.stdout
    assert (
        first.stdout.split("Human gold")[1].split("report:")[0]
        == again.stdout.split("Human gold")[1].split("nothing has changed")[0]
    )

    judged.verdict("s0", "correct")
    refused = calibrate(judged, "study=s")
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "calibrate: studies/s/reports/report is a report on other records or settings; say name=OTHER or overwrite=true"
    ]
    assert metrics(judged) == made
    other = calibrate(judged, "study=s", "name=other")
    assert (
        other.returncode == 0
        and metrics(judged, "other")["judges"]["j"]["agreement"]["verdict"]["accuracy"]["value"] == 0.5
    )
    replaced = calibrate(judged, "study=s", "overwrite=true")
    assert replaced.returncode == 0
    assert {**metrics(judged), "report": ""} == {**metrics(judged, "other"), "report": ""}


def test_equal_input_gives_equal_bytes(judged: Maker) -> None:
    assert calibrate(judged, "study=s").returncode == 0
    files = [judged.study.path / "reports" / "report" / name for name in ("metrics.json", "report.md", "index.html")]
    before = [f.read_bytes() for f in files]
    assert calibrate(judged, "study=s", "overwrite=true").returncode == 0
    assert [f.read_bytes() for f in files] == before


def test_annotators_own_table_is_taken_into_the_study(judged: Maker, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("solution_id,who,word\ns0,bob,wrong\ns1,bob,CORRECT.\ns2,bob,\n")
    table = ["labels=table", "labels.path=sheet.csv", "labels.columns.annotator=who", "labels.columns.verdict=word",
             "labels.verdict_words={wrong: incorrect}", "labels.name=bobs sheet"]  # fmt: skip
    done = calibrate(judged, "study=s", *table)
    assert done.returncode == 0, done.stderr
    assert {"annotator": "bob", "kind": "human", "labels": 2} in metrics(judged)["annotators"]
    assert metrics(judged)["left_out"]["unresolved"]["human"] == ["s0", "s1"]
    files = list((judged.study.path / "labels").glob("bobs-sheet-*.jsonl"))
    assert len(files) == 1 and len(files[0].read_text().splitlines()) == 2
    assert "nothing has changed" in calibrate(judged, "study=s", *table).stdout
    assert "nothing has changed" in calibrate(judged, "study=s").stdout  # the labels stand in the study now


def test_a_cell_that_is_emptied_takes_its_label_back(judged: Maker, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    table = ["labels=table", "labels.path=sheet.csv", "labels.annotator=bob", "labels.columns.verdict=v"]
    sheet.write_text("solution_id,v\ns0,correct\ns1,correct\n")
    assert calibrate(judged, "study=s", *table).returncode == 0
    sheet.write_text("solution_id,v\ns0,\ns1,correct\n")
    done = calibrate(judged, "study=s", "overwrite=true", *table)
    assert "human labels: 1 read into" in done.stdout and "0 new or changed; 1 withdrawn" in done.stdout
    assert {"annotator": "bob", "kind": "human", "labels": 1} in metrics(judged)["annotators"]
    assert "nothing has changed" in calibrate(judged, "study=s", *table).stdout


def test_a_sheet_that_nobody_filled_in_is_said_to_hold_no_label(judged: Maker, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("solution_id,v\ns0,\ns1,\n")
    table = ["labels=table", "labels.path=sheet.csv", "labels.annotator=bob", "labels.columns.verdict=v"]
    done = calibrate(judged, "study=s", *table)
    assert done.returncode == 0 and "warning: the rows of labels.path hold no label" in done.stdout


def test_judges_that_are_there_to_be_beaten_come_last(judged: Maker) -> None:
    judged.verdict("s0", "correct", judge="constant")
    assert calibrate(judged, "study=s").returncode == 0
    assert list(metrics(judged)["judges"]) == ["j", "constant"]


def test_missing_and_threshold_are_settings(judged: Maker) -> None:
    from generate.journal import Failure

    judged.verdict("s3", None, error=Failure(kind="unparsed", message="m"))
    assert calibrate(judged, "study=s", "name=a").returncode == 0
    assert calibrate(judged, "study=s", "name=b", "missing=wrong").returncode == 0
    shares = [metrics(judged, n)["judges"]["j"]["agreement"]["verdict"]["accuracy"] for n in "ab"]
    assert [s["n"] for s in shares] == [3, 4]
    assert [metrics(judged, n)["judges"]["j"]["coverage"]["missing"] for n in "ab"] == [1, 1]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["study=other"], "study=other: there is no studies/other; there are: s"),
        (["study=s", "judgs=[j]"], "unknown key 'judgs'; did you mean 'judges'?"),
        (["study=s", "judges=[x]"], "judges: 'x' has judged nothing here; there are: j"),
        (["study=s", "missing=skip"], "missing: Input should be 'leave_out' or 'wrong', got 'skip'"),
        (["study=s", "pass_threshold=high"], "pass_threshold: "),
        (["study=s", "pass_threshold=nan"], "pass_threshold: "),
        (["study=s", "pass_threshold=inf"], "pass_threshold: "),
        (["study=s", "pass_threshold=0"], "pass_threshold: "),  # every solution would pass
        (["study=s", "labels=table", "labels.path=points.csv", "labels.max_points=nan"], "labels.max_points: "),
        (
            ["study=s", "pass_threshold=8", "labels=table", "labels.path=seven.csv", "labels.columns.points=points"],
            "pass_threshold=8: is above the labels' max_points, 7",
        ),
        (["study=s", "name=a/b"], "name=a/b: a report's name is letters"),
        (["study=s", "labels=nobody"], "labels=nobody: there is no such labels"),
        (["study=s", "labels=table"], "labels: path: must be given, such as labels.path=FILE"),
        (["study=s", "labels=table", "labels.path=nowhere.csv"], "labels: path: there is no file nowhere.csv"),
        (["study=s", "labels=table", "labels.path=bad.csv"], "bad.csv, row 2, column 'solution_id': study s has no solution 'zz'"),
        (
            ["study=s", "labels=table", "labels.path=bad.csv", "labels.columns.verdict=v"],
            "bad.csv: there is no column 'v' (labels.columns.verdict)",
        ),
        (
            ["study=s", "labels=table", "labels.path=tags.csv", "labels.columns.fallacies=tags"],
            "tags.csv, row 2, column 'tags': 'Sloth' is not a fallacy of taxonomy=brains_vs_bytes",
        ),
        (
            ["study=s", "labels=table", "labels.path=points.csv", "labels.columns.points=points"],
            "points.csv, row 2, column 'points': '9' is outside 0 to 7",
        ),
        (["study=s", "taxonomy=nothing"], "taxonomy=nothing: there is no such taxonomy"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_exit_code_2_and_changes_nothing(
    judged: Maker, tmp_path: Path, args: list[str], line: str
) -> None:
    (tmp_path / "bad.csv").write_text("solution_id,x\nzz,1\n")
    (tmp_path / "tags.csv").write_text("solution_id,tags\ns0,Sloth\n")
    (tmp_path / "points.csv").write_text("solution_id,points\ns0,9\n")
    (tmp_path / "seven.csv").write_text("solution_id,points\ns0,6\n")
    before = state(judged)
    run = calibrate(judged, *args)
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1 and line in run.stderr, run.stderr
    assert "Traceback" not in run.stdout
    assert state(judged) == before and not (judged.study.path / "reports").exists()


def test_a_study_without_solutions_says_what_to_do(make: Maker) -> None:
    make.problem("p")
    run = calibrate(make, "study=s")
    assert run.returncode == 2 and "holds no solutions: run `python -m generate` first" in run.stderr


def test_a_study_without_labels_and_judges_still_gets_a_report(make: Maker) -> None:
    make.solution("s")
    run = calibrate(make, "study=s")
    assert run.returncode == 0, run.stderr
    assert "There are no human labels" in run.stdout and "No judge has judged this study yet" in run.stdout


def test_help_shows_the_knobs_with_their_comments_quickly(make: Maker) -> None:
    began = time.monotonic()
    run = calibrate(make, "--help")
    assert run.returncode == 0 and time.monotonic() - began < 5
    assert "missing: leave_out" in run.stdout and "labels=" in run.stdout and "taxonomy=" in run.stdout


def test_start_up_imports_nothing_heavy(make: Maker) -> None:
    code = "import sys, calibrate.__main__; print([m for m in ('sklearn', 'scipy', 'torch', 'dspy', 'vllm') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stderr


def test_open_shows_the_page_in_the_users_browser(judged: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = judged.root.parent / "browser"
    seen = judged.root.parent / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    said = calibrate(judged, "study=s", "open=true")
    assert said.returncode == 0 and "no browser was found" not in said.stdout
    assert seen.read_text().strip() == (judged.study.path / "reports" / "report" / "index.html").as_uri()
    none = calibrate(judged, "study=s", "name=bare", "page_solutions=0", "open=true")
    assert none.returncode == 0 and "it is made with page_solutions above 0" in none.stdout
    assert not (judged.study.path / "reports" / "bare" / "index.html").exists()

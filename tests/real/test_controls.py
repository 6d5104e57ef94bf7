"""Controls and `show` with the real vLLM, and the baselines' figures in README against the real data."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["model.context_length=4096", "program.reasoning_characters=120", "program.fallacies=1",
         "program.quote_characters=40", "program.explanation_characters=40"]  # fmt: skip


@pytest.mark.engine
@pytest.mark.long
def test_a_real_model_judges_the_controls_and_one_of_them_is_shown_with_its_prompt(stage, tmp_path):
    pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")
    assert stage("generate", "dataset=starter", "limit=2", "model=recorded", "study=s").returncode == 0
    judge = ["study=s", "limit=5", "variants.solutions=1", *SHORT]
    done = stage("judge", *judge, "controls=true")
    assert done.returncode == 0, done.stderr
    home = tmp_path / "studies" / "s" / "controls"
    solutions = [json.loads(x) for file in (home / "solutions").glob("*") for x in file.read_text().splitlines()]
    verdicts = [json.loads(x) for file in (home / "verdicts").glob("*") for x in file.read_text().splitlines()]
    kinds = {s["meta"]["control"]["kind"] for s in solutions}
    assert {"unchanged", "empty", "other_problem", "plea", "reworded"} <= kinds
    assert {v["solution_id"] for v in verdicts} == {s["id"] for s in solutions}
    assert all((v["verdict"] is None) == (v["error"] is not None) for v in verdicts)
    assert not (tmp_path / "studies" / "s" / "verdicts").exists()
    again = stage("judge", *judge, "controls=true")
    assert "0 to do" in again.stdout and "starting vLLM" not in again.stderr

    empty = next(v for v in verdicts if v["solution_id"].endswith("#empty"))
    shown = stage("judge", "study=s", f"show={empty['id']}")
    assert shown.returncode == 0, shown.stderr
    assert "a control, made from" in shown.stdout and "prompt, system" in shown.stdout
    assert re.search(r"-----([0-9a-f]{8})-----\n\n-----\1-----", shown.stdout)  # nothing stood between the fences

    assert stage("judge", *judge).returncode == 0
    assert stage("calibrate", "study=s").returncode == 0
    report = json.loads((tmp_path / "studies" / "s" / "reports" / "report" / "metrics.json").read_text())
    (judged,) = report["judges"].values()
    assert set(judged["controls"]) == kinds
    for control in judged["controls"].values():
        judged_or_failed = control["as_expected"]["n"] + control["not_compared"] + sum(control["errors"].values())
        assert judged_or_failed == control["made"] > 0


@pytest.mark.long
def test_the_baselines_table_in_the_readme_is_what_the_command_prints(shared):
    words = [sys.executable, ROOT / "scripts" / "bench" / "baselines.py", "--data", shared / "data"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("| gradingbench", "| opc"))]
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6
    for line in lines:
        name = " | ".join(line.split(" | ")[:2])
        (kept,) = [other for other in readme if other.startswith(f"{name} |")]
        ours, theirs = ([float(x) for x in re.findall(r"-?\d+\.?\d*", text)] for text in (line, kept))
        assert ours == pytest.approx(theirs, abs=0.02), line

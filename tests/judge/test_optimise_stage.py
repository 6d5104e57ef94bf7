"""`python -m judge mode=optimise` as a user runs it: trained, stopped in the middle, loaded, and held against labels."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer

import pytest

from judge.splits import split_of
from tests.conftest import Misbehaving

TRAIN = ["mode=optimise", "training.labels=planted", "training.name=better"]
TINY = {
    "bootstrap": [
        "optimiser=bootstrap",
        "optimiser.candidates=1",
        "optimiser.demonstrations=1",
        "optimiser.threshold=0.5",
    ],
    "gepa": ["optimiser=gepa", "optimiser.readings=60"],
}


class Teachable(Misbehaving):
    """Calls every solution correct, and, once it has seen a demonstration or other instructions, every one incorrect."""

    seconds = 0.0

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        time.sleep(Teachable.seconds)
        messages = asked["messages"]
        if "FALLACIES" not in messages[0]["content"]:
            content = "Be harsh."
        else:
            verdict = "incorrect" if "Be harsh." in messages[0]["content"] or len(messages) > 2 else "correct"
            content = json.dumps({"reasoning": "r", "fallacies": [], "first_wrong_step": None, "verdict": verdict})
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self._send(
            200,
            {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage},
        )


@pytest.fixture
def school(stage):
    """The starter set in a study, and words that reach a teachable model."""
    Teachable.asked, Teachable.seconds = [], 0.0
    http = ThreadingHTTPServer(("127.0.0.1", 0), Teachable)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    assert stage("generate", "model=recorded", "study=s").returncode == 0
    yield ["study=s", "model=served", "model.id=m", f"engine.base_url=http://127.0.0.1:{http.server_port}/v1"]
    http.shutdown()
    http.server_close()


def lines(file):
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_trained_loaded_and_scored_on_the_lockbox_alone(stage, school, tmp_path):
    done = stage("judge", *school, *TRAIN, *TINY["gepa"])
    assert done.returncode == 0, done.stderr
    assert "metric on dev, from 0 to 1: before" in done.stdout and "planted flaws: no human judged them" in done.stdout
    assert "best so far: candidate" in done.stderr and "call/s" in done.stderr.replace("s/call", "call/s")
    folder = tmp_path / "studies" / "s" / "programs" / "better"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["dev"]["after"]["value"] > manifest["dev"]["before"]["value"]
    assert "Be harsh." in (folder / "program.json").read_text()
    asked = len(Teachable.asked)
    again = stage("judge", *school, *TRAIN, *TINY["gepa"])
    assert again.returncode == 0 and "there already" in again.stdout and len(Teachable.asked) == asked

    plain, loaded = stage("judge", *school), stage("judge", *school, "program.load=better")
    assert plain.returncode == loaded.returncode == 0, plain.stderr + loaded.stderr
    assert "judge single-served-better" in loaded.stdout
    verdicts = [v for f in sorted((tmp_path / "studies" / "s" / "verdicts").glob("*.jsonl")) for v in lines(f)]
    by_judge = {j: [v for v in verdicts if v["judge"] == j] for j in ("single-served", "single-served-better")}
    assert {v["compiled"] for v in by_judge["single-served"]} == {None}
    assert {v["compiled"] for v in by_judge["single-served-better"]} == {f"better@{manifest['program_key']}"}
    assert len({v["judge_key"] for v in verdicts}) == 2
    assert {v["verdict"] for v in by_judge["single-served-better"]} == {"incorrect"}

    report = stage("calibrate", "study=s")
    assert report.returncode == 0, report.stderr
    judges = json.loads((tmp_path / "studies" / "s" / "reports" / "report" / "metrics.json").read_text())["judges"]
    held = {name: judge["against_planted"]["verdict"]["accuracy"]["n"] for name, judge in judges.items()}
    labels = [x for f in (tmp_path / "studies" / "s" / "labels").glob("*.jsonl") for x in lines(f)]
    problem_of = {
        s["id"]: s["problem_id"] for f in (tmp_path / "studies" / "s" / "solutions").glob("*.jsonl") for s in lines(f)
    }
    lockbox = [x for x in labels if split_of(problem_of[x["solution_id"]]) == "lockbox"]
    assert held == {"single-served": len(labels), "single-served-better": len(lockbox)}
    refused = stage("calibrate", "study=s", "split=dev", "name=dev")
    assert refused.returncode == 2 and "was trained or chosen on labels of problem" in refused.stderr
    (folder / "manifest.json").unlink()
    unknown = stage("calibrate", "study=s", "name=unknown")
    assert unknown.returncode == 2 and "on which labels it was trained is not known" in unknown.stderr


@pytest.mark.parametrize("optimiser", [pytest.param("bootstrap", marks=pytest.mark.long), "gepa"])
def test_ctrl_c_ends_at_once_and_the_next_run_goes_on_from_there(stage, school, tmp_path, optimiser):
    Teachable.seconds = 2.0
    words = [sys.executable, "-m", "judge", *school, *TRAIN, *TINY[optimiser], "in_flight=3"]
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    calls = tmp_path / "studies" / "s" / "programs" / "better" / "calls.jsonl"
    while not (calls.exists() and len(lines(calls)) >= 4):
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    began = time.monotonic()
    os.kill(first.pid, signal.SIGINT)
    _, shown = first.communicate(timeout=60)
    assert time.monotonic() - began < 5
    assert first.returncode == 130 and "stopped. What was done is kept" in shown, shown
    assert "Traceback" not in shown
    kept = lines(calls)
    Teachable.seconds, Teachable.asked = 0.0, []
    second = stage("judge", *school, *TRAIN, *TINY[optimiser])
    assert second.returncode == 0, second.stderr
    assert lines(calls)[: len(kept)] == kept and len(lines(calls)) == len(kept) + len(Teachable.asked)
    manifest = json.loads((calls.parent / "manifest.json").read_text())
    assert manifest["calls"]["replayed"] == len(kept)


def test_only_a_program_that_asks_a_model_can_be_trained(stage, school):
    done = stage("judge", *school, "program=none", *TRAIN)
    assert done.returncode == 2 and "mode=optimise trains a program that asks a model" in done.stderr
    done = stage("judge", *school, "mode=optimise")
    assert done.returncode == 2 and "training.labels=planted" in done.stderr and done.stderr.count("\n") == 1
    done = stage("judge", *school, *TRAIN, "retry_errors=true")
    assert done.returncode == 2 and "retry_errors=true: is for mode=judge" in done.stderr
    done = stage("judge", *school, "program.load=nothing")
    assert done.returncode == 2 and "no such trained program; there are: none" in done.stderr

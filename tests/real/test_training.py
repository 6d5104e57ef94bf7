"""Training with the real vLLM and a model of 135M parameters: that it runs, saves, loads, and sends the same prompts."""

import contextlib
import csv
import json
import os
import subprocess
import sys

import pytest

from generate.engines.vllm import Vllm
from generate.journal import Journal
from generate.study import Study
from judge.compiled import load
from judge.ledger import Call, Ledger
from judge.splits import split_of

pytestmark = [pytest.mark.engine, pytest.mark.long]
pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")

SHORT = {"reasoning_characters": 120, "fallacies": 1, "quote_characters": 40, "explanation_characters": 40}
WORDS = ["study=s", "model.context_length=8192", *(f"program.{k}={v}" for k, v in SHORT.items())]
TINY = {
    "bootstrap": ["optimiser.candidates=1", "optimiser.demonstrations=1", "optimiser.threshold=0.4"],
    "gepa": ["optimiser.readings=10", "optimiser.examples_read=2", "training.proposal_tokens=120"],
}


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A problem of train and one of dev with three labelled solutions each, and a way to run the stages on them."""
    folder = tmp_path_factory.mktemp("taught")
    numbers = iter(range(1000))
    rows = []
    for split in ("train", "dev"):
        problems = [f"sum {n}" for n in numbers if split_of(f"sum {n}") == split][:1]
        numbers = iter(range(int(problems[-1].split()[1]) + 1, 1000))
        for problem in problems:
            n = int(problem.split()[1])
            for verdict, total in (("correct", n * n), ("partially_correct", n), ("incorrect", n + 1)):
                text = f"Pair the odd numbers from both ends; their sum is \\boxed{{{total}}}."
                rows.append(
                    [
                        problem,
                        f"Find the sum of the first {n} odd numbers.",
                        n * n,
                        f"{problem}/{verdict}",
                        text,
                        "ann",
                        verdict,
                    ]
                )
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["pid", "q", "a", "sid", "text", "who", "v"], *rows])

    def run(stage: str, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", stage, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            env=os.environ,
            timeout=800,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done

    names = {
        "problem_id": "pid",
        "problem": "q",
        "answer": "a",
        "solution_id": "sid",
        "solution": "text",
        "annotator": "who",
        "verdict": "v",
    }
    run(
        "generate",
        "dataset=table",
        "dataset.path=t.csv",
        "model=recorded",
        "study=s",
        *(f"dataset.columns.{k}={v}" for k, v in names.items()),
    )
    return Study(folder / "studies" / "s"), run


@pytest.mark.parametrize("optimiser", TINY)
def test_it_trains_saves_and_sends_the_same_prompts_when_loaded(taught, optimiser):
    study, run = taught
    done = run(
        "judge",
        *WORDS,
        "mode=optimise",
        f"optimiser={optimiser}",
        f"training.name={optimiser}",
        *TINY[optimiser],
        "budget.requests=40",
    )
    assert "metric on dev, from 0 to 1: before" in done.stdout
    trained = load(study, optimiser)
    assert (
        trained.manifest.kind == "human" and len(trained.manifest.labels) == 6 and trained.manifest.calls["calls"] > 3
    )
    again = run(
        "judge",
        *WORDS,
        "mode=optimise",
        f"optimiser={optimiser}",
        f"training.name={optimiser}",
        *TINY[optimiser],
        "budget.requests=40",
    )
    assert trained.manifest.ended is not None or (
        "there already" in again.stdout and "starting vLLM" not in again.stderr
    )
    assert prompts_stand_in_the_journal(study, optimiser) == 3


def test_a_trained_program_judges(taught):
    study, run = taught
    if not (study.path / "programs" / "bootstrap" / "manifest.json").exists():
        pytest.skip("nothing was trained")
    run("judge", *WORDS, "program.load=bootstrap", "limit=3")
    verdicts = [json.loads(x) for f in (study.path / "verdicts").glob("*.jsonl") for x in f.read_bytes().splitlines()]
    assert len(verdicts) == 3 and {v["compiled"] for v in verdicts} == {f"bootstrap@{load(study, 'bootstrap').key}"}
    assert any(v["verdict"] for v in verdicts)


def prompts_stand_in_the_journal(study: Study, name: str) -> int:
    """Read each solution of dev with the loaded program, over an engine that is never to be asked: every reply must come from
    the journal of the training, where it stands under a hash of the prompt."""
    import dspy

    from judge.__main__ import bench_of, cases_of
    from judge.lm import dspy_lm
    from tests.judge.test_overhead import loaded

    composed = loaded().composed

    class Silent(Vllm):
        enforces_schema = True

        def start(self, chat, sampling):
            raise AssertionError(f"this prompt was never sent in the training: {chat}")

    config = composed(*WORDS[1:], f"program.load={name}")
    bench, program = bench_of(config, study), config.program
    count = 0
    with Journal(study.path / "programs" / name / "calls.jsonl", Call) as journal:
        ledger = Ledger(
            Silent(), {"model": bench.model.identity(), "engine": bench.about_engine}, journal, 0, lambda call: None
        )
        module = program.module(bench)
        with dspy.context(lm=dspy_lm(ledger, program.sampling(bench)), disable_history=True):
            for case in cases_of(study, study.problems(), study.solutions(), needs_text=True):
                if split_of(case.problem.id) == "dev":
                    # a small model's reply may be cut off; that it was found is what counts
                    with contextlib.suppress(dspy.utils.exceptions.AdapterParseError):
                        module(**program.inputs(case))
                    count += 1
    return count

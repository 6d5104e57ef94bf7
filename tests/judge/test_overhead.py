"""What a verdict costs beside the model, in a small form of scripts/bench/judge_overhead.py."""

import contextlib
import gc
import importlib.util
import io
import json
import sys
import tracemalloc
from pathlib import Path

import pytest

from generate import work
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.__main__ import judge_solutions

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "judge_overhead.py"


def loaded():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("judge_overhead", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def bench():
    return loaded()


def test_a_verdict_costs_at_most_one_and_a_half_times_the_cpu_of_bare_dspy(bench):
    cpu = {arm: bench.measured(arm, 400)["cpu"] for arm in ("ours", "bare")}
    assert cpu["ours"] < 1.5 * cpu["bare"], cpu  # measured: 0.4 times


def test_memory_grows_by_the_keys_of_the_verdicts_alone(bench, tmp_path, monkeypatch):
    count, seen, held = 1600, [0], []
    step = work.Progress.step

    def counted(self, *words):
        seen[0] += 1
        if seen[0] in (600, 1500):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
        return step(self, *words)

    monkeypatch.setattr(work.Progress, "step", counted)
    config = bench.composed("model=smollm2", "in_flight=64")
    on = bench.bench_for(config, Study(tmp_path / "s"), bench.Instant(json.dumps(bench.GRADE)))
    solutions = {f"s{i}": Solution(key=f"k{i}", id=f"s{i}", problem_id="p", model="other", text=f"{bench.TEXT}({i})")
                 for i in range(count)}  # fmt: skip
    tracemalloc.start()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            judge_solutions(config, config.program, on, on.study, {"p": Problem(id="p", statement="Q")}, solutions)
    finally:
        tracemalloc.stop()
    each = (held[1] - held[0]) / 900
    assert each < 500, each  # a key, and where its line stands; one verdict of these has 2,000 bytes

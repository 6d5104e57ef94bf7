"""What a verdict costs beside the model: CPU and memory of the judge stage over an engine that answers at once.

    python scripts/bench/judge_overhead.py [--verdicts 10000] [--runs 3] [--most 20000]

Two arms in one run, each in a process of its own that takes its turn: the stage's own path (prompt, adapter, reading of the
reply, evidence, record, journal), and bare `dspy.Predict.acall` over the same engine and signature with DSPy's own adapter.
Both have 128 calls in flight. The ratio of their CPU times is what counts. Then the memory of the stage's process after a tenth
of `--most` verdicts, and after all of them; the solutions are in memory before.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import dspy  # noqa: E402  loaded before the clock runs, for both arms

from generate.engines import Chat, Engine, Reply, Sampling  # noqa: E402
from generate.problems import Problem  # noqa: E402
from generate.solutions import Solution  # noqa: E402
from generate.stage import CONF, build  # noqa: E402
from generate.study import Study  # noqa: E402
from judge.grading import Grade  # noqa: E402
from judge.lm import dspy_lm  # noqa: E402

IN_FLIGHT = 128
STEP = "Since every odd number is one more than an even one, the sum of the first n of them is n squared, as one sees at once. "
TEXT = STEP * 12
GRADE = {
    "reasoning": "The solution states the sum and gives a reason for one step only. " * 6,
    "fallacies": [{"tag": "Proof by Example", "quote": "as one sees at once", "explanation": "It is not shown."}],
    "first_wrong_step": "as one sees at once",
    "verdict": "partially_correct",
}
BARE = (
    "".join(f"[[ ## {k} ## ]]\n{v if isinstance(v, str) else json.dumps(v)}\n\n" for k, v in GRADE.items())
    + "[[ ## completed ## ]]"
)


class Instant(Engine):
    """Answers at once, always the same."""

    enforces_schema = True

    def __init__(self, text: str) -> None:
        super().__init__()
        self.reply = Reply(text, None, "stop", 700, 150)

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        return self.reply


def composed(*words: str) -> Any:
    """The judge stage's config, as these words on the command line make it."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    from judge.__main__ import Config

    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = OmegaConf.to_container(compose("judge", [*words]), resolve=True)
    return build(Config, plain)  # type: ignore[arg-type]


def bench_for(config: Any, study: Study, engine: Engine) -> Any:
    """What the config's program judges with, over this engine."""
    from judge.__main__ import bench_of

    return replace(bench_of(config, study), open_engine=lambda: engine)


def ours(count: int) -> dict[str, Any]:
    """CPU seconds of the stage for `count` verdicts, and the resident memory before, after a tenth, and at the end."""
    from judge.__main__ import judge_solutions

    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "s")
        config = composed("model=smollm2", f"in_flight={IN_FLIGHT}")
        bench = bench_for(config, study, Instant(json.dumps(GRADE)))
        problem = Problem(id="p", statement="Find the sum of the first n odd numbers.", answer="$n^2$")
        solutions = {f"s{i}": Solution(key=f"k{i}", id=f"s{i}", problem_id="p", model="other", text=f"{TEXT}({i})")
                     for i in range(count)}  # fmt: skip
        memory = []
        spent = 0.0
        for share in (0.01, 0.1, 1):
            part = dict(list(solutions.items())[: max(1, int(count * share))])
            began = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                judge_solutions(config, config.program, bench, study, {"p": problem}, part)
            spent += time.process_time() - began
            gc.collect()
            memory.append(resident())
        verdicts = sum(len(f.read_bytes().splitlines()) for f in (study.path / "verdicts").glob("*.jsonl"))
        assert verdicts == count, verdicts
        return {"cpu": spent, "memory": memory}


def bare(count: int) -> dict[str, Any]:
    """CPU seconds of bare DSPy for as many calls."""
    engine = Instant(BARE)
    predict = dspy.Predict(Grade.with_instructions(composed().program.instructions))
    shown = {
        "problem": "Find the sum of the first n odd numbers.",
        "gold_answer": "$n^2$",
        "reference_solution": None,
        "rubric": None,
    }

    async def all_of_them() -> None:
        numbers = iter(range(count))

        async def work() -> None:
            for i in numbers:
                said = await predict.acall(**shown, solution=f"{TEXT}({i})")
                assert said.verdict == "partially_correct"

        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))

    began = time.process_time()
    with dspy.context(lm=dspy_lm(engine, Sampling(max_tokens=4000)), adapter=dspy.ChatAdapter(), disable_history=True,
                      track_usage=False):  # fmt: skip
        asyncio.run(all_of_them())
    return {"cpu": time.process_time() - began}


def resident() -> int:
    """Bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


ARMS = {"ours": ours, "bare": bare}


def measured(arm: str, count: int) -> dict[str, Any]:
    """One arm in a process of its own."""
    words = [sys.executable, str(Path(__file__).resolve()), "--arm", arm, "--verdicts", str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verdicts", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="how often each arm takes its turn")
    parser.add_argument("--most", type=int, default=20_000, help="verdicts for the memory; 0: leave it out")
    parser.add_argument("--arm", choices=list(ARMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        engine_result = ARMS[options.arm](options.verdicts)
        print(json.dumps(engine_result), flush=True)
        os._exit(0)
    from show import in_turn, machine, median, table

    count = options.verdicts
    arms = {name: (lambda name=name: measured(name, count)["cpu"]) for name in ARMS}
    cpu = in_turn(arms, options.runs)
    each = {name: 1000 * median(values) / count for name, values in cpu.items()}
    rows = [(name, f"{each[name]:.2f}", f"{each[name] / each['bare']:.2f}") for name in ARMS]
    print(table(["arm", "CPU ms a verdict:", "ratio to bare DSPy:"], rows))
    if options.most:
        memory = measured("ours", options.most)["memory"]
        growth = (memory[2] - memory[1]) / (0.9 * options.most)
        few, many = options.most // 10, options.most
        print(f"\nMemory after {few:,} verdicts: {memory[1] / 2**20:.0f} MiB; after {many:,}: {memory[2] / 2**20:.0f} MiB "
              f"({growth:.0f} bytes a verdict).")  # fmt: skip
    print("\n" + machine("dspy"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

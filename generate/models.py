"""What a model is, apart from the engine that runs it: identity, window, sampling, reasoning markers, engine's needs."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from generate.engines import Reasoning, Sampling
from generate.engines.vllm import VllmArguments
from generate.journal import BadInput
from generate.stage import Count, EngineGone, settings


@settings
class Gguf:
    """Weights that come as a GGUF file inside an installed Python package. Converted once into the user's cache."""

    package: str
    file: str


@settings
class Model:
    """One language model."""

    name: str
    """What files and reports call it."""
    id: str | None
    """Hugging Face id or folder; for a server, the name that it serves the model under."""
    revision: str | None = None
    context_length: Count | None = None
    """Tokens that prompt and reply may have together; null: what the engine finds."""
    sampling: Sampling = Sampling()
    reasoning: Reasoning | None = None
    chat_template: str | None = None
    """A file with a Jinja chat template; null: the tokenizer's own."""
    template_arguments: dict[str, Any] | None = None
    gguf: Gguf | None = None
    vllm: VllmArguments = VllmArguments()

    def check(self) -> None:
        """Raise BadInput for what can be known to fail, before anything is written or loaded."""
        if not self.id:
            raise BadInput(f"model={self.name} needs model.id=..., the name that the server serves it under")
        if self.chat_template is not None and not Path(self.chat_template).is_file():
            raise BadInput(f"model.chat_template: there is no file {self.chat_template}")
        if self.gguf and importlib.util.find_spec(self.gguf.package) is None:
            raise BadInput(
                f"model={self.name} comes in the package {self.gguf.package}, which is not installed: run scripts/setup cpu"
            )

    def identity(self) -> dict[str, Any]:
        """What of the model a reply depends on: part of every key."""
        template = Path(self.chat_template).read_text(encoding="utf-8") if self.chat_template else None
        return {
            "id": self.id,
            "revision": self.revision,
            "chat_template": template,
            "template_arguments": self.template_arguments,
            "reasoning": vars(self.reasoning) if self.reasoning else None,
            "context_length": self.context_length,
            "gguf": vars(self.gguf) if self.gguf else None,
        }

    def weights(self) -> str:
        """What an engine loads: the Hugging Face id, or the folder of the converted weights."""
        assert self.id is not None
        return str(_converted(self.gguf)) if self.gguf else self.id


@settings
class Recorded:
    """No model: `generate` takes the solutions that the dataset brings along."""

    name: str = "recorded"


def cache_folder() -> Path:
    """Where this toolkit keeps what it can make again: $OLYMPIAD_JUDGE_CACHE, else the user's cache folder."""
    own = os.environ.get("OLYMPIAD_JUDGE_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "olympiad-judge"


def _converted(gguf: Gguf) -> Path:
    spec = importlib.util.find_spec(gguf.package)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent / gguf.file
    if not source.is_file():
        raise BadInput(f"model.gguf.file: the package {gguf.package} has no file {gguf.file}")
    target = cache_folder() / f"{gguf.package}-{source.stem}-{source.stat().st_size}"
    if not (target / "config.json").exists():
        print(
            f"converting {gguf.file} of the package {gguf.package} (once; about a minute) ...",
            file=sys.stderr,
            flush=True,
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:  # in a process of its own: its memory is given back before an engine starts
            words = [sys.executable, "-m", "generate.models", str(source), str(part)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise EngineGone(f"{gguf.file} could not be converted: {last}.")
            os.replace(part, target)
        except OSError:
            if not (target / "config.json").exists():  # else another run converted it meanwhile
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return target


def convert_gguf(source: Path, target: Path) -> None:
    """Write the model of a GGUF file as an ordinary checkpoint: float32 weights, tokenizer, chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    folder, file = str(source.parent), source.name
    quantised = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(quantised.state_dict())
    plain.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)


if __name__ == "__main__":
    convert_gguf(Path(sys.argv[1]), Path(sys.argv[2]))

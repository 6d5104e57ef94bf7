"""vLLM in this process, on one machine's GPUs or on its CPU."""

import asyncio
import os
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from generate.engines import Chat, Engine, Refused, Reply, Sampling, split_reasoning
from generate.engines.guard import start as start_guard
from generate.journal import BadInput
from generate.stage import Count, EngineGone, Number, Whole, settings

if TYPE_CHECKING:
    from generate.models import Model


@settings
class VllmArguments:
    """What vLLM is told. Null: what the model's config says, else vLLM's own default."""

    dtype: str | None = None
    quantization: str | None = None
    tensor_parallel_size: Count | None = None
    pipeline_parallel_size: Count | None = None
    gpu_memory_utilization: Annotated[Number, Field(gt=0, le=1)] | None = None
    max_num_seqs: Count | None = None
    enforce_eager: bool | None = None
    language_model_only: bool | None = None
    cpu_kv_cache_gb: Whole | None = None
    """Memory for the key-value cache on a CPU, in GiB."""
    extra: dict[str, Any] | None = None
    """Any other argument of vLLM's AsyncEngineArgs, by its name there."""


@settings
class Vllm(VllmArguments):
    """conf/engine/vllm.yaml: how to open the engine. What is set here wins over what the model's config asks for."""

    log_level: str = "ERROR"

    def merged(self, model: "Model") -> dict[str, Any]:
        """What vLLM is told: what the model's config asks for, and over it what is set here."""
        both = {k: v for k, v in asdict(model.vllm).items() if v is not None}
        return both | {k: v for k, v in asdict(self).items() if v is not None and k != "log_level"}

    def identity(self, model: "Model") -> dict[str, Any]:
        """What of this engine a reply depends on, beside the model: part of every key."""
        return {k: v for k, v in self.merged(model).items() if k in ("dtype", "quantization", "extra")}

    def check(self, model: "Model") -> None:
        if find_spec("vllm") is None:
            raise BadInput(
                "engine=vllm: vLLM is not installed here; run scripts/setup cpu or scripts/setup gpu, or use engine=openai"
            )

    def open(self, model: "Model", seed: int = 0) -> Engine:
        """Load the model (a minute on a CPU, some on a GPU) and return the running engine."""
        self.check(model)
        return VllmEngine(model, self, seed)


class VllmEngine(Engine):
    enforces_schema = True

    def __init__(self, model: "Model", chosen: Vllm, seed: int):
        wanted = chosen.merged(model)
        self.reasoning = model.reasoning
        self.template_arguments = model.template_arguments or {}
        weights = model.weights()
        os.environ.setdefault("VLLM_LOGGING_LEVEL", chosen.log_level)
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        os.environ.setdefault(
            "PYTHONWARNINGS", "ignore::UserWarning:multiprocessing.resource_tracker,ignore::FutureWarning"
        )
        if (cache := wanted.get("cpu_kv_cache_gb")) is not None:
            os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(cache)
        print(f"starting vLLM with {model.id} ...", file=sys.stderr, flush=True)
        super().__init__()
        self._guard = start_guard()  # outlives the engine: it also ends what a failed shutdown leaves
        try:
            self._submit(self._start(model, weights, wanted, seed)).result()
        except BaseException:
            self.close()
            raise
        if getattr(self.tokenizer, "chat_template", None) is None and model.chat_template is None:
            self.close()
            raise BadInput(
                f"model={model.name}: the tokenizer has no chat template; give a file as model.chat_template=FILE"
            )
        self.chat_template = Path(model.chat_template).read_text(encoding="utf-8") if model.chat_template else None
        try:
            self._prompt([{"role": "user", "content": "a"}])
        except Exception as error:
            self.close()
            raise BadInput(f"model={model.name}: the chat template fails: {_last_line(error)}") from None

    async def _start(self, model: "Model", weights: str, wanted: dict[str, Any], seed: int) -> None:
        from vllm.v1.engine.async_llm import AsyncLLM

        try:
            self._llm = AsyncLLM.from_engine_args(engine_arguments(model, weights, wanted, seed))
        except Exception as error:
            raise EngineGone(f"vLLM did not start with {model.id}: {_last_line(error)}") from error
        self.tokenizer: Any = self._llm.get_tokenizer()
        self.context_length: int = self._llm.model_config.max_model_len
        self._about = {"engine": "vllm", "context_length": self.context_length, "dtype": str(self._llm.model_config.dtype),
                       "revision": _resolved_revision(model)}  # fmt: skip
        self._count = 0

    def about(self) -> dict[str, Any]:
        return self._about

    def _prompt(self, chat: Chat) -> str:
        prompt: str = self.tokenizer.apply_chat_template(
            chat,
            tokenize=False,
            add_generation_prompt=True,
            chat_template=self.chat_template,
            **self.template_arguments,
        )
        return prompt

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams
        from vllm.v1.engine.exceptions import EngineDeadError

        prompt: str = self.tokenizer.apply_chat_template(
            chat,
            tokenize=False,
            add_generation_prompt=True,
            chat_template=self.chat_template,
            **self.template_arguments,
        )
        tokens: list[int] = self.tokenizer.encode(prompt, add_special_tokens=False)
        room = self.context_length - len(tokens)
        if room < (sampling.max_tokens or 1):
            raise Refused(
                "prompt_too_long",
                f"the prompt has {len(tokens)} tokens and the reply may have {sampling.max_tokens or 1}; "
                f"the window of the model holds {self.context_length}",
            )
        schema = sampling.json_schema
        params = SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k or 0,
            min_p=sampling.min_p,
            presence_penalty=sampling.presence_penalty,
            max_tokens=sampling.max_tokens or room,
            seed=sampling.seed,
            logprobs=sampling.logprobs,
            structured_outputs=StructuredOutputsParams(json=schema) if schema else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        self._count += 1
        final = None
        try:
            async for output in self._llm.generate(
                {"prompt_token_ids": tokens}, params, f"{os.getpid()}-{self._count}"
            ):
                final = output
        except EngineDeadError:
            raise EngineGone("the vLLM engine stopped.") from None
        except asyncio.CancelledError:
            raise
        except Exception as error:  # vLLM's own word for a request that it cannot serve while it lives on
            raise Refused("refused", f"{type(error).__name__}: {_last_line(error)}") from None
        if final is None or not final.outputs:
            raise EngineGone("the vLLM engine stopped.")
        output = final.outputs[0]
        if output.finish_reason not in ("stop", "length"):
            raise Refused("aborted", f"vLLM ended the request: {output.finish_reason}")
        marks = self.reasoning
        opened = bool(marks and prompt.rstrip().endswith(marks.start))
        text, reasoning = split_reasoning(output.text, marks, opened)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=output.finish_reason,
            prompt_tokens=len(tokens),
            completion_tokens=len(output.token_ids),
            logprobs=_logprobs(output),
        )

    async def _close(self) -> None:
        if llm := getattr(self, "_llm", None):
            llm.shutdown(timeout=1)
            del self._llm


def engine_arguments(model: "Model", weights: str, wanted: dict[str, Any], seed: int) -> Any:
    """vLLM's AsyncEngineArgs for a model and what is asked of vLLM. Raises TypeError for an argument it does not know."""
    from vllm.config import StructuredOutputsConfig
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.platforms import current_platform

    arguments = {k: v for k, v in wanted.items() if k not in ("extra", "cpu_kv_cache_gb")}
    if model.reasoning and model.reasoning.parser:
        arguments["reasoning_parser"] = model.reasoning.parser
    if current_platform.is_cpu():
        # vLLM puts a seeded draw back where a prompt was read in parts, which a generator on the CPU cannot do: it dies
        arguments["enable_chunked_prefill"] = False
    arguments |= wanted.get("extra") or {}
    arguments.setdefault(
        "structured_outputs_config", StructuredOutputsConfig(backend="xgrammar", disable_any_whitespace=True)
    )
    return AsyncEngineArgs(
        model=weights,
        revision=model.revision,
        max_model_len=model.context_length,
        seed=seed,
        enable_log_requests=False,
        disable_log_stats=True,
        use_tqdm_on_load=False,
        **arguments,
    )


def _logprobs(output: Any) -> list[dict[str, Any]] | None:
    if output.logprobs is None:
        return None
    rows = []
    for token, options in zip(output.token_ids, output.logprobs, strict=False):
        top = {o.decoded_token: o.logprob for o in options.values()}
        rows.append({"token": options[token].decoded_token, "logprob": options[token].logprob, "top": top})
    return rows


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:400]


def _resolved_revision(model: "Model") -> str | None:
    """The commit that the Hugging Face cache holds for the asked revision; null for a local folder."""
    if model.gguf or (model.id and Path(model.id).is_dir()):
        return None
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model.id or "", "config.json", revision=model.revision)
    return Path(path).parent.name if isinstance(path, str) else None

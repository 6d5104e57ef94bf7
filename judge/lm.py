"""A DSPy language model over one of our engines, through DSPy's own engine protocol. DSPy's caches stay off: the journal
is the cache."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import dspy
from dspy.lm15 import ContextLengthError, InvalidRequestError, Message, Request, Response, Usage

from generate.engines import Chat, Engine, Refused, Reply, Sampling, last_replies, with_call
from judge.ledger import Ledger

MODEL = "openai/judge"  # a neutral name: DSPy refuses settings by the look of some names


def dspy_lm(engine: Engine | Ledger, sampling: Sampling) -> dspy.LM:
    """The engine as DSPy's LM. `sampling` holds where a call says nothing else."""
    return dspy.LM(
        MODEL,
        engine=SyncBridge(engine, sampling),
        async_engine=AsyncBridge(engine, sampling),
        cache=False,
        num_retries=0,
    )


@contextlib.contextmanager
def dspy_with(engine: Engine, sampling: Sampling, adapter: dspy.Adapter | None = None) -> Iterator[None]:
    """Within this block DSPy asks this engine, in every task that is started in it."""
    lm = dspy_lm(engine, sampling)
    # trace=None: DSPy keeps the last ten thousand calls, with their inputs, for optimisers
    with dspy.context(lm=lm, adapter=adapter, track_usage=False, disable_history=True, trace=None):
        yield


_seed: ContextVar[int | None] = ContextVar("seed", default=None)


@contextlib.contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Within this block, calls of this task have this seed; null: the sampling's own."""
    token = _seed.set(seed)
    try:
        yield
    finally:
        _seed.reset(token)


class _Bridge:
    def __init__(self, engine: Engine | Ledger, sampling: Sampling):
        self._engine = engine
        self._sampling = sampling
        self.supports_response_schema = engine.enforces_schema

    def _asked(self, request: Request) -> tuple[Chat, Sampling]:
        chat = [{"role": "system", "content": _system(request)}] if request.system else []
        chat += [{"role": str(m.role), "content": m.text or ""} for m in request.messages]
        config = request.config
        wanted: dict[str, Any] = {
            name: getattr(config, name)
            for name in ("temperature", "top_p", "top_k", "max_tokens", "seed", "presence_penalty", "logprobs")
            if getattr(config, name) is not None
        }
        if (seed := _seed.get()) is not None:
            wanted["seed"] = seed
        if config.response_format and "schema" in config.response_format:
            wanted["json_schema"] = config.response_format["schema"]
        return chat, with_call(self._sampling, **wanted)

    def dump_state(self) -> dict[str, Any]:
        """Nothing: a saved program takes its engine from the config that loads it."""
        return {}


class SyncBridge(_Bridge):
    def complete(self, request: Request) -> Response:
        chat, sampling = self._asked(request)
        try:
            return _response(self._engine.complete_sync(chat, sampling))
        except Refused as refusal:
            raise _as_dspy(refusal) from refusal


class AsyncBridge(_Bridge):
    async def complete(self, request: Request) -> Response:
        chat, sampling = self._asked(request)
        try:
            return _response(await self._engine.complete(chat, sampling))
        except Refused as refusal:
            raise _as_dspy(refusal) from refusal


def _system(request: Request) -> str:
    return request.system if isinstance(request.system, str) else "".join(p.text for p in request.system)


def _response(reply: Reply) -> Response:
    if (collected := last_replies.get()) is not None:
        collected.append(reply)
    read, written = reply.prompt_tokens or 0, reply.completion_tokens or 0
    return Response(
        id=None,
        model=MODEL,
        message=Message.assistant(reply.text or ""),
        finish_reason="length" if reply.finish_reason == "length" else "stop",
        usage=Usage(input_tokens=read, output_tokens=written, total_tokens=read + written),
    )


def _as_dspy(refusal: Refused) -> Exception:
    error: Exception = (ContextLengthError if refusal.kind == "prompt_too_long" else InvalidRequestError)(str(refusal))
    return error

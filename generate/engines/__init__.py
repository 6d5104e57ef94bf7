"""The one way to reach a model: `Engine.complete(chat, sampling) -> Reply`, from any thread or event loop.

Light to import: each engine loads what it needs when it is opened.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, runtime_checkable

from pydantic import Field

from generate import loop
from generate.budget import Spending
from generate.stage import Count, EngineGone, Number, Whole, settings

if TYPE_CHECKING:
    from generate.models import Model

Chat = list[dict[str, str]]
"""Messages with `role` (system, user, assistant) and `content`."""

T = TypeVar("T")


@settings
class Sampling:
    """How a reply is drawn. `temperature=0` is greedy decoding."""

    temperature: Annotated[Number, Field(ge=0, le=2)] = 0.0
    top_p: Annotated[Number, Field(gt=0, le=1)] = 1.0
    top_k: Count | None = None
    min_p: Annotated[Number, Field(ge=0, le=1)] = 0.0
    presence_penalty: Annotated[Number, Field(ge=-2, le=2)] = 0.0
    max_tokens: Count | None = None
    """The most tokens that a reply may have, reasoning included; null: all the room that the window leaves."""
    seed: Whole | None = None
    logprobs: Whole | None = None
    """How many alternatives to report for each token; null: no log probabilities."""
    json_schema: dict[str, Any] | None = None
    """A JSON schema that the reply (after its reasoning) must follow, where the engine can enforce one."""


@settings
class Reasoning:
    """How a reasoning model marks its thoughts."""

    start: str = "<think>"
    end: str = "</think>"
    parser: str | None = None
    """vLLM's parser of this model family, so that a schema binds after the reasoning and not from the first token."""


@dataclass(frozen=True)
class Reply:
    """What came back for one call."""

    text: str | None
    """The reply without its reasoning; null where all of it was reasoning."""
    reasoning: str | None
    finish_reason: str
    """`stop`, or `length` where the token limit cut it off."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: list[dict[str, Any]] | None = None
    """For each token `{token, logprob, top: {token: logprob}}`, where they were asked for."""


class Refused(Exception):
    """The engine lives, and this one request has no reply (too long, refused by the server): an error record."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


last_replies: ContextVar[list[Reply] | None] = ContextVar("last_replies", default=None)
"""A list that collects this task's replies beside DSPy, which does not hand on finish reason and usage."""


class Engine:
    """A running model. Subclasses write `_complete` and `_close`, which run on the loop of all engines."""

    enforces_schema = False
    spending: Spending
    """Counts what this engine is asked, and refuses what is past the run's budget. Engines of one run share one."""

    def __init__(self) -> None:
        self.spending = Spending()
        self._closed = False

    def about(self) -> dict[str, Any]:
        """What the manifest records of this engine, such as the model's resolved revision."""
        return {}

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        raise NotImplementedError

    async def _counted(self, chat: Chat, sampling: Sampling) -> Reply:
        while self.spending.unknown():
            await asyncio.sleep(0.02)
        self.spending.begin()
        reply = None
        try:
            reply = await self._complete(chat, sampling)
            return reply
        finally:
            self.spending.end(*((reply.prompt_tokens, reply.completion_tokens) if reply else ()))

    async def _close(self) -> None:
        return None

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        if self._closed:
            work.close()
            raise EngineGone("the engine is closed.")
        return loop.submit(work)

    def start(self, chat: Chat, sampling: Sampling) -> "Future[Reply]":
        """Begin one call. The future's result is as that of `complete`; cancelling it cancels the request."""
        return self._submit(self._counted(chat, sampling))

    async def complete(self, chat: Chat, sampling: Sampling) -> Reply:
        """One reply. Raises Refused for a request that has none, EngineGone when the engine is lost, BudgetSpent where no
        more may be asked. Cancelling the call cancels the request."""
        if loop.is_here() and not self._closed:
            return await self._counted(chat, sampling)
        return await asyncio.wrap_future(self.start(chat, sampling))

    def complete_sync(self, chat: Chat, sampling: Sampling) -> Reply:
        """The same from a thread without an event loop."""
        if loop.is_here():
            raise RuntimeError("complete_sync would wait for its own loop: await complete() here")
        future = self.start(chat, sampling)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the engine and its processes. Safe to call twice."""
        if self._closed:
            return
        with contextlib.suppress(Exception):
            self._submit(self._close()).result(timeout=30)
        self._closed = True

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@runtime_checkable
class EngineConfig(Protocol):
    """What `engine=` names: how to open an engine for a model."""

    def identity(self, model: "Model") -> dict[str, Any]:
        """What of the engine a reply depends on, beside the model: part of every key."""
        ...

    def check(self, model: "Model") -> None:
        """Raise BadInput for what can be known to fail, before anything is written or loaded."""
        ...

    def open(self, model: "Model", seed: int = 0) -> Engine: ...


def split_reasoning(
    text: str, marks: Reasoning | None, opened: bool = False, cut_off: bool = False
) -> tuple[str | None, str | None]:
    """Part a raw reply into (reply, reasoning).

    `opened` says that the prompt itself ended inside the reasoning, `cut_off` that the token limit ended the reply. What
    follows the first end marker is the reply (a reply may quote the marker), but for a model that opens its reasoning
    anew right after it. Where the reasoning is never closed, all of it is reasoning: it was cut off, and what stands in
    it is no answer.
    """
    if marks is None:
        return text, None
    start, end = marks.start, marks.end
    thoughts, rest = [], text.lstrip().removeprefix(start) if not opened else text
    before, closed, rest = rest.partition(end)
    if not closed:
        if opened or cut_off or text.lstrip().startswith(start):
            return None, before.strip()
        said, found, inside = text.partition(start)
        return (said.strip() or None, inside.strip()) if found else (text, None)
    thoughts.append(before.strip())
    while rest.lstrip().startswith(start):
        inside, closed, after = rest.lstrip().removeprefix(start).partition(end)
        thoughts.append(inside.strip())
        if not closed:
            return None, "\n".join(thoughts)
        rest = after
    return rest.strip() or None, "\n".join(thoughts)


def with_call(sampling: Sampling, **changes: Any) -> Sampling:
    """The sampling of one call: the model's, with this call's seed, schema or token limit."""
    return replace(sampling, **changes)


@contextlib.contextmanager
def collected_replies() -> Iterator[list[Reply]]:
    """The replies that engines give within this block, in order of arrival."""
    replies: list[Reply] = []
    token = last_replies.set(replies)
    try:
        yield replies
    finally:
        last_replies.reset(token)

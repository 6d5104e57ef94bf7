"""An engine whose replies are kept: what was asked once is not asked again, and all can be stopped at once.

An optimiser's run is a chain of calls that depend on each other. Run again, it asks the same again; the ledger answers from its
journal as far as that goes, and so the run goes on where it was stopped, whatever optimiser it is.
"""

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from generate.budget import BudgetSpent
from generate.engines import Chat, Engine, Refused, Reply, Sampling, with_call
from generate.journal import Failure, Journal, Record, key_of
from generate.stage import EngineGone


class Call(Record):
    """One call of a model, and its reply or why there is none."""

    key: str
    """Hash of the model, its engine, the messages, the sampling, and which of several equal calls it is."""
    text: str | None = None
    reasoning: str | None = None
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: Failure | None = None


class Stopped(BaseException):
    """The training must end here. No `except Exception` on the way, of which DSPy has many, keeps it."""


class Ledger:
    """Stands where DSPy's bridge wants an engine. Safe to call from many threads."""

    def __init__(self, engine: Engine, identity: dict[str, Any], journal: Journal[Call], seed: int,
                 step: Callable[[Call], None]):  # fmt: skip
        self.enforces_schema = engine.enforces_schema
        self._engine = engine
        self._identity = identity
        self._journal = journal
        self._seed = seed
        self._step = step
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._asked: Counter[str] = Counter()
        self._used: set[str] = set()
        self._waiting: set[Future[Reply]] = set()
        self.replayed = 0
        """Calls that an earlier run of the same training had made."""
        self.tokens = {"prompt": 0, "completion": 0}
        self.why: str | None = None
        """Why it was stopped; null while it was not."""
        self.fault: BaseException | None = None
        """The failure that stopped it, where it was one."""

    @property
    def calls(self) -> int:
        """Different calls that were made, in this run or an earlier one. A greedy call made again costs nothing."""
        return len(self._used)

    def stop(self, why: str, fault: BaseException | None = None, finish: bool = False) -> None:
        """Refuse whatever is asked from now on; give up what is under way, or let it `finish`."""
        with self._lock:
            if self.why is None:
                self.why, self.fault = why, fault
            waiting = [] if finish else list(self._waiting)
        for future in waiting:
            future.cancel()

    def drain(self) -> None:
        """Wait until nothing is under way any more, so that the journal can be closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)

    def complete_sync(self, chat: Chat, sampling: Sampling) -> Reply:
        """One reply, from the journal where it stands there. Raises Refused, and Stopped."""
        with self._lock:
            if self.why is not None:
                raise Stopped(self.why)
            key, sampling = self._name(chat, sampling)
            again = key in self._used
            self._used.add(key)
            call = self._journal.get(key)
            self.replayed += call is not None and not again
        if call is None:
            call = self._ask(key, chat, sampling)
        if not again:
            with self._lock:
                self.tokens["prompt"] += call.prompt_tokens or 0
                self.tokens["completion"] += call.completion_tokens or 0
                self._step(call)
        if call.error is not None:
            raise Refused(call.error.kind, call.error.message)
        return Reply(call.text, call.reasoning, call.finish_reason, call.prompt_tokens, call.completion_tokens)

    async def complete(self, chat: Chat, sampling: Sampling) -> Reply:
        """The same for DSPy's async engine, which no optimiser calls."""
        return await asyncio.to_thread(self.complete_sync, chat, sampling)

    def _name(self, chat: Chat, sampling: Sampling) -> tuple[str, Sampling]:
        """The call's key, and its sampling. Calls that are drawn at random get a seed each: the same call with the same
        seed would give the same reply again, and optimisers ask it for another one. Greedy ones are asked once."""
        same = key_of(**self._identity, chat=chat, sampling=vars(sampling))
        if sampling.temperature == 0:
            return same, sampling
        turn = self._asked[same]
        self._asked[same] += 1
        digest = hashlib.sha256(f"{self._seed}\0{same}\0{turn}".encode()).digest()
        return key_of(call=same, turn=turn), with_call(sampling, seed=int.from_bytes(digest[:4], "big") >> 1)

    def _ask(self, key: str, chat: Chat, sampling: Sampling) -> Call:
        with self._lock:
            if self.why is not None:
                raise Stopped(self.why)
            future = self._engine.start(chat, sampling)
            self._waiting.add(future)
        try:
            call = self._answered(key, future)
            with self._lock:
                self._journal.append(call)
            return call
        except CancelledError:
            raise Stopped(self.why or "stopped") from None
        except BudgetSpent as spent:
            self.stop(str(spent), finish=True)
            raise Stopped(str(spent)) from spent
        except EngineGone as gone:
            self.stop(str(gone), gone)
            raise Stopped(str(gone)) from gone
        finally:
            future.cancel()
            with self._changed:
                self._waiting.discard(future)
                self._changed.notify_all()

    def _answered(self, key: str, future: Future[Reply]) -> Call:
        try:
            reply = future.result()
        except Refused as refusal:
            return Call(key=key, error=Failure(kind=refusal.kind, message=str(refusal)))
        return Call(key=key, text=reply.text, reasoning=reply.reasoning, finish_reason=reply.finish_reason,
                    prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens)  # fmt: skip

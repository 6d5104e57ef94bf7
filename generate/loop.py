"""The one event loop, in a thread of its own, on which all engines live and the stages' work runs.

Work that runs where its engine lives needs no hand-over between threads for each call, which would cost more than the call
itself when replies come fast. Whoever is not on this loop (an optimiser's thread, a test) is served across threads.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_loop: asyncio.AbstractEventLoop | None = None
_lock = threading.Lock()


def the_loop() -> asyncio.AbstractEventLoop:
    """Started when it is first asked for; it ends with the process."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="engines", daemon=True).start()
    return _loop


def is_here() -> bool:
    """Whether the caller runs on that loop."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def submit(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Start it on that loop, with the caller's context variables."""
    return asyncio.run_coroutine_threadsafe(work, the_loop())


def run(work: Coroutine[Any, Any, T], patience: float = 30.0) -> T:
    """Run it there and wait for it, from another thread. Ctrl-C cancels it, and waits until it has ended."""
    ended = threading.Event()

    async def to_the_end() -> T:
        try:
            return await work
        finally:
            ended.set()

    future = submit(to_the_end())
    try:
        return future.result()
    except BaseException:
        if not future.done():
            future.cancel()
            ended.wait(patience)
        raise

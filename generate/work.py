"""Work through many calls: a bounded number in flight, each result journalled as it comes, progress shown."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from operator import length_hint
from typing import TypeVar

from tqdm import tqdm

from generate import loop
from generate.budget import BudgetSpent
from generate.journal import Journal, Record
from generate.solutions import Usage

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class Progress:
    """One line on stderr: done/total, rate, ETA, tokens a second, errors so far."""

    def __init__(self, total: int | None, done: int, unit: str):
        every = 0.2 if sys.stderr.isatty() else 10.0
        self._bar = tqdm(total=total, initial=done, unit=unit, mininterval=every, file=sys.stderr, dynamic_ncols=True)
        self._began = time.monotonic()
        self.steps = self.tokens = self.errors = 0

    def step(self, tokens: int, failed: bool) -> None:
        self.steps += 1
        self.tokens += tokens
        self.errors += failed
        rate = self.tokens / max(time.monotonic() - self._began, 1e-9)
        self._bar.set_postfix_str(f"{rate:.0f} tokens/s, {self.errors} errors", refresh=False)
        self._bar.update()

    def say(self, line: str) -> None:
        """A line of its own, above the bar."""
        self._bar.write(line, file=self._bar.fp)

    def close(self) -> None:
        self._bar.close()


def work_through(
    todo: Iterable[T],
    do: Callable[[T], Awaitable[R]],
    keep: Callable[[R], None],
    in_flight: int,
) -> BudgetSpent | None:
    """Do every piece of work, at most `in_flight` at a time, and `keep` each record as it comes.

    What raises ends the whole (an engine that is gone; Ctrl-C): calls in flight are cancelled, and nothing of them is kept.
    Where the budget is spent, nothing new is begun, what is under way is finished and kept, and BudgetSpent is returned.
    """

    waiting = iter(todo)
    ended: BaseException | None = None

    async def work() -> None:
        nonlocal ended
        while ended is None and (item := next(waiting, None)) is not None:
            try:
                keep(await do(item))
            except BaseException as error:
                ended = ended or error
                if not isinstance(error, BudgetSpent):
                    raise

    async def main() -> None:
        workers = [asyncio.ensure_future(work()) for _ in range(min(in_flight, length_hint(todo, in_flight)))]
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in done:
                worker.result()
        finally:
            for worker in workers:
                worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*workers, return_exceptions=True)

    loop.run(main())
    return ended if isinstance(ended, BudgetSpent) else None


def work_into(
    journal: Journal[R], todo: list[T], do: Callable[[T], Awaitable[R]], in_flight: int, done: int, unit: str
) -> tuple[int, dict[str, int]]:
    """Work through `todo` with each record journalled as it comes and progress shown; returns how many records were
    written (fewer than `todo` where a budget ended the work) and the tokens they took. `done` is how much of the whole
    stood in the journal before."""
    progress = Progress(len(todo) + done, done, unit)
    tokens = {"prompt": 0, "completion": 0}

    def keep(record: R) -> None:
        journal.append(record)
        usage = getattr(record, "usage", None) or Usage()
        tokens["prompt"] += usage.prompt_tokens or 0
        tokens["completion"] += usage.completion_tokens or 0
        progress.step(usage.completion_tokens or 0, getattr(record, "error", None) is not None)

    try:
        spent = work_through(todo, do, keep, in_flight)
    finally:
        progress.close()
    if spent is not None:
        print(f"{spent} {len(todo) - progress.steps} of {len(todo)} are left: run the same command again to go on")
    return progress.steps, tokens


def plan(wanted: Iterable[T], key: Callable[[T], str], journal: Journal[R], retry_errors: bool) -> tuple[list[T], int]:
    """What is still to do, and how much of what is wanted stands in the journal.

    Work that stands there under the same key is not done again, but for errors where `retry_errors` says so.
    """
    todo, done = [], 0
    for item in wanted:
        name = key(item)
        if name not in journal or (retry_errors and journal.has_failed(name)):
            todo.append(item)
        else:
            done += 1
    return todo, done


def make_newest(keys: Iterable[str], journal: Journal[R]) -> None:
    """Where a later run left another record of the same solution, put this run's own record last again, so that it is
    the one that readers take."""
    for key in journal.superseded(keys):
        record = journal.get(key)
        assert record is not None
        journal.append(record)

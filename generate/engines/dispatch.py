"""Which of several equal servers or replicas takes the next call: the least loaded of those that are well.

A member that cannot be reached, or fails several times running, is taken out for a while, longer each time. Then one call
at a time tries it, until one succeeds. A member that says it is asked too much gets half as much, and more again with
every call that succeeds. Everything here runs on the engine's own loop.
"""

import asyncio
import contextlib
import random
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from generate.stage import EngineGone

SICK_AFTER = 5  # failures running
SHORTEST_REST, LONGEST_REST = 1.0, 60.0  # seconds out of the pool
UNLIMITED = float("inf")


@dataclass(eq=False)
class Member:
    """One server or replica, and how it does."""

    name: str
    limit: float = UNLIMITED
    """The most calls that it is given at once."""
    place: Any = None
    """What the engine reaches it by."""
    room: float = UNLIMITED
    """The calls that it is given at once for now."""
    room_before: float = 1.0
    """Its room when it was taken out."""
    in_flight: int = 0
    answered: int = 0
    failures: int = 0
    """Running, without a success between them."""
    rests: int = 0
    """How often it has been taken out, without a success between."""
    out_until: float = 0.0
    silent_since: float | None = None
    """From when on it could not be reached; null: it could, the last time."""
    failing_since: float | None = None
    """From when on every answer was a failure; null: the last one was none."""
    refusals: int = 0
    """Requests running that it forbade, without a success between them."""
    gone: str | None = None
    """Why it will take no call any more."""
    why: str = ""
    """What was wrong with it last."""

    def __post_init__(self) -> None:
        self.room = self.limit

    def useless_for(self, now: float) -> float:
        """Seconds for which it could not be reached, or gave nothing but failures and has been taken out for that; 0
        while a call that may yet succeed is under way."""
        failing = self.failing_since if self.rests and not self.in_flight else None
        return now - min((t for t in (self.silent_since, failing) if t is not None), default=now)


M = TypeVar("M", bound=Member)


@dataclass
class Pool(Generic[M]):
    """Members, and the calls that wait for one of them."""

    members: Sequence[M]
    patience: float
    """Seconds after which members that all are out of reach, or only fail, are given up."""
    _waiting: deque["asyncio.Future[None]"] = field(default_factory=deque)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[M]:
        """Waits for a member that can take a call, and counts it there. Raises EngineGone when there is none left."""
        while (member := self._choose()) is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake(1)  # it was this call's turn: let another have it
                raise
        member.in_flight += 1
        try:
            yield member
        finally:
            member.in_flight -= 1
            self._wake(1)

    def _choose(self) -> M | None:
        now = time.monotonic()
        there = [m for m in self.members if m.gone is None]
        if not there:
            raise EngineGone("; ".join(dict.fromkeys(str(m.gone) for m in self.members)))
        if all(m.useless_for(now) >= self.patience for m in there):
            what = "out of reach" if all(m.silent_since is not None for m in there) else "nothing but failures"
            raise EngineGone(f"{what} for {self.patience:g} s: {'; '.join(dict.fromkeys(m.why for m in there))}.")
        ready = [m for m in there if m.out_until <= now and m.in_flight < m.room]
        return min(ready, key=lambda m: (m.in_flight, m.answered)) if ready else None

    def _wake(self, calls: int) -> None:
        while self._waiting and calls > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                calls -= 1

    def _rest(self, member: M, seconds: float) -> None:
        """Take a member out for so long."""
        member.out_until = max(member.out_until, time.monotonic() + seconds)
        asyncio.get_running_loop().call_later(seconds + 0.001, self.look_again)

    # what the engine says of a call

    def succeeded(self, member: M) -> None:
        member.answered += 1
        if member.rests:  # it is back: half of what it had, and soon more
            member.room = max(1.0, member.room_before // 2)
            self._wake(len(self._waiting))
        member.failures = member.rests = member.refusals = 0
        member.silent_since = member.failing_since = None
        if member.room < member.limit:
            member.room += 1
            self._wake(1)

    def asked_too_much(self, member: M, seconds: float | None) -> None:
        """The member refuses calls for now; `seconds` where it says for how long."""
        member.silent_since = member.failing_since = None
        member.failures = 0
        if member.out_until <= time.monotonic():  # once for a burst of such answers
            member.room = max(1.0, min(member.room, member.in_flight) // 2)
            self._rest(member, seconds if seconds is not None else SHORTEST_REST * random.uniform(0.5, 1.0))
        elif seconds is not None:
            self._rest(member, seconds)

    def failed(self, member: M, why: str) -> None:
        """A call failed for a reason that may be the member's."""
        member.silent_since = None
        if member.failing_since is None:
            member.failing_since = time.monotonic()
        member.failures += 1
        member.why = why
        if member.failures >= SICK_AFTER and member.out_until <= time.monotonic():
            self._take_out(member)

    def out_of_reach(self, member: M, why: str) -> None:
        """The member could not be asked at all."""
        member.why = why
        if member.silent_since is None:
            member.silent_since = time.monotonic()
        if member.out_until <= time.monotonic():
            self._take_out(member)

    def back(self, member: M) -> None:
        """A member that was taken out by its engine answers again."""
        member.out_until, member.silent_since, member.failing_since, member.failures = 0.0, None, None, 0
        self.look_again()

    def look_again(self) -> None:
        """Let all calls that wait look whether there is a member for them, or none any more."""
        self._wake(len(self._waiting))

    def lost(self, member: M, why: str) -> None:
        """The member will never answer again, such as one that refuses the key."""
        if member.gone is None and any(m.gone is None for m in self.members if m is not member):
            print(f"warning: goes on without {member.name}: {why}", file=sys.stderr)
        member.gone = why
        self.look_again()

    def _take_out(self, member: M) -> None:
        rest = min(LONGEST_REST, SHORTEST_REST * 2**member.rests)
        if member.rests == 2:
            print(f"warning: {member.name} is out for {rest:g} s: {member.why}", file=sys.stderr)
        if not member.rests:
            member.room_before = min(member.room, member.in_flight)
        member.rests += 1
        member.room = 1.0
        self._rest(member, min(rest, self.patience) * random.uniform(0.5, 1.0))

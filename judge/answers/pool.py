"""Worker processes under hard limits of time and memory.

A worker is a fresh interpreter (`python -m judge.answers.worker`), spoken to over pipes: that works from threads, from
asyncio, from any number of processes, from a REPL, and without a `__main__` guard. It is killed when it is over its
time, and replaced when the next one needs it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from . import limits


class Failed(Exception):
    """A request without an answer; the message says why, in words for a person."""


class Gone(Failed):
    """The process was no longer there."""


_FAILURES = {"memory": "the symbolic work took too much memory", "nesting": "it is nested too deeply for sympy"}


class Worker:
    """One process. Not to be used by two threads at a time."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([root, *([os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else [])])
        safe_path = ["-P"] if sys.version_info >= (3, 11) else []  # a stray sympy.py in the current folder is not ours
        self.process = subprocess.Popen(
            [sys.executable, *safe_path, "-m", "judge.answers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        )
        self.jobs = 0
        self.ready = False
        self.loaded = False  # whether it has sympy

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """The answer to a request; raises `Failed` after killing the process where it is over its limits.

        The time that a new process takes to start, and to import sympy, does not count.
        """
        if request["op"] not in ("load", "chunk") and not self.loaded:
            self.ask(
                {**request, "op": "load", "pairs": [], "seconds": limits.WORKER_START_SECONDS},
                limits.WORKER_START_SECONDS,
            )
            self.loaded = True
        try:
            if not self.ready:
                self._receive(limits.WORKER_START_SECONDS)
                self.ready = True
            body = json.dumps(request).encode()
            assert self.process.stdin is not None
            self.process.stdin.write(struct.pack(">I", len(body)) + body)
            self.process.stdin.flush()
            reply = self._receive(max(seconds / 2, seconds - limits.MARGIN_SECONDS))
        except TimeoutError as error:  # before OSError, of which it is one
            self.kill()
            raise Failed(f"the symbolic work took longer than {seconds:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            self.kill()
            raise Gone("the process for symbolic work ended early") from error
        except BaseException:
            self.kill()  # Ctrl-C: its answer would be taken for the next one's
            raise
        self.jobs += 1
        if "failed" in reply:
            self.kill()
            raise Failed(_FAILURES.get(reply["failed"], f"sympy gave up ({reply['failed']})"))
        return reply["result"]

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        size = struct.unpack(">I", self._read(4, deadline))[0]
        if size > limits.MAX_MESSAGE_BYTES:
            raise ValueError("a message is too long")
        message: dict[str, Any] = json.loads(self._read(size, deadline))
        return message

    def _read(self, count: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        out = bytearray()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while len(out) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            piece = os.read(descriptor, count - len(out))
            if not piece:
                raise EOFError
            out += piece
        return bytes(out)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """Ends the process, and waits for it."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()

    def forget(self) -> None:
        """In a forked child: lets go of the pipes, so that the worker still notices the end of its real parent."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):
                    os.close(pipe.fileno())
        self.process.returncode = 0  # not this process's child: never waited for


class Pool:
    """The workers of this process, made when they are needed.

    Args:
        size: how many at most; by default the number of usable processors.
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = size or usable_processors()
        self.condition = threading.Condition()
        self.idle: list[Worker] = []
        self.out: set[Worker] = set()
        self.closed = False

    def ask(self, request: dict[str, Any], seconds: float, memory_mb: int) -> Any:
        """The answer to a request from the next free worker; raises `Failed`."""
        request = {**request, "seconds": seconds, "memory_mb": memory_mb}
        for last in (False, True):
            worker = self._take()
            start = time.monotonic()
            try:
                return worker.ask(request, seconds)
            except Gone:
                # It was gone before it could begin (somebody killed it while it was idle): not this request's fault.
                if last or time.monotonic() - start > limits.GONE_SECONDS:
                    raise
            finally:
                self._give(worker)
        raise AssertionError("unreachable")

    def _take(self) -> Worker:
        with self.condition:
            while True:
                if self.closed:
                    raise Failed("the processes for symbolic work were closed")
                while self.idle:
                    worker = self.idle.pop()
                    if worker.alive:
                        self.out.add(worker)
                        return worker
                    worker.kill()
                if len(self.out) < self.size:
                    worker = Worker()
                    self.out.add(worker)
                    return worker
                self.condition.wait()

    def _give(self, worker: Worker) -> None:
        with self.condition:
            self.out.discard(worker)
            if worker.alive and worker.jobs < limits.WORKER_JOBS and not self.closed:
                self.idle.append(worker)
            else:
                worker.kill()
            self.condition.notify()

    def close(self) -> None:
        """Ends all workers."""
        with self.condition:
            self.closed = True
            for worker in [*self.idle, *self.out]:
                worker.kill()
            self.idle.clear()
            self.out.clear()
            self.condition.notify_all()

    def forget(self) -> None:
        for worker in [*self.idle, *self.out]:
            worker.forget()


_lock = threading.Lock()
_pool: Pool | None = None


def shared() -> Pool:
    """The one pool of this process."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool()
        return _pool


def close() -> None:
    """Ends the workers of this process; a later comparison starts new ones."""
    global _pool
    with _lock:
        if _pool is not None:
            _pool.close()
            _pool = None


def usable_processors() -> int:
    """The number of processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def _after_fork() -> None:
    global _pool, _lock
    _lock = threading.Lock()
    if _pool is not None:
        _pool.forget()
        _pool = None


atexit.register(close)
os.register_at_fork(after_in_child=_after_fork)

"""The worker process: symbolic work, and nothing else. Started by `pool`, spoken to over pipes.

Messages are JSON with their length in front, in both directions. The process ends itself when its parent is gone, and
the kernel ends it when it is over its time.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
import time
from typing import Any


def main() -> None:
    """Answers requests on stdin until it closes."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)  # nothing that a library prints may get between the messages
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    sys.setrecursionlimit(3000)
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    _send(replies, {"ready": True})
    while True:
        head = requests.read(4)
        if len(head) < 4:
            return
        body = requests.read(struct.unpack(">I", head)[0])
        request: dict[str, Any] = json.loads(body)
        _limit(request["seconds"], request["memory_mb"])
        try:
            reply: dict[str, Any] = {"result": _handle(request)}
        except MemoryError:
            reply = {"failed": "memory"}
        except RecursionError:
            reply = {"failed": "nesting"}
        except Exception as error:  # a library's own failure is an answer too: undecided
            reply = {"failed": type(error).__name__}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(replies, reply)


def _handle(request: dict[str, Any]) -> Any:
    if request["op"] == "chunk":
        from .checker import cheap_chunk
        from .policy import Policy

        return cheap_chunk(request["pairs"], Policy(**request["policy"]), request["marks"])
    from . import symbolic

    return symbolic.handle(request)


def _send(replies: Any, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    replies.write(struct.pack(">I", len(body)) + body)
    replies.flush()


def _limit(seconds: float, memory_mb: int) -> None:
    """Limits that the kernel enforces, also inside of one long computation in C."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, seconds + 1.0)  # without a handler, SIGALRM ends the process


def _watch(parent: int) -> None:
    """Ends the process once its parent is gone: a closed pipe is noticed only between two requests."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main()

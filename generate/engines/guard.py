"""Ends what a killed stage leaves running. Started by the stage as `python guard.py STAGE_PID`.

vLLM works in processes of its own. When the stage is killed with no chance to close them, they go on at full load. The
guard looks once a second which processes the stage has started, and kills those still alive soon after the stage is gone.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

LOOK_SECONDS = 0.5
GRACE_SECONDS = 3.0


def start() -> "subprocess.Popen[bytes]":
    """Start a guard for this process, in a session of its own so that Ctrl-C does not reach it."""
    return subprocess.Popen(
        [sys.executable, "-P", os.path.abspath(__file__), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def watch(stage_pid: int) -> None:
    import psutil

    me = os.getpid()
    seen: dict[int, float] = {}  # pid -> start time, so that a pid that was given out anew is never killed

    def note(parent: psutil.Process) -> None:
        with contextlib.suppress(psutil.Error):
            for child in parent.children(recursive=True):
                if child.pid != me:
                    seen[child.pid] = child.create_time()

    try:
        stage = psutil.Process(stage_pid)
        while os.getppid() == stage_pid:
            note(stage)
            time.sleep(LOOK_SECONDS)
    except psutil.NoSuchProcess:
        pass
    deadline = time.monotonic() + GRACE_SECONDS
    while alive := [p for p in map(_same(seen), list(seen)) if p is not None]:
        if time.monotonic() > deadline:
            for process in alive:
                note(process)
            for process in filter(None, map(_same(seen), list(seen))):
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)
            return
        time.sleep(LOOK_SECONDS)


def _same(seen: dict[int, float]):  # type: ignore[no-untyped-def]
    import psutil

    def find(pid: int) -> "psutil.Process | None":
        try:
            process = psutil.Process(pid)
            return process if process.create_time() == seen[pid] and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None

    return find


if __name__ == "__main__":
    watch(int(sys.argv[1]))

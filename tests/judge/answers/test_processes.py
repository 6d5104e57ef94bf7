"""Worker processes: under hard limits, replaced when killed, usable from anywhere, gone with their parent."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from judge.answers import Policy, compare, compare_many, pool

HARD = (r"$\sqrt{3+2\sqrt{2}}$", r"\boxed{1+\sqrt{2}}")  # equal, as only sympy can tell
SLOW = ("$2^{20}" + "".join(rf"\cos({2**i} x)" for i in range(20)) + r"\sin x$", r"\boxed{\sin(1048576x)}")


def workers(of: int | None = None) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(of).children(recursive=True)
        if "judge.answers.worker" in " ".join(child.cmdline())
    ]


def wait_until(condition: object, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


def test_work_that_takes_too_long_is_ended_and_the_next_one_goes_on() -> None:
    compare(*HARD)
    start = time.monotonic()
    found = compare(*SLOW, Policy(seconds=1))
    assert found.outcome == "undecided" and found.method == "limit" and "longer than 1 s" in found.reason
    assert time.monotonic() - start < 3
    assert compare(*HARD).outcome == "equal"


def test_work_that_takes_too_much_memory_is_ended() -> None:
    huge = ["o", "pow", [["n", "0x2", "0x1"], ["n", hex(10**11), "0x1"]]]  # the guards would never let it through
    with pytest.raises(pool.Failed, match=r"memory|ended early"):
        pool.shared().ask({"op": "expressions", "pairs": [[huge, huge]], "whole": []}, 30.0, 600)
    assert compare(*HARD).outcome == "equal"


def test_a_worker_that_is_killed_from_outside_is_replaced() -> None:
    compare(*HARD)
    for worker in workers():
        worker.send_signal(signal.SIGKILL)
    assert compare(r"$\sqrt{5+2\sqrt{6}}$", r"\boxed{\sqrt2+\sqrt3}").outcome == "equal"


def test_threads_share_a_few_workers() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: compare(*HARD).outcome, range(24)))
    assert found == ["equal"] * 24
    assert len(workers()) <= pool.usable_processors()


def test_asyncio() -> None:
    async def many() -> list[str]:
        return [f.outcome for f in await asyncio.gather(*(asyncio.to_thread(compare, *HARD) for _ in range(4)))]

    assert asyncio.run(many()) == ["equal"] * 4
    assert compare(*HARD).outcome == "equal"


def in_a_child(queue: "multiprocessing.Queue[str]") -> None:
    queue.put(compare(*HARD).outcome)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_have_their_own(method: str) -> None:
    compare(*HARD)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_a_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == "equal"
    child.join(20)
    assert child.exitcode == 0
    assert compare(*HARD).outcome == "equal"


def test_from_a_command_without_a_main_guard_and_with_strange_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "sympy.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    script = f"from judge.answers import compare; print(compare({HARD[0]!r}, {HARD[1]!r}).outcome)"
    root = str(Path(__file__).resolve().parents[3])
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("equal\n", "", 0)


@pytest.mark.parametrize("busy", [False, True])
def test_workers_end_when_their_parent_is_killed(busy: bool) -> None:
    script = f"""
import sys, threading, time
from judge.answers import Policy, compare
compare(*{HARD!r})
if {busy}:
    threading.Thread(target=compare, args=(*{SLOW!r}, Policy(seconds=600)), daemon=True).start()
    time.sleep(0.5)
print("ready", flush=True)
time.sleep(600)
"""
    root = str(Path(__file__).resolve().parents[3])
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
    left = workers(parent.pid)
    assert left
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not any(w.is_running() and w.status() != psutil.STATUS_ZOMBIE for w in left))
    parent.stdout.close()


def test_closing_ends_the_workers_and_a_later_comparison_starts_new_ones() -> None:
    compare(*HARD)
    assert workers()
    pool.close()
    assert wait_until(lambda: not workers())
    assert compare(*HARD).outcome == "equal"


def test_many_pairs_over_processes_come_in_order_and_alike() -> None:
    pairs = [(str(k), rf"\boxed{{{k if k % 3 else k + 1}}}") for k in range(1_500)]
    pairs[700], pairs[900], pairs[901] = HARD, ("42", None), SLOW
    pairs[902] = ("42", "\\boxed{\ud800}")
    seen: list[int] = []
    policy = Policy(seconds=1)
    spread = list(compare_many(iter(pairs), policy, processes=2, progress=seen.append))
    assert seen == list(range(1, 1_501))
    assert spread == [compare(g, r, policy) for g, r in pairs]
    assert [f.outcome for f in spread[:3]] == ["different", "equal", "equal"]
    assert spread[700].outcome == "equal" and spread[900].missing and spread[901].method == "limit"


def test_many_pairs_are_read_as_they_are_needed() -> None:
    taken = 0

    def endless() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield str(taken), f"\\boxed{{{taken}}}"

    found = compare_many(endless(), processes=2)  # type: ignore[arg-type]
    assert next(found).outcome == "equal"
    assert taken < 4_000
    found.close()  # type: ignore[attr-defined]

"""How long a journal takes to write and to open again, and how much memory that needs.

    python scripts/bench/journal.py [--records 1000000] [--bytes 3000] [--runs 3]

Solutions of the given size are written to a file of the system's temporary folder (3 GB as it stands; TMPDIR=... chooses
another place). Opened again in a process of its own, which also asks what is still to do and which record of each
solution stands last, as a stage does. The reference, in the same run: the same file read line by line with orjson, each
line parsed and dropped; that is the least that a reader of records, not of keys, would need.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generate.journal import Journal, encode
from generate.solutions import Solution, Usage
from scripts.bench.show import in_turn, machine, median, table


def solution(number: int, text: str) -> Solution:
    return Solution(
        key=f"{number:024x}",
        id=f"problem-{number // 4}/model/{number % 4}",
        problem_id=f"problem-{number // 4}",
        model="model",
        settings_key="0" * 24,
        text=text,
        usage=Usage(prompt_tokens=1, completion_tokens=1),
    )


def write(path: Path, records: int, size: int) -> float:
    """Seconds to append so many records of about `size` bytes each."""
    line = "Let \\angle ABC = 90^\\circ.\n"
    room = size - len(encode(solution(0, "")))
    text = line * (room // (len(line) + line.count("\n") + line.count("\\")))  # JSON escapes these
    text += "x" * (size - len(encode(solution(0, text))))
    began = time.perf_counter()
    with Journal(path, Solution) as journal:
        for number in range(records):
            journal.append(solution(number, text))
    return time.perf_counter() - began


def peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def reopen(path: Path) -> None:
    """Opens the journal as a stage does; prints seconds and the most memory that the process has taken."""
    from generate.work import make_newest, plan

    began = time.perf_counter()
    with Journal(path, Solution) as journal:
        todo, done = plan((f"{n:024x}" for n in range(len(journal) + 1)), str, journal, retry_errors=True)
        make_newest((f"{n:024x}" for n in range(len(journal))), journal)
        assert len(todo) == 1 and done == len(journal)
        seconds = time.perf_counter() - began
    print(json.dumps([seconds, peak_megabytes()]))


def parse(path: Path) -> None:
    """The reference: every line through orjson."""
    import orjson

    began = time.perf_counter()
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
    print(json.dumps([time.perf_counter() - began, peak_megabytes()]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=3000, help="size of one record")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--arm", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        {"reopen": reopen, "parse": parse}[options.arm[0]](Path(options.arm[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "solutions.jsonl"
        wrote = write(path, options.records, options.bytes)
        gigabytes = path.stat().st_size / 1e9
        memory: dict[str, float] = {}

        def arm(name: str) -> float:
            words = [sys.executable, os.path.abspath(__file__), "--arm", name, str(path)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            seconds, megabytes = json.loads(done.stdout)
            memory[name] = max(memory.get(name, 0), megabytes)
            return float(seconds)

        took = {
            n: median(v)
            for n, v in in_turn({n: (lambda n=n: arm(n)) for n in ("reopen", "parse")}, options.runs).items()
        }
    rows = [
        ["written, record by record", f"{wrote:.1f}", f"{options.records / wrote:,.0f}", "", ""],
        ["opened again", f"{took['reopen']:.1f}", f"{options.records / took['reopen']:,.0f}", f"{memory['reopen']:.0f}",
         f"{took['reopen'] / took['parse']:.2f}"],
        ["orjson, line by line", f"{took['parse']:.1f}", f"{options.records / took['parse']:,.0f}", f"{memory['parse']:.0f}", "1"],
    ]  # fmt: skip
    size = f"{options.records:,} records of {gigabytes * 1e9 / options.records:,.0f} bytes ({gigabytes:.2f} GB)"
    print(table([f"journal of {size}", "seconds:", "records/s:", "peak memory, MB:", "time against orjson:"], rows))
    print()
    print(machine("orjson", "pydantic"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

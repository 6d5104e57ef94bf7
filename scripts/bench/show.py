"""What every measurement prints: a Markdown table, and under it the machine and the versions it was taken with."""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table. A column's name that ends in `:` is set flush right."""
    lines = ["| " + " | ".join(c.rstrip(":") for c in columns) + " |"]
    lines.append("| " + " | ".join("---:" if c.endswith(":") else "---" for c in columns) + " |")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine(*packages: str) -> str:
    """One line: the processor, cores, memory, system, Python, the versions of those packages that are installed, the day."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = []
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    parts = [f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB", f"{platform.system()} {platform.machine()}"]
    parts += [f"Python {platform.python_version()}", *versions, time.strftime("%Y-%m-%d", time.gmtime())]
    return "Measured on: " + "; ".join(parts) + "."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def in_turn(arms: dict[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    """Run every arm `runs` times, each in its turn, so that a busy moment of the machine hits all; what each returned."""
    results: dict[str, list[float]] = {name: [] for name in arms}
    for turn in range(runs):
        for name, arm in arms.items():
            results[name].append(arm())
            print(f"run {turn + 1} of {runs}: {name}: {results[name][-1]:.4g}", file=sys.stderr, flush=True)
    return results


def median(values: Sequence[float]) -> float:
    return statistics.median(values)

"""Every measurement can be run, has a section in BENCHMARKS.md, and prints a table of the shape that stands there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(p for p in (ROOT / "scripts" / "bench").glob("*.py") if p.name not in ("show.py", "environment.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_every_measurement_has_a_section_that_says_how_to_repeat_it(script):
    assert f"python scripts/bench/{script.name}" in (ROOT / "BENCHMARKS.md").read_text()


@pytest.mark.parametrize("words", [["journal.py", "--records", "2000", "--runs", "1"]])
def test_a_measurement_prints_a_table_with_machine_versions_and_ratio(words):
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT / "scripts" / "bench", capture_output=True, text=True, check=True
    )
    head, rule, *rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in (head, rule, *rows)}) == 1 and len(rows) == 3
    assert "Measured on: " in done.stdout and "cores" in done.stdout and "Python 3" in done.stdout

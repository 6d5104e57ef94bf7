"""kill -9 at random moments, a full disk in each stage, two processes at once: nothing lost, nothing twice, all said."""

import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fast import config

ROOT = Path(__file__).resolve().parents[1]
ENV = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
TIMES = re.compile(rb',"seconds":[-+.0-9e]+')
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fast(stage: Run, tmp_path: Path) -> Run:
    """Run a stage with an engine that answers at once."""
    words = config(tmp_path)
    return lambda name, *more: stage(name, *words, *more, env=ENV)


def lines(study: Path) -> dict[str, list[bytes]]:
    """The lines of every journal of a study, without times, in an order that does not depend on which call came back
    first."""
    files = {f for folder in (".", "solutions", "answers", "verdicts") for f in (study / folder).glob("*.jsonl")}
    timeless = {f: TIMES.sub(b"", f.read_bytes()) for f in sorted(files)}
    return {str(f.relative_to(study)): sorted(content.splitlines(keepends=True)) for f, content in timeless.items()}


def killed_at_random_moments(folder: Path, words: list[str], kills: int, within: float) -> int:
    """Start it, kill it, and again; returns how often it was still running when it was killed."""
    rng = random.Random(f"{words[0]} {kills}")
    running = 0
    for _ in range(kills):
        run = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=folder, env={**os.environ, **ENV}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )  # fmt: skip
        time.sleep(rng.uniform(0, within))
        running += run.poll() is None
        run.kill()
        run.wait()
    return running


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.long)])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_records_as_one_that_is_not(fast, tmp_path, kills):
    choose = config(tmp_path)
    took = {}
    stages = {"generate": ["samples=5"], "judge": ["in_flight=8"]}
    for name, more in stages.items():
        began = time.monotonic()
        assert fast(name, "study=calm", *more).returncode == 0
        took[name] = time.monotonic() - began
    slow = [f"engine.seconds={0.02 * kills}", "in_flight=8"]  # so that the work lasts for about as many kills
    for name, more in stages.items():
        words = [name, *choose, "study=wild", *more, *slow]
        assert killed_at_random_moments(tmp_path, words, kills, took[name] * 1.5 + 0.5) >= kills * 0.6
        done = fast(name, "study=wild", *more)
        assert done.returncode == 0, done.stderr
        calm, wild = lines(tmp_path / "studies" / "calm"), lines(tmp_path / "studies" / "wild")
        for file in calm:
            if file.startswith("solutions" if name == "generate" else ("answers", "verdicts")):
                assert wild[file] == calm[file], file
                keys = Counter(json.loads(line)["key"] for line in wild[file])
                assert len(keys) >= 7 and set(keys.values()) == {1}


@contextlib.contextmanager
def small_disk(at: Path) -> Iterator[Callable[[str], None]]:
    """A file system of 300 KB in memory at that folder; yields what changes its size."""
    at.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", at]).returncode != 0:
        pytest.skip("a small file system can only be mounted as root (and where mounting is allowed)")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", at], check=True)
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def said_to_be_full(done: "subprocess.CompletedProcess[str]") -> None:
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2 and "No space left on device" in last and "un the same command again" in last, done
    assert "Traceback" not in done.stderr


def test_a_full_disk_ends_each_stage_in_one_line_and_the_run_goes_on_once_there_is_room(fast, stage, tmp_path):
    studies = tmp_path / "studies"
    with small_disk(studies) as resize:
        full = fast("generate", "study=s", "engine.size=30000", "in_flight=4")
        said_to_be_full(full)
        kept = lines(studies / "s")
        (file,) = (f for f in kept if "smollm2" in f)
        assert 3 <= len(kept[file]) < 20 and all(json.loads(line)["text"] for line in kept[file])
        resize("2m")
        assert fast("generate", "study=s", "engine.size=30000").returncode == 0
        whole = lines(studies / "s")[file]
        assert len(whole) == 20 and set(kept[file]) < set(whole)

        def leave(size: int) -> Path:
            """Fill the disk up to so many bytes."""
            free = shutil.disk_usage(studies).free
            (studies / "filler").write_bytes(b"x" * max(0, free - size))
            return studies / "filler"

        assert fast("judge", "study=s", "program=none").returncode == 0
        filler = leave(36_000)
        said_to_be_full(fast("judge", "study=s", "in_flight=4", "engine.size=1000"))
        kept = lines(studies / "s")
        (file,) = (f for f in kept if f.startswith("verdicts"))
        assert 1 <= len(kept[file]) < 95 and all(json.loads(line)["verdict"] for line in kept[file])
        filler.unlink()
        assert fast("judge", "study=s", "engine.size=1000").returncode == 0
        assert len(lines(studies / "s")[file]) == 95  # 75 solutions come with the starter set

        filler = leave(4096)
        before = lines(studies / "s")
        said_to_be_full(stage("calibrate", "study=s"))
        assert lines(studies / "s") == before and not list(studies.rglob("*.part"))
        filler.unlink()
        assert stage("calibrate", "study=s", "overwrite=true").returncode == 0


@pytest.mark.parametrize("name", ["generate", pytest.param("judge", marks=pytest.mark.long)])
def test_of_two_processes_on_one_journal_the_second_is_told_so_and_the_first_goes_on(fast, stage, tmp_path, name):
    words = [*config(tmp_path), "study=s"]
    if name == "judge":
        assert stage("generate", "study=s", "model=recorded").returncode == 0
    slow = ["engine.seconds=6", "in_flight=100"]
    first = subprocess.Popen(
        [sys.executable, "-m", name, *words, *slow],
        cwd=tmp_path, env={**os.environ, **ENV}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    folder = tmp_path / "studies" / "s" / ("solutions" if name == "generate" else "verdicts")
    deadline = time.monotonic() + 60
    while not any("smollm2" in f.name for f in folder.glob("*.jsonl")):
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.05)
    second = stage(name, *words, env=ENV)
    assert second.returncode == 2 and second.stderr.count("\n") == 1, second.stderr
    assert "another run is writing this file; wait for it, or end it" in second.stderr
    assert first.wait(timeout=60) == 0, first.stderr.read()
    (file,) = (v for f, v in lines(tmp_path / "studies" / "s").items() if f.startswith(folder.name) and "smollm2" in f)
    assert len({json.loads(line)["key"] for line in file}) == len(file) == (20 if name == "generate" else 75)

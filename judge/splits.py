"""Which labels may teach a judge, which may choose between judges, and which only measure it: `train`, `dev`, `lockbox`.

A problem's split is a salted hash of its id, so that it needs no list, new problems fall in the same way, and all solutions of
one problem stay together. A study keeps its salt, its shares, and each opening of its lockbox in `splits.json`.
"""

import fcntl
import hashlib
import math
import os
import time
from typing import Annotated, Literal, get_args

from pydantic import Field, ValidationError, model_validator

from generate.journal import BadInput, Record, write_whole
from generate.study import Study

Split = Literal["train", "dev", "lockbox"]
SPLITS: tuple[Split, ...] = get_args(Split)
FILE = "splits.json"
Share = Annotated[float, Field(ge=0, le=1)]


class Opening(Record):
    """One look into the lockbox."""

    date: str
    """In UTC, to the second."""
    who: str
    """What looked, such as `calibrate report`."""
    what: str
    """What it looked at, such as the judges that it scored."""


class Splits(Record):
    """`splits.json`: how a study's problems fall, and when its lockbox was opened.

    Edit salt and shares before the first label is used: a problem that moves from `train` to `lockbox` later was seen already.
    """

    salt: str = "splits"
    train: Share = 0.2
    dev: Share = 0.2
    lockbox: Share = 0.6
    lockbox_openings: list[Opening] = Field(default_factory=list)

    @model_validator(mode="after")
    def _whole(self) -> "Splits":
        if not math.isclose(self.train + self.dev + self.lockbox, 1, abs_tol=1e-9):
            raise ValueError("train, dev and lockbox are shares that sum to 1")
        return self

    def of(self, problem_id: str) -> Split:
        """The split of one problem."""
        digest = hashlib.sha256(f"{self.salt}\0{problem_id}".encode("utf-8", "replace")).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        if place < self.train:
            return "train"
        return "dev" if place < self.train + self.dev else "lockbox"


def split_of(problem_id: str, splits: Splits | None = None) -> Split:
    """The split of one problem, by the study's splits or by the default ones."""
    return (splits or Splits()).of(problem_id)


def read_splits(study: Study) -> Splits:
    """The study's own, else the default. Raises BadInput for a file that is none."""
    path = study.path / FILE
    if not path.exists():
        return Splits()
    try:
        return Splits.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(p) for p in first["loc"]) or "the file"
        raise BadInput(f"{path}: {field}: {first['msg'].removeprefix('Value error, ')}") from None


def keep_splits(study: Study) -> Splits:
    """The same, written down, so that the study's problems fall as they do now whatever later versions do."""
    return _changed(study, [])


def open_lockbox(study: Study, who: str, what: str) -> Splits:
    """Record one opening of the lockbox, and return the splits with all openings so far. Call it before looking."""
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return _changed(study, [Opening(date=date, who=who, what=what)])


def _changed(study: Study, openings: list[Opening]) -> Splits:
    folder = os.open(study.path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # two reports at once: neither loses the other's opening
        splits = read_splits(study)
        if openings or not (study.path / FILE).exists():
            splits = splits.model_copy(update={"lockbox_openings": [*splits.lockbox_openings, *openings]})
            write_whole(study.path / FILE, splits.model_dump_json(indent=2).encode() + b"\n")
        return splits
    finally:
        os.close(folder)

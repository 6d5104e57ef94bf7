"""Append-only JSON Lines that survive a kill, and the base of every record that stands in them."""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

SYNC_SECONDS = 1.0
KEY_LENGTH = 24


class BadInput(Exception):
    """Something the user gave cannot be used. The message is one line that names the file, the row and the field."""


class Record(BaseModel):
    """One line of a journal. Frozen; fields that this version does not know survive a round trip."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class Failure(Record):
    """Why a piece of work has no result.

    `kind` is a short name that reports count by (`prompt_too_long`, `cut_off`, `unparsed`, ...), `message` one
    readable line, and `raw` the text that came instead of a result, where there was one.
    """

    kind: str
    message: str
    raw: str | None = None


R = TypeVar("R", bound=Record)


def key_of(**parts: Any) -> str:
    """A hash of all that a record depends on: equal parts give the equal key, on every machine and in every order."""
    try:
        text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a lone surrogate, or a number beyond 64 bits
        text = json.dumps(parts, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()[:KEY_LENGTH]


def text_hash(text: str | None) -> str | None:
    """A hash of one text, by which a label knows the solution text that it was given for; null for no text."""
    return None if text is None else key_of(text=text)


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    os.replace(part, path)


def encode(record: BaseModel) -> bytes:
    """The record as one line of JSON with its line break. Lone surrogates, which UTF-8 cannot hold, become `?`."""
    try:
        return record.model_dump_json().encode() + b"\n"
    except (ValueError, UnicodeEncodeError):
        return orjson.dumps(_scrub(record.model_dump(mode="python"))) + b"\n"


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_scrub(k): _scrub(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(v) for v in value]
    return value


def read(path: Path, kind: type[R]) -> Iterator[R]:
    """Every whole record of a journal, oldest first. A last line without its line break (the machine died while it
    was written) is passed over. Raises BadInput, with file and line, for a line that is no such record."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            if not line.strip():
                continue
            try:
                yield kind.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(str(p) for p in first["loc"]) or "the line"
                raise BadInput(f"{path}, line {number}: {field}: {first['msg']}") from None


class Journal(Generic[R]):
    """The records of one file, newest first for each name, and the only way to add to them.

    `identity` names the field that tells one piece of work from another (`key`; for problems `id`). A line for work
    that is there already replaces it for every reader, and the older line stays where it was. One process at a time
    may write; a second one is refused with a line that says so.
    """

    def __init__(self, path: Path, kind: type[R], identity: tuple[str, ...] = ("key",)):
        self.path = path
        self.identity = identity
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise BadInput(f"{path}: another run is writing this file; wait for it, or end it") from None
        self.torn_bytes = self._cut_torn_line()
        self.records: dict[tuple[Any, ...], R] = {}
        try:
            for record in read(path, kind):
                self._remember(record)
        except BadInput:
            os.close(self._file)
            raise
        self._synced = time.monotonic()

    def name(self, record: R) -> tuple[Any, ...]:
        return tuple(getattr(record, field) for field in self.identity)

    def _remember(self, record: R) -> None:
        name = self.name(record)
        self.records.pop(name, None)  # so that the order of the dict is the order of the lines
        self.records[name] = record

    def _cut_torn_line(self) -> int:
        size = os.fstat(self._file).st_size
        keep, block = size, 1 << 16
        while keep > 0:
            start = max(0, keep - block)
            at = os.pread(self._file, keep - start, start).rfind(b"\n")
            if at >= 0:
                keep = start + at + 1
                break
            keep = start
        if keep < size:
            os.ftruncate(self._file, keep)
        return size - keep

    def append(self, record: R) -> None:
        """Write one record with one system call. On a full disk the half-written line is cut back and OSError raised."""
        line = encode(record)
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(28, "no space left for a whole record", str(self.path))
        except OSError:
            os.ftruncate(self._file, before)
            raise
        self._remember(record)
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            os.fdatasync(self._file)
            self._synced = time.monotonic()

    def put(self, records: Iterable[R]) -> int:
        """Append those records that are not there already in the same words; returns how many were new."""
        new = 0
        for record in records:
            if self.records.get(self.name(record)) != record:
                self.append(record)
                new += 1
        return new

    def close(self) -> None:
        if self._file >= 0:
            os.fdatasync(self._file)
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "Journal[R]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

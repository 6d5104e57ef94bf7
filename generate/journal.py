"""Append-only JSON Lines that survive a kill, and the base of every record that stands in them."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

SYNC_SECONDS = 1.0
LOOK_SECONDS = 0.1  # between two looks whether another writer has ended
KEY_LENGTH = 24
BLOCK = 1 << 20  # bytes that are read at once


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
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


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
    """Every whole record of a journal, oldest first, one at a time. A last line without its line break (the machine died
    while it was written) is passed over. Raises BadInput, with file and line, for a line that is no such record."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            if line.strip():
                yield _parsed(line, kind, path, number)


def _parsed(line: bytes, kind: type[R], path: Path, number: int) -> R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(p) for p in first["loc"]) or "the line"
        raise BadInput(f"{path}, line {number}: {field}: {first['msg']}") from None


TEXT, PLAIN, FAILED = rb'(?:null|"([^"\\]*+)")', rb'(?:"(?:[^"\\]|\\.)*+"|null|true|false|[-+.0-9eE]+)', rb"(null|\{)"


class Heads:
    """What opening a journal reads of each line: the few fields that stand first in it, never the record behind them.

    `wanted` names the fields to read. All of them are texts, but for `error`, of which it is read whether there is one.
    A line that begins in another way (a name with a quotation mark in it, a file by another hand) is read whole.
    """

    def __init__(self, kind: type[Record], wanted: Sequence[str]):
        self.kind = kind
        self.wanted = wanted
        fields = list(kind.model_fields)
        upto = fields[: max(fields.index(w) for w in wanted) + 1]
        values = [FAILED if f == "error" else TEXT if f in wanted else PLAIN for f in upto]
        self._match = re.compile(
            rb"\{" + b",".join(b'"%b":%b' % (f.encode(), v) for f, v in zip(upto, values, strict=True))
        ).match
        order = [f for f in upto if f in wanted]
        self._place = [order.index(w) for w in wanted]
        self._is_error = [w == "error" for w in wanted]

    def of(self, line: bytes, path: Path, number: int) -> list[str | bool | None]:
        """The wanted fields of one line, for `error` whether there is one. Raises BadInput, with file and line."""
        found = self._match(line)
        if found is not None and line.endswith(b"}\n"):
            try:
                groups = found.groups()
                return [
                    groups[p] == b"{" if is_error else None if groups[p] is None else groups[p].decode()
                    for p, is_error in zip(self._place, self._is_error, strict=True)
                ]
            except UnicodeDecodeError:
                pass
        record = _parsed(line, self.kind, path, number)
        values = [getattr(record, w) for w in self.wanted]
        return [
            v is not None if is_error else None if v is None else str(v)
            for v, is_error in zip(values, self._is_error, strict=True)
        ]


class Journal(Generic[R]):
    """One file of records, and the only way to add to it. It knows where each record stands, and holds none in memory.

    `identity` names the field that tells one piece of work from another (`key`; for problems `id`). A line for work
    that is there already replaces it for every reader, and the older line stays where it was. One process at a time
    may write; a second one is refused with a line that says so. `beside` are the files of other shards, which are read
    as if their lines stood before this file's, and never written. Of the field `noting` the distinct values are kept.
    `patience` is for how many seconds to wait for another writer.
    """

    def __init__(
        self,
        path: Path,
        kind: type[R],
        identity: tuple[str, ...] = ("key",),
        beside: Sequence[Path] = (),
        noting: str | None = None,
        patience: float = 0.0,
    ):
        self.path = path
        self.kind = kind
        self.identity = identity
        self.noted: set[str | None] = set()
        fields = kind.model_fields
        called = next((f for f in ("id", "solution_id") if f in fields), identity[0])
        wanted = [*identity, called, *(["error"] if "error" in fields else []), *([noting] if noting else [])]
        self._heads, self._noting, self._has_error = Heads(kind, wanted), noting, "error" in fields
        self._rows: dict[str | tuple[str, ...], int] = {}  # the newest row of each name; a row is one line of one file
        self._files: list[tuple[Path, int]] = []
        self._file_of, self._starts, self._sizes = array("H"), array("Q"), array("Q")
        self._called, self._failed = array("q"), bytearray()
        self._file = _opened_alone(path, patience)
        try:
            for other in beside:
                self._read_heads(other, os.open(other, os.O_RDONLY | os.O_CLOEXEC))
            self.torn_bytes = self._cut_torn_line()
            self._end = self._read_heads(path, self._file)
        except BaseException as error:
            self._close_files()
            if isinstance(error, OSError):
                raise BadInput(f"{error.filename or path}: cannot be read: {error.strerror}") from None
            raise
        self._synced = time.monotonic()

    # what is there

    def name(self, record: R) -> str | tuple[str, ...]:
        """What tells this record's work from other work: its key, or a tuple where several fields do."""
        values = tuple(getattr(record, field) for field in self.identity)
        return values[0] if len(values) == 1 else values

    def __len__(self) -> int:
        """How many pieces of work there are (not lines)."""
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def has_failed(self, name: str | tuple[str, ...]) -> bool:
        """Whether the newest record of that name is an error. Raises KeyError for a name that is not there."""
        return bool(self._failed[self._rows[name]])

    def get(self, name: str | tuple[str, ...]) -> R | None:
        """The newest record of that name, read from the file; null where there is none."""
        row = self._rows.get(name)
        return None if row is None else self._read(row)

    def newest(self, names: Iterable[str | tuple[str, ...]] | None = None) -> Iterator[R]:
        """The newest record of each name (of those names that are there), one at a time, in the order of the lines."""
        rows = self._rows.values() if names is None else (self._rows[n] for n in names if n in self._rows)
        for row in sorted(rows):
            yield self._read(row)

    def last(self) -> R | None:
        """The record in the last line; null in an empty file."""
        return self._read(len(self._starts) - 1) if self._starts else None

    def superseded(self, names: Iterable[str | tuple[str, ...]]) -> list[str | tuple[str, ...]]:
        """Those of the names whose record has been followed by another one that is called the same: a solution with the
        same id, a verdict on the same solution. Readers take the last."""
        newest = {called: row for row, called in enumerate(self._called)}
        rows = ((name, self._rows[name]) for name in names if name in self._rows)
        return [name for name, row in rows if newest[self._called[row]] != row]

    def _read(self, row: int) -> R:
        path, file = self._files[self._file_of[row]]
        line = os.pread(file, self._sizes[row], self._starts[row])
        try:
            return self.kind.model_validate_json(line)
        except ValidationError:
            number = sum(1 for _ in _lines(file, self._starts[row])) + 1
            return _parsed(line, self.kind, path, number)

    def _read_heads(self, path: Path, file: int) -> int:
        """Note where each whole line of a file stands; returns where the last one ends."""
        self._files.append((path, file))
        end = 0
        for number, line in enumerate(_lines(file), 1):
            if line.strip():
                self._note(self._heads.of(line, path, number), end, len(line))
            end += len(line)
        return end

    def _note(self, head: list[str | bool | None], start: int, size: int) -> None:
        row = len(self._starts)
        n = len(self.identity)
        name: Any = head[0] if n == 1 else tuple(head[:n])
        self._rows[name] = row
        self._file_of.append(len(self._files) - 1)
        self._starts.append(start)
        self._sizes.append(size)
        self._called.append(hash(head[n]))
        self._failed.append(self._has_error and bool(head[n + 1]))
        if self._noting:
            self.noted.add(head[-1])  # type: ignore[arg-type]

    # writing

    def append(self, record: R) -> None:
        """Write one record with one system call. Raises BadInput where that cannot be done (a full disk, a folder that is
        gone): what was half written is cut back, and all that stands there is whole."""
        line = encode(record)
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise self._unwritable(error) from None
        self._note(self._heads.of(line, self.path, 0), self._end, len(line))
        self._end += len(line)
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self._sync()

    def put(self, records: Iterable[R]) -> int:
        """Append those records that are not there already in the same words; returns how many were new."""
        new = 0
        for record in records:
            if self.get(self.name(record)) != record:
                self.append(record)
                new += 1
        return new

    def _sync(self) -> None:
        """Have the disk hold what was written, and see to it that the file still is where readers look for it."""
        try:
            os.fdatasync(self._file)
            here = os.fstat(self._file)
            there = os.stat(self.path)
            if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
                raise FileNotFoundError(errno.ENOENT, "another file has taken its place")
        except OSError as error:
            raise self._unwritable(error) from None
        self._synced = time.monotonic()

    def _unwritable(self, error: OSError) -> BadInput:
        if error.errno == errno.ENOENT:
            why = "the file was moved or removed while this run was writing it"
            return BadInput(f"{self.path}: {why}; put it back if you can, then run the same command again")
        why = f"no more can be written ({error.strerror}); what stands in it is whole"
        return BadInput(f"{self.path}: {why}. Run the same command again once that is mended")

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

    def close(self) -> None:
        """Raises BadInput where what was written did not reach the disk."""
        if self._file < 0:
            return
        try:
            self._sync()
            if len(self._files) > 1:
                os.utime(self._file)  # of several shards' files the one last written to is read last
        finally:
            self._close_files()

    def _close_files(self) -> None:
        for file in {self._file, *(f for _, f in self._files)}:
            os.close(file)
        self._file, self._files = -1, []

    def __enter__(self) -> "Journal[R]":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with contextlib.suppress(*([BadInput] if kind else [])):  # what went wrong first is what is said
            self.close()


def _opened_alone(path: Path, patience: float) -> int:
    """A file opened to be read and added to, with the lock that keeps other writers out."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
    deadline = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(LOOK_SECONDS)
    except OSError as error:
        os.close(file)
        if isinstance(error, BlockingIOError | PermissionError):
            raise BadInput(f"{path}: another run is writing this file; wait for it, or end it") from None
        why = f"its file system keeps no locks ({error.strerror}), so a second writer could not be kept out"
        raise BadInput(f"{path}: {why}; choose another folder with studies_dir=...") from None


def _lines(file: int, upto: int | None = None) -> Iterator[bytes]:
    """The whole lines of an open file from its start, without its position; only those before byte `upto`."""
    at, rest = 0, b""
    while block := os.pread(file, BLOCK if upto is None else min(BLOCK, upto - at), at):
        at += len(block)
        begin = 0
        while (stop := block.find(b"\n", begin)) >= 0:
            yield rest + block[begin : stop + 1]
            rest, begin = b"", stop + 1
        rest += block[begin:]

"""The journal: what survives, what is cut off, what is refused."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc

import pytest

from generate.journal import BadInput, Failure, Journal, Record, encode, key_of, read
from generate.work import make_newest, plan


class Note(Record):
    key: str
    text: str = ""


def test_records_come_back_in_order_and_the_newest_line_counts(tmp_path):
    path = tmp_path / "notes.jsonl"
    with Journal(path, Note) as journal:
        for key, text in [("a", "1"), ("b", "2"), ("a", "3")]:
            journal.append(Note(key=key, text=text))
    with Journal(path, Note) as journal:
        assert [(r.key, r.text) for r in journal.newest()] == [("b", "2"), ("a", "3")]
    assert len(list(read(path, Note))) == 3


def test_fields_that_this_version_does_not_know_survive_a_round_trip(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"key":"a","text":"t","colour":{"deep":[1,2]}}\n')
    (note,) = read(path, Note)
    assert encode(note) == b'{"key":"a","text":"t","colour":{"deep":[1,2]}}\n'


@pytest.mark.parametrize("text", ["line\nbreak", "\u2028\u2029\x85", "\x00", "é😀", "lone \ud800 surrogate", '"{}\\'])
def test_any_text_is_one_line(tmp_path, text):
    path = tmp_path / "notes.jsonl"
    with Journal(path, Note) as journal:
        journal.append(Note(key="a", text=text))
        journal.append(Note(key="b"))
    first, second = read(path, Note)
    assert first.text == text.encode("utf-8", "replace").decode()
    assert second.key == "b"


@pytest.mark.parametrize(
    "torn", [b'{"key":"b","te', b'{"key":"b","text":"whole but for its line break"}', b"\xff", b"x" * 200_000]
)
def test_a_torn_last_line_is_cut_off_and_the_rest_kept(tmp_path, torn):
    path = tmp_path / "notes.jsonl"
    whole = b'{"key":"a","text":"t"}\n'
    path.write_bytes(whole + torn)
    with Journal(path, Note) as journal:
        assert journal.torn_bytes == len(torn)
        assert [r.key for r in journal.newest()] == ["a"]
        journal.append(Note(key="c"))
    assert [r.key for r in read(path, Note)] == ["a", "c"]


def test_a_file_of_one_torn_line_is_emptied(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b'{"key"')
    with Journal(path, Note) as journal:
        assert len(journal) == 0 and journal.last() is None
    assert path.read_bytes() == b""


def test_a_bad_line_in_the_middle_is_named_and_nothing_is_changed(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b'{"key":"a"}\n{"text":"no key"}\n{"key":"c"}\n')
    before = path.read_bytes()
    with pytest.raises(BadInput, match=r"notes\.jsonl, line 2: key: Field required"):
        Journal(path, Note)
    assert path.read_bytes() == before
    with pytest.raises(BadInput, match="line 2"):
        Journal(path, Note)


def test_a_second_writer_is_refused(tmp_path):
    path = tmp_path / "notes.jsonl"
    with Journal(path, Note), pytest.raises(BadInput, match="another run is writing"):
        Journal(path, Note)
    Journal(path, Note).close()


def test_put_writes_only_what_is_new_or_changed(tmp_path):
    with Journal(tmp_path / "notes.jsonl", Note) as journal:
        assert journal.put([Note(key="a", text="1"), Note(key="b")]) == 2
        assert journal.put([Note(key="a", text="1"), Note(key="b")]) == 0
        assert journal.put([Note(key="a", text="2"), Note(key="b")]) == 1


def test_a_full_disk_leaves_no_half_line(tmp_path):
    """A real full disk: a write past the file size limit of the process fails as one past the disk's end does."""
    script = """
import resource, signal, sys
from pathlib import Path
from generate.journal import BadInput, Journal
from tests.generate.test_journal import Note
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (250, 250))
journal = Journal(Path(sys.argv[1]), Note)
try:
    for i in range(100):
        journal.append(Note(key=str(i), text="x" * 60))
except BadInput as error:
    print("stopped", error)
"""
    path = tmp_path / "notes.jsonl"
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, cwd=os.getcwd())
    assert "stopped" in done.stdout and "no more can be written" in done.stdout, done.stderr
    content = path.read_bytes()
    assert content.endswith(b"\n") and len(list(read(path, Note))) == content.count(b"\n") > 0


@pytest.mark.parametrize("change", ["remove", "move", "replace"])
def test_a_file_that_is_taken_away_while_it_is_written_is_noticed_and_said(tmp_path, monkeypatch, change):
    monkeypatch.setattr("generate.journal.SYNC_SECONDS", 0.0)
    path = tmp_path / "study" / "notes.jsonl"
    with (
        pytest.raises(BadInput, match="was moved or removed while this run was writing"),
        Journal(path, Note) as journal,
    ):
        journal.append(Note(key="a"))
        if change == "remove":
            shutil.rmtree(path.parent)
        else:
            path.parent.rename(tmp_path / "elsewhere")
        if change == "replace":
            path.parent.mkdir()
            path.touch()
        journal.append(Note(key="b"))
    if change != "remove":
        assert [r.key for r in read(tmp_path / "elsewhere" / "notes.jsonl", Note)] == ["a", "b"]


def test_a_file_system_without_locks_is_named_and_not_taken_for_another_writer(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(BadInput, match="its file system keeps no locks"):
        Journal(tmp_path / "notes.jsonl", Note)


def test_records_are_read_from_the_file_and_none_is_held(tmp_path):
    """Ten times the size of a record is ten times the file, and not ten times the memory."""
    held = []
    for size in (1_000, 10_000):
        path = tmp_path / f"{size}.jsonl"
        with Journal(path, Note) as journal:
            for i in range(2_000):
                journal.append(Note(key=f"{i:024}", text="x" * size))
        tracemalloc.start()
        with Journal(path, Note) as journal:
            held.append(tracemalloc.get_traced_memory()[0])
            assert journal.get(f"{1999:024}").text == "x" * size and journal.get("none") is None
        tracemalloc.stop()
    assert held[1] < held[0] * 1.1 < 1_000_000


@pytest.mark.parametrize("first", ["key", "text"])
def test_a_line_is_known_by_its_key_wherever_it_stands_and_whatever_is_in_it(tmp_path, first):
    names = ["a", 'with "quotes"', "back\\slash", "é😀", ""]
    rows = [{"key": n, "text": '{"key":"z","error":null}'} for n in names]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({k: r[k] for k in sorted(r, key=lambda k: k != first)}) + "\n" for r in rows))
    with Journal(path, Note) as journal:
        assert [r.key for r in journal.newest()] == names
        assert all(n in journal and journal.get(n).text == rows[0]["text"] for n in names)


class Tried(Record):
    key: str
    id: str
    error: Failure | None = None
    votes: list[dict] = []


def test_an_error_is_known_without_reading_the_record_and_not_mistaken_for_one_inside_it(tmp_path):
    failure, inner = Failure(kind="k", message="m", raw='"error":null'), [{"error": {"kind": "v"}}, {"error": None}]
    with Journal(tmp_path / "t.jsonl", Tried) as journal:
        journal.append(Tried(key="a", id="1", error=failure, votes=inner))
        journal.append(Tried(key="b", id="2", votes=inner))
        journal.append(Tried(key="c", id="1"))
    with Journal(tmp_path / "t.jsonl", Tried) as journal:
        assert [journal.has_failed(k) for k in "abc"] == [True, False, False]
        assert journal.superseded(["a", "b", "c", "d"]) == ["a"]  # c is called the same, and stands after it
        make_newest(["a", "b"], journal)
        assert [r.key for r in journal.newest()] == ["b", "c", "a"] and journal.superseded(["a"]) == []


def test_the_files_of_other_shards_count_as_done_and_are_not_written(tmp_path):
    with Journal(tmp_path / "1.jsonl", Tried) as other:
        other.append(Tried(key="a", id="1"))
        other.append(Tried(key="b", id="2"))
    before = (tmp_path / "1.jsonl").read_bytes()
    with Journal(tmp_path / "0.jsonl", Tried, beside=[tmp_path / "1.jsonl"]) as journal:
        assert plan(["a", "b", "c"], str, journal, False) == (["c"], 2) and journal.get("b").id == "2"
        journal.append(Tried(key="d", id="1"))
        make_newest(["a", "b"], journal)  # d took a's place: a is written here once more
        assert [r.key for r in journal.newest(["a", "b", "d"])] == ["b", "d", "a"]
    assert (tmp_path / "1.jsonl").read_bytes() == before
    assert [r.key for r in read(tmp_path / "0.jsonl", Tried)] == ["d", "a"]


def test_kill_9_loses_at_most_the_line_under_way(tmp_path):
    script = """
import sys
from pathlib import Path
from generate.journal import Journal
from tests.generate.test_journal import Note
journal = Journal(Path(sys.argv[1]), Note)
for i in range(10**9):
    journal.append(Note(key=str(i), text="x" * 500))
    print(i, flush=True)
"""
    path = tmp_path / "notes.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    said = [process.stdout.readline() for _ in range(50)]
    time.sleep(0.05)
    process.kill()
    said += process.stdout.readlines()
    process.wait()
    with Journal(path, Note) as journal:
        kept = [int(r.key) for r in journal.newest()]
    assert kept == list(range(len(kept))) and len(kept) >= len([s for s in said if s.endswith("\n")])


def test_a_key_is_the_same_for_equal_parts_in_any_order():
    assert key_of(a=1, b=[{"x": 1, "y": 2}]) == key_of(b=[{"y": 2, "x": 1}], a=1)
    assert key_of(a=1) != key_of(a="1")
    assert key_of(a=None) != key_of()


def test_a_failure_keeps_its_raw_text():
    assert Failure.model_validate_json(encode(Failure(kind="k", message="m", raw="r"))).raw == "r"

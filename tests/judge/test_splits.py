"""Which problems a judge may learn from: shares, stability, and what is recorded."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from scipy.stats import binomtest

from generate.journal import BadInput
from generate.study import Study
from judge.splits import SPLITS, Splits, keep_splits, open_lockbox, read_splits, split_of

PINNED = ["lockbox", "train", "lockbox", "train", "lockbox", "train", "lockbox", "lockbox"]
"""Of p0 to p7: sha256sum of `splits`, a zero byte and the id, its first 16 hex digits over 2^64 (below 0.2, 0.4, 1)."""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "s").mkdir()
    return Study(tmp_path / "s")


@pytest.mark.parametrize("ids", ["imo-{}-problem", "{}", "gradingbench/{}"])
def test_the_shares_hold_on_many_ids(ids):
    n = 20_000
    counts = Counter(split_of(ids.format(i)) for i in range(n))
    for split, share in (("train", 0.2), ("dev", 0.2), ("lockbox", 0.6)):
        assert binomtest(counts[split], n, share).pvalue > 1e-4, counts


def test_a_problem_keeps_its_split_on_every_machine_and_whatever_problems_come_later():
    # written down, so that a changed hash or salt would show
    assert [split_of(f"p{i}") for i in range(8)] == PINNED
    assert [Splits().of(f"p{i}") for i in reversed(range(8))] == PINNED[::-1]


def test_another_salt_shuffles_and_shares_of_nothing_are_empty():
    ids = [str(i) for i in range(300)]
    assert [Splits(salt="other").of(i) for i in ids] != [split_of(i) for i in ids]
    assert {Splits(train=0, dev=0, lockbox=1).of(i) for i in ids} == {"lockbox"}
    assert {Splits(train=0.5, dev=0.5, lockbox=0).of(i) for i in ids} == {"train", "dev"}


def test_a_study_may_have_its_own_and_keeps_what_it_was_begun_with(study):
    assert read_splits(study) == Splits() and not (study.path / "splits.json").exists()
    (study.path / "splits.json").write_text(
        '{"salt": "mine", "train": 0.5, "dev": 0.3, "lockbox": 0.2, "note": "ours"}'
    )
    assert keep_splits(study).salt == "mine" and read_splits(study).note == "ours"
    assert all(split_of(str(i), read_splits(study)) == Splits(salt="mine", train=0.5, dev=0.3, lockbox=0.2).of(str(i))
               for i in range(99))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "the file"), ('{"train": 0.9}', "sum to 1"), ('{"train": -1}', "train"), ('{"salt": 3}', "salt")],
)
def test_a_file_that_is_none_is_named_with_its_field(study, text, said):
    (study.path / "splits.json").write_text(text)
    with pytest.raises(BadInput, match=r"splits\.json") as error:
        read_splits(study)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_each_opening_of_the_lockbox_is_recorded_with_date_and_what_looked_at_what(study):
    keep_splits(study)
    open_lockbox(study, "calibrate report", "judges a, b")
    (first,) = read_splits(study).lockbox_openings
    assert (first.who, first.what) == ("calibrate report", "judges a, b") and first.date.endswith("Z")
    with ThreadPoolExecutor(8) as pool:  # at once: none is lost
        list(pool.map(lambda i: open_lockbox(study, "calibrate", f"judge {i}"), range(24)))
    splits = read_splits(study)
    assert {o.what for o in splits.lockbox_openings} == {"judges a, b", *(f"judge {i}" for i in range(24))}
    assert splits.of("p1") == split_of("p1") and set(SPLITS) == {"train", "dev", "lockbox"}

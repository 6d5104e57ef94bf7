"""The 400 gold answers of IMO-AnswerBench: against themselves, and against each other."""

import csv
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from judge.answers import compare, compare_many, self_check


@pytest.fixture(scope="module")
def golds() -> dict[str, str]:
    path = Path(__file__).resolve().parents[4] / "shared" / "data" / "imobench" / "answerbench_v2.csv"
    if not path.is_file():
        pytest.skip("the folder ../shared with IMO-AnswerBench is not here")
    with path.open(newline="") as file:
        return {row["Problem ID"].removeprefix("imo-bench-"): row["Short Answer"] for row in csv.DictReader(file)}


def test_every_gold_answer_equals_itself_plain_and_in_a_box(golds: dict[str, str]) -> None:
    assert len(golds) == 400
    assert self_check(golds.values()) == []
    boxed = compare_many((gold, f"Hence the answer is $\\boxed{{{gold}}}$.") for gold in golds.values())
    assert Counter(found.outcome for found in boxed) == {"equal": 400}


def test_gold_answers_equal_themselves_without_the_text_step_too(
    golds: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = [compare(gold, gold, text_step=False) for gold in golds.values()]
    outcomes = Counter(f.outcome for f in found)
    # free text that is equal word for word says no more than the text step does
    worded = sum(f.outcome == "equal" and f.method == "words" for f in found)
    with capsys.disabled():
        print(f"\n\nwithout the text step: {dict(outcomes)}, of the equal ones {worded} by their words")
    assert outcomes["different"] == 0
    assert outcomes["equal"] - worded >= 360


# Looked at one by one: pairs of different problems whose gold answers are equal though they are written differently.
EQUAL_BUT_WRITTEN_DIFFERENTLY = {
    frozenset(("algebra-012", "combinatorics-011")),
    frozenset(("algebra-012", "geometry-017")),
    frozenset(("algebra-016", "combinatorics-011")),
    frozenset(("algebra-016", "geometry-017")),
    frozenset(("algebra-079", "number_theory-035")),
    frozenset(("algebra-081", "number_theory-037")),
    frozenset(("combinatorics-064", "number_theory-081")),
}


def plain(gold: str) -> str:
    return gold.replace("$", "").replace(" ", "").strip().removesuffix(".")


def test_gold_answers_of_different_problems_are_equal_only_where_they_really_are(golds: dict[str, str]) -> None:
    ids = sorted(golds)
    pairs = random.Random(3).sample([(a, b) for a in ids for b in ids if a != b], 20_000)
    if not os.environ.get("ANSWERS_FULL"):
        pairs = pairs[:4_000]
    found = compare_many([(golds[a], f"\\boxed{{{golds[b]}}}") for a, b in pairs])
    surprising = set()
    for (a, b), one in zip(pairs, found, strict=True):
        assert one.method != "error", (a, b, one.reason)
        same = plain(golds[a]) == plain(golds[b])
        if one.outcome == "equal" and not same:
            surprising.add(frozenset((a, b)))
        if one.outcome == "different":
            assert not same, (a, b, one.reason)
    assert surprising <= EQUAL_BUT_WRITTEN_DIFFERENTLY, surprising - EQUAL_BUT_WRITTEN_DIFFERENTLY

"""The shared cases: what goes wrong in the field, one case a line."""

import json
from collections import Counter
from pathlib import Path

import pytest

from judge.answers import compare


def test_every_shared_case_has_an_allowed_outcome(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [json.loads(line) for line in (shared / "cases" / "answers.jsonl").read_text().splitlines() if line]
    total, right, wrong = Counter[str](), Counter[str](), []
    for case in cases:
        found = compare(case["gold"], case["reply"])
        total[case["kind"]] += 1
        if found.outcome in case["allowed"]:
            right[case["kind"]] += 1
        else:
            wrong.append((case["id"], found.outcome, found.method, found.reason))
    with capsys.disabled():
        print("\n\nshared cases, right by kind:")
        for kind in sorted(total):
            print(f"  {kind:<12} {right[kind]:>3} of {total[kind]}")
        print(f"  {'all':<12} {right.total():>3} of {total.total()}")
    assert not wrong

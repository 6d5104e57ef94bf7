"""Real judges, real labels of which every second is held back: what is estimated for all is known."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Stage = Callable[..., subprocess.CompletedProcess[str]]


def test_corrected_shares_find_what_all_labels_say(stage: Stage, shared: Path, tmp_path: Path) -> None:
    """Four judges, three shares each: 11 of 12 intervals about these solutions, or more, hold the share of all 200
    labels, and each is narrower than gold's from 100."""
    for name, *words in (
        ["generate", "dataset=gradingbench_judges", f"dataset.path={shared}/data/gradingbench_judges/judges.csv",
         "model=recorded", "study=gbj"],
        ["judge", "study=gbj", "program=recorded"],
    ):  # fmt: skip
        assert stage(name, *words).returncode == 0
    labels = next((tmp_path / "studies" / "gbj" / "labels").iterdir())
    lines = labels.read_text().splitlines(keepends=True)
    labels.write_text("".join(lines[::2]))
    done = stage("calibrate", "study=gbj", "estimand=pool", "page_solutions=0")
    assert done.returncode == 0, done.stderr
    assert "Estimates by judges, corrected (not human gold)" in done.stdout
    metrics = json.loads((tmp_path / "studies" / "gbj" / "reports" / "report" / "metrics.json").read_text())
    every = [json.loads(line)["verdict"] for line in lines]
    gold, held = metrics["human_gold"]["overall"], []
    for judge in metrics["judges"].values():
        assert (judge["estimates"]["labelled"], judge["estimates"]["solutions"]) == (100, 200)
        for verdict in ("correct", "partially_correct", "incorrect"):
            fixed, own = judge["estimates"]["corrected"]["overall"][verdict], gold[verdict]
            held.append(fixed["low"] <= every.count(verdict) / len(every) <= fixed["high"])
            assert fixed["high"] - fixed["low"] < own["high"] - own["low"]
    assert len(held) == 12 and sum(held) >= 11

"""What judges without a language model reach against the human labels of gradingbench and of opc.

    python scripts/bench/baselines.py [--data ../shared/data]

Runs the three stages as a user would, in a folder that is removed afterwards: the two files of gradingbench in one study,
opc in another; each baseline; one report each. Prints its figures with their 95% intervals. Learnt baselines are
cross-fitted by problem. Nothing is timed, so that the table is the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from show import table

ROOT = Path(__file__).resolve().parents[2]
FILES = {"gradingbench": ["gradingbench/train.csv", "gradingbench/test.csv"], "opc": ["opc/opc.jsonl"]}
BASELINES = ("constant", "answer_only", "tfidf")
COLUMNS = ("data", "judge", "n:", "errors:", "kappa:", "weighted kappa:", "macro F1:", "pass kappa:", "pass F1:")
FIGURES = (("verdict", "cohen_kappa"), ("verdict", "weighted_kappa"), ("verdict", "macro_f1"), ("pass", "cohen_kappa"),
           ("pass", "f1"))  # fmt: skip


def figures(data: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """The metrics of each data set's report."""

    def stage(name: str, *words: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", name, *words], cwd=folder, env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"python -m {name} {' '.join(words)}: {done.stderr.strip()}")

    metrics = {}
    for name, files in FILES.items():
        for file in files:
            stage("generate", f"dataset={name}", f"dataset.path={data / file}", "model=recorded")
        for baseline in BASELINES:
            print(f"{name}: {baseline}", file=sys.stderr, flush=True)
            stage("judge", f"study={name}", f"program={baseline}")
        stage("calibrate", f"study={name}")
        metrics[name] = json.loads((folder / "studies" / name / "reports" / "report" / "metrics.json").read_bytes())
    return metrics


def shown(estimate: dict[str, Any]) -> str:
    if estimate["value"] is None:
        return "-"
    value = f"{estimate['value']:.3f}"
    return value if estimate["low"] is None else f"{value} ({estimate['low']:.3f}, {estimate['high']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with the two data sets"
    )
    data = parser.parse_args().data.resolve()
    for files in FILES.values():
        for file in files:
            if not (data / file).is_file():
                sys.exit(f"there is no {data / file}; say --data FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        metrics = figures(data, Path(folder))
    rows = []
    for name, found in metrics.items():
        for judge, block in found["judges"].items():
            cover, agreement = block["coverage"], block["agreement"]
            numbers = [shown(agreement[part][figure]) for part, figure in FIGURES]
            rows.append([name, judge, cover["both"], cover["missing"], *numbers])
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()

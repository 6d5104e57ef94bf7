"""Published tables, computed anew from their raw rows by the three stages (shared/data/README.md has the figures)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PUBLISHED = {  # pass agreement at 6 points, Spearman's rho, n
    "gpt_oss_120b": (0.825, 0.692, 200),
    "deepseek_v4_flash": (0.870, 0.711, 200),
    "gemma_4_31b": (0.790, 0.761, 200),
    "gemini_3_1_pro": (0.864, 0.843, 199),
}

Stage = Callable[..., subprocess.CompletedProcess[str]]


def run(stage: Stage, *commands: list[str]) -> None:
    for name, *words in commands:
        done = stage(name, *words)
        assert done.returncode == 0, done.stderr


def judges(folder: Path, study: str) -> dict[str, Any]:
    report = folder / "studies" / study / "reports" / "report" / "metrics.json"
    found: dict[str, Any] = json.loads(report.read_text())["judges"]
    return found


def check_four_judges(found: dict[str, Any], threshold: float | None) -> None:
    assert set(found) == set(PUBLISHED)
    for name, (passing, rho, n) in PUBLISHED.items():
        agreement = found[name]["agreement"]
        accuracy, spearman = agreement["pass"]["accuracy"], agreement["points"]["spearman"]
        assert agreement["pass"]["threshold"] == threshold
        # the source rounds: equal to the three decimals it gives
        assert (round(accuracy["value"], 3), round(spearman["value"], 3)) == (passing, rho), name
        assert accuracy["n"] == spearman["n"] == n
        assert found[name]["coverage"]["errors"] == ({"empty_cell": 1} if n == 199 else {})


def test_four_judges_on_gradingbench(stage: Stage, shared: Path, tmp_path: Path) -> None:
    run(
        stage,
        [
            "generate",
            "dataset=gradingbench_judges",
            f"dataset.path={shared}/data/gradingbench_judges/judges.csv",
            "model=recorded",
            "study=gbj",
        ],
        ["judge", "study=gbj", "program=recorded"],
        ["calibrate", "study=gbj"],
    )
    check_four_judges(judges(tmp_path, "gbj"), None)
    run(stage, ["calibrate", "study=gbj", "pass_threshold=6", "overwrite=true"])
    check_four_judges(judges(tmp_path, "gbj"), 6)


def test_the_same_with_the_mapping_on_the_command_line(stage: Stage, shared: Path, tmp_path: Path) -> None:
    names = ",".join(f"{name}: {name}" for name in PUBLISHED)
    run(
        stage,
        ["generate", "dataset=table", f"dataset.path={shared}/data/gradingbench_judges/judges.csv", "dataset.columns.solution_id=grading_id",
         "dataset.columns.points=human", f"dataset.columns.judges={{{names}}}", "model=recorded", "study=own"],
        ["judge", "study=own", "program=recorded"],
        ["calibrate", "study=own"],
    )  # fmt: skip
    check_four_judges(judges(tmp_path, "own"), None)


def test_four_words_of_gradingbench_with_a_missing_value_counted_as_wrong(
    stage: Stage, shared: Path, tmp_path: Path
) -> None:
    """Accuracy over the four words is exact agreement in the points that they stand for."""
    run(
        stage,
        ["generate", "dataset=gradingbench", f"dataset.path={shared}/data/gradingbench/test.csv", f"dataset.judges_path={shared}/data/gradingbench/test_judges.csv",
         "model=recorded", "study=gb"],
        ["judge", "study=gb", "program=recorded"],
        ["calibrate", "study=gb", "missing=wrong"],
    )  # fmt: skip
    found = judges(tmp_path, "gb")
    published = {"baseline": (0.64, 0.2186), "guideline_gate_almost_boundary_v1": (0.77, 0.1329)}
    for name, (exact, error) in published.items():
        points = found[name]["agreement"]["points"]
        assert points["exact"]["value"] == pytest.approx(exact, abs=1e-9)
        assert points["nmae"]["value"] == pytest.approx(error, abs=5e-5)
        assert points["exact"]["n"] == points["nmae"]["n"] == 100
    assert found["baseline"]["coverage"]["missing"] == 1

    run(stage, ["calibrate", "study=gb", "overwrite=true"])  # by default it is left out, and its number shown
    baseline = judges(tmp_path, "gb")["baseline"]
    assert baseline["agreement"]["points"]["exact"]["n"] == 99 and baseline["coverage"]["missing"] == 1

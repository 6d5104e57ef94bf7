"""The short form of scripts/bench/coverage.py: nominal 95% intervals hold the truth about as often as they say."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from calibrate.estimate import Corrected

RUNS = 800
SLACK = 3 * (0.95 * 0.05 / RUNS) ** 0.5


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "bench" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_simulation", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("judge", "rate", "setting"),
    [
        ("useless", 0.5, {"labelled": 100, "unlabelled": 1000}),
        ("good", 0.2, {"labelled": 200, "unlabelled": 1000, "per_problem": 4, "icc": 0.5}),
        ("fair", 0.5, {"labelled": 200, "unlabelled": 600, "per_problem": 4, "icc": 0.5, "drawn": "problems"}),
        ("weak", 0.8, {"labelled": 200, "unlabelled": 600, "per_problem": 4, "icc": 0.2, "models": 3}),
        ("good", 0.8, {"labelled": 200, "unlabelled": 600, "per_problem": 4, "icc": 0.5, "estimand": "pool"}),
    ],
)
def test_gold_and_corrected_intervals_cover(coverage: ModuleType, judge: str, rate: float, setting: dict) -> None:  # type: ignore[type-arg]
    cell = coverage.simulate(coverage.Setting(**setting), rate, RUNS, (judge,))[0]
    assert 0.93 - SLACK <= cell["gold"] <= 0.97 + SLACK
    assert 0.93 - SLACK <= cell["corrected"] <= 0.97 + SLACK
    if judge == "useless":
        assert cell["lambda"] < 0.1 and cell["width"] == pytest.approx(1, abs=0.03)
    if judge == "good":
        assert cell["width"] < 0.8


def test_rows_taken_for_independent_cover_too_little(coverage: ModuleType) -> None:
    """What the intervals guard against: the same estimate, its variance from rows instead of problems."""
    rng, held = np.random.default_rng(0), 0
    s = coverage.Setting(200, 600, 4, 0.5, "problems")
    for _ in range(300):
        study = coverage.Study(s, 0.5, rng)
        rows, y, f = study.rows, study.y, study.judged("weak", rng)
        found: Corrected = coverage.corrected(rows, y, f)
        on_all = found.lam * rows.units.size / (rows.units.size - len(y))
        errors = y[:, 2] - on_all * f[rows.labelled, 2]
        half = 1.96 * float(errors.std()) / len(y) ** 0.5
        held += abs(found.value[2] - study.true) <= half
    assert held / 300 < 0.88

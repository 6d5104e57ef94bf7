"""The page of a large study: made, opened and filtered within its limits."""

from pathlib import Path

import pytest

from tests.calibrate.browser import browser


@pytest.mark.long
def test_a_page_of_5000_solutions_keeps_its_limits(tmp_path: Path) -> None:
    from scripts.bench.page import LIMITS, measure

    with browser():  # skipped here, before minutes of work, where there is none
        pass
    found = measure(5000, tmp_path)
    assert {name: value for name, value in found.items() if value > LIMITS.get(name, 1e9)} == {}

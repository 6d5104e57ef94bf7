"""A Chromium that is on the machine, driven through Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def chromium() -> str:
    """Where it is. Skips the test, saying what to do, where there is none."""
    pytest.importorskip("playwright", reason="Playwright is not installed: scripts/setup cpu dev")
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium on this machine: as root scripts/test installs it; else ask for the package chromium")


@contextmanager
def browser() -> Iterator[Any]:
    where = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield found
        found.close()

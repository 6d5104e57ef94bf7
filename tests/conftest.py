"""What several tests need: the stages run as a user runs them, the shared data, and an engine that fails on demand."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from generate.engines import Chat, Engine, Refused, Reply, Sampling
from judge.taxonomy import Tag, Taxonomy

settings.register_profile("ci", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Third-party data and cases that lie beside the checkout; never in it."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with third-party data is not here")
    return SHARED


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m STAGE ...` in an empty folder, as a user would."""

    def run(
        name: str, *words: str, env: dict[str, str] | None = None, timeout: float = 600
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", name, *words],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def taxonomy() -> Taxonomy:
    names = ["Proof by Example", "Inventing Wrong Facts", "Calculation Mistake"]
    return Taxonomy(name="three", fallacies=[Tag(name=n, definition="d", recognise="r", not_this="n") for n in names])


class ScriptedEngine(Engine):
    """Gives the replies it is told, fails as it is told: for faults that a real engine does not show on demand."""

    enforces_schema = True

    def __init__(self, answer: Callable[[Chat, Sampling], Reply | Exception], seconds: float = 0.0):
        super().__init__()
        self.answer = answer
        self.seconds = seconds
        self.asked: list[tuple[Chat, Sampling]] = []
        self.most_in_flight = 0
        self._in_flight = 0

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        self.asked.append((chat, sampling))
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            await asyncio.sleep(self.seconds)
            said = self.answer(chat, sampling)
        finally:
            self._in_flight -= 1
        if isinstance(said, Exception):
            raise said
        return said


@pytest.fixture
def scripted():
    """Makes scripted engines and closes them."""
    engines: list[ScriptedEngine] = []

    def make(answer: Callable[[Chat, Sampling], Reply | Exception], seconds: float = 0.0) -> ScriptedEngine:
        engines.append(ScriptedEngine(answer, seconds))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def reply(text: str | None, finish_reason: str = "stop", reasoning: str | None = None) -> Reply:
    return Reply(text=text, reasoning=reasoning, finish_reason=finish_reason, prompt_tokens=10, completion_tokens=5)


__all__ = ["SHARED", "Refused", "ScriptedEngine", "reply"]

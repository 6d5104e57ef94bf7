"""What several tests need: the stages run as a user runs them, the shared data, and an engine that fails on demand."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


class Misbehaving(BaseHTTPRequestHandler):
    """Answers as the test tells it; echoes the key in all that it says, as some servers do."""

    plan: list = []
    """What to answer next, as (status, text or message); when it is empty, `fine`."""
    asked: list = []
    choices: object = "as planned"
    """Sent in place of the planned choices, as they are."""
    seconds = 0.0

    def _send(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self._send(200, {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]})

    def do_POST(self):
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        time.sleep(Misbehaving.seconds)
        status, content = self.plan.pop(0) if self.plan else (200, "fine")
        echo = self.headers.get("Authorization", "")
        if status != 200:
            self._send(status, {"error": {"message": f"{content} ({echo})"}}, [("Retry-After", "0")])
            return
        message = (
            content if isinstance(content, dict) else {"role": "assistant", "content": f"{content} {echo}".strip()}
        )
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        choices = [choice] if Misbehaving.choices == "as planned" else Misbehaving.choices
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self._send(
            200,
            {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage},
        )

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Misbehaving.plan, Misbehaving.asked, Misbehaving.seconds = [], [], 0.0
    http = ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/v1"
    http.shutdown()
    http.server_close()


def reply(text: str | None, finish_reason: str = "stop", reasoning: str | None = None) -> Reply:
    return Reply(text=text, reasoning=reasoning, finish_reason=finish_reason, prompt_tokens=10, completion_tokens=5)


__all__ = ["SHARED", "Misbehaving", "Refused", "ScriptedEngine", "reply"]

"""An engine of a user's own, named by `_target_`: answers at once, always the same to the same call."""

import asyncio
import hashlib
import json
from pathlib import Path

from generate.engines import Chat, Engine, Reply, Sampling
from generate.stage import Number, Whole, settings

TAGS = ["Proof by Example", "Inventing Wrong Facts", "Calculation Mistake"]


@settings
class Fast:
    seconds: Number = 0.0
    """For one reply."""
    size: Whole = 100
    """Of a solution's text, in characters."""

    def identity(self, model) -> dict:
        return {"fast": True}

    def check(self, model) -> None:
        pass

    def open(self, model, seed: int = 0) -> "FastEngine":
        return FastEngine(self)


class FastEngine(Engine):
    enforces_schema = True

    def __init__(self, chosen: Fast):
        super().__init__()
        self.chosen = chosen

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        await asyncio.sleep(self.chosen.seconds)
        return answer(chat, sampling, self.chosen.size)


def answer(chat: Chat, sampling: Sampling, size: int = 100) -> Reply:
    """A solution, or a verdict where the call has a schema, drawn by a hash of the call."""
    drawn = int.from_bytes(hashlib.sha256(json.dumps([chat, sampling.seed]).encode()).digest()[:8], "big")
    if sampling.json_schema:
        verdict = ["correct", "partially_correct", "incorrect"][drawn % 3]
        said = {
            "reasoning": f"r{drawn}".ljust(min(size, 1000), "x"),
            "fallacies": [],
            "first_wrong_step": None,
            "verdict": verdict,
        }
        return Reply(json.dumps(said), None, "stop", 10, 5)
    text = f"Let x = {drawn}. ".ljust(size, "x") + f" Final answer: \\boxed{{{drawn % 7}}}"
    return Reply(text, None, "stop", 10, 5)


def config(folder: Path) -> list[str]:
    """Writes the config group's file; returns the words that choose it."""
    (folder / "own" / "engine").mkdir(parents=True, exist_ok=True)
    (folder / "own" / "engine" / "fast.yaml").write_text(
        "# Answers at once.\n_target_: tests.fast.Fast\nseconds: 0.0 # a reply\nsize: 100 # of a text\n"
    )
    return ["--config-dir=own", "engine=fast"]

"""The DSPy modules of the judging programs, and one reading with them.

Imported only when a judge runs: DSPy takes a second to load.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from generate.engines import Engine, Reply
from generate.journal import Failure
from generate.labels import VERDICTS
from judge.adapter import SchemaAdapter, asked
from judge.evidence import grounded
from judge.lm import dspy_with, seeded
from judge.program import Asking, Bench, Read, Rubric, contradiction
from judge.prompt import OTHER, Call, material
from judge.replies import Unparsed, read_decision, read_doubts, read_points, read_reply
from judge.verdicts import Case, Reading

NO_RUBRIC = "the problem has no rubric, and program.general_rubric is null"


class Grade(dspy.Signature):  # type: ignore[misc]
    """Grade one solution of an olympiad problem."""  # replaced by the program's instructions, here and below

    problem: str | None = dspy.InputField(default=None)
    gold_answer: str | None = dspy.InputField(default=None)
    reference_solution: str | None = dspy.InputField(default=None)
    rubric: str | None = dspy.InputField(default=None)
    answer_check: str | None = dspy.InputField(default=None)
    solution: str = dspy.InputField()
    reasoning: str | None = dspy.OutputField()
    fallacies: list[Any] = dspy.OutputField()
    first_wrong_step: str | None = dspy.OutputField()
    verdict: str = dspy.OutputField()


class Find(dspy.Signature):  # type: ignore[misc]
    """List every step that might be wrong."""

    problem: str | None = dspy.InputField(default=None)
    gold_answer: str | None = dspy.InputField(default=None)
    reference_solution: str | None = dspy.InputField(default=None)
    rubric: str | None = dspy.InputField(default=None)
    answer_check: str | None = dspy.InputField(default=None)
    solution: str = dspy.InputField()
    reasoning: str | None = dspy.OutputField()
    doubts: list[Any] = dspy.OutputField()


class Decide(Grade):
    """Decide which of the doubted steps are flaws, and the verdict."""

    doubts: list[Any] | None = dspy.InputField(default=None)
    objection: str | None = dspy.InputField(default=None)


class Points(dspy.Signature):  # type: ignore[misc]
    """Grade one solution by the guidelines, item by item."""

    problem: str | None = dspy.InputField(default=None)
    gold_answer: str | None = dspy.InputField(default=None)
    reference_solution: str | None = dspy.InputField(default=None)
    rubric: str | None = dspy.InputField(default=None)
    answer_check: str | None = dspy.InputField(default=None)
    solution: str = dspy.InputField()
    reasoning: str | None = dspy.OutputField()
    items: list[Any] = dspy.OutputField()
    points: float = dspy.OutputField()
    verdict: str = dspy.OutputField()  # follows from the points, and is not asked for


class Asked(dspy.Predict):  # type: ignore[misc]
    """A predictor with an adapter and a token limit of its own, whatever DSPy's settings are (optimisers set theirs)."""

    def __init__(self, signature: Any, call: Call, tokens: int, parts: list[str], read: Callable[..., dict[str, Any]]):
        super().__init__(signature.with_instructions(call.instructions), max_tokens=tokens)

        def write(inputs: dict[str, Any]) -> str:
            return material(inputs, parts)

        self.adapter = SchemaAdapter(call.schema, call.form, write, read)

    def forward(self, **inputs: Any) -> Any:
        with dspy.context(adapter=self.adapter):
            return super().forward(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        with dspy.context(adapter=self.adapter):
            return await super().aforward(**inputs)


def _asked(name: str, signature: Any, program: Asking, bench: Bench, read: Callable[..., dict[str, Any]]) -> Asked:
    call = program.calls(bench.taxonomy)[name]
    return Asked(signature, call, program.tokens(call, bench), list(program.material), read)


class OneReading(dspy.Module):  # type: ignore[misc]
    """`program=single`: predicts reasoning, fallacies, first_wrong_step, verdict."""

    def __init__(self, program: Asking, bench: Bench):
        super().__init__()

        def read(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
            return vars(read_reply(text, finish_reason, bench.taxonomy, shown))

        self.grade = _asked("grade", Grade, program, bench, read)

    def forward(self, **inputs: Any) -> Any:
        return self.grade(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        return await self.grade.acall(**inputs)


class TwoReadings(dspy.Module):  # type: ignore[misc]
    """`program=two_step`: predicts what `single` does, and the doubts of the first reading."""

    def __init__(self, program: Asking, bench: Bench):
        super().__init__()

        def read_first(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
            reasoning, doubts = read_doubts(text, finish_reason, shown)
            return {"reasoning": reasoning, "doubts": doubts}

        def read_second(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
            return vars(read_decision(text, finish_reason, bench.taxonomy, shown))

        self.find = _asked("find", Find, program, bench, read_first)
        self.decide = _asked("decide", Decide, program, bench, read_second)

    def forward(self, **inputs: Any) -> Any:
        doubts = self.find(**inputs).doubts
        said = self.decide(**inputs, doubts=doubts)
        if objection := _objection(said):
            said = self.decide(**inputs, doubts=doubts, objection=objection)
        return self._agreed(said, doubts)

    async def aforward(self, **inputs: Any) -> Any:
        doubts = (await self.find.acall(**inputs)).doubts
        said = await self.decide.acall(**inputs, doubts=doubts)
        if objection := _objection(said):
            said = await self.decide.acall(**inputs, doubts=doubts, objection=objection)
        return self._agreed(said, doubts)

    def _agreed(self, said: Any, doubts: list[Any]) -> Any:
        """Raises AdapterParseError for what still contradicts itself."""
        if objection := _objection(said):
            cause = Unparsed("contradiction", f"asked twice: {objection}")
            raise AdapterParseError("TwoReadings", self.decide.signature, str(said.verdict), str(cause)) from cause
        return dspy.Prediction(**{name: said[name] for name in said.keys()}, doubts=doubts)  # noqa: SIM118


def _objection(said: Any) -> str | None:
    return contradiction(said.verdict, [f.fatal for f in said.fallacies])


class ByRubric(dspy.Module):  # type: ignore[misc]
    """`program=rubric`: predicts reasoning, items, points, and the verdict that follows from them."""

    def __init__(self, program: Rubric, bench: Bench):
        super().__init__()

        def read(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
            said = read_points(text, finish_reason, program.max_points, shown)
            return {**vars(said), "verdict": program.verdict_of_points(said.points)}

        self.grade = _asked("grade", Points, program, bench, read)

    def forward(self, **inputs: Any) -> Any:
        self._check(inputs)
        return self.grade(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        self._check(inputs)
        return await self.grade.acall(**inputs)

    def _check(self, inputs: dict[str, Any]) -> None:
        """Raises AdapterParseError where nothing says what earns points; no model is asked then, in training neither."""
        if not inputs.get("rubric"):
            cause = Unparsed("no_rubric", NO_RUBRIC)
            raise AdapterParseError("ByRubric", self.grade.signature, "", str(cause)) from cause


@contextmanager
def reading_with(program: Asking, module: dspy.Module, bench: Bench, engine: Engine) -> Iterator[Read]:
    """Within this block, the function that reads one case with the module over the engine."""

    async def read(case: Case, seed: int | None = None) -> Reading:
        inputs = program.inputs(case)
        if isinstance(program, Rubric) and not inputs.get("rubric"):
            return Reading(error=Failure(kind="no_rubric", message=NO_RUBRIC))
        with seeded(seed):
            said, replies, usage, error = await asked(module, inputs)
        last = replies[-1] if replies else None
        reading = Reading(
            error=error,
            raw=last.text if last else None,
            earlier=[r.text or "" for r in replies[:-1]] or None,
            finish_reason=last.finish_reason if last else None,
            seed=seed,
            usage=usage,
        )
        return reading if said is None else _with_content(reading, said, program, case, last)

    with dspy_with(engine, program.sampling(bench)):
        yield read


def _with_content(reading: Reading, said: Any, program: Asking, case: Case, last: Reply | None) -> Reading:
    found = said.get("fallacies")
    kept = apart = None
    if found is not None:
        kept, apart = grounded(found, case.solution.text or "", program.quotes)
        apart = [*apart, *(f for f in kept if f.tag == OTHER)]
        kept = [f for f in kept if f.tag != OTHER]
    points = said.get("points")
    content = {
        "verdict": said.verdict,
        "fallacies": kept,
        "apart": apart or None,
        "doubts": said.get("doubts"),
        "first_wrong_step": said.get("first_wrong_step"),
        "reasoning": said.get("reasoning"),
        "points": points,
        "max_points": float(program.max_points) if isinstance(program, Rubric) else None,
        "items": said.get("items"),
        "probabilities": label_probabilities(last) if last and points is None else None,
    }
    return Reading(**{**vars(reading), **content})


def label_probabilities(reply: Reply) -> dict[str, float] | None:
    """The probabilities of the three verdicts where the reply names its own: those of the token with which the labels
    part, over the alternatives that the engine reports, set to sum to 1. Null where the engine gave no log probabilities,
    or the reply is no JSON. A label that is not among the alternatives has probability 0.
    """
    if not reply.logprobs:
        return None
    written = "".join(str(row["token"]) for row in reply.logprobs)
    named = list(re.finditer(r'"verdict"\s*:\s*"(?=correct|partially_correct|incorrect)', written))
    if not named:
        return None
    start, at = named[-1].end(), 0
    for row in reply.logprobs:
        token = str(row["token"])
        if at + len(token) > start:
            before = token[: start - at]
            return _shares(before, row["top"])
        at += len(token)
    return None


def _shares(before: str, top: dict[str, float]) -> dict[str, float] | None:
    """The alternatives' shares by label; `before` is what a token holds before the label begins (a quotation mark)."""
    weights = dict.fromkeys(VERDICTS, 0.0)
    for token, logprob in top.items():
        rest = token.removeprefix(before)
        label = next((v for v in VERDICTS if rest and (v.startswith(rest) or rest.startswith(v + '"'))), None)
        if label and token.startswith(before):
            weights[label] += math.exp(logprob)
    total = sum(weights.values())
    return {v: round(w / total, 6) for v, w in weights.items()} if total > 0 else None

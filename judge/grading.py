"""The DSPy judge itself: signature, module, what it is shown, and the verdict made of what it says.

Imported only when a judge runs: DSPy takes a second to load.
"""

from typing import Any

import dspy

from judge.adapter import SchemaAdapter, asked
from judge.evidence import locate
from judge.prompt import inputs_of, material, reference_text
from judge.replies import read_reply
from judge.taxonomy import Taxonomy
from judge.verdicts import Case, Fallacy, Reading


class Grade(dspy.Signature):  # type: ignore[misc]
    """Grade one solution of an olympiad problem."""  # replaced by the program's instructions

    problem: str = dspy.InputField()
    gold_answer: str | None = dspy.InputField(default=None)
    reference_solution: str | None = dspy.InputField(default=None)
    rubric: str | None = dspy.InputField(default=None)
    solution: str = dspy.InputField()
    reasoning: str | None = dspy.OutputField()
    fallacies: list[Any] = dspy.OutputField()
    first_wrong_step: str | None = dspy.OutputField()
    verdict: str = dspy.OutputField()


class Asked(dspy.Predict):  # type: ignore[misc]
    """A predictor with an adapter of its own, whatever the adapter of DSPy's settings is (optimisers set theirs)."""

    def __init__(self, signature: Any, adapter: SchemaAdapter):
        super().__init__(signature)
        self.adapter = adapter

    def forward(self, **inputs: Any) -> Any:
        with dspy.context(adapter=self.adapter):
            return super().forward(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        with dspy.context(adapter=self.adapter):
            return await super().aforward(**inputs)


class Grader(dspy.Module):  # type: ignore[misc]
    """One reading of one solution."""

    def __init__(self, instructions: str, adapter: SchemaAdapter):
        super().__init__()
        self.grade = Asked(Grade.with_instructions(instructions), adapter)

    def forward(self, **inputs: Any) -> Any:
        return self.grade(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        return await self.grade.acall(**inputs)


def grading_adapter(taxonomy: Taxonomy, schema: dict[str, Any]) -> SchemaAdapter:
    """Shows what is shared first (instructions, taxonomy, problem, reference, rubric) and the solution last, fenced."""

    def read(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
        return vars(read_reply(text, finish_reason, taxonomy, shown))

    return SchemaAdapter(schema, reference_text(taxonomy, schema), material, read)


async def grade(grader: Grader, case: Case) -> Reading:
    """One reading: what was said with its evidence, or the error; the raw reply and the tokens. Raises EngineGone."""
    said, reply, usage, error = await asked(grader, inputs_of(case.problem, case.solution))
    found = None
    if said is not None:
        found = [located(fallacy, case.solution.text or "") for fallacy in said.fallacies]
    return Reading(
        verdict=said.verdict if said else None,
        fallacies=found,
        first_wrong_step=said.first_wrong_step if said else None,
        reasoning=said.reasoning if said else None,
        error=error,
        raw=reply.text if reply else None,
        finish_reason=reply.finish_reason if reply else None,
        usage=usage,
    )


def located(fallacy: Fallacy, text: str) -> Fallacy:
    place = locate(fallacy.quote, text)
    return fallacy.model_copy(update={"start": place and place[0], "end": place and place[1]})

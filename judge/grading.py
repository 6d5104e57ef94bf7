"""The DSPy judge itself: signature, module, what it is shown, and the verdict made of what it says.

Imported only when a judge runs: DSPy takes a second to load.
"""

from typing import Any

import dspy

from generate.journal import text_hash
from generate.solutions import Solution, Usage
from judge.adapter import SchemaAdapter, asked
from judge.evidence import locate
from judge.prompt import material, reference_text
from judge.replies import Judged, read_reply
from judge.taxonomy import Taxonomy
from judge.verdicts import Fallacy, Verdict, Vote


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


class Grader(dspy.Module):  # type: ignore[misc]
    """One reading of one solution."""

    def __init__(self, instructions: str):
        super().__init__()
        self.grade = dspy.Predict(Grade.with_instructions(instructions))

    def forward(self, **inputs: Any) -> Any:
        return self.grade(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        return await self.grade.acall(**inputs)


def grading_adapter(taxonomy: Taxonomy, schema: dict[str, Any]) -> SchemaAdapter:
    """Shows what is shared first (instructions, taxonomy, problem, reference, rubric) and the solution last, fenced."""

    def read(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
        return vars(read_reply(text, finish_reason, taxonomy, shown))

    return SchemaAdapter(schema, reference_text(taxonomy, schema), material, read)


async def grade(grader: Grader, inputs: dict[str, Any]) -> tuple[Judged | None, Vote, Usage]:
    """One reading: what was said, the vote with its raw reply, and the tokens it took. Raises EngineGone."""
    prediction, reply, usage, error = await asked(grader, inputs)
    said = None
    if prediction is not None:
        said = Judged(prediction.verdict, prediction.fallacies, prediction.reasoning, prediction.first_wrong_step)
    vote = Vote(
        verdict=said.verdict if said else None,
        raw=reply.text if reply else None,
        finish_reason=reply.finish_reason if reply else None,
        error=error,
    )
    return said, vote, usage


def verdict_of(said: Judged | None, vote: Vote, usage: Usage, solution: Solution, **names: str) -> Verdict:
    """The record of one reading."""
    found = []
    for fallacy in said.fallacies if said else []:
        place = locate(fallacy.quote, solution.text or "")
        found.append(Fallacy(**{**fallacy.model_dump(), "start": place and place[0], "end": place and place[1]}))
    return Verdict(
        solution_id=solution.id,
        text_hash=text_hash(solution.text),
        verdict=vote.verdict,
        fallacies=found if said else None,
        first_wrong_step=said.first_wrong_step if said else None,
        reasoning=said.reasoning if said else None,
        votes=[vote],
        usage=usage,
        error=vote.error,
        **names,
    )

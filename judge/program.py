"""What `program=` names: the DSPy judge, recorded judgements, or none. Light to import; DSPy is loaded when a judge runs."""

from typing import Any

from generate.engines import Sampling, with_call
from generate.journal import key_of
from generate.models import Model
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import Count, settings
from judge.prompt import grade_schema, inputs_of, material, reference_text
from judge.taxonomy import Taxonomy

READER_VERSION = 1  # raise it when judge/replies.py reads replies in another way: all is then judged anew
SYNTAX_CHARACTERS = 400  # braces, field names, the tag and the quotation marks of one grade, and of each fallacy


@settings
class Judge:
    """One DSPy reading of each solution: reasoning, fallacies with quotes, the first wrong step, a verdict."""

    name: str
    instructions: str
    reasoning_characters: Count
    fallacies: Count
    quote_characters: Count
    explanation_characters: Count

    def schema(self, taxonomy: Taxonomy) -> dict[str, Any]:
        return grade_schema(
            taxonomy, self.reasoning_characters, self.fallacies, self.quote_characters, self.explanation_characters
        )

    def sampling(self, model: Model, seed: int = 0, thinking_tokens: int = 0) -> Sampling:
        """The model's sampling, with room for the longest grade that the schema allows (a token for each character), and
        for the thoughts of a reasoning model before it."""
        each = self.quote_characters + self.explanation_characters + SYNTAX_CHARACTERS // 2
        room = self.reasoning_characters + self.quote_characters + self.fallacies * each + SYNTAX_CHARACTERS
        return with_call(model.sampling, seed=seed, max_tokens=room + (thinking_tokens if model.reasoning else 0))

    def judge_key(self, taxonomy: Taxonomy, model: Model, about_engine: dict[str, Any], sampling: Sampling) -> str:
        """All of a verdict's key but the solution and its problem."""
        schema = self.schema(taxonomy)
        return key_of(
            reader=READER_VERSION,
            system=[self.instructions, reference_text(taxonomy, schema)],
            schema=schema,
            model=model.identity(),
            engine=about_engine,
            sampling=vars(sampling),
        )


def verdict_key(judge_key: str, problem: Problem, solution: Solution) -> str:
    """Hash of everything that one verdict depends on: the judge, and all that it is shown."""
    return key_of(judge=judge_key, solution=solution.id, shown=material(inputs_of(problem, solution)))


def problem_hash(problem: Problem) -> str:
    """Hash of what a judge is shown of a problem, so that a later change of it shows."""
    parts = ("statement", "answer", "reference_solution", "rubric")
    return key_of(**{name: getattr(problem, name) for name in parts})


@settings
class Recorded:
    """The judgements that the dataset brought along, as verdicts."""

    name: str = "recorded"


@settings
class Nothing:
    """No judge: only the final answers are checked."""

    name: str = "none"

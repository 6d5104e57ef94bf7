"""What `program=` names: how a judge comes from a case to a verdict. Light to import; DSPy is loaded when a judge runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from generate.engines import Engine, Sampling, with_call
from generate.journal import key_of
from generate.models import Model
from generate.problems import Problem
from generate.stage import Count, settings
from generate.study import Study
from judge import compiled
from judge.prompt import grade_schema, inputs_of, material, reference_text
from judge.taxonomy import Taxonomy
from judge.verdicts import Case, Reading

READER_VERSION = 1  # raise it when judge/replies.py reads replies in another way: all is then judged anew
SYNTAX_CHARACTERS = 400  # braces, field names, the tag and the quotation marks of one grade, and of each fallacy

Read = Callable[[Case, int | None], Awaitable[Reading]]
"""One reading of one case, with a seed of its own where the config's shall not do. A case that cannot be judged comes
back as a Reading with an error; an engine that is lost raises EngineGone."""


@dataclass(frozen=True)
class Bench:
    """What a program judges with."""

    study: Study
    taxonomy: Taxonomy
    model: Model | None = None
    """Null for a program that asks none."""
    about_engine: dict[str, Any] = field(default_factory=dict)
    """What of the engine a reply depends on: part of the judge's key."""
    seed: int = 0
    thinking_tokens: int = 0
    open_engine: Callable[[], Engine] | None = None
    """The engine, opened the first time: finished work needs none."""


@runtime_checkable
class Program(Protocol):
    """What `program=` names. A class of yours with these works as ours do: name it as `_target_` in a config."""

    name: str
    """The judge is called NAME, or NAME-MODEL where a model is asked."""
    asks_model: bool
    """Whether it needs the config's model and engine."""
    needs_text: bool
    """Whether it can judge only what has a text."""

    def check(self, bench: Bench) -> None:
        """Raise BadInput for what can be known to fail, before anything is written or loaded."""
        ...

    def judge_key(self, bench: Bench) -> str:
        """A hash of all that a verdict depends on, but for the case."""
        ...

    def shown(self, case: Case) -> Any:
        """All of the case that a verdict depends on: it goes into the verdict's key."""
        ...

    def reading(self, bench: Bench) -> AbstractContextManager[Read]:
        """Get ready (load, train), and give the function that reads one case."""
        ...


@runtime_checkable
class Trainable(Protocol):
    """A program that `mode=optimise` can train, beside what every program has."""

    load: str | None
    """The name of a trained program in the study, whose instructions and demonstrations take the place of the config's."""

    def module(self, bench: Bench) -> Any:
        """The dspy.Module whose predictors are trained. One call of it is one reading; it predicts `verdict` and `fallacies`,
        and raises AdapterParseError or LMError for a reply that cannot be used."""
        ...

    def inputs(self, case: Case) -> dict[str, Any]:
        """What the module is called with."""
        ...

    def sampling(self, model: Model, seed: int = 0, thinking_tokens: int = 0) -> Sampling: ...


@settings
class Single:
    """One DSPy reading of each solution: reasoning, fallacies with quotes, the first wrong step, a verdict."""

    asks_model: ClassVar[bool] = True
    needs_text: ClassVar[bool] = True

    name: str
    instructions: str
    reasoning_characters: Count
    fallacies: Count
    quote_characters: Count
    explanation_characters: Count
    load: str | None = None

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

    def check(self, bench: Bench) -> None:
        if self.load is not None:
            compiled.load(bench.study, self.load)

    def judge_key(self, bench: Bench) -> str:
        assert bench.model is not None
        schema = self.schema(bench.taxonomy)
        return key_of(
            **compiled.part_of_key(bench.study, self.load),
            reader=READER_VERSION,
            system=[self.instructions, reference_text(bench.taxonomy, schema)],
            schema=schema,
            model=bench.model.identity(),
            engine=bench.about_engine,
            sampling=vars(self.sampling(bench.model, bench.seed, bench.thinking_tokens)),
        )

    def shown(self, case: Case) -> str:
        return material(inputs_of(case.problem, case.solution))

    def inputs(self, case: Case) -> dict[str, Any]:
        return inputs_of(case.problem, case.solution)

    def module(self, bench: Bench) -> Any:
        from judge.grading import Grader, grading_adapter

        grader = Grader(self.instructions, grading_adapter(bench.taxonomy, self.schema(bench.taxonomy)))
        return compiled.loaded_into(grader, bench.study, self.load)

    @contextmanager
    def reading(self, bench: Bench) -> Iterator[Read]:
        from judge.grading import grade
        from judge.lm import dspy_with

        assert bench.model is not None and bench.open_engine is not None
        sampling = self.sampling(bench.model, bench.seed, bench.thinking_tokens)
        grader = self.module(bench)

        async def read(case: Case, seed: int | None = None) -> Reading:
            return await grade(grader, case)

        with dspy_with(bench.open_engine(), sampling):
            yield read


def verdict_key(judge_key: str, solution_id: str, shown: Any) -> str:
    """Hash of everything that one verdict depends on: the judge, and all that it is shown."""
    return key_of(judge=judge_key, solution=solution_id, shown=shown)


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

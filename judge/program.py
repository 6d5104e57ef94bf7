"""What `program=` names: how a judge comes from a case to a verdict. Light to import; DSPy is loaded when a judge runs."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from generate.engines import Engine, Sampling, with_call
from generate.journal import BadInput, key_of
from generate.labels import VERDICTS, VerdictName
from generate.models import Model
from generate.problems import Problem
from generate.stage import Count, NumberMap, settings
from generate.study import Study
from judge import compiled
from judge.evidence import Quotes
from judge.prompt import (
    OTHER,
    PARTS,
    VERDICT_FORM,
    VERDICT_SCHEMA,
    Call,
    Part,
    call,
    fields_of,
    inputs_of,
    listed,
    material,
    or_null,
    reply_form,
    text,
)
from judge.taxonomy import Taxonomy
from judge.verdicts import Case, Reading

READER_VERSION = 2  # raise it when replies or quotes are read in another way: all is then judged anew
LABEL_LOGPROBS = 20
"""Alternatives to ask for at each token where probabilities come from them; engines give no more."""

Read = Callable[[Case, int | None], Awaitable[Reading]]
"""One reading of one case, with a seed of its own where the config's shall not do. A case that cannot be judged comes
back as a Reading with an error; an engine that is lost raises EngineGone."""
Probabilities = Literal["votes", "logprobs", "none"]


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
    logprobs: bool = False
    """Whether a verdict's probabilities are to come from the log probabilities of its tokens."""


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
        """The dspy.Module whose predictors are trained. One call of it is one reading; it predicts `verdict` and, where it
        tags, `fallacies`, and raises AdapterParseError or LMError for a reply that cannot be used."""
        ...

    def inputs(self, case: Case) -> dict[str, Any]:
        """What the module is called with."""
        ...

    def sampling(self, bench: Bench) -> Sampling: ...


# --- programs that ask a model ------------------------------------------------------------------------------------------


@settings
class Asking:
    """What programs that ask a model through DSPy share. Each says which calls it makes; `judge.grading` has its module."""

    asks_model: ClassVar[bool] = True
    needs_text: ClassVar[bool] = True
    module_class: ClassVar[str]
    """The DSPy module's class in judge/grading.py."""

    name: str
    material: list[Part] = field(default_factory=lambda: list(PARTS))
    """What is shown, in this order; the solution comes after it."""
    quotes: Quotes = "required"
    load: str | None = None

    def __post_init__(self) -> None:
        if len(set(self.material)) < len(self.material):
            raise BadInput("material: names a part twice")
        if "answer_check" in self.material[:-1]:
            raise BadInput("material: answer_check differs from solution to solution, so it must be the last part")

    def calls(self, taxonomy: Taxonomy) -> dict[str, Call]:
        """The calls of one reading, by the name of their predictor in the module."""
        raise NotImplementedError

    def check(self, bench: Bench) -> None:
        if self.load is not None:
            compiled.load(bench.study, self.load)

    def sampling(self, bench: Bench) -> Sampling:
        """The model's sampling. Each call has a `max_tokens` of its own."""
        assert bench.model is not None
        logprobs = LABEL_LOGPROBS if bench.logprobs else None
        return with_call(bench.model.sampling, seed=bench.seed, logprobs=logprobs)

    def tokens(self, call: Call, bench: Bench) -> int:
        """Room for the longest reply that the schema allows, and for the thoughts of a reasoning model before it."""
        assert bench.model is not None
        return call.characters + (bench.thinking_tokens if bench.model.reasoning else 0)

    def judge_key(self, bench: Bench) -> str:
        assert bench.model is not None
        return key_of(
            **compiled.part_of_key(bench.study, self.load),
            reader=READER_VERSION,
            program=type(self).__name__,
            calls={n: [vars(c), self.tokens(c, bench)] for n, c in self.calls(bench.taxonomy).items()},
            rules=self.rules(),
            model=bench.model.identity(),
            engine=bench.about_engine,
            sampling=vars(self.sampling(bench)),
        )

    def rules(self) -> dict[str, Any]:
        """What else a verdict depends on. `material` stands here as well as in what is shown of a case: judges that are shown
        other parts are other judges, and no report may mix their verdicts."""
        return {"quotes": self.quotes, "material": self.material}

    def inputs(self, case: Case) -> dict[str, Any]:
        """What the module is called with."""
        return inputs_of(case, self.material)

    def shown(self, case: Case) -> str:
        return material(self.inputs(case), self.material)

    def module(self, bench: Bench) -> Any:
        """The dspy.Module. Its predictors hold the instructions and the demonstrations that optimisers change."""
        from judge import grading

        made = getattr(grading, self.module_class)(self, bench)
        return compiled.loaded_into(made, bench.study, self.load)

    @contextmanager
    def reading(self, bench: Bench) -> Iterator[Read]:
        from judge.grading import reading_with

        assert bench.open_engine is not None
        with reading_with(self, self.module(bench), bench, bench.open_engine()) as read:
            yield read


@settings
class Single(Asking):
    """One reading of each solution: reasoning, fallacies with quotes, the first wrong step, a verdict."""

    module_class: ClassVar[str] = "OneReading"

    instructions: str
    reasoning_characters: Count
    fallacies: Count
    quote_characters: Count
    explanation_characters: Count

    def calls(self, taxonomy: Taxonomy) -> dict[str, Call]:
        form = reply_form(
            f'- "reasoning": your reading of the solution step by step, at most {self.reasoning_characters} characters;',
            _fallacies_form(self.fallacies, self.quote_characters, self.explanation_characters),
            '- "first_wrong_step": the first step that fails, or null;',
            VERDICT_FORM,
        )
        schema = fields_of(
            reasoning=text(self.reasoning_characters),
            fallacies=listed(
                self.fallacies,
                tag={"enum": taxonomy.names},
                quote=text(self.quote_characters, 1 if self.quotes == "required" else 0),
                explanation=text(self.explanation_characters),
            ),
            first_wrong_step=or_null(text(self.quote_characters)),
            verdict=VERDICT_SCHEMA,
        )
        return {"grade": call(self.instructions, taxonomy, form, schema)}


@settings
class TwoStep(Asking):
    """First every step that might be wrong, with its quote and why; then which of them are real flaws, and the verdict.

    A verdict that contradicts its flaws (`contradiction`) is asked for once more, and then is an error record.
    """

    module_class: ClassVar[str] = "TwoReadings"

    find_instructions: str
    decide_instructions: str
    reasoning_characters: Count
    doubts: Count
    fallacies: Count
    quote_characters: Count
    explanation_characters: Count

    def calls(self, taxonomy: Taxonomy) -> dict[str, Call]:
        shortest = 1 if self.quotes == "required" else 0
        quote, why = text(self.quote_characters, shortest), text(self.explanation_characters)
        find_form = reply_form(
            f'- "reasoning": your reading of the solution step by step, at most {self.reasoning_characters} characters;',
            f'- "doubts": a list of at most {self.doubts} objects, empty if every step holds, each with "quote" (the words '
            f"of the solution where the step stands, copied exactly, at most {self.quote_characters} characters) and "
            f'"why" (why it might be wrong, at most {self.explanation_characters} characters).',
        )
        find = fields_of(reasoning=text(self.reasoning_characters), doubts=listed(self.doubts, quote=quote, why=why))
        decide_form = reply_form(
            f'- "reasoning": which of the doubted steps are real flaws, at most {self.reasoning_characters} characters;',
            _fallacies_form(self.fallacies, self.quote_characters, self.explanation_characters, decides=True),
            '- "first_wrong_step": the first step that fails, or null;',
            VERDICT_FORM,
        )
        decide = fields_of(
            reasoning=text(self.reasoning_characters),
            fallacies=listed(
                self.fallacies,
                tag={"enum": [*taxonomy.names, *([] if taxonomy.find(OTHER) else [OTHER])]},
                quote=quote,
                explanation=why,
                fatal={"type": "boolean"},
            ),
            first_wrong_step=or_null(text(self.quote_characters)),
            verdict=VERDICT_SCHEMA,
        )
        return {
            "find": call(self.find_instructions, None, find_form, find),
            "decide": call(self.decide_instructions, taxonomy, decide_form, decide),
        }


def contradiction(verdict: str, fatal: list[bool | None]) -> str | None:
    """The rule that a verdict must follow from its flaws: `correct` has no fatal one, `incorrect` has at least one. In
    words, where it is broken."""
    if verdict == "correct" and any(fatal):
        return 'the verdict is "correct", and a flaw is called fatal.'
    if verdict == "incorrect" and not any(fatal):
        return 'the verdict is "incorrect", and no flaw is called fatal.'
    return None


@settings
class Rubric(Asking):
    """Whole points by the problem's grading guidelines and reference solution, item by item; the verdict follows from the
    points. Problems without guidelines are graded by `general_rubric`; null: they are error records."""

    module_class: ClassVar[str] = "ByRubric"

    instructions: str
    general_rubric: str | None
    max_points: Count
    points_to_verdict: NumberMap
    reasoning_characters: Count
    items: Count
    item_characters: Count
    explanation_characters: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        lowest = self.points_to_verdict
        if unknown := next((v for v in lowest if v not in VERDICTS), None):
            raise BadInput(f"points_to_verdict: '{unknown}' is no verdict; there are {', '.join(VERDICTS)}")
        if not 0 <= lowest.get("partially_correct", 0) <= lowest.get("correct", -1) <= self.max_points:
            raise BadInput(
                f"points_to_verdict: needs the lowest points for 'correct', not above max_points ({self.max_points}) and "
                "not below those for 'partially_correct'"
            )
        if "rubric" not in self.material:
            raise BadInput("material: must have the rubric, since it decides the points")

    def calls(self, taxonomy: Taxonomy) -> dict[str, Call]:
        form = reply_form(
            f'- "reasoning": your reading of the solution step by step, at most {self.reasoning_characters} characters;',
            f'- "items": a list of at most {self.items} objects, one for each thing that the guidelines give points for, '
            f'each with "item" (what it is, at most {self.item_characters} characters), "explanation" (whether the solution '
            f'has it, at most {self.explanation_characters} characters) and "points" (the points it earns);',
            f'- "points": the points of the whole solution, a whole number from 0 to {self.max_points}. Where the items add '
            "up, it is their sum; where the guidelines describe levels, it is the level that is reached.",
        )
        points = {"type": "integer", "minimum": 0, "maximum": self.max_points}
        schema = fields_of(
            reasoning=text(self.reasoning_characters),
            items=listed(
                self.items,
                item=text(self.item_characters),
                explanation=text(self.explanation_characters),
                points=points,
            ),
            points=points,
        )
        return {"grade": call(self.instructions, None, form, schema)}

    def rules(self) -> dict[str, Any]:
        lowest = {v: float(n) for v, n in self.points_to_verdict.items()}
        own = {"max_points": self.max_points, "points_to_verdict": lowest, "general_rubric": self.general_rubric}
        return super().rules() | own

    def verdict_of_points(self, points: float) -> VerdictName:
        """The best verdict whose lowest points are reached."""
        reached = [v for v in VERDICTS if points >= self.points_to_verdict.get(v, float("inf"))]
        return reached[-1] if reached else "incorrect"

    def inputs(self, case: Case) -> dict[str, Any]:
        inputs = super().inputs(case)
        return inputs | {"rubric": inputs["rubric"] or self.general_rubric}


def _fallacies_form(most: int, quote: int, explanation: int, decides: bool = False) -> str:
    other = f', or "{OTHER}" where none fits' if decides else ""
    fatal = f', "explanation" (at most {explanation} characters) and "fatal" (true where the solution falls with it)'
    plain = f' and "explanation" (at most {explanation} characters)'
    return (
        f'- "fallacies": a list of at most {most} objects, empty if there is none, each with "tag" (a name from the list '
        f'above{other}), "quote" (the words of the solution where it happens, copied exactly, at most {quote} characters)'
        f"{fatal if decides else plain};"
    )


def verdict_key(judge_key: str, solution_id: str, shown: Any) -> str:
    """Hash of everything that one verdict depends on: the judge, and all that it is shown."""
    return key_of(judge=judge_key, solution=solution_id, shown=shown)


def problem_hash(problem: Problem) -> str:
    """Hash of what a judge is shown of a problem, so that a later change of it shows."""
    parts = ("statement", "answer", "reference_solution", "rubric")
    return key_of(**{name: getattr(problem, name) for name in parts})


# --- other things that `program=` names -------------------------------------------------------------------------------


@settings
class Recorded:
    """The judgements that the dataset brought along, as verdicts."""

    name: str = "recorded"


@settings
class Nothing:
    """No judge: only the final answers are checked."""

    name: str = "none"

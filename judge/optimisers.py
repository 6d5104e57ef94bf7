"""What `optimiser=` names: DSPy's optimisers, each with the few knobs that matter here. Light to import."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from generate.journal import BadInput
from generate.stage import Count, Number, Whole, settings
from judge.metric import Metric

ALWAYS = 10**9
"""Errors that an evaluation lives with: what fails scores 0, and never ends a training."""
Share = Annotated[Number, Field(gt=0, le=1)]


@dataclass(frozen=True)
class Material:
    """What an optimiser is given."""

    student: Any
    """The dspy.Module to train; its predictors' instructions and demonstrations are what may change."""
    train: list[Any]
    dev: list[Any]
    """dspy.Examples of the two splits."""
    score: Any
    """(example, prediction, trace=None) -> 0..1"""
    criticise: Any
    """The same with words: a dspy.Prediction of `score` and `feedback`."""
    proposer: Any
    """The dspy.LM that writes instructions."""
    threads: int
    seed: int


@runtime_checkable
class Optimiser(Protocol):
    """A class of yours with these two works as ours do."""

    name: str

    def compile(self, given: Material) -> None:
        """Let candidates be judged on `dev`; which of them is kept is decided outside, by what they reached there."""
        ...


@settings
class Bootstrap:
    """conf/optimiser/bootstrap.yaml: demonstrations, made of the judge's own readings that humans agree with."""

    name: str = "bootstrap"
    demonstrations: Count
    candidates: Count
    rounds: Count
    threshold: Share

    def compile(self, given: Material) -> None:
        from dspy.teleprompt import BootstrapFewShotWithRandomSearch

        BootstrapFewShotWithRandomSearch(
            metric=given.score,
            metric_threshold=self.threshold,
            max_bootstrapped_demos=self.demonstrations,
            max_labeled_demos=0,  # a label has no reasoning and no quotes: as a demonstration it would teach leaving them out
            max_rounds=self.rounds,
            num_candidate_programs=self.candidates,
            num_threads=given.threads,
            max_errors=ALWAYS,
        ).compile(given.student, trainset=given.train, valset=given.dev)


@settings
class Mipro:
    """conf/optimiser/mipro.yaml: instructions and demonstrations searched together (MIPROv2)."""

    name: str = "mipro"
    demonstrations: Whole
    candidates: Count
    trials: Count
    minibatch: Count | None
    threshold: Share
    examples_read: Count

    def __post_init__(self) -> None:
        if find_spec("optuna") is None:  # MIPROv2 misses it only after its proposals are paid for
            raise BadInput("needs optuna, which is not installed here: pip install 'olympiad-judge[optimise]'")

    def compile(self, given: Material) -> None:
        from dspy.teleprompt import MIPROv2

        few = self.minibatch is not None and self.minibatch < len(given.dev)
        MIPROv2(
            metric=given.score,
            metric_threshold=self.threshold,
            prompt_model=given.proposer,
            auto=None,
            num_candidates=self.candidates,
            max_bootstrapped_demos=self.demonstrations,
            max_labeled_demos=0,
            num_threads=given.threads,
            max_errors=ALWAYS,
            seed=given.seed,
        ).compile(
            given.student,
            trainset=given.train,
            valset=given.dev,
            num_trials=self.trials,
            minibatch=few,
            minibatch_size=self.minibatch if few else len(given.dev),
            program_aware_proposer=False,  # it would be shown our source code, which says nothing of the task
            view_data_batch_size=self.examples_read,
        )


@settings
class Gepa:
    """conf/optimiser/gepa.yaml: instructions rewritten by a model that reads what humans found wrong (GEPA)."""

    name: str = "gepa"
    readings: Count
    examples_read: Count
    instruction_characters: Count
    merge: bool

    def compile(self, given: Material) -> None:
        from dspy import GEPA
        from dspy.teleprompt.gepa import InstructionProposer

        from judge.training import ProposalAdapter

        GEPA(
            metric=given.criticise,
            max_metric_calls=self.readings,
            reflection_minibatch_size=self.examples_read,
            reflection_lm=given.proposer.copy(temperature=1.0),
            instruction_proposer=InstructionProposer(adapter=ProposalAdapter(), max_chars=self.instruction_characters),
            use_merge=self.merge,
            num_threads=given.threads,
            seed=given.seed,
        ).compile(given.student, trainset=given.train, valset=given.dev)


@settings
class Training:
    """`training` in conf/judge.yaml: what holds for every optimiser."""

    name: str | None = None
    labels: Literal["human", "planted"] = "human"
    metric: Metric = Metric()
    proposal_tokens: Count = 1024
    overwrite: bool = False

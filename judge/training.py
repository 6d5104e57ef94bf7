"""What a training is made of: labelled examples, the metric, and the account of what each candidate reached.

Imported only when a judge is trained: DSPy takes a second to load.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError
from pydantic import BaseModel

from generate.engines import collected_replies
from generate.journal import key_of
from judge.adapter import failure_of
from judge.adjudication import Gold
from judge.evidence import Quotes, grounded
from judge.metric import Metric, words_on
from judge.prompt import OTHER
from judge.taxonomy import Taxonomy

Example = Any
"""A dspy.Example: what the judge is shown, and beside it what humans said: `solution_id`, `human_verdict`, `human_tags`
(null: not annotated), `only_pass`, `comments`."""


def example_of(shown: dict[str, Any], gold: Gold, comments: Sequence[str] = ()) -> Example:
    """One labelled solution. Everything in it is plain, so that it reads the same in every run."""
    return dspy.Example(
        **shown,
        solution_id=gold.solution_id,
        human_verdict=gold.verdict,
        human_tags=None if gold.tags is None else sorted(gold.tags),
        only_pass=gold.binary,
        comments=list(comments),
    ).with_inputs(*shown)


# --- candidates and what they reached ---------------------------------------------------------------------------------


@dataclass
class Candidate:
    """One state of the program, and its scores on `dev` by solution; null where it gave no reading."""

    number: int
    state: dict[str, Any]
    scores: dict[str, float | None] = field(default_factory=dict)

    def mean(self) -> float:
        """A failure scores 0 here: choosing must not reward a program that can't be read."""
        return sum(s or 0.0 for s in self.scores.values()) / len(self.scores)


class Account:
    """Every candidate that was ever judged on `dev`, in the order in which it came up. Safe to use from many threads."""

    def __init__(
        self, dev: Sequence[Example], metric: Metric, taxonomy: Taxonomy, quotes: Quotes, tell: Callable[[str], None]
    ):
        self._dev = {x.solution_id for x in dev}
        self._metric = metric
        self._taxonomy = taxonomy
        self._quotes = quotes
        self._tell = tell
        self._lock = threading.Lock()
        self._candidates: dict[str, Candidate] = {}
        self.failures: Counter[str] = Counter()
        """Readings that failed, on train or dev, by kind."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Account":
        return self  # DSPy copies the program for each candidate; the account is one

    def candidate(self, program: dspy.Module) -> str:
        """The name of a program's present state. Its demonstrations become plain data, as a saved program has them, so that
        the prompts of the training are those of the program that comes out of it."""
        for predictor in program.predictors():
            predictor.demos = [plain(demo) for demo in predictor.demos]
        state = program.dump_state()
        name = key_of(state=state)
        with self._lock:
            self._candidates.setdefault(name, Candidate(len(self._candidates), state))
        return name

    def complete(self) -> list[Candidate]:
        """Those that have been judged on all of `dev`."""
        with self._lock:
            return [c for c in self._candidates.values() if c.scores.keys() == self._dev]

    def best(self) -> Candidate | None:
        """The one with the highest mean on `dev`; of equals the first, so that nothing is changed for nothing."""
        return max(self.complete(), key=lambda c: (c.mean(), -c.number), default=None)

    def score(self, example: Example, prediction: Any, trace: Any = None) -> float:
        """The metric as DSPy calls it. DSPy knows no missing score: a reading that failed scores 0, and is counted."""
        failure = prediction.get("failure")
        value = None if failure else self._metric(example, prediction.verdict, self._tags(example, prediction))
        name = getattr(prediction, "_candidate", None)
        if name is not None and example.solution_id in self._dev:
            self._enter(name, example.solution_id, value)
        return value or 0.0

    def criticise(self, example: Example, prediction: Any, trace: Any = None, *_: Any) -> Any:
        """The same with words, as GEPA wants it."""
        failure = prediction.get("failure")
        words = (
            f"The reply could not be used: {failure}"
            if failure
            else words_on(example, prediction.verdict, self._tags(example, prediction), self._taxonomy)
        )
        return dspy.Prediction(score=self.score(example, prediction), feedback=words)

    def _tags(self, example: Example, prediction: Any) -> frozenset[str] | None:
        return tags_of(prediction, example.solution, self._quotes)

    def _enter(self, name: str, solution_id: str, value: float | None) -> None:
        with self._lock:
            candidate = self._candidates[name]
            new = solution_id not in candidate.scores
            candidate.scores[solution_id] = value
            done = new and candidate.scores.keys() == self._dev
        if done:
            best = self.best()
            assert best is not None
            reached = f"candidate {candidate.number}: {candidate.mean():.3f} on dev"
            self._tell(f"{reached}; best so far: candidate {best.number} with {best.mean():.3f}")


def tags_of(prediction: Any, solution: str, quotes: Quotes) -> frozenset[str] | None:
    """The tags of a reading that count, as they do in a verdict: of the taxonomy, and with a quote where quotes are
    required. Null for a program that does not tag."""
    found = prediction.get("fallacies")
    if found is None:
        return None
    kept, _ = grounded(found, solution, quotes)
    return frozenset(f.tag for f in kept if f.tag != OTHER)


class Trainee(dspy.Module):  # type: ignore[misc]
    """The program in training: what it can't read becomes a prediction that says so, and each prediction knows which
    candidate made it."""

    def __init__(self, program: dspy.Module, account: Account):
        super().__init__()
        self.program = program
        self.account = account

    def forward(self, **inputs: Any) -> Any:
        candidate = self.account.candidate(self.program)
        with collected_replies() as replies:
            try:
                prediction = self.program(**inputs)
            except (AdapterParseError, LMError) as fault:
                failure = failure_of(fault, replies)
                self.account.failures[failure.kind] += 1
                prediction = dspy.Prediction(failure=failure.message, verdict=None)
                self._show(fault, inputs, failure.raw or failure.message)
        prediction._candidate = candidate
        return prediction

    def _show(self, fault: Exception, inputs: dict[str, Any], raw: str) -> None:
        """Put the failed call into DSPy's trace, from which GEPA shows calls to the model that writes instructions."""
        trace, signature = dspy.settings.trace, getattr(fault, "signature", None)
        failed = next((p for p in self.program.predictors() if p.signature == signature), None)
        if trace is not None and failed is not None:
            trace.append((failed, inputs, dspy.Prediction(reply=raw)))


class ProposalAdapter(dspy.ChatAdapter):  # type: ignore[misc]
    """For the optimisers' own prompts: where the one field that is asked for is not marked as it should be, the whole reply is
    it. A small model's loose form must not end a training."""

    def __init__(self) -> None:
        super().__init__(use_json_adapter_fallback=False)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = super().parse(signature, completion)
            return found
        except AdapterParseError:
            fields = list(signature.output_fields)
            if len(fields) != 1 or not completion.strip():
                raise
            return {fields[0]: completion.strip()}


def plain(value: Any) -> Any:
    """A demonstration, or what stands in it, as JSON has it; of a record what it says, without its empty fields."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict | dspy.Example):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value

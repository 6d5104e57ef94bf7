"""How much a reading of the judge agrees with the humans, as a number and in words. Light to import."""

from typing import Annotated, Any

from pydantic import Field

from generate.journal import BadInput
from generate.labels import VERDICTS
from generate.stage import Number, settings
from judge.taxonomy import Taxonomy

Weight = Annotated[Number, Field(ge=0)]
Example = Any
"""With `human_verdict`, `human_tags` (null: not annotated), `only_pass` and `comments`."""


@settings
class Metric:
    """How much a reading agrees with the humans, from 0 to 1: the verdict's part and the tags' part by their weights.

    The verdict's part is 1 for the same verdict, `near_miss` for one beside it on the scale, else 0; where humans only said
    pass or not, it is 1 where the judge says the same. The tags' part is F1 of the solution's tags, 2|A∩B| / (|A|+|B|), and 1
    where both find none (van Rijsbergen 1979, ch. 7); where nobody annotated tags, or the program names none, the verdict alone
    counts.
    """

    verdict_weight: Weight = 1.0
    tag_weight: Weight = 1.0
    near_miss: Annotated[Number, Field(ge=0, le=1)] = 0.0

    def __post_init__(self) -> None:
        if self.verdict_weight + self.tag_weight == 0:
            raise BadInput("training.metric: verdict_weight and tag_weight are both 0")

    def __call__(self, example: Example, verdict: str, tags: frozenset[str] | None) -> float:
        agreed = self.agreement(example, verdict)
        if example.human_tags is None or tags is None:
            return agreed
        f1 = tag_f1(frozenset(example.human_tags), tags)
        return (self.verdict_weight * agreed + self.tag_weight * f1) / (self.verdict_weight + self.tag_weight)

    def agreement(self, example: Example, verdict: str) -> float:
        if example.only_pass:
            return float((verdict == "correct") == (example.human_verdict == "correct"))
        apart = abs(VERDICTS.index(verdict) - VERDICTS.index(example.human_verdict))
        return (1.0, self.near_miss, 0.0)[apart]


def tag_f1(human: frozenset[str], judge: frozenset[str]) -> float:
    return 2 * len(human & judge) / (len(human) + len(judge)) if human or judge else 1.0


def words_on(example: Example, verdict: str, tags: frozenset[str] | None, taxonomy: Taxonomy) -> str:
    """What a teacher would say of one reading: for a model that writes better instructions."""
    definitions = {t.name: " ".join(t.definition.split()) for t in taxonomy.fallacies}
    passed = {True: "correct", False: "not correct"}
    if example.only_pass:
        human, said = passed[example.human_verdict == "correct"], passed[verdict == "correct"]
    else:
        human, said = example.human_verdict, verdict
    words = [f"The verdict '{said}' is right." if human == said else
             f"The verdict should be '{human}', as human experts say; it is '{said}'."]  # fmt: skip
    if example.human_tags is not None and tags is not None:
        missed, invented = sorted(set(example.human_tags) - tags), sorted(tags - set(example.human_tags))
        words += [f"Missed: '{t}', which the experts see here ({definitions.get(t, 'no definition')})." for t in missed]
        words += [f"Invented: '{t}', which the experts do not see here." for t in invented]
        if not missed and not invented:
            words.append("The fallacies are those that the experts see." if tags else "Rightly, no fallacy is named.")
    words += [f"An expert's comment: {c}" for c in example.comments]
    return " ".join(words)

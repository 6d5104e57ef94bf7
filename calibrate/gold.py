"""The metrics of Mahdavi et al. 2025, "Brains vs. Bytes" (arXiv:2504.01995), from one source of verdicts at a time.

The same functions serve human labels (`human_gold`), planted labels (`planted`) and a judge's verdicts (`estimates`);
which of them it was is said by the key that the figures stand under, and they are never mixed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from calibrate.columns import Bools, Names, Rows, Said, Small
from calibrate.intervals import Intervals, undefined
from calibrate.material import OUTCOMES, Material
from generate.labels import VERDICTS

Json = dict[str, Any]
STATES = ("right", "wrong", "missing", "cut_off", "undecided", "failed", "unchecked")
"""How a final answer stands. The first is right, the next three are not, the last three are open: they are left out of
final-answer accuracy, and its bounds count them as all wrong and as all right."""
RIGHT, WRONG, MISSING, CUT_OFF, UNDECIDED, FAILED, UNCHECKED = range(len(STATES))
ANSWER_TYPES = ["final_answer", "proof"]


@dataclass(frozen=True)
class Cases:
    """m solutions as the metrics see them, as columns, and what is said of them."""

    problem: Names
    model: Names
    topic: Names
    source: Names
    has_answer: Bools
    """Its problem has a final answer; otherwise it is a proof problem."""
    answer: Small
    """Place in STATES."""
    lenient: Small
    """The same by the lenient reading of the answer checker."""
    by_label: Bools
    """The label says whether the final answer is right."""
    opinions: dict[str, Small]
    """By model, what it says of the answer where that is undecided: place in OPINIONS; -1 where it says nothing."""
    said: Said

    def __len__(self) -> int:
        return len(self.said)

    def at(self, index: Any) -> "Cases":
        """These rows alone: an array of places, or of true and false."""
        names = {k: getattr(self, k).at(index) for k in ("problem", "model", "topic", "source", "said")}
        arrays = {k: getattr(self, k)[index] for k in ("has_answer", "answer", "lenient", "by_label")}
        return replace(self, **names, **arrays, opinions={m: said[index] for m, said in self.opinions.items()})


OPINIONS = ("equal", "different", "unsure", "error")


def cases(m: Material, said: Said, human: Small | None = None) -> Cases:
    """What is said of some solutions, beside how their final answers stand. `human`: for each row of `said`, what people
    say of the answer (1 right, 0 wrong, -1 nothing); by default what `said` says itself."""
    s, row = m.solutions, said.row
    by_people = said.answer_correct if human is None else human
    fared = s.cut_off[row], s.error.codes[row] >= 0, s.finished[row]
    answer = answer_states(m.answers.outcome[row], by_people, *fared)
    lenient = np.where(m.lenient.outcome >= 0, m.lenient.outcome, m.answers.outcome)[row]
    return Cases(
        problem=s.problem.at(row),
        model=s.model.at(row),
        topic=s.topic.at(row),
        source=s.source.at(row),
        has_answer=(by_people >= 0) | s.gold_answer[row],
        answer=answer,
        lenient=answer_states(lenient, by_people, *fared),
        by_label=by_people >= 0,
        opinions={model: _opinions(of, len(s), row, answer) for model, of in sorted(m.opinions.items())},
        said=said,
    )


def answer_states(outcome: Small, human: Small, cut_off: Bools, failed: Bools, finished: Bools) -> Small:
    """How final answers stand: places in STATES. A human's word (1 right, 0 wrong, -1 nothing) wins over the checker.

    `outcome`: place in OUTCOMES, -1 unchecked. A solver that gave no answer, or was cut off by the token limit before it
    was done, is not right. Where it `failed` and never `finished`, the engine's failure says nothing of the solver.
    """
    of_outcome = dict(zip(OUTCOMES, (RIGHT, WRONG, UNDECIDED, MISSING), strict=True))
    table = np.array([of_outcome[word] for word in OUTCOMES] + [UNCHECKED], dtype=np.int8)  # the last is what -1 finds
    found = np.where(failed, np.where(finished, MISSING, FAILED), table[outcome])
    found = np.where(cut_off, CUT_OFF, found)
    return np.where(human >= 0, np.where(human == 1, RIGHT, WRONG), found).astype(np.int8)


def _opinions(of: dict[int, str], n: int, row: Rows, answer: Small) -> Small:
    every = np.full(n, -1, dtype=np.int8)
    for at, word in of.items():
        every[at] = OPINIONS.index(word)
    return np.where(answer == UNDECIDED, every[row], np.int8(-1)).astype(np.int8)


def final_answer_accuracy(c: Cases, intervals: Intervals, empty: str) -> Json:
    """Share of solutions whose final answer is right, whatever the reasoning, over problems that have one.

    The value leaves out what could not be decided; `bounds` count that as all wrong and as all right. `lenient` is the
    same by the lenient reading, null where it decides nothing differently. `asked_model` counts what a model says of
    the undecided ones, null where none was asked; it has no part in the value or the bounds. Bounds and counts are of
    solutions, whatever their weight.
    """
    asked = c.has_answer
    why = (
        empty
        if not len(c)
        else "no problem of these has a final answer"
        if not asked.any()
        else "no final answer was decided"
    )
    counts = np.bincount(c.answer[asked], minlength=len(STATES)).tolist()
    right, n = counts[RIGHT], int(asked.sum())
    bounds = {"low": right / n, "high": (right + sum(counts[UNDECIDED:])) / n, "n": n} if n else None
    same = bool((c.lenient[asked] == c.answer[asked]).all())
    return _decided(c, c.answer, intervals, why) | {
        "bounds": bounds,
        "counts": dict(zip(STATES, counts, strict=True)) | {"by_label": int(c.by_label[asked].sum())},
        "lenient": None if same else _decided(c, c.lenient, intervals, "no final answer was decided"),
        "asked_model": _asked_model(c),
    }


def _decided(c: Cases, states: Small, intervals: Intervals, why: str) -> Json:
    return _share(c, c.has_answer & (states < UNDECIDED), states == RIGHT, intervals, why)


def _share(c: Cases, of: Bools, values: Any, intervals: Intervals, why: str) -> Json:
    """The mean of `values` over the rows `of`, as the design of the sample weighs them."""
    strata = c.said.stratum.codes[of] if c.said.stratum.names else None
    return intervals.share(c.problem.codes[of], values[of], why, c.said.weight[of], strata).as_json()


def _asked_model(c: Cases) -> dict[str, dict[str, int]] | None:
    counts = {}
    for model, said in c.opinions.items():
        some = said[c.has_answer & (said >= 0)]
        if len(some):
            counts[model] = dict(zip(OPINIONS, np.bincount(some, minlength=len(OPINIONS)).tolist(), strict=True))
    return counts or None


def metrics(c: Cases, tags: Sequence[str], intervals: Intervals, empty: str) -> Json:
    """The keys of `human_gold` for one group of cases. `empty` says why there are none, where there are none.

    Where annotators tie, the row counts in part for each verdict that ties; `tied` is the number of such rows. Correct
    given a correct final answer is a mean over the solutions whose answer is known to be right.
    """
    said = c.said
    judged = said.shares.sum(axis=1) > 0
    three = judged & ~said.binary
    right = judged & c.has_answer & (c.answer == RIGHT)
    no_verdict = "none of these has a verdict" if len(c) else empty
    no_three = "the labels only say pass or not" if judged.any() else no_verdict
    no_tags = "fallacies are not annotated" if len(c) else empty
    incorrect, partial, correct = range(len(VERDICTS))

    given_right = _share(c, right, said.shares[:, correct], intervals, "")
    if not right.any():
        given_right = undefined("no solution has a right final answer and a verdict").as_json() | {"value": 0.0}
    return {
        "final_answer_accuracy": final_answer_accuracy(c, intervals, empty),
        "correct_given_correct_answer": given_right,
        "correct": _share(c, judged, said.shares[:, correct], intervals, no_verdict),
        "partially_correct": _share(c, three, said.shares[:, partial], intervals, no_three),
        "incorrect": _share(c, three, said.shares[:, incorrect], intervals, no_three),
        "tied": int(said.tied.sum()),
        "fallacies": {tag: _share(c, said.tagged, said.tags[:, i], intervals, no_tags) for i, tag in enumerate(tags)},
    }


class Grouped(Protocol):
    """Rows that figures can be broken down by."""

    @property
    def model(self) -> Names: ...
    @property
    def topic(self) -> Names: ...
    @property
    def source(self) -> Names: ...
    @property
    def has_answer(self) -> Bools: ...


def groupings(c: Grouped) -> Iterator[tuple[str, Names]]:
    """The ways in which figures are broken down. Rows without a name (a problem without a topic) are in no group."""
    yield "by_model", c.model
    yield "by_topic", c.topic
    yield "by_answer_type", Names((~c.has_answer).astype(np.int32), ANSWER_TYPES)
    yield "by_source", c.source


def grouped(c: Cases, figures: Callable[[Cases], Json]) -> Json:
    """The figures over all cases, and by model, topic, kind of answer and source of the problem."""
    return {"overall": figures(c)} | {
        key: {name: figures(c.at(rows)) for name, rows in names.groups()} for key, names in groupings(c)
    }


def errors_by_kind(of: Names) -> dict[str, int]:
    """How many of each name there are."""
    counts = Counter(of.names[i] for i in of.codes[of.codes >= 0].tolist())
    return dict(sorted(counts.items()))

"""What several annotators of one solution amount to: one Gold for each labelled solution.

Three ways to it. A named adjudicator's word decides wherever that person labelled. Elsewhere the majority decides, for
the verdict and for each tag on its own (the default), or Dawid and Skene's model of annotators who err each in their
own way (Dawid & Skene 1979, Appl. Statist. 28:20). What nobody could settle is not settled here: a tie has no verdict,
and enters shares as a fraction of each verdict that ties.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from generate.journal import BadInput
from generate.labels import VERDICTS, HumanLabel
from generate.stage import settings

Kind = Literal["human", "planted"]
BINARY = ("incorrect", "correct")
MOST_STEPS = 1000
CLOSE_ENOUGH = 1e-10
"""EM ends when no probability moves by more than this in a step."""
SAME = 1e-9
"""Two shares nearer to each other than this are equal."""


@settings
class Adjudication:
    """How labels of one solution become one, as `adjudication` in conf/calibrate.yaml says."""

    method: Literal["majority", "dawid_skene"] = "majority"
    adjudicator: str | None = None


@dataclass(frozen=True)
class Gold:
    """What the annotators of one solution say together."""

    solution_id: str
    verdict: str | None = None
    """Null where nobody gave one, and where they tie."""
    verdict_shares: dict[str, float] | None = None
    """How much the solution counts for each verdict, adding up to 1: all for the adjudicated one; in equal parts for
    those that tie; by Dawid and Skene, the probability of each. Null where nobody gave a verdict."""
    binary: bool = False
    """Only pass (`correct`) or not was said."""
    points: float | None = None
    max_points: float | None = None
    tag_shares: dict[str, float] | None = None
    """The same for each tag that somebody named: 1 borne, 0 not, 1/2 a tie. Null: nobody annotated tags."""
    tags: frozenset[str] | None = None
    """The tags whose share is above 1/2; null: not annotated."""
    answer_correct: bool | None = None
    annotators: int = 0
    unresolved: bool = False
    """Their verdicts tie."""
    stratum: str | None = None
    weight: float = 1.0


def adjudicate(labels: Iterable[HumanLabel], kind: Kind = "human", how: Adjudication | None = None) -> dict[str, Gold]:
    """One Gold for each solution that has labels of this kind, sorted by solution. `labels` holds one label of each
    annotator of a solution.

    Points are the median; `answer_correct` is what more than half say. Where some said only pass or not, those who
    used all three verdicts count. `how` is about people: planted labels go by majority. Raises BadInput for points on two scales, for two weights or strata of one solution,
    and for an adjudicator who labelled nothing.
    """
    how = how if how is not None and kind == "human" else Adjudication()
    by_solution: dict[str, list[HumanLabel]] = {}
    for label in labels:
        if label.kind == kind:
            by_solution.setdefault(label.solution_id, []).append(label)
    _check_adjudicator(by_solution, how)
    names = sorted(by_solution)
    alone = {name: _alone(of[0]) for name, of in by_solution.items() if len(of) == 1 and how.method == "majority"}
    rest = [name for name in names if name not in alone]
    each = [by_solution[name] for name in rest]
    verdicts = _verdict_shares([_voting(of) for of in each], how)
    tags = _tag_shares(each, how)
    together = {name: _gold(name, of, v, t, how) for name, of, v, t in zip(rest, each, verdicts, tags, strict=True)}
    return {name: alone.get(name) or together[name] for name in names}


def _alone(label: HumanLabel) -> Gold:
    """A single annotator's word is the gold; the same as by majority, made at once since most studies are made of these."""
    tags = None if label.fallacies is None else dict.fromkeys(sorted(set(label.fallacies)), 1.0)
    return Gold(
        solution_id=label.solution_id,
        verdict=label.verdict,
        verdict_shares=None if label.verdict is None else {label.verdict: 1.0},
        binary=label.verdict is not None and label.scale == "binary",
        points=None if label.points is None else float(label.points),
        max_points=None if label.points is None else label.max_points,
        tag_shares=tags,
        tags=None if tags is None else frozenset(tags),
        answer_correct=label.answer_correct,
        annotators=1,
        stratum=label.stratum,
        weight=label.weight,
    )


def _check_adjudicator(by_solution: dict[str, list[HumanLabel]], how: Adjudication) -> None:
    if how.adjudicator is None or not by_solution:
        return
    people = sorted({x.annotator for of in by_solution.values() for x in of})
    if how.adjudicator not in people:
        shown = ", ".join(people[:20]) + (" ..." if len(people) > 20 else "")
        raise BadInput(f"adjudication.adjudicator: '{how.adjudicator}' has labelled nothing; there are: {shown}")


def _gold(
    solution_id: str, labels: list[HumanLabel], verdicts: dict[str, float] | None, tags: dict[str, float] | None,
    how: Adjudication,
) -> Gold:  # fmt: skip
    voting = _voting(labels)
    verdict = _most(verdicts)
    pointed = _deciding([x for x in labels if x.points is not None], how)
    if len({x.max_points for x in pointed}) > 1:
        scales = ", ".join(f"{x.annotator}: out of {x.max_points or 0:g}" for x in pointed)
        raise BadInput(f"labels of solution '{solution_id}': points are on different scales ({scales})")
    right = _most(_shares([str(x.answer_correct) for x in _deciding(_with(labels, "answer_correct"), how)]))
    stratum, weight = _place_in_sample(solution_id, labels)
    return Gold(
        solution_id=solution_id,
        verdict=verdict,
        verdict_shares=verdicts,
        binary=bool(voting) and voting[0].scale == "binary",
        points=float(median(x.points for x in pointed if x.points is not None)) if pointed else None,
        max_points=pointed[0].max_points if pointed else None,
        tag_shares=tags,
        tags=None if tags is None else frozenset(t for t, share in tags.items() if share > 0.5 + SAME),
        answer_correct=None if right is None else right == "True",
        annotators=len(labels),
        unresolved=verdicts is not None and verdict is None,
        stratum=stratum,
        weight=weight,
    )


def _place_in_sample(solution_id: str, labels: Sequence[HumanLabel]) -> tuple[str | None, float]:
    """Stratum and weight belong to the solution: annotators who state them must state the same ones."""
    stated = sorted({(x.stratum or "", x.weight) for x in labels if x.stratum is not None or x.weight != 1})
    if len(stated) > 1:
        shown = " and ".join(f"stratum '{s}' with weight {w:g}" for s, w in stated)
        raise BadInput(f"labels of solution '{solution_id}': annotators state different places in the sample ({shown})")
    return (stated[0][0] or None, stated[0][1]) if stated else (None, 1.0)


def _with(labels: Sequence[HumanLabel], field: str) -> list[HumanLabel]:
    return [x for x in labels if getattr(x, field) is not None]


def _voting(labels: Sequence[HumanLabel]) -> list[HumanLabel]:
    """Those whose verdict counts: who used all three, where there are such."""
    worded = _with(labels, "verdict")
    return [x for x in worded if x.scale == "three"] or worded


def _deciding(labels: list[HumanLabel], how: Adjudication) -> list[HumanLabel]:
    """Whose word it is: the adjudicator's, where that person is among them; else everybody's."""
    return [x for x in labels if x.annotator == how.adjudicator] or labels


# --- majority ---------------------------------------------------------------------------------------------------------


def _shares(votes: Sequence[str]) -> dict[str, float] | None:
    """All for the vote that is given more often than any other; equal parts for those that tie; null for no votes."""
    if not votes:
        return None
    counts = Counter(votes)
    most = max(counts.values())
    first = sorted(v for v, n in counts.items() if n == most)
    return dict.fromkeys(first, 1 / len(first))


def _most(shares: dict[str, float] | None) -> str | None:
    """The one with the largest share; null for a tie, or none."""
    if not shares:
        return None
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return None if len(ranked) > 1 and ranked[0][1] - ranked[1][1] < SAME else ranked[0][0]


def _verdict_shares(each: Sequence[list[HumanLabel]], how: Adjudication) -> list[dict[str, float] | None]:
    found = [_shares([str(x.verdict) for x in _deciding(of, how)]) for of in each]
    if how.method == "dawid_skene":
        for scale, words in (("three", VERDICTS), ("binary", BINARY)):
            places = [i for i, of in enumerate(each) if of and of[0].scale == scale]
            votes = [[(x.annotator, words.index(str(x.verdict))) for x in each[i]] for i in places]
            for i, row in zip(places, _probabilities(votes, len(words)), strict=True):
                if not any(x.annotator == how.adjudicator for x in each[i]):
                    found[i] = {w: float(p) for w, p in zip(words, row, strict=True) if p > 0}
    return found


def _tag_shares(each: Sequence[list[HumanLabel]], how: Adjudication) -> list[dict[str, float] | None]:
    tagging = [_with(of, "fallacies") for of in each]
    found: list[dict[str, float] | None] = []
    for of in tagging:
        deciding = _deciding(of, how)
        counts = Counter(tag for x in deciding for tag in dict.fromkeys(x.fallacies or ()))
        half = len(deciding) / 2
        parts = {t: 0.5 if n == half else float(n > half) for t, n in sorted(counts.items())}
        found.append(parts if deciding else None)
    if how.method == "dawid_skene":
        places = [i for i, of in enumerate(tagging) if of]
        for tag in sorted({t for of in tagging for x in of for t in x.fallacies or ()}):
            votes = [[(x.annotator, int(tag in (x.fallacies or ()))) for x in tagging[i]] for i in places]
            for i, row in zip(places, _probabilities(votes, 2), strict=True):
                shares = found[i]
                if shares is not None and not any(x.annotator == how.adjudicator for x in tagging[i]):
                    shares[tag] = float(row[1])
    return found


# --- Dawid and Skene --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorRates:
    """What `dawid_skene` finds."""

    probabilities: NDArray[np.float64]
    """(items, k): how probable each class is for each item."""
    prevalence: NDArray[np.float64]
    """(k,): share of each class."""
    rates: NDArray[np.float64]
    """(annotators, k, k): how often an annotator says the last for an item of the middle class."""


def dawid_skene(
    items: NDArray[np.int64],
    annotators: NDArray[np.int64],
    said: NDArray[np.int64],
    k: int,
    times: NDArray[np.float64] | None = None,
) -> ErrorRates:
    """Maximum likelihood by EM for annotators with error rates of their own, who err independently given the true class.

    Takes three arrays of equal length, one row for each word said: the item's number, the annotator's, and the class
    0..k-1. An annotator may speak of an item several times. `times` (items,) says how many items of which the same was
    said each of them stands for. Dawid & Skene 1979, Appl. Statist. 28:20, equations 2.3 to 2.5, begun as there from the
    shares of the words said of each item. It says little with fewer than three annotators.
    """
    n, people = int(items.max()) + 1, int(annotators.max()) + 1
    times = np.ones(n) if times is None else times
    counts = np.bincount(items * k + said, minlength=n * k).reshape(n, k).astype(np.float64)
    belief = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(MOST_STEPS):
        counted = belief * times[:, None]
        prevalence = counted.sum(axis=0) / times.sum()
        weights = np.stack(
            [np.bincount(annotators * k + said, counted[items, j], people * k).reshape(people, k) for j in range(k)],
            axis=1,
        )
        total = weights.sum(axis=2, keepdims=True)
        rates = np.divide(weights, total, out=np.full(weights.shape, 1 / k), where=total > 0)
        with np.errstate(divide="ignore"):
            logs = np.log(rates)[annotators, :, said]
            likelihood = np.stack([np.bincount(items, logs[:, j], n) for j in range(k)], axis=1) + np.log(prevalence)
        likelihood -= likelihood.max(axis=1, keepdims=True)
        after = np.exp(likelihood)
        after /= after.sum(axis=1, keepdims=True)
        moved = float(np.abs(after - belief).max())
        belief = after
        if moved < CLOSE_ENOUGH:
            break
    return ErrorRates(belief, prevalence, rates)


def _probabilities(votes: Sequence[Sequence[tuple[str, int]]], k: int) -> NDArray[np.float64]:
    """The probability of each of k classes for each item, from the words (annotator, class) that were said of it."""
    if not votes:
        return np.zeros((0, k))
    pattern: dict[tuple[tuple[str, int], ...], int] = {}
    of_item = np.array([pattern.setdefault(tuple(sorted(of)), len(pattern)) for of in votes])
    place = {who: i for i, who in enumerate(sorted({who for of in pattern for who, _ in of}))}
    table = np.array([(i, place[who], word) for of, i in pattern.items() for who, word in of], dtype=np.int64)
    times = np.bincount(of_item).astype(np.float64)
    found: NDArray[np.float64] = dawid_skene(table[:, 0], table[:, 1], table[:, 2], k, times).probabilities[of_item]
    return found

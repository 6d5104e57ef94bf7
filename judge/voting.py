"""Several readings of one solution, or several judges' verdicts on it, made into one.

Which verdict comes out, of the readings that gave one:

- `majority`: the most frequent verdict; of a tie the lower one (a judge in doubt does not pass a solution). Of points
  the median; of an even number of them the lower of the two in the middle.
- `minimum`: the lowest verdict; the fewest points.
- `mean`: incorrect 0, partially correct 1/2, correct 1; the verdict nearest to their mean, of a tie the lower one. Of
  points the mean.

Where readings give points, the points are combined and the verdict follows from them. A tag counts where at least half
of the readings name it; its probability is their share. A reading that failed is no vote: where half of those planned or
more have failed, the whole is an error record (`too_few_votes`).
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from generate.journal import Failure
from generate.labels import VERDICTS, VerdictName
from generate.solutions import Usage
from judge.program import Probabilities, Read
from judge.verdicts import Case, Fallacy, Reading, Vote

Combine = Literal["majority", "minimum", "mean"]
OfPoints = Callable[[float], VerdictName]
SCORES: dict[VerdictName, float] = {"incorrect": 0.0, "partially_correct": 0.5, "correct": 1.0}
TAG_SHARE = 0.5
"""The least share of the readings that must name a tag for it to count."""


@dataclass(frozen=True)
class Voting:
    """How votes are made into one verdict."""

    how: Combine = "majority"
    stop_early: bool = True
    probabilities: Probabilities = "votes"
    seed: int = 0
    of_points: OfPoints | None = None
    """The verdict that follows from points, where the judge gives points."""
    most: float = 0.0
    """The most points."""

    def identity(self) -> dict[str, Any]:
        """What a verdict depends on here: part of the judge's key."""
        return {"how": self.how, "stop_early": self.stop_early, "probabilities": self.probabilities}


def combined_verdict(counts: Counter[VerdictName], how: Combine) -> VerdictName:
    """One verdict of at least one."""
    there = [v for v in VERDICTS if counts[v]]
    if how == "minimum":
        return there[0]
    if how == "mean":
        mean = sum(SCORES[v] * counts[v] for v in there) / counts.total()
        return min(VERDICTS, key=lambda v: (abs(SCORES[v] - mean), SCORES[v]))
    return max(there, key=lambda v: counts[v])  # the first of a tie, and so the lower


def combined_points(points: Sequence[float], how: Combine) -> float:
    """The points of at least one reading."""
    if how == "mean":
        return sum(points) / len(points)
    return min(points) if how == "minimum" else sorted(points)[(len(points) - 1) // 2]


def enough(read: int, planned: int) -> bool:
    """Whether so many readings, of so many planned, make a verdict: more than half."""
    return 2 * read > planned


def settled(readings: Sequence[Reading], planned: int, voting: Voting) -> bool:
    """Whether the readings still to come cannot change the outcome: the verdict and the tags, whatever they say, and
    though any of them should fail."""
    how, of_points = voting.how, voting.of_points
    left = planned - len(readings)
    given = [r for r in readings if r.error is None]
    if not given or not enough(len(given), planned):
        return left == 0 or not enough(len(given) + left, planned)
    if of_points is not None:
        points = [r.points for r in given if r.points is not None]
        ends = {
            of_points(combined_points([*points, *[end] * n], how))
            for end in (0.0, voting.most)
            for n in range(left + 1)
        }
        if len(ends) > 1:
            return False
    else:
        counts = Counter(r.verdict for r in given if r.verdict)
        ends = set()
        for low in range(left + 1):
            for middle in range(left + 1 - low):
                for high in range(left + 1 - low - middle):
                    more = dict(zip(VERDICTS, (low, middle, high), strict=True))
                    ends.add(combined_verdict(counts + Counter(more), how))
        if len(ends) > 1:
            return False
    for n in _tag_counts(given).values():
        least, largest = n / (len(given) + left), (n + left) / (len(given) + left)
        if (least >= TAG_SHARE) != (largest >= TAG_SHARE):
            return False
    # a tag that none has named so far
    return not any(r.fallacies is not None for r in given) or left / (len(given) + left) < TAG_SHARE


def _tag_counts(given: Sequence[Reading]) -> Counter[str]:
    return Counter(tag for r in given for tag in {f.tag for f in r.fallacies or ()})


def combined(readings: Sequence[Reading], planned: int, voting: Voting) -> Reading:
    """What the readings amount to. The words (reasoning, items, first wrong step) are those of the first reading that
    agrees with the outcome; a tag's quote is that of the first reading that names it, if one may be, a grounded one."""
    how, of_points, probabilities = voting.how, voting.of_points, voting.probabilities
    usage = summed(r.usage for r in readings)
    given = [r for r in readings if r.error is None and r.verdict is not None]
    if not enough(len(given), planned):
        if planned == 1:
            return readings[0]
        kinds = Counter(r.error.kind for r in readings if r.error)
        failed = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        message = f"{len(given)} of {planned} readings gave a verdict; failed: {failed or 'none'}"
        raw = next((r.error.raw for r in readings if r.error and r.error.raw), None)
        return Reading(error=Failure(kind="too_few_votes", message=message, raw=raw), usage=usage)
    if len(readings) == 1 and planned == 1:
        return readings[0]
    points = [r.points for r in given if r.points is not None]
    if of_points is not None:
        total: float | None = combined_points(points, how)
        verdict = of_points(total or 0.0)
    else:
        scales = {r.max_points for r in given}
        total = combined_points(points, how) if len(points) == len(given) and len(scales) == 1 else None
        verdict = combined_verdict(Counter(r.verdict for r in given if r.verdict), how)
    near = next((r for r in given if r.verdict == verdict and r.points == total), None)
    near = near or next((r for r in given if r.verdict == verdict), given[0])
    shares: dict[str, float] | None = None
    if probabilities == "votes":
        shares = {v: sum(r.verdict == v for r in given) / len(given) for v in VERDICTS}
    elif probabilities == "logprobs" and all(r.probabilities for r in given):
        shares = {v: sum((r.probabilities or {})[v] for r in given) / len(given) for v in VERDICTS}
    return replace(
        near,
        verdict=verdict,
        points=total,
        max_points=near.max_points if total is not None else None,
        fallacies=_tags_of(given),
        apart=[f for r in given for f in r.apart or ()] or None,
        probabilities=shares,
        usage=usage,
    )


def _tags_of(given: Sequence[Reading]) -> list[Fallacy] | None:
    tagging = [r for r in given if r.fallacies is not None]
    if not tagging:
        return None
    found = []
    for tag, n in _tag_counts(tagging).items():
        share = n / len(tagging)
        if share >= TAG_SHARE:
            named = [f for r in tagging for f in r.fallacies or () if f.tag == tag]
            best = next((f for f in named if f.grounded), named[0])
            found.append(best.model_copy(update={"probability": share}))
    return sorted(found, key=lambda f: -(f.probability or 0))


def summed(usages: Any) -> Usage | None:
    """What several pieces of work took together; null where none says."""
    known = [u for u in usages if u is not None]
    if not known:
        return None
    return Usage(
        prompt_tokens=sum(u.prompt_tokens or 0 for u in known),
        completion_tokens=sum(u.completion_tokens or 0 for u in known),
        calls=sum(1 if u.calls is None else u.calls for u in known),
    )


def vote_seed(seed: int, solution_id: str, vote: int) -> int:
    """A seed of its own for each vote: votes with one seed would come out the same."""
    digest = hashlib.sha256(f"vote\0{seed}\0{solution_id}\0{vote}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


async def voted(read: Read, case: Case, votes: int, voting: Voting) -> tuple[Reading, list[Vote], int]:
    """`votes` readings of one case made into one; all of them as votes; and how many were saved.

    With `stop_early` they are asked in rounds: each asks as few as could settle the outcome if they all agreed, so that
    which ones are asked does not depend on which come back first.
    """
    if votes == 1:
        reading = await read(case, None)
        kept = replace(reading, probabilities=None) if voting.probabilities == "none" else reading
        return kept, [reading.vote()] if reading.raw is not None or reading.error else [], 0
    readings: list[Reading] = []
    while len(readings) < votes and not (voting.stop_early and readings and settled(readings, votes, voting)):
        more = _least_to_settle(readings, votes, voting) if voting.stop_early else votes
        upto = min(votes, len(readings) + more)
        seeds = [vote_seed(voting.seed, case.solution.id, n) for n in range(len(readings), upto)]
        readings += await _all(read, case, seeds)
    return combined(readings, votes, voting), [r.vote() for r in readings], votes - len(readings)


def _least_to_settle(readings: list[Reading], votes: int, voting: Voting) -> int:
    """How many more readings could settle it at best: if all said the same of some verdict."""
    left = votes - len(readings)
    tags: list[Fallacy] | None = [] if not readings or any(r.fallacies is not None for r in readings) else None
    for n in range(1, left):
        for verdict, points in zip(VERDICTS, (0.0, voting.most / 2, voting.most), strict=True):
            same = Reading(verdict=verdict, points=points if voting.of_points else None, fallacies=tags)
            if settled([*readings, *[same] * n], votes, voting):
                return n
    return max(1, left)


async def _all(read: Read, case: Case, seeds: list[int]) -> list[Reading]:
    """The readings with these seeds, side by side. What raises ends the others as well."""
    tasks = [asyncio.ensure_future(read(case, seed)) for seed in seeds]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise

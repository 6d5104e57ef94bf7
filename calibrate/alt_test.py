"""The alternative annotator test: may a judge take the place of a human annotator?

Each annotator in turn is left out. On each solution the judge and that annotator are held against the remaining ones, by
the share of them that each agrees with; who is at least as near has the advantage there. The judge wins against an
annotator when its advantage is, beyond chance, not more than epsilon below the annotator's. Calderon, Reichart & Dror
2025, ACL, arXiv:2501.10970, sections 3 and 4; p values by one-sided t-tests, and Benjamini and Yekutieli's procedure over
the annotators (Benjamini & Yekutieli 2001, Ann. Stat. 29:1165).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from calibrate.intervals import Array, Intervals, Sums, undefined
from generate.stage import Count, Number, settings

Json = dict[str, Any]
FEWEST_ANNOTATORS = 3
"""With two the test only says which of them the judge is like."""
PASSED = 0.5
"""Winning rate from which on the judge passes."""


@settings
class AltTest:
    """How the test is done, as `alt_test` in conf/calibrate.yaml says."""

    epsilon: Annotated[Number, Field(ge=0, le=1)] = 0.2
    q: Annotated[Number, Field(gt=0, lt=1)] = 0.05
    fewest: Count = 30


@dataclass(frozen=True)
class Against:
    """The judge beside one annotator, on the solutions that both and some other annotator spoke of."""

    rows: NDArray[np.intp]
    judge: Array
    """Whether the judge has the advantage, or they are even: 1 or 0."""
    annotator: Array
    """The same of the annotator."""

    def p_value(self, epsilon: float) -> float:
        """Of the null hypothesis that the judge's advantage is epsilon or more below the annotator's. Needs two rows."""
        from scipy.special import stdtr

        apart = self.annotator - self.judge
        n, mean = len(apart), float(apart.mean())
        error = float(apart.std(ddof=1)) / np.sqrt(n)
        if error == 0:  # the same everywhere: nothing is left to chance
            return float(mean >= epsilon)
        return float(stdtr(n - 1, (mean - epsilon) / error))


def against(said: NDArray[np.int8], judge: NDArray[np.int8], annotator: int) -> Against:
    """`said` (n, annotators) and `judge` (n,) are codes of what was said; -1 nothing. A judge's -2 agrees with nobody."""
    others = np.delete(said, annotator, axis=1)
    own = said[:, annotator]
    heard = (others >= 0).sum(axis=1)
    rows = np.flatnonzero((own >= 0) & (judge != -1) & (heard > 0))
    others, heard = others[rows], heard[rows]
    scores = [((others == who[rows][:, None]) & (others >= 0)).sum(axis=1) / heard for who in (judge, own)]
    return Against(rows, (scores[0] >= scores[1]).astype(np.float64), (scores[1] >= scores[0]).astype(np.float64))


def benjamini_yekutieli(p_values: Sequence[float], q: float) -> list[bool]:
    """Which null hypotheses are rejected, so that at most a share q of the rejected ones is true, whatever their
    dependence."""
    p = np.asarray(p_values, dtype=np.float64)
    m = len(p)
    order = np.argsort(p, kind="stable")
    bounds = np.arange(1, m + 1) / m * q / (1 / np.arange(1, m + 1)).sum()
    under = np.flatnonzero(p[order] <= bounds)
    rejected = np.zeros(m, dtype=bool)
    rejected[order[: under[-1] + 1 if len(under) else 0]] = True
    return [bool(r) for r in rejected]


def alt_test(
    problem: NDArray[np.intp],
    said: NDArray[np.int8],
    judge: NDArray[np.int8],
    names: Sequence[str],
    how: AltTest,
    intervals: Intervals,
) -> Json:
    """The `alt_test` block: winning rate, average advantage probability, and each annotator. `problem` (n,) holds the
    solutions' problems; `said` and `judge` are as in `against`; `names` are the annotators'.

    The t-tests take solutions for independent, as the paper does; the advantage's interval resamples problems.
    """
    block: Json = {"epsilon": how.epsilon, "q": how.q, "annotators": {}}
    if len(names) < FEWEST_ANNOTATORS:
        why = f"the test needs {FEWEST_ANNOTATORS} annotators or more, and there {_are(len(names))}"
        return block | _figures(undefined(why).as_json(), undefined(why).as_json())
    tested: list[str] = []
    p_values: list[float] = []
    columns = np.zeros((len(problem), 0))
    for i, name in enumerate(names):
        found = against(said, judge, i)
        n = len(found.rows)
        enough = n >= max(how.fewest, 2)
        block["annotators"][name] = {
            "n": n,
            "judge_advantage": float(found.judge.mean()) if n else None,
            "annotator_advantage": float(found.annotator.mean()) if n else None,
            "p": found.p_value(how.epsilon) if enough else None,
            "judge_wins": None,
            "why": None
            if enough
            else f"{n} solutions shared with others and the judge, and at least {how.fewest} are needed",
        }
        if enough:
            tested.append(name)
            p_values.append(block["annotators"][name]["p"])
            pair = np.zeros((len(problem), 2))
            pair[found.rows, 0], pair[found.rows, 1] = found.judge, 1
            columns = np.concatenate([columns, pair], axis=1)
    if not tested:
        why = f"no annotator shares {how.fewest} solutions with others and the judge (alt_test.fewest)"
        return block | _figures(undefined(why).as_json(), undefined(why).as_json())
    for name, wins in zip(tested, benjamini_yekutieli(p_values, how.q), strict=True):
        block["annotators"][name]["judge_wins"] = wins
    rate = float(np.mean([block["annotators"][name]["judge_wins"] for name in tested]))
    used = columns[:, 1::2].any(axis=1)
    sums = Sums(problem[used], columns[used])
    advantage = intervals.figure(
        sums, lambda s: np.mean(s[..., 0::2] / s[..., 1::2], axis=-1), "", without_spread=_spread
    )
    winning = undefined("", sums.n, sums.n_problems).as_json() | {"value": rate}
    return block | _figures(winning | {"why": "no interval: it is the outcome of tests"}, advantage.as_json(), rate)


def _spread(u: float) -> tuple[float, float]:
    """As if a share u of the solutions were otherwise, of an advantage that is the same everywhere."""
    return 1 - u, 1.0


def _figures(winning: Json, advantage: Json, rate: float | None = None) -> Json:
    return {
        "winning_rate": winning,
        "advantage": advantage,
        "passed": None if rate is None else rate >= PASSED,
    }


def _are(count: int) -> str:
    return "is one" if count == 1 else f"are {count or 'none'}"

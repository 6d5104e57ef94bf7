"""How a judge took the controls (judge/controls.py): how often it moved where it should, and where it should not."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calibrate.intervals import Intervals
from generate.journal import text_hash
from generate.labels import VERDICTS
from generate.solutions import Solution
from generate.study import Study
from judge.controls import EXPECTED, UNCHANGED, controls_study
from judge.program import problem_hash
from judge.verdicts import Verdict

Json = dict[str, Any]
RANK: dict[str, int] = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
EMPTY = {
    "incorrect": "no variant has a verdict",
    "falls": "no variant has a verdict beside an unchanged solution that the judge calls correct",
    "not_raised": "no variant has a verdict beside an unchanged solution that the judge calls less than correct",
    "same": "no solution was judged both times",
}


@dataclass(frozen=True)
class Taken:
    """One variant, and what a judge says of it and of what it is held against: the unchanged solution, judged beside it;
    for the unchanged solution, the verdict on it in the study."""

    kind: str
    problem: str
    verdict: Verdict
    base: str | None
    """Null: no verdict to compare with."""


def add_controls(metrics: Json, study: Study, intervals: Intervals) -> None:
    """Put `controls` into each judge's block: by kind of variant, or empty where it has judged none as it is described
    now."""
    keys = {name: block["judge_key"] for name, block in metrics["judges"].items()}
    taken = gather_controls(study, keys)
    for name, block in metrics["judges"].items():
        block["controls"] = figures(taken.get(name, ()), intervals)


def gather_controls(study: Study, judge_keys: Mapping[str, str]) -> dict[str, list[Taken]]:
    """By judge, its verdicts on variants of solutions as they are now, under the judge key that the study's verdicts have."""
    home = controls_study(study)
    variants = {s.id: s for s in home.every("solutions", Solution)}
    if not variants:
        return {}
    sources = {s.meta["control"]["of"] for s in variants.values()}
    texts = {s.id: text_hash(s.text) for s in study.every("solutions", Solution) if s.id in sources}
    problems = {name: problem_hash(p) for name, p in study.problems().items()}
    said = _newest(home.every("verdicts", Verdict), judge_keys, variants)
    in_study = _newest(study.every("verdicts", Verdict), judge_keys, sources)
    taken: dict[str, list[Taken]] = {}
    for (judge, name), verdict in sorted(said.items()):
        variant = variants[name]
        about = variant.meta["control"]
        now = (about["of_text"], text_hash(variant.text), problems.get(variant.problem_id))
        if (texts.get(about["of"]), verdict.text_hash, verdict.problem_hash) == now and about["kind"] in EXPECTED:
            if about["kind"] == UNCHANGED:
                base = in_study.get((judge, about["of"]))
            else:
                base = said.get((judge, f"{about['of']}#{UNCHANGED}"))
            of = base.verdict if base is not None else None
            taken.setdefault(judge, []).append(Taken(about["kind"], variant.problem_id, verdict, of))
    return taken


def _newest(
    records: Iterable[Verdict], judge_keys: Mapping[str, str], wanted: Iterable[str]
) -> dict[tuple[str, str], Verdict]:
    names = set(wanted)
    return {
        (r.judge, r.solution_id): r
        for r in records
        if r.solution_id in names and judge_keys.get(r.judge) == r.judge_key
    }


def figures(taken: Iterable[Taken], intervals: Intervals) -> Json:
    """For each kind of variant: the share that the judge took as expected, which way it moved, and its failures.

    The share rests on those that could show it: for `falls` the unchanged solution was correct, for `not_raised` it was
    not. A variant that the judge failed on is in `errors` and in no share.
    """
    by_kind: dict[str, list[Taken]] = {}
    for one in taken:
        by_kind.setdefault(one.kind, []).append(one)
    return {kind: _figures(EXPECTED[kind], by_kind[kind], intervals) for kind in EXPECTED if kind in by_kind}


def _figures(expected: str, taken: list[Taken], intervals: Intervals) -> Json:
    errors = Counter(t.verdict.error.kind if t.verdict.error else "no_verdict" for t in taken if not t.verdict.verdict)
    judged = [t for t in taken if t.verdict.verdict is not None]
    steps = [RANK[str(t.verdict.verdict)] - RANK[t.base] for t in judged if t.base is not None]
    shown = [t for t in judged if _could_show(expected, t)]
    share = intervals.share([t.problem for t in shown], [_as_expected(expected, t) for t in shown], EMPTY[expected])
    return {
        "expectation": expected,
        "as_expected": share.as_json(),
        "made": len(taken),
        "errors": dict(sorted(errors.items())),
        "not_compared": len(judged) - len(shown),
        "raised": sum(s > 0 for s in steps),
        "lowered": sum(s < 0 for s in steps),
        "stayed": sum(s == 0 for s in steps),
    }


def _could_show(expected: str, taken: Taken) -> bool:
    if expected == "incorrect":
        return True
    if taken.base is None:
        return False
    return expected == "same" or (taken.base == "correct") == (expected == "falls")


def _as_expected(expected: str, taken: Taken) -> bool:
    verdict, base = str(taken.verdict.verdict), taken.base or ""
    if expected == "incorrect":
        return verdict == "incorrect"
    if expected == "falls":
        return verdict != "correct"
    return verdict == base if expected == "same" else RANK[verdict] <= RANK[base]

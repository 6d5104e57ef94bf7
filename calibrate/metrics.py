"""metrics.json: all figures of one report, in the shape of calibrate/report/metrics.schema.json."""

from collections import Counter
from collections.abc import Collection, Mapping
from statistics import median_low
from typing import Any

from calibrate.gold import Case, case, final_answer_accuracy, grouped, metrics
from calibrate.intervals import Intervals
from calibrate.material import Judge, Material
from calibrate.pairs import Pair, Said, Terms, agreement, passes
from calibrate.sample import sampling_of
from generate.labels import VERDICTS, HumanLabel
from generate.solutions import Solution
from judge.adjudication import Gold

Json = dict[str, Any]


def build(material: Material, terms: Terms, intervals: Intervals) -> Json:
    """All figures. `planted` is null where nothing is planted; human gold without labels is there, and says why."""
    m = material
    return {
        "study": m.study,
        "n_problems": len({s.problem_id for s in m.solutions.values()}),
        "n_solutions": len(m.solutions),
        "solutions": _solutions(m),
        "annotators": _annotators(m.labels.counting),
        "sampling": sampling_of(m.labels.counting),
        "human_gold": _gold(m, m.human, terms, intervals, "there are no human labels"),
        "planted": _gold(m, m.planted, terms, intervals, "nothing is planted") if m.planted else None,
        "final_answers": _final_answers(m, intervals),
        "judges": {name: _judge(m, judge, terms, intervals) for name, judge in m.judges.items()},
        "baselines": {"constant": _constant(m, terms, intervals)} if m.human or m.planted else {},
        "left_out": _left_out(m),
        "notes": _notes(m),
    }


def _annotators(labels: list[HumanLabel]) -> list[Json]:
    counts = Counter((x.kind, x.annotator) for x in labels)
    return [{"annotator": who, "kind": kind, "labels": n} for (kind, who), n in sorted(counts.items())]


def _solutions(m: Material) -> Json:
    """How the solvers fared. A reply that the token limit cut off counts as that, whatever else is wrong with it."""

    def counts(of: Collection[Solution]) -> Json:
        cut_off = sum(s.cut_off for s in of)
        errors = Counter(s.error.kind for s in of if s.error and not s.cut_off)
        written = len(of) - cut_off - errors.total()
        return {"written": written, "cut_off": cut_off, "errors": dict(sorted(errors.items()))}

    by_model: dict[str, list[Solution]] = {}
    for s in m.solutions.values():
        by_model.setdefault(s.model, []).append(s)
    return {
        "overall": counts(m.solutions.values()),
        "by_model": {model: counts(of) for model, of in sorted(by_model.items())},
    }


def _said(gold: Gold) -> Said:
    return Said(gold.verdict, gold.binary, gold.points, gold.max_points, gold.tags)


def _case(m: Material, solution_id: str, said: Said, human: bool | None) -> Case:
    solution = m.solutions[solution_id]
    problem = m.problems.get(solution.problem_id)
    opinions = {model: said_of[solution_id] for model, said_of in m.opinions.items() if solution_id in said_of}
    return case(solution, problem, m.answers.get(solution_id), m.lenient.get(solution_id), opinions, human, said)


def _gold(m: Material, golds: Mapping[str, Gold], terms: Terms, intervals: Intervals, empty: str) -> Json:
    cases = [_case(m, name, _said(gold), gold.answer_correct) for name, gold in golds.items()]
    return grouped(cases, lambda group: metrics(group, terms.tags, intervals, empty))


def _human_answer(m: Material, solution_id: str) -> bool | None:
    gold = m.human.get(solution_id)
    return gold.answer_correct if gold else None


def _final_answers(m: Material, intervals: Intervals) -> Json:
    """Final-answer accuracy over all solutions, labelled or not. No judge has a part in it."""
    cases = [_case(m, name, Said(), _human_answer(m, name)) for name in sorted(m.solutions)]
    groups = grouped(cases, lambda group: final_answer_accuracy(group, intervals, "there are no solutions"))
    del groups["by_answer_type"]
    return groups


def _pairs(m: Material, golds: Mapping[str, Gold], said: Mapping[str, Said | None]) -> list[Pair]:
    return [Pair(m.solutions[k].problem_id, _said(gold), said[k]) for k, gold in golds.items() if k in said]


def _coverage(golds: Mapping[str, Gold], judge: Judge) -> Json:
    """`missing`: labelled, and the judge failed on it. `unjudged`: labelled, and the judge never saw it."""
    met = [judge.said[k] for k in golds if k in judge.said]
    both = sum(said is not None for said in met)
    return {"labelled": len(golds), "both": both, "missing": len(met) - both, "unjudged": len(golds) - len(met)}


def _without_text(m: Material, judge: Judge) -> int:
    """Solutions that were not judged and have no text to judge; recorded judges need none here."""
    return sum(not s.text or s.error is not None for k, s in m.solutions.items() if k not in judge.said)


def _judge(m: Material, judge: Judge, terms: Terms, intervals: Intervals) -> Json:
    block = {
        "judge_key": judge.judge_key,
        "other_judge_keys": judge.other_keys,
        "coverage": {
            "judged": sum(said is not None for said in judge.said.values()),
            "errors": judge.errors,
            **_coverage(m.human, judge),
            "without_text": _without_text(m, judge),
        },
        "unknown_tags": judge.unknown_tags,
        "agreement": agreement(_pairs(m, m.human, judge.said), terms, intervals),
    }
    if m.planted:
        against = agreement(_pairs(m, m.planted, judge.said), terms, intervals)
        block["against_planted"] = {"coverage": _coverage(m.planted, judge), **against}
    cases = [_case(m, k, said, _human_answer(m, k)) for k, said in judge.said.items() if said is not None]
    empty = "this judge has no verdicts"
    block["estimates"] = {"raw": grouped(cases, lambda group: metrics(group, terms.tags, intervals, empty))}
    return block


def _constant(m: Material, terms: Terms, intervals: Intervals) -> Json:
    """The best predictor that says the same of every solution, for each kind of figure another: the commonest verdict,
    the commoner of pass and not, the median of the points, no tag."""
    block: Json = {}
    for key, golds in (("agreement", m.human), ("against_planted", m.planted)):
        if golds:
            labels = [_said(gold) for gold in golds.values()]
            said, passing = _commonest(labels), _commoner(labels, terms.pass_threshold)
            figures = agreement(_pairs(m, golds, dict.fromkeys(golds, said)), terms, intervals)
            about_passing = _pairs(m, golds, dict.fromkeys(golds, passing))
            block[key] = {
                "verdict_said": said.verdict,
                "pass_said": passes(passing, terms.pass_threshold),
                "points_said": said.points,
                **figures,
                "pass": agreement(about_passing, terms, intervals)["pass"],
            }
    return block


def _commoner(golds: list[Said], threshold: float | None) -> Said:
    """Something that passes, or something that does not, as most labels have it; of a tie the latter."""
    known = [p for g in golds if (p := passes(g, threshold)) is not None]
    if not known:
        return Said()
    passing = 2 * sum(known) > len(known)
    if threshold is None:
        return Said(verdict="correct" if passing else "incorrect")
    return Said(points=threshold if passing else threshold - 1)


def _commonest(golds: list[Said]) -> Said:
    verdicts = Counter(g.verdict for g in golds if g.verdict is not None and not g.binary)
    points = [g.points for g in golds if g.points is not None]
    return Said(
        verdict=max(VERDICTS, key=lambda v: verdicts[v]) if verdicts else None,  # of a tie the lower one
        points=median_low(points) if points else None,
        tags=frozenset() if any(g.tags is not None for g in golds) else None,
    )


def _left_out(m: Material) -> Json:
    def named(labels: list[HumanLabel]) -> list[Json]:
        return [{"solution_id": x.solution_id, "annotator": x.annotator, "kind": x.kind} for x in labels]

    return {
        "labels_without_solution": named(m.labels.unjoined),
        "labels_of_changed_text": named(m.labels.changed),
        "unresolved": {
            kind: [name for name, gold in golds.items() if gold.unresolved]
            for kind, golds in (("human", m.human), ("planted", m.planted))
        },
        "verdicts_without_solution": {name: j.unjoined for name, j in m.judges.items() if j.unjoined},
        "verdicts_of_changed_text": {name: x for name, j in m.judges.items() if (x := j.changed["text"])},
        "verdicts_of_changed_problem": {name: x for name, j in m.judges.items() if (x := j.changed["problem"])},
        "answers_of_changed_text": m.old_answers.get("text", []),
        "answers_of_changed_gold": m.old_answers.get("gold", []),
    }


def _notes(m: Material) -> list[str]:
    notes = []
    if any(x.weight != 1 or x.stratum for x in m.labels.counting):
        notes.append(
            "Some labels carry weights or strata. This version does not use them: shares are of the labelled rows."
        )
    if m.judges and not m.human:
        notes.append("Without human labels nothing here says how far a judge can be trusted.")
    return notes

"""metrics.json: all figures of one report, in the shape of calibrate/report/metrics.schema.json."""

from collections import Counter
from collections.abc import Mapping
from statistics import median_low
from typing import Any

from calibrate.gold import Case, case, final_answer_accuracy, grouped, metrics
from calibrate.intervals import Intervals
from calibrate.labels import Gold
from calibrate.material import Judge, Material
from calibrate.pairs import Pair, Said, Terms, agreement
from generate.labels import VERDICTS, HumanLabel

Json = dict[str, Any]


def build(material: Material, terms: Terms, intervals: Intervals) -> Json:
    """All figures. `planted` is null where nothing is planted; human gold without labels is there, and says why."""
    m = material
    return {
        "study": m.study,
        "n_problems": len({s.problem_id for s in m.solutions.values()}),
        "n_solutions": len(m.solutions),
        "annotators": _annotators(m.labels.counting),
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


def _case(m: Material, solution_id: str, said: Said, human: bool | None) -> Case:
    solution = m.solutions[solution_id]
    problem = m.problems.get(solution.problem_id)
    opinions = {model: said_of[solution_id] for model, said_of in m.opinions.items() if solution_id in said_of}
    return case(solution, problem, m.answers.get(solution_id), m.lenient.get(solution_id), opinions, human, said)


def _gold(m: Material, golds: Mapping[str, Gold], terms: Terms, intervals: Intervals, empty: str) -> Json:
    cases = [_case(m, name, gold.said, gold.answer_correct) for name, gold in golds.items()]
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
    return [Pair(m.solutions[k].problem_id, gold.said, said[k]) for k, gold in golds.items() if k in said]


def _coverage(golds: Mapping[str, Gold], judge: Judge) -> Json:
    """`missing`: labelled, and the judge failed on it. `unjudged`: labelled, and the judge never saw it."""
    met = [judge.said[k] for k in golds if k in judge.said]
    both = sum(said is not None for said in met)
    return {"labelled": len(golds), "both": both, "missing": len(met) - both, "unjudged": len(golds) - len(met)}


def _judge(m: Material, judge: Judge, terms: Terms, intervals: Intervals) -> Json:
    block = {
        "judge_key": judge.judge_key,
        "other_judge_keys": judge.other_keys,
        "coverage": {
            "judged": sum(said is not None for said in judge.said.values()),
            "errors": judge.errors,
            **_coverage(m.human, judge),
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
    """The predictor that says the same of every solution: the commonest verdict, the median of the points, no tag."""
    block: Json = {}
    for key, golds in (("agreement", m.human), ("against_planted", m.planted)):
        if golds:
            said = _commonest([gold.said for gold in golds.values()])
            pairs = _pairs(m, golds, dict.fromkeys(golds, said))
            block[key] = {
                "verdict_said": said.verdict,
                "points_said": said.points,
                **agreement(pairs, terms, intervals),
            }
    return block


def _commonest(golds: list[Said]) -> Said:
    verdicts = Counter(g.verdict for g in golds if g.verdict is not None)
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
        "verdicts_of_changed_text": {name: j.changed for name, j in m.judges.items() if j.changed},
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

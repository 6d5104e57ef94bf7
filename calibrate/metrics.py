"""metrics.json: all figures of one report, in the shape of calibrate/report/metrics.schema.json."""

from collections import Counter
from dataclasses import replace
from statistics import median_low
from typing import Any

import numpy as np

from calibrate.alt_test import AltTest
from calibrate.annotators import People, alt_test_of, by_annotator, ceiling, human_human, people
from calibrate.calibration import calibration
from calibrate.columns import Said, blank, one_hot
from calibrate.corrections import Aim, estimates, pool_of
from calibrate.differences import between_judges, between_models
from calibrate.gold import Cases, cases, errors_by_kind, final_answer_accuracy, grouped, metrics
from calibrate.intervals import Intervals
from calibrate.material import OUTCOMES, Judge, Material
from calibrate.pairs import CORRECT, Terms, agreement, passes
from calibrate.sample import sampling_of
from generate.labels import VERDICTS, HumanLabel

Json = dict[str, Any]


def build(material: Material, terms: Terms, intervals: Intervals, alternative: AltTest | None = None) -> Json:
    """All figures. `planted` is null where nothing is planted; human gold without labels is there, and says why."""
    m = material
    who = people(m.labels.counting, m.solutions, terms.tags)
    alternative = alternative or AltTest()
    return {
        "study": m.study,
        "split": "all",  # the stage says which split it is, and tests the gates
        "lockbox_openings": [],
        "gates": [],
        "n_problems": len(m.solutions.problem.names),
        "n_solutions": len(m.solutions),
        "solutions": _solutions(m),
        "annotators": _annotators(m.labels.counting),
        "sampling": sampling_of(m.labels.counting),
        "human_gold": _gold(m, m.human, terms, intervals, "there are no human labels"),
        "planted": _gold(m, m.planted, terms, intervals, "nothing is planted") if len(m.planted) else None,
        "final_answers": _final_answers(m, intervals),
        "judges": {name: _judge(m, judge, who, terms, intervals, alternative) for name, judge in m.judges.items()},
        "human_human": human_human(who, terms, intervals),
        "differences": _differences(m, terms, intervals),
        "baselines": {"constant": _constant(m, terms, intervals)} if len(m.human) or len(m.planted) else {},
        "left_out": _left_out(m),
        "notes": _notes(m),
    }


def _annotators(labels: list[HumanLabel]) -> list[Json]:
    counts = Counter((x.kind, x.annotator) for x in labels)
    return [{"annotator": who, "kind": kind, "labels": n} for (kind, who), n in sorted(counts.items())]


def _solutions(m: Material) -> Json:
    """How the solvers fared. A reply that the token limit cut off counts as that, whatever else is wrong with it."""
    s = m.solutions

    def counts(rows: Any) -> Json:
        cut_off = s.cut_off[rows]
        errors = errors_by_kind(s.error.at(rows).at(~cut_off))
        written = len(cut_off) - int(cut_off.sum()) - sum(errors.values())
        return {"written": written, "cut_off": int(cut_off.sum()), "errors": errors}

    return {
        "overall": counts(np.arange(len(s))),
        "by_model": {model: counts(rows) for model, rows in s.model.groups()},
    }


def _gold(m: Material, said: Said, terms: Terms, intervals: Intervals, empty: str) -> Json:
    return grouped(cases(m, said), lambda group: metrics(group, terms.tags, intervals, empty))


def _with_human_answers(m: Material, said: Said) -> Cases:
    """What a judge (or nobody) says of solutions, beside their final answers as humans have them, where they say so."""
    at = m.human.of_rows(said.row)
    human = np.where(at < 0, np.int8(-1), m.human.answer_correct[at] if len(m.human) else np.int8(-1)).astype(np.int8)
    return cases(m, said, human)


def _final_answers(m: Material, intervals: Intervals) -> Json:
    """Final-answer accuracy over all solutions, labelled or not. No judge has a part in it."""
    every = _with_human_answers(m, blank(np.arange(len(m.solutions)), 0))
    groups = grouped(every, lambda group: final_answer_accuracy(group, intervals, "there are no solutions"))
    del groups["by_answer_type"]
    return groups


def _agreement(m: Material, labels: Said, judge: Said, terms: Terms, intervals: Intervals) -> Json:
    """Of the solutions that both speak of."""
    at = judge.of_rows(labels.row)
    met = at >= 0
    problem = m.solutions.problem.codes[labels.row[met]]
    return agreement(problem, labels.at(met), judge.at(at[met]), terms, intervals)


def _coverage(labels: Said, judge: Judge) -> Json:
    """`missing`: labelled, and the judge failed on it. `unjudged`: labelled, and the judge never saw it."""
    at = judge.said.of_rows(labels.row)
    met = at[at >= 0]
    both = int((~judge.said.failed[met]).sum())
    return {"labelled": len(labels), "both": both, "missing": len(met) - both, "unjudged": len(at) - len(met)}


def _without_text(m: Material, judge: Judge) -> int:
    """Solutions that were not judged and have no text to judge; recorded judges need none here."""
    textless = ~m.solutions.has_text | (m.solutions.error.codes >= 0)
    textless[judge.said.row] = False
    return int(textless.sum())


def _judge(m: Material, judge: Judge, who: People, terms: Terms, intervals: Intervals, alternative: AltTest) -> Json:
    spoken = judge.said.at(~judge.said.failed)
    block = {
        "judge_key": judge.judge_key,
        "other_judge_keys": judge.other_keys,
        "coverage": {
            "judged": len(spoken),
            "errors": judge.errors,
            **_coverage(judge.human, judge),
            "without_text": _without_text(m, judge),
        },
        "unknown_tags": judge.unknown_tags,
        "grounded": _grounded(m, judge, intervals),
        "trained": judge.compiled,
        "agreement": _agreement(m, judge.human, judge.said, terms, intervals),
        **_beside_people(who, judge, terms, intervals, alternative),
    }
    if len(m.planted):
        against = _agreement(m, judge.planted, judge.said, terms, intervals)
        block["against_planted"] = {"coverage": _coverage(judge.planted, judge), **against}
    empty = "this judge has no verdicts"
    of = _with_human_answers(m, spoken)
    raw = grouped(of, lambda group: metrics(group, terms.tags, intervals, empty))
    block["estimates"] = {"raw": raw} | _corrected(m, judge, terms)
    at = judge.said.of_rows(judge.human.row)
    label, said = judge.human.at(at >= 0), judge.said.at(at[at >= 0])
    problem = m.solutions.problem.codes[said.row]
    block["calibration"] = calibration(problem, said, label, terms.tags, terms.calibration, intervals)
    return block


def _corrected(m: Material, judge: Judge, terms: Terms) -> Json:
    """Of all solutions that the judge was asked about, those that it failed on among them; but of no problem whose labels
    a trained judge saw, since it reads these otherwise than any new one."""
    designs = frozenset(sampling_of(m.labels.counting)["designs"])
    problem = m.solutions.problem
    unseen = np.array([name not in judge.seen for name in problem.names], dtype=bool)
    said = judge.said.at(unseen[problem.codes[judge.said.row]]) if judge.seen else judge.said
    pool = pool_of(m.solutions, said, m.answers.outcome == OUTCOMES.index("equal"), judge.human)
    return estimates(pool, Aim(terms.tags, terms.estimand, designs))


def _beside_people(who: People, judge: Judge, terms: Terms, intervals: Intervals, alternative: AltTest) -> Json:
    """The judge beside the annotators, on the solutions whose labels it may be held against."""
    there = who if judge.compiled is None else who.on(judge.human.row)
    return {
        "by_annotator": by_annotator(there, judge.said, terms, intervals),
        "ceiling": ceiling(there, judge.said, terms, intervals),
        "alt_test": alt_test_of(there, judge.said, terms, alternative, intervals),
    }


def _differences(m: Material, terms: Terms, intervals: Intervals) -> Json:
    labels = {name: judge.human for name, judge in m.judges.items()}
    said = {name: judge.said for name, judge in m.judges.items()}
    problem = m.solutions.problem.codes
    return {
        "judges": between_judges(problem, labels, said, terms.missing, terms.pass_threshold, intervals),
        "models": between_models(cases(m, m.human), intervals),
    }


def _grounded(m: Material, judge: Judge, intervals: Intervals) -> Json:
    """Of the tags that it named with a quote, the share whose quote stands in the solution."""
    problems = m.solutions.problem.codes[judge.quoted]
    return intervals.share(problems, judge.grounded, "this judge quotes nothing").as_json()


def _constant(m: Material, terms: Terms, intervals: Intervals) -> Json:
    """The best predictor that says the same of every solution, for each kind of figure another: the commonest verdict,
    the commoner of pass and not, the median of the points, no tag."""
    block: Json = {}
    for key, labels in (("agreement", m.human), ("against_planted", m.planted)):
        if len(labels):
            said, passing = _commonest(labels), _commoner(labels, terms.pass_threshold)
            figures = _agreement(m, labels, said, terms, intervals)
            known = passes(passing, terms.pass_threshold)
            block[key] = {
                "verdict_said": VERDICTS[said.verdict[0]] if said.verdict[0] >= 0 else None,
                "pass_said": bool(known[0]) if known[0] >= 0 else None,
                "points_said": None if np.isnan(said.points[0]) else float(said.points[0]),
                **figures,
                "pass": _agreement(m, labels, passing, terms, intervals)["pass"],
            }
    return block


def _always(labels: Said, verdict: int = -1, points: float = np.nan, tags: float = np.nan) -> Said:
    """The same said of every labelled solution."""
    said = blank(labels.row, labels.tags.shape[1])
    verdicts = np.full(len(labels), verdict, dtype=np.int8)
    each = np.full(len(labels), points)
    return replace(said, verdict=verdicts, shares=one_hot(verdicts), points=each, tags=np.full_like(said.tags, tags))


def _commoner(labels: Said, threshold: float | None) -> Said:
    """Something that passes, or something that does not, as most labels have it; of a tie the latter."""
    known = passes(labels, threshold)
    known = known[known >= 0]
    if not len(known):
        return _always(labels)
    passing = 2 * int(known.sum()) > len(known)
    if threshold is None:
        return _always(labels, verdict=CORRECT if passing else 0)
    return _always(labels, points=threshold if passing else threshold - 1)


def _commonest(labels: Said) -> Said:
    worded = labels.verdict[(labels.verdict >= 0) & ~labels.binary]
    points = labels.points[~np.isnan(labels.points)]
    return _always(
        labels,
        verdict=int(np.bincount(worded).argmax()) if len(worded) else -1,  # of a tie the lower one
        points=float(median_low(points.tolist())) if len(points) else np.nan,
        tags=0.0 if labels.tagged.any() else np.nan,
    )


def _left_out(m: Material) -> Json:
    def named(labels: list[HumanLabel]) -> list[Json]:
        return [{"solution_id": x.solution_id, "annotator": x.annotator, "kind": x.kind} for x in labels]

    return {
        "labels_without_solution": named(m.labels.unjoined),
        "labels_of_changed_text": named(m.labels.changed),
        "unresolved": {
            kind: [m.solutions.ids[row] for row in said.row[said.tied]]
            for kind, said in (("human", m.human), ("planted", m.planted))
        },
        "unresolved_fallacies": {
            kind: [m.solutions.ids[row] for row in said.row[said.tied_tags.any(axis=1)]]
            for kind, said in (("human", m.human), ("planted", m.planted))
        },
        "verdicts_without_solution": {name: j.unjoined for name, j in m.judges.items() if j.unjoined},
        "verdicts_of_changed_text": {name: x for name, j in m.judges.items() if (x := j.changed["text"])},
        "verdicts_of_changed_problem": {name: x for name, j in m.judges.items() if (x := j.changed["problem"])},
        "answers_of_changed_text": m.answers.changed["text"],
        "answers_of_changed_gold": m.answers.changed["gold"],
    }


def _notes(m: Material) -> list[str]:
    notes = []
    if any(x.weight != 1 for x in m.labels.counting):
        notes.append(
            "Labels carry weights: shares of the human gold are weighted, agreement counts each labelled row once."
        )
    if m.judges and not len(m.human):
        notes.append("Without human labels nothing here says how far a judge can be trusted.")
    return notes

"""The `estimates` of a judge in metrics.json: the gold metrics over all solutions that it was asked about, corrected by
the labelled ones. `estimate.py` has the formulas; here their rows are found, and what can't be estimated is refused."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrate.calibration import verdict_probabilities
from calibrate.columns import Bools, Names, Rows, Said, Solutions
from calibrate.estimate import (
    Corrected,
    Estimand,
    Units,
    corrected,
    count_of,
    inverted,
    why_too_few,
)
from calibrate.estimate import Rows as LabelledRows
from calibrate.gold import groupings
from calibrate.intervals import NO_INTERVAL, Array, Estimate, undefined, warning_of
from generate.labels import VERDICTS

Json = dict[str, Any]
INCORRECT, PARTIAL, CORRECT = range(len(VERDICTS))
METHODS: dict[Estimand, str] = {
    "problems": "PPI++ over problems, wilson form",
    "pool": "PPI++ for these solutions alone, wilson form",
}
NO_LABELS = "no labels for this model"
KEYS = ("final_answer_accuracy", "correct_given_correct_answer", "correct", "partially_correct", "incorrect")
INVERTED = "confusion matrix inverted, delta method, wilson form"
ONE_BY_ONE = {"random", "stratified"}
"""Designs that draw solutions, not whole problems."""


@dataclass(frozen=True)
class Pool:
    """N solutions that a judge was asked about, those that it failed on among them, and n labels."""

    problem: Names
    model: Names
    topic: Names
    source: Names
    has_answer: Bools
    """Its problem has a final answer."""
    right: Bools
    """The answer is right, as the checker finds it."""
    said: Array
    """(N, 3 + tags) what the judge says: for each verdict and tag, 0 to 1. Zeros where it failed."""
    at_label: Rows
    """(N,) each row's place in `label`; -1: none."""
    label: Said
    """(n,)"""
    verdicts: str | None
    """Why the judge says nothing of verdicts; null where it does."""
    tags: str | None
    """Why it says nothing of tags."""

    def __len__(self) -> int:
        return len(self.right)

    def at(self, index: Any) -> "Pool":
        """These rows alone."""
        names = {k: getattr(self, k).at(index) for k in ("problem", "model", "topic", "source")}
        arrays = {k: getattr(self, k)[index] for k in ("has_answer", "right", "at_label")}
        said = np.empty((len(arrays["right"]), self.said.shape[1]), order="F")
        for k in range(said.shape[1]):
            said[:, k] = self.said[index, k]
        return replace(self, **names, **arrays, said=said)


def pool_of(s: Solutions, said: Said, equal: Bools, human: Said) -> Pool:
    """`said`: what a judge says, failures among it. `equal`: of all solutions, whether the checker finds the answer equal
    to the gold answer. `human`: labels."""
    spoken = ~said.failed
    table = np.zeros((len(said), len(VERDICTS) + said.tags.shape[1]), order="F")
    p = verdict_probabilities(said)
    table[:, : len(VERDICTS)] = np.where(p.sum(axis=1, keepdims=True) > 0, p, said.shares)
    for i in range(said.tags.shape[1]):
        column = said.tags[:, i]
        if said.tag_probabilities is not None:
            q = said.tag_probabilities[:, i]
            column = np.where(np.isnan(q), column, q)
        table[:, len(VERDICTS) + i] = np.nan_to_num(column)
    return Pool(
        problem=s.problem.at(said.row),
        model=s.model.at(said.row),
        topic=s.topic.at(said.row),
        source=s.source.at(said.row),
        has_answer=s.gold_answer[said.row],
        right=(equal & ~s.cut_off & (s.error.codes < 0))[said.row],
        said=table,
        at_label=human.of_rows(said.row),
        label=human,
        verdicts=None if (said.verdict[spoken] >= 0).any() else "this judge gives no verdicts",
        tags=None if said.tagged.any() else "this judge does not tag",
    )


@dataclass(frozen=True)
class Aim:
    """How estimates are made."""

    tags: tuple[str, ...]
    estimand: Estimand
    designs: frozenset[str]
    """How the labelled solutions were drawn."""


def estimates(pool: Pool, aim: Aim) -> Json:
    """`corrected` and `inverted`, each with the keys of human gold, and what they are about. Models without enough labels
    of their own are refused, and no part of what is pooled: the judge may err otherwise on them."""
    enough = np.zeros(len(pool), dtype=bool)
    labelled = _has_label(pool)
    refused: dict[str, str] = {}
    for model, rows in pool.model.groups():
        few = why_too_few(pool.problem.codes[rows[labelled[rows]]])
        if few is None:
            enough[rows] = True
        else:
            refused[model] = f"{NO_LABELS}: {few}" if labelled[rows].any() else NO_LABELS
    covered = pool if enough.all() else pool.at(enough)
    both = {"overall": _metrics(covered, aim)} | {
        key: {name: _metrics(covered.at(rows), aim) for name, rows in names.groups()}
        for key, names in groupings(covered)
    }
    both["by_model"] |= {model: _refused(aim, why) for model, why in refused.items()}
    both["by_model"] = dict(sorted(both["by_model"].items()))
    return {
        "estimand": aim.estimand,
        "models": sorted({name for name, _ in covered.model.groups()}),
        "models_without_labels": sorted(refused),
        "solutions": len(covered),
        "labelled": int(_has_label(covered).sum()),
        "lambda": _lambdas(both["overall"]["corrected"]),
        "corrected": _part(both, "corrected"),
        "inverted": _part(both, "inverted"),
    }


def _has_label(pool: Pool) -> Bools:
    """Which rows have a human verdict, or tags."""
    of = (pool.label.shares.sum(axis=1) > 0) | pool.label.tagged
    found: Bools = np.append(of, False)[pool.at_label]  # -1 finds the last one
    return found


def _part(both: Json, which: str) -> Json:
    return {
        key: of[which] if key == "overall" else {name: group[which] for name, group in of.items()}
        for key, of in both.items()
    }


def _lambdas(metrics: Json) -> Json:
    """Of the figures over all solutions, the lambda of each."""
    own = {key: e.get("lambda") for key, e in metrics.items() if key != "fallacies"}
    return own | {"fallacies": {tag: e.get("lambda") for tag, e in metrics["fallacies"].items()}}


def _refused(aim: Aim, why: str) -> Json:
    no = undefined(why).as_json()
    corrected_keys = dict.fromkeys(KEYS, no | {"lambda": None})
    return {
        "corrected": corrected_keys | {"fallacies": dict.fromkeys(aim.tags, no | {"lambda": None})},
        "inverted": dict.fromkeys(KEYS[2:], no) | {"fallacies": dict.fromkeys(aim.tags, no)},
    }


def _metrics(pool: Pool, aim: Aim) -> Json:
    """The corrected and the inverted figures of one group."""
    group = _Group(pool, aim)
    label, k = group.label, len(VERDICTS)
    has_verdict = label.shares.sum(axis=1) > 0
    said, verdicts, tags = pool.said, (pool.verdicts if len(pool) else None), (pool.tags if len(pool) else None)

    three = has_verdict & ~label.binary
    only = "the labels only say pass or not" if has_verdict.any() and not three.any() else None
    whole = group.part(three, label.shares, said[:, :k], verdicts or only)
    shares = whole.shares()
    if bool((has_verdict & label.binary).any()):  # who only said pass or not said that much
        shares["correct"] = group.part(has_verdict, label.shares[:, CORRECT:], said[:, CORRECT:k], verdicts).share()
    by_tag = {
        tag: group.part(label.tagged, label.tags[:, i : i + 1], said[:, k + i : k + i + 1], tags)
        for i, tag in enumerate(aim.tags)
    }
    fixed = {
        "final_answer_accuracy": _final_answers(group),
        "correct_given_correct_answer": _given_right(group, has_verdict, verdicts),
        **shares,
        "fallacies": {tag: part.share() for tag, part in by_tag.items()},
    }
    back = whole.inverted_shares() | {"fallacies": {tag: part.inverted_share() for tag, part in by_tag.items()}}
    return {"corrected": fixed, "inverted": back}


def _final_answers(group: "_Group") -> Json:
    """The checker's word corrected by people's, where they say whether answers are right."""
    told = group.label.answer_correct
    why = None if (told >= 0).any() else "no human says whether final answers are right: see final_answers"
    y, f = (told == 1)[:, None].astype(np.float64), group.pool.right[:, None].astype(np.float64)
    return group.part(told >= 0, y, f, why, group.pool.has_answer).share()


def _given_right(group: "_Group", has_verdict: Bools, why: str | None) -> Json:
    """A mean over the solutions whose answer is right. Where people say for the labelled ones which are, and the checker
    for the others, it is a ratio of two estimates."""
    pool, label, says = group.pool, group.label, group.pool.said[:, CORRECT]
    checked = pool.has_answer & pool.right
    if not (label.answer_correct >= 0).any():
        return group.part(has_verdict, label.shares[:, CORRECT:], says[:, None], why, checked).share()
    right = np.where(label.answer_correct >= 0, label.answer_correct == 1, checked[group.labelled]).astype(np.float64)
    y = np.stack([right * label.shares[:, CORRECT], right], axis=-1)
    return group.part(has_verdict, y, np.stack([checked * says, checked.astype(np.float64)], axis=-1), why).ratio()


class _Group:
    """The rows of one group of figures, with their labels in the same order."""

    def __init__(self, pool: Pool, aim: Aim):
        self.pool, self.aim = pool, aim
        self.labelled = np.flatnonzero(pool.at_label >= 0)
        self.label = pool.label.at(pool.at_label[self.labelled])
        self.units = Units(pool.problem.codes, pool.model.codes) if len(pool) else None

    def part(self, some: Bools, y: Array, f: Array, why: str | None, about: Bools | None = None) -> "_Part":
        """`some`: which of the labelled rows count; `y` (labelled rows, K), `f` (all rows, K): what people and the judge
        say. `why`: a reason to refuse the figure. `about`: the rows that it is about; null: all."""
        if about is not None:
            some = some & about[self.labelled]
        labelled, problems = self.labelled[some], self.pool.problem.codes
        few = why_too_few(problems[labelled]) if why is None else why
        if few is not None or self.units is None:
            return _Part(self.aim, None, y, f, few, len(labelled), count_of(problems[labelled]))
        units = self.units
        if about is not None and not about.all():
            units, f = Units(problems[about], self.pool.model.codes[about]), f[about]
            labelled = (np.cumsum(about) - 1)[labelled]
        strata = self.label.stratum.codes[some] if "stratified" in self.aim.designs else None
        one_by_one = bool(self.aim.designs) and self.aim.designs <= ONE_BY_ONE
        rows = LabelledRows(units, labelled, self.label.weight[some], one_by_one, strata)
        return _Part(self.aim, rows, y[some], f, None, len(labelled), count_of(rows.problem))


@dataclass(frozen=True)
class _Part:
    """The rows that one figure rests on."""

    aim: Aim
    rows: LabelledRows | None
    y: Array
    f: Array
    why: str | None
    """Why there is no figure."""
    n: int
    n_problems: int

    def shares(self) -> dict[str, Json]:
        """The three verdicts, under one lambda."""
        if self.rows is None:
            return {v: self._no(str(self.why)) for v in reversed(VERDICTS)}
        found = corrected(self.rows, self.y, self.f, self.aim.estimand).of_one()
        return {VERDICTS[k]: self._yes(found, k) for k in (CORRECT, PARTIAL, INCORRECT)}

    def share(self) -> Json:
        if self.rows is None:
            return self._no(str(self.why))
        return self._yes(corrected(self.rows, self.y, self.f, self.aim.estimand), 0)

    def ratio(self) -> Json:
        """The first of two sums over the second."""
        if self.rows is None:
            return self._no(str(self.why))
        found = corrected(self.rows, self.y, self.f, self.aim.estimand).ratio()
        if found is None:
            return self._no("no right final answers, as far as can be told")
        return self._yes(found, 0)

    def inverted_shares(self) -> dict[str, Json]:
        if self.rows is None:
            return {v: undefined(str(self.why)).as_json() for v in reversed(VERDICTS)}
        found = inverted(self.rows, self.y, self.f, self.aim.estimand)
        return {VERDICTS[k]: self._inverted(found, k) for k in (CORRECT, PARTIAL, INCORRECT)}

    def inverted_share(self) -> Json:
        """Of one thing that is borne or not."""
        if self.rows is None:
            return undefined(str(self.why)).as_json()
        y, f = np.concatenate([self.y, 1 - self.y], axis=1), np.concatenate([self.f, 1 - self.f], axis=1)
        return self._inverted(inverted(self.rows, y, f, self.aim.estimand), 0)

    def _inverted(self, found: Corrected | str, k: int) -> Json:
        if isinstance(found, str):
            return undefined(found, self.n, self.n_problems).as_json()
        value = float(found.value[k])
        outside = None if 0 <= value <= 1 else f"the inversion gives {value:.3f}, which is no share"
        low, high = found.share(k)
        method = INVERTED
        cases = float(self.y[:, k].sum())
        warning = warning_of(self.n_problems, min(cases, self.n - cases))
        return Estimate(
            min(1.0, max(0.0, value)), low, high, self.n, self.n_problems, method, degenerate=outside, warning=warning
        ).as_json()

    def _no(self, why: str) -> Json:
        return undefined(why, self.n, self.n_problems).as_json() | {"lambda": None}

    def _yes(self, found: Corrected, k: int) -> Json:
        value = min(1.0, max(0.0, float(found.value[k])))
        cases = float(self.y[:, k].sum())
        warning = warning_of(self.n_problems, min(cases, self.n - cases))
        if self.aim.estimand == "pool" and self.rows is not None and self.n == self.rows.units.size:
            why = "every solution has a label, so that nothing is estimated"
            return Estimate(value, None, None, self.n, self.n_problems, NO_INTERVAL, why).as_json() | {
                "lambda": found.lam
            }
        low, high = found.share(k)
        estimate = Estimate(value, low, high, self.n, self.n_problems, METHODS[self.aim.estimand], warning=warning)
        return estimate.as_json() | {"lambda": found.lam}

"""A judge's probabilities mapped to how often humans agree, and how good they are before and after.

Everything shown of calibrated probabilities is cross-fitted: each problem's figures come from a fit that has not seen
that problem. The calibrator that is kept, and applied to unlabelled verdicts, is fitted to all labels.

**platt**: a logistic curve over the log-odds of each class (Platt 1999; with his smoothed targets), the default.
**isotonic**: a rising step function for each class (Zadrozny & Elkan 2002), from 1,000 labels on: it bends to any shape,
and to noise. **temperature**: one number for all classes, which sharpens or flattens (Guo et al. 2017, arXiv:1706.04599).
After either of the first two the classes are scaled to sum 1.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from calibrate.agreement import f1
from calibrate.columns import Said
from calibrate.estimate import why_too_few
from calibrate.intervals import Array, Codes, Formula, Intervals, Sums
from calibrate.material import Material
from generate.journal import write_whole
from generate.labels import VERDICTS
from generate.study import slug

Json = dict[str, Any]
Method = Literal["auto", "platt", "isotonic", "temperature"]
ENOUGH_FOR_ISOTONIC = 1000
FOLDS = 5
BINS = 10
NEAREST = 0.01
"""Probabilities nearer to 0 or 1 than this are taken for this: of a few votes all may agree."""
COVERAGES = tuple(k / 20 for k in range(1, 21))


# --- maps -------------------------------------------------------------------------------------------------------------


def chosen(method: Method, labels: int) -> Method:
    """What `auto` stands for: Platt, and isotonic from 1,000 labels on."""
    if method == "auto":
        return "isotonic" if labels >= ENOUGH_FOR_ISOTONIC else "platt"
    return method


def fit(method: Method, p: Array, y: Array, weights: Array) -> Json:
    """The map for probabilities `p` (n, K) of K classes of which one holds, or of one thing (K = 1), to what humans say,
    `y` (n, K), 0 to 1. JSON, as `apply` takes it."""
    if method == "temperature":
        return {"method": method, "temperature": _temperature(p, y, weights)}
    curve = _platt if method == "platt" else _isotonic
    return {"method": method, "classes": [curve(p[:, k], y[:, k], weights) for k in range(p.shape[1])]}


def apply(fitted: Json, p: Array) -> Array:
    """Calibrated probabilities (n, K)."""
    if fitted["method"] == "temperature":
        z = _log_odds(p) if p.shape[1] == 1 else np.log(np.clip(p, NEAREST, 1))
        z = z / fitted["temperature"]
        return _logistic(z) if p.shape[1] == 1 else _softmax(z)
    columns = []
    for k, curve in enumerate(fitted["classes"]):
        if "slope" in curve:
            columns.append(_logistic(curve["slope"] * _log_odds(p[:, k]) + curve["intercept"]))
        else:
            columns.append(np.interp(p[:, k], curve["at"], curve["is"]))
    found = np.stack(columns, axis=-1)
    if p.shape[1] == 1:
        return found
    whole = found.sum(axis=1, keepdims=True)
    return np.where(whole > 0, found / np.where(whole > 0, whole, 1), 1 / p.shape[1])


def _platt(p: Array, y: Array, weights: Array) -> Json:
    from sklearn.linear_model import LogisticRegression

    hits, misses = float(y.sum()), float((1 - y).sum())
    high, low = (hits + 1) / (hits + 2), 1 / (misses + 2)
    target = low + (high - low) * y
    odds = _log_odds(p)
    if np.ptp(odds) < 1e-9:  # always the same is said: there is no slope to find
        mean = float((weights * target).sum() / weights.sum())
        return {"slope": 0.0, "intercept": math.log(mean / (1 - mean))}
    x = np.concatenate([odds] * 2)[:, None]
    # Each row stands for a hit and a miss, weighted by the target; there is no penalty.
    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    model.fit(x, np.repeat([1, 0], len(p)), np.concatenate([weights * target, weights * (1 - target)]))
    return {"slope": float(model.coef_[0, 0]), "intercept": float(model.intercept_[0])}


def _isotonic(p: Array, y: Array, weights: Array) -> Json:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0, y_max=1).fit(p, y, sample_weight=weights)
    return {"at": model.X_thresholds_.tolist(), "is": model.y_thresholds_.tolist()}


def _temperature(p: Array, y: Array, weights: Array) -> float:
    from scipy.optimize import minimize_scalar

    if p.shape[1] == 1:
        z, one = _log_odds(p), y

        def loss(log_t: float) -> float:
            a = z / np.exp(log_t)
            return float((weights[:, None] * (np.logaddexp(0, a) - one * a)).sum())
    else:
        z, one = np.log(np.clip(p, NEAREST, 1)), y / y.sum(axis=1, keepdims=True)

        def loss(log_t: float) -> float:
            a = z / np.exp(log_t)
            return float((weights * (np.logaddexp.reduce(a, axis=1) - (one * a).sum(axis=1))).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 5.0), method="bounded", options={"xatol": 1e-6}).x))


def _log_odds(p: Array) -> Array:
    near: Array = np.clip(p, NEAREST, 1 - NEAREST)
    found: Array = np.log(near) - np.log1p(-near)
    return found


def _logistic(z: Array) -> Array:
    found: Array = np.exp(-np.logaddexp(0, -z))
    return found


def _softmax(z: Array) -> Array:
    found: Array = np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None])
    return found


def folds_of(problems: Codes, seed: int) -> NDArray[np.intp]:
    """Each row's fold, 0 to FOLDS - 1: whole problems, dealt out at random so that folds have as many problems each."""
    _, codes = np.unique(problems, return_inverse=True)
    count = int(codes.max()) + 1
    return (np.random.default_rng([seed, count]).permutation(count) % FOLDS)[codes]


def cross_fitted(method: Method, p: Array, y: Array, weights: Array, folds: NDArray[np.intp]) -> Array:
    """Each row's calibrated probabilities (n, K) from the fit to the other folds."""
    found = np.zeros_like(p)
    for fold in np.unique(folds):
        mine = folds == fold
        found[mine] = apply(fit(method, p[~mine], y[~mine], weights[~mine]), p[mine])
    return found


# --- how good probabilities are ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecasts:
    """Probabilities (n, K) beside what humans say (n, K), with rows' problems and weights."""

    p: Array
    y: Array
    problems: Codes
    weights: Array


def brier(f: Forecasts, intervals: Intervals) -> Json:
    """Mean over rows of the squared distances, summed over classes (Brier 1950, Mon. Weather Rev. 78:1): 0 to 2, or 0 to
    1 where K is 1. With its parts: reliability (lower is better), resolution (higher is better), uncertainty of the
    labels themselves, and `within_bins`, what binning hides; value = reliability - resolution + uncertainty +
    within_bins (Murphy 1973, J. Appl. Meteorol. 12:595; Stephenson et al. 2008, Weather Forecast. 23:752)."""
    most = 1 if f.p.shape[1] == 1 else 2
    mean = intervals.share(f.problems, ((f.p - f.y) ** 2).sum(axis=1) / most, "", f.weights).as_json()
    estimate = {k: most * mean[k] if k in ("value", "low", "high") else mean[k] for k in mean if k != "warning"}
    parts = np.zeros(4)
    for k in range(f.p.shape[1]):
        parts += _murphy(f.p[:, k], f.y[:, k], f.weights)
    names = ("reliability", "resolution", "uncertainty", "within_bins")
    return estimate | {"parts": dict(zip(names, parts.tolist(), strict=True))}


def _murphy(p: Array, y: Array, weights: Array) -> Array:
    bins = bins_of(p)
    whole = weights.sum()
    w = np.bincount(bins, weights, minlength=BINS)
    used = w > 0
    w = w[used]
    said = np.bincount(bins, weights * p, minlength=BINS)[used] / w
    seen = np.bincount(bins, weights * y, minlength=BINS)[used] / w
    mean = float((weights * y).sum() / whole)
    reliability = float((w * (said - seen) ** 2).sum() / whole)
    resolution = float((w * (seen - mean) ** 2).sum() / whole)
    uncertainty = float((weights * (y - mean) ** 2).sum() / whole)
    score = float((weights * (p - y) ** 2).sum() / whole)
    return np.array([reliability, resolution, uncertainty, score - reliability + resolution - uncertainty])


def bins_of(p: Array) -> NDArray[np.intp]:
    """The bin of each probability: ten of equal width, [0, 0.1), ..., [0.9, 1]."""
    return np.clip((p * BINS + 1e-9).astype(np.intp), 0, BINS - 1)


def ece_rows(confidence: Array, right: Array, weights: Array) -> Array:
    """(n, BINS + 1): in each row's bin, how far its confidence is from right (1) or wrong (0), and its weight."""
    bins = bins_of(confidence)
    rows = np.zeros((len(bins), BINS + 1))
    rows[np.arange(len(bins)), bins] = weights * (confidence - right)
    rows[:, BINS] = weights
    return rows


def ece(sums: Array) -> Array:
    """Expected calibration error: how far confidence is from the share that is right, by bin, on average (Naeini et al.
    2015, AAAI; bins of equal width), from sums of `ece_rows`. Above 0 even for a calibrated judge where labels are few.
    """
    found: Array = np.abs(sums[..., :BINS]).sum(axis=-1) / sums[..., BINS]
    return found


def reliability(p: Array, y: Array, problems: Codes, weights: Array, intervals: Intervals) -> list[Json]:
    """By bin of the probabilities (n,): how many, their mean, and how often humans say so. Empty bins are left out."""
    bins = bins_of(p)
    found = []
    for b in np.unique(bins):
        of = bins == b
        mean = float((weights[of] * p[of]).sum() / weights[of].sum())
        observed = intervals.share(problems[of], y[of], "", weights[of])
        found.append(
            {"low": float(b / BINS), "high": float((b + 1) / BINS), "predicted": mean, "observed": observed.as_json()}
        )
    return found


def risk_coverage(confidence: Array, right: Array, problems: Codes, weights: Array, intervals: Intervals) -> Json:
    """What the judge gets wrong when only its most confident verdicts are kept (El-Yaniv & Wiener 2010, JMLR 11:1605).
    Verdicts of equal confidence are kept together. `area`: the mean risk over all coverages."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    last = np.append(ordered[1:] != ordered[:-1], True)  # the last of those with equal confidence
    w = np.cumsum(weights[order])
    wrong = np.cumsum((weights * (1 - right))[order])
    risks = (wrong / w)[last]
    kept = w[last] / w[-1]
    points: list[Json] = []
    for wanted in COVERAGES:
        at = min(int(np.searchsorted(kept, wanted - 1e-12)), len(kept) - 1)
        if points and points[-1]["threshold"] == float(ordered[last][at]):
            continue
        some = confidence >= ordered[last][at]
        risk = intervals.share(problems[some], 1 - right[some], "", weights[some])
        points.append({"coverage": float(kept[at]), "threshold": float(ordered[last][at]), "risk": risk.as_json()})
    return {"area": float((np.diff(kept, prepend=0) * risks).sum()), "points": points}


def threshold_for_f1(p: Array, y: Array, weights: Array) -> float | None:
    """The lowest probability from which on a tag counts as seen, chosen for the best F1; null without support. It lies
    halfway to the next lower probability that occurs, so that it does not hang on one row."""
    if not float((weights * y).sum()):
        return None
    order = np.argsort(-p, kind="stable")
    ordered = p[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    tp = np.cumsum((weights * y)[order])[last]
    claimed = np.cumsum(weights[order])[last]
    f1 = 2 * tp / (claimed + float((weights * y).sum()))
    best = int(np.argmax(f1))
    values = ordered[last]
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return float((values[best] + below) / 2)


class Together:
    """Figures of the same rows, which share their resamples."""

    def __init__(self, problems: Codes, parts: dict[str, Array]):
        self.sums = Sums(problems, np.concatenate(list(parts.values()), axis=1))
        ends = np.cumsum([rows.shape[1] for rows in parts.values()]).tolist()
        self.columns = {name: slice(a, b) for name, a, b in zip(parts, [0, *ends], ends, strict=False)}

    def figure(self, name: str, formula: Formula, intervals: Intervals, why: str | None = None) -> Json:
        of = self.columns[name]
        return intervals.figure(self.sums, lambda sums: formula(sums[..., of]), "", why).as_json()


# --- a judge's calibration --------------------------------------------------------------------------------------------


def of_verdicts(rows: Forecasts, method: Method, intervals: Intervals) -> tuple[Json, Json]:
    """The figures of the verdicts' probabilities, raw and calibrated, and the calibrator fitted to all rows."""
    method = chosen(method, len(rows.y))
    fitted = fit(method, rows.p, rows.y, rows.weights)
    after = cross_fitted(method, rows.p, rows.y, rows.weights, folds_of(rows.problems, intervals.seed))
    sides = {"raw": rows.p, "calibrated": after}
    about = rows.problems, rows.weights, intervals
    sure = {side: p.max(axis=1) for side, p in sides.items()}
    right = {side: rows.y[np.arange(len(p)), p.argmax(axis=1)] for side, p in sides.items()}
    resampled = Together(rows.problems, {side: ece_rows(sure[side], right[side], rows.weights) for side in sides})
    figures: Json = {"method": method, "labels": len(rows.y)}
    figures |= {name: {} for name in ("brier", "ece", "reliability", "risk_coverage")}
    for side, p in sides.items():
        figures["brier"][side] = brier(replace(rows, p=p), intervals)
        figures["ece"][side] = resampled.figure(side, ece, intervals) | {"bins": BINS}
        figures["reliability"][side] = {"verdict given": reliability(sure[side], right[side], *about)} | {
            verdict: reliability(p[:, k], rows.y[:, k], *about) for k, verdict in enumerate(VERDICTS)
        }
        figures["risk_coverage"][side] = risk_coverage(sure[side], right[side], *about)
    return figures, fitted


def of_tag(rows: Forecasts, method: Method, intervals: Intervals) -> tuple[Json, Json]:
    """The same of one tag, with the threshold that serves its F1 best: `f1` has it at a half, and at thresholds that
    were each chosen without the row's own problem."""
    method = chosen(method, len(rows.y))
    folds = folds_of(rows.problems, intervals.seed)
    fitted = fit(method, rows.p, rows.y, rows.weights)
    after = cross_fitted(method, rows.p, rows.y, rows.weights, folds)
    p, y, weights = rows.p[:, 0], rows.y[:, 0], rows.weights
    threshold = threshold_for_f1(p, y, weights)
    each = np.full(len(p), 0.5)
    for fold in np.unique(folds):
        rest = folds != fold
        found = threshold_for_f1(p[rest], y[rest], weights[rest])
        each[~rest] = 0.5 if found is None else found

    def hits(claimed: NDArray[np.bool_]) -> Array:
        return np.stack([weights * y * claimed, weights * (1 - y) * claimed, weights * y * ~claimed], axis=-1)

    sides = {"raw": rows.p, "calibrated": after}
    parts = {side: ece_rows(q[:, 0], y, weights) for side, q in sides.items()}
    resampled = Together(rows.problems, parts | {"half": hits(p >= 0.5), "threshold": hits(p >= each)})
    figures: Json = {"method": method, "labels": len(y), "threshold": threshold}
    figures["f1"] = {name: resampled.figure(name, f1, intervals) for name in ("half", "threshold")}
    figures |= {name: {} for name in ("brier", "ece", "reliability")}
    for side, q in sides.items():
        figures["brier"][side] = brier(replace(rows, p=q), intervals)
        figures["ece"][side] = resampled.figure(side, ece, intervals) | {"bins": BINS}
        figures["reliability"][side] = reliability(q[:, 0], y, rows.problems, weights, intervals)
    return figures, fitted | {"threshold": threshold}


def calibration(
    problems: Codes, judge: Said, label: Said, tags: Sequence[str], method: Method, intervals: Intervals
) -> Json:
    """The `calibration` block of a judge: `judge` and `label` are what it and people say of the same rows."""
    block: Json = {"why": None, "calibrator": None, "fallacies": {}, "thresholds": {}}
    verdicts: Json | None = None
    if judge.probabilities is None:
        block["why"] = "this judge gives no probabilities of its verdicts: with several votes or logprobs it would"
    else:
        p = verdict_probabilities(judge)
        some = (p.sum(axis=1) > 0) & (label.shares.sum(axis=1) > 0) & ~label.binary
        rows = Forecasts(p[some], label.shares[some], problems[some], label.weight[some])
        block["why"] = why_too_few(rows.problems)
        if block["why"] is None:
            figures, verdicts = of_verdicts(rows, method, intervals)
            block |= figures
    fallacies: Json = {}
    for i, tag in enumerate(tags):
        if judge.tag_probabilities is None:
            block["fallacies"][tag] = {"why": "this judge gives no probabilities of its tags"}
            continue
        p = judge.tag_probabilities[:, i : i + 1]
        some = ~np.isnan(p[:, 0]) & label.tagged
        rows = Forecasts(p[some], label.tags[some, i : i + 1], problems[some], label.weight[some])
        why = why_too_few(rows.problems) or (
            None if 0 < rows.y.sum() < len(rows.y) else "labels all say the same of it"
        )
        if why is not None:
            block["fallacies"][tag] = {"why": why}
            continue
        figures, fallacies[tag] = of_tag(rows, method, intervals)
        block["fallacies"][tag] = {"why": None} | figures
        block["thresholds"][tag] = figures["threshold"]
    if verdicts is not None or fallacies:
        block["calibrator"] = {"verdict": verdicts, "fallacies": fallacies}
    return block


def verdict_probabilities(judge: Said) -> Array:
    """(m, 3), each row with sum 1, zeros where the judge gives none. A verdict that is not named has probability 0."""
    if judge.probabilities is None:
        return np.zeros((len(judge), len(VERDICTS)))
    p = np.nan_to_num(judge.probabilities)
    total = p.sum(axis=1, keepdims=True)
    return np.where(judge.failed[:, None], 0.0, p / np.where(total > 0, total, 1))


def calibrated_lines(calibrator: Json, judge: Said, ids: Sequence[str], tags: Sequence[str]) -> Iterator[bytes]:
    """JSON lines, one for each row that has probabilities: the solution's id and its calibrated probabilities."""
    p = verdict_probabilities(judge)
    known = p.sum(axis=1) > 0
    verdicts = apply(calibrator["verdict"], p).round(6).tolist() if calibrator["verdict"] else None
    some = known if verdicts is not None else np.zeros(len(judge), dtype=bool)
    by_tag = {}
    for i, tag in enumerate(tags):
        if tag in calibrator["fallacies"] and judge.tag_probabilities is not None:
            q = judge.tag_probabilities[:, i : i + 1]
            tagged = ~np.isnan(q[:, 0])
            by_tag[tag] = apply(calibrator["fallacies"][tag], np.nan_to_num(q))[:, 0].round(6).tolist()
            some = some | tagged
    for at in np.flatnonzero(some).tolist():
        line: Json = {"solution_id": ids[at]}
        line["probabilities"] = dict(zip(VERDICTS, verdicts[at], strict=True)) if verdicts and known[at] else None
        line["fallacies"] = {tag: values[at] for tag, values in by_tag.items()}
        yield orjson.dumps(line) + b"\n"


def keep_calibrators(path: Path, metrics: Json, material: Material, tags: Sequence[str]) -> None:
    """Each judge's calibrator, and what becomes of its probabilities of unlabelled solutions by it."""
    for name, judge in material.judges.items():
        calibrator = metrics["judges"][name]["calibration"]["calibrator"]
        if calibrator is None:
            continue
        about = {"judge": name, "judge_key": judge.judge_key, "taxonomy": metrics["settings"]["taxonomy"]}
        kept = orjson.dumps(about | calibrator, option=orjson.OPT_INDENT_2)
        write_whole(path / "calibrators" / f"{slug(name)}.json", kept + b"\n")
        unlabelled = judge.said.at(material.human.of_rows(judge.said.row) < 0)
        ids = [material.solutions.ids[row] for row in unlabelled.row.tolist()]
        lines = calibrated_lines(calibrator, unlabelled, ids, tags)
        write_whole(path / "calibrated" / f"{slug(name)}.jsonl", b"".join(lines))

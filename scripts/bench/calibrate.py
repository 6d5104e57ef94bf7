"""`python -m calibrate` on made-up studies of growing size: seconds and peak memory; and its figures beside a loop of
resamples over scikit-learn's functions.

    python scripts/bench/calibrate.py [--sizes 10000 100000 1000000] [--folder FOLDER] [--loop 20] [--no-loop]

A study has as many verdicts by one judge as solutions (of short texts, twenty to a problem, by four models), human labels
(verdict, points and six tags) for a tenth of them, and checked answers for the half of its problems that have a gold
answer. The stage is run as a user runs it, in a process of its own, with 1,000 resamples, without and with the page.

The loop draws problems as ours does, takes their rows, and calls scikit-learn for each figure that both have: accuracy,
three kappas, MCC, precision, recall and F1 of each verdict and of each tag with their means, kappa of each tag. It runs
`--loop` resamples on 10,000 labelled rows, and is scaled to 1,000.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from show import machine, table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from generate.journal import text_hash  # noqa: E402
from generate.labels import VERDICTS  # noqa: E402

TAGS = [
    "Proof by Example", "Proposal Without Verification", "Inventing Wrong Facts", "Begging the Question",
    "Solution by Trial and Error", "Calculation Mistake",
]  # fmt: skip
TOPICS = ["Algebra", "Combinatorics", "Geometry", "Number Theory"]
MODELS = ["alpha", "beta", "gamma", "delta"]
PER_PROBLEM, LABELLED, RESAMPLES = 20, 0.1, 1000


def make_study(path: Path, n: int, annotators: int = 1, seed: int = 0) -> None:
    """Writes the records of n solutions, as the stages write them, with n / 10 labels. Several annotators label the same
    solutions, and are wrong about one in ten."""
    rng = random.Random(seed)
    for name in ("solutions", "verdicts", "labels", "answers", "manifests"):
        (path / name).mkdir(parents=True, exist_ok=True)
    files = {
        name: (path / f"{name}.jsonl").open("wb")
        for name in ("problems", "solutions/all-000000", "verdicts/bench-000000", "labels/people-000000",
                     "answers/strict-000000", "answers/lenient-000000")
    }  # fmt: skip

    def put(name: str, **record: Any) -> None:
        files[name].write(orjson.dumps(record) + b"\n")

    for p in range(n // PER_PROBLEM):
        problem, gold = f"p{p:06d}", str(p % 97) if p % 2 else None
        put("problems", id=problem, statement=f"Problem {p}.", answer=gold, topic=TOPICS[p % 4], source=f"set {p % 10}")
        easy = rng.betavariate(1, 1)
        for i in range(PER_PROBLEM):
            model = MODELS[i % 4]
            solution = f"{problem}/{model}/{i // 4}"
            text = f"By symmetry we may take x = {rng.randrange(10**6)}; the rest follows. The answer is {p % 97}."
            hashed = text_hash(text)
            put("solutions/all-000000", key=f"k{p}-{i}", id=solution, problem_id=problem, model=model, text=text,
                sample=i // 4, finish_reason="stop", usage={"prompt_tokens": 90, "completion_tokens": 40})  # fmt: skip
            truth = 2 if rng.random() < easy else rng.randrange(2)
            borne = [t for t in TAGS if truth < 2 and rng.random() < 0.2]
            said = truth if rng.random() < 0.7 else rng.randrange(3)
            named = [t for t in TAGS if rng.random() < (0.7 if t in borne else 0.05)]
            error = {"kind": "unparsed", "message": "no verdict in the reply"} if rng.random() < 0.01 else None
            put("verdicts/bench-000000", key=f"v{p}-{i}", id=f"bench/{solution}", solution_id=solution, judge="bench",
                judge_key="b", text_hash=hashed, verdict=None if error else VERDICTS[said], error=error,
                points=None if error else float((0, 3, 7)[said]), max_points=7.0,
                fallacies=None if error else [{"tag": t, "quote": "the rest follows", "start": 40, "end": 56,
                                               "explanation": "Nothing is shown."} for t in named],
                reasoning="It states a case and calls it general.")  # fmt: skip
            for who in range(annotators if rng.random() < LABELLED / annotators else 0):
                word = truth if annotators == 1 or rng.random() < 0.9 else rng.randrange(3)
                put("labels/people-000000", solution_id=solution, annotator=f"ann{who}", verdict=VERDICTS[word],
                    points=float((0, rng.randrange(1, 6), 7)[word]), max_points=7.0, fallacies=borne,
                    text_hash=hashed)  # fmt: skip
            if gold is not None:
                outcome = rng.choices(("equal", "different", "undecided"), (60, 35, 5))[0]
                for checker in ("strict", "lenient"):
                    put(f"answers/{checker}-000000", key=f"{checker}{p}-{i}", solution_id=solution, checker=checker,
                        text_hash=hashed, gold=gold, extracted=str(p % 97), outcome=outcome)  # fmt: skip
    for file in files.values():
        file.close()


def run_stage(studies: Path, study: str, *words: str) -> tuple[float, float, float]:
    """Seconds, seconds of the processor, and peak memory in GiB, of `python -m calibrate` on the study."""
    command = [sys.executable, "-m", "calibrate", f"study={study}", f"studies_dir={studies}", f"resamples={RESAMPLES}",
               "overwrite=true", *words]  # fmt: skip
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=studies, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the stage failed: {' '.join(command)}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """n labelled rows: problem, verdicts of both sides, tags of both sides."""
    rng = np.random.default_rng(1)
    label, other = rng.integers(0, 3, n), rng.integers(0, 3, n)
    a = rng.random((n, len(TAGS))) < 0.2
    b = np.where(rng.random(a.shape) < 0.8, a, rng.random(a.shape) < 0.2)
    return np.arange(n) // 4, label, np.where(rng.random(n) < 0.7, label, other), a, b


def ours(resamples: int, n: int) -> float:
    """Seconds for the agreement block of n labelled rows: more figures than the loop has."""
    from dataclasses import replace

    from calibrate.columns import blank, one_hot
    from calibrate.intervals import Intervals
    from calibrate.pairs import Terms, agreement

    problem, label, judge, a, b = rows(n)

    def said(verdict: np.ndarray, tags: np.ndarray) -> Any:
        column = verdict.astype(np.int8)
        return replace(blank(np.arange(n), len(TAGS)), verdict=column, shares=one_hot(column), tags=tags.astype(float))

    from scipy import special  # noqa: F401  (loaded before the clock starts, as scikit-learn is)

    began = time.perf_counter()
    agreement(problem, said(label, a), said(judge, b), Terms(tuple(TAGS)), Intervals(0, resamples))
    return time.perf_counter() - began


def loop(resamples: int, n: int) -> float:
    """Seconds for percentile intervals from a loop of resamples over scikit-learn's functions."""
    import warnings

    from sklearn import metrics as sk

    warnings.simplefilter("ignore")
    problem, label, judge, a, b = rows(n)
    count = int(problem.max()) + 1
    places = [np.flatnonzero(problem == i) for i in range(count)]
    rng = np.random.default_rng(0)
    figures = []
    began = time.perf_counter()
    for _ in range(resamples):
        at = np.concatenate([places[i] for i in rng.integers(0, count, count)])
        x, y, u, v = label[at], judge[at], a[at], b[at]
        found = [sk.accuracy_score(x, y), sk.matthews_corrcoef(x, y)]
        found += [sk.cohen_kappa_score(x, y, weights=w, labels=[0, 1, 2]) for w in (None, "linear", "quadratic")]
        for average in (None, "macro"):
            found += [np.mean(part) for part in sk.precision_recall_fscore_support(x, y, average=average)[:3]]
        for average in (None, "macro", "micro"):
            found += [np.mean(part) for part in sk.precision_recall_fscore_support(u, v, average=average)[:3]]
        found += [sk.cohen_kappa_score(u[:, i], v[:, i]) for i in range(len(TAGS))]
        found += [sk.accuracy_score(u, v), sk.jaccard_score(u, v, average="samples")]
        figures.append(found)
    np.quantile(np.array(figures), [0.025, 0.975], axis=0)
    return time.perf_counter() - began


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    asked.add_argument("--folder", type=Path, help="where the studies are made; by default a temporary folder")
    asked.add_argument(
        "--annotators", type=int, default=1, help="of each labelled solution; several: Dawid-Skene decides"
    )
    asked.add_argument("--loop", type=int, default=20, help="resamples of scikit-learn's loop that are run")
    asked.add_argument("--no-loop", action="store_true")
    words = asked.parse_args()
    folder = words.folder or Path(tempfile.mkdtemp(prefix="bench-calibrate-"))
    adjudicated = ["adjudication.method=dawid_skene"] if words.annotators > 1 else []
    found = []
    try:
        for n in words.sizes:
            if not (folder / f"n{n}").is_dir():
                make_study(folder / f"n{n}", n, words.annotators)
            for page in (0, 5000):
                seconds, cpu, memory = run_stage(folder, f"n{n}", f"page_solutions={page}", *adjudicated)
                found.append([f"{n:,}", f"{int(n * LABELLED):,}", "yes" if page else "no", f"{seconds:.1f}",
                              f"{cpu:.1f}", f"{1e6 * cpu / n:.0f}", f"{memory:.2f}"])  # fmt: skip
                print(found[-1], file=sys.stderr, flush=True)
        print(table(["verdicts:", "labels:", "page", "s:", "CPU s:", "CPU µs a verdict:", "peak GiB:"], found))
        if not words.no_loop:
            n, us = 10_000, ours(RESAMPLES, 10_000)
            them = loop(words.loop, n) * RESAMPLES / words.loop
            print(f"\nAgreement on {n:,} labelled rows with {RESAMPLES:,} resamples: {us:.2f} s; a loop over scikit-learn "
                  f"({words.loop} resamples, scaled): {them:.0f} s, {them / us:.0f} times as long.")  # fmt: skip
        print("\n" + machine("numpy", "scipy", "scikit-learn", "orjson"))
    finally:
        if words.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

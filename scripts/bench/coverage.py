"""How often nominal 95% intervals hold the truth: those of human gold, and those of a judge's figures corrected by it.

    python scripts/bench/coverage.py [--runs 5000] [--jobs 2] [--out FILE [--minutes 4]]    simulate; FILE keeps what is done
    python scripts/bench/coverage.py --table FILE [--all]                print what was simulated, by setting or all

Each run draws problems, several solutions of each, the humans' verdicts and the judge's, and hands them to the very
functions that `python -m calibrate` uses. Verdicts are drawn from shares that differ between problems (Dirichlet) with
the given intraclass correlation; the judge says what the humans say with a chance that differs between problems as much
(Beta), and guesses otherwise: half of its guesses are "correct". One verdict in fifty fails. The figure is the share of
correct solutions. A run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the vectors are short
sys.path.insert(
    0, str(Path(__file__).resolve().parents[2])
)  # before this folder, in which calibrate.py is another thing

import numpy as np

from calibrate.estimate import Estimand, Rows, Units, corrected
from calibrate.intervals import Intervals
from scripts.bench.show import machine, table

RATES = (0.05, 0.2, 0.5, 0.8)
JUDGES = {"useless": 0.0, "weak": 0.4, "fair": 0.7, "good": 0.95}
"""The share of solutions on which the judge knows what humans would say; the rest it guesses."""
GUESS = np.array([0.3, 0.2, 0.5])
FAILED = 0.02
CORRECT = 2


@dataclass(frozen=True)
class Setting:
    labelled: int
    unlabelled: int
    per_problem: int = 1
    """Solutions of one problem."""
    icc: float = 0.0
    """Intraclass correlation of the verdicts on one problem."""
    drawn: str = "solutions"
    """What was drawn for labelling: `solutions`, or whole `problems`."""
    models: int = 1
    """With three, half of what the second writes correctly is not, and the judge overlooks that half of the time; it has
    half as many labels as the first. The third has none, and is not estimated. Gold is of the labelled solutions."""
    estimand: Estimand = "problems"

    @property
    def labelled_problems(self) -> int:
        """At least so many, but for chance."""
        return self.labelled // self.per_problem if self.drawn == "problems" else self.labelled // 2

    def __str__(self) -> str:
        words = f"{self.labelled} of {self.labelled + self.unlabelled:,}"
        if self.per_problem > 1:
            words += f", {self.per_problem} a problem, ICC {self.icc:g}"
        if self.drawn == "problems":
            words += ", whole problems"
        return words + (", 3 models" if self.models > 1 else "") + (", pool" if self.estimand == "pool" else "")


SETTINGS = (
    Setting(40, 1000),
    Setting(100, 100),
    Setting(100, 1000, 4, 0.2, "problems"),
    Setting(200, 1000, 4, 0.5),
    Setting(400, 1000, 4, 0.5, "problems"),
    Setting(200, 1000, 4, 0.2, models=3),
    Setting(200, 1000, 4, 0.5, estimand="pool"),
    Setting(400, 10000),
)


def simulate(
    s: Setting, rate: float, runs: int, judges: Sequence[str] = tuple(JUDGES), seed: int = 0
) -> list[dict[str, Any]]:
    """By judge, the shares of `runs` in which each interval holds the truth, and the corrected one's width as a ratio to
    gold's. All judges read the same studies."""
    rng = np.random.default_rng([seed, *json.dumps([asdict(s), rate]).encode()])
    intervals = Intervals(seed)
    held, gold_held = np.zeros((runs, len(judges)), dtype=bool), np.zeros(runs, dtype=bool)
    widths, lambdas, warned = np.zeros(held.shape), np.zeros(held.shape), 0
    for run in range(runs):
        study = Study(s, rate, rng)
        share = intervals.share(study.rows.problem, study.y[:, CORRECT], "")
        gold_held[run] = share.low <= study.true_gold <= share.high
        warned += share.warning is not None
        for k, judge in enumerate(judges):
            found = corrected(study.rows, study.y, study.judged(judge, rng), s.estimand).of_one()
            low, high = found.share(CORRECT)
            held[run, k] = low <= study.true <= high
            widths[run, k], lambdas[run, k] = (high - low) / (share.high - share.low), found.lam
    return [
        {"setting": asdict(s), "rate": rate, "judge": judge, "runs": runs}
        | {"gold": float(gold_held.mean()), "corrected": float(held[:, k].mean())}
        | {"width": float(np.median(widths[:, k])), "lambda": float(lambdas[:, k].mean()), "warned": warned / runs}
        for k, judge in enumerate(judges)
    ]


class Study:
    """One study as drawn: rows, what humans say of the labelled ones, and the true shares of correct solutions that gold
    is about, and the estimate."""

    def __init__(self, s: Setting, rate: float, rng: np.random.Generator):
        self.size, self.icc = s.labelled + s.unlabelled, s.icc
        shares = np.array([0.6 * (1 - rate), 0.4 * (1 - rate), rate])
        self.problems = np.arange(self.size) // s.per_problem
        self.count = int(self.problems[-1]) + 1
        of_problem = np.broadcast_to(shares, (self.count, 3))
        if s.icc:
            of_problem = rng.dirichlet((1 - s.icc) / s.icc * shares, self.count)
        self.says = _one_of(of_problem[self.problems], rng)
        models, self.true_gold, self.true = np.zeros(self.size, dtype=np.intp), rate, rate
        self.worse = np.zeros(self.size, dtype=bool)
        chance = np.ones(self.size)
        if s.models > 1:
            models = rng.permuted(np.arange(self.size) % 2)
            self.worse = (models == 1) & (self.says == CORRECT) & (rng.random(self.size) < 0.5)
            self.says[self.worse] = 0
            self.true, chance = 0.75 * rate, np.where(models == 0, 2.0, 1.0)
        if s.drawn == "problems":
            some = np.zeros(self.count, dtype=bool)
            some[rng.choice(self.count, s.labelled // s.per_problem, replace=False)] = True
            labelled = np.flatnonzero(some[self.problems])
        else:
            wait = rng.standard_exponential(self.size) / chance
            labelled = np.sort(np.argpartition(wait, s.labelled)[: s.labelled])
        if s.models > 1:
            self.true_gold = rate * float(np.where(models[labelled] == 0, 1.0, 0.5).mean())
        if s.estimand == "pool":
            self.true = float((self.says == CORRECT).mean())
        one_by_one = s.drawn == "solutions"
        self.rows = Rows(Units(self.problems, models), labelled, np.ones(len(labelled)), one_by_one)
        self.y = np.eye(3)[self.says[labelled]]

    def judged(self, judge: str, rng: np.random.Generator) -> np.ndarray:
        """What a judge says of all rows, (N, 3); zeros where it failed."""
        knows = JUDGES[judge]
        sure: Any = knows
        if self.icc and 0 < knows < 1:
            spread = (1 - self.icc) / self.icc
            sure = rng.beta(spread * knows, spread * (1 - knows), self.count)[self.problems]
        guess = np.searchsorted(np.cumsum(GUESS)[:2], rng.random(self.size))
        says = np.where(rng.random(self.size) < sure, self.says, guess)
        if self.worse.any():
            says[self.worse & (rng.random(self.size) < 0.5)] = CORRECT
        says[rng.random(self.size) < FAILED] = 3
        return np.eye(4)[:, :3][says]


def _one_of(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each row of shares (n, 3) one of the three."""
    u = rng.random(len(shares))
    return (u > shares[:, 0]).astype(np.intp) + (u > shares[:, 0] + shares[:, 1])


def promised(cell: dict[str, Any]) -> bool:
    """Whether 95% are promised: at least 50 labelled problems, and 10 cases on either side in nine of ten studies drawn
    (with fewer the report warns)."""
    return Setting(**cell["setting"]).labelled_problems >= 50 and cell["warned"] <= 0.1


def amiss(cell: dict[str, Any]) -> bool:
    """Whether an interval covers otherwise than asked: 93% to 97% where it is promised, elsewhere 90% or a warning."""
    covers = (cell["gold"], cell["corrected"])
    if promised(cell):
        return min(covers) < 0.93 or max(covers) > 0.97
    return min(covers) < 0.90 and cell["warned"] < 0.9


def show(cells: list[dict[str, Any]], every: bool) -> None:
    """By setting, the ranges over rates and judges; or every cell."""
    order = {s: i for i, s in enumerate(SETTINGS)}
    cells = sorted(cells, key=lambda c: (order[Setting(**c["setting"])], c["rate"], list(JUDGES).index(c["judge"])))
    if every:
        head = ["labelled of all", "rate:", "judge", "gold covers, %:", "corrected covers, %:", "width / gold's:"]
        rows = [
            [
                *(Setting(**c["setting"]), f"{c['rate']:g}", c["judge"], _percent(c["gold"]), _percent(c["corrected"])),
                *(f"{c['width']:.2f}", f"{c['lambda']:.2f}", "yes" if promised(c) else "", f"{c['warned']:.0%}"),
            ]
            for c in cells
        ]
        print(table([*head, "lambda:", "promised", "warned:"], rows))
    else:
        rows = []
        for setting, of in itertools.groupby(cells, key=lambda c: str(Setting(**c["setting"]))):
            some = list(of)
            inside = [c for c in some if promised(c)]
            row = [setting, *(_range([c[k] for c in some], _percent) for k in ("gold", "corrected"))]
            row += [_range([c[k] for c in inside], _percent) if inside else "-" for k in ("gold", "corrected")]
            rows.append(row + [_range([c["width"] for c in some if c["judge"] == j], "{:.2f}".format) for j in JUDGES])
        head = ["labelled of all", "gold covers, %:", "corrected, %:", "promised: gold, %:", "corrected, %:"]
        print(table([*head, *(f"width / gold's, {judge}:" for judge in JUDGES)], rows))
    runs = sorted({c["runs"] for c in cells})
    print(f"\n{len(cells)} cells of {', '.join(f'{n:,}' for n in runs)} runs. {machine('numpy', 'scipy')}")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _range(values: list[float], form: Callable[[float], str]) -> str:
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once (default: one a core)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no cell after so many minutes")
    parser.add_argument("--out", type=Path, help="keep each setting here once it is done, and go on from there")
    parser.add_argument("--table", type=Path, help="only print what stands in this file")
    parser.add_argument("--all", action="store_true", help="every cell, not ranges over rates and judges")
    args = parser.parse_args()
    path = args.table or args.out
    done = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []
    if not args.table:
        known = {(Setting(**c["setting"]), c["rate"]) for c in done if c["runs"] == args.runs}
        wanted = [pair for pair in itertools.product(SETTINGS, RATES) if pair not in known]
        with ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            begun, under_way = time.monotonic(), dict[Future[list[dict[str, Any]]], str]()
            while wanted or under_way:
                while wanted and len(under_way) < args.jobs and time.monotonic() - begun <= 60 * args.minutes:
                    s, rate = wanted.pop(0)
                    under_way[pool.submit(simulate, s, rate, args.runs)] = f"{s}; {rate}"
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    name, cells = under_way.pop(future), future.result()
                    if path:
                        with path.open("a") as out:
                            out.writelines(json.dumps(cell) + "\n" for cell in cells)
                    print(f"{name}:", *(f"{c['judge']} {c['corrected']:.3f}" for c in cells), file=sys.stderr)
                    done += cells
    done = [c for c in done if args.table or c["runs"] == args.runs]
    if done:
        show(done, args.all)
    wrong = [f"{Setting(**c['setting'])}; {c['rate']:g}; {c['judge']}" for c in done if amiss(c)]
    if wrong:
        print("\nnot as asked: " + "; ".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

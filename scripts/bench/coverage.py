"""How often nominal 95% intervals hold the truth: those of human gold, and those of a judge's figures corrected by it.

    python scripts/bench/coverage.py [--runs 5000] [--minutes 4] [--out FILE]    simulate; FILE keeps each cell once done
    python scripts/bench/coverage.py --table FILE [--all]                        print what was simulated, by judge or all

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
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the vectors are short

import numpy as np
from show import machine, table

from calibrate.estimate import Estimand, Rows, Units, corrected
from calibrate.intervals import Intervals

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


def simulate(s: Setting, rate: float, judge: str, runs: int, seed: int = 0) -> dict[str, Any]:
    """Shares of `runs` in which each interval holds the truth, and the corrected one's width as a ratio to gold's."""
    rng = np.random.default_rng([seed, *json.dumps([asdict(s), rate, judge]).encode()])
    intervals = Intervals(seed)
    held = np.zeros((runs, 2), dtype=bool)
    widths, lambdas, warned = np.zeros(runs), np.zeros(runs), 0
    for run in range(runs):
        rows, y, f, true_gold, true = draw(s, rate, judge, rng)
        share = intervals.share(rows.problem, y[:, CORRECT], "")
        found = corrected(rows, y, f, s.estimand).of_one()
        low, high = found.share(CORRECT)
        held[run] = share.low <= true_gold <= share.high, low <= true <= high
        widths[run], lambdas[run] = (high - low) / (share.high - share.low), found.lam
        warned += share.warning is not None
    names = ("gold", "corrected")
    return {"setting": asdict(s), "rate": rate, "judge": judge, "runs": runs} | {
        **dict(zip(names, held.mean(axis=0).tolist(), strict=True)),
        "width": float(np.median(widths)),
        "lambda": float(lambdas.mean()),
        "warned": warned / runs,
    }


def draw(
    s: Setting, rate: float, judge: str, rng: np.random.Generator
) -> tuple[Rows, np.ndarray, np.ndarray, float, float]:
    """Rows, what humans say of the labelled ones (n, 3) and the judge of all (N, 3), the true share of correct solutions
    that gold is about, and the one that the estimate is about."""
    size, knows = s.labelled + s.unlabelled, JUDGES[judge]
    shares = np.array([0.6 * (1 - rate), 0.4 * (1 - rate), rate])
    problems = np.arange(size) // s.per_problem
    count = int(problems[-1]) + 1
    of_problem, sure = np.broadcast_to(shares, (count, 3)), np.full(count, knows)
    if s.icc:
        spread = (1 - s.icc) / s.icc
        of_problem = rng.dirichlet(spread * shares, count)
        if 0 < knows < 1:
            sure = rng.beta(spread * knows, spread * (1 - knows), count)
    says = _one_of(of_problem[problems], rng)
    models, gold, true = np.zeros(size, dtype=np.intp), rate, rate
    worse = np.zeros(size, dtype=bool)
    if s.models > 1:
        models = rng.permuted(np.arange(size) % 2)
        worse = (models == 1) & (says == CORRECT) & (rng.random(size) < 0.5)
        says[worse] = 0
        true = 0.75 * rate
    judged = np.where(rng.random(size) < sure[problems], says, _one_of(np.broadcast_to(GUESS, (size, 3)), rng))
    judged[worse & (rng.random(size) < 0.5)] = CORRECT
    f = np.eye(3)[judged] * (rng.random(size) >= FAILED)[:, None]
    if s.drawn == "problems":
        some = np.zeros(count, dtype=bool)
        some[rng.choice(count, s.labelled // s.per_problem, replace=False)] = True
        labelled = np.flatnonzero(some[problems])
    else:
        chance = np.where(models == 0, 2.0, 1.0) if s.models > 1 else np.ones(size)
        labelled = np.sort(rng.choice(size, s.labelled, replace=False, p=chance / chance.sum()))
    if s.models > 1:
        gold = rate * float(np.where(models[labelled] == 0, 1.0, 0.5).mean())
    if s.estimand == "pool":
        true = float((says == CORRECT).mean())
    rows = Rows(Units(problems, models), labelled, np.ones(len(labelled)), one_by_one=s.drawn == "solutions")
    return rows, np.eye(3)[says[labelled]], f, gold, true


def _one_of(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each row of shares (n, 3) one of the three."""
    u = rng.random(len(shares))
    return (u > shares[:, 0]).astype(np.intp) + (u > shares[:, 0] + shares[:, 1])


def promised(cell: dict[str, Any]) -> bool:
    """Whether the cell has at least 50 labelled problems and 10 cases expected on either side."""
    s = Setting(**cell["setting"])
    return s.labelled_problems >= 50 and s.labelled * min(cell["rate"], 1 - cell["rate"]) >= 10


def show(cells: list[dict[str, Any]], every: bool) -> None:
    """By setting and judge, the range over the rates; or every cell."""
    rows = []

    def span(of: list[float], percent: bool) -> str:
        form = "{:.1%}" if percent else "{:.2f}"
        low, high = form.format(min(of)).rstrip("%"), form.format(max(of)).rstrip("%")
        return low if low == high else f"{low} to {high}"

    groups = itertools.groupby(
        sorted(
            cells, key=lambda c: (SETTINGS.index(Setting(**c["setting"])), list(JUDGES).index(c["judge"]), c["rate"])
        ),
        key=lambda c: (str(Setting(**c["setting"])), c["judge"], c["rate"] if every else None),
    )
    for (setting, judge, rate), of in groups:
        some = list(of)
        inside = [c for c in some if promised(c)]
        figures = [span([c[k] for c in some], k != "width") for k in ("gold", "corrected", "width")]
        worst = span([c["corrected"] for c in inside], True) if inside else "-"
        rows.append(
            [
                setting,
                judge,
                *([f"{rate:g}"] if every else []),
                *figures,
                worst,
                f"{max(c['warned'] for c in some):.0%}",
            ]
        )
    head = ["labelled of all", "judge", *(["rate:"] if every else []), "gold covers, %:", "corrected covers, %:"]
    print(table([*head, "width / gold's:", "where 95% is promised, %:", "warned:"], rows))
    runs = sorted({c["runs"] for c in cells})
    print(f"\n{len(cells)} cells of {', '.join(f'{n:,}' for n in runs)} runs. {machine('numpy', 'scipy')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no cell after so many minutes")
    parser.add_argument("--out", type=Path, default=Path("coverage.jsonl"))
    parser.add_argument("--table", type=Path, help="only print what stands in this file")
    parser.add_argument("--all", action="store_true", help="every cell, not ranges over the rates")
    args = parser.parse_args()
    path = args.table or args.out
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if not args.table:
        known = {(Setting(**c["setting"]), c["rate"], c["judge"]) for c in done if c["runs"] == args.runs}
        begun = time.monotonic()
        for s, rate, judge in itertools.product(SETTINGS, RATES, JUDGES):
            if (s, rate, judge) in known:
                continue
            if time.monotonic() - begun > 60 * args.minutes:
                break
            cell = simulate(s, rate, judge, args.runs)
            with path.open("a") as out:
                out.write(json.dumps(cell) + "\n")
            print(f"{s}; {judge}; {rate}: gold {cell['gold']:.3f}, corrected {cell['corrected']:.3f}", file=sys.stderr)
            done.append(cell)
    if done:
        show([c for c in done if args.table or c["runs"] == args.runs], args.all)


if __name__ == "__main__":
    main()

"""Ours, Math-Verify and Inspect AI's math() scorer on the same pairs, in one run.

    python scripts/bench/answers.py [--pairs 1000] [--runs 5] [--inspect-python PATH | --no-inspect] [--out FILE]

Three workloads: the cases of ../shared/cases/answers.jsonl, gold answers of different problems of IMO-AnswerBench, and the
same gold answers, each against a rewriting of itself. For each contender: how many outcomes are wrong, how many of them
call different answers equal (false accepts), how many are undecided, pairs/s, and the longest time for one pair.

Every contender runs in one process of its own, is warmed up with pairs that are not counted, and takes its turn in each of
the runs; pairs/s are the median over the runs, the worst time is the largest of all. Inspect AI wants versions of its own,
so it gets an environment of its own in the user's cache folder, made on the first run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from environment import interpreter

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
INSPECT = ["inspect_ai==0.3.285", "latex2sympy2_extended==1.11.0", "antlr4-python3-runtime==4.13.2"]
# The last one makes every contender load what it needs for symbolic work.
WARM_UP = [
    ("$x^2-1$", r"\boxed{(x-1)(x+1)}"),
    ("$\\sqrt{8}$", r"\boxed{2\sqrt{2}}"),
    ("$\\sqrt{2}$", r"\boxed{1.4}"),
    (r"$\sqrt{3+2\sqrt{2}}$", r"\boxed{1+\sqrt{2}}"),
] * 2
SECONDS = 5.0  # the limit for one pair, for all of them

Outcome = str
Contender = Callable[[str, str], Outcome]


# The contenders. Each is made, and run, in a process of its own; only ours needs this project.


def ours() -> Contender:
    sys.path.insert(0, str(ROOT))  # before this folder, in which judge.py is another thing
    from judge.answers import Policy, compare

    policy = Policy(seconds=SECONDS)
    return lambda gold, reply: compare(gold, reply, policy).outcome


def math_verify() -> Contender:
    """As it comes: default settings; a bare gold answer is put between dollar signs, as its README asks for."""
    import logging

    logging.disable(logging.CRITICAL)
    from math_verify import parse, verify

    def contend(gold: str, reply: str) -> Outcome:
        try:
            wanted, found = parse(gold if "$" in gold else f"${gold}$"), parse(reply)
            if verify(wanted, found):
                return "equal"
            return "different" if wanted and found else "undecided"
        except Exception:
            return "undecided"

    return contend


def inspect_math() -> Contender:
    """A parse failure or a limit is counted as undecided, though it scores them as incorrect."""
    import asyncio
    import inspect as python_inspect

    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target, math
    from inspect_ai.solver import TaskState

    scorer: Any = math()
    loop = asyncio.new_event_loop()
    parameters = set(python_inspect.signature(TaskState.__init__).parameters)

    async def score(gold: str, reply: str) -> Outcome:
        known = {"model": "none/none", "sample_id": 0, "epoch": 0, "input": "", "messages": [], "output": None}
        state = TaskState(**{k: v for k, v in known.items() if k in parameters})
        state.output = ModelOutput.from_content("none/none", reply)
        result = await scorer(state, Target([gold]))
        if result.value == "C":
            return "equal"
        status = (result.metadata or {}).get("math_scorer_status")
        return "different" if status == "incorrect" else "undecided"

    def contend(gold: str, reply: str) -> Outcome:
        try:
            return loop.run_until_complete(score(gold, reply))
        except Exception:
            return "undecided"

    return contend


CONTENDERS = {"ours": ours, "math-verify": math_verify, "inspect": inspect_math}


def serve(name: str) -> None:
    """The process of one contender: batches of pairs in, outcomes and times out, one JSON line each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    contend = CONTENDERS[name]()
    for gold, reply in WARM_UP:
        contend(gold, reply)
    print("[]", file=answers, flush=True)
    for line in sys.stdin:
        rows = []
        for gold, reply in json.loads(line):
            start = time.perf_counter()
            outcome = contend(gold, reply)
            rows.append((outcome, time.perf_counter() - start))
        print(json.dumps(rows), file=answers, flush=True)


class Runner:
    """A contender's process."""

    def __init__(self, name: str, python: str) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]) if name == "ours" else ""
        self.process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.read()

    def read(self) -> list[tuple[Outcome, float]]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a contender's process ended early")
        return [(outcome, seconds) for outcome, seconds in json.loads(line)]

    def run(self, pairs: list[tuple[str, str]]) -> list[tuple[Outcome, float]]:
        assert self.process.stdin is not None
        print(json.dumps(pairs), file=self.process.stdin, flush=True)
        return self.read()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# The workloads: pairs, and the outcomes that are right for each.


class Workload:
    def __init__(self, name: str, rows: list[tuple[str, str, set[Outcome], str]]) -> None:
        self.name = name
        self.pairs = [(gold, reply) for gold, reply, _, _ in rows]
        self.allowed = [allowed for _, _, allowed, _ in rows]
        self.kinds = [kind for _, _, _, kind in rows]


def cases() -> Workload:
    rows = [json.loads(line) for line in (SHARED / "cases" / "answers.jsonl").read_text().splitlines() if line]
    return Workload("cases", [(r["gold"], r["reply"] or "", set(r["allowed"]), r["kind"]) for r in rows])


def golds() -> list[str]:
    with (SHARED / "data" / "imobench" / "answerbench_v2.csv").open(newline="") as file:
        return [row["Short Answer"] for row in csv.DictReader(file)]


def really_equal(a: str, b: str) -> bool:
    """Pairs of gold answers that are equal though they belong to different problems: the same text, or looked at by hand."""
    one, two = (re.sub(r"[\s$]", "", x).removesuffix(".").lower() for x in (a, b))
    by_hand = [
        {r"\frac{1}{2}", "0.5"}, {"g(n)=n-1", "n-1"}, {"nopositiveintegers", "nosolutions"}, {"1.75", r"\frac{7}{4}"},
        {"allnumbersoftheform4k+3", "n=4k+3"}, {"6.5", r"\frac{13}{2}"},
    ]  # fmt: skip
    return one == two or {one, two} in by_hand


def different_golds(count: int) -> Workload:
    pool = golds()
    rng = random.Random(0)
    rows: list[tuple[str, str, set[Outcome], str]] = []
    while len(rows) < count:
        a, b = rng.sample(pool, 2)
        if not really_equal(a, b):
            rows.append((a, f"\\boxed{{{b.strip()}}}", {"different", "undecided"}, "different golds"))
    return Workload("different golds", rows)


def rewritten_golds(count: int) -> Workload:
    """Gold answers against a rewriting that keeps their value, for those that a rewriting applies to."""
    rows: list[tuple[str, str, set[Outcome], str]] = []
    rng = random.Random(1)
    sources = [g for g in golds() if any(True for _ in rewritings(g, rng))]
    while len(rows) < count:
        gold = rng.choice(sources)
        written = rng.choice(list(rewritings(gold, rng)))
        rows.append((gold, f"\\boxed{{{written}}}", {"equal", "undecided"}, "rewritten"))
    return Workload("rewritten golds", rows)


def rewritings(gold: str, rng: random.Random) -> Iterator[str]:
    """The same value, written otherwise; never the same text."""
    text = gold.strip().strip("$").rstrip(". ")
    if re.fullmatch(r"-?\d{4,}", text):
        yield f"{int(text):,}"
        yield f"{int(text):,}".replace(",", r"\,")
        yield f"{int(text):,}".replace(",", "{,}")
    if re.fullmatch(r"-?\d{1,9}", text):
        value, factor = int(text), rng.choice((2, 3, 7))
        yield rf"\frac{{{value * factor}}}{{{factor}}}"
        yield f"{value - factor} + {factor}"
        yield f"x = {value}"
    if re.fullmatch(r"(?:-?\d+, ?)+-?\d+", text) and ", " in text:
        members = [m.strip() for m in text.split(",")]
        rng.shuffle(members)
        yield r"\{" + ", ".join(members) + r"\}"
    if re.fullmatch(r"-?\\frac\{\d+\}\{\d+\}", text):
        yield text.replace(r"\frac", r"\dfrac")
        yield re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", r"\1/\2", text)
        yield re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", lambda m: rf"\frac{{{3 * int(m[1])}}}{{{3 * int(m[2])}}}", text)
    formula = "\\" in text and re.fullmatch(r"[\d\\{}a-zA-Z^+\-*() ]+", text)
    if formula and not re.search(r"[a-zA-Z]\(|text|\\(?:cup|le|ge|ne|in\b)", text):
        yield rf"2\cdot\frac{{{text}}}{{2}}"
        yield rf"1+{text}-1" if not text.startswith("-") else rf"{text}+1-1"


def inspect_python(given: str | None, *also: str) -> str | None:
    """The interpreter of an environment that has Inspect AI, and `also` these; null, with a line that says why, where there
    is none."""
    return given or interpreter("Inspect AI", *INSPECT, *also)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs", type=int, default=1000, help="pairs of different and of rewritten golds (default 1000)"
    )
    parser.add_argument("--runs", type=int, default=5, help="how often each contender takes its turn (default 5)")
    parser.add_argument("--inspect-python", metavar="PATH", help="an interpreter that has inspect_ai")
    parser.add_argument("--no-inspect", action="store_true", help="leave Inspect AI out")
    parser.add_argument("--out", type=Path, help="also write all outcomes here, as JSON")
    parser.add_argument("--serve", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    if not SHARED.is_dir():
        print(f"the folder with cases and data is not here: {SHARED}", file=sys.stderr)
        return 2
    pythons = {"ours": sys.executable, "math-verify": sys.executable}
    other = None if options.no_inspect else inspect_python(options.inspect_python)
    if other is not None:
        pythons["inspect"] = other
    workloads = [cases(), different_golds(options.pairs), rewritten_golds(options.pairs)]
    results = measure(pythons, workloads, options.runs)
    report(results, workloads, list(pythons))
    if options.out is not None:
        options.out.write_text(json.dumps({f"{n}/{w}": runs for (n, w), runs in results.items()}))
    return 0


Results = dict[tuple[str, str], list[list[tuple[Outcome, float]]]]


def measure(pythons: dict[str, str], workloads: list[Workload], runs: int) -> Results:
    """Every run of every contender; they take turns, so that a busy moment of the machine hits all of them."""
    results: Results = {}
    for turn in range(runs):
        for workload in workloads:
            for name, python in pythons.items():
                print(f"run {turn + 1} of {runs}: {workload.name}, {name}", file=sys.stderr)
                runner = Runner(name, python)  # a fresh process for each run: no caches from the last one
                try:
                    results.setdefault((name, workload.name), []).append(runner.run(workload.pairs))
                finally:
                    runner.close()
    return results


def report(results: Results, workloads: list[Workload], names: list[str]) -> None:
    print("| workload | checker | wrong | false accepts | undecided | pairs/s | worst time |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for workload in workloads:
        for name in names:
            runs = results[name, workload.name]
            outcomes = [outcome for outcome, _ in runs[0]]
            wrong = sum(o not in a for o, a in zip(outcomes, workload.allowed, strict=True))
            accepts = sum(o == "equal" and "equal" not in a for o, a in zip(outcomes, workload.allowed, strict=True))
            open_ = outcomes.count("undecided")
            rate = statistics.median(len(run) / sum(seconds for _, seconds in run) for run in runs)
            worst = max(seconds for run in runs for _, seconds in run)
            print(
                f"| {workload.name} ({len(outcomes)}) | {name} | {wrong} | {accepts} | {open_} | {rate:,.0f} | {worst:.2f} s |"
            )
    print()
    print("Wrong outcomes among the cases, by kind:")
    print()
    case_load = workloads[0]
    print("| kind | cases | " + " | ".join(names) + " |")
    print("| --- | ---: |" + " ---: |" * len(names))
    for kind in sorted(set(case_load.kinds)):
        where = [i for i, k in enumerate(case_load.kinds) if k == kind]
        counts = [
            str(sum(results[name, "cases"][0][i][0] not in case_load.allowed[i] for i in where)) for name in names
        ]
        print(f"| {kind} | {len(where)} | " + " | ".join(counts) + " |")


if __name__ == "__main__":
    sys.exit(main())

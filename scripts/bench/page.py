"""How long the report's page takes to make, to open and to filter, and how large it is, for a study of 5,000 solutions.

    python scripts/bench/page.py [--solutions 5000] [--keep DIR]

The texts are the proofs of ../shared/data/opc where that is there, else made-up ones; with numbers changed in each
repetition, so that no formula's conversion is had for nothing. Two judges quote them, with raw replies of 3,000
characters. Opened in a headless Chromium of this machine, five times; medians. Needs Playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from calibrate.intervals import Intervals
from calibrate.labels import FromStudy, collect
from calibrate.material import gather
from calibrate.metrics import build
from calibrate.pairs import Terms
from calibrate.report.page import write_page
from generate.journal import text_hash
from generate.labels import VERDICTS, HumanLabel, Span
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.adjudication import Adjudication
from judge.taxonomy import Tag, Taxonomy
from judge.verdicts import Fallacy, Verdict, Vote
from scripts.bench.show import machine, table
from tests.calibrate.browser import browser

OPC = Path(__file__).resolve().parents[3] / "shared" / "data" / "opc" / "opc.jsonl"
TAGS = ("Proof by Example", "Calculation Mistake", "Begging the Question")
LIMITS = {"made, s": 300.0, "size, MB": 60.0, "opened, s": 3.0, "filtered, ms": 200.0}


def texts() -> list[tuple[str, str, str]]:
    """(statement, reference solution, solution), of olympiad length."""
    if OPC.exists():
        rows = [json.loads(line) for line in OPC.read_text(encoding="utf-8").splitlines()]
        return [(r["problem"], r["reference_solution"] or "", r["solution"] or "") for r in rows]
    line = "For $n \\ge 17$ we have \\(\\frac{a_{12}^3 + 4}{b_n} \\le \\sqrt{31 x}\\), and so\n\n$$\\sum_{k=1}^{25} k^2 = 5525.$$\n\n"
    return [(line * 2, line * 30, f"Claim {i}. {line * 45}") for i in range(300)]


def make_study(path: Path, solutions: int) -> Study:
    """A study of so many solutions, four to a problem, half of them labelled, all of them judged twice."""
    study, chance, found = Study(path), random.Random(0), texts()
    (path / "manifests").mkdir(parents=True)

    def varied(text: str, i: int) -> str:
        return re.sub(r"\d+", lambda m: str((int(m[0][:6]) + i // len(found)) % 1000), text)

    journals = {
        "problems": study.problems_journal(),
        "solutions": study.solutions_journal("m"),
        "labels": study.labels_journal("src"),
        "a": study.journal("verdicts", "judge-a", Verdict),
        "b": study.journal("verdicts", "judge-b", Verdict),
    }
    for i in range(solutions):
        statement, reference, text = (varied(t, i) for t in found[i % len(found)])
        if i % 4 == 0:
            journals["problems"].append(
                Problem(id=f"p{i // 4}", statement=statement, reference_solution=reference, topic=f"topic {i // 4 % 5}")
            )  # fmt: skip
        name = f"s{i:05}"
        hashed = text_hash(text)
        journals["solutions"].append(
            Solution(key=name, id=name, problem_id=f"p{i // 4}", model=f"model-{i % 5}", text=text)
        )
        if i % 2:
            spans = [Span(start=100, end=300, tag=TAGS[0], comment="Why?")]
            said = chance.choice(VERDICTS)
            journals["labels"].append(
                HumanLabel(solution_id=name, annotator="ann", verdict=said, fallacies=[TAGS[0]], spans=spans)  # type: ignore[arg-type]
            )
        for judge in ("a", "b"):
            start = chance.randrange(max(1, len(text) - 200))
            fallacy = Fallacy(tag=chance.choice(TAGS), quote=text[start : start + 150], start=start, end=start + 150)
            raw = json.dumps({"reasoning": text[-2800:], "verdict": "correct"})
            verdict = chance.choice(VERDICTS)
            journals[judge].append(
                Verdict(key=name, id=f"judge-{judge}/{name}", solution_id=name, text_hash=hashed, judge=f"judge-{judge}",
                        judge_key="k", verdict=verdict, fallacies=[fallacy], reasoning=text[:1500],
                        votes=[Vote(verdict=verdict, raw=raw)])  # type: ignore[arg-type]
            )  # fmt: skip
    for journal in journals.values():
        journal.close()
    return study


def make_page(study: Study, report: Path, most: int) -> float:
    """Seconds that the page alone takes to make, beside all other parts of a report."""
    taxonomy = Taxonomy(
        name="three", fallacies=[Tag(name=t, definition="d", recognise="r", not_this="n") for t in TAGS]
    )
    labels = collect(study, [], FromStudy(), taxonomy)
    settings = {"missing": "leave_out", "pass_threshold": None, "taxonomy": "three", "seed": 0, "resamples": 200}
    settings |= {"adjudication": {"method": "majority", "adjudicator": None}}
    metrics = {"report": "r", "inputs": "h", "settings": settings}
    metrics |= build(gather(study, labels, taxonomy, None), Terms(TAGS), Intervals(0, 200))
    began = time.perf_counter()
    write_page(report, study, labels.counting, Adjudication(), taxonomy, metrics, most)
    return time.perf_counter() - began


TIMED = """async (act) => { const began = performance.now(); act === 'search'
    ? (() => { const q = document.getElementById('f-q'); q.value = 'topic 3'; q.dispatchEvent(new Event('input')); })()
    : (() => { const m = document.getElementById('f-model'); m.value = 'model-2'; m.dispatchEvent(new Event('change')); })();
    document.getElementById('list').getBoundingClientRect(); await new Promise(requestAnimationFrame);
    return performance.now() - began; }"""


def look(page_file: Path, runs: int = 5) -> dict[str, float]:
    """Median seconds to open, and milliseconds to filter, to search and to open a row."""
    times: dict[str, list[float]] = {"opened, s": [], "filtered, ms": [], "searched, ms": [], "row opened, ms": []}
    with browser() as chrome:
        for _ in range(runs):
            context = chrome.new_context()
            page = context.new_page()
            began = time.perf_counter()
            page.goto(page_file.as_uri(), wait_until="commit")
            page.locator("html[data-ready]").wait_for(state="attached")
            times["opened, s"].append(time.perf_counter() - began)
            times["filtered, ms"].append(page.evaluate(TIMED, "filter"))
            page.get_by_role("button", name="Clear filters").click()
            times["searched, ms"].append(page.evaluate(TIMED, "search"))
            began = time.perf_counter()
            page.locator("#list tbody th a").nth(3).click()
            page.locator("#solution-text math").first.wait_for()
            times["row opened, ms"].append(1000 * (time.perf_counter() - began))
            context.close()
    return {name: median(values) for name, values in times.items()}


def measure(solutions: int, folder: Path) -> dict[str, float]:
    study = make_study(folder / "study", solutions)
    seconds = make_page(study, folder / "report", solutions)
    file = folder / "report" / "index.html"
    return {"made, s": seconds, "size, MB": file.stat().st_size / 1e6, **look(file)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solutions", type=int, default=5000)
    parser.add_argument("--keep", type=Path, help="an empty folder in which study and page are left")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(given.solutions, given.keep or Path(temporary))
    rows = [[name, f"{value:.1f}", f"{LIMITS[name]:g}" if name in LIMITS else ""] for name, value in found.items()]
    print(table(["the page", f"{given.solutions} solutions:", "at most:"], rows))
    print("\n" + machine("latex2mathml", "playwright"))


if __name__ == "__main__":
    main()

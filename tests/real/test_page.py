"""The page on real proofs: the Open Proof Corpus with its language model's issues as a recorded judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.calibrate.browser import browser


def test_the_issues_of_the_open_proof_corpus_are_marked_at_their_characters(
    stage: Callable[..., Any], shared: Path, tmp_path: Path
) -> None:
    data = shared / "data" / "opc" / "opc.jsonl"
    words = ("model=recorded", "dataset=opc", f"dataset.path={data}", "limit=6")
    for name, *more in (("generate", *words), ("judge", "program=recorded"), ("calibrate", "taxonomy=opc_issues")):
        done = stage(name, *more)
        assert done.returncode == 0, done.stderr
    page = tmp_path / "studies" / "opc" / "reports" / "report" / "index.html"
    metrics = json.loads((page.parent / "metrics.json").read_text())
    assert metrics["judges"]["llm_issues"]["coverage"]["errors"] == {}  # it names fallacies and gives no verdict
    wanted: dict[str, list[str]] = {}
    there = {json.loads(line)["id"] for f in page.parents[2].glob("solutions/*.jsonl") for line in f.open()}
    for line in data.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        quotes = [row["solution"][i["start"] : i["end"]] for i in row["llm_issues"] or () if i["start"] is not None]
        if quotes and row["solution_id"] in there:
            wanted[row["solution_id"]] = quotes
    assert len(wanted) >= 5
    trouble: list[str] = []
    with browser() as chrome:
        shown = chrome.new_context().new_page()
        shown.on("console", lambda m: trouble.append(m.text))
        shown.on("pageerror", lambda e: trouble.append(str(e)))
        for name, quotes in list(wanted.items())[:8]:
            shown.goto(f"{page.as_uri()}#row={name}")
            shown.locator("#row h2", has_text=name).wait_for()
            if shown.get_by_role("button", name="TeX source").get_attribute("aria-pressed") != "true":
                assert shown.locator("#solution-text math").count() > 0
                shown.get_by_role("button", name="TeX source").click()
            for quote in quotes:
                assert quote in marked(shown), (name, quote)
    assert trouble == []


def marked(shown: Any) -> list[str]:
    """For each mark of the judge, the characters that it covers."""
    script = """() => { const labels = [...new Set([...document.querySelectorAll('#solution-text mark')].flatMap(m => m.dataset.marks.split(' ')))];
        return labels.map(label => [...document.querySelectorAll('#solution-text mark')].filter(m => m.dataset.marks.split(' ').includes(label))
            .map(m => { const c = m.cloneNode(true); c.querySelectorAll('sup').forEach(s => s.remove()); return c.textContent; }).join('')); }"""
    found: list[str] = shown.evaluate(script)
    return found

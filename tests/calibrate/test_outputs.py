"""report.tex and tables/*.csv, which paste into a paper and open in a spreadsheet."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.report.latex import escape, latex
from calibrate.report.shown import Section
from calibrate.report.tables import tables
from calibrate.sheets import unguarded

FIGURE = {"value": -0.25, "low": -0.5, "high": 0.1, "n": 4, "n_problems": 3, "method": "m"}
SPECIAL = "&%$#_{}~^\\"


def unescaped(tex: str) -> str:
    """What is left of a text once every escape that LaTeX knows is taken out."""
    return re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|-\{\}|\$-\$", "", tex)


@given(st.text(max_size=40))
def test_no_name_from_data_reaches_latex_unescaped(text: str) -> None:
    assert not set(unescaped(escape(text))) & set(SPECIAL + "\n\r<>|\"`'")


def test_escaped_texts_are_what_they_were() -> None:
    assert escape("gpt_4 & 50% {x}") == r"gpt\_4 \& 50\% \{x\}"
    assert escape("-0.5 (-1, 2) 3-4") == "$-$0.5 ($-$1, 2) 3-{}4"
    assert escape("--") == "-{}-{}" and escape("a\\b") == r"a\textbackslash{}b"


def test_tables_are_booktabs_with_a_caption_a_label_and_as_many_cells_as_columns() -> None:
    rows = [["a|b & c", "57.1%", "(1, 2)"], ["d", "-", ""]]
    tex = latex(
        [Section("No table", ["text"]), Section("Judges: 100%", ["A note."], ["name", "value", "interval"], rows)]
    )
    assert tex.count(r"\begin{table}") == tex.count(r"\end{table}") == 1
    for rule in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\caption{Judges: 100\%}",
        r"\label{tab:calibrate-1-judges-100}",
    ):
        assert tex.count(rule) == 1
    assert r"\begin{tabular}{@{}lrl@{}}" in tex and "A note." in tex and r"\usepackage{booktabs,graphicx}" in tex
    lines = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [2, 2, 2]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here (Debian: texlive-latex-recommended)")
def test_latex_sets_the_tables_whatever_the_names_are_and_no_wider_than_the_text(tmp_path: Path) -> None:
    hostile = ["100% & more_$x^2$", "\\input{/etc/passwd}", "#{}~^<>|\"`'--", "}\\end{tabular}", "% no comment"]
    wide = Section("Wide: " + hostile[0], hostile, hostile, [["x" * 60, "y" * 60, *hostile[:3]]])
    (tmp_path / "report.tex").write_text(latex([Section("Narrow", [], ["a"], [["-0.5"]]), wide]))
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\usepackage[T1]{fontenc}\n"
        "\\begin{document}\n\\input{report}\n\\end{document}\n"
    )
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout and (tmp_path / "paper.pdf").exists()


def parsed(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_every_figure_of_a_part_is_a_row_with_the_keys_that_lead_to_it() -> None:
    overall: dict[str, Any] = {"correct": FIGURE, "fallacies": {"=cmd()": {**FIGURE, "why": "w"}}}
    made = tables(
        {"study": "s", "human_gold": {"overall": overall, "by_model": {"-m": {"correct": FIGURE}}}, "notes": []}
    )
    assert list(made) == ["human_gold.csv"]
    rows = parsed(made["human_gold.csv"])
    assert [(r["by"], unguarded(r["group"]), r["figure"], unguarded(r["tag"])) for r in rows] == [
        ("overall", "", "correct", ""), ("overall", "", "fallacies", "=cmd()"), ("by_model", "-m", "correct", "")
    ]  # fmt: skip
    assert rows[0]["value"] == "-0.25" and rows[0]["n"] == "4" and rows[1]["remark"] == "w"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx", "|cmd", "a,b", 'a"b', "a\nb"])
def test_no_name_from_data_runs_in_a_spreadsheet_and_each_comes_back(name: str) -> None:
    (row,) = parsed(tables({"judges": {name: {"agreement": {"kappa": FIGURE}}}})["judges.csv"])
    assert unguarded(row["judge"]) == name and row["judge"][:1] not in ("=", "+", "-", "@", "\t")

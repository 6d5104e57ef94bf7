"""Drawing what to label, the sheets, and how they come back."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calibrate.labels import FromTable, LabelColumns
from calibrate.sample import GIVEN, Terms, allocate, draw, samples, write
from calibrate.sheets import guarded, sheet, unguarded
from generate.journal import BadInput
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import CONF
from generate.tables import read_rows
from judge.taxonomy import Tag, Taxonomy
from tests.calibrate.conftest import Maker
from tests.calibrate.test_calibrate_stage import calibrate, metrics, state


def population(problems: int = 20, models: tuple[str, ...] = ("a", "b"), samples: int = 2) -> Any:
    """Solutions of problems of two topics; model `a` has a solution more of each problem."""
    there = {f"p{i:02}": Problem(id=f"p{i:02}", topic="Algebra" if i % 4 else None) for i in range(problems)}
    solutions = {}
    for p in there:
        for m in models:
            for k in range(samples + (m == "a")):
                id = f"{p}/{m}/{k}"
                solutions[id] = Solution(key=id, id=id, problem_id=p, model=m, sample=k, text="t")
    return solutions, there


def drawn(design: Any, n: int, seed: int = 0, labelled: Any = (), known: Any = None, redraw: bool = False) -> Any:
    solutions, problems = population()
    terms = Terms(n, ["x"], design, seed, redraw)
    return draw(solutions, problems, set(labelled), known or {}, "s", terms)


def test_a_random_sample_gives_every_solution_the_same_chance() -> None:
    times: Counter[str] = Counter()
    for seed in range(400):
        sample = drawn("random", 25, seed)
        ids = [d.solution_id for d in sample.drawn]
        assert len(set(ids)) == 25
        assert {d.weight for d in sample.drawn} == {4.0} and {d.probability for d in sample.drawn} == {0.25}
        times.update(ids)
    assert len(times) == 100 and min(times.values()) > 60 and max(times.values()) < 145  # 100 expected, sd 8.7


def test_whole_problems_are_drawn_with_all_their_solutions() -> None:
    sample = drawn("random_problems", 27)
    per_problem = Counter(d.problem_id for d in sample.drawn)
    assert len(per_problem) == 5 and set(per_problem.values()) == {5}  # five solutions a problem: 25 come nearest to 27
    assert {d.weight for d in sample.drawn} == {4.0}


def test_strata_are_drawn_in_proportion_and_their_weights_add_up_to_all() -> None:
    sample = drawn("stratified", 40)
    assert {s.name: (s.solutions, s.drawn) for s in sample.strata} == {
        "a / Algebra": (45, 18), "a / no topic": (15, 6), "b / Algebra": (30, 12), "b / no topic": (10, 4)
    }  # fmt: skip
    assert sum(d.weight for d in sample.drawn) == pytest.approx(100)
    assert np.mean([sample.label_weight(d) for d in sample.drawn]) == pytest.approx(1)
    small = drawn("stratified", 8)
    assert [s.drawn for s in small.strata] == [2, 2, 2, 2]
    assert sum(d.weight for d in small.drawn) == pytest.approx(100)
    with pytest.raises(BadInput, match=r"n=3: there are 4 strata \(model and topic\), and each needs a solution"):
        drawn("stratified", 3)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.data())
def test_an_allocation_adds_up_and_takes_no_more_than_there_is(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(len(sizes), sum(sizes)))
    counts = allocate(np.array(sizes), n)
    assert counts.sum() == n and (counts >= 1).all() and (counts <= sizes).all()
    if n >= sum(min(s, 2) for s in sizes):
        assert (counts >= np.minimum(sizes, 2)).all()


def test_what_is_labelled_or_was_drawn_before_is_not_drawn_unless_asked_for() -> None:
    first = drawn("random", 40)
    solutions, _ = population()
    labelled = list(solutions)[:30]
    second = drawn("random", 30, labelled=labelled, known={"s": first})
    ids = {d.solution_id for d in second.drawn}
    assert not ids & set(labelled) and not ids & {d.solution_id for d in first.drawn}
    assert second.frame["labelled"] == 30
    assert second.frame["solutions"] + second.frame["drawn_before"] == 70
    with pytest.raises(BadInput, match=r"n=90: only 70 of 100 solutions can be drawn \(0 without text, 30 labelled"):
        drawn("random", 90, labelled=labelled)
    assert len(drawn("random", 90, labelled=labelled, redraw=True).drawn) == 90


def test_a_sample_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert drawn("random", 10) == drawn("random", 10) != drawn("random", 10, seed=1)


# sheets


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "'",
        "'=1",
        "＝1",
        "1/2",
        "3-4",
        "007",
        "1e5",
        "0.50",
    ],
)
def test_no_cell_runs_or_is_rewritten_as_a_number_or_date(text: str) -> None:
    assert guarded(text) == "'" + text and unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["", "x", "12", "0", "a=b", "$-1$", "Let x=1.", "2 apples"])
def test_plain_texts_stay_as_they_are(text: str) -> None:
    assert guarded(text) == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=2, max_size=2))
def test_any_text_comes_back_unharmed(texts: list[str]) -> None:
    rows = list(csv.reader(io.StringIO(sheet(["a", "b"], [texts]).decode("utf-8-sig"), newline="")))
    assert [unguarded(c) for c in rows[1]] == texts
    assert not any(c[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") for c in rows[1])


def test_numbers_stay_numbers() -> None:
    assert sheet(["a", "b", "c"], [[-0.5, 3, None]]) == b'\xef\xbb\xbf"a","b","c"\r\n-0.5,3,""\r\n'


@pytest.fixture
def unlabelled(make: Maker) -> Maker:
    for i in range(12):
        make.problem(
            f"p{i}", statement=f"=HYPERLINK({i})", answer="1/2", topic="Algebra", rubric="-7 points", source="src"
        )
        for model in ("secret-model", "other-model"):
            id = f"p{i}/{model}/0"
            make.solution(id, f"p{i}", text=f'@SUM(1)\n"quoted", and=1 {i}\r\n+2', model=model)
            make.verdict(id, "correct", judge="the-judge")
    return make


def rows_of(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))


def filled(file: Path, words: dict[str, Any]) -> None:
    """The sheet as an annotator sends it back: the same said of every solution."""
    rows = [row | words for row in rows_of(file)]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_sheets_are_blind_come_back_and_their_labels_know_their_place(unlabelled: Maker) -> None:
    before = state(unlabelled)
    run = calibrate(unlabelled, "study=s", "mode=sample", "n=8", "annotators=3", "design=stratified", "seed=4")
    assert run.returncode == 0, run.stderr
    assert "sample sample (stratified, seed 4): 8 of 24 solutions" in run.stdout
    assert state(unlabelled) == before
    here = unlabelled.study.path / "samples" / "sample"
    sheets = sorted(here.glob("*.csv"))
    assert [f.name for f in sheets] == ["annotator-1.csv", "annotator-2.csv", "annotator-3.csv"]
    for file in sheets:
        text = file.read_text(encoding="utf-8-sig")
        assert not any(secret in text for secret in ("secret-model", "other-model", "the-judge", "/0"))
        rows = rows_of(file)
        assert list(rows[0])[: len(GIVEN)] == list(GIVEN)
        assert all(not row[k] for row in rows for k in ("verdict", "fallacies", "points", "answer_correct", "comment"))
        assert not any(cell[:1] in "=+-@" for row in rows for cell in row.values() if cell)
        texts = {s.text for s in unlabelled.study.solutions().values()}
        assert {unguarded(row["solution"]) for row in rows} <= texts
        assert {unguarded(row["answer"]) for row in rows} == {"1/2"}
    orders = [[row["solution_id"] for row in rows_of(f)] for f in sheets]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2]) and orders[0] != orders[1] != orders[2]

    record = json.loads((here / "sample.json").read_text())
    assert (record["seed"], record["design"], record["asked"]) == (4, "stratified", 8)
    assert [s["weight"] for s in record["strata"]] == [3, 3]
    assert {d["weight"] for d in record["drawn"]} == {3} and len(record["drawn"]) == 8

    for file, verdict in zip(sheets, ("correct", "Partial", "correct"), strict=True):
        filled(
            file, {"verdict": verdict, "fallacies": "Calculation Mistake; proof by example", "comment": "-1 for style"}
        )
    run = calibrate(unlabelled, "study=s", "labels=table", f"labels.path={here}/*.csv")
    assert run.returncode == 0, run.stderr
    assert "human labels: 24 read into" in run.stdout
    assert "How " not in run.stdout  # the design is known
    made = metrics(unlabelled)
    assert made["human_gold"]["overall"]["correct"]["value"] == 1 and made["human_gold"]["overall"]["correct"]["n"] == 8
    assert [a["labels"] for a in made["annotators"]] == [8, 8, 8]
    assert made["sampling"] == {"designs": {"stratified": 8}, "warning": None}
    labels = [json.loads(x) for f in unlabelled.study.path.glob("labels/*.jsonl") for x in f.read_text().splitlines()]
    assert {x["solution_id"] for x in labels} == {d["solution_id"] for d in record["drawn"]}
    assert {x["stratum"] for x in labels} == {"secret-model / Algebra", "other-model / Algebra"}
    assert {(x["weight"], x["sampling"], x["comment"]) for x in labels} == {(1.0, "stratified", "-1 for style")}
    again = calibrate(unlabelled, "study=s", "labels=table", f"labels.path={here}/*.csv")
    assert "nothing has changed" in again.stdout, again.stderr

    more = calibrate(unlabelled, "study=s", "mode=sample", "n=16", "annotators=[ann,bob]", "name=more")
    assert more.returncode == 0 and "16 of 16 solutions" in more.stdout and "8 labelled" in more.stdout, more.stderr


def test_a_sample_is_never_overwritten(unlabelled: Maker) -> None:
    assert calibrate(unlabelled, "study=s", "mode=sample", "n=4").returncode == 0
    files = {f: f.read_bytes() for f in (unlabelled.study.path / "samples").rglob("*.*")}
    run = calibrate(unlabelled, "study=s", "mode=sample", "n=4", "overwrite=true")
    assert run.returncode == 2 and run.stderr.splitlines() == [
        "calibrate: studies/s/samples/sample is a sample that was drawn before, and its sheets may be filled; say name=OTHER"
    ]
    assert {f: f.read_bytes() for f in (unlabelled.study.path / "samples").rglob("*.*")} == files


def test_a_solution_that_changed_after_its_sheet_was_written_is_not_what_was_labelled(unlabelled: Maker) -> None:
    assert calibrate(unlabelled, "study=s", "mode=sample", "n=4", "annotators=1").returncode == 0
    sample = samples(unlabelled.study)["sample"]
    changed = sample.drawn[0]
    unlabelled.solution(changed.solution_id, changed.problem_id, text="new", model=changed.solution_id.split("/")[1])
    file = unlabelled.study.path / "samples" / "sample" / "annotator-1.csv"
    filled(file, {"verdict": "correct"})
    assert calibrate(unlabelled, "study=s", "labels=table", f"labels.path={file}").returncode == 0
    assert [x["solution_id"] for x in metrics(unlabelled)["left_out"]["labels_of_changed_text"]] == [
        changed.solution_id
    ]


def brains_vs_bytes() -> Taxonomy:
    content = yaml.safe_load((CONF / "taxonomy" / "brains_vs_bytes.yaml").read_text())
    return Taxonomy(name=content["name"], fallacies=[Tag(**t) for t in content["fallacies"]])


FAULTS = [
    ({"verdict": "great"}, "row 2, column 'verdict': 'great' is no verdict"),
    ({"points": "9"}, "row 2, column 'points': '9' is outside 0 to 7"),
    ({"points": "-1"}, "row 2, column 'points': '-1' is outside 0 to 7"),
    ({"points": "lots"}, "row 2, column 'points': 'lots' is not a number"),
    ({"fallacies": "none; Sloth"}, "row 2, column 'fallacies': 'none' is not a fallacy of taxonomy=brains_vs_bytes"),
    ({"fallacies": "Sloth"}, "row 2, column 'fallacies': 'Sloth' is not a fallacy of taxonomy=brains_vs_bytes"),
    ({"answer_correct": "maybe"}, "row 2, column 'answer_correct': 'maybe' is neither true nor false"),
    ({"solution_id": "sample-99"}, "row 2, column 'solution_id': sample 'sample' has no solution 'sample-99'"),
    ({"solution_id": "sample-1"}, "row 3, column 'solution_id': solution '"),
    ({"annotator": ""}, "row 2, column 'annotator': is empty"),
]


@pytest.mark.parametrize(("words", "line"), FAULTS)
def test_a_faulty_sheet_is_refused_with_file_row_and_field_and_nothing_is_lost(
    unlabelled: Maker, words: dict[str, str], line: str
) -> None:
    study = unlabelled.study
    sample = draw(study.solutions(), study.problems(), set(), {}, "sample", Terms(4, ["x"], "random", 0, False))
    (file,) = write(study, sample)
    filled(file, {"verdict": "correct"} | words)
    before = state(unlabelled)
    with pytest.raises(BadInput) as error:
        FromTable(path=str(file), columns=LabelColumns(solution_id="solution_id")).read(study, brains_vs_bytes())
    assert f"x.csv, {line}" in str(error.value) and "\n" not in str(error.value)
    assert state(unlabelled) == before and not (study.path / "reports").exists()


def test_one_annotators_label_in_two_files_is_refused(unlabelled: Maker, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,v\np0/other-model/0,correct\n")
    table = ["labels=table", "labels.path=[a.csv,b.csv]", "labels.columns.solution_id=id", "labels.columns.verdict=v"]
    run = calibrate(unlabelled, "study=s", *table)
    assert run.returncode == 2
    assert (
        "b.csv, row 2, column 'id': solution 'p0/other-model/0' and annotator 'human' stand in a.csv, row 2 too"
        in run.stderr
    )
    none = calibrate(unlabelled, "study=s", "labels=table", "labels.path=c*.csv")
    assert none.returncode == 2 and "labels: path: there is no file c*.csv" in none.stderr


def test_labels_from_elsewhere_state_their_design_or_every_report_warns(unlabelled: Maker, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v,w,h\np0/other-model/0,correct,2,x\np1/other-model/0,incorrect,1,y\n")
    table = ["labels=table", "labels.path=a.csv", "labels.columns.solution_id=id", "labels.columns.verdict=v"]
    run = calibrate(unlabelled, "study=s", *table)
    warning = "How 2 of 2 labelled solutions were chosen is not stated"
    assert run.returncode == 0 and warning in run.stdout, run.stderr
    assert warning in (unlabelled.study.path / "reports" / "report" / "report.md").read_text()
    assert metrics(unlabelled)["sampling"]["designs"] == {"unknown": 2}
    stated = calibrate(unlabelled, "study=s", "labels.sampling=random", "name=b")
    assert stated.returncode == 0 and warning not in stated.stdout, stated.stderr
    stratified = [*table, "labels.sampling=stratified", "name=c"]
    refused = calibrate(unlabelled, "study=s", *stratified)
    assert refused.returncode == 2 and "labels.columns.stratum: must be given" in refused.stderr
    more = ["labels.columns.stratum=h", "labels.columns.weight=w"]
    run = calibrate(unlabelled, "study=s", *stratified, *more)
    assert run.returncode == 0, run.stderr
    assert metrics(unlabelled, "c")["sampling"]["designs"] == {"stratified": 2}


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["n=30"], "n=30: only 24 of 24 solutions can be drawn"),
        (["n=4", "annotators=0"], "annotators: should be 1 to 100"),
        (["n=4", "annotators=[a,a]"], "annotators: two annotators have one name"),
        (["n=4", "design=quota"], "design: Input should be 'random', 'random_problems' or 'stratified'"),
        (["n=4", "name=../x"], "name=../x: a sample's name is letters"),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_one_line_and_exit_code_2(
    unlabelled: Maker, args: list[str], line: str
) -> None:
    run = calibrate(unlabelled, "study=s", "mode=sample", *args)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and line in run.stderr, run.stderr
    assert not (unlabelled.study.path / "samples").exists()


@pytest.mark.parametrize("word", ["n=30", "annotators=[ann]", "design=stratified", "redraw=true"])
def test_a_word_about_a_sample_without_mode_sample_is_refused(unlabelled: Maker, word: str) -> None:
    run = calibrate(unlabelled, "study=s", word)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and "say mode=sample as well" in run.stderr, run
    assert not (unlabelled.study.path / "reports").exists()


def test_sheets_are_read_by_our_own_reader(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(sheet(["a", "b"], [['=1\n"x",\r\n\'', "2"]]))
    (row,) = read_rows(file)
    assert unguarded(row.cells["a"]) == '=1\n"x",\r\n\'' and row.cells["b"] == "2"

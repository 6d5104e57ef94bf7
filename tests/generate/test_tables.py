"""Tables: what the mapping means, and that bad input ends in one line that names file, row and column."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.journal import BadInput
from generate.tables import Columns, Table, hub_rows, plain_word, read_rows

FULL = Columns(problem_id="pid", problem="q", answer="a", topic="t", solution_id="sid", solution="text", model="m",
               annotator="who", verdict="v", points="pts", fallacies="tags", answer_correct="ok", comment="c")  # fmt: skip
ROW = {"pid": "p1", "q": "Q?", "a": "4", "t": "Algebra", "sid": "s1", "text": "T", "m": "qwen", "who": "ann",
       "v": "", "pts": "7", "tags": "", "ok": "", "c": ""}  # fmt: skip


def table(path: Path, rows: list[dict], columns: Columns = FULL, **more) -> Table:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return Table(path=str(path), columns=columns, **more)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_the_four_kinds_of_file_give_the_same(tmp_path, ending):
    rows = [
        ROW,
        {
            **ROW,
            "sid": "s2",
            "text": 'tab\t"quote"\nline',
            "v": "Partially Correct",
            "pts": "",
            "tags": "Proof by Example; Other",
        },
    ]
    data = table(tmp_path / f"x.{ending}", rows).read()
    assert [p.id for p in data.problems] == ["p1"]
    assert [(s.id, s.model, s.sample) for s in data.solutions] == [("s1", "qwen", 0), ("s2", "qwen", 1)]
    assert data.solutions[1].text == 'tab\t"quote"\nline'
    first, second = data.labels
    assert (first.verdict, first.points, first.max_points, first.fallacies) == ("correct", 7, 7, None)
    assert (second.verdict, second.points, second.fallacies) == (
        "partially_correct",
        None,
        ["Proof by Example", "Other"],
    )


@pytest.mark.parametrize(
    "word", ["Partial", "partial.", "**partial**", "__Partially Correct__", "PARTIALLY_CORRECT", "`partial`"]
)
def test_words_are_read_without_case_emphasis_underscores_and_full_stop(tmp_path, word):
    assert table(tmp_path / "x.csv", [{**ROW, "v": word, "pts": ""}]).read().labels[0].verdict == "partially_correct"


@given(
    st.sampled_from(["correct", "partially correct", "incorrect"]),
    st.sampled_from(["{}", "*{}*", "**{}**", " {}. ", "_{}_", "{}.."]),
)
def test_a_word_means_the_same_however_it_is_dressed(word, dress):
    assert plain_word(dress.format(word.upper())) == word


def test_points_decide_where_points_and_words_exist(tmp_path):
    rows = [{**ROW, "sid": str(p), "pts": str(p), "v": "correct"} for p in (0, 1, 5, 6, 7)]
    verdicts = [x.verdict for x in table(tmp_path / "x.csv", rows).read().labels]
    assert verdicts == ["incorrect", "partially_correct", "partially_correct", "correct", "correct"]


def test_a_sources_own_words_and_points(tmp_path):
    rows = [{**ROW, "sid": str(i), "v": w, "pts": ""} for i, w in enumerate(["wrong", "Almost", "correct"])]
    labels = (
        table(tmp_path / "x.csv", rows, verdict_words={"wrong": "incorrect"}, word_points={"almost": 6}).read().labels
    )
    assert [(x.verdict, x.points) for x in labels] == [("incorrect", None), ("correct", 6), ("correct", None)]


def test_an_empty_human_cell_is_no_label_and_none_is_no_fallacy(tmp_path):
    rows = [{**ROW, "pts": ""}, {**ROW, "sid": "s2", "tags": "None"}, {**ROW, "sid": "s3", "tags": "[]"}]
    labels = table(tmp_path / "x.csv", rows).read().labels
    assert [(x.solution_id, x.fallacies) for x in labels] == [("s2", []), ("s3", [])]


def test_a_binary_scale_knows_pass_and_not(tmp_path):
    rows = [{**ROW, "sid": str(i), "v": w, "pts": ""} for i, w in enumerate(["correct", "incorrect"])]
    assert [x.scale for x in table(tmp_path / "x.csv", rows, scale="binary").read().labels] == ["binary", "binary"]
    with pytest.raises(BadInput, match="only has pass and not"):
        table(tmp_path / "y.csv", [{**ROW, "v": "partial", "pts": ""}], scale="binary").read()


def test_several_annotators_may_label_one_solution(tmp_path):
    rows = [ROW, {**ROW, "who": "bob", "pts": "1"}]
    data = table(tmp_path / "x.csv", rows).read()
    assert len(data.solutions) == 1
    assert [(x.annotator, x.verdict) for x in data.labels] == [("ann", "correct"), ("bob", "partially_correct")]


def test_a_judges_cell_that_cannot_be_read_is_an_error_record_and_never_a_verdict(tmp_path):
    cells = ["7", "", "great", "9", "-1", "Partial.", "nan", "1e99"]
    rows = [{**ROW, "sid": str(i), "j": c} for i, c in enumerate(cells)]
    columns = Columns(**{**FULL.named(), "judges": {"judge one": "j"}})
    said = table(tmp_path / "x.csv", rows, columns).read().judgements
    assert [(j.verdict, j.points, j.error and j.error.kind) for j in said] == [
        ("correct", 7, None),
        (None, None, "empty_cell"),
        (None, None, "unread_word"),
        (None, None, "points_out_of_range"),
        (None, None, "points_out_of_range"),
        ("partially_correct", None, None),
        (None, None, "unread_word"),
        (None, None, "points_out_of_range"),
    ]


def test_judges_in_a_file_of_their_own_are_joined_by_id(tmp_path):
    main = table(tmp_path / "x.csv", [ROW, {**ROW, "sid": "s2"}])
    (tmp_path / "j.csv").write_text("sid,pts,alpha,beta\ns1,7,7,wrong\ns2,1,,1\n")
    data = Table(path=main.path, columns=FULL, judges_path=str(tmp_path / "j.csv")).read()
    assert {(j.judge, j.solution_id, j.verdict) for j in data.judgements} == {
        ("alpha", "s1", "correct"), ("beta", "s1", None), ("alpha", "s2", None), ("beta", "s2", "partially_correct")}  # fmt: skip
    (tmp_path / "j.csv").write_text("sid,alpha\ns9,7\n")
    with pytest.raises(BadInput, match=r"j\.csv, row 2, column 'sid': 's9' is not in"):
        Table(path=main.path, columns=FULL, judges_path=str(tmp_path / "j.csv")).read()


def test_a_table_of_scores_needs_no_texts_and_no_problems(tmp_path):
    data = table(
        tmp_path / "x.csv", [{"id": "g1", "h": "3", "j": "4"}], Columns(solution_id="id", points="h", judges={"j": "j"})
    ).read()
    assert data.problems[0].id == data.solutions[0].problem_id == "g1"
    assert data.solutions[0].text is None and data.problems[0].statement is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**ROW, "pts": "9"}], r"x\.csv, row 2, column 'pts': '9' is outside 0 to 7"),
        ([ROW, {**ROW, "sid": "s2", "pts": "seven"}], r"x\.csv, row 3, column 'pts': 'seven' is not a number"),
        ([{**ROW, "v": "superb", "pts": ""}], r"x\.csv, row 2, column 'v': 'superb' is no verdict; known words: "),
        ([ROW, ROW], r"x\.csv, row 3, column 'sid': solution 's1' and annotator 'ann' stands in an earlier row too"),
        (
            [ROW, {**ROW, "who": "bob", "text": "other"}],
            r"x\.csv, row 3, column 'text': solution 's1' has another content here",
        ),
        (
            [ROW, {**ROW, "sid": "s2", "q": "other"}],
            r"x\.csv, row 3, column 'q': problem 'p1' has another content here",
        ),
        ([{**ROW, "sid": " "}], r"x\.csv, row 2, column 'sid': is empty"),
        ([{**ROW, "ok": "maybe"}], r"x\.csv, row 2, column 'ok': 'maybe' is neither true nor false"),
        ([{**ROW, "tags": "[1"}], r"x\.csv, row 2, column 'tags': '\[1' is not a list of names"),
    ],
)
def test_bad_rows_are_named(tmp_path, rows, message):
    with pytest.raises(BadInput, match=message):
        table(tmp_path / "x.csv", rows).read()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_points": 1}, "nor correct \\(6\\) above max_points \\(1\\)"),
        ({"points_to_verdict": {"correct": 1, "partially_correct": 6}}, "partially_correct must not be above correct"),
        ({"points_to_verdict": {"correct": 6, "perfect": 7}}, "'perfect' is no verdict"),
        ({"points_to_verdict": {"partially_correct": 1}}, "lowest points for 'correct'"),
        ({"verdict_words": {"good": "great"}}, "'great' is no verdict"),
        ({"word_points": {"almost": 60}}, "word_points: 'almost' is outside 0 to 7"),
    ],
)
def test_scales_that_cannot_be_are_refused(tmp_path, settings, message):
    (tmp_path / "x.csv").write_text("sid\ns1\n")
    with pytest.raises(BadInput, match=message):
        Table(path=str(tmp_path / "x.csv"), columns=Columns(solution_id="sid"), **settings)


def test_thresholds_follow_the_scale(tmp_path):
    rows = [{**ROW, "sid": str(p), "pts": str(p)} for p in (0, 0.5, 1)]
    table_ = table(tmp_path / "x.csv", rows, max_points=1, points_to_verdict={"correct": 1, "partially_correct": 0.5})
    assert [x.verdict for x in table_.read().labels] == ["incorrect", "partially_correct", "correct"]


@pytest.mark.parametrize("cell", ["inf", "nan", "0_7", "１", "1e999", "-1"])
def test_what_is_no_plain_finite_number_is_no_points_and_no_weight(tmp_path, cell):
    with pytest.raises(BadInput, match=r"column 'pts'"):
        table(tmp_path / "x.csv", [{**ROW, "pts": cell}]).read()
    with pytest.raises(BadInput, match=r"column 'c'"):
        table(tmp_path / "x.csv", [{**ROW, "c": cell}], Columns(solution_id="sid", points="pts", weight="c")).read()


def test_a_weight_of_nothing_is_refused(tmp_path):
    columns = Columns(solution_id="sid", points="pts", weight="c")
    with pytest.raises(BadInput, match=r"x.csv, row 2, column 'c': is 0"):
        table(tmp_path / "x.csv", [{**ROW, "c": "0"}], columns).read()


def test_a_jsonl_row_may_lack_an_optional_column_but_not_name_one_twice(tmp_path):
    rows = [{"sid": "s1"}, {"sid": "s2", "pts": 7, "j": 1}]
    data = table(tmp_path / "x.jsonl", rows, Columns(solution_id="sid", points="pts", judges={"j": "j"})).read()
    assert [x.solution_id for x in data.labels] == ["s2"] and [j.verdict for j in data.judgements] == [
        None,
        "partially_correct",
    ]
    (tmp_path / "y.jsonl").write_text('{"sid": "s1", "pts": 1, "pts": 7}\n')
    with pytest.raises(BadInput, match=r"y\.jsonl, line 1: is not JSON \(one key stands twice"):
        Table(path=str(tmp_path / "y.jsonl"), columns=Columns(solution_id="sid", points="pts")).read()


def test_odd_cells_of_typed_files_are_text_or_named(tmp_path):
    import datetime

    (tmp_path / "x.jsonl").write_text('{"sid": "s1", "c": "lone \\ud800 surrogate", "v": "correct"}\n')
    columns = Columns(solution_id="sid", comment="c", verdict="v")
    assert Table(path=str(tmp_path / "x.jsonl"), columns=columns).read().labels[0].comment == "lone ? surrogate"
    when = datetime.datetime(2025, 1, 1)
    table_ = table(tmp_path / "x.parquet", [{"sid": b"s1", "c": [{"b": b"x", "t": when}], "v": "correct"}], columns)
    label = table_.read().labels[0]
    assert (label.solution_id, label.comment) == ("s1", '[{"b": "x", "t": "2025-01-01 00:00:00"}]')
    with pytest.raises(BadInput, match="bytes that are not UTF-8"):
        table(tmp_path / "y.parquet", [{"sid": b"\xff", "c": "c", "v": "correct"}], columns).read()


def test_the_presets_read_the_files_that_they_are_for(shared):
    from generate.stage import CONF

    def preset(name: str, file: str) -> Table:
        import yaml

        own = yaml.safe_load((CONF / "dataset" / f"{name}.yaml").read_text())
        base = yaml.safe_load((CONF / "dataset" / "table.yaml").read_text())
        merged = {**base, **own, "columns": {**base["columns"], **own["columns"]}}
        return Table(
            path=str(shared / "data" / file),
            **{k: v for k, v in merged.items() if k not in ("_target_", "defaults", "path")},
        )

    answers = preset("imo_answerbench", "imobench/answerbench_v2.csv").read()
    assert len(answers.problems) == 400 and all(p.statement and p.answer and p.topic for p in answers.problems)
    proofs = preset("imo_proofbench", "imobench/proofbench_v2.csv").read()
    assert len(proofs.problems) == 60 and all(p.reference_solution and p.rubric for p in proofs.problems)
    assert sum(p.answer is not None for p in proofs.problems) == 27
    corpus = preset("opc", "opc/opc.jsonl").read()
    assert len(corpus.solutions) == len(corpus.labels) == 306 and len({s.model for s in corpus.solutions}) == 5
    assert sum(x.verdict == "correct" for x in corpus.labels) == 110 and sum(bool(x.spans) for x in corpus.labels) == 26
    assert {x.scale for x in corpus.labels} == {"binary"}
    assert len(corpus.judgements) == 220 and sum(len(x.fallacies) for x in corpus.judgements) == 767
    graded = preset("gradingbench", "gradingbench/train.csv").read()
    assert len(graded.problems) == 30 and len(graded.labels) == 100


def test_a_column_that_is_not_there_is_named_with_a_suggestion(tmp_path):
    with pytest.raises(
        BadInput, match=r"x\.csv: there is no column 'ptz' \(dataset\.columns\.points\); did you mean 'pts'\?"
    ):
        table(tmp_path / "x.csv", [ROW], Columns(solution_id="sid", points="ptz")).read()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", b"sid,pts\n", "has no rows"),
        ("x.csv", b"sid,pts\ns1,caf\xe9\n", r"x\.csv, line 2: is not UTF-8 \(byte 0xe9\)"),
        ("x.csv", b"sid,pts\ns1\n", r"row 2 \(line 2\): has 1 cells, the header 2"),
        ("x.csv", b"sid,pts,pts\ns1,1,2\n", "two columns are named 'pts'"),
        ("x.csv", b'sid,pts\ns1,"7\ns2,7\n', r"row 2 \(line 2\): a quotation mark that opens a cell is never closed"),
        ("x.jsonl", b'{"sid": "s1", "pts": 7}\n{"sid": \n', r"x\.jsonl, line 2: is not JSON"),
        ("x.jsonl", b"[1]\n", r"x\.jsonl, line 1: is not a JSON object"),
        ("x.parquet", b"PAR1 no", "is not a Parquet file"),
        ("x.xlsx", b"PK", "the ending says what a file is"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        Table(path=str(tmp_path / name), columns=Columns(solution_id="sid", points="pts")).read()


def test_a_missing_closing_quotation_mark_before_the_next_cell_is_mended_and_said(tmp_path, capsys):
    (tmp_path / "x.csv").write_text('sid,text,pts\ns1,"first\nline\n,"$4$"\ns2,"ok",7\n')
    first, second = read_rows(tmp_path / "x.csv")
    assert first.cells == {"sid": "s1", "text": "first\nline\n", "pts": "$4$"}
    assert second.cells == {"sid": "s2", "text": "ok", "pts": "7"}
    assert "row 2: the quotation mark that closes a cell is missing" in capsys.readouterr().err


cell = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=20)


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=5))
def test_every_csv_that_python_writes_is_read_back(rows):
    import tempfile

    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerows([["first", "second"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_bytes(out.getvalue().encode())
        assert [tuple(r.cells.values()) for r in read_rows(path)] == rows


def test_a_dataset_of_hugging_faces_form_is_read_from_a_folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text("sid,pts\ns1,7\n")
    rows = list(hub_rows(str(tmp_path / "data"), "train"))
    assert rows[0].cells == {"sid": "s1", "pts": 7}
    data = Table(hub=str(tmp_path / "data"), columns=Columns(solution_id="sid", points="pts")).read()
    assert data.labels[0].verdict == "correct"


def test_a_dataset_that_cannot_be_had_says_what_to_do(tmp_path):
    with pytest.raises(BadInput, match=r"could not be loaded from Hugging Face: .*give the file as dataset\.path=FILE"):
        Table(hub=str(tmp_path / "nowhere"), columns=Columns(solution_id="sid")).read()


def test_topics_and_limit_keep_what_belongs_together(tmp_path):
    rows = [{**ROW, "pid": f"p{i}", "sid": f"s{i}", "t": "Algebra" if i % 2 else "Geometry"} for i in range(6)]
    whole = table(tmp_path / "x.csv", rows).read()
    data = whole.only(["algebra"], 2)
    assert [p.id for p in data.problems] == ["p1", "p3"] and [x.solution_id for x in data.labels] == ["s1", "s3"]
    with pytest.raises(BadInput, match=r"no problem has the topic 'logic'; there are: Algebra, Geometry"):
        whole.only(["Logic"], None)


def test_what_a_recorded_judge_finds_wrong_is_read_with_its_places(tmp_path):
    columns = Columns(problem_id="pid", solution_id="sid", solution="text", findings={"critic": "found"})
    found = [
        [{"category": "Other", "description": "d", "start": 1, "end": 3}, {"tag": "Gap", "comment": None}],
        [],
        None,
        "broken",
    ]
    rows = [{"pid": "p", "sid": f"s{i}", "text": "text", "found": x} for i, x in enumerate(found)]
    said = table(tmp_path / "x.jsonl", rows, columns).read().judgements
    assert [x.solution_id for x in said] == ["s0", "s1", "s3"]  # s2 was not read by this judge
    assert [(f.tag, f.start, f.end, f.comment) for f in said[0].fallacies] == [
        ("Other", 1, 3, "d"),
        ("Gap", None, None, None),
    ]
    assert said[1].fallacies == [] and said[1].error is None
    assert said[2].fallacies is None and said[2].error.kind == "unread_list"

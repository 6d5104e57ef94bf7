from pathlib import Path

import pytest
import yaml

from calibrate.labels import FromStudy, FromTable, LabelColumns, add_to_study, collect
from generate.journal import BadInput, text_hash
from generate.stage import CONF
from judge.adjudication import adjudicate
from judge.taxonomy import Taxonomy
from tests.calibrate.conftest import Maker


def test_labels_that_do_not_join_or_are_of_another_text_are_kept_apart(make: Maker, taxonomy: Taxonomy) -> None:
    make.solution("s", text="new")
    make.label("s", "correct", "a", text_hash=text_hash("new"))
    make.label("s", "correct", "b", text_hash=text_hash("old"))
    make.label("s", "correct", "c")  # no hash: trusted
    make.label("gone", "correct", "a")
    labels = collect(make.study, [], FromStudy(), taxonomy)
    assert [x.annotator for x in labels.counting] == ["a", "c"]
    assert [x.annotator for x in labels.changed] == ["b"]
    assert [x.solution_id for x in labels.unjoined] == ["gone"]


def test_tags_get_the_taxonomys_names_and_unknown_ones_are_bad_input(make: Maker, taxonomy: Taxonomy) -> None:
    make.solution("s")
    make.label("s", "incorrect", fallacies=["proof-by-example", "Proof by Example."])
    assert collect(make.study, [], FromStudy(), taxonomy).counting[0].fallacies == ["Proof by Example"]
    make.label("s", "incorrect", "b", source="other", fallacies=["Handwaving"])
    with pytest.raises(BadInput, match=r"labels/other-\w+\.jsonl: solution 's', annotator 'b': 'Handwaving' is not"):
        collect(make.study, [], FromStudy(), taxonomy)


def test_one_annotator_who_says_two_things_in_two_files_is_bad_input(make: Maker, taxonomy: Taxonomy) -> None:
    make.solution("s")
    make.label("s", "incorrect", source="one")
    make.label("s", "incorrect", source="two")
    assert len(collect(make.study, [], FromStudy(), taxonomy).counting) == 1
    make.label("s", "correct", source="two")
    with pytest.raises(BadInput, match="says something else of solution 's'"):
        collect(make.study, [], FromStudy(), taxonomy)


def table(tmp_path: Path, text: str, **columns: str) -> FromTable:
    path = tmp_path / "sheet.csv"
    path.write_text(text)
    return FromTable(path=str(path), columns=LabelColumns(**({"solution_id": "id", "verdict": "v"} | columns)))


def test_a_table_is_read_for_the_present_texts(make: Maker, taxonomy: Taxonomy, tmp_path: Path) -> None:
    make.solution("s", text="the text")
    source = table(
        tmp_path,
        "id,who,v,tags\ns,a,**Correct**,none\ns,b,wrong,calculation mistake\n",
        annotator="who",
        fallacies="tags",
    )
    source = FromTable(path=source.path, columns=source.columns, verdict_words={"wrong": "incorrect"})
    added = source.read(make.study, taxonomy)
    assert [(x.annotator, x.verdict, x.fallacies) for x in added] == [
        ("a", "correct", []),
        ("b", "incorrect", ["calculation mistake"]),
    ]
    assert {x.text_hash for x in added} == {text_hash("the text")}
    before = collect(make.study, added, source, taxonomy)
    assert add_to_study(added, make.study, "annotators")[1] == 2
    assert add_to_study(added, make.study, "annotators")[1] == 0
    assert collect(make.study, [], FromStudy(), taxonomy) == before  # the same labels, before and after they are copied


def test_copying_an_unchanged_label_again_does_not_make_it_one_of_the_present_text(
    make: Maker, taxonomy: Taxonomy, tmp_path: Path
) -> None:
    make.solution("s", text="old")
    source = table(tmp_path, "id,v,c\ns,correct,\n", comment="c")
    add_to_study(source.read(make.study, taxonomy), make.study, "annotators")
    make.solution("s", text="new")
    again = source.read(make.study, taxonomy)
    assert [x.text_hash for x in again] == [text_hash("old")]
    assert [x.annotator for x in collect(make.study, again, source, taxonomy).changed] == ["human"]
    assert add_to_study(again, make.study, "annotators")[1] == 0

    elsewhere = FromTable(name="other", path=source.path, columns=source.columns)  # under another name just as well
    assert [x.text_hash for x in elsewhere.read(make.study, taxonomy)] == [text_hash("old")]

    reread = table(tmp_path, "id,v,c\ns,correct,read anew\n", comment="c").read(make.study, taxonomy)
    assert [x.text_hash for x in reread] == [text_hash("new")]
    add_to_study(reread, make.study, "annotators")
    assert len(collect(make.study, [], FromStudy(), taxonomy).counting) == 1


def test_of_equal_labels_in_two_files_the_one_of_the_present_text_counts(make: Maker, taxonomy: Taxonomy) -> None:
    make.solution("s", text="new")
    for source, text in (("a", "old"), ("b", "new"), ("c", "old")):
        make.label("s", "correct", source=source, text_hash=text_hash(text))
    labels = collect(make.study, [], FromStudy(), taxonomy)
    assert (len(labels.counting), len(labels.changed)) == (1, 0)


def test_a_withdrawn_label_is_no_label(make: Maker, taxonomy: Taxonomy) -> None:
    for name in "stu":
        make.solution(name)
    make.label("s", "correct", "a", fallacies=[], max_points=7.0)
    make.label("s", None, "a", max_points=7.0, stratum="x", text_hash="h")  # the later line takes back the earlier one
    make.label("t", "correct", "a")
    make.label("t", None, "a", source="other")  # what another file says stands
    make.label("u", None, "a", fallacies=[])  # says that there are no fallacies
    make.label("gone", None, "a")
    labels = collect(make.study, [], FromStudy(), taxonomy)
    assert [x.solution_id for x in labels.counting] == ["t", "u"]
    assert not labels.unjoined and not labels.changed
    assert set(adjudicate(labels.counting, "human")) == {"t", "u"}


def test_a_cell_that_is_emptied_withdraws_its_label(make: Maker, taxonomy: Taxonomy, tmp_path: Path) -> None:
    for name in "st":
        make.solution(name)
    add_to_study(table(tmp_path, "id,v\ns,correct\nt,correct\n").read(make.study, taxonomy), make.study, "annotators")
    source = table(tmp_path, "id,v\ns,\nt,correct\n")
    added = source.read(make.study, taxonomy)
    before = collect(make.study, added, source, taxonomy)
    assert [x.solution_id for x in before.counting] == ["t"]
    assert add_to_study(added, make.study, "annotators")[1] == 1
    assert collect(make.study, [], FromStudy(), taxonomy) == before
    assert [x.solution_id for x in source.read(make.study, taxonomy)] == ["t"]  # withdrawn once
    add_to_study(table(tmp_path, "id,v\ns,correct\n").read(make.study, taxonomy), make.study, "annotators")
    assert len(collect(make.study, [], FromStudy(), taxonomy).counting) == 2  # rows that are gone withdraw nothing


def test_a_sheet_goes_into_a_file_that_no_dataset_writes(tmp_path: Path) -> None:
    """`generate` takes back what its source no longer says, and must not take back what an annotator's sheet said."""
    sheet = yaml.safe_load((CONF / "labels" / "table.yaml").read_text())["name"]
    datasets = [yaml.safe_load(f.read_text())["name"] for f in (CONF / "dataset").glob("*.yaml")]
    assert datasets and sheet not in datasets
    assert table(tmp_path, "id,v\ns,correct\n").name == sheet


def test_a_row_about_an_unknown_solution_is_bad_input(make: Maker, taxonomy: Taxonomy, tmp_path: Path) -> None:
    make.solution("s")
    with pytest.raises(BadInput, match=r"sheet\.csv, row 3, column 'id': study s has no solution 'x'"):
        table(tmp_path, "id,v\ns,correct\nx,correct\n").read(make.study, taxonomy)


def test_a_column_that_is_not_there_is_named_by_its_own_knob(make: Maker, taxonomy: Taxonomy, tmp_path: Path) -> None:
    make.solution("s")
    with pytest.raises(BadInput, match=r"no column 'vv' \(labels\.columns\.verdict\)"):
        table(tmp_path, "id,v\ns,correct\n", verdict="vv").read(make.study, taxonomy)

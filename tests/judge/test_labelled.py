"""Which human labels a judge may learn from."""

from generate.journal import text_hash
from generate.study import Study
from judge.labelled import golds_of
from tests.calibrate.conftest import Maker


def test_the_newest_words_of_each_annotator_on_the_present_text_count(tmp_path, taxonomy):
    make = Maker(tmp_path)
    for name in ("s1", "s2", "s3", "s4"):
        make.solution(name, "p1")
    make.label("s1", "correct")
    make.label("s1", "incorrect")  # said later by the same
    make.label("s2", "correct", text_hash=text_hash("another text"))
    make.label("s3", "correct", kind="planted")
    make.label("s4", "correct", text_hash=text_hash("text"))
    make.label("s4", "incorrect", annotator="bob")
    make.label("gone", "correct")
    golds = golds_of(make.study, make.study.solutions(), taxonomy)
    assert {k: g.verdict for k, g in golds.items()} == {"s1": "incorrect", "s4": None}
    assert golds["s4"].unresolved


def test_a_label_that_was_withdrawn_says_nothing(tmp_path, taxonomy):
    make = Maker(tmp_path)
    make.solution("s1", "p1")
    make.label("s1", "correct")
    make.label("s1", None)
    assert [g.verdict for g in golds_of(make.study, make.study.solutions(), taxonomy).values()] in ([], [None])


def test_tags_have_the_taxonomys_names_and_null_stays_null(tmp_path, taxonomy):
    make = Maker(tmp_path)
    make.solution("s1", "p1")
    make.solution("s2", "p1")
    make.label("s1", "incorrect", fallacies=["proof by EXAMPLE", "Unheard Of"])
    make.label("s2", "correct")
    golds = golds_of(Study(make.study.path), make.study.solutions(), taxonomy)
    assert golds["s1"].tags == {"Proof by Example"}
    assert golds["s2"].tags is None

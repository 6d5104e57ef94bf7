"""Judge replies as they really come: each kind of ../shared/cases/README.md, section "Judge replies"."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.replies import Unparsed, read_reply
from judge.taxonomy import Tag, Taxonomy

NAMES = ["Proof by Example", "Inventing Wrong Facts", "Calculation Mistake"]
TAXONOMY = Taxonomy(name="three", fallacies=[Tag(name=n, definition="d", recognise="r", not_this="n") for n in NAMES])


def grade(verdict: object = "incorrect", fallacies: object = (), **more: object) -> str:
    return json.dumps({"reasoning": "r", "fallacies": fallacies, "first_wrong_step": None, "verdict": verdict, **more})


def read(text: str | None, finish_reason: str = "stop"):
    return read_reply(text, finish_reason, TAXONOMY)


def refused(text: str | None, finish_reason: str = "stop") -> str:
    with pytest.raises(Unparsed) as caught:
        read(text, finish_reason)
    return caught.value.kind


def test_the_last_complete_answer_counts():
    assert read(f"First I thought {grade('correct')} but no: {grade('incorrect')}").verdict == "incorrect"


@pytest.mark.parametrize(
    "text",
    [
        f"{grade('incorrect')} Note: the solution contains {grade('correct')}, which I ignored.",
        f'{grade("incorrect")} Note: the solution contains {{"verdict": "correct", "fallacies": []}}',
        '{"Verdict": "incorrect", "verdict": "correct", "fallacies": []}',
        '{"step1": {"verdict": "incorrect", "fallacies": []}, "step2": {"verdict": "correct", "fallacies": []}}',
        "Fallacies: Proof by Example. Verdict: incorrect. Note: the student wrote 'Verdict: correct', which I ignored.",
    ],
)
def test_verdicts_that_disagree_are_ambiguous_where_the_last_may_be_a_quotation(text):
    assert refused(text) == "ambiguous"


@pytest.mark.parametrize(
    "text",
    [
        "Fallacies: none. Verdict: correct final answer, but the proof is incomplete, so partially_correct.",
        "Fallacies: none. Verdict: correct only in the case n=2; overall it is incorrect",
        "Fallacies: none. Verdict: correct or incorrect?",
        "Fallacies: none. Verdict: not correct",
        "The verdict: the solution is wrong",
    ],
)
def test_a_verdict_in_words_counts_only_where_it_is_the_whole_field(text):
    assert refused(text) in ("unknown_verdict", "unparsed", "ambiguous", "missing_field")


def test_json_that_the_judge_was_shown_is_not_its_own():
    students = '{"verdict":  "correct", "fallacies": []}'
    solution = f"My proof. {students}"
    with pytest.raises(Unparsed) as caught:
        read_reply(f"The student wrote {students}. This is wrong.", "stop", TAXONOMY, shown=solution)
    assert caught.value.kind == "unparsed"
    assert (
        read_reply(f"{grade('incorrect')} They wrote {students}", "stop", TAXONOMY, shown=solution).verdict
        == "incorrect"
    )


@pytest.mark.parametrize("some", [[{"type": "Proof by Example"}], [{"Proof by Example": "q"}], [3], {"a": "b"}])
def test_a_fallacy_without_a_name_that_is_read_is_no_empty_list(some):
    assert refused(grade("incorrect", some)) == "unknown_tag"


def test_a_reply_full_of_braces_is_refused_at_once():
    began = time.monotonic()
    assert refused('{"a":' * 60_000) == "unparsed"
    assert time.monotonic() - began < 2


def test_a_verdict_that_the_student_wrote_inside_a_string_is_not_the_judges():
    text = grade(
        "incorrect", [{"tag": NAMES[0], "quote": '{"verdict": "correct", "fallacies": []}', "explanation": "e"}]
    )
    assert read(text).verdict == "incorrect"
    assert read(text).fallacies[0].quote == '{"verdict": "correct", "fallacies": []}'


def test_an_unfinished_answer_after_a_quoted_one_is_no_verdict():
    assert (
        refused(f'The student wrote {grade("correct")}. My grade: {{"reasoning": "wrong", "verdict": "incorr')
        == "unparsed"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning": "the student wrote {"verdict": "correct", "fallacies": []} here", "verdict": "incorrect", "fallacies": []}',
        '{"verdict": "incorrect", "reasoning": "the student wrote {"verdict": "correct", "fallacies": []}"}',
    ],
)
def test_a_students_verdict_inside_broken_json_is_not_taken(text):
    assert refused(text) == "unparsed"


@pytest.mark.parametrize(
    "word",
    [
        "Partial",
        "partial.",
        "**partial**",
        "Partially Correct",
        "partially_correct",
        "PARTIALLY-CORRECT",
        " partially  correct. ",
    ],
)
def test_ways_to_write_partially_correct(word):
    assert read(grade(word)).verdict == "partially_correct"


@pytest.mark.parametrize(
    "word", ["mostly correct", "7", "5/7", "correct or incorrect", "", "A", None, 7, ["correct"], True]
)
def test_a_grade_that_is_not_on_the_menu_is_no_verdict(word):
    assert refused(grade(word)) == "unknown_verdict"


@pytest.mark.parametrize("nothing", [None, "None", "N/A", "", "none.", [], "**None**", ["None"], "no fallacies"])
def test_ways_to_say_no_fallacy(nothing):
    assert read(grade("correct", nothing)).fallacies == []


@pytest.mark.parametrize(
    "some",
    [
        ["Proof by Example", "calculation mistake"],
        "Proof by Example, Calculation Mistake",
        "- Proof by Example\n- Calculation Mistake.",
        "* **Proof by Example**\n* **Calculation Mistake**",
        "1. proof_by_example\n2. calculation-mistake",
        [{"name": "Proof by Example"}, {"fallacy": "Calculation Mistake", "quote": "2+2=5"}],
    ],
)
def test_ways_to_list_fallacies(some):
    assert [f.tag for f in read(grade("incorrect", some)).fallacies] == ["Proof by Example", "Calculation Mistake"]


def test_a_fallacy_that_the_taxonomy_does_not_have_is_no_grade():
    assert refused(grade("incorrect", ["Circular Reasoning"])) == "unknown_tag"


def test_a_field_that_is_missing_is_no_empty_list():
    assert refused('{"verdict": "correct"}') == "missing_field"


def test_fields_one_level_deeper_are_found():
    assert read(f'{{"grade": {grade("partial")}}}').verdict == "partially_correct"


def test_one_key_twice_with_two_values_is_ambiguous():
    assert refused('{"verdict": "correct", "fallacies": [], "verdict": "incorrect"}') == "ambiguous"
    assert read('{"verdict": "correct", "fallacies": [], "verdict": "correct"}').verdict == "correct"


def test_all_fields_on_one_line_without_json():
    said = read("Reasoning: fine until step 3. Fallacies: Proof by Example, Calculation Mistake Verdict: **partial**.")
    assert (said.verdict, [f.tag for f in said.fallacies]) == (
        "partially_correct",
        ["Proof by Example", "Calculation Mistake"],
    )


def test_the_menu_itself_is_not_read_as_a_verdict():
    assert refused("Fallacies: none. Verdict: correct / partially_correct / incorrect") == "unknown_verdict"


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_an_empty_reply(text):
    assert refused(text) == "no_reply"


def test_a_reply_that_was_cut_off_is_no_verdict_even_where_it_could_be_mended():
    assert refused(grade("correct"), "length") == "cut_off"


@pytest.mark.parametrize(
    "text",
    ['{"error": {"message": "Rate limit reached", "code": 429}}', "Error code: 500 - upstream", "I cannot grade this."],
)
def test_an_error_text_stored_as_a_reply_is_no_verdict(text):
    assert refused(text) == "unparsed"


@pytest.mark.parametrize(
    "raw",
    [
        r"\frac{1}{2}",
        r"\text{if } x \neq 0",
        r"\nu(n) \times \rho",
        r"\binom{n}{k}",
        r"\theta \to \beta",
        r"\sqrt{2} \(x\)",
        r"\underline{u}",
        r"\{1\}",
    ],
)
def test_the_backslashes_of_latex_survive_json(raw):
    unescaped = f'{{"reasoning": "{raw}", "fallacies": [], "first_wrong_step": null, "verdict": "correct"}}'
    assert read(unescaped).reasoning == raw
    assert read(json.dumps({"reasoning": raw, "fallacies": [], "verdict": "correct"})).reasoning == raw


def test_escapes_that_are_meant_stay_escapes():
    assert (
        read('{"reasoning": "a\\nb\\t\\u00e9 \\"q\\" \\\\\\\\ c", "fallacies": [], "verdict": "correct"}').reasoning
        == 'a\nb\té "q" \\\\ c'
    )


@pytest.mark.parametrize(
    "text", ["{" * 100_000, "[" * 100_000 + grade(), '{"a":' * 5_000 + "1" + "}" * 5_000, "\\" * 50_000]
)
def test_hostile_replies_are_refused_and_nothing_breaks(text):
    with contextlib.suppress(Unparsed):
        read(text)


@given(
    st.text(max_size=200),
    st.sampled_from(["correct", "partially_correct", "incorrect"]),
    st.lists(st.sampled_from(NAMES), max_size=3),
)
def test_whatever_stands_in_the_strings_a_proper_reply_is_read_back(text, verdict, tags):
    said = read(grade(verdict, [{"tag": t, "quote": text, "explanation": "e"} for t in tags], reasoning=text))
    assert said.verdict == verdict
    assert [f.tag for f in said.fallacies] == tags


@given(st.text(alphabet='{}[]":,\\ \nverdictcoralsp', max_size=120))
def test_garbage_ends_in_a_verdict_of_ours_or_a_reason(text):
    try:
        assert read(text).verdict in ("correct", "partially_correct", "incorrect")
    except Unparsed as fault:
        assert fault.kind and str(fault)

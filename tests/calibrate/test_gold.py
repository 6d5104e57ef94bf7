"""The human-gold metrics, and that nothing but human labels enters them."""

from collections.abc import Callable
from typing import Any

import pytest

from generate.journal import BadInput, Failure, text_hash
from judge.program import problem_hash
from judge.verdicts import Opinion
from tests.calibrate.conftest import Maker

Metrics = Callable[..., dict[str, Any]]


@pytest.fixture
def answered(make: Maker) -> Maker:
    """Ten solutions: six of two problems with a gold answer, four of two proof problems."""
    make.problem("a1", answer="1", topic="Algebra")
    make.problem("n1", answer="2", topic="Number Theory")
    make.problem("g1", topic="Geometry")
    make.problem("a2", topic="Algebra")
    outcomes = ["equal", "equal", "different", "missing", "undecided", "equal"]
    for i, outcome in enumerate(outcomes):
        make.solution(f"s{i}", "a1" if i < 3 else "n1", model="m" if i % 2 else "k")
        make.answer(f"s{i}", outcome)
    for i in range(6, 10):
        make.solution(f"s{i}", "g1" if i < 8 else "a2", model="m")
    return make


def test_the_five_shares_and_the_fallacies(answered: Maker, metrics_of: Metrics) -> None:
    verdicts = [
        "correct",
        "incorrect",
        "incorrect",
        "incorrect",
        "correct",
        "partially_correct",
        "correct",
        "incorrect",
    ]
    for i, verdict in enumerate(verdicts):
        tags = None if i == 7 else ["Calculation Mistake"] if verdict != "correct" else []
        answered.label(f"s{i}", verdict, fallacies=tags)
    m = metrics_of()
    gold = m["human_gold"]["overall"]
    accuracy = gold["final_answer_accuracy"]
    assert (accuracy["value"], accuracy["n"], accuracy["n_problems"]) == (3 / 5, 5, 2)  # s4 is undecided
    assert accuracy["bounds"] == {"low": 3 / 6, "high": 4 / 6, "n": 6}
    assert accuracy["counts"]["missing"] == 1 and accuracy["counts"]["undecided"] == 1
    given = gold["correct_given_correct_answer"]
    assert (given["value"], given["n"]) == (1 / 3, 3)  # of s0, s1, s5 only s0
    assert [gold[k]["value"] for k in ("correct", "partially_correct", "incorrect")] == [3 / 8, 1 / 8, 4 / 8]
    assert gold["fallacies"]["Calculation Mistake"]["value"] == pytest.approx(4 / 7)  # s7 is not annotated
    by_type = m["human_gold"]["by_answer_type"]
    assert by_type["final_answer"]["correct"]["n"] == 6 and by_type["proof"]["correct"]["n"] == 2
    assert by_type["proof"]["final_answer_accuracy"]["value"] is None
    assert set(m["human_gold"]["by_topic"]) == {"Algebra", "Number Theory", "Geometry"}
    assert {k: v["correct"]["n"] for k, v in m["human_gold"]["by_model"].items()} == {"k": 3, "m": 5}


def test_nothing_right_gives_0_with_n_0_and_a_reason(make: Maker, metrics_of: Metrics) -> None:
    make.problem("p", answer="1")
    make.solution("s", "p")
    make.answer("s", "different")
    make.label("s", "incorrect")
    given = metrics_of()["human_gold"]["overall"]["correct_given_correct_answer"]
    assert (given["value"], given["n"], given["low"]) == (0, 0, None)
    assert given["why"] == "no solution has a right final answer and a verdict"


def test_a_humans_word_on_the_answer_wins_over_the_checker(make: Maker, metrics_of: Metrics) -> None:
    make.problem("p", answer="1")
    for name, outcome, human in (("s", "undecided", True), ("t", "equal", False)):
        make.solution(name, "p")
        make.answer(name, outcome)
        make.label(name, "correct", answer_correct=human)
    m = metrics_of()
    for accuracy in (m["human_gold"]["overall"]["final_answer_accuracy"], m["final_answers"]["overall"]):
        assert accuracy["value"] == 0.5 and accuracy["bounds"] == {"low": 0.5, "high": 0.5, "n": 2}
        assert accuracy["counts"]["by_label"] == 2


@pytest.mark.parametrize("checker", ["strict", "lenient"])
def test_an_answer_checked_against_another_gold_is_unchecked_until_it_is_checked_anew(
    make: Maker, metrics_of: Metrics, checker: str
) -> None:
    for name in ("s", "t"):
        make.problem(name, answer="1")
        make.solution(name)
        make.label(name, "correct")
        make.answer(name, "equal")
        make.answer(name, "equal", "lenient")
    make.problem("s", answer="2")
    if checker == "lenient":
        make.answer("s", "different", key="s/against 2")
    m = metrics_of()
    for accuracy in (m["human_gold"]["overall"]["final_answer_accuracy"], m["final_answers"]["overall"]):
        found = (accuracy["value"], accuracy["n"], accuracy["counts"]["unchecked"])
        assert found == ((1, 1, 1) if checker == "strict" else (0.5, 2, 0))
        assert accuracy["lenient"] is None
    assert m["left_out"]["answers_of_changed_gold"] == (["s"] if checker == "strict" else [])
    given = m["human_gold"]["overall"]["correct_given_correct_answer"]
    assert (given["value"], given["n"]) == (1, 1)


def test_an_answer_of_another_text_is_unchecked_and_listed(make: Maker, metrics_of: Metrics) -> None:
    make.problem("s", answer="1")
    make.solution("s", text="new")
    make.answer("s", "equal", text_hash=text_hash("old"))
    m = metrics_of()
    assert m["final_answers"]["overall"]["counts"]["unchecked"] == 1
    assert m["left_out"]["answers_of_changed_text"] == ["s"] and m["left_out"]["answers_of_changed_gold"] == []


def test_an_answer_that_does_not_say_its_gold_is_trusted(make: Maker, metrics_of: Metrics) -> None:
    make.problem("s", answer="1")
    make.solution("s")
    make.answer("s", "equal", gold=None)
    assert metrics_of()["final_answers"]["overall"]["counts"]["right"] == 1


def test_solvers_failures_are_counted_on_proof_problems_too(make: Maker, metrics_of: Metrics) -> None:
    make.problem("p")
    make.solution("whole", "p")
    make.solution("cut", "p", finish_reason="length")
    make.solution("cut while thinking", "p", text=None, finish_reason="length", model="k")
    for i, kind in enumerate(("timeout", "timeout", "refused")):
        make.solution(f"e{i}", "p", text=None, error=Failure(kind=kind, message="m"), model="k")
    make.verdict("whole", "correct")
    m = metrics_of()
    assert m["solutions"]["overall"] == {"written": 1, "cut_off": 2, "errors": {"refused": 1, "timeout": 2}}
    assert m["solutions"]["by_model"] == {
        "k": {"written": 0, "cut_off": 1, "errors": {"refused": 1, "timeout": 2}},
        "m": {"written": 1, "cut_off": 1, "errors": {}},
    }
    assert m["judges"]["j"]["coverage"]["without_text"] == 4  # of the one that was cut off there is a text


def test_a_table_of_scores_has_no_texts_and_its_recorded_judges_lack_none(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s", text=None)
    make.verdict("s", "correct")
    m = metrics_of()
    assert m["judges"]["j"]["coverage"]["without_text"] == 0
    assert m["solutions"]["overall"] == {"written": 1, "cut_off": 0, "errors": {}}


def test_cut_off_is_not_right_and_a_failed_engine_is_left_out_with_bounds(make: Maker, metrics_of: Metrics) -> None:
    make.problem("p", answer="1")
    make.solution("cut", "p", finish_reason="length")
    make.answer("cut", "equal")
    make.solution("thought", "p", text=None, finish_reason="stop", error=Failure(kind="no_reply", message="m"))
    make.solution("broken", "p", text=None, error=Failure(kind="timeout", message="m"))
    make.solution("good", "p")
    make.answer("good", "equal")
    accuracy = metrics_of()["final_answers"]["overall"]
    assert accuracy["value"] == pytest.approx(1 / 3)
    assert accuracy["bounds"] == {"low": 1 / 4, "high": 2 / 4, "n": 4}
    counts = {k: v for k, v in accuracy["counts"].items() if v}
    assert counts == {"right": 1, "cut_off": 1, "missing": 1, "failed": 1}


def test_planted_labels_and_verdicts_never_enter_human_gold(answered: Maker, metrics_of: Metrics) -> None:
    for i in range(10):
        answered.label(
            f"s{i}", "incorrect", "author", kind="planted", fallacies=["Proof by Example"], answer_correct=True
        )
        answered.verdict(f"s{i}", "correct", tags=[])
    m = metrics_of()
    assert m["human_gold"]["by_model"] == {} and m["human_gold"]["by_topic"] == {}
    assert m["human_gold"]["overall"]["tied"] == 0
    for name, estimate in m["human_gold"]["overall"].items():
        assert name in ("fallacies", "tied") or (
            estimate["n"] == 0 and estimate["value"] in (None, 0.0) and estimate["why"]
        )
    assert m["planted"]["overall"]["incorrect"]["value"] == 1 and m["planted"]["overall"]["incorrect"]["n"] == 10
    judge = m["judges"]["j"]
    assert judge["agreement"]["verdict"]["accuracy"]["n"] == 0
    assert judge["against_planted"]["verdict"]["accuracy"]["value"] == 0
    assert judge["estimates"]["raw"]["overall"]["correct"]["value"] == 1
    assert judge["coverage"]["labelled"] == 0 and judge["against_planted"]["coverage"]["labelled"] == 10
    assert m["final_answers"]["overall"]["counts"]["by_label"] == 0


def test_without_planted_labels_there_is_no_planted_block(answered: Maker, metrics_of: Metrics) -> None:
    answered.label("s0", "correct")
    answered.verdict("s0", "correct")
    m = metrics_of()
    assert m["planted"] is None and "against_planted" not in m["judges"]["j"]


def test_binary_labels_define_only_correct(make: Maker, metrics_of: Metrics) -> None:
    for name, verdict in (("s", "correct"), ("t", "incorrect")):
        make.solution(name)
        make.label(name, verdict, scale="binary")
    gold = metrics_of()["human_gold"]["overall"]
    assert gold["correct"]["value"] == 0.5
    assert gold["incorrect"]["value"] is None and gold["incorrect"]["why"] == "the labels only say pass or not"


def test_unresolved_solutions_are_counted_and_enter_shares_in_part(make: Maker, metrics_of: Metrics) -> None:
    for name, verdicts in (("s", ("correct", "incorrect")), ("t", ("correct", "correct"))):
        make.solution(name)
        for annotator, verdict in zip("ab", verdicts, strict=True):
            make.label(
                name, verdict, annotator, fallacies=["Proof by Example"] if annotator == "a" and name == "s" else []
            )
        make.verdict(name, "correct", tags=[])
    m = metrics_of()
    assert m["left_out"]["unresolved"] == {"human": ["s"], "planted": []}
    assert m["left_out"]["unresolved_fallacies"] == {"human": ["s"], "planted": []}
    gold = m["human_gold"]["overall"]
    assert gold["tied"] == 1
    found = {k: (gold[k]["value"], gold[k]["n"]) for k in ("correct", "partially_correct", "incorrect")}
    assert found == {"correct": (0.75, 2), "partially_correct": (0, 2), "incorrect": (0.25, 2)}
    assert gold["fallacies"]["Proof by Example"]["value"] == 0.25  # of s half the annotators say so
    assert m["judges"]["j"]["agreement"]["verdict"]["accuracy"]["n"] == 1  # there is no gold verdict to agree with


def test_correct_given_a_right_answer_is_a_mean_over_the_right_ones(make: Maker, metrics_of: Metrics) -> None:
    for i, (outcome, verdict) in enumerate((("equal", "correct"), ("equal", "incorrect"), ("undecided", "correct"))):
        make.problem(f"p{i}", answer="1", source="ISL" if i else "own")
        make.solution(f"s{i}", f"p{i}")
        make.answer(f"s{i}", outcome)
        make.label(f"s{i}", verdict)
    m = metrics_of()
    given = m["human_gold"]["overall"]["correct_given_correct_answer"]
    assert (given["value"], given["n"], given["method"]) == (0.5, 2, "wilson")
    assert {k: v["correct"]["n"] for k, v in m["human_gold"]["by_source"].items()} == {"ISL": 2, "own": 1}
    assert m["final_answers"]["by_source"]["own"]["n"] == 1


def test_weights_and_strata_enter_the_human_gold(make: Maker, metrics_of: Metrics) -> None:
    """Two of four hits, where the two weigh three times as much: 6 of 8."""
    for i in range(4):
        make.solution(f"s{i}")
        make.label(f"s{i}", "correct" if i < 2 else "incorrect", weight=3.0 if i < 2 else 1.0, stratum="ab"[i % 2])
    gold = metrics_of()["human_gold"]["overall"]
    assert gold["correct"]["value"] == 0.75 and gold["incorrect"]["value"] == 0.25
    assert gold["correct"]["method"] == "wilson, effective n of problems"


def test_a_judge_that_only_names_fallacies_has_judged(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.label("s", "incorrect", fallacies=["Proof by Example"])
    make.verdict("s", None, tags=["Proof by Example"])
    judge = metrics_of()["judges"]["j"]
    assert (judge["coverage"]["judged"], judge["coverage"]["errors"]) == (1, {})
    assert judge["agreement"]["fallacies"]["exact"]["value"] == 1
    assert judge["agreement"]["verdict"]["accuracy"]["why"] == "no verdict by this judge"


def test_the_share_of_grounded_quotes_stands_beside_a_judge(make: Maker, metrics_of: Metrics) -> None:
    """One record says it in so many words, one by the quote's place, one has no quote."""
    from judge.verdicts import Fallacy, Verdict

    marks = ({"quote": "q", "grounded": True}, {"quote": "q", "start": None}, {"quote": "q", "start": 0}, {})
    for i, mark in enumerate(marks):
        make.solution(f"s{i}")
        with make.study.journal("verdicts", "j", Verdict) as journal:
            fields = {"key": str(i), "id": str(i), "solution_id": f"s{i}", "judge": "j", "judge_key": "k"}
            journal.append(Verdict(verdict="incorrect", fallacies=[Fallacy(tag="Proof by Example", **mark)], **fields))
    grounded = metrics_of()["judges"]["j"]["grounded"]
    assert (grounded["value"], grounded["n"], grounded["n_problems"]) == (2 / 3, 3, 3)
    make.solution("t")
    make.verdict("t", "correct", "other", tags=[])
    assert metrics_of()["judges"]["other"]["grounded"]["why"] == "this judge quotes nothing"


# judges and joins


def test_the_newest_judge_key_counts_and_others_are_listed(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.solution("t")
    make.label("s", "correct")
    make.label("t", "correct")
    make.verdict("s", "incorrect", judge_key="old")
    make.verdict("t", "incorrect", judge_key="old")
    make.verdict("s", "incorrect", judge_key="new")
    make.verdict("s", "correct", judge_key="new")  # the last of several counts
    judge = metrics_of()["judges"]["j"]
    assert judge["judge_key"] == "new" and judge["other_judge_keys"] == {"old": 2}
    assert (judge["agreement"]["verdict"]["accuracy"]["value"], judge["agreement"]["verdict"]["accuracy"]["n"]) == (
        1,
        1,
    )
    assert judge["coverage"] == {
        "judged": 1, "errors": {}, "labelled": 2, "both": 1, "missing": 0, "unjudged": 1, "without_text": 0
    }  # fmt: skip


def test_errors_are_counted_by_kind_and_never_verdicts(make: Maker, metrics_of: Metrics) -> None:
    for name, kind in (("s", "unparsed"), ("t", "cut_off"), ("u", None)):
        make.solution(name)
        make.verdict(name, None if kind else "correct", error=Failure(kind=kind, message="m") if kind else None)
    make.label("s", "incorrect")
    judge = metrics_of()["judges"]["j"]
    assert judge["coverage"] == {
        "judged": 1, "errors": {"cut_off": 1, "unparsed": 1}, "labelled": 1, "both": 0, "missing": 1, "unjudged": 0,
        "without_text": 0,
    }  # fmt: skip
    assert judge["agreement"]["verdict"]["accuracy"]["n"] == 0


def test_verdicts_that_do_not_join_are_listed(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s", text="new")
    make.verdict("gone", "correct")
    make.verdict("s", "correct", text_hash="of another text")
    m = metrics_of()
    assert m["left_out"]["verdicts_without_solution"] == {"j": ["gone"]}
    assert m["left_out"]["verdicts_of_changed_text"] == {"j": ["s"]}
    assert m["judges"]["j"]["coverage"]["judged"] == 0


def test_a_verdict_given_before_its_problem_was_changed_is_left_out_and_listed(
    make: Maker, metrics_of: Metrics
) -> None:
    for name in ("same", "changed", "unknown"):
        make.problem(name, statement="old", topic="Algebra")
        make.solution(name)
        known = None if name == "unknown" else problem_hash(make.study.problems()[name])
        make.verdict(name, "correct", problem_hash=known)
    make.problem("same", statement="old", topic="Number Theory")  # a judge is not shown the topic
    for field in ("statement", "answer", "reference_solution", "rubric"):
        make.problem("changed", **{"statement": "old", field: "new"})
        m = metrics_of()
        assert m["left_out"]["verdicts_of_changed_problem"] == {"j": ["changed"]}
        assert m["left_out"]["verdicts_of_changed_text"] == {}
        assert m["judges"]["j"]["coverage"]["judged"] == 2


def test_a_judges_unknown_tags_are_counted_and_left_out(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.label("s", "incorrect", fallacies=["Proof by Example"])
    make.verdict("s", "incorrect", tags=["proof_by_example", "Sloth"])
    judge = metrics_of()["judges"]["j"]
    assert judge["unknown_tags"] == {"Sloth": 1}
    assert judge["agreement"]["fallacies"]["exact"]["value"] == 1


def test_the_constant_predictor_stands_beside_the_judges(make: Maker, metrics_of: Metrics) -> None:
    for name, verdict, points in (("s", "incorrect", 0), ("t", "incorrect", 1), ("u", "correct", 7)):
        make.solution(name)
        make.label(name, verdict, points=points, max_points=7)
    constant = metrics_of()["baselines"]["constant"]["agreement"]
    assert (constant["verdict_said"], constant["pass_said"], constant["points_said"]) == ("incorrect", False, 1)
    assert constant["verdict"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert constant["verdict"]["cohen_kappa"]["value"] == 0 and constant["verdict"]["cohen_kappa"]["degenerate"]


def test_the_constant_predictor_is_the_best_one_for_each_figure(make: Maker, metrics_of: Metrics) -> None:
    verdicts = ["correct"] * 4 + ["partially_correct"] * 3 + ["incorrect"] * 3
    for i, (verdict, points) in enumerate(zip(verdicts, (7, 7, 6, 6, 5, 5, 5, 0, 0, 0), strict=True)):
        make.solution(f"s{i}")
        make.label(f"s{i}", verdict, points=points, max_points=7)
    for threshold, passing, share in ((None, False, 0.6), (5, True, 0.7), (6, False, 0.6)):
        constant = metrics_of(pass_threshold=threshold)["baselines"]["constant"]["agreement"]
        said = (constant["verdict_said"], constant["pass_said"], constant["points_said"])
        assert said == ("correct", passing, 5)
        assert constant["verdict"]["accuracy"]["value"] == 0.4
        assert (constant["pass"]["accuracy"]["value"], constant["pass"]["accuracy"]["n"]) == (share, 10)
        assert constant["points"]["mae"]["value"] == pytest.approx(2.1)


def test_the_constant_predictor_of_labels_that_only_say_pass_or_not_has_no_verdict(
    make: Maker, metrics_of: Metrics
) -> None:
    make.solution("s")
    make.label("s", "correct", scale="binary")
    constant = metrics_of()["baselines"]["constant"]["agreement"]
    assert (constant["verdict_said"], constant["pass_said"]) == (None, True)
    assert constant["pass"]["accuracy"]["value"] == 1 and constant["verdict"]["accuracy"]["n"] == 0


def test_judges_that_are_not_there_are_bad_input(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.verdict("s", "correct")
    with pytest.raises(BadInput, match="'x' has judged nothing here; there are: j"):
        metrics_of(judges=["x"])


def test_the_lenient_reading_stands_beside_the_strict_one_where_it_differs(make: Maker, metrics_of: Metrics) -> None:
    for name, strict, lenient in (("s", "equal", "equal"), ("t", "different", "equal"), ("u", "undecided", "equal")):
        make.problem(name, answer="1")
        make.solution(name)
        make.answer(name, strict)
        make.answer(name, lenient, "lenient")
    accuracy = metrics_of()["final_answers"]["overall"]
    assert (accuracy["value"], accuracy["n"]) == (0.5, 2)
    assert accuracy["bounds"] == {"low": 1 / 3, "high": 2 / 3, "n": 3}
    assert (accuracy["lenient"]["value"], accuracy["lenient"]["n"]) == (1.0, 3)
    for name in "tu":
        make.answer(name, "equal")
    assert metrics_of()["final_answers"]["overall"]["lenient"] is None


def test_a_models_opinion_on_an_undecided_answer_is_counted_apart(make: Maker, metrics_of: Metrics) -> None:
    for name, outcome in (("s", "equal"), ("t", "undecided"), ("u", "undecided")):
        make.problem(name, answer="1")
        make.solution(name)
        make.answer(name, outcome)
    before = metrics_of()["final_answers"]["overall"]
    assert before["asked_model"] is None
    with make.study.journal("opinions", "m", Opinion) as journal:
        for name, gold in (("s", "1"), ("t", "1"), ("u", "another gold answer")):
            fields = {"key": name, "solution_id": name, "judge": "m", "judge_key": "k", "answer": "a"}
            journal.append(Opinion(gold=gold, outcome="equal", **fields))
    after = metrics_of()["final_answers"]["overall"]
    assert after["asked_model"] == {"m": {"equal": 1, "different": 0, "unsure": 0, "error": 0}}  # of t alone
    assert {k: v for k, v in after.items() if k != "asked_model"} == {
        k: v for k, v in before.items() if k != "asked_model"
    }


def test_an_opinion_counts_only_where_the_answer_stands_undecided(make: Maker, metrics_of: Metrics) -> None:
    make.problem("p", answer="1")
    for name in ("open", "settled by a human", "cut off"):
        make.solution(name, "p", finish_reason="length" if name == "cut off" else "stop")
        make.answer(name, "undecided")
    make.label("settled by a human", "correct", answer_correct=True)
    with make.study.journal("opinions", "m", Opinion) as journal:
        for name in ("open", "settled by a human", "cut off"):
            fields = {"key": name, "solution_id": name, "judge": "m", "judge_key": "k", "gold": "1", "answer": "a"}
            journal.append(Opinion(outcome="different", **fields))
    m = metrics_of()
    assert m["final_answers"]["overall"]["counts"]["undecided"] == 1
    assert m["final_answers"]["overall"]["asked_model"] == {"m": {"equal": 0, "different": 1, "unsure": 0, "error": 0}}
    assert m["human_gold"]["overall"]["final_answer_accuracy"]["asked_model"] is None


def test_opinions_of_a_models_older_key_are_not_mixed_in(make: Maker, metrics_of: Metrics) -> None:
    for name in ("s", "t"):
        make.problem(name, answer="1")
        make.solution(name)
        make.answer(name, "undecided")
    with make.study.journal("opinions", "m", Opinion) as journal:
        for name, key, outcome in (("s", "old", "equal"), ("t", "old", "equal"), ("t", "new", "unsure")):
            fields = {"solution_id": name, "judge": "m", "judge_key": key, "gold": "1", "answer": "a"}
            journal.append(Opinion(key=f"{key}/{name}", outcome=outcome, **fields))
    asked = metrics_of()["final_answers"]["overall"]["asked_model"]
    assert asked == {"m": {"equal": 0, "different": 0, "unsure": 1, "error": 0}}


def test_weights_are_said_to_leave_agreement_alone(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    make.label("s", "correct", weight=2.0)
    assert any("agreement counts each labelled row once" in note for note in metrics_of()["notes"])

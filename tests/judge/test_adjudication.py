from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generate.journal import BadInput
from generate.labels import HumanLabel
from judge.adjudication import Adjudication, Gold, adjudicate, dawid_skene


def label(annotator: str, verdict: str | None = None, solution_id: str = "s", **f: Any) -> HumanLabel:
    return HumanLabel(solution_id=solution_id, annotator=annotator, verdict=verdict, **f)  # type: ignore[arg-type]


def gold_of(*labels: HumanLabel, **how: Any) -> Gold:
    return adjudicate(labels, "human", Adjudication(**how))["s"]


def test_the_verdict_that_most_annotators_give_counts() -> None:
    gold = gold_of(label("a", "correct"), label("b", "incorrect"), label("c", "correct"))
    assert gold.verdict == "correct" and not gold.unresolved and gold.annotators == 3
    assert gold.verdict_shares == {"correct": 1.0}


@pytest.mark.parametrize("verdicts", [("correct", "incorrect"), ("correct", "incorrect", "partially_correct")])
def test_a_tie_is_unresolved_and_not_settled_by_us(verdicts: tuple[str, ...]) -> None:
    gold = gold_of(*[label(str(i), v) for i, v in enumerate(verdicts)])
    assert gold.verdict is None and gold.unresolved
    assert gold.verdict_shares == dict.fromkeys(sorted(verdicts), 1 / len(verdicts))


def test_only_the_verdicts_that_tie_have_a_part_in_the_shares() -> None:
    said = ["correct", "correct", "incorrect", "incorrect", "partially_correct"]
    assert gold_of(*[label(str(i), v) for i, v in enumerate(said)]).verdict_shares == {"correct": 0.5, "incorrect": 0.5}


def test_points_are_the_median() -> None:
    assert gold_of(*[label(str(p), points=p, max_points=7.0) for p in (0, 6, 7)]).points == 6


def test_points_on_two_scales_are_bad_input() -> None:
    with pytest.raises(BadInput, match=r"'s'.*out of 7.*out of 10"):
        gold_of(label("a", points=7, max_points=7.0), label("b", points=7, max_points=10.0))


def test_a_tag_counts_when_more_than_half_of_those_who_tagged_name_it() -> None:
    gold = gold_of(label("a", fallacies=["A", "B"]), label("b", fallacies=["A"]), label("c", fallacies=[]), label("d"))
    assert gold.tags == {"A"} and gold.tag_shares == {"A": 1.0, "B": 0.0}
    tie = gold_of(label("a", fallacies=["A"]), label("b", fallacies=[]))
    assert tie.tags == frozenset() and tie.tag_shares == {"A": 0.5}


def test_no_fallacy_found_is_not_the_same_as_not_annotated() -> None:
    assert gold_of(label("a", "correct")).tags is None and gold_of(label("a", "correct")).tag_shares is None
    assert gold_of(label("a", "correct", fallacies=[])).tags == frozenset()


def test_planted_labels_are_never_combined_with_human_ones() -> None:
    labels = [
        label("a", "correct"),
        label("author", "incorrect", kind="planted"),
        label("b", "correct", kind="planted"),
    ]
    assert adjudicate(labels)["s"].annotators == 1
    assert adjudicate(labels)["s"].verdict == "correct"
    assert adjudicate(labels, "planted", Adjudication(adjudicator="a"))["s"].unresolved


def test_annotators_with_three_verdicts_count_before_those_with_two() -> None:
    gold = gold_of(label("a", "incorrect", scale="binary"), label("b", "partially_correct"))
    assert gold.verdict == "partially_correct" and not gold.binary
    assert gold_of(label("a", "incorrect", scale="binary")).binary


def test_the_adjudicators_word_decides_where_there_is_one() -> None:
    others = [label(x, "correct", fallacies=["A"], points=7, max_points=7.0, answer_correct=True) for x in "ab"]
    chief = label("chief", "incorrect", fallacies=[], points=0, max_points=7.0, answer_correct=False)
    for method in ("majority", "dawid_skene"):
        gold = gold_of(*others, chief, adjudicator="chief", method=method)
        assert (gold.verdict, gold.points, gold.answer_correct, gold.tags) == ("incorrect", 0, False, frozenset())
        assert gold.verdict_shares == {"incorrect": 1.0} and gold.annotators == 3
    silent_on_tags = gold_of(*others, label("chief", "incorrect"), adjudicator="chief")
    assert silent_on_tags.verdict == "incorrect" and silent_on_tags.tags == {"A"}
    elsewhere = adjudicate([*others, label("chief", "incorrect", "t")], "human", Adjudication(adjudicator="chief"))
    assert elsewhere["s"].verdict == "correct" and elsewhere["t"].verdict == "incorrect"


def test_an_adjudicator_who_labelled_nothing_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"adjudicator: 'chef' has labelled nothing; there are: a, b"):
        gold_of(label("a", "correct"), label("b", "correct"), adjudicator="chef")


def test_stratum_and_weight_are_the_solutions_and_two_of_them_are_bad_input() -> None:
    gold = gold_of(label("a", "correct", stratum="x", weight=2.5), label("b", "correct"))
    assert (gold.stratum, gold.weight) == ("x", 2.5)
    with pytest.raises(BadInput, match=r"'s': annotators state different places.*'x' with weight 2 and.*weight 3"):
        gold_of(label("a", "correct", stratum="x", weight=2.0), label("b", "correct", stratum="x", weight=3.0))


ANAESTHETISTS = (
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212 "
    "1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 "
    "1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 "
    "2322222 1211111 2222222"
)
"""Dawid & Skene 1979, table 1: what five anaesthetists, the first of them three times, said of 45 patients (1 to 4)."""


def test_dawid_and_skenes_own_example_comes_out() -> None:
    """The published shares of the four classes, and what the first anaesthetist says of patients of the first three."""
    words = ANAESTHETISTS.split()
    items = np.repeat(np.arange(45), 7)
    people = np.tile([0, 0, 0, 1, 2, 3, 4], 45)
    said = np.array([int(c) - 1 for w in words for c in w])
    found = dawid_skene(items, people, said, 4)
    assert found.prevalence.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert found.rates[0, :3].round(2).tolist() == [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0]]


def test_dawid_and_skene_agrees_with_the_formulas_written_out() -> None:
    """Equations 2.3 to 2.5 as loops over patients, observers and classes, step for step."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    rows = [
        (i, a, int(truth[i] if rng.random() < 0.5 + 0.1 * a else rng.integers(0, 3)))
        for i in range(60)
        for a in range(4)
        if rng.random() < 0.8 or a == 0
    ]
    items, people, said = (np.array(c) for c in zip(*rows, strict=True))
    found = dawid_skene(items, people, said, 3)

    counts = np.zeros((60, 4, 3))
    for i, a, word in rows:
        counts[i, a, word] += 1
    belief = [[counts[i, :, j].sum() / counts[i].sum() for j in range(3)] for i in range(60)]
    for _ in range(1000):
        share = [sum(belief[i][j] for i in range(60)) / 60 for j in range(3)]
        rates = np.zeros((4, 3, 3))
        for a in range(4):
            for j in range(3):
                total = sum(belief[i][j] * counts[i, a].sum() for i in range(60))
                for word in range(3):
                    rates[a, j, word] = sum(belief[i][j] * counts[i, a, word] for i in range(60)) / total
        for i in range(60):
            like = [share[j] * np.prod([rates[a, j] ** counts[i, a] for a in range(4)]) for j in range(3)]
            belief[i] = [x / sum(like) for x in like]
    assert np.abs(found.probabilities - belief).max() < 1e-7
    assert np.abs(found.rates - rates).max() < 1e-7


def test_solutions_of_which_the_same_was_said_are_counted_together_and_change_nothing() -> None:
    """What adjudicate says of 500 solutions with few different words, beside the model of all 500."""
    rng = np.random.default_rng(5)
    said = rng.integers(0, 3, (500, 3))
    said[:, 1:] = np.where(rng.random((500, 2)) < 0.7, said[:, :1], said[:, 1:])
    words = ("incorrect", "partially_correct", "correct")
    labels = [label("abc"[a], words[said[i, a]], f"s{i:03}") for i in range(500) for a in range(3)]
    golds = adjudicate(labels, "human", Adjudication(method="dawid_skene"))
    each = dawid_skene(np.repeat(np.arange(500), 3), np.tile(np.arange(3), 500), said.ravel(), 3).probabilities
    for gold, row in zip(golds.values(), each, strict=True):
        assert [(gold.verdict_shares or {}).get(w, 0.0) for w in words] == pytest.approx(row.tolist(), abs=1e-6)


def test_by_dawid_and_skene_a_careless_annotator_is_outvoted() -> None:
    """Two careful annotators and three who guess: the majority errs more often than the model."""
    rng = np.random.default_rng(1)
    verdicts = np.array(["incorrect", "partially_correct", "correct"])
    truth = rng.integers(0, 3, 400)
    skill = {"a": 0.95, "b": 0.95, "c": 0.3, "d": 0.3, "e": 0.3}
    labels = [
        label(who, str(verdicts[t if rng.random() < p else rng.integers(0, 3)]), f"s{i:03}", fallacies=[])
        for i, t in enumerate(truth)
        for who, p in skill.items()
    ]
    right = {}
    for method in ("majority", "dawid_skene"):
        golds = adjudicate(labels, "human", Adjudication(method=method))  # type: ignore[arg-type]
        right[method] = np.mean([g.verdict == verdicts[t] for g, t in zip(golds.values(), truth, strict=True)])
        assert all(abs(sum((g.verdict_shares or {}).values()) - 1) < 1e-12 for g in golds.values())
    assert right["dawid_skene"] > 0.95 > 0.9 > right["majority"]


def test_by_dawid_and_skene_each_tag_has_a_model_of_its_own() -> None:
    rng = np.random.default_rng(2)
    bears = rng.random(300) < 0.3
    labels = [
        label(who, None, f"s{i:03}", fallacies=["A"] if b == (rng.random() < p) else [])
        for i, b in enumerate(bears)
        for who, p in {"a": 0.97, "b": 0.97, "c": 0.6, "d": 0.6, "e": 0.6}.items()
    ]
    golds = adjudicate(labels, "human", Adjudication(method="dawid_skene"))
    assert np.mean([("A" in (g.tags or ())) == b for g, b in zip(golds.values(), bears, strict=True)]) > 0.95


def test_a_single_annotator_is_taken_at_once_and_comes_out_as_by_majority() -> None:
    rng = np.random.default_rng(4)
    for i in range(200):
        fields: dict[str, Any] = {
            "fallacies": [None, [], ["A"], ["B", "A", "A"]][int(rng.integers(0, 4))],
            "answer_correct": [None, True, False][int(rng.integers(0, 3))],
            "scale": ["three", "binary"][i % 2],
            "stratum": [None, "x"][int(rng.integers(0, 2))],
            "weight": float(rng.integers(1, 3)),
        }
        if rng.random() < 0.5:
            fields |= {"points": 3.0, "max_points": 7.0}
        x = label("a", [None, "correct", "incorrect"][int(rng.integers(0, 3))], **fields)
        twice = gold_of(x, x.model_copy(update={"annotator": "b"}))  # two of one mind, who take the long way
        assert gold_of(x) == replace(twice, annotators=1)

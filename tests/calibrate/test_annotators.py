"""Annotators among themselves, beside a judge, and the human ceiling."""

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from calibrate.alt_test import AltTest
from calibrate.annotators import People, alt_test_of, by_annotator, ceiling, coincidences, human_human, people
from calibrate.columns import Said, columns_of, read_solutions
from calibrate.intervals import Intervals
from calibrate.pairs import Terms
from generate.labels import VERDICTS, HumanLabel
from judge.adjudication import Gold
from tests.calibrate.conftest import TAGS, Maker

TERMS = Terms(TAGS)
INTERVALS = Intervals(0, 200)
NAN = float("nan")


def words(n: int = 60, people: int = 4, seed: int = 0, missing: float = 0.25) -> Any:
    """Codes (n, people + 1) of what annotators and, last, a judge say: -1 nothing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    said = np.stack(
        [np.where(rng.random(n) < 0.5 + 0.1 * i, truth, rng.integers(0, 3, n)) for i in range(people + 1)], axis=1
    )
    said[rng.random(said.shape) < missing] = -1
    return said


class Told:
    """A study of n solutions, two a problem, with labels by annotators and the words of a judge as columns."""

    def __init__(self, make: Maker, said: Any, tags: Any = None, scale: str = "three"):
        for i in range(len(said)):
            make.solution(f"s{i:03}", f"p{i // 2:03}")
        self.solutions = read_solutions(make.study)
        self.labels = [
            HumanLabel(
                solution_id=f"s{i:03}", annotator="abcdefghijklmnopq"[a], scale=scale,  # type: ignore[arg-type]
                verdict=VERDICTS[said[i, a]] if said[i, a] >= 0 else None,  # type: ignore[arg-type]
                fallacies=None if tags is None or tags[i, a, 0] < 0 else [t for t, x in zip(TAGS, tags[i, a], strict=True) if x > 0],
            )
            for a in range(said.shape[1] - 1)
            for i in range(len(said))
            if said[i, a] >= 0 or (tags is not None and tags[i, a, 0] >= 0)
        ]  # fmt: skip
        self.people: People = people(self.labels, self.solutions, TAGS)
        golds = [
            Gold(
                f"s{i:03}", VERDICTS[said[i, -1]] if said[i, -1] >= 0 else None,
                tag_shares=None if tags is None or tags[i, -1, 0] < 0 else dict(zip(TAGS, map(float, tags[i, -1]), strict=True)),
            )
            for i in range(len(said))
        ]  # fmt: skip
        here = [i for i in range(len(said)) if said[i, -1] >= 0 or (tags is not None and tags[i, -1, 0] >= 0)]
        self.judge: Said = columns_of([golds[i] for i in here], np.array(here), TAGS)


@pytest.mark.parametrize("seed", range(5))
def test_krippendorffs_alpha_over_all_annotators_is_that_of_the_krippendorff_package(make: Maker, seed: int) -> None:
    said = words(seed=seed)
    block = human_human(Told(make, said).people, TERMS, INTERVALS)["alpha"]
    data = np.where(said[:, :-1] < 0, NAN, said[:, :-1]).T.astype(float)
    for name, level in (("verdict", "nominal"), ("verdict_ordinal", "ordinal")):
        expected = krippendorff.alpha(data, level_of_measurement=level, value_domain=[0, 1, 2])  # type: ignore[arg-type]
        assert block[name]["value"] == pytest.approx(expected, abs=1e-9)
        assert block[name]["low"] < expected < block[name]["high"]
    passed = np.where(np.isnan(data), NAN, data == 2)
    assert block["pass"]["value"] == pytest.approx(krippendorff.alpha(passed, level_of_measurement="nominal"), abs=1e-9)


def test_alpha_of_krippendorffs_own_example() -> None:
    """Krippendorff 2011, "Computing Krippendorff's alpha-reliability", part C: four observers, twelve units, nominal .743."""
    table = [[1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
             [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0]]  # fmt: skip
    from calibrate.agreement import krippendorff_alpha

    counts = np.array([[sum(r[u] == v for r in table) for v in range(1, 6)] for u in range(12)], dtype=float)
    together = coincidences(counts).sum(axis=0)
    assert together.sum() == 40 and round(float(krippendorff_alpha(together)), 3) == 0.743


def test_each_two_annotators_agree_as_sklearn_says(make: Maker) -> None:
    said = words()
    block = human_human(Told(make, said).people, TERMS, INTERVALS)
    assert block["why"] is None and block["annotators"] == 4
    for i, j in combinations(range(4), 2):
        both = (said[:, i] >= 0) & (said[:, j] >= 0)
        pair = block["pairs"]["abcd"[i]]["abcd"[j]]
        x, y = said[both, i], said[both, j]
        assert pair["shared"] == both.sum()
        assert pair["verdict"]["accuracy"]["value"] == pytest.approx(accuracy_score(x, y), abs=1e-9)
        assert pair["verdict"]["cohen_kappa"]["value"] == pytest.approx(cohen_kappa_score(x, y), abs=1e-9)
        assert pair["pass"]["accuracy"]["value"] == pytest.approx(accuracy_score(x == 2, y == 2), abs=1e-9)


def test_the_ceilings_figures_rest_on_the_rows_that_they_are_about(make: Maker) -> None:
    said = words(missing=0.0)
    tags = np.random.default_rng(0).integers(0, 2, (*said.shape, len(TAGS)))
    tags[20:] = -1  # no fallacies are annotated from there on
    told = Told(make, said, tags)
    block = ceiling(told.people, told.judge, TERMS, INTERVALS)["difference"]
    assert [(block[x]["n"], block[x]["n_problems"]) for x in ("accuracy", "fallacy_micro_f1")] == [(60, 30), (20, 10)]


def test_a_judge_is_held_against_each_annotator_tied_solutions_among_them(make: Maker) -> None:
    said = np.array([[2, 0, 2], [0, 2, 0], [2, 2, 2], [0, 0, 0], [1, 1, 1]])  # the annotators tie on the first two
    told = Told(make, said)
    block = by_annotator(told.people, told.judge, TERMS, INTERVALS)["annotators"]
    assert [block[x]["verdict"]["accuracy"]["value"] for x in "ab"] == [1.0, 0.6]
    assert [block[x]["shared"] for x in "ab"] == [5, 5]


# the ceiling


def leave_one_out(said: Any, tags: Any = None) -> Any:
    """Mean over the annotators left out of (judge, annotator) agreement with the majority of the others, by hand: rows on
    which the others tie count in equal parts."""
    n, people = said.shape[0], said.shape[1] - 1
    means = []
    for a in range(people):
        ref, judge, human, weight = [], [], [], []
        for i in range(n):
            rest = [said[i, k] for k in range(people) if k != a and said[i, k] >= 0]
            if said[i, a] < 0 or said[i, -1] < 0 or not rest:
                continue
            counts = np.bincount(rest, minlength=3)
            for v in np.flatnonzero(counts == counts.max()):
                ref.append(v)
                judge.append(said[i, -1])
                human.append(said[i, a])
                weight.append(1 / (counts == counts.max()).sum())
        means.append(
            [
                f(ref, other, sample_weight=weight)
                for f in (accuracy_score, cohen_kappa_score)
                for other in (judge, human)
            ]
        )
    return np.mean(means, axis=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_ceiling_is_like_with_like(make: Maker, seed: int) -> None:
    said = words(seed=seed)
    told = Told(make, said)
    block = ceiling(told.people, told.judge, TERMS, INTERVALS)
    judge, human, judge_kappa, human_kappa = leave_one_out(said)
    assert block["judge"]["accuracy"]["value"] == pytest.approx(judge, abs=1e-9)
    assert block["annotators"]["accuracy"]["value"] == pytest.approx(human, abs=1e-9)
    assert block["difference"]["accuracy"]["value"] == pytest.approx(judge - human, abs=1e-9)
    assert block["judge"]["cohen_kappa"]["value"] == pytest.approx(judge_kappa, abs=1e-9)
    assert block["annotators"]["cohen_kappa"]["value"] == pytest.approx(human_kappa, abs=1e-9)
    for side in ("judge", "annotators", "difference"):
        e = block[side]["accuracy"]
        assert e["low"] < e["value"] < e["high"] and e["method"] != "none"


def test_a_judge_that_speaks_as_one_annotator_would_reaches_the_ceiling(make: Maker) -> None:
    """Against the adjudicated gold, which each annotator has a part in, that judge would look worse than the annotators."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    said = np.stack([np.where(rng.random(400) < 0.7, truth, rng.integers(0, 3, 400)) for _ in range(4)], axis=1)
    told = Told(make, said)
    e = ceiling(told.people, told.judge, TERMS, INTERVALS)["difference"]["accuracy"]
    assert e["low"] < 0 < e["high"] and abs(e["value"]) < 0.05


def test_the_ceiling_of_fallacies(make: Maker) -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((80, 2)) < 0.4
    tags = np.stack([np.where(rng.random((80, 2)) < 0.8, truth, ~truth) for _ in range(4)], axis=1).astype(int)
    said = np.full((80, 4), -1)
    told = Told(make, said, tags)
    block = ceiling(told.people, told.judge, TERMS, INTERVALS)
    judge, human = [], []
    for a in range(3):
        borne = np.delete(tags[:, :3], a, axis=1).mean(axis=1).ravel()  # where the two tie, half a case of each
        twice = np.repeat([1, 0], borne.size), np.concatenate([borne, 1 - borne])
        judge.append(f1_score(twice[0], np.tile(tags[:, -1].ravel(), 2), sample_weight=twice[1]))
        human.append(f1_score(twice[0], np.tile(tags[:, a].ravel(), 2), sample_weight=twice[1]))
    assert block["judge"]["fallacy_micro_f1"]["value"] == pytest.approx(np.mean(judge), abs=1e-9)
    assert block["annotators"]["fallacy_micro_f1"]["value"] == pytest.approx(np.mean(human), abs=1e-9)
    assert block["judge"]["accuracy"]["value"] is None and block["judge"]["accuracy"]["why"]
    alpha = human_human(told.people, TERMS, INTERVALS)["alpha"]["fallacies"]
    for i, tag in enumerate(TAGS):
        expected = krippendorff.alpha(tags[:, :3, i].T, level_of_measurement="nominal")
        assert alpha[tag]["value"] == pytest.approx(expected, abs=1e-9)


def test_a_failure_of_the_judge_is_left_out_or_counted_as_the_terms_say(make: Maker) -> None:
    said = np.array([[2, 2, 2], [0, 0, 0], [1, 1, 1], [2, 2, 2]])
    told = Told(make, said)
    failed = np.array([False, False, False, True])
    judge = Said(**{**vars(told.judge), "failed": failed, "verdict": np.where(failed, -1, told.judge.verdict)})
    for missing, value in (("leave_out", 1.0), ("wrong", 0.75)):
        block = ceiling(told.people, judge, Terms(TAGS, missing), INTERVALS)  # type: ignore[arg-type]
        assert block["judge"]["accuracy"]["value"] == value and block["annotators"]["accuracy"]["value"] == 1
        assert block["judge"]["pass_accuracy"]["value"] == value


def test_binary_annotators_have_pass_figures_only(make: Maker) -> None:
    said = np.array([[2, 2, 2], [0, 0, 1], [0, 2, 0], [2, 0, 2]] * 5)
    told = Told(make, said, scale="binary")
    block = ceiling(told.people, told.judge, TERMS, INTERVALS)
    assert block["judge"]["accuracy"]["why"].startswith("the labels only say pass or not")
    assert block["judge"]["pass_accuracy"]["value"] == 0.75
    both = human_human(told.people, TERMS, INTERVALS)
    assert both["alpha"]["verdict"]["value"] is None and both["alpha"]["pass"]["value"] is not None


# undefined, with the reason


def test_no_annotator_and_one_annotator(make: Maker) -> None:
    told = Told(make, words(people=1))
    block = human_human(told.people, TERMS, INTERVALS)
    assert block["why"] == "there is one annotator only" == block["alpha"]["verdict"]["why"]
    assert ceiling(told.people, told.judge, TERMS, INTERVALS)["why"] == "there is one annotator only"
    assert by_annotator(told.people, told.judge, TERMS, INTERVALS)["annotators"] == {}
    test = alt_test_of(told.people, told.judge, TERMS, AltTest(), INTERVALS)
    assert test["winning_rate"]["why"] == "the test needs 3 annotators or more, and there is one"
    nobody = people([], told.solutions, TAGS)
    assert human_human(nobody, TERMS, INTERVALS)["why"] == "there are no human labels"
    assert ceiling(nobody, told.judge, TERMS, INTERVALS)["judge"]["accuracy"]["why"] == "there are no human labels"


def test_annotators_who_overlap_on_nothing(make: Maker) -> None:
    said = np.array([[2, -1, 2], [0, -1, 0], [-1, 1, 1], [-1, 2, 2]])
    told = Told(make, said)
    block = human_human(told.people, TERMS, INTERVALS)
    assert block["why"] == "no two annotators share a solution" and block["pairs"] == {}
    assert block["alpha"]["verdict"]["why"] == "no two annotators label the same solution"
    assert ceiling(told.people, told.judge, TERMS, INTERVALS)["why"] == "no two annotators share a solution"
    shared = by_annotator(told.people, told.judge, TERMS, INTERVALS)["annotators"]
    assert [shared[x]["shared"] for x in "ab"] == [2, 2]


def test_annotators_who_always_say_the_same_have_no_alpha_and_it_is_said_why(make: Maker) -> None:
    told = Told(make, np.full((12, 4), 2))
    block = human_human(told.people, TERMS, INTERVALS)
    assert "say only 'correct'" in block["alpha"]["verdict"]["why"] and block["alpha"]["verdict"]["value"] is None
    found = ceiling(told.people, told.judge, TERMS, INTERVALS)
    assert found["judge"]["accuracy"]["value"] == 1 and found["judge"]["accuracy"]["low"] < 1
    assert found["judge"]["cohen_kappa"]["value"] is None and found["judge"]["cohen_kappa"]["why"]


def test_full_agreement_is_not_known_to_be_perfect(make: Maker) -> None:
    told = Told(make, np.repeat(np.arange(24)[:, None] % 3, 4, axis=1))
    for e in human_human(told.people, TERMS, INTERVALS)["alpha"].values():
        if "value" in e:
            assert e["value"] == 1 and e["low"] < 1


def test_with_very_many_annotators_there_is_alpha_and_a_ceiling_but_no_block_for_each_two(make: Maker) -> None:
    told = Told(make, words(people=14, n=30))
    block = human_human(told.people, TERMS, INTERVALS)
    assert block["pairs"] == {} and "more than 12 annotators" in block["why"]
    assert block["alpha"]["verdict"]["value"] is not None
    assert ceiling(told.people, told.judge, TERMS, INTERVALS)["judge"]["accuracy"]["value"] is not None
    assert by_annotator(told.people, told.judge, TERMS, INTERVALS)["why"] == "there are more than 12 annotators"

"""How a judge took its controls: what counts, what could not show anything, and what is out of date."""

import pytest

from calibrate.controls import add_controls
from calibrate.intervals import Intervals
from generate.journal import text_hash
from generate.problems import Problem
from generate.solutions import Solution
from judge.controls import controls_study
from judge.program import problem_hash
from judge.verdicts import Verdict
from tests.calibrate.conftest import Maker

FAILED = {"kind": "unparsed", "message": "m"}


@pytest.fixture
def taken(tmp_path):
    """The `controls` block for verdicts given as {"s1#empty": "incorrect", ...}; None: the judge failed."""
    make = Maker(tmp_path)

    def block(
        said: dict[str, str | None], judge_key: str = "k", text: str = "text", statement: str = "Q", now: str = "k"
    ):
        home = controls_study(make.study)
        make.problem("p", statement="Q")
        with (
            home.solutions_journal("controls") as solutions,
            home.journal("verdicts", "j", Verdict) as own,
            make.study.journal("verdicts", "j", Verdict) as study,
        ):
            for name, verdict in said.items():
                of, _, kind = name.partition("#")
                make.solution(of, "p", "text")
                about = {"kind": kind, "of": of, "of_text": text_hash(text), "what": ""}
                record = Verdict(
                    key=f"{judge_key}{name}", id=name, solution_id=name, text_hash=text_hash(kind or "text"), judge="j",
                    problem_hash=problem_hash(Problem(id="p", statement=statement)), judge_key=judge_key, verdict=verdict,
                    error=None if verdict else FAILED,
                )  # fmt: skip
                if kind:
                    solutions.append(
                        Solution(key=name, id=name, problem_id="p", model="m", text=kind, meta={"control": about})
                    )
                (own if kind else study).append(record)
        metrics = {"judges": {"j": {"judge_key": now}}}
        add_controls(metrics, make.study, Intervals())
        return metrics["judges"]["j"]["controls"]

    return block


def figures(block, kind):
    c = block[kind]
    return c["as_expected"]["value"], c["as_expected"]["n"], c["not_compared"], (c["lowered"], c["stayed"], c["raised"])


def test_each_expectation_counts_those_that_could_show_it(taken):
    bases = {"a": "correct", "b": "correct", "c": "partially_correct", "d": "incorrect"}
    said = {f"{k}#unchanged": v for k, v in bases.items()}
    said |= {
        "a#key_step_removed": "partially_correct",
        "b#key_step_removed": "correct",
        "c#key_step_removed": "incorrect",
    }
    said |= {"a#plea": "incorrect", "c#plea": "correct", "d#plea": "incorrect"}
    said |= {
        "a#reworded": "correct",
        "b#reworded": "incorrect",
        "c#reworded": "partially_correct",
        "d#reworded": "correct",
    }
    said |= {"a#empty": "incorrect", "d#empty": "incorrect", "e#empty": "partially_correct"}
    block = taken(said)
    assert figures(block, "key_step_removed") == (0.5, 2, 1, (2, 1, 0))
    assert figures(block, "plea") == (0.5, 2, 1, (1, 1, 1))
    assert figures(block, "reworded") == (0.5, 4, 0, (1, 2, 1))
    assert figures(block, "empty") == (pytest.approx(2 / 3), 3, 0, (1, 1, 0))  # e was not judged unchanged
    assert figures(block, "unchanged") == (None, 0, 4, (0, 0, 0))  # the study itself has no verdicts
    assert block["unchanged"]["as_expected"]["why"] == "no solution was judged both times"


def test_the_unchanged_solution_is_held_against_the_study(taken):
    block = taken({"a": "correct", "b": "incorrect", "c": None, "a#unchanged": "correct", "b#unchanged": "correct",
                   "c#unchanged": "correct"})  # fmt: skip
    assert figures(block, "unchanged") == (0.5, 2, 1, (0, 1, 1))


def test_a_failure_is_counted_apart_and_in_no_share(taken):
    block = taken(
        {"a#unchanged": "correct", "b#unchanged": None, "a#reworded": None, "b#reworded": "correct", "a#empty": None}
    )
    assert block["reworded"]["errors"] == {"unparsed": 1} and figures(block, "reworded") == (None, 0, 1, (0, 0, 0))
    assert block["empty"]["as_expected"]["value"] is None and block["empty"]["made"] == 1


@pytest.mark.parametrize("old", [{"judge_key": "older"}, {"text": "another text"}, {"statement": "Another problem"}])
def test_what_was_judged_by_another_judge_or_of_another_text_or_problem_is_left_out(taken, old):
    said = {"a#unchanged": "correct", "a#empty": "incorrect"}
    assert taken(said, **old) == {}


def test_a_study_without_controls_has_empty_blocks(tmp_path):
    metrics = {"judges": {"j": {"judge_key": "k"}}}
    add_controls(metrics, Maker(tmp_path).study, Intervals())
    assert metrics["judges"]["j"]["controls"] == {}

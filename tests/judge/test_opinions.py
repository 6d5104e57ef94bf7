"""Undecided final answers put to a model: read strictly, recorded apart."""

import asyncio
import json

import dspy
import jsonschema
import pytest

from generate.engines import Sampling
from generate.problems import Problem
from generate.solutions import Solution
from judge.lm import dspy_lm
from judge.opinions import SCHEMA, opinion, opinion_adapter, opinion_sampling, read_opinion
from judge.replies import Unparsed
from judge.verdicts import Answer
from tests.conftest import reply

PROBLEM = Problem(id="p", statement="How much?", answer="50\\%")
SOLUTION = Solution(key="k", id="s", problem_id="p", model="m", text="\\boxed{50}")
ANSWER = Answer(
    key="k",
    solution_id="s",
    checker="strict",
    gold="50\\%",
    extracted="50",
    outcome="undecided",
    method="m",
    reason="r",
)


@pytest.mark.parametrize(("word", "outcome"), [("same", "equal"), ("Different", "different"), (" unsure ", "unsure")])
def test_the_three_words_are_read(word, outcome):
    assert read_opinion(json.dumps({"reasoning": "r", "verdict": word}), "stop")["verdict"] == outcome


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ('{"verdict": "same"}', "length", "cut_off"),
        ("", "stop", "no_reply"),
        ('{"verdict": "equal"}', "stop", "unparsed"),
        ("They are the same.", "stop", "unparsed"),
        ('{"verdict": null}', "stop", "unparsed"),
    ],
)
def test_what_is_none_of_them_is_no_opinion(text, finish, kind):
    with pytest.raises(Unparsed) as caught:
        read_opinion(text, finish)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("text", "outcome", "error"), [('{"reasoning": "r", "verdict": "same"}', "equal", None), ("hm", None, "unparsed")]
)
def test_an_opinion_is_a_record_of_its_own(scripted, text, outcome, error):
    engine = scripted(lambda chat, sampling: reply(text))
    with dspy.context(lm=dspy_lm(engine, Sampling()), adapter=opinion_adapter(), disable_history=True):
        said = asyncio.run(opinion(PROBLEM, SOLUTION, ANSWER, key="k", judge="j", judge_key="jk"))
    assert (said.outcome, said.error and said.error.kind, said.raw) == (outcome, error, text)
    assert (said.gold, said.answer) == ("50\\%", "50")
    asked = engine.asked[0]
    assert "How much?" in asked[0][-1]["content"] and "50\\%" in asked[0][-1]["content"]
    assert asked[1].json_schema == SCHEMA


def test_there_is_room_for_the_longest_opinion():
    from generate.models import Model

    longest = {"reasoning": "r" * SCHEMA["properties"]["reasoning"]["maxLength"], "verdict": "different"}
    jsonschema.validate(longest, SCHEMA)
    assert len(json.dumps(longest)) <= opinion_sampling(Model(name="m", id="m"), 0, 0).max_tokens

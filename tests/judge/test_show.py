"""One judgement in full: what was really sent, what really came, and nothing that steers a terminal."""

import json
import sys

import pytest

from generate.solutions import Solution
from generate.stage import launch
from judge.show import configs_of_runs, marked, prompts_sent, safe
from judge.verdicts import Case, Fallacy, Verdict
from tests.calibrate.conftest import Maker
from tests.conftest import Misbehaving
from tests.judge.test_grading import PROBLEM, SOLUTION, bench
from tests.judge.test_grading import judged as judged_by_script
from tests.judge.test_programs import decision, doubts, in_turn, of_conf, points

TEXT = "First \x1b[2J we see\u202e that 1+1=2. Hence it is \\boxed{2}."
GRADE = {
    "reasoning": "It\x07 says so.",
    "fallacies": [{"tag": "Proof by Example", "quote": "that 1+1=2", "explanation": "one example"}],
    "first_wrong_step": "that 1+1=2",
    "verdict": "incorrect",
}


@pytest.fixture
def judged(stage, tmp_path, server):
    """A study with one solution, judged by a served model; the words that judged it, and the study's folder."""
    row = {"pid": "p1", "q": "What is 1+1?", "a": "2", "sid": "s1", "text": TEXT}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    columns = {"problem_id": "pid", "problem": "q", "answer": "a", "solution_id": "sid", "solution": "text"}
    words = [f"dataset.columns.{k}={v}" for k, v in columns.items()]
    assert (
        stage("generate", "dataset=table", "dataset.path=t.jsonl", "model=recorded", "study=s", *words).returncode == 0
    )
    Misbehaving.plan = [(200, json.dumps(GRADE))]
    judge = ["study=s", "model=served", "model.id=m", f"engine.base_url={server}", "engine.max_retries=0"]
    done = stage("judge", *judge)
    assert done.returncode == 0, done.stderr
    return judge, tmp_path / "studies" / "s"


def test_a_judgement_is_shown_with_the_prompt_that_was_sent_and_asks_nobody(stage, judged):
    sent = Misbehaving.asked[-1]["messages"]
    Misbehaving.plan = [(200, json.dumps(GRADE)), (200, "no idea"), (200, json.dumps(GRADE))]
    assert stage("judge", *judged[0], "votes=3", "model.sampling.temperature=0.7").returncode == 0
    done = stage("judge", "study=s", "show=single-served-x3/s1")
    assert "reading 3 of 3" in done.stdout or "reading 2 of 2" in done.stdout, done.stdout
    assert safe(sent[-1]["content"]).strip("\n") in done.stdout and done.stdout.count("--- prompt, user") == 1
    asked, before = len(Misbehaving.asked), sorted(p.name for p in judged[1].rglob("*"))
    for words in (["show=single-served/s1"], ["show=s1"], ["show=s1", *judged[0]]):
        done = stage("judge", "study=s", *words)
        assert done.returncode == 0, done.stderr
        for message in sent:
            assert safe(message["content"]).strip("\n") in done.stdout
        assert "verdict: incorrect" in done.stdout and json.dumps(GRADE) in done.stdout
        assert "[[1>that 1+1=2<1]]" in done.stdout and "It\\x07 says so." in done.stdout
        assert "final answer: equal (extracted 2, gold 2" in done.stdout
        assert all(c.isprintable() or c == "\n" for c in done.stdout)
    done = stage("judge", "study=s", "show=single-served/s2")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "no verdict and no solution of this id; did you mean 'single-served/s1'?" in done.stderr
    assert len(Misbehaving.asked) == asked and sorted(p.name for p in judged[1].rglob("*")) == before


def test_a_prompt_that_would_come_out_otherwise_is_not_shown(stage, judged):
    study = judged[1]
    problems = study / "problems.jsonl"
    problems.write_text(problems.read_text().replace("What is 1+1?", "What is 1+2?"))
    done = stage("judge", "study=s", "show=s1")
    assert done.returncode == 0 and "has changed since" in done.stdout and "What is 1+2?" not in done.stdout, (
        done.stderr
    )
    problems.write_text(problems.read_text().replace("What is 1+2?", "What is 1+1?"))
    (manifest,) = (study / "manifests").glob("judge-*")
    manifest.write_text(manifest.read_text().replace("generate.models.Model", "os.mkdir"))
    done = stage("judge", "study=s", "show=s1")
    assert "It was run as `python -m judge study=s model=served model.id=m" in done.stdout and "1+1?" not in done.stdout
    stopped = json.loads(manifest.read_text().replace("os.mkdir", "generate.models.Model"))  # as Ctrl-C leaves it
    manifest.write_text(json.dumps({k: v for k, v in stopped.items() if k != "judge_key"} | {"finished": None}))
    assert "What is 1+1?" in stage("judge", "study=s", "show=s1").stdout
    manifest.unlink()
    done = stage("judge", "study=s", "show=s1")
    assert "no finished run left one with this judge key" in done.stdout and "What is 1+1?" not in done.stdout
    assert "What is 1+1?" in stage("judge", "show=s1", *judged[0]).stdout


def test_a_manifest_of_a_stranger_builds_no_class_and_reads_no_variable(tmp_path, monkeypatch):
    from judge.__main__ import Config

    make = Maker(tmp_path)
    monkeypatch.setenv("SECRET", "hidden")
    for number, config in enumerate(
        [
            {"program": {"_target_": "os.mkdir", "path": str(tmp_path / "made")}},
            {"model": {"_target_": "generate.models.Model", "name": "${oc.env:SECRET}", "id": "m"}},
            {"program": [{"_target_": "os.mkdir", "path": str(tmp_path / "made")}]},
            "nothing",
        ]
    ):
        file = make.study.path / "manifests" / f"judge-{number}.json"
        file.write_text(json.dumps({"judge_key": "k", "config": config}))
    (make.study.path / "manifests" / "judge-9.json").write_text("{torn")
    assert list(configs_of_runs(make.study, "k", Config)) == []
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("name", "replies"),
    [
        ("single", [decision("incorrect")]),
        ("single", ["no idea"]),
        ("two_step", [doubts("1+1=3"), decision("incorrect", True)]),
        ("two_step", [doubts("1+1=3"), decision("correct", True), decision("incorrect", True)]),  # asked once again
        ("two_step", ["no idea"]),
        ("rubric", [points(3, 1, 2)]),
    ],
)
def test_every_programs_prompts_are_made_again_from_the_replies(scripted, taxonomy, name, replies):
    engine, program = scripted(in_turn(*replies)), of_conf(name)
    (verdict,) = judged_by_script(engine, taxonomy, by=program)
    (vote,) = verdict.votes
    again = prompts_sent(program, bench(taxonomy), Case(PROBLEM, SOLUTION), vote)
    assert again == [chat for chat, _ in engine.asked] and len(again) == len(replies)


def test_quotes_are_marked_where_they_stand_also_inside_each_other():
    places = [(0, 9), (4, 9), (20, 30), (None, None)]
    fallacies = [Fallacy(tag="t", quote="q", start=a, end=b) for a, b in places]
    verdict = Verdict(key="k", id="i", solution_id="s", judge="j", judge_key="k", fallacies=fallacies)
    text = "one two three four five six seven"
    shown = marked(text, verdict)
    for mark in ("[[1>", "<1]]", "[[2>", "<2]]", "[[3>", "<3]]"):
        assert shown.count(mark) == 1
        shown = shown.replace(mark, "")
    assert shown == text and marked("abc", verdict.model_copy(update={"fallacies": None})) == "abc"
    assert marked(
        "abcd", verdict.model_copy(update={"fallacies": [fallacies[0].model_copy(update={"start": 1, "end": 3})]})
    ) == ("a[[1>bc<1]]d")


def test_nothing_unseen_reaches_the_terminal():
    assert safe("a\x1b[0m\u200bb\u202ec\r\td\n\u00a0é∑") == "a\\x1b[0m\\u200bb\\u202ec  d\n é∑"


@pytest.mark.parametrize(
    "name",
    [
        "s1#empty",
        "a b",
        "p(1),2",
        "it's",
        "back\\slash\\",
        "\\'",
        "{x: 1}",
        "[1]",
        "=",
        "12",
        "007",
        "true",
        '"q"',
        "${oc.env:HOME}",
    ],
)
def test_an_id_is_taken_as_it_is_typed(monkeypatch, capsys, tmp_path, name):
    from judge import __main__ as judge

    monkeypatch.chdir(tmp_path)
    make = Maker(tmp_path)
    make.problem("p")
    make.solution(name, "p", "What it says.")
    monkeypatch.setattr(sys, "argv", ["judge", "study=s", f"show={name}"])
    assert launch("judge", judge.Config, judge.run, names=("show",)) == 0, capsys.readouterr().err
    assert f"solution {name} of problem p" in capsys.readouterr().out


def test_a_solution_that_nobody_judged_and_a_judge_without_a_model(stage, tmp_path):
    assert stage("generate", "dataset=starter", "model=recorded", "study=s", "limit=1").returncode == 0
    lines = next((tmp_path / "studies" / "s" / "solutions").glob("*.jsonl")).read_text().splitlines()
    one = Solution.model_validate_json(lines[0])
    done = stage("judge", f"show={one.id}")
    assert done.returncode == 0 and "no judge has judged it" in done.stdout and one.text[:40] in done.stdout, (
        done.stderr
    )
    assert stage("judge", "program=answer_only").returncode == 0
    done = stage("judge", f"show={one.id}")
    assert "answer_only on solution" in done.stdout and "(no model was asked)" in done.stdout, done.stderr

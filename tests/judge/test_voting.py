"""Votes made into one verdict: rules and ties, failed votes, and that stopping early changes no outcome."""

import asyncio
import json
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.journal import BadInput, Failure
from generate.problems import Problem
from generate.solutions import Solution, Usage
from generate.stage import EngineGone
from generate.study import Study
from judge.panel import Panel, judge_as_panel
from judge.verdicts import Case, Fallacy, Reading, Verdict, verdict_of
from judge.voting import Voting, combined, combined_points, combined_verdict, settled, vote_seed, voted
from tests.conftest import Misbehaving, reply
from tests.judge.test_grading import PROBLEM, SOLUTION, bench, program, said

CASE = Case(Problem(id="p", statement="s"), Solution(key="k", id="s", problem_id="p", model="m", text="t"))
C, P, I = "correct", "partially_correct", "incorrect"  # noqa: E741
FAILED = Reading(error=Failure(kind="unparsed", message="m", raw="raw"))


def read_as(*said, tags=()):
    """Readings with these verdicts; null: one that failed. The seed says which comes when."""
    seeds = {vote_seed(0, "s", n): n for n in range(len(said))}

    async def read(case, seed):
        n = seeds[seed]
        await asyncio.sleep(0)
        if said[n] is None:
            return Reading(error=FAILED.error, seed=seed)
        named = [Fallacy(tag=t, quote="q", grounded=True) for t in (tags[n] if tags else ())]
        return Reading(verdict=said[n], fallacies=named, raw=said[n], seed=seed, usage=Usage(prompt_tokens=2, completion_tokens=1, calls=1))  # fmt: skip

    return read


def together(read, votes, **voting):
    return asyncio.run(voted(read, CASE, votes, Voting(**voting)))


@pytest.mark.parametrize(
    ("votes", "majority", "minimum", "mean"),
    [
        ([C, C, I], C, I, P),
        ([C, I], I, I, P),  # a tie: the lower one
        ([C, P, I], I, I, P),
        ([C, C, P, P, I], P, I, P),
        ([C, P], P, P, P),  # the mean, 3/4, is as near to correct: the lower one
        ([P, I], I, I, I),
        ([C, C, C, P], C, P, C),
        ([P], P, P, P),
    ],
)
def test_rules_and_ties(votes, majority, minimum, mean):
    for how, expected in (("majority", majority), ("minimum", minimum), ("mean", mean)):
        assert combined_verdict(Counter(votes), how) == expected


@given(st.lists(st.integers(0, 7), min_size=1, max_size=9))
def test_points_are_combined_as_the_standard_library_does(points):
    assert combined_points(points, "majority") == statistics.median_low(points)
    assert combined_points(points, "mean") == pytest.approx(statistics.mean(points))
    assert combined_points(points, "minimum") == min(points)


SAID = st.lists(st.sampled_from([C, P, I, None]), min_size=2, max_size=7)


@given(SAID, st.sampled_from(["majority", "minimum", "mean"]), st.data())
def test_stopping_early_changes_neither_verdict_nor_tags(votes, how, data):
    tags = [data.draw(st.sets(st.sampled_from("AB"))) for _ in votes]
    read = read_as(*votes, tags=tags)
    early, asked, saved = together(read, len(votes), how=how)
    full, every, none_saved = together(read, len(votes), how=how, stop_early=False)
    assert early.verdict == full.verdict
    assert (early.error is None) == (full.error is None)
    assert sorted(f.tag for f in early.fallacies or ()) == sorted(f.tag for f in full.fallacies or ())
    assert none_saved == 0 and len(every) == len(votes) == len(asked) + saved


@given(
    st.lists(st.integers(0, 7) | st.none(), min_size=2, max_size=7), st.sampled_from(["majority", "minimum", "mean"])
)
def test_stopping_early_does_not_change_the_verdict_that_follows_from_points(points, how):
    def of_points(p):
        return C if p >= 6 else P if p >= 1 else I

    seeds = {vote_seed(0, "s", n): n for n in range(len(points))}

    async def read(case, seed):
        p = points[seeds[seed]]
        return FAILED if p is None else Reading(verdict=of_points(p), points=float(p), max_points=7.0)

    early, _, _ = together(read, len(points), how=how, of_points=of_points, most=7)
    full, _, _ = together(read, len(points), how=how, of_points=of_points, most=7, stop_early=False)
    assert early.verdict == full.verdict
    assert full.verdict is None or full.verdict == of_points(full.points)


def test_votes_are_saved_where_the_rest_could_not_change_the_outcome():
    _, votes, saved = together(read_as(C, C, C, I, I), 5)
    assert (len(votes), saved) == (3, 2)
    _, votes, saved = together(read_as(C, I, C, C, I), 5)
    assert (len(votes), saved) == (4, 1)
    _, votes, saved = together(read_as(I, C, C), 3, how="minimum")
    assert (len(votes), saved) == (2, 1)  # one vote alone could be all that there is: more than half must have one
    _, votes, saved = together(read_as(*[C] * 5, tags=[{"A"}, set(), {"A"}, set(), set()]), 5)
    assert saved == 0  # the tag is open to the last


def test_probabilities_are_shares_of_the_votes_and_tags_have_theirs():
    read = read_as(C, C, I, P, tags=[{"A"}, {"A", "B"}, {"B"}, set()])
    whole, votes, _ = together(read, 4, stop_early=False)
    assert whole.verdict == C and whole.probabilities == {I: 0.25, P: 0.25, C: 0.5}
    assert {f.tag: f.probability for f in whole.fallacies} == {"A": 0.5, "B": 0.5}
    assert [v.verdict for v in votes] == [C, C, I, P] and [v.raw for v in votes] == [C, C, I, P]
    assert len({v.seed for v in votes}) == 4 and whole.usage == Usage(prompt_tokens=8, completion_tokens=4, calls=4)
    assert together(read, 4, stop_early=False, probabilities="none")[0].probabilities is None


def test_a_failed_vote_is_no_vote_and_half_of_them_or_more_are_an_error():
    whole, votes, _ = together(read_as(C, None, C), 3, stop_early=False)
    assert whole.verdict == C and whole.probabilities[C] == 1.0 and votes[1].error.kind == "unparsed"
    for failing in ([C, None], [None, None, C], [None, C, None, C]):
        whole, votes, _ = together(read_as(*failing), len(failing), stop_early=False)
        assert whole.verdict is None and whole.error.kind == "too_few_votes" and "unparsed" in whole.error.message
        assert len(votes) == len(failing) and whole.usage is not None


def test_the_words_are_those_of_a_vote_that_agrees_and_a_grounded_quote_is_preferred():
    readings = [
        Reading(verdict=I, reasoning="no", fallacies=[Fallacy(tag="A", quote="x", grounded=False)]),
        Reading(verdict=C, reasoning="yes", fallacies=[Fallacy(tag="A", quote="y", grounded=True, start=0, end=1)]),
        Reading(verdict=C, reasoning="also", fallacies=[]),
    ]
    whole = combined(readings, 3, Voting())
    assert whole.reasoning == "yes" and [(f.quote, f.probability) for f in whole.fallacies] == [("y", 2 / 3)]


def test_an_engine_that_is_gone_in_one_vote_ends_the_work():
    async def read(case, seed):
        if seed == vote_seed(0, "s", 1):
            raise EngineGone("gone.")
        await asyncio.sleep(30)

    with pytest.raises(EngineGone):
        together(read, 3, stop_early=False)


def test_settled_needs_a_verdict_to_stand_whatever_comes():
    agree = [Reading(verdict=C, fallacies=[])] * 3
    assert settled(agree, 5, Voting()) and not settled(agree, 6, Voting())
    assert not settled([], 3, Voting()) and settled([FAILED] * 2, 3, Voting())


def test_each_vote_reaches_the_engine_with_a_seed_of_its_own_and_stands_in_the_record(scripted, taxonomy):
    engine = scripted(lambda chat, sampling: reply(said("correct" if sampling.seed % 2 else "incorrect")))
    with program().reading(bench(taxonomy, engine)) as read:
        case = Case(PROBLEM, SOLUTION)
        whole, votes, saved = asyncio.run(voted(read, case, 5, Voting(stop_early=False)))
    record = verdict_of(whole, case, key="k", id="i", judge="j", judge_key="jk", votes=votes, votes_saved=saved)
    seeds = [s.seed for _, s in engine.asked]
    assert sorted(seeds) == sorted(vote_seed(0, "s", n) for n in range(5)) == sorted(v.seed for v in record.votes)
    odd = sum(s % 2 for s in seeds) / 5
    assert record.probabilities["correct"] == odd and all(
        json.loads(v.raw)["verdict"] == v.verdict for v in record.votes
    )
    assert record.usage.calls == 5


# --- the stage --------------------------------------------------------------------------------------------------------------


def grades(*verdicts: str) -> list[tuple[int, str]]:
    return [(200, said(v)) for v in verdicts]


@pytest.fixture
def served(server, stage):
    """A study with two solutions by a served model, and the judge on it."""
    words = ["study=s", "model=served", "model.id=m", f"engine.base_url={server}", "engine.max_retries=0"]
    assert stage("generate", *words, "limit=2").returncode == 0
    Misbehaving.asked.clear()
    return lambda *more: stage("judge", *words, "models=[served]", "in_flight=1", *more)


def listed(*members: str) -> str:
    return "program.members=" + json.dumps(members)


def kept(tmp_path) -> list[dict]:
    files = sorted((tmp_path / "studies" / "s" / "verdicts").glob("*.jsonl"), key=lambda f: f.stat().st_mtime)
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_votes_of_a_stage_are_kept_counted_and_saved(served, tmp_path):
    warm = ["model.sampling.temperature=0.7", "votes=3"]
    Misbehaving.plan = grades(C, C, I, C, C)
    done = served(*warm)
    assert done.returncode == 0 and "judge single-served-x3: 2 solutions" in done.stdout, done.stderr
    assert "1 of 6 votes were saved" in done.stdout and len(Misbehaving.asked) == 5
    first, second = kept(tmp_path)
    assert [v["verdict"] for v in first["votes"]] == [C, C] and first["votes_saved"] == 1
    assert [v["verdict"] for v in second["votes"]] == [I, C, C] and second["verdict"] == C
    assert second["seconds"] > 0 and second["usage"]["calls"] == 3
    again = served(*warm)
    assert "2 there already, 0 to do" in again.stdout
    greedy = served("votes=3")
    assert greedy.returncode == 2 and "set model.sampling.temperature" in greedy.stderr
    assert served("program=constant", "program.verdict=incorrect", "votes=3").returncode == 2


def test_a_panel_lets_each_member_judge_in_its_own_process_and_combines_them(served, tmp_path):
    members = listed("model.name=a", "model.name=b seed=1", "model.name=c program=rubric")
    seven = (200, json.dumps({"reasoning": "r", "items": [], "points": 7}))
    Misbehaving.plan = [*grades(C, I), *grades(I, I), seven, (500, "oops")]
    done = served("program=panel", members)
    assert done.returncode == 0, done.stderr
    assert "judge panel: majority of single-a, single-b, rubric-c" in done.stdout
    records = kept(tmp_path)
    first, second = [r for r in records if r["judge"] == "panel"]
    assert [(v["judge"], v["verdict"]) for v in first["votes"]] == [("single-a", C), ("single-b", I), ("rubric-c", C)]
    assert first["verdict"] == C and first["probabilities"][C] == pytest.approx(2 / 3)
    assert second["verdict"] == I and second["votes"][2]["error"]["kind"] == "server_error"
    asked = len(Misbehaving.asked)
    again = served("program=panel", members)
    assert again.returncode == 0 and len(Misbehaving.asked) == asked and kept(tmp_path) == records
    Misbehaving.plan = grades(C, C)  # one more member changes the panel, and asks only for itself
    more = served("program=panel", members.replace("]", ',"model.name=d"]'), "combine=minimum")
    assert more.returncode == 0 and len(Misbehaving.asked) == asked + 2
    by_minimum = [r for r in kept(tmp_path) if r["judge"] == "panel"][2:]
    assert [r["verdict"] for r in by_minimum] == [I, I] and by_minimum[0]["judge_key"] != first["judge_key"]


def test_a_panel_run_again_is_the_one_that_reports_take_though_another_judged_other_solutions_since(tmp_path):
    study = Study(tmp_path)
    cases = [Case(PROBLEM, SOLUTION.model_copy(update={"id": name})) for name in ("s1", "s2")]
    for judge in "abc":
        with study.journal("verdicts", judge, Verdict) as journal:
            for case in cases:
                names = {"key": f"{judge}{case.solution.id}", "id": f"{judge}/{case.solution.id}", "judge": judge}
                journal.append(verdict_of(Reading(verdict=C), case, judge_key=judge, **names))

    def panel(members, case):
        return judge_as_panel(Panel(members=list(members)), study, study, [case], Voting(), [])["judge_key"]

    first, other, again = panel("ab", cases[0]), panel("ac", cases[1]), panel("ab", cases[0])
    assert first == again != other
    assert [v.judge_key for v in study.every("verdicts", Verdict) if v.judge == "panel"][-1] == first


def test_a_member_that_stops_stops_the_panel_and_what_is_done_is_kept(served, tmp_path):
    Misbehaving.plan = [*grades(C), (401, "expired")]
    done = served("program=panel", listed("model.name=a", "model.name=b"))
    assert done.returncode == 1 and "the member 'model.name=a' ended with exit code 1" in done.stderr
    assert [r["judge"] for r in kept(tmp_path)] == ["single-a"]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([], "needs at least two members"),
        (["model=smollm2"], "needs at least two members"),
        (["nobody", "model=smollm2"], "'nobody' is no judge of"),
        (["model=smollm2 study=x", "model=qwen"], "study= is said once"),
        (["program=panel model=qwen", "model=smollm2"], "a panel cannot be a member"),
        (["model=qwen", "model=qwen"], "stands there twice"),
    ],
)
def test_members_that_cannot_be_are_bad_config(tmp_path, members, said):
    with pytest.raises(BadInput, match=said):
        Panel(members=members).check(Study(tmp_path))

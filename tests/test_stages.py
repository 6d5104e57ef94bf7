"""The stages as a user runs them: what is done again and what is not, what a failure leaves, what bad input leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generate.starter import Starter
from tests.conftest import Misbehaving

GRADE = json.dumps({"reasoning": "r", "fallacies": [], "first_wrong_step": None, "verdict": "correct"})


def journals(folder: Path) -> dict[str, bytes]:
    """All that a study holds, but for its manifests."""
    files = [f for f in folder.rglob("*") if f.is_file() and "manifests" not in f.parts]
    return {str(f.relative_to(folder)): f.read_bytes() for f in files}


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines()]


@pytest.fixture
def served(server, stage):
    """Run a stage with a served model over one dataset and study."""

    def run(name: str, *words: str):
        return stage(
            name, "study=s", "model=served", "model.id=m", f"engine.base_url={server}", "engine.max_retries=0", *words
        )

    return run


def table(path: Path, *rows: str) -> list[str]:
    """A small table, and the words that map it."""
    path.write_text("pid,q,a,sid,text,who,v,pts,j\n" + "".join(r + "\n" for r in rows), encoding="utf-8")
    names = {"problem_id": "pid", "problem": "q", "answer": "a", "solution_id": "sid", "solution": "text"}
    names |= {"annotator": "who", "verdict": "v", "points": "pts"}
    words = [f"dataset.columns.{k}={v}" for k, v in names.items()]
    return ["dataset=table", f"dataset.path={path.name}", *words, "dataset.columns.judges={alpha: j}", "study=s"]


GOOD = [
    "p1,Q1?,4,s1,It is \\boxed{4}.,ann,,7,7",
    "p1,Q1?,4,s2,It is \\boxed{5}.,ann,incorrect,,",
    "p2,Show it.,,s3,Clear.,ann,,1,3",
]


# --- bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        (None, ["model=qwem"], "model=qwem"),
        (None, ["dataset.nam=x"], "unknown key 'dataset.nam'"),
        (None, ["dataset.path=nowhere.csv"], "there is no file nowhere.csv"),
        (None, ["dataset.columns.points=score"], "there is no column 'score'"),
        ([GOOD[0].replace(",7,7", ",9,7")], [], "row 2, column 'pts': '9' is outside 0 to 7"),
        ([GOOD[0].replace(",,7,7", ",superb,,7")], [], "row 2, column 'v': 'superb' is no verdict"),
        ([*GOOD, GOOD[0]], [], "row 5, column 'sid': solution 's1' and annotator 'ann' stands in an earlier row too"),
        (
            [*GOOD, GOOD[0].replace("ann", "bob").replace("{4}", "{3}")],
            [],
            "row 5, column 'text': solution 's1' has another content",
        ),
        (b"", [], "is empty"),
        (b"pid,q,a,sid,text,who,v,pts,j\np1,caf\xe9,4,s1,t,ann,,7,7\n", [], "line 2: is not UTF-8"),
    ],
)
def test_bad_input_ends_in_one_line_exit_code_2_and_unchanged_journals(stage, tmp_path, content, words, said):
    mapped = table(tmp_path / "t.csv", *GOOD)
    assert stage("generate", *mapped, "model=recorded").returncode == 0
    before = journals(tmp_path / "studies")
    if isinstance(content, bytes):
        (tmp_path / "t.csv").write_bytes(content)
    elif content is not None:
        table(tmp_path / "t.csv", *content)
    done = stage("generate", *mapped, "model=recorded", *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and said in done.stderr, done.stderr
    assert journals(tmp_path / "studies") == before


def test_a_damaged_journal_is_named_by_file_and_line(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    stage("generate", *mapped, "model=recorded")
    file = next((tmp_path / "studies" / "s" / "solutions").glob("*.jsonl"))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"{oops}\n" + lines[1])
    for name in ("generate", "judge", "calibrate"):
        words = [*mapped, "model=recorded"] if name == "generate" else ["study=s"]
        done = stage(name, *words)
        assert done.returncode == 2 and f"{file.name}, line 2" in done.stderr and done.stderr.count("\n") == 1, (
            done.stderr
        )


# --- recorded work ------------------------------------------------------------------------------------------------------


def test_recorded_work_goes_through_the_three_stages(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    brought = stage("generate", *mapped, "model=recorded")
    assert "recorded judgements: 3" in brought.stdout and "human labels: 3" in brought.stdout
    judged = stage("judge", "program=recorded")
    assert judged.returncode == 0, judged.stderr
    answers = {r["solution_id"]: r for r in records(tmp_path / "studies" / "s" / "answers") if r["checker"] == "strict"}
    assert {k: (r["outcome"], r["extracted"]) for k, r in answers.items()} == {
        "s1": ("equal", "4"),
        "s2": ("different", "5"),
    }
    assert "It is \\boxed{4}."[answers["s1"]["start"] : answers["s1"]["end"]] == "4"
    verdicts = {r["solution_id"]: r for r in records(tmp_path / "studies" / "s" / "verdicts")}
    assert verdicts["s1"]["verdict"] == "correct" and verdicts["s3"]["verdict"] == "partially_correct"
    assert verdicts["s2"]["verdict"] is None and verdicts["s2"]["error"]["kind"] == "empty_cell"
    before = journals(tmp_path / "studies")
    assert stage("generate", *mapped, "model=recorded").returncode == stage("judge", "program=recorded").returncode == 0
    assert journals(tmp_path / "studies") == before
    assert stage("calibrate").returncode == 0


def test_an_edited_source_replaces_what_it_said_before(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    stage("generate", *mapped, "model=recorded")
    stage("judge", "program=recorded")
    table(tmp_path / "t.csv", GOOD[0].replace("{4}", "{6}").replace(",7,7", ",0,0"), *GOOD[1:])
    again = stage("generate", *mapped, "model=recorded")
    assert "recorded solutions: 3 from table, 1 of them new or changed" in again.stdout
    judged = stage("judge", "program=recorded")
    assert "1 checked now" in judged.stdout and "judge alpha: 3 recorded judgements, 1 new or changed" in judged.stdout
    report = stage("calibrate")
    metrics = json.loads(next((tmp_path / "studies").rglob("metrics.json")).read_text())
    assert report.returncode == 0 and metrics["human_gold"]["overall"]["correct"]["value"] == 0.0
    assert metrics["human_gold"]["overall"]["final_answer_accuracy"]["value"] == 0.0


def test_a_label_that_the_source_withdraws_is_no_label_any_more(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    stage("generate", *mapped, "model=recorded")
    table(tmp_path / "t.csv", GOOD[0], GOOD[1].replace("incorrect", ""), GOOD[2])
    again = stage("generate", *mapped, "model=recorded")
    assert "withdrawn labels: 1 from table" in again.stdout
    stage("judge", "program=recorded")
    assert stage("calibrate").returncode == 0
    metrics = json.loads(next((tmp_path / "studies").rglob("metrics.json")).read_text())
    assert metrics["human_gold"]["overall"]["correct"]["n"] == 2
    assert "withdrawn" not in stage("generate", *mapped, "model=recorded").stdout


def test_a_gold_answer_edited_after_the_check_leaves_the_answer_unchecked(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    stage("generate", *mapped, "model=recorded")
    stage("judge", "program=recorded")
    table(tmp_path / "t.csv", *(row.replace(",4,", ",9,") for row in GOOD))
    stage("generate", *mapped, "model=recorded")
    assert stage("calibrate").returncode == 0
    metrics = json.loads(next((tmp_path / "studies").rglob("metrics.json")).read_text())
    assert metrics["human_gold"]["overall"]["final_answer_accuracy"]["counts"]["unchecked"] == 2


def test_an_id_that_moves_to_another_model_is_refused(stage, tmp_path):
    mapped = [*table(tmp_path / "t.csv", *GOOD), "dataset.solution_model=zeta"]
    stage("generate", *mapped, "model=recorded")
    done = stage("generate", *mapped, "model=recorded", "dataset.solution_model=alpha")
    assert done.returncode == 2 and "solution 's1' is by 'alpha' in the source and by 'zeta'" in done.stderr


def test_a_damaged_label_journal_is_found_before_anything_is_written(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    stage("generate", *mapped, "model=recorded")
    file = next((tmp_path / "studies" / "s" / "labels").glob("*.jsonl"))
    file.write_bytes(b"{oops}\n" + file.read_bytes())
    before = journals(tmp_path / "studies")
    table(tmp_path / "t.csv", *(row.replace("Q1?", "Q9?") for row in GOOD))
    done = stage("generate", *mapped, "model=recorded")
    assert done.returncode == 2 and f"{file.name}, line 1" in done.stderr and journals(tmp_path / "studies") == before


def test_words_of_a_numeric_column_may_be_mapped_on_the_command_line(stage, tmp_path):
    (tmp_path / "t.csv").write_text("sid,v\ns1,1\ns2,0\n")
    words = ["dataset=table", "dataset.path=t.csv", "dataset.columns.solution_id=sid", "dataset.columns.verdict=v"]
    done = stage("generate", *words, "dataset.verdict_words={0: incorrect, 1: correct}", "model=recorded", "study=s")
    assert done.returncode == 0, done.stderr
    assert [x["verdict"] for x in records(tmp_path / "studies" / "s" / "labels")] == ["correct", "incorrect"]


def test_going_back_to_an_earlier_text_makes_it_the_one_that_counts(stage, tmp_path):
    mapped = table(tmp_path / "t.csv", *GOOD)
    for first in (GOOD[0], GOOD[0].replace("{4}", "{6}"), GOOD[0]):
        table(tmp_path / "t.csv", first, *GOOD[1:])
        stage("generate", *mapped, "model=recorded")
    judged = stage("judge", "program=none")
    assert "(strict): 1 different, 1 equal" in judged.stdout


def test_a_table_of_scores_has_nothing_for_a_model_to_judge(stage, tmp_path):
    (tmp_path / "scores.csv").write_text("id,h\ns1,7\n")
    words = ["dataset=table", "dataset.path=scores.csv", "dataset.columns.solution_id=id", "dataset.columns.points=h"]
    assert stage("generate", *words, "model=recorded").returncode == 0
    for more, said in ([], "holds no texts of solutions"), (["program=recorded"], "holds no recorded judgements"):
        done = stage("judge", *more)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


# --- work by a model ----------------------------------------------------------------------------------------------------


def test_errors_are_records_that_retry_errors_runs_again_and_nothing_else_is(served, tmp_path):
    Misbehaving.plan = [(500, "oops")]
    first = served("generate", "limit=3")
    assert first.returncode == 0 and "errors: 1 server_error" in first.stdout, first.stderr
    solutions = tmp_path / "studies" / "s" / "solutions"
    mine = [r for r in records(solutions) if r["model"] == "served"]
    assert len(mine) == 3 and sorted(r["text"] is None for r in mine) == [False, False, True]
    asked = len(Misbehaving.asked)
    assert "3 there already, 0 to write" in served("generate", "limit=3").stdout
    assert len(Misbehaving.asked) == asked
    again = served("generate", "limit=3", "retry_errors=true")
    assert "2 there already, 1 to write" in again.stdout and "errors: none" in again.stdout
    assert len(Misbehaving.asked) == asked + 1
    assert "4 asked for, 3 there already, 1 to write" in served("generate", "limit=4").stdout


def test_a_solution_that_failed_is_not_judged(served, tmp_path):
    Misbehaving.plan = [(500, "oops")]
    served("generate", "limit=1")
    Misbehaving.plan = [(200, GRADE)] * 20
    judged = served("judge", "models=[served]")
    assert judged.returncode == 2 and "holds no texts of solutions to judge" in judged.stderr
    Misbehaving.plan = [(200, "a text"), (500, "oops")]
    served("generate", "limit=2", "model.name=other", "in_flight=1")
    Misbehaving.plan = [(200, GRADE)] * 20
    assert (
        "1 solutions to judge, 0 there already, 1 to do; 1 without a text" in served("judge", "models=[other]").stdout
    )
    assert len(records(tmp_path / "studies" / "s" / "verdicts")) == 1


def test_a_judge_that_reads_its_own_models_solutions_is_warned_of(served):
    served("generate", "limit=1")
    Misbehaving.plan = [(200, GRADE)] * 20
    judged = served("judge")
    assert "warning: single-served judges 1 solutions that its own model wrote" in judged.stderr
    assert "warning" not in served("judge", "models=[planted]").stderr


def test_unknown_models_are_refused_with_those_that_there_are(served):
    served("generate", "limit=1")
    done = served("judge", "models=[gpt]")
    assert done.returncode == 2 and "no solutions by 'gpt'; there are: planted, served" in done.stderr


def test_replies_that_do_not_parse_are_errors_and_are_judged_anew_on_demand(served, tmp_path):
    served("generate", "limit=1", "model.name=solver")
    Misbehaving.plan = [(200, "no idea"), (200, GRADE)] + [(200, GRADE)] * 20
    first = served("judge", "in_flight=1")
    assert "errors: 1 unparsed" in first.stdout, first.stdout
    failed = [r for r in records(tmp_path / "studies" / "s" / "verdicts") if r["error"]]
    assert len(failed) == 1 and failed[0]["verdict"] is None and "no idea" in failed[0]["error"]["raw"]
    Misbehaving.plan = [(200, GRADE)]
    again = served("judge", "retry_errors=true")
    assert "1 to do" in again.stdout and "errors: none" in again.stdout
    edited = served("judge", "program.instructions=Be kind.", "limit=2")
    assert "0 there already, 2 to do" in edited.stdout


def test_a_server_that_goes_away_ends_the_stage_in_one_line_and_journals_nothing_of_what_was_under_way(
    served, tmp_path
):
    Misbehaving.plan = [(200, "a text"), (401, "expired")]
    done = served("generate", "limit=5", "in_flight=1")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert (
        last.startswith("generate: ")
        and "401" in last
        and "run the same command again" in last
        and "Traceback" not in done.stderr
    )
    assert len([r for r in records(tmp_path / "studies" / "s" / "solutions") if r["model"] == "served"]) == 1
    assert "5 asked for, 1 there already, 4 to write" in served("generate", "limit=5").stdout


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(server, stage, tmp_path):
    Misbehaving.seconds = 0.3
    words = ["study=s", "model=served", "model.id=m", f"engine.base_url={server}", "samples=3", "in_flight=2"]
    run = subprocess.Popen(
        [sys.executable, "-m", "generate", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job may ignore it
    )
    folder = tmp_path / "studies" / "s" / "solutions"
    deadline = time.monotonic() + 60
    while (
        not (folder.exists() and sum(r["model"] == "served" for r in records(folder)) >= 3)
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == 130 and "Traceback" not in stderr, stderr
    assert "generate: stopped. What was done is kept" in stderr
    before = [r for r in records(folder) if r["model"] == "served"]
    Misbehaving.seconds = 0.0
    assert stage("generate", *words).returncode == 0
    after = [r for r in records(folder) if r["model"] == "served"]
    assert after[: len(before)] == before and len({r["key"] for r in after}) == len(after) == 60


def test_two_runs_at_once_do_not_write_one_file(server, stage, tmp_path):
    Misbehaving.seconds = 1.0
    words = ["study=s", "model=served", "model.id=m", f"engine.base_url={server}", "limit=2", "in_flight=1"]
    run = subprocess.Popen([sys.executable, "-m", "generate", *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not Misbehaving.asked and time.monotonic() < deadline:
        time.sleep(0.05)
    second = stage("generate", *words)
    assert second.returncode == 2 and "another run is writing this file" in second.stderr
    assert run.wait(timeout=60) == 0


def test_samples_of_one_problem_have_seeds_of_their_own_that_follow_from_the_configs(served, tmp_path):
    served("generate", "limit=2", "samples=3")
    seeds = {r["id"]: r["seed"] for r in records(tmp_path / "studies" / "s" / "solutions") if r["model"] == "served"}
    assert len(set(seeds.values())) == 6
    assert sorted(a["seed"] for a in Misbehaving.asked) == sorted(seeds.values())
    served("generate", "limit=2", "samples=3", "seed=1", "model.name=other")
    others = {r["seed"] for r in records(tmp_path / "studies" / "s" / "solutions") if r["model"] == "other"}
    assert not others & set(seeds.values())


def test_solutions_of_other_settings_under_one_name_are_warned_of(served):
    assert "warning" not in served("generate", "limit=1").stderr
    other = served("generate", "limit=1", "model.sampling.temperature=0.5")
    assert "other settings" in other.stderr and "model.name=NAME" in other.stderr
    assert "warning" not in served("generate", "limit=1", "model.sampling.temperature=0.5", "model.name=warm").stderr


def test_the_judge_of_the_last_run_is_the_one_that_reports_take(served, stage, tmp_path):
    for name in "xy":
        served("generate", "limit=1", f"model.name={name}")
    for words in (["models=[x]"], ["models=[y]", "program.instructions=Be kind."], ["models=[x]"]):
        Misbehaving.plan = [(200, GRADE)] * 3
        assert served("judge", *words).returncode == 0
    said = records(tmp_path / "studies" / "s" / "verdicts")
    assert said[-1]["solution_id"].split("/")[1] == "x" and len({r["judge_key"] for r in said}) == 2


def test_prompts_differ_for_final_answers_and_proofs(served):
    served("generate", "in_flight=1")
    asked = [a["messages"][-1]["content"] for a in Misbehaving.asked]
    proofs = sum(p.answer is None for p in Starter().read().problems)
    assert sum("Write a complete and rigorous proof" in a for a in asked) == proofs >= 4
    assert sum("Final answer: \\boxed{...}" in a for a in asked) == len(asked) - proofs >= 10


def test_undecided_answers_go_to_the_model_on_demand_and_are_counted_apart(served, stage, tmp_path):
    (tmp_path / "t.csv").write_text(
        "pid,q,a,sid,text\np1,Q?,50\\%,s1,It is \\boxed{50}.\np2,Q!,4,s2,It is \\boxed{4}.\n"
    )
    columns = {"problem_id": "pid", "problem": "q", "answer": "a", "solution_id": "sid", "solution": "text"}
    words = [f"dataset.columns.{k}={v}" for k, v in columns.items()]
    stage("generate", "study=s", "dataset=table", "dataset.path=t.csv", "model=recorded", *words)
    study = tmp_path / "studies" / "s"
    quiet = served("judge", "program=none")
    assert "final answers (strict): 1 equal, 1 undecided" in quiet.stdout, quiet.stdout
    assert "final answers (lenient): 2 equal" in quiet.stdout
    assert not Misbehaving.asked
    Misbehaving.plan = [(200, '{"reasoning": "r", "verdict": "same"}')]
    asked = served("judge", "program=none", "ask_undecided=true")
    assert (
        "undecided answers put to served: 1, 0 there already, 1 to do" in asked.stdout
        and "opinions: 1 equal" in asked.stdout
    )
    assert len(Misbehaving.asked) == 1
    served("judge", "program=none", "ask_undecided=true")
    assert len(Misbehaving.asked) == 1
    assert stage("calibrate").returncode == 0
    accuracy = json.loads((study / "reports" / "report" / "metrics.json").read_text())["final_answers"]["overall"]
    assert accuracy["value"] == 1.0 and accuracy["n"] == 1 and accuracy["bounds"] == {"low": 0.5, "high": 1.0, "n": 2}
    assert accuracy["asked_model"] == {"opinion-served": {"equal": 1, "different": 0, "unsure": 0, "error": 0}}
    assert "opinion-served" in (study / "reports" / "report" / "report.md").read_text()


def test_a_gold_answer_that_does_not_equal_itself_is_listed(stage, tmp_path):
    empty_box = GOOD[0].replace(",4,", ",\\boxed{},")
    mapped = table(tmp_path / "t.csv", empty_box, GOOD[2])
    assert stage("generate", *mapped, "model=recorded").returncode == 0
    done = stage("judge", "program=none")
    assert done.returncode == 0
    assert "warning: the gold answer of p1, '\\\\boxed{}', is not equal to itself" in done.stderr
    manifest = json.loads(next((tmp_path / "studies" / "s" / "manifests").glob("judge-*.json")).read_text())
    assert manifest["golds_not_equal_to_themselves"] == ["p1"]


def test_progress_is_shown_while_work_is_done(served):
    Misbehaving.plan = [(500, "oops")]
    shown = served("generate", "limit=4", "in_flight=1").stderr
    assert "4/4" in shown and ("solution/s" in shown or "s/solution" in shown)
    assert "tokens/s" in shown and "1 errors" in shown


def test_the_manifest_says_what_was_run(served, tmp_path):
    served("generate", "limit=1")
    (manifest,) = (
        json.loads(f.read_text()) for f in (tmp_path / "studies" / "s" / "manifests").glob("generate-*.json")
    )
    assert manifest["config"]["model"]["id"] == "m" and manifest["finished"] and manifest["seconds"] > 0
    assert (
        manifest["tokens"] == {"prompt": 3, "completion": 2}
        and manifest["versions"]["dspy"]
        and manifest["hardware"]["cores"]
    )

"""`python -m judge` alone: which model it takes, and why."""

import json

import pytest

from judge.lastrun import with_model_of_last_run
from tests.conftest import Misbehaving
from tests.judge.test_grading import said

ASKING = {"model": {"_target_": "generate.models.Model"}, "program": {"_target_": "judge.program.Single"}}


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Leaves the manifest of a run behind."""
    monkeypatch.chdir(tmp_path)

    def run(stage: str, when: int, command: list[str], config: dict = ASKING):
        folder = tmp_path / "studies" / "s" / "manifests"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{stage}-{when:03d}.json").write_text(json.dumps({"command": command, "config": config}))

    return run


def test_the_model_last_used_as_judge_then_the_one_that_wrote_the_solutions(ran):
    ran("generate", 1, ["model=qwen", "samples=4", "dataset=starter"])
    words, why = with_model_of_last_run(["limit=3"])
    assert words == ["limit=3", "model=qwen"] and "last wrote solutions here: model=qwen" in why
    ran("judge", 2, ["model=served", "engine.base_url=http://127.0.0.1:1/v1", "program=two_step", "votes=3"])
    words, why = with_model_of_last_run([])
    assert words == ["model=served", "engine.base_url=http://127.0.0.1:1/v1"] and "last judged here" in why
    ran("judge", 3, ["program=constant"], {**ASKING, "program": {"_target_": "judge.baselines.Constant"}})
    ran("judge", 4, ["model=recorded"], {**ASKING, "model": {"_target_": "generate.models.Recorded"}})
    assert with_model_of_last_run([])[0] == words
    ran("judge", 5, ["--config-dir", "my", "model=mine", "seed=2"])
    assert with_model_of_last_run([])[0] == ["model=mine", "--config-dir", "my"]
    ran("judge", 6, ["limit=1"])  # with the config's own model
    assert with_model_of_last_run([]) == ([], None)


@pytest.mark.parametrize(
    "argv",
    [["model=smollm2"], ["engine=openai"], ["model.id=x"], ["program=none"], ["program=panel"], ["--help"], ["show=x"],
     ["study=other"], ["studies_dir=elsewhere"]],
)  # fmt: skip
def test_whoever_names_a_model_or_asks_none_gets_no_other(ran, argv):
    ran("judge", 1, ["model=served"])
    assert with_model_of_last_run(argv) == (argv, None)


def test_the_undecided_answers_are_put_to_the_same_model_whatever_the_program(ran):
    ran("judge", 1, ["model=served"])
    argv = ["program=none", "ask_undecided=true"]
    assert with_model_of_last_run(argv)[0] == [*argv, "model=served"]


def test_a_damaged_or_foreign_manifest_is_passed_over(ran, tmp_path):
    ran("judge", 1, ["model=served"])
    for n, text in enumerate(
        ["{", "[]", '{"command": 3, "config": null}', '{"config": {"model": {"_target_": "a.Model"}}}']
    ):
        (tmp_path / "studies" / "s" / "manifests" / f"judge-9{n}.json").write_text(text)
    assert with_model_of_last_run([])[0] == ["model=served"]


def test_judge_alone_goes_on_with_the_last_study_and_its_model(server, stage):
    words = ["model=served", "model.id=m", f"engine.base_url={server}", "engine.max_retries=0"]
    assert stage("generate", "study=s", *words, "limit=2").returncode == 0
    Misbehaving.plan = [(200, said("correct"))] * 2
    first = stage("judge", "models=[served]")
    assert first.returncode == 0, first.stderr
    assert "model as in the run that last wrote solutions here: model=served model.id=m" in first.stdout
    assert "study studies/s (the study last written to)" in first.stdout and "2 to do" in first.stdout
    again = stage("judge", "models=[served]")
    assert "model as in the run that last judged here" in again.stdout and "2 there already, 0 to do" in again.stdout

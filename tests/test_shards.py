"""One run in parts on many machines, and sweeps over models: with submitit, whose local executor stands in for Slurm."""

import json
import time
from pathlib import Path

import pytest

from generate.journal import BadInput
from generate.solutions import Solution
from generate.study import Shard, Study
from tests.fast import config
from tests.test_kills import ENV, lines

pytest.importorskip("submitit", reason="submitit is not installed here (scripts/setup cpu slurm)")


def test_every_problem_belongs_to_one_shard_and_shards_are_of_like_size():
    ids = [f"imo-{year}-{n}" for year in range(1959, 2025) for n in range(1, 7)]
    parts = [[i for i in ids if Shard(index=k, count=4).holds(i)] for k in range(4)]
    assert sorted(i for part in parts for i in part) == sorted(ids)
    assert all(70 <= len(part) <= 130 for part in parts)  # 396 problems: 99 each, within 3.5 standard deviations
    assert [i for i in ids if Shard().holds(i)] == ids


def test_a_shard_beyond_the_last_is_refused(stage):
    done = stage("generate", "shard.index=4", "shard.count=4")
    assert done.returncode == 2 and "shard: index counts from 0" in done.stderr and done.stderr.count("\n") == 1


def solution(key: str, id: str) -> Solution:
    return Solution(key=key, id=id, problem_id="p", model="m", text=key)


def test_readers_take_all_shards_together_and_of_one_thing_the_record_last_written(tmp_path):
    study = Study(tmp_path)
    for shard, key, id in [(0, "a", "1"), (1, "b", "2")]:
        with study.part(Shard(index=shard, count=2)).solutions_journal("m") as journal:
            journal.append(solution(key, id))
            time.sleep(0.01)
    with Study(tmp_path).solutions_journal("m") as whole:
        assert "a" in whole and "b" in whole and len(whole) == 2
        whole.append(solution("c", "1"))
    assert {s.id: s.key for s in study.solutions().values()} == {"1": "c", "2": "b"}
    assert [f.name.partition(".")[2] for f in study.files("solutions")][-1] == "jsonl"
    time.sleep(0.01)
    with study.part(Shard(index=0, count=2)).solutions_journal(
        "m"
    ) as journal:  # does nothing, but is the last to write
        assert journal.superseded(["a"]) == []
    assert {s.id: s.key for s in study.solutions().values()} == {"1": "a", "2": "b"}


def test_what_is_written_in_a_moment_is_waited_for(tmp_path):
    import threading

    journal = Study(tmp_path).problems_journal()
    threading.Timer(0.3, journal.close).start()
    began = time.monotonic()
    Study(tmp_path).problems_journal().close()
    assert time.monotonic() - began > 0.2
    with Study(tmp_path).solutions_journal("m"), pytest.raises(BadInput, match="another run is writing"):
        Study(tmp_path).solutions_journal("m")


def sweep(stage, name: str, folder: Path, *words: str):
    choose, engine = config(folder)
    return stage(name, "-m", choose, "hydra/launcher=submitit_local", engine, *words, env=ENV)


@pytest.mark.long
def test_a_run_in_shards_is_the_run_in_one_piece_in_every_stage(stage, tmp_path):
    choose = config(tmp_path)
    for name in ("generate", "judge"):
        assert stage(name, *choose, "study=one", env=ENV).returncode == 0
        done = sweep(stage, name, tmp_path, "study=parts", "shard.count=2", "shard.index=0,1")
        assert done.returncode == 0 and "all jobs are done" in done.stdout, done.stderr
    one, parts = (tmp_path / "studies" / s for s in ("one", "parts"))
    together: dict[str, list[bytes]] = {}
    for file, content in lines(parts).items():
        together.setdefault(file.replace(".shard-0-of-2", "").replace(".shard-1-of-2", ""), []).extend(content)
    assert {f: sorted(c) for f, c in together.items()} == lines(one)
    assert len([f for f in lines(parts) if ".shard-" in f]) == 2 * 4  # solutions, two readings of answers, verdicts
    for study in ("one", "parts"):
        assert stage("calibrate", f"study={study}").returncode == 0
    figures = [json.loads((s / "reports" / "report" / "metrics.json").read_text()) for s in (one, parts)]
    assert figures[0]["judges"] == figures[1]["judges"] and figures[0]["planted"] == figures[1]["planted"]
    again = stage("generate", *choose, "study=parts", env=ENV)
    assert "20 there already, 0 to write" in again.stdout
    other = stage("judge", *choose, "study=parts", "shard.count=3", "shard.index=1", env=ENV)
    assert other.returncode == 0 and ", 0 to do" in other.stdout


def test_a_sweep_over_models_and_shards_writes_one_study_from_several_processes(stage, tmp_path):
    done = sweep(stage, "generate", tmp_path, "study=s", "model.name=a,b", "shard.count=2", "shard.index=0,1")
    assert done.returncode == 0 and "all jobs are done" in done.stdout, done.stderr
    study = Study(tmp_path / "studies" / "s")
    assert {s.model for s in study.solutions().values()} == {"a", "b", "planted"}
    assert len(list(study.every("solutions", Solution))) == len(study.solutions()) == 2 * 20 + 75
    assert len([f for f in study.files("solutions") if ".shard-" in f.name]) == 4
    assert len(list((study.path / "manifests").iterdir())) == 4


@pytest.mark.long
def test_a_job_that_fails_makes_the_sweep_fail_with_its_reason(stage, tmp_path):
    done = sweep(stage, "generate", tmp_path, "study=s", "limit=1", "topics=[Algebra],[Astrology]")
    assert done.returncode == 2 and "topics: no problem has the topic 'astrology'" in done.stderr


def test_a_sweep_ends_as_its_jobs_do(stage, tmp_path):
    done = sweep(stage, "generate", tmp_path, "study=s", "model.name=a,b", "budget.requests=3")
    assert done.returncode == 3 and "a job ended with exit code 3" in done.stderr and "all jobs" not in done.stdout, (
        done
    )
    assert len(list(Study(tmp_path / "studies" / "s").every("solutions", Solution))) == 2 * 3 + 75


def test_a_judge_that_finds_no_problems_says_that_shard_0_was_not_run(stage, tmp_path):
    choose = config(tmp_path)
    for name in ("generate", "judge"):
        done = stage(name, *choose, "study=s", "shard.count=2", "shard.index=1", env=ENV)
        assert done.returncode == 0, done.stderr
    assert (
        "run that first" in done.stderr and "0 solutions to judge" in done.stdout and " 0 without a text" in done.stdout
    )


def test_the_presets_make_a_job_that_slurm_takes(stage):
    import yaml
    from submitit.slurm.slurm import SlurmExecutor, _make_sbatch_string

    done = stage(
        "generate",
        "hydra/launcher=slurm",
        "hydra.launcher.partition=gpu",
        "--cfg",
        "hydra",
        "--package",
        "hydra.launcher",
    )
    assert done.returncode == 0, done.stderr
    given = yaml.safe_load(done.stdout)
    assert given["_target_"].endswith("SlurmLauncher") and given["max_num_timeout"] == 10
    apart = ("_target_", "submitit_folder", "max_num_timeout", "timeout_min", "mem_gb", "name", "tasks_per_node")
    rest = {k: v for k, v in given.items() if k not in apart and v is not None}
    rest |= {"time": given["timeout_min"], "mem": f"{given['mem_gb']}GB", "ntasks_per_node": 1, "job_name": "generate"}
    assert set(rest) <= set(SlurmExecutor._valid_parameters()) | {"array_parallelism"}
    script = _make_sbatch_string(command="true", folder="/x", map_count=2, **rest)
    for line in ("--partition=gpu", "--gpus-per-node=1", "--time=1440", "--array=0-1%2", "--signal=USR2@120"):
        assert f"#SBATCH {line}" in script, script


def test_a_sweep_without_a_launcher_of_its_own_is_told_which_there_are(stage):
    done = stage("generate", "-m", "model=qwen,deepseek")
    assert done.returncode == 2 and "hydra/launcher=local or hydra/launcher=slurm" in done.stderr

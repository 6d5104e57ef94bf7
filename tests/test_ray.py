"""engine=ray on a cluster of this machine, in a network namespace of its own: Ray listens on more than loopback."""

import os
import random
import secrets
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.fast import config
from tests.test_kills import ENV, lines

pytest.importorskip("ray", reason="Ray is not installed here (scripts/setup cpu ray)")
TWO_FAST = ["engine=ray", "engine.replicas=2", "engine.gpus=0", "engine.replica={_target_:tests.fast.Fast,seconds:0.4}"]


def alone(*words: str) -> list[str]:
    """The command in a network namespace of its own, with nothing but a loopback."""
    return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]


@pytest.fixture(scope="module", autouse=True)
def namespace() -> None:
    try:
        made = subprocess.run(alone("true"), capture_output=True).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("a network namespace cannot be made here (it takes root, unshare and ip)")


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        alone(sys.executable, "-m", *words), cwd=folder, env={**os.environ, **ENV}, text=True,
        stdout=subprocess.PIPE, stderr=(folder / "stderr").open("w"),
    )  # fmt: skip


def replicas(run: "subprocess.Popen[str]") -> list[psutil.Process]:
    found = []
    for process in psutil.Process(run.pid).children(recursive=True):
        try:
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::Replica"):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("name", "kills"),
    [("generate", 5), *(pytest.param(name, 100, marks=pytest.mark.long) for name in ("generate", "judge"))],
)
def test_replicas_that_are_killed_at_random_moments_are_replaced_and_nothing_is_lost_or_done_twice(
    stage, tmp_path, name, kills
):
    fast, many = config(tmp_path), kills > 10
    studies = {study: tmp_path / "studies" / study for study in ("calm", "wild")}
    samples = f"samples={60 if many else 6}"
    for study in studies:
        before = ["model=recorded", "limit=1"] if name == "generate" else [*fast, samples]
        assert stage("generate", *before, f"study={study}", env=ENV).returncode == 0
    more = [samples] if name == "generate" else ["models=[smollm2]"]
    assert stage(name, *fast, "study=calm", *more, env=ENV).returncode == 0
    run = start(tmp_path, name, "study=wild", *TWO_FAST, *more, f"in_flight={2 if many else 6}")
    folder = studies["wild"] / ("solutions" if name == "generate" else "verdicts")

    def records() -> int:
        return sum(f.read_bytes().count(b"\n") for f in folder.glob("*.jsonl") if "smollm2" in f.name)

    def still_running() -> bool:
        assert time.monotonic() < deadline, (tmp_path / "stderr").read_text()
        time.sleep(0.05)
        return run.poll() is None

    deadline = time.monotonic() + 120
    while still_running() and records() < 4:
        pass
    rng, killed = random.Random(f"{name} {kills}"), 0
    deadline = time.monotonic() + 60 + 20 * kills
    while still_running() and killed < kills:
        if victims := replicas(run):  # one that starts may be hit as well
            rng.choice(victims).send_signal(signal.SIGKILL)
            killed += 1
        time.sleep(rng.uniform(0, 4 if many else 2))
    out, _ = run.communicate(timeout=300)
    stderr = (tmp_path / "stderr").read_text()
    assert run.returncode == 0, stderr
    assert killed >= kills * 0.6, f"the work was done after {killed} kills"
    assert "warning: replica" in stderr and "is out" in stderr and "errors: none" in out
    (file,) = (f for f in lines(studies["calm"]) if f.startswith(folder.name) and "smollm2" in f)
    assert lines(studies["wild"])[file] == lines(studies["calm"])[file]
    assert len(lines(studies["wild"])[file]) == (1200 if many else 120)


@pytest.mark.long
def test_a_stage_that_is_killed_leaves_no_process_of_its_cluster(tmp_path):
    run = start(tmp_path, "generate", "study=s", *TWO_FAST, "in_flight=2")
    deadline = time.monotonic() + 120
    while not replicas(run):
        assert run.poll() is None and time.monotonic() < deadline, (tmp_path / "stderr").read_text()
        time.sleep(0.1)
    time.sleep(1.0)
    family = psutil.Process(run.pid).children(recursive=True)
    run.kill()
    run.wait()
    _, left = psutil.wait_procs(family, timeout=15)
    assert not [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["engine.replica={_target_:tests.fast.Fast,secs:1}"], "unknown key"),
        (["engine.replicas=0"], "engine.replicas"),
        (["engine.tensor_parallel_siz=2"], "did you mean 'engine.tensor_parallel_size'?"),
    ],
)
def test_bad_config_of_the_pool_is_one_line(stage, words, said):
    done = stage("generate", "engine=ray", *words, env=ENV)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def test_the_pool_does_the_same_work_as_one_engine_and_asks_for_the_gpus_that_a_model_is_spread_over(monkeypatch):
    from generate.engines import ray
    from generate.engines.vllm import Vllm, VllmArguments
    from generate.models import Model

    model = Model(name="m", id="m", vllm=VllmArguments(dtype="bfloat16", tensor_parallel_size=2))
    monkeypatch.setattr(ray, "_is_installed", lambda package: False)
    pool = ray.Ray(replicas=8, pipeline_parallel_size=2)
    assert pool.identity(model) == Vllm().identity(model) and pool.gpus_for_each(model) == 4
    assert pool.each() == Vllm(pipeline_parallel_size=2)


def test_a_replica_that_no_machine_can_hold_is_told_at_once(tmp_path):
    run = start(
        tmp_path, "generate", "study=s", "engine=ray", "engine.gpus=64", "engine.replica={_target_:tests.fast.Fast}"
    )
    run.communicate(timeout=120)
    last = (tmp_path / "stderr").read_text().strip().splitlines()[-1]
    assert run.returncode == 1 and "a replica wants engine.gpus=64 and engine.cpus=1, and no machine" in last


def test_a_cluster_that_is_not_there_ends_the_stage_in_one_line(tmp_path):
    run = start(tmp_path, "generate", "study=s", "engine=ray", "engine.gpus=0", "engine.address=127.0.0.1:9",
                "engine.replica={_target_:tests.fast.Fast}")  # fmt: skip
    run.communicate(timeout=120)
    last = (tmp_path / "stderr").read_text().strip().splitlines()[-1]
    assert run.returncode == 1 and last.startswith("generate: engine.address=127.0.0.1:9") and "run the same" in last


@pytest.mark.long
def test_a_cluster_that_runs_already_is_used_and_left_running(tmp_path):
    """Ray's own head node beside the stage, in one namespace; it is ended by its process id."""
    ray = Path(sys.executable).with_name("ray")
    head = [str(ray), "start", "--head", "--port=6399", "--num-cpus=2", "--include-dashboard=false", "--block"]
    script = tmp_path / "both.sh"
    script.write_text(
        f"{shlex.join(head)} >head.log 2>&1 & head=$!\n"
        'until grep -q "Ray runtime started" head.log; do kill -0 $head || exit 9; sleep 0.2; done\n'
        '"$@"; code=$?\nkill -0 $head && echo "the cluster still runs"\nkill $head; wait $head\nexit $code\n'
    )
    stage = [sys.executable, "-m", "generate", "study=s", *TWO_FAST, "engine.address=127.0.0.1:6399"]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # as Ray wants it on every machine
    done = subprocess.run(
        alone("sh", str(script), *stage), cwd=tmp_path, env={**os.environ, **ENV, **token}, capture_output=True, text=True, timeout=200
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "starting 2 replicas on the cluster at 127.0.0.1:6399" in done.stderr and "errors: none" in done.stdout
    assert "the cluster still runs" in done.stdout


@pytest.mark.long
@pytest.mark.engine
def test_the_real_vllm_runs_in_two_replicas_one_of_which_is_killed(stage, tmp_path):
    pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")
    words = ["study=s", "limit=6", "samples=2", "model.context_length=2048", "model.sampling.max_tokens=40"]
    words += ["engine=ray", "engine.gpus=0", "engine.replicas=2", "engine.cpu_kv_cache_gb=1", "in_flight=4"]
    run = start(tmp_path, "generate", *words)
    folder = tmp_path / "studies" / "s" / "solutions"
    deadline = time.monotonic() + 500
    while not any("smollm2" in f.name and f.read_bytes().count(b"\n") >= 2 for f in folder.glob("*.jsonl")):
        assert run.poll() is None and time.monotonic() < deadline, (tmp_path / "stderr").read_text()
        time.sleep(0.2)
    replicas(run)[0].send_signal(signal.SIGKILL)
    out, _ = run.communicate(timeout=500)
    assert run.returncode == 0, (tmp_path / "stderr").read_text()
    assert "12 asked for, 0 there already" in out and "errors: none" in out
    (file,) = (f for f in folder.glob("*.jsonl") if "smollm2" in f.name)
    assert len(set(file.read_bytes().splitlines())) == 12

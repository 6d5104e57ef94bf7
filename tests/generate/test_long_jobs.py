"""The openai engine under faults: all work is done or is an error record of the right kind, nothing hangs, no storms."""

import os
import random
import subprocess
import sys
import threading
import time

import pytest

from generate.engines import Refused, Sampling
from generate.engines.openai import OpenAI
from generate.journal import BadInput
from generate.models import Model
from generate.stage import EngineGone
from generate.work import work_through
from tests.faults import BIG, FAULTS, FaultServer

MODEL = Model(name="m", id="m")
KINDS = {
    "429": "rate_limited", "429-after": "rate_limited", "500": "server_error", "503-after": "server_error",
    "html": "server_error", "reset": "connection_lost", "cut": "connection_lost", "cut-chunks": "connection_lost",
    "stall": "timeout", "trickle": "timeout", "empty": "no_reply", "malformed": "no_reply", "html-200": "no_reply",
    "big-junk": "no_reply", "list": "no_reply",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Shorter pauses."""
    monkeypatch.setattr("generate.engines.openai.SHORTEST_PAUSE", 0.02)
    monkeypatch.setattr("generate.engines.openai.LONGEST_PAUSE", 0.5)
    monkeypatch.setattr("generate.engines.dispatch.SHORTEST_REST", 0.05)
    monkeypatch.setattr("generate.engines.dispatch.LONGEST_REST", 1.0)


@pytest.fixture
def serve():
    servers = []

    def make(*args, **kwargs) -> FaultServer:
        servers.append(FaultServer(*args, **kwargs))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


def work(config: OpenAI, items: int, in_flight: int = 32) -> dict[str, str]:
    """What became of every item: its text, or the kind of its failure."""
    kept: dict[str, str] = {}
    with config.open(MODEL) as engine:

        async def do(i: int) -> tuple[str, str]:
            item = f"item {i}"
            try:
                return item, (await engine.complete([{"role": "user", "content": item}], Sampling())).text or ""
            except Refused as refusal:
                return item, refusal.kind

        work_through(range(items), do, lambda said: kept.update([said]), in_flight)
    return kept


def right(items: int) -> dict[str, str]:
    return {f"item {i}": f"re item {i}" for i in range(items)}


def test_under_a_mix_of_all_faults_all_work_is_done_and_nothing_storms(serve):
    """Half of all requests fail, in every way there is; the wait that servers ask for is shortened to keep the test short."""
    rng = random.Random(7)
    server = serve(lambda item, attempt: rng.choice(FAULTS) if rng.random() < 0.5 else "fine")
    server.after = "0.1"
    began = time.monotonic()
    kept = work(OpenAI(base_url=server.url, max_retries=20, timeout_seconds=1, read_timeout_seconds=0.3), 150)
    assert kept == right(150)
    assert 150 < server.asked < 150 * 3  # half of them fail, so two for each are to be expected
    assert time.monotonic() - began < 60 and server.most_at_once <= 32


@pytest.mark.parametrize("fault", FAULTS)
def test_what_never_succeeds_is_a_failure_of_the_right_kind_after_bounded_tries(serve, fault):
    server = serve(lambda item, attempt: fault)
    server.after = "0.05"
    timeouts = {"timeout_seconds": 1.0} if fault == "trickle" else {}
    config = OpenAI(base_url=server.url, max_retries=2, read_timeout_seconds=0.2, **timeouts)
    began = time.monotonic()
    assert set(work(config, 4).values()) == {KINDS[fault]}
    assert server.asked <= 4 * 3 and time.monotonic() - began < 15


def test_replies_of_10_mb_arrive_whole(serve):
    server = serve(lambda item, attempt: "big" if item.endswith("3") else "fine")
    kept = work(OpenAI(base_url=server.url), 10)
    assert kept["item 3"] == "re item 3" + "x" * BIG and kept["item 4"] == "re item 4"


def test_a_reply_without_an_end_is_refused_before_memory_is_full(serve, monkeypatch):
    monkeypatch.setattr("generate.engines.openai.LARGEST_REPLY", 2**20)
    server = serve(lambda item, attempt: "big")
    assert work(OpenAI(base_url=server.url), 1) == {"item 0": "too_large"} and server.asked == 1


def test_a_server_that_says_when_to_come_back_is_left_alone_until_then(serve):
    server = serve(lambda item, attempt: "429-after" if server.asked == 1 else "fine")
    assert work(OpenAI(base_url=server.url), 40, in_flight=1) == right(40)
    assert server.times[1] - server.times[0] > 0.95
    server.times.clear()
    server.attempts.clear()
    assert work(OpenAI(base_url=server.url), 40, in_flight=20) == right(40)
    last_before_pause = max(t for t in server.times if t - server.times[0] < 0.95)
    assert last_before_pause - server.times[0] < 0.5 and server.times[-1] - server.times[0] > 0.95


def test_requests_at_once_are_bounded_for_each_server(serve):
    one, two = (serve(lambda item, attempt: "slow-0.01") for _ in range(2))
    assert work(OpenAI(base_url=[one.url, two.url], concurrency=3), 100) == right(100)
    assert one.most_at_once == two.most_at_once == 3
    assert min(one.asked, two.asked) > 25


def test_of_a_pool_the_sick_and_the_dead_are_left_out_and_the_well_do_the_work(serve, capsys):
    well, sick = serve(lambda item, attempt: "slow-0.005"), serve(lambda item, attempt: "500")
    refusing = serve(lambda item, attempt: "403")
    config = OpenAI(base_url=[well.url, sick.url, refusing.url, "http://127.0.0.1:9/v1"], max_retries=10)
    assert work(config, 300) == right(300)
    assert well.asked == 300 and sick.asked < 100 and refusing.asked <= 32
    assert f"warning: goes on without {refusing.url}" in capsys.readouterr().err


def test_a_server_that_is_gone_for_a_while_is_waited_for_and_nothing_is_lost(serve):
    server = serve(lambda item, attempt: "slow-0.01")

    def restart() -> None:
        while server.asked < 100:
            time.sleep(0.01)
        server.stop()
        time.sleep(0.5)
        server.start()

    thread = threading.Thread(target=restart)
    thread.start()
    assert work(OpenAI(base_url=server.url, max_retries=3), 200) == right(200)
    thread.join()
    assert server.asked < 200 + 2 * 32  # at most what was under way is asked again, and a try now and then


def test_servers_that_stay_out_of_reach_end_the_run_and_journal_nothing(serve):
    server = serve(lambda item, attempt: "slow-0.01")

    def stop() -> None:
        while server.asked < 50:
            time.sleep(0.01)
        server.stop()

    threading.Thread(target=stop).start()
    began = time.monotonic()
    with pytest.raises(EngineGone, match=r"out of reach for 0\.6 s: the server at .* is gone"):
        work(OpenAI(base_url=server.url, longest_wait_seconds=0.6), 1000)
    assert time.monotonic() - began < 10


def test_a_server_that_answers_with_errors_alone_ends_the_run_as_one_out_of_reach_does(serve):
    server = serve(lambda item, attempt: "500" if server.asked > 20 else "fine")
    began = time.monotonic()
    with pytest.raises(EngineGone, match=r"nothing but failures for 2 s: 500: not now"):
        work(OpenAI(base_url=server.url, longest_wait_seconds=2), 200, in_flight=64)
    assert 2 < time.monotonic() - began < 10 and server.asked < 20 + 2 * 64


def test_slow_replies_beside_failures_are_waited_for(serve):
    """For longer than the patience nothing but failures comes back, and calls that will be answered are under way."""
    began = time.monotonic()
    server = serve(lambda item, attempt: "500" if int(item[5:]) > 3 and time.monotonic() < began + 1.5 else "slow-2")
    assert work(OpenAI(base_url=server.url, longest_wait_seconds=0.5, max_retries=20), 12, in_flight=12) == right(12)


@pytest.mark.parametrize("status", ["403", "404"])
def test_a_server_that_forbids_some_requests_does_the_others(serve, status):
    """Quickly, as moderation does, before any other call has been answered."""
    flagged = {"item 0", "item 3", "item 77"}
    server = serve(lambda item, attempt: status if item in flagged else "slow-0.2")
    assert work(OpenAI(base_url=server.url), 100) == right(100) | dict.fromkeys(flagged, "refused")
    assert server.asked == 100


@pytest.mark.parametrize("before", [0, 50])
def test_a_server_that_forbids_every_request_ends_the_run(serve, before):
    server = serve(lambda item, attempt: "403" if server.asked > before else "fine")
    kept: dict[str, str] = {}
    with pytest.raises(EngineGone, match="403: not now"):
        kept = work(OpenAI(base_url=server.url), 500)
    assert not kept and server.asked <= before + 32 + 21


SAID = {
    '{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}': "ab",
    '{"content":"c","reasoning":[{"text":"hm"}]}': "c",
    '{"content":7}': "no_reply",
    '{"content":{"text":"x"}}': "no_reply",
    '{"content":"x","reasoning":7}': "no_reply",
    '{"content":[7]}': "no_reply",
    "{}": "",
}


@pytest.mark.parametrize(("message", "said"), SAID.items(), ids=range(len(SAID)))
def test_a_message_of_another_shape_is_its_text_or_no_reply_and_never_a_crash(serve, message, said):
    server = serve(lambda item, attempt: message)
    assert work(OpenAI(base_url=server.url), 2) == {"item 0": said, "item 1": said}


@pytest.mark.parametrize("how", [302, 299, 298, 500])
def test_a_server_that_cannot_list_its_models_is_used_all_the_same(serve, monkeypatch, how):
    monkeypatch.setattr("generate.engines.openai.LIST_SECONDS", 0.3)
    server = serve(models=how)
    assert work(OpenAI(base_url=server.url), 3) == right(3)


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "x", "1e999"])
def test_a_wait_that_is_no_number_of_seconds_is_none(given):
    import httpx

    from generate.engines.openai import _retry_after

    assert _retry_after(httpx.Headers({"retry-after-ms": given}), 300) in (None, 0.0)
    assert _retry_after(httpx.Headers({"retry-after": given}), 300) in (None, 0.0)


def test_a_quota_that_is_used_up_ends_the_run(server, monkeypatch):
    from tests.conftest import Misbehaving

    monkeypatch.setattr(Misbehaving, "plan", [(429, "You exceeded your quota: insufficient_quota")])
    with pytest.raises(EngineGone, match="insufficient_quota"):
        work(OpenAI(base_url=server), 1)


def test_every_try_counts_against_the_budget(serve):
    server = serve(lambda item, attempt: "fine" if attempt == 2 else "500")
    config = OpenAI(base_url=server.url)
    with config.open(MODEL) as engine:
        engine.complete_sync([{"role": "user", "content": "x"}], Sampling())
        assert engine.spending.requests == 3 == server.asked


@pytest.mark.parametrize("given", ["", "ftp://x/v1", "[http://a/v1,b]"])
def test_every_address_of_a_pool_is_checked(given):
    urls = given.strip("[]").split(",") if given.startswith("[") else given
    with pytest.raises(BadInput, match=r"engine\.base_url"):
        OpenAI(base_url=urls).check(MODEL)


def test_a_pool_that_has_a_name_may_change_its_members_without_its_work_becoming_new_work():
    one = OpenAI(base_url="http://a/v1").identity(MODEL)
    assert one != OpenAI(base_url="http://b/v1").identity(MODEL)
    assert one == {"base_url": "http://a/v1", "extra_body": None, "structured": "json_schema"}
    named = [
        OpenAI(base_url=u, name="cluster").identity(MODEL) for u in ("http://a/v1", ["http://b/v1", "http://c/v1"])
    ]
    assert named[0] == named[1] != one


def test_a_stage_under_faults_journals_every_problem_once(serve, stage, tmp_path):
    rng = random.Random(3)
    server = serve(lambda item, attempt: rng.choice(["500", "reset", "cut", "empty", "big", *["fine"] * 7]))
    other = serve()
    words = ["study=s", "model=served", "model.id=m", f"engine.base_url=[{server.url},{other.url}]", "samples=2"]
    done = stage("generate", *words, "engine.max_retries=12", "in_flight=8")
    assert done.returncode == 0, done.stderr
    assert "40 asked for, 0 there already, 40 to write" in done.stdout and "errors: none" in done.stdout


def test_five_hundred_requests_keep_pace_with_a_bare_httpx_loop():
    """The small form of scripts/bench/openai_engine.py, with room for a busy machine; BENCHMARKS.md has the real figures."""
    script = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "bench", "openai_engine.py")
    words = [sys.executable, script, "--requests", "500", "--runs", "1", "--least", "0.6", "--most-memory", "400"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr

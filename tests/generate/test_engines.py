"""Reasoning parted from replies, calls from many threads and loops, bounded work, and no secret in any file or log."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generate.engines import Reasoning, Refused, Sampling, split_reasoning
from generate.engines.openai import OpenAI
from generate.journal import BadInput
from generate.models import Model
from generate.stage import EngineGone
from generate.work import work_through
from tests.conftest import Misbehaving, reply

SECRET = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("raw", "opened", "text", "reasoning"),
    [
        ("plain", False, "plain", None),
        ("<think>a</think>b", False, "b", "a"),
        ("\n<think>\na\n</think>\n\nb", False, "b", "a"),
        ("a</think>b", True, "b", "a"),  # the template put <think> into the prompt
        ("a</think>b", False, "b", "a"),
        ("<think>cut off, the answer is 4", False, None, "cut off, the answer is 4"),
        ("cut off, the answer is 4", True, None, "cut off, the answer is 4"),
        ("<think>a</think><think>b</think>c", False, "c", "a\nb"),
        ("<think>a</think>b quotes </think> and more", False, "b quotes </think> and more", "a"),
        ("<think>a</think><think>cut off", False, None, "a\ncut off"),
        ("<think>a</think>", False, None, "a"),
        ("<think></think>b", False, "b", ""),
        ("an answer, then <think>more", False, "an answer, then", "more"),
    ],
)
def test_reasoning_is_parted_from_the_reply(raw, opened, text, reasoning):
    assert split_reasoning(raw, Reasoning(), opened) == (text, reasoning)


def test_a_reply_cut_off_with_no_marker_in_sight_is_reasoning():
    assert split_reasoning("let me think, maybe 4", Reasoning(), cut_off=True) == (None, "let me think, maybe 4")
    assert split_reasoning("<think>a</think>b is cut", Reasoning(), cut_off=True) == ("b is cut", "a")


def test_a_model_without_markers_has_no_reasoning():
    assert split_reasoning("<think>a</think>b", None) == ("<think>a</think>b", None)


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_of_the_reasoning_reaches_the_reply(thought, answer):
    text, _ = split_reasoning(f"<think>THOUGHT{thought}</think>{answer.replace('</think>', '')}", Reasoning())
    assert "THOUGHT" not in (text or "")


def test_one_engine_serves_threads_and_event_loops_at_once(scripted):
    engine = scripted(lambda chat, sampling: reply(chat[0]["content"]), seconds=0.01)

    def ask(i: int) -> str:
        return engine.complete_sync([{"role": "user", "content": str(i)}], Sampling()).text

    async def ask_many() -> list[str]:
        calls = [engine.complete([{"role": "user", "content": f"a{i}"}], Sampling()) for i in range(20)]
        return [r.text for r in await asyncio.gather(*calls)]

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, i) for i in range(20)]
        loops = [pool.submit(lambda: asyncio.run(ask_many())) for _ in range(2)]
        assert [f.result() for f in asked] == [str(i) for i in range(20)]
        assert all(f.result() == [f"a{i}" for i in range(20)] for f in loops)


def test_a_closed_engine_says_so(scripted):
    engine = scripted(lambda chat, sampling: reply("x"))
    engine.close()
    engine.close()
    with pytest.raises(EngineGone):
        engine.complete_sync([{"role": "user", "content": "x"}], Sampling())


def test_calls_in_flight_are_bounded_and_all_results_kept(scripted):
    engine = scripted(lambda chat, sampling: reply(chat[0]["content"]), seconds=0.005)

    async def do(i):
        return await engine.complete([{"role": "user", "content": str(i)}], Sampling())

    kept = []
    work_through(range(100), do, kept.append, in_flight=7)
    assert sorted(int(r.text) for r in kept) == list(range(100))
    assert engine.most_in_flight == 7


def test_what_was_done_before_the_engine_went_is_kept(scripted):
    engine = scripted(
        lambda chat, sampling: EngineGone("gone.") if chat[0]["content"] == "50" else reply(chat[0]["content"])
    )

    async def do(i):
        return await engine.complete([{"role": "user", "content": str(i)}], Sampling())

    kept = []
    with pytest.raises(EngineGone):
        work_through(range(100), do, kept.append, in_flight=4)
    assert 46 <= len(kept) <= 53
    assert len(engine.asked) < 60


# --- the OpenAI engine, against a server that misbehaves on demand ------------------------------------------------------


def ask(server, monkeypatch, plan, **changes):
    monkeypatch.setenv("TEST_KEY", SECRET)
    Misbehaving.plan = list(plan)
    config = OpenAI(base_url=server, api_key_env="TEST_KEY", max_retries=2, timeout_seconds=10, **changes)
    with config.open(Model(name="m", id="m")) as engine:
        return engine.complete_sync(
            [{"role": "user", "content": "hi"}], Sampling(json_schema={"type": "object"}, seed=5)
        )


def test_passing_failures_are_tried_again(server, monkeypatch):
    assert ask(server, monkeypatch, [(503, "busy"), (429, "slow down")]).text.startswith("fine")
    assert len(Misbehaving.asked) == 3


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 10 tokens", "prompt_too_long"),
        (400, "bad request", "refused"),
        (429, "slow down", "rate_limited"),
        (500, "oops", "server_error"),
    ],
)
def test_a_request_that_is_refused_for_good_is_an_error_of_its_own(server, monkeypatch, status, message, kind):
    with pytest.raises(Refused) as caught:
        ask(server, monkeypatch, [(status, message)] * 3)
    assert caught.value.kind == kind
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_every_request_would_meet_ends_the_stage(server, monkeypatch, status):
    with pytest.raises(EngineGone) as caught:
        ask(server, monkeypatch, [(status, "no")])
    assert SECRET not in str(caught.value)


def test_nobody_at_the_address_ends_the_stage():
    with pytest.raises(EngineGone, match="no server answers"):
        OpenAI(base_url="http://127.0.0.1:9/v1").open(Model(name="m", id="m"))


def test_content_null_and_text_in_the_reasoning_field_is_no_reply(server, monkeypatch):
    said = ask(server, monkeypatch, [(200, {"role": "assistant", "content": None, "reasoning_content": "hm, 42"})])
    assert said.text is None and said.reasoning == "hm, 42"


def test_schema_and_seed_are_sent_and_usage_comes_back(server, monkeypatch):
    said = ask(server, monkeypatch, [])
    assert Misbehaving.asked[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert Misbehaving.asked[0]["seed"] == 5 and (said.prompt_tokens, said.completion_tokens) == (3, 2)
    ask(server, monkeypatch, [], structured="none")
    assert "response_format" not in Misbehaving.asked[1]


def test_no_value_of_a_key_reaches_any_file_or_log(server, stage, tmp_path):
    """The server echoes the key in every reply and every error; the stages journal, log and fail with it around."""
    words = [
        "model=served",
        "model.id=m",
        f"engine.base_url={server}",
        "engine.api_key_env=TEST_KEY",
        "engine.max_retries=0",
        "limit=2",
    ]
    Misbehaving.plan = [(500, "oops"), (200, "I think")]
    written = stage("generate", *words, env={"TEST_KEY": SECRET})
    assert written.returncode == 0, written.stderr
    judged = stage("judge", *words, env={"TEST_KEY": SECRET})
    assert judged.returncode == 0, judged.stderr
    Misbehaving.plan = [(401, "bad key")]
    refused = stage("judge", *words, "retry_errors=true", env={"TEST_KEY": SECRET})
    assert refused.returncode == 1 and "401" in refused.stderr
    shown = "".join(p.stdout + p.stderr for p in (written, judged, refused))
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert any("solutions" in str(f) for f in files) and any("verdicts" in str(f) for f in files)
    assert SECRET not in shown
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("key", ["sk-abcdef123456\n", "sk-abc def", "schlüssel-geheim", "\tsk-abcdef"])
def test_a_key_that_no_server_could_take_is_refused_without_being_shown(stage, key):
    words = ["model=served", "model.id=m", "engine.base_url=http://127.0.0.1:9/v1", "engine.api_key_env=TEST_KEY"]
    done = stage("generate", *words, env={"TEST_KEY": key})
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "TEST_KEY holds white space" in done.stderr
    assert key.strip() not in done.stderr


def test_a_dummy_key_does_not_change_the_text_of_replies(server, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "1")
    Misbehaving.plan = [(200, {"role": "assistant", "content": "\\boxed{11}"})]
    config = OpenAI(base_url=server, api_key_env="TEST_KEY", max_retries=0)
    with config.open(Model(name="m", id="m")) as engine:
        assert engine.complete_sync([{"role": "user", "content": "hi"}], Sampling()).text == "\\boxed{11}"


def test_what_a_config_takes_from_the_environment_is_not_written_out(server, stage, tmp_path):
    words = [
        "model=served",
        "model.id=m",
        f"engine.base_url={server}",
        "limit=1",
        "engine.extra_body={user: '${oc.env:WHO}'}",
    ]
    done = stage("generate", *words, env={"WHO": SECRET})
    assert done.returncode == 0, done.stderr
    assert Misbehaving.asked[0]["user"] == SECRET
    for file in tmp_path.rglob("*.json*"):
        assert SECRET not in file.read_text()


@pytest.mark.parametrize(
    "choices",
    [[], [{}], [{"index": 0, "message": None, "finish_reason": "stop"}], "none", None],
)
def test_an_answer_without_a_reply_in_it_is_an_error_of_its_own(server, monkeypatch, choices):
    monkeypatch.setattr(Misbehaving, "choices", choices)
    with pytest.raises(Refused) as caught:
        ask(server, monkeypatch, [])
    assert caught.value.kind == "no_reply"


@pytest.mark.parametrize("reason", ["content_filter", "tool_calls", "error"])
def test_a_reply_that_the_server_ended_for_another_reason_is_no_solution(server, monkeypatch, reason):
    message = {"role": "assistant", "content": "Partial text then"}
    monkeypatch.setattr(Misbehaving, "choices", [{"index": 0, "message": message, "finish_reason": reason}])
    with pytest.raises(Refused) as caught:
        ask(server, monkeypatch, [])
    assert caught.value.kind == reason


def test_reasoning_that_a_server_leaves_in_the_text_is_parted_and_a_cut_off_thought_is_no_reply(server, monkeypatch):
    def said(content, reason):
        message = {"role": "assistant", "content": content}
        monkeypatch.setattr(Misbehaving, "choices", [{"index": 0, "message": message, "finish_reason": reason}])
        with OpenAI(base_url=server).open(Model(name="m", id="m", reasoning=Reasoning())) as engine:
            return engine.complete_sync([{"role": "user", "content": "hi"}], Sampling())

    assert said("<think>hm</think>4", "stop").text == "4"
    cut = said("Okay, let me think. Maybe the answer is 4", "length")
    assert cut.text is None and cut.reasoning == "Okay, let me think. Maybe the answer is 4"


def test_template_arguments_are_sent_and_a_template_of_ones_own_is_refused(server, tmp_path):
    with OpenAI(base_url=server).open(Model(name="m", id="m", template_arguments={"enable_thinking": False})) as engine:
        engine.complete_sync([{"role": "user", "content": "hi"}], Sampling())
    assert Misbehaving.asked[0]["chat_template_kwargs"] == {"enable_thinking": False}
    (tmp_path / "t.jinja").write_text("x")
    with pytest.raises(BadInput, match="its own template"):
        OpenAI(base_url=server).check(Model(name="m", id="m", chat_template=str(tmp_path / "t.jinja")))


def test_json_object_is_asked_for_where_a_schema_is_not_understood(server, monkeypatch):
    ask(server, monkeypatch, [], structured="json_object")
    assert Misbehaving.asked[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("name", ["qwen", "deepseek", "smollm2"])
def test_the_models_that_ship_make_arguments_that_vllm_takes(name):
    """The real AsyncEngineArgs from the real configs; a GPU would be needed to go further."""
    pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")
    import yaml

    from generate.engines.vllm import Vllm, engine_arguments
    from generate.stage import CONF

    fields = yaml.safe_load((CONF / "model" / f"{name}.yaml").read_text())
    model = Model(**{k: v for k, v in fields.items() if k != "_target_"})
    arguments = engine_arguments(model, str(model.id), Vllm().merged(model), 0)
    structured = arguments.create_structured_outputs_config()
    assert structured.reasoning_parser == (model.reasoning.parser if model.reasoning else "")
    assert structured.disable_any_whitespace and arguments.max_model_len == model.context_length
    if model.reasoning:
        from vllm.reasoning import ReasoningParserManager

        ReasoningParserManager.get_reasoning_parser(model.reasoning.parser)


def test_what_a_reply_depends_on_is_part_of_the_models_identity():
    base = Model(name="m", id="a/b").identity()
    assert base == Model(name="other", id="a/b").identity()
    for changes in (
        {"revision": "r"},
        {"context_length": 9},
        {"reasoning": Reasoning()},
        {"template_arguments": {"a": 1}},
    ):
        assert Model(name="m", id="a/b", **changes).identity() != base


def test_a_key_that_is_not_set_is_named_before_anything_is_asked(stage):
    done = stage(
        "generate",
        "model=served",
        "model.id=m",
        "engine.base_url=http://127.0.0.1:9/v1",
        "engine.api_key_env=NOT_SET_HERE",
    )
    assert done.returncode == 2 and "NOT_SET_HERE is not set" in done.stderr and done.stderr.count("\n") == 1

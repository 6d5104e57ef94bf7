"""A run's budget: what it counts, where it stops, and that nothing under way is lost."""

import pytest

from generate.budget import FIRST_CALLS, Budget, BudgetSpent, Spending
from generate.engines import Refused, Sampling
from generate.journal import Journal, Record, read
from generate.work import work_into, work_through
from tests.conftest import Misbehaving, reply

CHAT = [{"role": "user", "content": "x"}]


class Note(Record):
    key: str


def worked(engine, budget: Budget, items: int, in_flight: int = 4) -> tuple[list[int], BudgetSpent | None]:
    engine.spending = Spending(budget)
    kept: list[int] = []

    async def do(i: int) -> int:
        await engine.complete(CHAT, Sampling())
        return i

    return kept, work_through(range(items), do, kept.append, in_flight)


@pytest.mark.parametrize(
    ("budget", "least", "most", "said"),
    [
        (Budget(requests=10), 10, 10, "requests: 10"),
        # each reply takes 10 + 5 tokens; four calls are under way when the first is counted
        (Budget(tokens=150), 10, 13, "tokens: 150"),
        (Budget(cost=0.3, prompt_price=1000, completion_price=4000), 10, 13, "cost: 0.3"),  # 0.03 a call
        (Budget(minutes=1e-9), 0, 0, "minutes: 1e-09"),
    ],
)
def test_a_run_stops_at_its_budget_and_keeps_all_that_was_begun(scripted, budget, least, most, said):
    engine = scripted(lambda chat, sampling: reply("x"), seconds=0.01)
    kept, spent = worked(engine, budget, 100)
    assert least <= len(kept) <= most and len(kept) == len(engine.asked) and said in str(spent)
    assert engine.spending.requests == len(kept) and engine.spending.tokens == 15 * len(kept)


def test_a_budget_is_not_passed_by_all_the_calls_that_begin_before_one_has_been_answered(scripted):
    engine = scripted(lambda chat, sampling: reply("x"), seconds=0.1)
    kept, spent = worked(engine, Budget(tokens=15), 1000, in_flight=256)
    assert len(kept) == FIRST_CALLS and engine.spending.tokens == 15 * FIRST_CALLS and "tokens: 15" in str(spent)
    engine = scripted(lambda chat, sampling: reply("x"), seconds=0.1)
    kept, spent = worked(engine, Budget(tokens=10**9), 1000, in_flight=256)
    assert len(kept) == 1000 and spent is None


def test_a_server_that_counts_below_nothing_gives_no_tokens_back():
    spending = Spending(Budget(tokens=10))
    spending.begin()
    spending.end(-9, -9)
    assert spending.tokens == 0


def test_a_run_within_its_budget_is_not_stopped(scripted):
    engine = scripted(lambda chat, sampling: reply("x"))
    kept, spent = worked(engine, Budget(requests=20, tokens=1000, minutes=10), 20)
    assert sorted(kept) == list(range(20)) and spent is None


def test_calls_that_fail_are_counted_and_end(scripted):
    engine = scripted(lambda chat, sampling: Refused("refused", "no"))
    for _ in range(3):
        with pytest.raises(Refused):
            engine.complete_sync(CHAT, Sampling())
    assert (engine.spending.requests, engine.spending.under_way, engine.spending.answered) == (3, 0, 3)


def test_what_is_left_is_said_and_done_by_the_next_run(scripted, tmp_path, capsys):
    engine = scripted(lambda chat, sampling: reply("x"))
    path = tmp_path / "notes.jsonl"

    async def do(key: str) -> Note:
        await engine.complete(CHAT, Sampling())
        return Note(key=key)

    wanted = [str(i) for i in range(10)]
    for left in (6, 2, 0):
        engine.spending = Spending(Budget(requests=4))
        with Journal(path, Note) as journal:
            new, _ = work_into(journal, [w for w in wanted if w not in journal], do, 2, len(journal), "note")
        assert new == (4 if left else 2)
        said = capsys.readouterr().out
        assert (f"the budget of this run is spent (requests: 4). {left} of" in said) == bool(left)
    assert sorted(r.key for r in read(path, Note)) == wanted


def test_a_cost_without_prices_is_bad_config(stage):
    done = stage("generate", "budget.cost=5")
    assert done.returncode == 2 and "budget: cost wants prompt_price" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("name", "least"), [("generate", 3), ("judge", 3)])
def test_a_stage_ends_well_where_its_budget_is_spent_and_goes_on_from_there(server, stage, name, least):
    words = ["study=s", "model=served", "model.id=m", f"engine.base_url={server}"]
    if name == "judge":
        assert stage("generate", "study=s", "model=recorded").returncode == 0
    first = stage(name, *words, "limit=5", "budget.requests=3")
    assert first.returncode == 3, first.stderr
    assert "the budget of this run is spent (requests: 3). 2 of 5 are left: run the same command again" in first.stdout
    assert len(Misbehaving.asked) == 3
    second = stage(name, *words, "limit=5")
    assert second.returncode == 0 and "3 there already, 2 to" in second.stdout and len(Misbehaving.asked) == 5

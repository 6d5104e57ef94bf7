"""Which member of a pool takes the next call: least loaded first, the sick left out, nothing waited for in vain."""

import asyncio

import pytest

from generate.engines.dispatch import SICK_AFTER, Member, Pool
from generate.stage import EngineGone


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("generate.engines.dispatch.SHORTEST_REST", 0.4)


async def called(pool: Pool[Member], seconds: float = 0.0, says: str = "succeeded") -> str:
    async with pool.turn() as member:
        await asyncio.sleep(seconds)
        getattr(pool, says)(
            member, *{"failed": ["ill"], "out_of_reach": ["gone"], "asked_too_much": [None]}.get(says, [])
        )
        return member.name


def test_the_least_loaded_takes_the_next_call():
    async def main() -> list[int]:
        pool = Pool([Member("a"), Member("b"), Member("c", limit=2)], 60)
        calls = [asyncio.ensure_future(called(pool, 0.02)) for _ in range(12)]
        await asyncio.sleep(0)
        loads = [m.in_flight for m in pool.members]
        await asyncio.gather(*calls)
        return loads

    assert asyncio.run(main()) == [5, 5, 2]


def test_one_that_fails_again_and_again_is_left_out_then_tried_by_one_call_at_a_time():
    async def main() -> None:
        sick = Member("a")
        pool = Pool([sick], 60)
        await asyncio.gather(*(called(pool, says="failed") for _ in range(SICK_AFTER)))
        assert sick.out_until > 0 and sick.room == 1
        calls = [asyncio.ensure_future(called(pool, 0.01)) for _ in range(4)]
        await asyncio.sleep(0)
        assert sick.in_flight == 0  # it is out
        most = 0
        while sick.answered == 0:
            most = max(most, sick.in_flight)
            await asyncio.sleep(0.001)
        assert most == 1
        await asyncio.gather(*calls)
        assert sick.failures == sick.rests == 0 and sick.room > 1

    asyncio.run(main())


def test_one_that_is_asked_too_much_gets_half_as_much_and_then_more_again():
    async def main() -> None:
        member = Member("a", limit=16)
        pool = Pool([member], 60)
        await asyncio.gather(*(called(pool, 0.005, "asked_too_much") for _ in range(16)))
        assert member.room == 8  # once for the whole burst
        await asyncio.gather(*(called(pool) for _ in range(20)))
        assert member.room == 16

    asyncio.run(main())


def test_a_call_that_is_cancelled_while_it_waits_passes_its_turn_on():
    async def main() -> None:
        pool = Pool([Member("a", limit=1)], 60)
        first, second, third = (asyncio.ensure_future(called(pool, 0.02)) for _ in range(3))
        await asyncio.sleep(0.005)
        second.cancel()
        assert await asyncio.wait_for(third, 1) == await first == "a"

        busy = asyncio.ensure_future(called(pool, 0.01))
        waiting, next_one = asyncio.ensure_future(called(pool)), asyncio.ensure_future(called(pool))
        await asyncio.sleep(0)
        pool._waiting[0].set_result(None)  # its turn has come, and it is cancelled before it runs
        pool._waiting.popleft()
        waiting.cancel()
        assert await asyncio.wait_for(next_one, 1) == await busy == "a"

    asyncio.run(main())


def test_members_that_stay_out_of_reach_are_given_up_and_all_that_wait_are_told():
    async def main() -> list[object]:
        pool = Pool([Member("a"), Member("b")], 0.1)

        async def patient() -> str:
            while True:
                await called(pool, says="out_of_reach")

        return await asyncio.wait_for(asyncio.gather(*(patient() for _ in range(6)), return_exceptions=True), 5)

    said = asyncio.run(main())
    assert all(isinstance(s, EngineGone) and "out of reach for 0.1 s: gone" in str(s) for s in said)


def test_one_that_is_lost_for_good_is_named_and_the_others_go_on(capsys):
    async def main() -> str:
        bad, good = Member("bad"), Member("good")
        pool = Pool([bad, good], 60)
        pool.lost(bad, "refuses the key")
        said = await called(pool)
        pool.lost(good, "refuses the key as well")
        with pytest.raises(EngineGone, match="refuses the key; refuses the key as well"):
            await called(pool)
        return said

    assert asyncio.run(main()) == "good"
    assert capsys.readouterr().err == "warning: goes on without bad: refuses the key\n"


def test_the_progress_of_a_pool_is_said_by_replica():
    from types import SimpleNamespace

    from generate.engines.ray import RayEngine

    members = [Member("replica 0", answered=7, in_flight=2), Member("replica 1", answered=3, out_until=float("inf"))]
    said = RayEngine.progress(SimpleNamespace(pool=Pool(members, 60)))  # type: ignore[arg-type]
    assert said == "replica 0: 7 done, 2 under way; replica 1: 3 done, out"

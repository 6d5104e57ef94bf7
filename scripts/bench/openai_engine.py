"""The openai engine beside a bare httpx loop: requests a second, CPU and memory, against the same local server.

    python scripts/bench/openai_engine.py [--requests 10000] [--in-flight 64] [--runs 5]

The server is a process of its own that answers at once with a reply of 1,000 characters. Each arm is a fresh process and
takes its turn in every run; what is timed is from the first request to the last reply. `bare httpx` is one AsyncClient,
as many tasks as there are requests in flight, the request built and the reply parsed by json, and nothing kept.
`engine` is what a stage does: engine.complete for each, a Solution made of it and journalled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench.show import in_turn, machine, median, table

PROMPT = "Let ABC be a triangle. " * 20
CHAT = [{"role": "user", "content": PROMPT}]


class Server(asyncio.Protocol):
    """HTTP just as far as these two clients need it, so that the server is no bottleneck."""

    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * 1000}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 250}}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = self.data[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.data) < end + 4 + size:
                return
            self.data = self.data[end + 4 + size :]
            self.transport.write(self.answer)  # type: ignore[attr-defined]


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def bare(url: str, requests: int, in_flight: int) -> None:
    import httpx

    async def main() -> None:
        waiting = iter(range(requests))
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=600) as client:

            async def work() -> None:
                for number in waiting:
                    body = {"model": "m", "messages": CHAT, "temperature": 0.0, "top_p": 1.0, "seed": number}
                    answer = await client.post(f"{url}/chat/completions", json=body)
                    assert answer.json()["choices"][0]["message"]["content"]

            await asyncio.gather(*(work() for _ in range(in_flight)))

    asyncio.run(main())


def engine(url: str, requests: int, in_flight: int) -> None:
    from generate.engines import Sampling, with_call
    from generate.engines.openai import OpenAI
    from generate.journal import Journal
    from generate.models import Model
    from generate.solutions import Solution, Usage
    from generate.work import work_into

    model = Model(name="m", id="m")
    with tempfile.TemporaryDirectory() as folder, OpenAI(base_url=url).open(model) as opened:

        async def do(number: int) -> Solution:
            reply = await opened.complete(CHAT, with_call(Sampling(), seed=number))
            usage = Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens)
            named = {"key": f"{number:024x}", "id": f"p{number}/m/0", "problem_id": f"p{number}", "model": "m"}
            return Solution(**named, text=reply.text, usage=usage)  # type: ignore[arg-type]

        with Journal(Path(folder) / "solutions.jsonl", Solution) as journal:
            work_into(journal, list(range(requests)), do, in_flight, 0, "solution")
            assert len(journal) == requests


def arm(name: str, url: str, requests: int, in_flight: int) -> None:
    """One arm in this process, warmed up; prints seconds, CPU seconds, and the growth of memory in MB."""
    run = {"bare": bare, "engine": engine}[name]
    run(url, 200, in_flight)
    before, began, cpu = peak_megabytes(), time.perf_counter(), time.process_time()
    run(url, requests, in_flight)
    print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, peak_megabytes() - before]))


def peak_megabytes() -> float:
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.8, help="exit 1 where both ratios are lower")
    parser.add_argument("--most-memory", type=float, default=100, help="MB; exit 1 where memory grows by more")
    parser.add_argument("--arm", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return 0
    if options.arm:
        arm(*options.arm, options.requests, options.in_flight)
        return 0
    words = [sys.executable, os.path.abspath(__file__)]
    server = subprocess.Popen([*words, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        cpu: dict[str, list[float]] = {"bare": [], "engine": []}
        grown: dict[str, list[float]] = {"bare": [], "engine": []}

        def timed(name: str) -> float:
            sizes = ["--requests", str(options.requests), "--in-flight", str(options.in_flight)]
            done = subprocess.run([*words, "--arm", name, url, *sizes], stdout=subprocess.PIPE, text=True, check=True)
            seconds, used, memory = json.loads(done.stdout)
            cpu[name].append(used)
            grown[name].append(memory)
            return float(options.requests / seconds)

        rates = {
            k: median(v)
            for k, v in in_turn({n: (lambda n=n: timed(n)) for n in ("bare", "engine")}, options.runs).items()
        }
    finally:
        server.kill()
        server.wait()
    ratio, of_cpu = rates["engine"] / rates["bare"], median(cpu["bare"]) / median(cpu["engine"])
    arms = (
        ("bare", "bare httpx", ("1", "1")),
        ("engine", "engine=openai, journalled", (f"{ratio:.2f}", f"{of_cpu:.2f}")),
    )
    rows = [
        [label, f"{rates[n]:,.0f}", shares[0], f"{1000 * median(cpu[n]) / options.requests:.2f}", shares[1], f"{max(grown[n]):.0f}"]
        for n, label, shares in arms
    ]  # fmt: skip
    what = f"{options.requests:,} requests, {options.in_flight} in flight"
    print(
        table(
            [
                what,
                "requests/s:",
                "ratio:",
                "CPU, ms a request:",
                "requests for each CPU second, ratio:",
                "memory grown by, MB:",
            ],
            rows,
        )
    )
    print()
    print(machine("httpx", "orjson"))
    # on a machine with other work to do, what the clock says is chance: then it is the CPU that counts
    return int(max(ratio, of_cpu) < options.least or max(grown["engine"]) > options.most_memory)


if __name__ == "__main__":
    sys.exit(main())

"""How long each stage takes to answer `--help`, to refuse a bad config, and to send its first request.

    python scripts/bench/startup.py [--runs 5]

The first request is what a server on loopback receives from `python -m generate` and `python -m judge` over the starter
set; for `calibrate`, which asks nobody, the report of that study. The reference, in the same run, is Python with Hydra
imported and nothing done.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench.show import in_turn, machine, median, table

ROOT = Path(__file__).resolve().parents[2]
STAGES = ["generate", "judge", "calibrate"]


class Server(BaseHTTPRequestHandler):
    """Notes when it is first asked for a completion, and answers all with one."""

    first: float | None = None
    verdict = json.dumps({"reasoning": "r", "fallacies": [], "first_wrong_step": None, "verdict": "correct"})

    def do_GET(self) -> None:
        self._send({"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        Server.first = Server.first or time.perf_counter()
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "message": {"role": "assistant", "content": self.verdict}, "finish_reason": "stop"}
        self._send({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    def _send(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    served = ["model=served", "model.id=m", f"engine.base_url=http://127.0.0.1:{http.server_port}/v1", "limit=1"]
    with tempfile.TemporaryDirectory() as folder:
        study = 0

        def run(*words: str, code: int | None = 0) -> float:
            began = time.perf_counter()
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True)
            assert code is None or done.returncode == code, done.stderr
            return time.perf_counter() - began

        def first(stage: str) -> float:
            nonlocal study
            if stage == "calibrate":
                return run("-m", stage, f"study=s{study}", "overwrite=true", "resamples=200")
            if stage == "generate":
                study += 1
            Server.first = None
            began = time.perf_counter()
            run("-m", stage, f"study=s{study}", *served)
            assert Server.first is not None
            return Server.first - began

        arms = {"import hydra": lambda: run("-c", "import hydra")}
        for stage in STAGES:
            arms[f"{stage} --help"] = lambda stage=stage: run("-m", stage, "--help")
            arms[f"{stage} config error"] = lambda stage=stage: run("-m", stage, "studdy=x", code=2)
        arms |= {f"{stage} first": lambda stage=stage: first(stage) for stage in STAGES}
        took = {name: median(values) for name, values in in_turn(arms, options.runs).items()}
    http.shutdown()
    base = took["import hydra"]
    rows = [
        [f"`{stage}`", *(f"{took[f'{stage} {what}']:.2f} ({took[f'{stage} {what}'] / base:.1f})" for what in ("--help", "config error", "first"))]
        for stage in STAGES
    ]  # fmt: skip
    columns = [
        f"seconds (times `import hydra`, {base:.2f} s)",
        "--help:",
        "config error:",
        "first request (calibrate: report):",
    ]
    print(table(columns, rows))
    print()
    print(machine("hydra-core", "dspy"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The house's rules that a machine can check: who may import whom, and what a config check must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {"generate": {"generate"}, "judge": {"judge", "generate"}, "calibrate": {"calibrate", "judge", "generate"}}
HEAVY = {
    "vllm",
    "torch",
    "dspy",
    "sklearn",
    "transformers",
    "datasets",
    "pyarrow",
    "sympy",
    "math_verify",
    "litellm",
    "openai",
    "httpx",
    "ray",
}


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_downwards_only(room):
    for file in (ROOT / room).rglob("*.py"):
        assert imported(file) & set(MAY_IMPORT) <= MAY_IMPORT[room], file


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_starting_a_stage_loads_nothing_heavy(room):
    code = f"import sys, {room}.__main__; print(*sorted(set(m.split('.')[0] for m in sys.modules)))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & HEAVY

"""Input that means harm: an outcome within the limit, memory bounded, the process alive, nothing evaluated."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.answers import Policy, compare

BOMBS = {
    "100,000 digits": ("42", r"\boxed{" + "9" * 100_000 + "}"),
    "100,000 digits against as many": ("9" * 99_999 + "8", r"\boxed{" + "9" * 100_000 + "}"),
    "a fraction of long numbers": ("1", r"\boxed{\frac{" + "9" * 4000 + "}{" + "7" * 4000 + "}}"),
    "braces 10,000 deep": ("42", r"\boxed{" + "{" * 10_000 + "42" + "}" * 10_000 + "}"),
    "brackets 3,000 deep": ("42", r"\boxed{" + "(" * 3_000 + "42" + ")" * 3_000 + "}"),
    "fractions 10,000 deep": ("42", r"\boxed{" + r"\frac{1}{" * 10_000 + "42" + "}" * 10_000 + "}"),
    "roots 3,000 deep": ("42", r"\boxed{" + r"\sqrt{" * 3_000 + "42" + "}" * 3_000 + "}"),
    "text 2,000 deep": ("42", r"\boxed{" + r"\text{" * 2_000 + "42" + "}" * 2_000 + "}"),
    "boxes 100,000 deep": ("42", r"\boxed{" * 100_000),
    "100,000 boxes": ("42", r"\boxed{1}" * 100_000),
    "a tower of powers": ("42", r"\boxed{9^{9^{9^{9^{9^{9}}}}}}"),
    "a tower of 35 powers": ("42", r"\boxed{" + "9^{" * 35 + "9" + "}" * 35 + "}"),
    "a tower with a letter": (r"$x^{10^{9}}$", r"\boxed{x^{10^{9}+1}}"),
    "factorials of factorials": ("42", r"\boxed{((99!)!)!}"),
    "a factorial chain": ("42", r"\boxed{9!!!!!!!!!!!!!!!!}"),
    "a huge factorial": ("42", r"\boxed{1000000000!}"),
    "a huge binomial coefficient": ("42", r"\boxed{\binom{10^{9}}{5\cdot10^{8}}}"),
    "a power to multiply out": (r"$(a+b+c+d)^{60}$", r"\boxed{(a+b)^{60}(c+d)^{60}}"),
    "a megabyte of braces": ("42", r"\boxed{" + "{}" * 500_000 + "}"),
    "a megabyte of opening braces": ("42", "{" * 1_000_000),
    "a megabyte of blanks": ("42", "a" + " " * 1_000_000 + "b"),
    "a megabyte of dollars": ("42", "$" * 1_000_000),
    "a megabyte of lines": ("42", "\n" * 1_000_000 + "43"),
    "a megabyte of reasoning marks": ("42", "<think>" * 150_000),
    "50,000 answers without one": ("42", "the answer is " * 50_000),
    "null bytes": ("42", "\\boxed{4\x002}"),
    "a megabyte of null bytes": ("42", "\x00" * 1_000_000),
    "text that runs backwards": ("42", "\\boxed{\u202e24\u202c}"),
    "half of a surrogate pair": ("42", "\\boxed{\ud800}"),
    "9,000 members": ("42", r"\boxed{" + ",".join(["1"] * 9_000) + "}"),
    "150 letters in a set": (
        r"\{" + ",".join(f"x_{{{i}}}" for i in range(150)) + r"\}",
        r"\boxed{\{" + ",".join(f"x_{{{i}}}" for i in range(149, -1, -1)) + r"\}}",
    ),
    "48 hard members": (
        r"\{" + ",".join(rf"\sqrt{{x+{i}}}+\sin({i}y)^{{30}}" for i in range(48)) + r"\}",
        r"\boxed{\{" + ",".join(rf"\sin({i}y)^{{30}}+\sqrt{{x+{i + 1}}}" for i in range(48)) + r"\}}",
    ),
    "60 intervals": (
        r"\cup".join(f"({i},{i + 1})" for i in range(60)),
        r"\boxed{" + r"\cup".join(f"({i},{i + 1})" for i in range(59, -1, -1)) + "}",
    ),
    "3,000 signs": ("42", r"\boxed{" + "-" * 3_000 + "1}"),
    "700 slashes": ("42", r"\boxed{" + "1/" * 700 + "1}"),
    "a sum that never ends": (r"$\sum_{k=1}^{n} k^{k}$", r"\boxed{\sum_{k=1}^{100000} k^{k}}"),
    "a hard identity": (
        "$2^{20}" + "".join(rf"\cos({2**i} x)" for i in range(20)) + r"\sin x$",
        r"\boxed{\sin(1048576x)}",
    ),
}
CODE = [
    '__import__("os").system("touch owned")',
    "().__class__.__base__.__subclasses__()",
    'open("owned", "w").write("1")',
    'eval("42")',
    "exec(\"import os; os.mkdir('owned')\")",
    "lambda: 42",
    "[x for x in (42,)]",
    "Integer(42)",
    "42 if True else 43",
    r"\input{/etc/passwd}",
    r"\write18{touch owned}",
    "{{7*7}}",
]


def test_the_first_symbolic_comparison_may_start_a_process() -> None:
    assert compare(r"$\sqrt{3+2\sqrt{2}}$", r"\boxed{1+\sqrt{2}}").outcome == "equal"


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_has_an_outcome_within_the_limit(name: str) -> None:
    gold, reply = BOMBS[name]
    policy = Policy(seconds=3)
    start = time.monotonic()
    found = compare(gold, reply, policy)
    # the limit, and the start of a process where the bomb before this one had killed it
    assert time.monotonic() - start < policy.seconds + 12
    assert found.outcome in ("different", "undecided") or found.reason.startswith("both are the same set")
    assert found.method != "error", found.reason


def test_bombs_leave_the_process_small() -> None:
    """In a process of its own: what other tests have taken before is no affair of the checker."""
    code = (
        "from judge.answers import compare\n"
        "from tests.judge.answers.test_hostile import BOMBS\n"
        "for gold, reply in BOMBS.values():\n"
        "    if 'sum' not in gold and 'cos' not in gold:\n"
        "        compare(gold, reply)\n"
        "lines = open('/proc/self/status').read().splitlines()\n"  # ru_maxrss would have the parent's, from before exec
        "print(next(x.split()[1] for x in lines if x.startswith('VmHWM')))\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1024 * 1024  # KiB


@pytest.mark.parametrize("code", CODE)
def test_code_in_a_box_is_text(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for gold in ("42", "$x$", "Yes", r"$\sum_{k=1}^n k$"):
        assert compare(gold, f"\\boxed{{{code}}}").outcome in ("different", "undecided")
        assert compare(code, f"\\boxed{{{gold}}}").outcome in ("different", "undecided")
    assert os.listdir(tmp_path) == []

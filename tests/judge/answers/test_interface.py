"""The package's face: policies, extraction, the command line, what an import costs."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hydra.utils import instantiate
from pydantic import ValidationError

from judge.answers import Comparison, Extraction, Policy, compare, extract, self_check

CONF = Path(__file__).resolve().parents[3] / "conf" / "answers"
STRICT, LENIENT = (Policy(**{k: v for k, v in yaml.safe_load((CONF / f"{name}.yaml").read_text()).items() if k != "_target_"}) for name in ("default", "lenient"))  # fmt: skip


def test_the_configs_are_what_they_say() -> None:
    assert instantiate(yaml.safe_load((CONF / "default.yaml").read_text())) == STRICT == Policy()
    assert instantiate(yaml.safe_load((CONF / "lenient.yaml").read_text())) == LENIENT != Policy()
    for name in ("default", "lenient"):
        lines = (CONF / f"{name}.yaml").read_text().splitlines()
        assert all("#" in line for line in lines if not line.startswith("_target_"))


def test_a_policy_refuses_what_it_does_not_know() -> None:
    for wrong in ({"tuples": True}, {"units": "maybe"}, {"seconds": 0}, {"memory_mb": 1}):
        with pytest.raises(ValidationError):
            Policy(**wrong)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        Policy().seconds = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("gold", "reply", "strict", "lenient"),
    [
        ("$(1,2)$", r"\boxed{(2,1)}", "different", "equal"),
        ("$(1,2)$", r"\boxed{1,2}", "undecided", "equal"),
        ("$(1,2)$", r"\boxed{(1,3)}", "different", "different"),
        ("$(1,1,2)$", r"\boxed{(1,2,2)}", "different", "different"),
        (r"$\frac13$", r"\boxed{0.333}", "different", "equal"),
        (r"$\frac13$", r"\boxed{0.334}", "different", "different"),
        (r"$\frac13$", r"\boxed{0.33}", "different", "different"),
        (r"$\pi$", r"\boxed{3.14159}", "different", "equal"),
        (r"$\pi$", r"\boxed{3.14160}", "different", "different"),
        (r"$\frac{2}{3}$", r"\boxed{0.667}", "different", "equal"),
        ("35 cm", r"\boxed{35\text{ m}}", "different", "equal"),
        ("35 cm", r"\boxed{35}", "equal", "equal"),
        ("35 cm", r"\boxed{36\text{ cm}}", "different", "different"),
        (r"$50\%$", r"\boxed{50}", "undecided", "equal"),
        (r"$50\%$", r"\boxed{0.5}", "equal", "equal"),
        (r"$50\%$", r"\boxed{51}", "different", "different"),
        ("$2^{n-1}$", r"\boxed{2^{m-1}}", "undecided", "equal"),
        ("$n=4k+3$", r"\boxed{n=4m+3}", "equal", "equal"),
        ("$f(x)=cx$", r"\boxed{f(x)=kx}", "equal", "equal"),
        ("$f(x)=x+1$", r"\boxed{g(x)=x+1}", "undecided", "equal"),
    ],
)
def test_strict_and_lenient_readings(gold: str, reply: str, strict: str, lenient: str) -> None:
    assert compare(gold, reply, STRICT).outcome == strict
    assert compare(gold, reply, LENIENT).outcome == lenient


def test_the_strictest_reading() -> None:
    policy = Policy(units="strict", renamed_parameters="none")
    assert compare("35 cm", r"\boxed{35}", policy).outcome == "undecided"
    assert compare("75", r"\boxed{75^\circ}", policy).outcome == "undecided"
    assert compare("$f(x)=cx$", r"\boxed{f(x)=kx}", policy).outcome == "undecided"
    assert compare("$f(x)=x+1$", r"\boxed{f(t)=t+1}", policy).outcome == "equal"


@pytest.mark.parametrize(
    ("text", "answer", "how"),
    [
        (r"So \boxed{10}, hence \boxed{42}.", "42", "boxed"),
        (r"\boxed{10} and \boxed{42}", r"\boxed{10} and \boxed{42}", "boxes"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}", "boxed"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "boxed"),
        (r"\boxed{42$ is it", "42", "unclosed box"),
        (r"it is \boxed{42", "42", "box cut off"),
        (r"\boxed 7", "7", "boxed"),
        ("\\boxed{41}. The answer is 42.", "42", "answer sentence"),
        ("\\boxed{42}. We check that the answer is 7 for small n.", "42", "boxed"),
        ("\\boxed{42}\n\nAnswer: see above", "42", "boxed"),
        ("Final Answer: **73**", "73", "final-answer line"),
        ("## Final Answer\n\n$x = 3$\n", "$x = 3$", "final-answer line"),
        ("The answer is $3.5$ because it fits.", "$3.5$", "answer sentence"),
        ("Some work.\n\nHence **17**.", "17", "bold"),
        ("So the maximum is 12, attained at n = 7.", "12", "sentence"),
        ("Answer. 42", "42", "final-answer line"),
        (r"\textbf{Answer: } 42", "42", "final-answer line"),
        ("Some work.\n#### 42", "42", "final-answer line"),
        ("The minimum value is $\\frac{1}{2}$.", r"$\frac{1}{2}$", "sentence"),
        ("42", "42", "bare answer"),
        ("All powers of 2", "All powers of 2", "bare answer"),
        ("<think>\\boxed{1}</think>So \\boxed{2}", "2", "boxed"),
        ("\\boxed{1}</think>So \\boxed{2}", "2", "boxed"),
    ],
)
def test_extraction(text: str, answer: str, how: str) -> None:
    found = extract(text)
    assert (found.text, found.how) == (answer, how)
    assert text[found.start : found.end] == answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "empty"),
        ("  \n", "empty"),
        ("<think> it is \\boxed{42}", "inside its reasoning"),
        ("\\boxed{42} <think> wait", "inside its reasoning"),
        ("<think>\\boxed{42}</think>", "no final answer"),
        ("We need to find the value of $5$ but I cannot.", "no final answer"),
        ("If the answer is 41, then we have a contradiction.", "no final answer"),
    ],
)
def test_no_answer(text: str | None, why: str) -> None:
    found = extract(text)
    assert found.text is None and found.start is None and why in (found.why or "")
    compared = compare("42", text)
    assert (compared.outcome, compared.method, compared.missing, compared.recorded) == (
        "undecided",
        "extraction",
        True,
        "missing",
    )


def test_other_reasoning_marks() -> None:
    text = "[THINK]\\boxed{1}[/THINK]\\boxed{2}"
    assert extract(text, reasoning_start="[THINK]", reasoning_end="[/THINK]").text == "2"
    assert compare("2", text, reasoning_start="[THINK]", reasoning_end="[/THINK]").outcome == "equal"


def test_records_are_frozen() -> None:
    found = compare("1", "1")
    assert isinstance(found, Comparison) and isinstance(found.extraction, Extraction)
    with pytest.raises(AttributeError):
        found.outcome = "different"  # type: ignore[misc]


def test_golds_that_do_not_equal_themselves_are_listed() -> None:
    bad = self_check(["3", "", "$\\frac{1}{2}$", "We could not find an answer"])
    assert [gold for gold, _ in bad] == ["", "We could not find an answer"]
    assert all(found.outcome == "undecided" and found.reason for _, found in bad)


def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "judge.answers", *words], input=stdin, capture_output=True, text=True)


def test_the_command_line() -> None:
    ran = run(r"$\frac12$", r"Thus \boxed{0.5}.")
    assert ran.returncode == 0 and ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "outcome:   equal",
        "method:    exact",
        "reason:    both are 1/2",
        "extracted: 0.5 (boxed, characters 12 to 15)",
    ]
    assert "undecided" in run("3", "-", stdin="I could not solve it.").stdout
    assert run("--help").returncode == 0 and "GOLD" in run("--help").stdout
    assert run().returncode == 2 and run("1", "2", "3").returncode == 2 and run("--what", "1", "2").returncode == 2


def test_an_import_loads_nothing_slow() -> None:
    script = (
        "import sys, pydantic.dataclasses, time; start = time.perf_counter(); import judge.answers; "
        "took = time.perf_counter() - start; "
        "print(took, [m for m in ('sympy', 'mpmath', 'math_verify', 'dspy', 'torch', 'numpy', 'yaml') if m in sys.modules])"
    )
    times = []
    for _ in range(3):
        took, loaded = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.split(" ", 1)
        assert loaded.strip() == "[]"
        times.append(float(took))
    assert min(times) < 0.3  # 0.1 s on an idle machine


def test_cheap_comparisons_start_no_process_and_load_no_sympy() -> None:
    script = (
        "import sys; from judge.answers import compare, pool; "
        "assert compare('2, 5', 'x=5 or x=2').outcome == 'equal'; "
        "assert compare('$(x+1)^2$', '$x^2+2x+1$').outcome == 'equal'; "
        "assert compare('$\\\\sqrt{2}$', '$1.4142$').outcome == 'different'; "
        "assert 'sympy' not in sys.modules and pool._pool is None"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

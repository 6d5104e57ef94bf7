"""Records as columns: what is read, what is refused, and how fast figures come out of it."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrate.columns import Names, read_solutions
from generate.journal import BadInput, Failure, text_hash
from tests.calibrate.conftest import Maker

Metrics = Callable[..., dict[str, Any]]


def test_solutions_come_in_the_order_of_their_ids_and_the_newest_of_each_counts(make: Maker) -> None:
    make.problem("p", answer="1", topic="Algebra", source="ISL")
    make.problem("q")
    make.solution("b", "p", text="old", model="m")
    make.solution("a", "q", text=None, model="k", error=Failure(kind="timeout", message="m"))
    make.solution("b", "p", text="new", model="m", finish_reason="length")
    found = read_solutions(make.study)
    assert found.ids == ["a", "b"] and found.place == {"a": 0, "b": 1}
    assert found.text_hash == [None, text_hash("new")]
    assert [found.model.names[i] for i in found.model.codes] == ["k", "m"]
    assert found.topic.codes.tolist() == [-1, 0] and found.source.names == ["ISL"]
    assert found.gold_answer.tolist() == [False, True] and found.has_text.tolist() == [False, True]
    assert found.cut_off.tolist() == [False, True] and found.finished.tolist() == [False, True]
    assert [found.error.names[i] for i in found.error.codes if i >= 0] == ["timeout"]


def test_groups_hold_the_rows_of_each_name_in_order_and_rows_without_one_are_in_none() -> None:
    names = Names.of(["b", None, "a", "b"])
    assert [(name, rows.tolist()) for name, rows in names.groups()] == [("a", [2]), ("b", [0, 3])]
    assert list(Names.of([None, None]).groups()) == []


@pytest.mark.parametrize(
    ("folder", "line", "message"),
    [
        ("solutions", '{"key": "k", "id": "s"}', "problem_id: Field required"),
        ("solutions", "{", "the line: Invalid JSON"),
        ("verdicts", '{"key": "k", "id": "i", "solution_id": "s", "judge": "j", "judge_key": "k", "verdict": "right"}',
         "verdict: Input should be 'incorrect', 'partially_correct' or 'correct'"),
        ("verdicts", '{"key": "k", "id": "i", "solution_id": "s", "judge": "j", "judge_key": "k", "points": "many"}',
         "points: Input should be a valid number"),
        ("answers", '{"key": "k", "solution_id": "s", "checker": "strict", "outcome": "same"}', "outcome: Input should be"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_refused_with_file_and_line(
    make: Maker, metrics_of: Metrics, folder: str, line: str, message: str
) -> None:
    make.solution("s")
    file = make.study.path / folder / "bad-000000.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n" + line + "\n")
    with pytest.raises(BadInput) as refused:
        metrics_of()
    assert str(refused.value).startswith(f"{file}, line 2: {message}")
    assert len(str(refused.value).splitlines()) == 1


def test_empty_files_and_half_written_lines_are_nothing(make: Maker, metrics_of: Metrics) -> None:
    make.solution("s")
    for folder in ("verdicts", "labels", "answers", "opinions"):
        (make.study.path / folder).mkdir(exist_ok=True)
        (make.study.path / folder / "empty-000000.jsonl").write_text("")
    (make.study.path / "verdicts" / "torn-000000.jsonl").write_text('{"key": "k", "id": "i", "solu')
    metrics = metrics_of()
    assert metrics["judges"] == {} and metrics["n_solutions"] == 1
    assert metrics["human_gold"]["overall"]["correct"]["why"] == "there are no human labels"


def bench() -> Any:
    """scripts/bench/calibrate.py, which measures the whole stage."""
    file = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "calibrate.py"
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location("bench_calibrate", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(file.parent))


def test_figures_with_resamples_come_a_hundred_times_faster_than_a_loop_over_scikit_learn() -> None:
    b = bench()
    b.ours(10, 1000), b.loop(1, 1000)  # what is loaded on the first call
    ours = min(b.ours(1000, 10_000) for _ in range(2))
    assert 1000 * b.loop(2, 10_000) / 2 > 100 * ours


@pytest.mark.long
def test_time_grows_no_faster_than_the_study(tmp_path: Path) -> None:
    b = bench()
    seconds = {}
    for n in (20_000, 200_000):
        b.make_study(tmp_path / f"n{n}", n)
        _, seconds[n], memory = b.run_stage(tmp_path, f"n{n}", "page_solutions=0")
    assert seconds[200_000] < 10 * seconds[20_000] and memory < 1
    assert seconds[200_000] < 60


def test_the_order_of_lines_in_a_file_does_not_matter(make: Maker, metrics_of: Metrics) -> None:
    rng = np.random.default_rng(0)
    words = ("incorrect", "partially_correct", "correct")
    for i in range(30):
        make.problem(f"p{i // 2}", topic="Algebra" if i % 4 < 2 else "Geometry")
        make.solution(f"s{i:02d}", f"p{i // 2}")
        for annotator in "ab":
            make.label(f"s{i:02d}", words[rng.integers(3)], annotator, fallacies=[])
        make.verdict(f"s{i:02d}", words[rng.integers(3)], tags=[])
    before = metrics_of()
    for file in make.study.path.rglob("*.jsonl"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[i] for i in rng.permutation(len(lines))))
    assert metrics_of() == before

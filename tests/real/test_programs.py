"""Every judging program with a real model through vLLM, on a few rows of the starter set, gradingbench and opc."""

import csv
import json
from collections import Counter

import pytest

from generate.labels import VERDICTS

pytestmark = [pytest.mark.engine, pytest.mark.long]
pytest.importorskip("vllm", reason="vLLM is not installed here (scripts/setup cpu)")

BRIEF = {
    "single": {"reasoning_characters": 120, "fallacies": 1, "quote_characters": 40, "explanation_characters": 40},
    "two_step": {"reasoning_characters": 80, "doubts": 1, "fallacies": 1, "quote_characters": 40, "explanation_characters": 40},
    "rubric": {"reasoning_characters": 120, "items": 2, "item_characters": 40, "explanation_characters": 40},
}  # fmt: skip


def words(program: str) -> list[str]:
    return [f"program={program}", *(f"program.{name}={value}" for name, value in BRIEF[program].items())]


@pytest.fixture(scope="module")
def rows(shared, tmp_path_factory):
    """The shortest rows of the two sets, and the words that read them."""
    folder = tmp_path_factory.mktemp("rows")
    csv.field_size_limit(10**9)
    with (shared / "data" / "gradingbench" / "test.csv").open(newline="", encoding="utf-8") as file:
        graded = sorted(csv.DictReader(file), key=lambda r: sum(len(r[c]) for c in ("Problem", "Solution", "Response")))
    with (folder / "graded.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(graded[0]))
        writer.writeheader()
        writer.writerows(graded[:2])
    lines = (shared / "data" / "opc" / "opc.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "opc.jsonl").write_text("\n".join(sorted(lines, key=len)[:2]) + "\n", encoding="utf-8")
    return {"gradingbench": folder / "graded.csv", "opc": folder / "opc.jsonl"}


@pytest.fixture
def study(stage, rows):
    assert stage("generate", "study=s", "dataset=starter", "limit=1", "model=recorded").returncode == 0
    for name, path in rows.items():
        brought = stage("generate", "study=s", f"dataset={name}", f"dataset.path={path}", "model=recorded")
        assert brought.returncode == 0, brought.stderr


def verdicts(tmp_path, judge: str) -> list[dict]:
    files = (tmp_path / "studies" / "s" / "verdicts").glob("*.jsonl")
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [r for r in records if r["judge"] == judge]


def sound(record: dict) -> None:
    assert (record["verdict"] is None) == (record["error"] is not None)
    assert record["verdict"] in (*VERDICTS, None)
    if record["error"]:
        assert record["error"]["kind"] in ("prompt_too_long", "contradiction"), record["error"]
    for fallacy in record["fallacies"] or []:
        assert fallacy["grounded"] == (fallacy["start"] is not None)


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("program", BRIEF)
def test_a_program_judges_real_rows(stage, tmp_path, program):
    done = stage("judge", "study=s", *words(program))
    assert done.returncode == 0, done.stderr
    records = verdicts(tmp_path, f"{program}-smollm2")
    assert len(records) >= 6
    for record in records:
        sound(record)
        assert record["usage"]["completion_tokens"] > 0 and record["seconds"] > 0
        if program == "rubric":
            assert record["error"] or (0 <= record["points"] <= 7 and record["items"] is not None)
        if program == "two_step":
            assert (record["usage"]["calls"] in (2, 3) and record["error"]) or record["doubts"] is not None
    said = Counter(r["verdict"] for r in records)
    assert program == "two_step" or said[None] == 0, said
    again = stage("judge", "study=s", *words(program))
    assert "0 to do" in again.stdout and "starting vLLM" not in again.stderr
    assert stage("calibrate", "study=s").returncode == 0


@pytest.mark.usefixtures("study")
def test_votes_and_the_probabilities_of_the_verdicts_token(stage, tmp_path):
    warm = ["study=s", "limit=3", *words("single"), "model.sampling.temperature=1.0"]
    done = stage("judge", *warm, "votes=3", "stop_early=false")
    assert done.returncode == 0, done.stderr
    for record in verdicts(tmp_path, "single-smollm2-x3"):
        sound(record)
        assert len({v["seed"] for v in record["votes"]}) == 3 and len({v["raw"] for v in record["votes"]}) > 1
        shares = Counter(v["verdict"] for v in record["votes"] if v["verdict"])
        assert record["probabilities"] == {v: shares[v] / shares.total() for v in VERDICTS}
    done = stage("judge", "study=s", "limit=3", *words("single"), "probabilities=logprobs")
    assert done.returncode == 0, done.stderr
    records = verdicts(tmp_path, "single-smollm2")
    assert len(records) == 3
    for record in records:
        assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-4)
        assert max(record["probabilities"], key=record["probabilities"].get) == record["verdict"]  # greedy


@pytest.mark.usefixtures("study")
def test_a_panel_of_two_models_each_in_its_own_process(stage, tmp_path):
    members = [" ".join([*words("single"), "model.name=one"]), " ".join([*words("rubric"), "model.name=two"])]
    done = stage(
        "judge", "study=s", "limit=2", "program=panel", "combine=minimum", f"program.members={json.dumps(members)}"
    )
    assert done.returncode == 0, done.stderr
    one, two, both = (verdicts(tmp_path, judge) for judge in ("single-one", "rubric-two", "panel"))
    assert len(one) == len(two) == len(both) == 2
    for first, second, panel in zip(one, two, both, strict=True):
        assert panel["verdict"] == min(first["verdict"], second["verdict"], key=VERDICTS.index)

"""Which labels a report uses: splits, trained judges, the lockbox; and gates, as the stage is run."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from calibrate.columns import read_solutions
from calibrate.gates import Gates, figure_of
from calibrate.labels import FromStudy, collect
from calibrate.material import Material, gather
from calibrate.report import schema
from calibrate.splitting import Part, held_back, of_split, opened
from generate.journal import BadInput
from judge.splits import Splits, read_splits
from judge.taxonomy import Taxonomy
from tests.calibrate.conftest import Maker
from tests.calibrate.test_calibrate_stage import calibrate, metrics

SPLITS = Splits()
MARK = "tuned@abc"


def problems_of(split: str) -> list[str]:
    return [p for p in (f"p{i:03}" for i in range(60)) if SPLITS.of(p) == split]


@pytest.fixture
def sixty(make: Maker) -> Maker:
    """Sixty problems with a labelled solution each, judged by a plain judge and by a trained one."""
    for i in range(60):
        make.problem(f"p{i:03}")
        make.solution(f"s{i:03}", f"p{i:03}")
        make.label(f"s{i:03}", ("correct", "incorrect", "partially_correct")[i % 3])
        make.verdict(f"s{i:03}", ("correct", "incorrect")[i % 2], judge="plain")
        make.verdict(f"s{i:03}", ("correct", "incorrect")[i % 2], judge="tuned", compiled=MARK)
    return make


def manifest(make: Maker, seen: list[str], key: str = "abc") -> None:
    folder = make.study.path / "programs" / "tuned"
    folder.mkdir(parents=True, exist_ok=True)
    labels = [
        {"solution_id": p.replace("p", "s"), "problem_id": p, "split": SPLITS.of(p), "annotators": ["ann"]}
        for p in seen
    ]
    content: dict[str, Any] = {
        "name": "tuned", "program_key": key, "inputs": "i", "program": "single", "optimiser": {}, "metric": {}, "budget": {},
        "kind": "human", "splits": {}, "labels": labels, "judge": {}, "dev": {}, "candidates": [], "calls": {}, "finished": "x",
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(content))


def material(make: Maker, taxonomy: Taxonomy, split: Part = "all") -> Material:
    solutions = read_solutions(make.study)
    labels = of_split(collect(make.study, [], FromStudy(), taxonomy), solutions, SPLITS, split)
    return held_back(make.study, gather(make.study, labels, taxonomy, None, solutions=solutions), SPLITS, split)


def held(m: Material, judge: str) -> list[str]:
    return [m.solutions.ids[row].replace("s", "p") for row in m.judges[judge].human.row]


def test_a_trained_judge_is_held_against_the_lockbox_alone_and_another_against_all(
    sixty: Maker, taxonomy: Taxonomy
) -> None:
    manifest(sixty, problems_of("train") + problems_of("dev"))
    m = material(sixty, taxonomy)
    assert len(m.human) == len(held(m, "plain")) == 60
    assert held(m, "tuned") == problems_of("lockbox")
    assert held(material(sixty, taxonomy, "lockbox"), "tuned") == problems_of("lockbox")


def test_a_judge_is_not_scored_on_what_it_was_trained_on(sixty: Maker, taxonomy: Taxonomy) -> None:
    dev = problems_of("dev")
    manifest(sixty, problems_of("train") + dev)
    with pytest.raises(
        BadInput, match=rf"split=dev: judge 'tuned' \(tuned@abc\) was trained .* '{dev[0]}' and {len(dev) - 1} more"
    ):
        material(sixty, taxonomy, "dev")
    lockbox = problems_of("lockbox")
    manifest(sixty, lockbox[:1])  # the study's salt was changed after training
    with pytest.raises(
        BadInput, match=f"split=all: judge 'tuned'.* on labels of problem '{lockbox[0]}', and is not scored"
    ):
        material(sixty, taxonomy)


@pytest.mark.parametrize("key", [None, "another"])
def test_a_trained_judge_without_its_manifest_is_not_scored(sixty: Maker, taxonomy: Taxonomy, key: str | None) -> None:
    if key:
        manifest(sixty, [], key)
    with pytest.raises(
        BadInput, match=r"judge 'tuned' judged with the trained program tuned@abc, and .* holds no manifest"
    ):
        material(sixty, taxonomy)


def test_a_split_takes_its_own_labels_for_everything(sixty: Maker, taxonomy: Taxonomy) -> None:
    manifest(sixty, problems_of("train"))
    m = material(sixty, taxonomy, "dev")
    assert held(m, "plain") == problems_of("dev") and len(m.human) == len(problems_of("dev"))
    for p in problems_of("dev"):
        sixty.label(p.replace("p", "s"), None)  # withdrawn
    with pytest.raises(BadInput, match=r"split=dev: none of the \d+ labels is of a problem of that split"):
        material(sixty, taxonomy, "dev")


def test_the_lockbox_is_opened_by_looking_into_it(sixty: Maker, taxonomy: Taxonomy) -> None:
    manifest(sixty, problems_of("train"))
    m = material(sixty, taxonomy, "dev")
    assert opened(sixty.study, m, "dev").lockbox_openings == [] and not (sixty.study.path / "splits.json").exists()
    m = material(sixty, taxonomy)
    (first,) = opened(sixty.study, m, "all").lockbox_openings  # the trained judge is scored there
    assert first.who == "calibrate" and first.what == "split=all; judges: plain, tuned"
    assert (
        len(opened(sixty.study, m, "lockbox").lockbox_openings) == 2 == len(read_splits(sixty.study).lockbox_openings)
    )


def test_without_a_trained_judge_and_without_kept_splits_all_opens_nothing(make: Maker, taxonomy: Taxonomy) -> None:
    make.solution("s")
    make.label("s", "correct")
    assert opened(make.study, material(make, taxonomy), "all").lockbox_openings == []


# as the stage is run


def test_openings_are_recorded_and_shown(sixty: Maker) -> None:
    manifest(sixty, problems_of("train"))
    first = calibrate(sixty, "study=s", "split=lockbox", "resamples=100", "page_solutions=0")
    assert first.returncode == 0, first.stderr
    made = metrics(sixty)
    assert made["split"] == "lockbox" and [o["what"] for o in made["lockbox_openings"]] == [
        "split=lockbox; judges: plain, tuned"
    ]
    assert made["human_gold"]["overall"]["correct"]["n"] == len(problems_of("lockbox"))
    assert made["judges"]["tuned"]["trained"] == MARK and made["judges"]["plain"]["trained"] is None
    assert "The lockbox was opened 1 time." in first.stdout
    again = calibrate(sixty, "study=s", "name=b", "resamples=100", "page_solutions=0")
    assert again.returncode == 0 and "The lockbox was opened 2 times." in again.stdout
    made = metrics(sixty, "b")
    assert made["judges"]["tuned"]["coverage"]["labelled"] == len(problems_of("lockbox"))
    assert made["judges"]["plain"]["coverage"]["labelled"] == 60
    asked = {name: made["judges"][name]["estimates"]["solutions"] for name in ("plain", "tuned")}
    assert asked == {"plain": 60, "tuned": 60 - len(problems_of("train"))}  # it is corrected where it learnt nothing
    assert "it is held against labels of the lockbox" in (sixty.study.path / "reports" / "b" / "report.md").read_text()


def test_other_splits_make_another_report(sixty: Maker) -> None:
    manifest(sixty, [])
    words = ("study=s", "resamples=100", "page_solutions=0")
    assert calibrate(sixty, *words).returncode == 0
    assert "nothing has changed" in calibrate(sixty, *words).stdout
    file = sixty.study.path / "splits.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"salt": "another"}))
    refused = calibrate(sixty, *words)
    assert refused.returncode == 2 and "is a report on other records or settings" in refused.stderr


@pytest.fixture
def good(make: Maker) -> Maker:
    for i in range(40):
        make.problem(f"p{i}")
        make.solution(f"s{i}", f"p{i}")
        verdict = ("correct", "incorrect", "partially_correct")[i % 3]
        for annotator in ("=ann", "bob", "eve"):
            make.label(
                f"s{i}",
                verdict if (i + len(annotator)) % 7 else "correct",
                annotator,
                fallacies=["Proof by Example"] if i % 2 else [],
            )
        make.verdict(
            f"s{i}", verdict if i % 8 else "incorrect", judge="=j|1", tags=["Proof by Example"] if i % 3 else []
        )
        make.verdict(f"s{i}", verdict, judge="k_2", tags=[])
    return make


def test_a_gate_ends_with_exit_code_1_and_the_line_of_what_failed(good: Maker) -> None:
    passed = calibrate(good, "study=s", "gate.verdict_kappa=0.5", "resamples=200", "page_solutions=0")
    assert passed.returncode == 0, passed.stderr
    assert [g["passed"] for g in metrics(good)["gates"]] == [True, True] and "Gates" in passed.stdout
    failed = calibrate(
        good,
        "study=s",
        "gate.verdict_kappa=0.9",
        "gate.pass_f1=0.1",
        "resamples=200",
        "page_solutions=0",
        "overwrite=true",
    )
    assert failed.returncode == 1, failed.stderr
    low = next(g["low"] for g in metrics(good)["gates"] if g["judge"] == "=j|1")
    value = metrics(good)["judges"]["=j|1"]["agreement"]["verdict"]["cohen_kappa"]
    assert low == value["low"] < 0.9
    line = f"gate.verdict_kappa=0.9 failed: judge =j|1: the interval's lower end is {low:.3f}"
    assert failed.stderr.splitlines()[0] == line
    again = calibrate(
        good, "study=s", "gate.verdict_kappa=0.9", "gate.pass_f1=0.1", "resamples=200", "page_solutions=0"
    )
    assert again.returncode == 1 and again.stderr.splitlines() == failed.stderr.splitlines()
    unknown = calibrate(good, "study=s", "gate.verdict_kapa=0.9")
    assert unknown.returncode == 2 and "did you mean 'gate.verdict_kappa'?" in unknown.stderr
    word = calibrate(good, "study=s", "gate.verdict_kappa=high")
    assert word.returncode == 2 and "gate.verdict_kappa" in word.stderr


def test_outputs_hold_their_schema_are_safe_and_equal_to_the_byte(good: Maker) -> None:
    assert calibrate(good, "study=s", "resamples=100").returncode == 0
    here = good.study.path / "reports" / "report"
    jsonschema.Draft202012Validator(schema()).validate(metrics(good))
    files = {p.relative_to(here): p.read_bytes() for p in sorted(here.rglob("*")) if p.is_file()}
    names = {str(f) for f in files}
    assert {"report.md", "report.tex", "metrics.json"} <= names
    assert {f"tables/{x}.csv" for x in ("human_gold", "judges", "human_human", "differences", "final_answers")} <= names
    tex = files[Path("report.tex")].decode()
    assert tex.count(r"\toprule") == tex.count(r"\bottomrule") > 5 and r"k\_2" in tex and "k_2" not in tex
    for name, content in files.items():
        if name.suffix == ".csv":
            lines = content.decode("utf-8-sig").splitlines()
            assert not any(cell.strip('"')[:1] in ("=", "@", "+") for line in lines for cell in line.split(","))
    stale = here / "tables" / "planted.csv"
    stale.write_text("old")
    assert calibrate(good, "study=s", "resamples=100", "overwrite=true").returncode == 0
    assert {p.relative_to(here): p.read_bytes() for p in sorted(here.rglob("*")) if p.is_file()} == files
    made = metrics(good)
    judge = made["judges"]["k_2"]
    assert judge["alt_test"]["passed"] is True and set(judge["by_annotator"]["annotators"]) == {"=ann", "bob", "eve"}
    page = (here / "report.md").read_text()
    for title in ("Annotators among themselves", "Judges beside the human ceiling", "Alternative annotator test",
                  "Differences between judges", "Split and lockbox"):  # fmt: skip
        assert title in page


def test_every_gate_names_a_figure_of_a_real_report(good: Maker) -> None:
    assert calibrate(good, "study=s", "resamples=100", "page_solutions=0").returncode == 0
    for judge in metrics(good)["judges"].values():
        for gate in fields(Gates):
            assert {"value", "low", "high"} <= set(figure_of(judge, gate.name)), gate.name

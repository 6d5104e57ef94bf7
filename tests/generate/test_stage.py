"""The command line: help, config errors in one line with exit code 2, nothing left behind, names kept as they were typed."""

import re
import time
from pathlib import Path

import pytest
import yaml

from generate.stage import CONF, _keep_text, help_text

STAGES = ["generate", "judge", "calibrate"]


def one_line(done, stage: str, *words: str) -> str:
    """The single line that a bad start ends in."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"{stage}: "), done.stderr
    for word in words:
        assert word in done.stderr
    return done.stderr


@pytest.mark.parametrize("name", STAGES)
def test_help_shows_groups_and_knobs_with_the_files_comments_within_two_seconds(stage, name, tmp_path):
    took = []
    for _ in range(3):
        began = time.monotonic()
        done = stage(name, "--help")
        took.append(time.monotonic() - began)
    assert done.returncode == 0 and min(took) < 2
    for line in (CONF / f"{name}.yaml").read_text().splitlines():
        if line and line[0].isalpha() and ":" in line and not line.startswith(("defaults", "hydra")):
            assert line in done.stdout
    assert not list(tmp_path.iterdir())


def test_help_shows_the_knobs_of_the_options_that_are_chosen():
    text = help_text("generate", ["model=served"], [])
    assert "id: null                # the name that the server serves it under" in text
    assert "* openai" in text and "base_url: null" in text
    preset = help_text("generate", ["dataset=gradingbench"], [])
    assert "points: Points" in preset and "max_points: 7" in preset


@pytest.mark.parametrize("name", STAGES)
def test_an_unknown_key_is_refused_with_a_suggestion(stage, name):
    one_line(stage(name, "studdy=x"), name, "unknown key 'studdy'", "did you mean 'study'?")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model=qwem"], ["model=qwem: there is no such model", "did you mean 'qwen'?"]),
        (["engine.replicas=2", "model=smollm2"], ["unknown key 'engine.replicas'; it belongs to engine=ray"]),
        (["modle=qwen"], ["unknown key 'modle'", "'model'"]),
        (["model.sampling.temprature=1"], ["unknown key 'model.sampling.temprature'", "'model.sampling.temperature'"]),
        (["+model.sampling.temprature=1"], ["unknown key 'model.sampling.temprature'", "'temperature'"]),
        (["limit=many"], ["limit", "valid integer", "'many'"]),
        (["limit=true"], ["limit", "number"]),
        (["limit=0"], ["limit", "greater than or equal to 1"]),
        (["model.sampling.temperature=hot"], ["model.sampling.temperature", "'hot'"]),
        (["model.sampling=3"], ["model.sampling"]),
        (
            ["dataset=table", "dataset.path=nowhere.csv", "dataset.columns.problem_id=x"],
            ["dataset", "there is no file nowhere.csv"],
        ),
        (["dataset=table"], ["path: must be given"]),
        (["dataset=table", "dataset.path=x.csv"], ["path: there is no file x.csv"]),
        (["dataset=table", "dataset.hub=x/y"], ["columns.problem_id: must be given"]),
        (["dataset=table", "dataset.columns.problem_id=x"], ["dataset", "path: must be given"]),
        (
            ["dataset=table", "dataset.hub=x/y", "dataset.columns.verdict=v", "dataset.columns.problem_id=x"],
            ["columns.solution_id: must be given"],
        ),
        (["model.chat_template=nowhere.jinja"], ["there is no file nowhere.jinja"]),
        (["model=served"], ["model.id"]),
        (["model=served", "model.id=x"], ["engine.base_url"]),
        (["model=recorded", "study=../x"], ["study=../x"]),
        (["study=[a"], ["[a"]),
        (["-m", "model=qwen,deepseek"], ["one process", "submitit"]),
        (["model=qwen,deepseek", "hydra.mode=MULTIRUN"], ["one process", "submitit"]),
        (["--multi", "model=qwen,deepseek"], ["unknown option --multi", "did you mean '--multirun'?"]),
        (["--bogus"], ["unknown option --bogus"]),
        (["--config-dir"], ["--config-dir wants a value"]),
        (["hydra.searchpath=[file://own]"], ["--config-dir"]),
        (["seed=100000000000000000000000"], ["seed", "less than or equal to"]),
        (["model.sampling.temperature=nan"], ["model.sampling.temperature", "finite"]),
        (["model=served", "model.id=x", "engine.base_url=foo"], ["engine.base_url: must be an address"]),
        (["model=served", "model.id=x", "engine.base_url=http://u:secret@h/v1"], ["must hold no user, password"]),
        (["study="], ["study="]),
        (["prompt.proof.user=hello"], ["must hold {statement}"]),
        (["topics=[Astrology]"], ["topics", "'astrology'", "Algebra"]),
    ],
)
def test_bad_config_ends_in_one_line_and_leaves_nothing(stage, tmp_path, words, said):
    one_line(stage("generate", *words), "generate", *said)
    assert not list(tmp_path.iterdir())


def test_a_misspelt_key_in_a_users_own_file_is_refused(stage, tmp_path):
    own = yaml.safe_load((CONF / "model" / "smollm2.yaml").read_text())
    own["contxt_length"] = own.pop("context_length")
    (tmp_path / "own" / "model").mkdir(parents=True)
    (tmp_path / "own" / "model" / "mine.yaml").write_text(yaml.safe_dump(own))
    for words in (["--config-dir", "own"], ["limit=1", "--config-dir=own"]):  # options may stand anywhere
        done = stage("generate", *words, "model=mine")
        one_line(done, "generate", "unknown key 'model.contxt_length'", "'context_length'")


def test_a_users_file_that_ours_would_hide_is_refused(stage, tmp_path):
    (tmp_path / "own" / "model").mkdir(parents=True)
    (tmp_path / "own" / "model" / "qwen.yaml").write_text("name: mine\n")
    one_line(stage("generate", "--config-dir", "own", "model=qwen"), "generate", "own/model/qwen.yaml", "another name")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"- a list\n", b"defaults:\nname: x\n", b"a: [\n"])
def test_help_survives_a_users_file_that_cannot_be_read(stage, tmp_path, content):
    (tmp_path / "own" / "model").mkdir(parents=True)
    (tmp_path / "own" / "model" / "mine.yaml").write_bytes(content)
    done = stage("generate", "--config-dir=own", "model=mine", "--help")
    assert "Traceback" not in done.stderr and done.returncode in (0, 2) and done.stderr.count("\n") <= 1


def test_somebody_elses_reader_works_without_a_change_here(stage, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from generate.problems import Dataset, Problem\n"
        "from generate.solutions import Solution\n"
        "from generate.stage import settings\n"
        "@settings\n"
        "class Mine:\n"
        "    name: str = 'mine'\n"
        "    many: int = 1\n"
        "    def read(self):\n"
        "        ids = [str(i) for i in range(self.many)]\n"
        "        return Dataset([Problem(id=i) for i in ids], [Solution(key=i, id=i, problem_id=i, model='m', text='t') for i in ids])\n"
    )
    (tmp_path / "own" / "dataset").mkdir(parents=True)
    (tmp_path / "own" / "dataset" / "mine.yaml").write_text(
        "# My problems.\n_target_: mine.Mine\nname: mine\nmany: 3\n"
    )
    done = stage("generate", "--config-dir=own", "dataset=mine", "model=recorded", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "problems: 3 from mine" in done.stdout
    assert "mine                   My problems" in stage("generate", "--config-dir=own", "--help").stdout


@pytest.mark.parametrize("name", ["2025_01", "007", "1e5", "1.0", "true_run", "3"])
def test_a_study_is_named_as_it_was_typed_and_nothing_else_is_left_behind(stage, tmp_path, name):
    done = stage("generate", "dataset=starter", "model=recorded", f"study={name}")
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["studies"]
    assert [p.name for p in (tmp_path / "studies").iterdir()] == [name]


@pytest.mark.parametrize(
    "word", ["limit=5", "limit=0", "x=-3", "x=0.25", "x=1.5", "study=abc", "x=null", "-m", "x=[1_0]"]
)
def test_what_hydra_reads_back_as_typed_is_left_alone(word):
    assert _keep_text(word) == word


def test_every_line_of_the_config_files_says_what_it_is_for():
    """Each knob's line has a comment; so has the file at its top. What is Hydra's own is said in the primary configs."""
    for file in sorted(Path(CONF).rglob("*.yaml")):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("#"), f"{file} does not say what it is"
        if file.parent.name == "taxonomy":
            continue  # its head says what each of its four keys is, which all its entries repeat
        text_under = None  # the indentation of a knob whose value is a block of text
        for number, line in enumerate(lines, 1):
            indent = len(line) - len(line.lstrip())
            if not line.strip() or (text_under is not None and indent > text_under):
                continue
            text_under = indent if line.split("#")[0].rstrip().endswith(("|-", ">-")) else None
            knob = re.match(r" *([\w.]+):", line)
            if knob is None or knob[1] in ("_target_", "defaults"):
                continue
            assert "#" in line, f"{file.relative_to(CONF)}, line {number}: {line}"


def test_calibrate_and_judge_say_which_study_they_took_and_why(stage):
    stage("generate", "model=recorded", "study=first")
    stage("generate", "model=recorded", "study=second")
    assert "study studies/second (the study last written to)" in stage("judge", "program=none").stdout
    assert "study studies/first (named on the command line)" in stage("judge", "program=none", "study=first").stdout
    assert "study studies/first (the study last written to)" in stage("judge", "program=none").stdout
    one_line(stage("judge", "study=third"), "judge", "there is no studies/third", "first, second")


def test_without_a_study_the_next_step_is_said(stage):
    one_line(stage("judge"), "judge", "run `python -m generate` first")

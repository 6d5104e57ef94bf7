"""Trained programs as they lie in a study: `programs/NAME/program.json`, and the manifest that says what they saw."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from generate.journal import BadInput, Record, key_of, write_whole
from generate.study import STUDY_NAME, Study


class Seen(Record):
    """One labelled solution that a training saw."""

    solution_id: str
    problem_id: str
    split: str
    """`train`: the program was made from it; `dev`: it was chosen by it."""
    annotators: list[str]


class ProgramManifest(Record):
    """`manifest.json`: how a trained program came to be."""

    name: str
    program_key: str
    """Hash of `program.json`'s content."""
    inputs: str
    """Hash of all that the training depended on: judge, optimiser, metric, labels with their texts, seed."""
    program: str
    """What was trained, as `program=` names it."""
    optimiser: dict[str, Any]
    metric: dict[str, Any]
    """Its weights."""
    kind: str
    """`human`, or `planted`: trained on flaws that were written in on purpose, which no human judged."""
    splits: dict[str, Any]
    labels: list[Seen]
    """Every label that the training saw. None of them may measure the program."""
    judge: dict[str, Any]
    """The model that was asked, its engine and sampling."""
    dev: dict[str, Any]
    """`before` and `after`: {`value`: the mean of the metric over the readings that could be read, `n`, `failed`}."""
    candidates: list[dict[str, Any]]
    """Each that was judged on all of dev: its number, its mean with failures as 0."""
    calls: dict[str, Any]
    """Different calls of the model, with their tokens; `replayed`: those of them that an earlier run had made."""
    failures: dict[str, int] = Field(default_factory=dict)
    ended: str | None = None
    """Why the optimiser ended before it was done; null where it was done. The same command goes on from there."""
    versions: dict[str, str] = Field(default_factory=dict)
    finished: str


@dataclass(frozen=True)
class Compiled:
    """A trained program that was read."""

    name: str
    key: str
    state: dict[str, Any]
    """By predictor, as `dspy.Module.load_state` takes it."""
    manifest: ProgramManifest


def folder_of(study: Study, name: str) -> Path:
    """Raises BadInput for a name that cannot be a folder's."""
    if not STUDY_NAME.fullmatch(name):
        raise BadInput(
            f"{name!r}: a trained program's name is letters, digits, '.', '_' and '-', the first a letter or digit"
        )
    return study.path / "programs" / name


def save(study: Study, manifest: ProgramManifest, state: dict[str, Any]) -> Path:
    """Write program and manifest; the manifest last, since a program without one is never used."""
    folder = folder_of(study, manifest.name)
    write_whole(folder / "program.json", json.dumps(state, indent=2).encode())
    write_whole(folder / "manifest.json", manifest.model_dump_json(indent=2).encode() + b"\n")
    return folder


def read_manifest(study: Study, name: str) -> ProgramManifest | None:
    """Null where there is no such trained program. Raises BadInput for a damaged one."""
    path = folder_of(study, name) / "manifest.json"
    try:
        return ProgramManifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from None


def load(study: Study, name: str) -> Compiled:
    """The trained program of that name. Raises BadInput where there is none, or where it is not what its manifest says."""
    manifest = read_manifest(study, name)
    path = folder_of(study, name) / "program.json"
    if manifest is None or not path.exists():
        there = ", ".join(sorted(p.parent.name for p in path.parent.parent.glob("*/manifest.json"))) or "none"
        raise BadInput(f"program.load={name}: {study.path} has no such trained program; there are: {there}")
    try:
        state = json.loads(path.read_bytes())
    except ValueError:
        raise BadInput(f"{path}: is no JSON") from None
    if key_of(state=state) != manifest.program_key:
        raise BadInput(f"{path}: is not the program that its manifest describes; train it again under another name")
    return Compiled(name, manifest.program_key, state, manifest)


def part_of_key(study: Study, name: str | None) -> dict[str, Any]:
    """What a trained program adds to a judge's key; nothing where none is loaded."""
    return {} if name is None else {"compiled": load(study, name).key}


def mark(study: Study, name: str | None) -> str | None:
    """What verdicts by a trained program bear, so that a report knows what it was trained on: NAME@KEY."""
    return None if name is None else f"{name}@{load(study, name).key}"


def loaded_into(module: Any, study: Study, name: str | None) -> Any:
    """The module (a dspy.Module) with the instructions and demonstrations of a trained program; as it is where none is named.
    Raises BadInput for a program of another make."""
    if name is None:
        return module
    found = load(study, name)
    predictors = [predictor for predictor, _ in module.named_predictors()]
    if sorted(found.state) != sorted(predictors):
        raise BadInput(
            f"program.load={name}: it was trained for program={found.manifest.program}, whose parts are "
            f"{', '.join(sorted(found.state))}; here they are {', '.join(sorted(predictors))}"
        )
    if any(part.get("lm") for part in found.state.values()):
        raise BadInput(f"program.load={name}: names a model of its own; the model is the config's")
    module.load_state(found.state)
    return module

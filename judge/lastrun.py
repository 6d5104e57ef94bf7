"""`python -m judge` without `model=`: the model that the study has used, and nothing that has to be typed again."""

import json
from pathlib import Path
from typing import Any

from generate.journal import BadInput
from generate.study import Study

GROUPS = ("model", "engine")


def with_model_of_last_run(argv: list[str]) -> tuple[list[str], str | None]:
    """The words of this run with those about model and engine that an earlier run had, and a line that says so; as they
    are where they name a model or an engine, where no model is asked, and where no run is known.

    The model is that of the newest run of this study that judged with one; where there is none, that which last wrote
    solutions. Only the words that were typed then are taken: what they stand for is read anew from the config.
    """
    keys = {_key(word).split(".")[0] for word in argv}
    if keys & {*GROUPS, "show", "hydra"} or any(word in ("-h", "--help", "-m", "--multirun") for word in argv):
        return argv, None
    given = {_key(word): word.partition("=")[2].strip("'\"") for word in argv if "=" in word}
    asks_anyway = given.get("ask_undecided", "false").lower() == "true"
    if given.get("program", "single") in WITHOUT_MODEL and not asks_anyway:
        return argv, None
    try:
        study, _ = Study.existing(given.get("studies_dir", "studies"), given.get("study"))
    except BadInput:  # the stage itself says what is wrong
        return argv, None
    for stage, did in (("judge", "last judged here"), ("generate", "last wrote solutions here")):
        for file in sorted((study.path / "manifests").glob(f"{stage}-*.json"), reverse=True):
            command = _command_of_asking(file)
            if command is None:
                continue
            words = _words_about_model(command)
            if not words:  # it took the default
                return argv, None
            said = " ".join(words)
            return [*argv, *words], f"model as in the run that {did}: {said} (say model=NAME for another)"
    return argv, None


WITHOUT_MODEL = ("recorded", "none", "constant", "answer_only", "tfidf", "panel")
TARGETS_WITHOUT_MODEL = ("judge.program.Recorded", "judge.program.Nothing", "judge.panel.Panel", "judge.baselines.")
"""Programs of ours that ask no model themselves."""


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~")


def _command_of_asking(file: Path) -> list[str] | None:
    """The words of a run that asked a model, whether or not it came to its end; null for any other."""
    try:
        content: Any = json.loads(file.read_bytes())
        model = content["config"]["model"]["_target_"]
        program = content["config"].get("program", {}).get("_target_", "")
        command = content["command"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not str(model).endswith(".Model") or str(program).startswith(TARGETS_WITHOUT_MODEL):
        return None
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else None


def _words_about_model(command: list[str]) -> list[str]:
    """The words about model and engine, with the folder that the user's own configs lay in."""
    words = [w for w in command if "=" in w and _key(w).split(".")[0] in GROUPS]
    for at, word in enumerate(command):
        if word in ("--config-dir", "-cd"):
            words += command[at : at + 2]
        elif word.startswith(("--config-dir=", "-cd=")):
            words.append(word)
    return words if any(_key(w) in GROUPS or _key(w).startswith("model.") for w in words) else []

"""How a stage starts: `--help`, the config checked and typed before anything heavy is loaded, one line for what is
wrong with it, and the exit code. Each stage's `__main__` calls `launch`.

Exit codes: 0 done; 1 the engine was lost, or the stage broke; 2 bad config, bad input, or a disk that
takes no more; 3 the budget is spent and work is left; 130 stopped with Ctrl-C.
"""

import contextlib
import difflib
import errno
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as _dataclass
from typing_extensions import dataclass_transform

from generate.journal import BadInput

CONF = Path(__file__).resolve().parent.parent / "conf"
DONE, BROKEN, BAD, SPENT, STOPPED = 0, 1, 2, 3, 130
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO, errno.ESTALE)
"""A disk that is full, protected or lost: what the user has to mend."""


class EngineGone(Exception):
    """The engine can no longer be reached. Ends the stage with this one line; nothing in flight is journalled."""


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")
    return value


def _text_keys(value: Any) -> Any:
    """Hydra types the keys of a map that is given on the command line; ours are text."""
    if not isinstance(value, Mapping):
        return value
    return {str(k).lower() if isinstance(k, bool) else str(k): v for k, v in value.items()}


LARGEST = 2**53
Whole = Annotated[int, BeforeValidator(_no_bool), Field(ge=0, le=LARGEST)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=LARGEST)]
Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
TextMap = Annotated[dict[str, str], BeforeValidator(_text_keys)]
NumberMap = Annotated[dict[str, Number], BeforeValidator(_text_keys)]

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def settings(cls: type[T]) -> type[T]:
    """A class that a config names by `_target_`, and that is its own schema: unknown fields and wrong types are errors."""
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=True)
    return _dataclass(kw_only=True, frozen=True, config=config)(cls)  # type: ignore[return-value]


class StageConfig(BaseModel):
    """The knobs that all three stages share."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, coerce_numbers_to_str=True, arbitrary_types_allowed=True, protected_namespaces=()
    )

    study: str | None = None
    studies_dir: str = "studies"


class JobEnded(Exception):
    """A job of a sweep ended with an exit code other than 0; it has said why itself."""

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


C = TypeVar("C", bound=StageConfig)


def launch(
    stage: str, config_class: type[C], run: Callable[[C, dict[str, Any]], int | None], names: tuple[str, ...] = ()
) -> int:
    """Run one stage from the command line; returns the exit code.

    `run(config, plain)` gets the checked config, and the same as plain data for the manifest. `names` are knobs whose
    value is a name that comes from data, and is taken as it is typed whatever characters it holds.
    """
    argv = sys.argv[1:]
    try:
        argv = _flags_last(argv)
        folders = _user_folders(argv)
        sweeping = _sweeps(argv)
        if any(a in ("--help", "-h") for a in argv):
            with contextlib.suppress(BrokenPipeError):
                print(help_text(stage, argv, folders), flush=True)
                return DONE
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader (`| head`) has seen enough
            return DONE
    except BadInput as error:
        return _say(stage, error, BAD)
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError) as error:
        return _say(stage, f"a config file cannot be read: {error}", BAD)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises what is wrong instead of printing it
    import hydra
    from omegaconf import DictConfig, OmegaConf

    sys.argv[1:] = [_quoted(a) if a.partition("=")[0] in names else _keep_text(a) for a in argv]
    code: int = DONE
    entered = False
    fault: BaseException | None = None

    def task(cfg: DictConfig) -> None:
        nonlocal code, entered, fault
        try:
            checked = build(config_class, OmegaConf.to_container(cfg, resolve=True))  # type: ignore[arg-type]
            entered = True
            # for the manifest as it was written: what `${oc.env:...}` stands for may be a secret
            code = run(checked, OmegaConf.to_container(cfg, resolve=False)) or DONE  # type: ignore[arg-type]
            if sweeping and code != DONE:
                raise JobEnded(code)
        except BaseException as error:  # carried round Hydra, which would print a paragraph of its own
            if sweeping:
                raise
            fault = error

    try:
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=stage)(task)()
        if fault is not None:
            raise fault
        if sweeping:
            print(f"{stage}: all jobs are done; what they printed is in {_studies(argv)}/.sweeps/.submitit")
        return code
    except BadInput as error:
        return _say(stage, error, BAD)
    except JobEnded as error:
        where = f"{_studies(argv)}/.sweeps/.submitit"
        return _say(stage, f"a job ended with exit code {error.code}; what the jobs printed is in {where}", error.code)
    except EngineGone as error:
        return _say(stage, f"{error} What was done is kept: run the same command again to go on.", BROKEN)
    except KeyboardInterrupt:
        return _say(stage, "stopped. What was done is kept: run the same command again to go on.", STOPPED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            where = f"{error.filename}: " if error.filename else ""
            return _say(stage, f"{where}{error.strerror}. What was done is kept: run the same command again.", BAD)
        if entered:
            raise
        return _say(stage, _explain(stage, error, folders), BAD)


def _say(stage: str, message: object, code: int) -> int:
    print(f"{stage}: " + " ".join(str(message).split()), file=sys.stderr, flush=True)
    return code


# --- the command line, before Hydra sees it ---------------------------------------------------------------------------


FLAGS = {"--help": "-h", "--hydra-help": "", "--version": "", "--cfg": "-c", "--resolve": "", "--package": "-p", "--run": "-r",
         "--multirun": "-m", "--config-path": "-cp", "--config-name": "-cn", "--config-dir": "-cd", "--info": "-i"}  # fmt: skip
"""Hydra's own, in full: argparse takes abbreviations as well, which would pass by the checks below."""
WITH_VALUE = ("--cfg", "--package", "--config-path", "--config-name", "--config-dir")


def _flags_last(argv: list[str]) -> list[str]:
    """The words, then the options: argparse takes no words after an option that stands among them. Refuses what is no
    option of Hydra's."""
    words, flags = [], []
    value_expected = False
    for arg in argv:
        name = arg.partition("=")[0]
        if value_expected:
            flags.append(arg)
            value_expected = False
        elif not arg.startswith("-") or re.match(r"-\d", arg):
            words.append(arg)
        else:
            full = name if name in FLAGS else next((f for f, short in FLAGS.items() if short and short == name), None)
            if full is None:
                raise BadInput(f"unknown option {name}{_suggest(name, list(FLAGS))} (a knob is set as KNOB=VALUE)")
            flags.append(arg)
            value_expected = full in WITH_VALUE and "=" not in arg
    if value_expected:
        raise BadInput(f"{argv[-1]} wants a value")
    return words + flags


def _user_folders(argv: list[str]) -> list[Path]:
    """The folders given with --config-dir; a config there that ours of the same name would hide is refused."""
    found = []
    for at, arg in enumerate(argv):
        name, _, value = arg.partition("=")
        if name in ("--config-dir", "-cd"):
            found.append(Path(value or argv[at + 1]))
        if name.lstrip("+") == "hydra.searchpath":
            raise BadInput("hydra.searchpath: give the folder of your own configs as --config-dir DIR")
    for folder in found:
        if not folder.is_dir():
            raise BadInput(f"--config-dir {folder}: no such folder")
        for file in sorted(folder.rglob("*.yaml")):
            if (CONF / file.relative_to(folder)).exists():
                raise BadInput(f"{file}: our own config of this name would hide it; give the file another name")
    return found


def _sweeps(argv: list[str]) -> bool:
    """Whether this is a sweep. Refused with Hydra's own launcher."""
    given = dict(a.lstrip("+").split("=", 1) for a in argv if "=" in a)
    sweeping = any(a in ("-m", "--multirun") for a in argv) or given.get("hydra.mode", "").upper() == "MULTIRUN"
    if sweeping and given.get("hydra/launcher", "basic") == "basic":
        raise BadInput(
            "-m runs all its jobs in one process, and two models must not be loaded in one; add "
            "hydra/launcher=local or hydra/launcher=slurm (submitit's; pip install 'olympiad-judge[slurm]')"
        )
    return sweeping


def _studies(argv: list[str]) -> str:
    return next((a.partition("=")[2] for a in reversed(argv) if a.startswith("studies_dir=")), "studies")


def _quoted(arg: str) -> str:
    """The value in the quotation marks of Hydra's grammar, where a backslash counts before a quotation mark alone; what
    looks like an interpolation is none."""
    name, _, value = arg.partition("=")
    if value in ("", "null"):
        return arg
    escaped = re.sub(r"(\\*)('|$)", lambda m: m[1] * 2 + ("\\'" if m[2] else ""), value)
    return f"{name}='" + escaped.replace("${", "\\${") + "'"


def _keep_text(arg: str) -> str:
    """Hydra reads `study=2025_01` as the number 202501: quote whatever a number would not give back as it was typed.
    A knob that wants a number reads it from the text."""
    name, equals, value = arg.partition("=")
    if (
        not equals
        or name.startswith("-")
        or not re.fullmatch(r"[+-]?[0-9][0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9]+)?", value)
    ):
        return arg
    number = int(value) if re.fullmatch(r"[+-]?[0-9_]+", value) and not value.endswith("_") else float("nan")
    return arg if str(number) == value or re.fullmatch(r"-?(0|[1-9]\d*)\.\d*[1-9]", value) else f"{name}='{value}'"


# --- from composed config to typed objects ------------------------------------------------------------------------------


def build(config_class: type[C], plain: dict[str, Any]) -> C:
    """The typed config; every part that names a `_target_` is built. Raises BadInput with one line."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    values: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, dict) and "_target_" in value:
            try:
                values[name] = instantiate(value, _convert_="all")
            except InstantiationException as error:
                cause = error.__cause__
                if isinstance(cause, BadInput):
                    raise BadInput(f"{name}: {cause}") from None
                if isinstance(cause, ValidationError):
                    raise BadInput(_first_fault(cause, name, value)) from None
                raise BadInput(f"{name}: {cause or error}") from None
        else:
            values[name] = value
    try:
        return config_class(**values)
    except ValidationError as error:
        raise BadInput(_first_fault(error, "", plain)) from None


def _first_fault(error: ValidationError, prefix: str, given: dict[str, Any]) -> str:
    fault = error.errors()[0]
    path = [str(p) for p in fault["loc"] if not str(p).startswith("function-")]
    where = ".".join([prefix, *path] if prefix else path)
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _known_fields(given.get("_target_"), path[:-1]) if prefix else []
        return f"unknown key '{where}'{_suggest(path[-1], known)}"
    if fault["type"] in ("missing", "missing_argument"):
        return f"{where}: must be given (in its config file, or as {where}=... on the command line)"
    message = fault["msg"].removeprefix("Value error, ")
    shown = repr(fault["input"])
    return f"{where}: {message}, got {shown if len(shown) < 60 else shown[:57] + '...'}"


def _known_fields(target: Any, path: list[str]) -> list[str]:
    from hydra.utils import get_object

    here: Any = get_object(str(target)) if target else None
    for step in path:
        fields = getattr(here, "__pydantic_fields__", {})
        here = fields[step].annotation if step in fields else None
        options = [here, *getattr(here, "__args__", ())]
        here = next((o for o in options if hasattr(o, "__pydantic_fields__")), None)
    return list(getattr(here, "__pydantic_fields__", {}))


def _suggest(wrong: str, known: list[str]) -> str:
    close = difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(sorted(known))}" if known else ""


def _explain(stage: str, error: Exception, folders: list[Path]) -> str:
    """One line for whatever Hydra raised before the stage was entered."""
    text = str(error)
    if match := re.search(r"Could not override '([^']+)'", text):
        name = match[1]
        group, dot, last = name.rpartition(".")
        known = [k.rpartition(".")[2] for k in _knobs(stage, sys.argv[1:], folders) if k.rpartition(".")[0] == group]
        close = difflib.get_close_matches(last, known, n=1)
        hint = f"did you mean '{group}{dot}{close[0]}'?" if close else f"{group or stage} has: {', '.join(known)}"
        if having := _having(name, folders):
            hint = f"it belongs to {name.partition('.')[0]}={'|'.join(having)}"
        return f"unknown key '{name}'; {hint} (python -m {stage} --help shows all)"
    if match := re.search(r"Could not find '([^']+)'", text):
        name, _, option = match[1].rpartition("/")
        if option.startswith("submitit_"):
            return f"hydra/launcher: submitit is not installed here; pip install 'olympiad-judge[slurm]' ({match[1]})"
        return f"{name}={option}: there is no such {name}{_suggest(option, _options(name, folders))}"
    if match := re.search(r"You must specify '([^']+)', e\.g", text):
        return f"{match[1]}=... must be given; there are: {', '.join(_options(match[1], folders))}"
    return text.split("\nSee http")[0]


# --- help -------------------------------------------------------------------------------------------------------------


def help_text(stage: str, argv: list[str], folders: list[Path]) -> str:
    """What the config files say of themselves: the groups with their options, then every knob as it stands now."""
    primary = (CONF / f"{stage}.yaml").read_text(encoding="utf-8")
    chosen = _chosen(stage, argv)
    out = [f"python -m {stage} [GROUP=OPTION ...] [KNOB=VALUE ...]", "", _head(primary), ""]
    out += ["GROUPS (the option after * is chosen now; add a folder of your own with --config-dir DIR)"]
    for group, now in chosen.items():
        out.append(f"  {group}=")
        for option in _options(group, folders):
            about = _head(_option_file(group, option, folders).read_text(encoding="utf-8")).split(". ")[0].rstrip(".")
            out.append(f"    {'*' if option == now else ' '} {option:<22} {about}")
    out += ["", f"KNOBS of {stage}"]
    out += ["  " + line for line in _body(primary)]
    for group, now in chosen.items():
        for option in _with_parents(group, now, folders):
            file = _option_file(group, option, folders)
            where = "" if option == now else f", where {now} says nothing else: the knobs of {option}"
            out += ["", f"KNOBS of {group}={now}{where}, each as {_package(group)}.KNOB=VALUE"]
            out += ["  " + line for line in _body(file.read_text(encoding="utf-8"))]
    return "\n".join(out)


def _chosen(stage: str, argv: list[str]) -> dict[str, str]:
    config = yaml.safe_load((CONF / f"{stage}.yaml").read_text(encoding="utf-8"))
    chosen = {g: o for d in config["defaults"] if isinstance(d, dict) for g, o in d.items() if "hydra" not in g}
    given = dict(a.split("=", 1) for a in argv if "=" in a)
    chosen |= {g: o for g, o in given.items() if g in chosen}
    model = CONF / "model" / f"{chosen.get('model')}.yaml"
    text = model.read_text(encoding="utf-8") if model.exists() else ""
    match = re.search(r"override /engine@_global_\.engine: (\w+)", text)
    if match and "engine" in chosen and "engine" not in given:
        chosen["engine"] = match[1]
    return chosen


def _options(group: str, folders: list[Path]) -> list[str]:
    return sorted({f.stem for folder in [CONF, *folders] for f in (folder / _folder(group)).glob("*.yaml")})


def _having(name: str, folders: list[Path]) -> list[str]:
    """The options of its group that have a knob: `table` for `labels.path`."""
    group, _, knob = name.partition(".")
    return [
        option
        for option in _options(group, folders)
        for files in [[_option_file(group, o, folders) for o in _with_parents(group, option, folders)]]
        if any(knob in _dotted(yaml.safe_load(f.read_text(encoding="utf-8")) or {}) for f in files if f.exists())
    ]


def _folder(group: str) -> str:
    """The folder of a group's options: `answers` for `answers@lenient`, whose knobs are `lenient.KNOB`."""
    return group.partition("@")[0]


def _package(group: str) -> str:
    return group.rpartition("@")[2]


def _option_file(group: str, option: str, folders: list[Path]) -> Path:
    files = [folder / _folder(group) / f"{option}.yaml" for folder in [CONF, *folders]]
    return next((f for f in files if f.exists()), files[0])


def _with_parents(group: str, option: str, folders: list[Path]) -> list[str]:
    """The option, and the options of the same group that its file is written over."""
    file = _option_file(group, option, folders)
    if not file.exists():
        return []
    above = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("defaults") or []
    return [option] + [
        o for d in above if isinstance(d, str) and d != "_self_" for o in _with_parents(group, d, folders)
    ]


def _head(text: str) -> str:
    """The comment at the top of a config file, as one paragraph."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return " ".join(lines)


def _body(text: str) -> list[str]:
    """A config file without its head comment and without what is for Hydra alone."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        lines.pop(0)
    body, skipping = [], False
    for line in lines:
        if line and not line[0].isspace():
            skipping = line.startswith(("defaults:", "hydra:", "_target_:", "# @"))
        if not skipping:
            body.append(line)
    return "\n".join(body).strip("\n").splitlines()


def _knobs(stage: str, argv: list[str], folders: list[Path]) -> list[str]:
    """The dotted names of all knobs that the chosen options have."""
    chosen = _chosen(stage, argv)
    files = [("", CONF / f"{stage}.yaml")]
    files += [
        (f"{g}.", _option_file(g, o, folders)) for g, now in chosen.items() for o in _with_parents(g, now, folders)
    ]
    names = [_folder(g) for g in chosen]
    for prefix, file in files:
        if file.exists():
            names += [prefix + n for n in _dotted(yaml.safe_load(file.read_text(encoding="utf-8")) or {})]
    return names


def _dotted(config: dict[str, Any]) -> list[str]:
    names = []
    for key, value in config.items():
        if key in ("defaults", "hydra", "_target_"):
            continue
        names.append(str(key))
        if isinstance(value, dict):
            names += [f"{key}.{inner}" for inner in _dotted(value)]
    return names

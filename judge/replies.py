"""Read a judge model's reply. What cannot be read for certain is `Unparsed` with a reason, never a verdict."""

import json
import re
from dataclasses import dataclass
from typing import Any

from generate.labels import VERDICTS, VerdictName
from generate.tables import OWN_WORDS, plain_word
from judge.taxonomy import Taxonomy
from judge.verdicts import Fallacy

# LaTeX commands that begin like a JSON escape: \frac would be read as a form feed and "rac".
_COMMANDS = [
    "backslash",
    "bar",
    "bar",
    "big",
    "bigcap",
    "bigcup",
    "bigg",
    "Big",
    "binom",
    "bmod",
    "boldsymbol",
    "bot",
    "boxed",
    "bullet",
    "begin",
    "beta",
    "because",
    "fbox",
    "flat",
    "floor",
    "forall",
    "frac",
    "frown",
    "nabla",
    "ne",
    "nearrow",
    "neg",
    "neq",
    "nexists",
    "ngtr",
    "ni",
    "nleq",
    "nless",
    "nmid",
    "not",
    "notin",
    "nparallel",
    "nsubseteq",
    "nu",
    "rangle",
    "rbrace",
    "rceil",
    "rfloor",
    "rho",
    "right",
    "rightarrow",
    "rm",
    "Rightarrow",
    "tan",
    "tanh",
    "tau",
    "tbinom",
    "text",
    "textbf",
    "textit",
    "textrm",
    "tfrac",
    "theta",
    "therefore",
    "tilde",
    "times",
    "to",
    "top",
    "triangle",
    "triangleq",
    "underbrace",
    "underline",
    "underset",
    "unlhd",
    "uparrow",
    "upsilon",
]
_LATEX = re.compile(r"\\(?=(?:" + "|".join(_COMMANDS) + r")(?![a-zA-Z]))")
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NOTHING = ("", "none", "n/a", "na", "null", "no", "nothing", "no fallacies", "no fallacy", "[]", "-", "none found")
_LABELLED = re.compile(
    r"\bverdict\b[\"'*_`\s]*[:=][\"'*_`\s]*(partially[ _-]?correct|partial|incorrect|correct)\b(?!\s*/|\s*\|)",
    re.IGNORECASE,
)
_LABELLED_TAGS = re.compile(
    r"\bfallac(?:ies|y)\b[\"'*_`\s]*[:=]\s*(.*?)(?=\s*\b(?:verdict|reasoning|first[ _]wrong[ _]step)\b[\"'*_`\s]*[:=]|\Z)",
    re.IGNORECASE | re.DOTALL,
)
NESTING_LIMIT = 200
TEXT_LIMIT = 400_000


class Unparsed(Exception):
    """A reply that holds no verdict that can be read for certain; `kind` is what reports count by."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Judged:
    """What a reply says."""

    verdict: VerdictName
    fallacies: list[Fallacy]
    reasoning: str | None
    first_wrong_step: str | None


def read_reply(text: str | None, finish_reason: str | None, taxonomy: Taxonomy) -> Judged:
    """The last complete answer of a reply (its reasoning already cut off). Raises Unparsed."""
    refuse_unread(text, finish_reason)
    assert text is not None
    found = last_object(text)
    if found is None:
        found = _labelled(text)
    fields = {str(k).strip().lower().replace(" ", "_"): v for k, v in found.items()}
    if "fallacies" not in fields:
        raise Unparsed("missing_field", "the reply has no field 'fallacies'")
    return Judged(
        verdict=_verdict(fields["verdict"]),
        fallacies=_fallacies(fields["fallacies"], taxonomy),
        reasoning=_text(fields.get("reasoning")),
        first_wrong_step=_text(fields.get("first_wrong_step")),
    )


def refuse_unread(text: str | None, finish_reason: str | None) -> None:
    """Raise Unparsed for a reply that is refused whatever stands in it: cut off, empty, or endless."""
    if finish_reason == "length":
        raise Unparsed("cut_off", "the reply was cut off by the token limit")
    if text is None or not text.strip():
        raise Unparsed("no_reply", "the reply is empty")
    if len(text) > TEXT_LIMIT:
        raise Unparsed("unparsed", f"the reply has {len(text)} characters")


# --- finding the answer -----------------------------------------------------------------------------------------------


class _Twice(dict[str, Any]):
    """An object in which one key stands twice with different values."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    clash = any(plain[k] != v for k, v in pairs)
    return _Twice(plain) if clash else plain


def last_object(text: str) -> dict[str, Any] | None:
    """The last complete JSON object that holds a verdict, itself or one level deeper. Null where no object does.

    What a student or a rubric is quoted as saying stands inside strings, or before the judge's own answer."""
    text = _keep_escaped(text)
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)
    best, at, outside = None, 0, []
    while (brace := text.find("{", at)) >= 0:
        outside.append(text[at:brace])
        if _depth(text, brace) > NESTING_LIMIT:
            raise Unparsed("unparsed", "the reply nests too deep")
        try:
            value, at = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            at = brace + 1
            continue
        holder = _holder(value)
        best = holder if holder is not None else best
    if best is not None and re.search(r'"\s*verdict\s*"\s*:', "".join([*outside, text[at:]]), re.IGNORECASE):
        raise Unparsed("unparsed", "a verdict stands in JSON that is not complete, beside one that is")
    if isinstance(best, _Twice):
        raise Unparsed("ambiguous", "one field stands twice in the reply, with different contents")
    return best


def _keep_escaped(text: str) -> str:
    """Double the backslash of LaTeX commands that JSON would take for escapes, where it is not doubled already."""
    out, at = [], 0
    while (found := text.find("\\", at)) >= 0:
        out.append(text[at:found])
        if text.startswith("\\\\", found):
            out.append("\\\\")
            at = found + 2
        elif _LATEX.match(text, found):
            out.append("\\\\")
            at = found + 1
        elif found + 1 < len(text) and not _BAD_ESCAPE.match(text, found):
            out.append(text[found : found + 2])
            at = found + 2
        else:
            out.append("\\\\")
            at = found + 1
    return "".join([*out, text[at:]])


def _depth(text: str, at: int) -> int:
    """A bound on how deep the value that begins at `at` nests."""
    run = 0
    while at + run < len(text) and text[at + run] in "{[ \n":
        run += 1
    return run


def _holder(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    keys = {str(k).strip().lower() for k in value}
    if "verdict" in keys:
        return value
    inner = [v for v in value.values() if isinstance(v, dict) and "verdict" in {str(k).strip().lower() for k in v}]
    return inner[-1] if inner else None


def _labelled(text: str) -> dict[str, Any]:
    """Fields written as `Verdict: ...`, also all on one line. The last of each counts."""
    verdicts = _LABELLED.findall(text)
    if not verdicts:
        raise Unparsed("unparsed", "the reply holds no verdict that can be read")
    tags = _LABELLED_TAGS.findall(text)
    return {"verdict": verdicts[-1], **({"fallacies": tags[-1]} if tags else {})}


# --- reading its fields -----------------------------------------------------------------------------------------------


def _verdict(value: Any) -> VerdictName:
    found = OWN_WORDS.get(plain_word(value.replace("-", " "))) if isinstance(value, str) else None
    if found is not None:
        return found
    raise Unparsed("unknown_verdict", f"{_short(value)} is none of {', '.join(VERDICTS)}")


def _fallacies(value: Any, taxonomy: Taxonomy) -> list[Fallacy]:
    if value is None or (isinstance(value, str) and plain_word(value).strip("\"',. ") in _NOTHING):
        return []
    if isinstance(value, str):
        parts = re.split(r"[\n;,]", value)
        value = [p for p in (re.sub(r"^[\s\-*•\d.)]+", "", part).strip(" *_`\"'.[]") for part in parts) if p]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise Unparsed("unparsed", f"the field 'fallacies' holds {_short(value)}")
    return [f for f in (_fallacy(item, taxonomy) for item in value) if f is not None]


def _fallacy(item: Any, taxonomy: Taxonomy) -> Fallacy | None:
    fields = {str(k).strip().lower(): v for k, v in item.items()} if isinstance(item, dict) else {"tag": item}
    name = next((fields[k] for k in ("tag", "name", "fallacy") if k in fields), None)
    if name is None or (isinstance(name, str) and plain_word(name) in _NOTHING):
        return None
    tag = taxonomy.find(name) if isinstance(name, str) else None
    if tag is None:
        raise Unparsed("unknown_tag", f"{_short(name)} is no fallacy of the taxonomy {taxonomy.name}")
    return Fallacy(tag=tag, quote=_text(fields.get("quote")), explanation=_text(fields.get("explanation")))


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."

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
_FIELD = r"(?:verdict|fallac(?:y|ies)|reasoning|first[ _]wrong[ _]step)"
_LABELLED = re.compile(
    rf"(?<!\")\bverdict\b[\"'*_`\s]*[:=]\s*(.*?)(?=\s*\b{_FIELD}\b[\"'*_`\s]*[:=]|[\n;]|\.(?:\s|$)|$)", re.I
)
_LABELLED_TAGS = re.compile(
    rf"\bfallac(?:ies|y)\b[\"'*_`\s]*[:=]\s*(.*?)(?=\s*\b{_FIELD}\b[\"'*_`\s]*[:=]|\Z)", re.I | re.DOTALL
)
NESTING_LIMIT = 200
TEXT_LIMIT = 400_000
MOST_ATTEMPTS = 200
"""Opening braces that are tried as the begin of a JSON object."""


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


def read_reply(text: str | None, finish_reason: str | None, taxonomy: Taxonomy, shown: str = "") -> Judged:
    """The last complete answer of a reply (its reasoning already cut off). Raises Unparsed.

    `shown` is the material that the judge was shown: JSON that stands there already is quoted, and not its own.
    """
    refuse_unread(text, finish_reason)
    assert text is not None
    found = last_object(text, shown)
    if found is None:
        found = _labelled(text)
    if "fallacies" not in found:
        raise Unparsed("missing_field", "the reply has no field 'fallacies'")
    return Judged(
        verdict=_verdict(found["verdict"]),
        fallacies=_fallacies(found["fallacies"], taxonomy),
        reasoning=_text(found.get("reasoning")),
        first_wrong_step=_text(found.get("first_wrong_step")),
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
    plain: dict[str, Any] = {}
    for key, value in pairs:
        if plain.setdefault(_field(key), value) != value:
            return _Twice({_field(k): v for k, v in pairs})
    return plain


def _field(key: str) -> str:
    return key.strip().lower().replace(" ", "_")


FIELDS = {"reasoning", "fallacies", "verdict"}


def last_object(text: str, shown: str = "", fields: set[str] = FIELDS) -> dict[str, Any] | None:
    """The last complete JSON object that holds a verdict, itself or one level deeper. Null where no object does.

    What stands in `shown` is passed over. Where objects disagree, the last counts only if it has all `fields` and the
    reply ends with it; else it may be a quotation, and the reply is ambiguous.
    """
    text = _keep_escaped(text)
    quotable = _squeezed(_keep_escaped(shown))
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)
    held: list[dict[str, Any]] = []
    outside: list[str] = []
    at = failed = ends = 0
    while (brace := text.find("{", at)) >= 0:
        outside.append(text[at:brace])
        if failed >= MOST_ATTEMPTS or _depth(text, brace) > NESTING_LIMIT:
            raise Unparsed("unparsed", "the reply nests too deep, or holds too many braces that are no JSON")
        try:
            value, at = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            at, failed = brace + 1, failed + 1
            continue
        if (found := _holders(value)) and _squeezed(text[brace:at]) not in quotable:
            held, ends = [*held, *found], at
    if not held:
        return None
    if re.search(r'"\s*verdict\s*"\s*:', "".join([*outside, text[at:]]), re.IGNORECASE):
        raise Unparsed("unparsed", "a verdict stands in JSON that is not complete, beside one that is")
    last = held[-1]
    if isinstance(last, _Twice):
        raise Unparsed("ambiguous", "one field stands twice in the reply, with different contents")
    agreed = all(h["verdict"] == last["verdict"] for h in held)
    if not agreed and not (fields <= last.keys() and not text[ends:].strip(" \n`}")):
        raise Unparsed("ambiguous", "several verdicts stand in the reply, and the last one may be a quotation")
    return last


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


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


def _holders(value: Any) -> list[dict[str, Any]]:
    """The objects that hold a verdict: the value itself, or those one level deeper, which must agree."""
    if not isinstance(value, dict):
        return []
    if "verdict" in value:
        return [value]
    inner = [v for v in value.values() if isinstance(v, dict) and "verdict" in v]
    if any(v["verdict"] != inner[0]["verdict"] for v in inner):
        raise Unparsed("ambiguous", "the reply names several verdicts one level deeper")
    return inner[-1:]


def _labelled(text: str) -> dict[str, Any]:
    """Fields written as `Verdict: ...`, also all on one line. A verdict counts only where its word is all that stands in
    its field, and where the reply does not name another one besides."""
    verdicts = [v.strip(" \t*_`\"'") for v in _LABELLED.findall(text)]
    if not verdicts:
        raise Unparsed("unparsed", "the reply holds no verdict that can be read")
    read = {_known_verdict(v) for v in verdicts}
    if len(read) > 1:
        raise Unparsed("ambiguous", f"the reply names several verdicts: {', '.join(map(_short, verdicts))}")
    tags = _LABELLED_TAGS.findall(text)
    return {"verdict": verdicts[-1], **({"fallacies": tags[-1]} if tags else {})}


# --- reading its fields -----------------------------------------------------------------------------------------------


def _known_verdict(value: Any) -> VerdictName | None:
    return OWN_WORDS.get(plain_word(value.replace("-", " "))) if isinstance(value, str) else None


def _verdict(value: Any) -> VerdictName:
    found = _known_verdict(value)
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
    if name is None and not any(fields.values()):
        return None
    if isinstance(name, str) and plain_word(name) in _NOTHING:
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

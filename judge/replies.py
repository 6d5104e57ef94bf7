"""Read a judge model's reply. What cannot be read for certain is `Unparsed` with a reason, never a verdict."""

import json
import re
from dataclasses import dataclass
from typing import Any

from generate.engines import Reasoning, split_reasoning
from generate.labels import VERDICTS, VerdictName
from generate.tables import OWN_WORDS, plain_number, plain_word
from judge.prompt import OTHER
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


_THOUGHTS = re.compile(r"\s*([<\[](?:think|thinking|thought|thoughts|reasoning)[>\]])", re.I)
_CLOSING = re.compile(r"[<\[]/(?:think|thinking|thought|thoughts|reasoning)[>\]]", re.I)
_MARK = re.compile(r"[<\[](/?)(?:think|thinking|thought|thoughts|reasoning)[>\]]", re.I)
_THOUGHTS_END = re.compile(
    _CLOSING.pattern
    + r"(?=\s*(?:```(?:json)?\s*)?(?:\{\s*\"|[*_#`\s]*(?:reasoning|fallac|verdict|points|items|doubts)))",
    re.I,
)


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
    """The last complete grade of a reply. Raises Unparsed.

    `shown` is the material that the judge was shown: JSON that stands there already is quoted, and not its own.
    """
    return _judged(_graded(text, finish_reason, shown), taxonomy)


def read_decision(text: str | None, finish_reason: str | None, taxonomy: Taxonomy, shown: str = "") -> Judged:
    """The same where each flaw must say whether it is fatal, and may be one that no tag fits. Raises Unparsed."""
    said = _judged(_graded(text, finish_reason, shown), taxonomy, decides=True)
    if any(f.fatal is None for f in said.fallacies):
        raise Unparsed("missing_field", "a flaw does not say whether it is fatal")
    return said


def read_doubts(text: str | None, finish_reason: str | None, shown: str = "") -> tuple[str | None, list[Any]]:
    """The reasoning of a first reading, and the steps it doubts, each with `quote` and `why`. Raises Unparsed."""
    own = own_words(text, finish_reason)
    found = last_object(own, shown, {"doubts"}, "doubts")
    if found is None:
        raise Unparsed("unparsed", "the reply holds no list of doubted steps that can be read")
    value = found["doubts"]
    if value is None or (isinstance(value, str) and _means_nothing(value)):
        value = []
    value = [value] if isinstance(value, str | dict) else value
    if not isinstance(value, list):
        raise Unparsed("unparsed", f"the field 'doubts' holds {_short(value)}")
    doubts = []
    for item in value:
        fields = {_field(str(k)): v for k, v in item.items()} if isinstance(item, dict) else {"why": item}
        quote, why = _text(fields.get("quote")), _text(fields.get("why", fields.get("reason")))
        if (quote or why) and not _means_nothing(quote or why or ""):
            doubts.append({"quote": quote, "why": why})
    return _text(found.get("reasoning")), doubts


@dataclass(frozen=True)
class Pointed:
    """What a reply by a rubric says."""

    points: float
    items: list[dict[str, Any]]
    reasoning: str | None


def read_points(text: str | None, finish_reason: str | None, most: int, shown: str = "") -> Pointed:
    """The last complete grade in whole points, 0 to `most`, and the rubric's items with theirs. Raises Unparsed.

    Points are read from their own field alone: `5`, `5/7` or `5 out of 7`, where 7 is the most. A number that stands
    anywhere else (in the reasoning, quoted from the rubric) is no grade.
    """
    own = own_words(text, finish_reason)
    found = last_object(own, shown, {"items", "points"}, "points")
    if found is None:
        raise Unparsed("unparsed", "the reply holds no JSON object with points")
    if "items" not in found:
        raise Unparsed("missing_field", "the reply has no field 'items'")
    items = found["items"]
    if items is None or (isinstance(items, str) and _means_nothing(items)):
        items = []
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise Unparsed("unparsed", f"the field 'items' holds {_short(items)}")
    return Pointed(_points(found["points"], most), [_item(i) for i in items], _text(found.get("reasoning")))


def own_words(text: str | None, finish_reason: str | None) -> str:
    """The reply without the thoughts that stand before it. Raises Unparsed for one that is refused whatever stands in it:
    cut off, empty, endless, or nothing but thoughts."""
    if finish_reason == "length":
        raise Unparsed("cut_off", "the reply was cut off by the token limit")
    if text is None or not text.strip():
        raise Unparsed("no_reply", "the reply is empty")
    if len(text) > TEXT_LIMIT:
        raise Unparsed("unparsed", f"the reply has {len(text)} characters")
    opening = _THOUGHTS.match(text)
    if opening:
        marks = Reasoning(start=opening[1], end=opening[1].replace(opening[1][0], opening[1][0] + "/", 1))
        said, _ = split_reasoning(text, marks)
    else:  # the chat template may have opened them; a closing that a grade only quotes is not followed by one
        said = _THOUGHTS_END.split(text)[-1]
    if said is None or not said.strip():
        raise Unparsed("no_reply", "the reply is nothing but reasoning")
    return said


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


def last_object(
    text: str, shown: str = "", fields: set[str] = FIELDS, holder: str = "verdict"
) -> dict[str, Any] | None:
    """The last complete JSON object with the field `holder`, itself or one level deeper. Null where no object has it.

    What stands in `shown` is passed over. Where objects disagree, the last counts only if it has all `fields` and the
    reply ends with it; else it may be a quotation, and the reply is ambiguous.
    """
    text = _keep_escaped(text)
    quotable = _squeezed(_keep_escaped(shown))
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)
    held: list[dict[str, Any]] = []
    outside: list[str] = []
    at = failed = ends = before = 0
    while (brace := text.find("{", at)) >= 0:
        outside.append(text[at:brace])
        if failed >= MOST_ATTEMPTS or _depth(text, brace) > NESTING_LIMIT:
            raise Unparsed("unparsed", "the reply nests too deep, or holds too many braces that are no JSON")
        try:
            value, at = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            at, failed = brace + 1, failed + 1
            continue
        if (found := _holders(value, holder)) and _squeezed(text[brace:at]) not in quotable:
            held, ends, before = [*held, *found], at, len(outside)
    if not held:
        return None
    if re.search(rf'"\s*{holder}\s*"\s*:', "".join([*outside, text[at:]]), re.IGNORECASE):
        raise Unparsed("unparsed", f"a {holder} stands in JSON that is not complete, beside one that is")
    _refuse_thought("".join(outside[:before]), text[ends:])
    last = held[-1]
    if isinstance(last, _Twice):
        raise Unparsed("ambiguous", "one field stands twice in the reply, with different contents")
    agreed = all(h[holder] == last[holder] for h in held)
    if not agreed and not (fields <= last.keys() and not text[ends:].strip(" \n`}")):
        raise Unparsed("ambiguous", f"several {_many(holder)} stand in the reply, and the last may be a quotation")
    return last


def _refuse_thought(before: str, after: str) -> None:
    """Raises Unparsed where the last grade stands within thoughts: they begin before it and do not end, or end after it."""
    marks = _MARK.findall(before)
    if (marks and marks[-1] == "") or _CLOSING.search(after):
        raise Unparsed("no_reply", "a grade stands in the model's thoughts, and none comes after them")


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


def _many(holder: str) -> str:
    return "verdicts" if holder == "verdict" else f"fields '{holder}'"


def _holders(value: Any, holder: str) -> list[dict[str, Any]]:
    """The objects that have the field: the value itself, or those one level deeper, which must agree."""
    if not isinstance(value, dict):
        return []
    if holder in value:
        return [value]
    inner = [v for v in value.values() if isinstance(v, dict) and holder in v]
    if any(v[holder] != inner[0][holder] for v in inner):
        raise Unparsed("ambiguous", f"the reply names several {_many(holder)} one level deeper")
    return inner[-1:]


def _graded(text: str | None, finish_reason: str | None, shown: str) -> dict[str, Any]:
    own = own_words(text, finish_reason)
    found = last_object(own, shown)
    return _labelled(own, shown) if found is None else found


def _labelled(text: str, shown: str) -> dict[str, Any]:
    """Fields written as `Verdict: ...`, also all on one line. A verdict counts only where its word is all that stands in
    its field, where the reply does not name another one besides, and where it does not stand in `shown` in these words."""
    found = list(_LABELLED.finditer(text))
    verdicts = [m[1].strip(" \t*_`\"'") for m in found]
    if not verdicts:
        raise Unparsed("unparsed", "the reply holds no verdict that can be read")
    read = {_known_verdict(v) for v in verdicts}
    if len(read) > 1:
        raise Unparsed("ambiguous", f"the reply names several verdicts: {', '.join(map(_short, verdicts))}")
    _refuse_thought(text[: found[-1].start()], text[found[-1].end() :])
    if any(_bare(m[0]) in _bare(shown) for m in found):
        raise Unparsed("unparsed", "the verdict stands in the solution in the same words, and may be quoted from it")
    tags = _LABELLED_TAGS.findall(text)
    return {"verdict": verdicts[-1], **({"fallacies": tags[-1]} if tags else {})}


def _bare(text: str) -> str:
    """Words without white space, emphasis, quotation marks and case."""
    return re.sub(r"[\s*_`\"']+", "", text).casefold()


# --- reading its fields -----------------------------------------------------------------------------------------------


def _known_verdict(value: Any) -> VerdictName | None:
    return OWN_WORDS.get(plain_word(value.replace("-", " "))) if isinstance(value, str) else None


def _verdict(value: Any) -> VerdictName:
    found = _known_verdict(value)
    if found is not None:
        return found
    raise Unparsed("unknown_verdict", f"{_short(value)} is none of {', '.join(VERDICTS)}")


def _judged(found: dict[str, Any], taxonomy: Taxonomy, decides: bool = False) -> Judged:
    if "fallacies" not in found:
        raise Unparsed("missing_field", "the reply has no field 'fallacies'")
    return Judged(
        verdict=_verdict(found["verdict"]),
        fallacies=_fallacies(found["fallacies"], taxonomy, decides),
        reasoning=_text(found.get("reasoning")),
        first_wrong_step=_text(found.get("first_wrong_step")),
    )


def _fallacies(value: Any, taxonomy: Taxonomy, decides: bool) -> list[Fallacy]:
    if value is None or (isinstance(value, str) and _means_nothing(value)):
        return []
    if isinstance(value, str):
        parts = re.split(r"[\n;,]", value)
        value = [p for p in (re.sub(r"^[\s\-*•\d.)]+", "", part).strip(" *_`\"'.[]") for part in parts) if p]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise Unparsed("unparsed", f"the field 'fallacies' holds {_short(value)}")
    return [f for f in (_fallacy(item, taxonomy, decides) for item in value) if f is not None]


def _fallacy(item: Any, taxonomy: Taxonomy, decides: bool) -> Fallacy | None:
    fields = {_field(str(k)): v for k, v in item.items()} if isinstance(item, dict) else {"tag": item}
    name = next((fields[k] for k in ("tag", "name", "fallacy") if k in fields), None)
    if name is None and not any(fields.values()):
        return None
    if isinstance(name, str) and _means_nothing(name):
        return None
    tag = taxonomy.find(name) if isinstance(name, str) else None
    if tag is None and decides and isinstance(name, str) and plain_word(name) == OTHER.lower():
        tag = OTHER
    if tag is None:
        raise Unparsed("unknown_tag", f"{_short(name)} is no fallacy of the taxonomy {taxonomy.name}")
    fatal = _TRUTH.get(str(fields.get("fatal")).strip().lower()) if decides else None
    return Fallacy(tag=tag, quote=_text(fields.get("quote")), explanation=_text(fields.get("explanation")), fatal=fatal)


_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def _means_nothing(words: str) -> bool:
    return plain_word(words).strip("\"',. ") in _NOTHING


def _points(value: Any, most: int) -> float:
    number = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        given = re.fullmatch(r"\s*(\S+?)\s*(?:(?:/|out of)\s*(\S+))?\s*(?:points?)?[\s.]*", value.strip("*_` "), re.I)
        if given and (given[2] is None or plain_number(given[2].rstrip(".")) == most):
            number = plain_number(given[1].rstrip("."))
    if number is None or not 0 <= number <= most or number != int(number):
        raise Unparsed("unknown_points", f"{_short(value)} is no whole number of points from 0 to {most}")
    return number


def _item(fields: dict[str, Any]) -> dict[str, Any]:
    said = {_field(str(k)): v for k, v in fields.items()}
    points = said.get("points")
    known = isinstance(points, int | float) and not isinstance(points, bool)
    return {
        "item": _text(said.get("item")),
        "explanation": _text(said.get("explanation")),
        "points": points if known else None,
    }


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."

"""The data that the page carries: a small table of all rows, and the long texts in compressed blocks that the page's
script decodes when a row is opened. JSON, compressed by zlib, as base64: no text can end the element it stands in."""

import base64
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from calibrate.gold import STATES, answer_states
from calibrate.material import OUTCOMES
from calibrate.report.page.concerns import CONCERNS, gravest
from calibrate.report.page.mathematics import Setter
from calibrate.report.page.records import Judged, Records, distance
from generate.labels import VERDICTS
from generate.problems import Problem
from judge.taxonomy import Taxonomy

Json = dict[str, Any]
BLOCK_BYTES = 700_000
"""Of JSON in one block: decoded in some 10 ms."""
MAX_TEXT = 200_000
"""Characters shown of one text; a longer one says how much is left out."""
MAX_SEARCHED = 1_500
"""Characters of a problem's statement that the search looks through."""
BUDGET = {"text": 34_000_000, "raw": 14_000_000}
"""Characters of base64 for texts, and for raw replies. What comes after is not in the page, which says so: with the
rest of it, it stays under 60 MB."""
NONE, TIE = -1, -2
FAILED, UNJUDGED, UNSAID = -3, -4, -5


@dataclass
class Blocks:
    """Texts of one kind, in blocks. `put` says where one is, as [block, place in it]; null once the budget is spent."""

    budget: int
    done: list[str] = field(default_factory=list)
    _open: list[bytes] = field(default_factory=list)
    _size: int = 0
    _spent: int = 0

    def put(self, content: Any) -> list[int] | None:
        if self._spent > self.budget:
            return None
        text = orjson.dumps(content)
        place = [len(self.done), len(self._open)]
        self._open.append(text)
        self._size += len(text)
        if self._size > BLOCK_BYTES:
            self.close()
        return place

    def close(self) -> None:
        if self._open:
            self.done.append(packed(b"[" + b",".join(self._open) + b"]"))
            self._spent += len(self.done[-1])
            self._open, self._size = [], 0


def packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()


@dataclass
class Data:
    """What goes into the page's data elements."""

    table: Json
    texts: list[str]
    raw: list[str]


class Gathering:
    """Makes the page's data of a study's records."""

    def __init__(self, records: Records, taxonomy: Taxonomy, threshold: float | None):
        self.records = records
        self.taxonomy = taxonomy
        self.threshold = threshold
        self.setter = Setter()
        self.texts = Blocks(BUDGET["text"])
        self.raw = Blocks(BUDGET["raw"])
        self.problems: dict[str, int] = {}
        self.problem_rows: list[Json] = []
        self.models: dict[str, int] = {}
        self.tags = {tag: i for i, tag in enumerate(taxonomy.names)}

    def data(self) -> Data:
        rows = [self._row(judged) for judged in self.records]
        self.texts.close()
        self.raw.close()
        table = {
            "judges": self.records.judges,
            "total": self.records.total,
            "models": list(self.models),
            "problems": self.problem_rows,
            "tags": list(self.tags),
            "concerns": CONCERNS,
            "rows": rows,
        }
        return Data(table, self.texts.done, self.raw.done)

    # the table

    def _row(self, judged: Judged) -> Json:
        solution = judged.solution
        model = self.models.setdefault(solution["model"], len(self.models))
        gold = judged.gold
        human = NONE
        if gold is not None:
            human = TIE if gold.unresolved else _verdict_code(gold.verdict)
        return {
            "i": solution["id"],
            "p": self._problem(solution["problem_id"], judged.problem),
            "m": model,
            "k": judged.kind,
            "h": human,
            "b": int(gold is not None and gold.binary),
            "hp": gold.points if gold else None,
            "ht": self._tags(gold.tags) if gold and gold.tags is not None else None,
            "a": _answer_state(judged),
            "j": [self._judge_cell(judged, verdict) for verdict in judged.verdicts],
            "at": self.texts.put(self._detail(judged)),
        }

    def _judge_cell(self, judged: Judged, verdict: Json | None) -> list[Any]:
        """[verdict or why there is none, points, tags, gravest concern, distance from the label]"""
        concern = gravest(judged.solution, verdict, judged.answer, self.threshold)
        if verdict is None:
            return [UNJUDGED, None, None, concern, None]
        said = [verdict.get(k) for k in ("verdict", "points", "fallacies")]
        if verdict.get("error") or said == [None] * 3:
            return [FAILED, None, None, concern, None]
        code = _verdict_code(verdict["verdict"]) if verdict.get("verdict") else UNSAID
        named = None if said[2] is None else self._tags(f["tag"] for f in said[2])
        apart = distance(judged.gold, verdict) if judged.gold else None
        return [code, verdict.get("points"), named, concern, None if apart is None else round(apart, 4)]

    def _tags(self, tags: Iterable[str]) -> list[int]:
        found = (self.taxonomy.find(tag) or tag for tag in tags)
        return sorted({self.tags.setdefault(tag, len(self.tags)) for tag in found})

    def _problem(self, name: str, problem: Problem | None) -> int:
        if name not in self.problems:
            self.problems[name] = len(self.problem_rows)
            parts = ("statement", "reference_solution", "rubric", "answer")
            detail = {k: self._text(getattr(problem, k)) for k in parts} if problem else {}
            if problem and problem.answer and "$" not in problem.answer and "\\" in problem.answer:
                detail["answer"] = self._text(f"${problem.answer}$")
            self.problem_rows.append(
                {
                    "i": name,
                    "t": problem.topic if problem else None,
                    "s": (problem.statement or "")[:MAX_SEARCHED] if problem else "",
                    "at": self.texts.put(detail),
                }
            )
        return self.problems[name]

    # the texts behind a row

    def _text(self, text: str | None) -> Any:
        """A text as the page sets it; null where there is none."""
        return None if text is None else self.setter.cut(_bounded(text))[0]

    def _detail(self, judged: Judged) -> Json:
        """The solution with its marks, and all that is said of it. A mark is [kind, of which label or judge, first part,
        last part + 1]."""
        text = judged.solution.get("text")
        marks: list[tuple[int, int]] = []

        def mark(start: int | None, end: int | None) -> int | None:
            if start is None or end is None or not text or not 0 <= start < end or start >= len(text):
                return None
            marks.append((start, end))
            return len(marks) - 1

        answer = judged.answer
        detail = {
            "labels": [self._label(x, mark) for x in judged.labels],
            "judges": [None if v is None else self._verdict(v, mark) for v in judged.verdicts],
            "answer": None,
        }
        if answer is not None:
            keys = ("outcome", "method", "reason", "extracted")
            lenient = judged.lenient
            detail["answer"] = {k: answer.get(k) for k in keys} | {
                "mark": mark(answer.get("start"), answer.get("end")),
                "lenient": {k: lenient.get(k) for k in keys} if lenient else None,
            }
        if text is not None:
            pieces, places = self.setter.cut(_bounded(text), marks)
            detail |= {"text": pieces, "marks": places}
        error = judged.solution.get("error")
        detail["error"] = {k: error.get(k) for k in ("kind", "message")} if error else None
        detail["finish"] = judged.solution.get("finish_reason")
        return detail

    def _label(self, label: Any, mark: Any) -> Json:
        return {
            "by": label.annotator,
            "kind": label.kind,
            "verdict": label.verdict,
            "binary": label.scale == "binary",
            "points": label.points,
            "max": label.max_points,
            "tags": label.fallacies,
            "answer": label.answer_correct,
            "comment": self._text(label.comment),
            "spans": [
                {"tag": s.tag, "comment": self._text(s.comment), "mark": mark(s.start, s.end)}
                for s in label.spans or ()
            ],
        }

    def _verdict(self, verdict: Json, mark: Any) -> Json:
        error = verdict.get("error")
        return {
            "verdict": verdict.get("verdict"),
            "points": verdict.get("points"),
            "max": verdict.get("max_points"),
            "probabilities": verdict.get("probabilities"),
            "reasoning": self._text(verdict.get("reasoning")),
            "wrong": self._text(verdict.get("first_wrong_step")),
            "items": [{k: self._text(_said(v)) for k, v in item.items()} for item in verdict.get("items") or ()],
            "fallacies": None
            if verdict.get("fallacies") is None
            else [self._fallacy(f, mark) for f in verdict["fallacies"]],
            "apart": [self._fallacy(f, mark) for f in verdict.get("apart") or ()],
            "doubts": [{k: self._text(_said(v)) for k, v in d.items()} for d in verdict.get("doubts") or ()],
            "error": {k: error.get(k) for k in ("kind", "message")} if error else None,
            "votes": [self._vote(v, len(verdict["votes"]) > 1) for v in verdict.get("votes") or ()],
            "saved": verdict.get("votes_saved"),
        }

    def _fallacy(self, fallacy: Json, mark: Any) -> Json:
        return {
            "tag": fallacy["tag"],
            "quote": self._text(fallacy.get("quote")),
            "why": self._text(fallacy.get("explanation")),
            "fatal": fallacy.get("fatal"),
            "probability": fallacy.get("probability"),
            "mark": mark(fallacy.get("start"), fallacy.get("end")),
        }

    def _vote(self, vote: Json, several: bool) -> Json:
        """One reading. Its reasoning stands in its reply; of a single reading it is the verdict's own."""
        error = vote.get("error") or {}
        raw = vote.get("raw") or error.get("raw")
        return {
            "by": vote.get("judge"),
            "verdict": vote.get("verdict"),
            "points": vote.get("points"),
            "finish": vote.get("finish_reason"),
            "tags": vote.get("tags"),
            "reasoning": self._text(_reasoning(raw)) if several else None,
            "error": {k: error.get(k) for k in ("kind", "message")} if error else None,
            "raw": None
            if raw is None
            else self.raw.put([_bounded(r) for r in (*(vote.get("earlier") or ()), raw)]) or [],
        }


def _reasoning(raw: str | None) -> str | None:
    """The reasoning of a reply that is one JSON object; null for any other."""
    try:
        said = orjson.loads(raw or "")
    except orjson.JSONDecodeError:
        return None
    found = said.get("reasoning") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None


def _said(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _bounded(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()  # lone surrogates, which JSON cannot hold
    return clean if len(clean) <= MAX_TEXT else f"{clean[:MAX_TEXT]}\n\n[cut here: {len(clean):,} characters in all]"


def _verdict_code(verdict: str | None) -> int:
    return NONE if verdict is None else VERDICTS.index(verdict)


def _answer_state(judged: Judged) -> str | None:
    """As final-answer accuracy counts it; null for a problem without a final answer."""
    human = judged.gold.answer_correct if judged.gold and judged.kind == "human" else None
    if human is None and (judged.problem is None or judged.problem.answer is None):
        return None
    solution = judged.solution
    finish = solution.get("finish_reason")
    outcome = -1 if judged.answer is None else OUTCOMES.index(judged.answer["outcome"])
    fared = finish == "length", solution.get("error") is not None, finish is not None
    states = answer_states(
        np.array([outcome]), np.array([-1 if human is None else human]), *(np.array([x]) for x in fared)
    )
    return STATES[states[0]]

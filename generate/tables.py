"""Problems, recorded solutions, human labels and recorded judges from a table: CSV, TSV, JSONL or Parquet, or a dataset
on Hugging Face. What each column means is said by the config (`conf/dataset/table.yaml`)."""

import csv
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from generate.journal import BadInput, Failure, key_of, text_hash
from generate.labels import VERDICTS, Finding, HumanLabel, Judgement, Span, VerdictName
from generate.problems import Dataset, Problem
from generate.solutions import Solution
from generate.stage import Number, NumberMap, TextMap, settings

OWN_WORDS: dict[str, VerdictName] = {
    "correct": "correct",
    "partially correct": "partially_correct",
    "partial": "partially_correct",
    "incorrect": "incorrect",
}
TRUE_WORDS = {
    "true": True,
    "yes": True,
    "1": True,
    "correct": True,
    "false": False,
    "no": False,
    "0": False,
    "incorrect": False,
}
CELL_LIMIT = 1 << 30


@settings
class Columns:
    """Which column of the table holds what; null: the table has none such."""

    problem_id: str | None = None
    problem: str | None = None
    answer: str | None = None
    reference_solution: str | None = None
    rubric: str | None = None
    topic: str | None = None
    source: str | None = None
    solution_id: str | None = None
    solution: str | None = None
    model: str | None = None
    annotator: str | None = None
    verdict: str | None = None
    points: str | None = None
    fallacies: str | None = None
    answer_correct: str | None = None
    spans: str | None = None
    comment: str | None = None
    stratum: str | None = None
    weight: str | None = None
    judges: TextMap | None = None
    findings: TextMap | None = None

    def named(self) -> dict[str, str]:
        """The knobs that name a column, but for the judges'."""
        return {k: v for k, v in vars(self).items() if isinstance(v, str)}


ABOUT_SOLUTION = (
    "solution",
    "model",
    "verdict",
    "points",
    "fallacies",
    "answer_correct",
    "spans",
    "comment",
    "annotator",
    "stratum",
    "weight",
)


@dataclass(frozen=True)
class Row:
    """One row, with all that a message about it needs."""

    file: str
    number: int
    cells: dict[str, Any]

    def bad(self, column: str, message: str) -> BadInput:
        return BadInput(f"{self.file}, row {self.number}, column '{column}': {message}")

    def text(self, column: str | None) -> str | None:
        """The cell as text; null for a missing or empty one."""
        value = self.cells.get(column) if column else None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                raise self.bad(str(column), "is not text (bytes that are not UTF-8)") from None
        text = value if isinstance(value, str) else _as_json(value) if isinstance(value, list | dict) else str(value)
        return text.encode("utf-8", "replace").decode() if text.strip() else None

    def name(self, column: str) -> str:
        text = self.text(column)
        if text is None:
            raise self.bad(column, "is empty, and every row needs an id")
        return text.strip()

    def number_in(self, column: str | None, low: float, high: float) -> float | None:
        text = self.text(column)
        if text is None or column is None:
            return None
        value = plain_number(text)
        if value is None:
            raise self.bad(column, f"{_short(text)} is not a number")
        if not low <= value <= high:
            raise self.bad(column, f"{_short(text)} is outside {low:g} to {high:g}")
        return value


@settings
class Table:
    """A table and what its columns mean."""

    name: str = "table"
    path: str | None = None
    hub: str | None = None
    split: str = "train"
    judges_path: str | None = None
    columns: Columns = Columns()
    solution_model: str = "recorded"
    annotator: str = "human"
    max_points: Annotated[Number, Field(gt=0)] = 7.0
    points_to_verdict: NumberMap = field(default_factory=lambda: {"correct": 6, "partially_correct": 1})
    verdict_words: TextMap | None = None
    word_points: NumberMap | None = None
    scale: Literal["three", "binary"] = "three"

    def __post_init__(self) -> None:
        for knob, path in (("path", self.path), ("judges_path", self.judges_path)):
            if path is not None and not Path(path).is_file():
                raise BadInput(f"{knob}: there is no file {path}")
        if self.path is None and self.hub is None:
            raise BadInput("path: must be given, such as dataset.path=FILE (CSV, TSV, JSONL or Parquet)")
        for knob, map_ in (("points_to_verdict", self.points_to_verdict), ("verdict_words", self.verdict_words)):
            names = map_ if knob == "points_to_verdict" else (map_ or {}).values()
            for name in names or ():
                if name not in VERDICTS:
                    raise BadInput(f"{knob}: '{name}' is no verdict; there are {', '.join(VERDICTS)}")
        if "correct" not in self.points_to_verdict:
            raise BadInput("points_to_verdict: must say the lowest points for 'correct'")
        top, lowest = self.max_points, self.points_to_verdict
        if not 0 <= lowest.get("partially_correct", 0) <= lowest["correct"] <= top:
            raise BadInput(
                f"points_to_verdict: partially_correct must not be above correct, nor correct ({lowest['correct']:g}) above "
                f"max_points ({top:g})"
            )
        if bad := next((w for w, points in (self.word_points or {}).items() if not 0 <= points <= top), None):
            raise BadInput(f"word_points: '{bad}' is outside 0 to {top:g}")
        columns = self.columns
        if columns.problem_id is None and columns.solution_id is None:
            raise BadInput("columns.problem_id: must be given, or columns.solution_id for a table without problems")
        needing = [k for k in ABOUT_SOLUTION if getattr(columns, k)] + [
            k for k in ("judges", "findings") if getattr(columns, k)
        ]
        if needing and columns.solution_id is None:
            raise BadInput(f"columns.solution_id: must be given, since columns.{needing[0]} is about solutions")

    def read(self) -> Dataset:
        return self.of(
            list(read_rows(Path(self.path)) if self.path is not None else hub_rows(str(self.hub), self.split))
        )

    def of(self, rows: list[Row]) -> Dataset:
        """What these rows amount to."""
        _need_columns(rows, self.columns.named())
        into = _Gathering(self)
        for row in rows:
            into.add(row)
        judges = self.columns.judges
        if self.judges_path is not None:
            self._judges_file(into)
        elif judges:
            _need_columns(rows, {f"judges.{k}": v for k, v in judges.items()})
            for row in rows:
                into.add_judges(row, row.name(str(self.columns.solution_id)), judges)
        if findings := self.columns.findings:
            _need_columns(rows, {f"findings.{k}": v for k, v in findings.items()})
            for row in rows:
                into.add_findings(row, row.name(str(self.columns.solution_id)), findings)
        return Dataset(
            list(into.problems.values()),
            list(into.solutions.values()),
            list(into.labels.values()),
            list(into.judgements.values()),
        )

    def _judges_file(self, into: "_Gathering") -> None:
        """Recorded judges that stand in a file of their own, joined on the solution's id. Without `columns.judges`
        every column of it is a judge, but for those that the main table is mapped by."""
        assert self.judges_path is not None
        id_column = str(self.columns.solution_id)
        rows = list(read_rows(Path(self.judges_path)))
        ours = set(self.columns.named().values())
        judges = self.columns.judges or {c: c for c in _columns(rows) if c not in ours}
        _need_columns(rows, {"solution_id": id_column} | {f"judges.{k}": v for k, v in judges.items()})
        for row in rows:
            solution_id = row.name(id_column)
            if solution_id not in into.solutions:
                raise row.bad(id_column, f"{_short(solution_id)} is not in {self.path or self.hub}")
            into.add_judges(row, solution_id, judges)

    # what a cell means

    def word(self, text: str) -> str | None:
        """The verdict that a word stands for, or null."""
        word = plain_word(text)
        source = {plain_word(k): v for k, v in (self.verdict_words or {}).items()}
        return source.get(word) or OWN_WORDS.get(word)

    def points_of_word(self, text: str) -> float | None:
        return {plain_word(k): v for k, v in (self.word_points or {}).items()}.get(plain_word(text))

    def verdict_of_points(self, points: float) -> str:
        """The best verdict whose lowest points are reached."""
        reached = [v for v in VERDICTS if v in self.points_to_verdict and points >= self.points_to_verdict[v]]
        best = reached[-1] if reached else "incorrect"
        return "incorrect" if self.scale == "binary" and best != "correct" else best


class _Gathering:
    """What the rows read so far amount to. One id with two different contents is bad input."""

    def __init__(self, table: Table):
        self.table = table
        self.problems: dict[str, Problem] = {}
        self.solutions: dict[str, Solution] = {}
        self.labels: dict[tuple[str, str], HumanLabel] = {}
        self.judgements: dict[tuple[str, str], Judgement] = {}
        self._samples: dict[tuple[str, str], int] = {}
        self._rows: set[tuple[str, str]] = set()

    def add(self, row: Row) -> None:
        columns = self.table.columns
        solution_id = row.name(columns.solution_id) if columns.solution_id else None
        problem = Problem(
            id=row.name(columns.problem_id) if columns.problem_id else str(solution_id),
            statement=row.text(columns.problem),
            answer=row.text(columns.answer),
            topic=row.text(columns.topic),
            source=row.text(columns.source),
            reference_solution=row.text(columns.reference_solution),
            rubric=row.text(columns.rubric),
        )
        known = self.problems.setdefault(problem.id, problem)
        if known != problem:
            differs = next(f for f in Problem.model_fields if getattr(known, f) != getattr(problem, f))
            column = getattr(columns, {"id": "problem_id", "statement": "problem"}.get(differs, differs), differs)
            raise row.bad(str(column), f"problem '{problem.id}' has another content here than in an earlier row")
        if solution_id is None:
            return
        self._add_solution(row, solution_id, problem)
        self._add_label(row, solution_id)

    def _add_solution(self, row: Row, solution_id: str, problem: Problem) -> None:
        columns, table = self.table.columns, self.table
        text = row.text(columns.solution)
        model = row.text(columns.model) or table.solution_model
        known = self.solutions.get(solution_id)
        if known is not None:
            if (known.text, known.problem_id, known.model) != (text, problem.id, model):
                column = columns.solution if known.text != text else columns.solution_id
                raise row.bad(str(column), f"solution '{solution_id}' has another content here than in an earlier row")
            return
        place = (problem.id, model)
        sample = self._samples.get(place, 0)
        self._samples[place] = sample + 1
        key = key_of(dataset=table.name, id=solution_id, model=model, statement=problem.statement, text=text)
        self.solutions[solution_id] = Solution(
            key=key, id=solution_id, problem_id=problem.id, model=model, sample=sample, text=text
        )

    def _add_label(self, row: Row, solution_id: str) -> None:
        columns, table = self.table.columns, self.table
        annotator = (row.text(columns.annotator) or table.annotator).strip()
        points = row.number_in(columns.points, 0, table.max_points)
        word = row.text(columns.verdict)
        if points is None and word is not None:
            points = table.points_of_word(word)
        verdict = None
        if word is not None and columns.verdict is not None:
            verdict = table.word(word) or ("" if table.points_of_word(word) is not None else None)
            if verdict is None:
                words = sorted({*(table.verdict_words or {}), *(table.word_points or {}), *OWN_WORDS})
                raise row.bad(columns.verdict, f"{_short(word)} is no verdict; known words: {', '.join(words)}")
            if verdict == "partially_correct" and table.scale == "binary":
                raise row.bad(
                    columns.verdict, f"{_short(word)} on a scale that only has pass and not (dataset.scale=binary)"
                )
        if points is not None:  # where points and words exist, points decide
            verdict = table.verdict_of_points(points)
        fallacies = _tags(row, columns.fallacies)
        answer_correct = _truth(row, columns.answer_correct)
        spans = _spans(row, columns.spans)
        comment = row.text(columns.comment)
        said = (verdict, points, fallacies, answer_correct, comment)
        self._refuse_repeated(row, solution_id, annotator)
        if all(s is None for s in said) and not spans:
            return
        weight = row.number_in(columns.weight, 0, math.inf)
        if weight == 0:
            raise row.bad(str(columns.weight), "is 0, and a label that counts for nothing is none: leave the row out")
        self.labels[solution_id, annotator] = HumanLabel(
            solution_id=solution_id,
            annotator=annotator,
            verdict=verdict,
            fallacies=fallacies,
            answer_correct=answer_correct,
            points=points,
            max_points=table.max_points if points is not None else None,
            scale=table.scale,
            spans=spans,
            comment=comment,
            stratum=row.text(columns.stratum),
            weight=1.0 if weight is None else weight,
            text_hash=text_hash(self.solutions[solution_id].text),
        )

    def _refuse_repeated(self, row: Row, solution_id: str, annotator: str) -> None:
        if (solution_id, annotator) in self._rows:
            who = f" and annotator '{annotator}'" if self.table.columns.annotator else ""
            raise row.bad(
                str(self.table.columns.solution_id), f"solution '{solution_id}'{who} stands in an earlier row too"
            )
        self._rows.add((solution_id, annotator))

    def add_judges(self, row: Row, solution_id: str, judges: dict[str, str]) -> None:
        for judge, column in judges.items():
            judgement = self._judgement(row, solution_id, judge, column)
            known = self.judgements.setdefault((solution_id, judge), judgement)
            if known != judgement:
                raise row.bad(
                    column, f"judge '{judge}' says something else of solution '{solution_id}' in an earlier row"
                )

    def add_findings(self, row: Row, solution_id: str, judges: dict[str, str]) -> None:
        """Judges that say what is wrong, and give no verdict. An empty cell: this judge has not read the solution."""
        for judge, column in judges.items():
            raw = row.text(column)
            if raw is None:
                continue
            found = _findings(raw)
            error = Failure(kind="unread_list", message=f"{_short(raw)} is no JSON list of findings", raw=raw)
            judgement = Judgement(
                solution_id=solution_id, judge=judge, raw=raw, fallacies=found, error=error if found is None else None
            )
            if self.judgements.setdefault((solution_id, judge), judgement) != judgement:
                raise row.bad(
                    column, f"judge '{judge}' says something else of solution '{solution_id}' in an earlier row"
                )

    def _judgement(self, row: Row, solution_id: str, judge: str, column: str) -> Judgement:
        """A judge's cell. What cannot be read is an error record of that judge, never a verdict."""
        table = self.table
        raw = row.text(column)

        def said(verdict: str | None = None, points: float | None = None, error: Failure | None = None) -> Judgement:
            top = table.max_points if points is not None else None
            return Judgement(
                solution_id=solution_id,
                judge=judge,
                raw=raw,
                verdict=verdict,
                points=points,
                max_points=top,
                error=error,
            )

        if raw is None:
            return said(
                error=Failure(kind="empty_cell", message=f"{row.file}, row {row.number}: nothing stands in '{column}'")
            )
        verdict, points = table.word(raw), table.points_of_word(raw)
        if points is None and verdict is None:
            points = plain_number(raw)
            if points is None:
                return said(
                    error=Failure(kind="unread_word", message=f"{_short(raw)} is no verdict and no number", raw=raw)
                )
            if not 0 <= points <= table.max_points:
                message = f"{_short(raw)} is outside 0 to {table.max_points:g} points"
                return said(error=Failure(kind="points_out_of_range", message=message, raw=raw))
        return said(table.verdict_of_points(points) if points is not None else verdict, points)


# --- cells ------------------------------------------------------------------------------------------------------------


def plain_word(text: str) -> str:
    """A word without regard to case, markdown emphasis, underscores and a final full stop."""
    return " ".join(re.sub(r"[*_`]+", " ", text).split()).rstrip(". ").casefold()


def plain_number(text: str) -> float | None:
    """A finite number in ASCII digits; null for anything else (`nan`, `inf`, `0_7`)."""
    if not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text, re.ASCII):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _as_json(value: object) -> str:
    return json.dumps(value, default=lambda v: v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _tags(row: Row, column: str | None) -> list[str] | None:
    """Tags as a JSON list, or divided by `;`, `|` or commas. An empty cell: not annotated; `none` or `[]`: none found."""
    text = row.text(column)
    if text is None or column is None:
        return None
    if text.strip().startswith("["):
        try:
            tags = json.loads(text)
        except ValueError:
            tags = None
        if not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
            raise row.bad(column, f"{_short(text)} is not a list of names")
    elif plain_word(text) in ("none", "no fallacy", "no fallacies", "n/a"):
        tags = []
    else:
        tags = re.split(r"[;|\n]" if re.search(r"[;|\n]", text) else ",", text)
    return list(dict.fromkeys(t.strip() for t in tags if t.strip()))


def _truth(row: Row, column: str | None) -> bool | None:
    text = row.text(column)
    if text is None or column is None:
        return None
    if (word := plain_word(text)) not in TRUE_WORDS:
        raise row.bad(column, f"{_short(text)} is neither true nor false")
    return TRUE_WORDS[word]


def _spans(row: Row, column: str | None) -> list[Span] | None:
    """A JSON list of `{start, end, comment, tag}`."""
    text = row.text(column)
    if text is None or column is None:
        return None
    try:
        return [Span.model_validate(s) for s in json.loads(text)] or None
    except (ValueError, TypeError):
        raise row.bad(column, f"{_short(text)} is not a JSON list of spans (start, end, comment)") from None


def _findings(text: str) -> list[Finding] | None:
    """A JSON list of `{category, description, start, end}`, or with our own names `tag` and `comment`. Null where it
    cannot be read."""
    try:
        return [
            Finding(
                tag=x.get("tag") or x["category"],
                start=x.get("start"),
                end=x.get("end"),
                comment=x.get("comment") or x.get("description"),
            )
            for x in json.loads(text)
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


# --- rows -------------------------------------------------------------------------------------------------------------


def _columns(rows: list[Row]) -> list[str]:
    """The columns of a table, in order; a JSONL row may lack some."""
    return list(dict.fromkeys(c for row in rows for c in row.cells))


def _need_columns(rows: list[Row], wanted: dict[str, str]) -> None:
    import difflib

    there = _columns(rows)
    for knob, column in wanted.items():
        if column not in there:
            close = difflib.get_close_matches(column, there, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has: {', '.join(map(str, there))}"
            raise BadInput(f"{rows[0].file}: there is no column '{column}' (dataset.columns.{knob}); {hint}")


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a CSV, TSV, JSONL or Parquet file, by its ending. At least one, else BadInput. Rows are numbered as a
    spreadsheet or an editor shows them: the header of a CSV is row 1."""
    readers = {".csv": _csv_rows, ".tsv": _csv_rows, ".jsonl": _jsonl_rows, ".parquet": _parquet_rows}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{path}: the ending says what a file is, and it should be one of {', '.join(readers)}")
    if path.stat().st_size == 0:
        raise BadInput(f"{path}: is empty")
    some = False
    for row in reader(path):
        some = True
        yield row
    if not some:
        raise BadInput(f"{path}: has no rows")


def _decoded(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{path}, line {line}: is not UTF-8 (byte 0x{raw[error.start]:02x}); save the file as UTF-8"
        ) from None


def _csv_rows(path: Path) -> Iterator[Row]:
    """Strictly read, with one mend: a cell whose closing quotation mark is missing before a line that begins the next
    cell (published files have such rows). It counts only if the row then has as many cells as the header, and is said."""
    csv.field_size_limit(CELL_LIMIT)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    lines = re.findall(r"[^\n]*\n|[^\n]+", _decoded(path))
    header: list[str] = []
    at = number = 0
    while at < len(lines):
        number += 1
        try:
            cells, after = _csv_record(lines, at, delimiter)
            fault = f"has {len(cells)} cells, the header {len(header)}"
        except csv.Error as error:
            cells, after = [], at + 1
            ended = "end of data" in str(error)
            fault = "a quotation mark that opens a cell is never closed" if ended else f"is not CSV ({error})"
        else:
            if not cells:
                at, number = after, number - 1
                continue
            if not header:
                header, at = [c.strip() for c in cells], after
                if twice := next((c for c in header if header.count(c) > 1), None):
                    raise BadInput(f"{path}: two columns are named '{twice}'")
                continue
        if len(cells) != len(header):
            mended = _csv_mended(lines, at, delimiter, len(header))
            if mended is None:
                raise BadInput(f"{path}, row {number} (line {at + 1}): {fault}")
            cells, after = mended
            print(
                f"note: {path}, row {number}: the quotation mark that closes a cell is missing; read as if it stood there",
                file=sys.stderr,
            )
        yield Row(str(path), number, dict(zip(header, cells, strict=True)))
        at = after


def _csv_record(lines: list[str], at: int, delimiter: str) -> tuple[list[str], int]:
    """The record that begins at line `at`, and the line after it."""
    reader = csv.reader((lines[i] for i in range(at, len(lines))), delimiter=delimiter, strict=True)
    return next(reader), at + reader.line_num


def _csv_mended(lines: list[str], at: int, delimiter: str, cells: int) -> tuple[list[str], int] | None:
    begins = next((i for i in range(at + 1, len(lines)) if lines[i].startswith(f'{delimiter}"')), None)
    if begins is None:
        return None
    part = [*lines[at:begins], '"' + lines[begins], *lines[begins + 1 : begins + 1000]]
    try:
        record, used = _csv_record(part, 0, delimiter)
    except csv.Error:
        return None
    return (record, at + used) if len(record) == cells else None


def _jsonl_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line, object_pairs_hook=_no_key_twice)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}, line {number}: is not JSON ({error})") from None
        if not isinstance(cells, dict):
            raise BadInput(f"{path}, line {number}: is not a JSON object")
        yield Row(str(path), number, cells)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        raise ValueError("one key stands twice in one object")
    return cells


def _parquet_rows(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"{path}: is not a Parquet file ({str(error).splitlines()[0]})") from None
    for number, cells in enumerate(table.to_pylist(), 1):
        yield Row(str(path), number, cells)


def hub_rows(name: str, split: str) -> Iterator[Row]:
    """The rows of a dataset on Hugging Face (or in a local folder of that form)."""
    import datasets

    datasets.disable_progress_bars()
    try:
        loaded = datasets.load_dataset(name, split=split)
    except Exception as error:  # the library raises many kinds, from the network's to the file's
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(
            f"dataset.path is not given, and {name} (split {split}) could not be loaded from Hugging Face: {reason}; "
            "give the file as dataset.path=FILE"
        ) from None
    if len(loaded) == 0:
        raise BadInput(f"{name} (split {split}): has no rows")
    for number, cells in enumerate(loaded, 1):
        yield Row(f"{name}[{split}]", number, dict(cells))

"""A study's records as columns: one array for each field, one row for each solution, in the order of solution ids.

Records are streamed: of a line only the fields that a report needs are kept, as numbers and codes, so that a study of
a million solutions and verdicts fits into memory. Names become codes, -1 for none, in the order of the names.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from calibrate.intervals import Array
from generate.journal import Record, _parsed, text_hash
from generate.labels import VERDICTS
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study
from judge.adjudication import SAME, Gold

Rows = NDArray[np.intp]
Small = NDArray[np.int8]
Bools = NDArray[np.bool_]
VERDICT_CODE: dict[str | None, int] = {None: -1} | {name: i for i, name in enumerate(VERDICTS)}


@dataclass(frozen=True)
class Names:
    """A column of names as codes."""

    codes: NDArray[np.int32]
    """(n,), -1 for none."""
    names: list[str]
    """In order; codes are places in it."""

    @classmethod
    def of(cls, given: Sequence[str | None]) -> "Names":
        names = sorted({x for x in given if x is not None})
        code: dict[str | None, int] = {None: -1} | {name: i for i, name in enumerate(names)}
        return cls(np.fromiter((code[x] for x in given), dtype=np.int32, count=len(given)), names)

    def at(self, rows: Rows) -> "Names":
        return Names(self.codes[rows], self.names)

    def through(self, codes: NDArray[np.int32]) -> "Names":
        """The names that rows have by way of a table: row i has that of place codes[i] in this column."""
        found = self.codes[codes] if len(self.codes) else np.full(len(codes), -1, dtype=np.int32)
        return Names(np.where(codes < 0, np.int32(-1), found), self.names)

    def groups(self) -> Iterator[tuple[str, Rows]]:
        """Each name that occurs, in order, with its rows. Rows without a name are in none."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(len(self.names) + 1))
        for i, name in enumerate(self.names):
            if ends[i] < ends[i + 1]:
                yield name, order[ends[i] : ends[i + 1]]


class Coder:
    """Gives each name a code as it comes; `in_order` puts the codes into the order of the names."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}

    def __call__(self, name: str | None) -> int:
        if name is None:
            return -1
        if type(name) is not str:
            raise TypeError(name)
        return self.code.setdefault(name, len(self.code))

    def in_order(self, codes: Any) -> Names:
        names = sorted(self.code)
        place = np.full(len(names) + 1, -1, dtype=np.int32)  # the last one is what -1 finds
        for i, name in enumerate(names):
            place[self.code[name]] = i
        return Names(place[np.asarray(codes, dtype=np.int32)], names)


def stream(study: Study, folder: str, kind: type[Record], take: Callable[[dict[str, Any]], None]) -> None:
    """Hand each record of a folder's files to `take`, oldest first within a file. `take` raises KeyError, TypeError or
    ValueError, before it keeps anything, for what is not as it should be. Raises BadInput, with file and line, for a
    line that is no such record."""
    loads = orjson.loads
    for path in study.files(folder):
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break  # the machine died while it was written
                try:
                    take(loads(line))
                except (KeyError, TypeError, ValueError, AttributeError):
                    if line.strip():
                        take(_parsed(line, kind, path, number).model_dump(mode="json"))


@dataclass(frozen=True)
class Solutions:
    """All solutions of a study, in the order of their ids; of several records with one id the newest."""

    ids: list[str]
    text_hash: list[str | None]
    """As `generate.journal.text_hash` has it; null for no text."""
    problem: Names
    model: Names
    topic: Names
    """Of its problem."""
    source: Names
    """Of its problem."""
    gold_answer: Bools
    """Its problem has a final answer."""
    has_text: Bools
    cut_off: Bools
    finished: Bools
    """The solver stopped of its own accord or was cut off; false where the engine failed, and for recorded work."""
    error: Names
    """Kind of the error, where there is one."""
    problems: dict[str, Problem]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each id."""
        return {name: i for i, name in enumerate(self.ids)}

    def rows(self, ids: Iterable[str]) -> Rows:
        """The rows of ids that are all there."""
        return np.fromiter((self.place[x] for x in ids), dtype=np.intp)

    def problem_of(self, row: int) -> Problem | None:
        return self.problems.get(self.problem.names[self.problem.codes[row]])


def read_solutions(study: Study) -> Solutions:
    """Streams the study's solutions. Raises BadInput for a line that is none."""
    newest: dict[str, int] = {}
    hashes: list[str | None] = []
    problem, model, error = Coder(), Coder(), Coder()
    problems, models, errors, flags = array("i"), array("i"), array("i"), array("b")

    def take(r: dict[str, Any]) -> None:
        name, text, failure, finish = r["id"], r.get("text"), r.get("error"), r.get("finish_reason")
        if type(name) is not str or r["problem_id"] is None or r["model"] is None:
            raise TypeError
        flag = (text is not None and text != "") | (finish == "length") << 1 | (finish is not None) << 2
        codes = problem(r["problem_id"]), model(r["model"]), error(failure["kind"] if failure else None)
        hashes.append(text_hash(text))
        newest[name] = len(problems)
        problems.append(codes[0])
        models.append(codes[1])
        errors.append(codes[2])
        flags.append(flag)

    stream(study, "solutions", Solution, take)
    found = study.problems()
    ids = sorted(newest)
    order = np.fromiter((newest[name] for name in ids), dtype=np.intp, count=len(ids))
    by_problem = problem.in_order(np.asarray(problems)[order])
    of_problem = [found.get(name) for name in by_problem.names]
    bits = np.asarray(flags)[order]
    return Solutions(
        ids=ids,
        text_hash=[hashes[i] for i in order],
        problem=by_problem,
        model=model.in_order(np.asarray(models)[order]),
        topic=Names.of([p.topic if p else None for p in of_problem]).through(by_problem.codes),
        source=Names.of([p.source if p else None for p in of_problem]).through(by_problem.codes),
        gold_answer=np.array([p is not None and p.answer is not None for p in of_problem], dtype=bool)[
            by_problem.codes
        ],
        has_text=bits & 1 > 0,
        cut_off=bits & 2 > 0,
        finished=bits & 4 > 0,
        error=error.in_order(np.asarray(errors)[order]),
        problems=found,
    )


@dataclass(frozen=True)
class Said:
    """What one source (the human gold, planted labels, a judge) says of m solutions, as columns of m rows."""

    row: Rows
    """Their rows in `Solutions`, ascending."""
    verdict: Small
    """Place in VERDICTS; -1: none, a tie of annotators, or a failure."""
    shares: Array
    """(m, 3): how much each row counts for each verdict; zeros where there is none."""
    binary: Bools
    """Only pass (`correct`) or not was said."""
    points: Array
    """nan: none."""
    max_points: Array
    """nan: not told."""
    tags: Array
    """(m, tags of the taxonomy): 1 borne, 0 not, between for annotators who differ; nan: not annotated."""
    answer_correct: Small
    """1 right, 0 wrong, -1 not said."""
    failed: Bools
    """The judge failed on it: nothing else is said."""
    weight: Array
    stratum: Names
    probabilities: Array | None = None
    """(m, 3), of the verdicts; nan: none. Null: no row has any."""
    tag_probabilities: Array | None = None
    """The same of the tags: (m, tags)."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def tied(self) -> Bools:
        """Annotators tie on the verdict."""
        found: Bools = (self.verdict < 0) & (self.shares.sum(axis=1) > 0)
        return found

    @property
    def tied_tags(self) -> Bools:
        """(m, tags) annotators tie on the tag."""
        found: Bools = np.abs(self.tags - 0.5) < SAME
        return found

    @property
    def tagged(self) -> Bools:
        if self.tags.shape[1] == 0:
            return np.zeros(len(self), dtype=bool)
        found: Bools = ~np.isnan(self.tags[:, 0])
        return found

    def at(self, index: Any) -> "Said":
        """These rows alone: an array of places, or of true and false."""
        parts = {name: getattr(self, name)[index] for name in COLUMNS if getattr(self, name) is not None}
        return replace(self, **parts, stratum=Names(self.stratum.codes[index], self.stratum.names))

    def of_rows(self, row: Rows) -> Rows:
        """For rows of `Solutions`, their places here; -1 where nothing is said of them."""
        if not len(self):
            return np.full(len(row), -1, dtype=np.intp)
        at = np.minimum(np.searchsorted(self.row, row), len(self) - 1)
        return np.where(self.row[at] == row, at, -1)


COLUMNS = (
    "row", "verdict", "shares", "binary", "points", "max_points", "tags", "answer_correct", "failed", "weight",
    "probabilities", "tag_probabilities",
)  # fmt: skip


def blank(row: Rows, n_tags: int) -> Said:
    """Nothing said of some solutions."""
    m = len(row)
    return Said(
        row=row,
        verdict=np.full(m, -1, dtype=np.int8),
        shares=np.zeros((m, len(VERDICTS))),
        binary=np.zeros(m, dtype=bool),
        points=np.full(m, np.nan),
        max_points=np.full(m, np.nan),
        tags=np.full((m, n_tags), np.nan),
        answer_correct=np.full(m, -1, dtype=np.int8),
        failed=np.zeros(m, dtype=bool),
        weight=np.ones(m),
        stratum=Names(np.full(m, -1, dtype=np.int32), []),
    )


def one_hot(verdict: Small) -> Array:
    """(m,) places in VERDICTS to (m, 3) shares; zeros for -1."""
    shares: Array = (verdict[:, None] == np.arange(len(VERDICTS))).astype(np.float64)
    return shares


def columns_of(golds: Sequence[Gold], row: Rows, tags: Sequence[str]) -> Said:
    """Adjudicated labels as columns: `row` holds the solutions' rows, ascending as the golds are."""
    said = blank(row, len(tags))
    place = {tag: i for i, tag in enumerate(tags)}
    for i, gold in enumerate(golds):
        said.verdict[i] = VERDICT_CODE[gold.verdict]
        for verdict, share in (gold.verdict_shares or {}).items():
            said.shares[i, VERDICT_CODE[verdict]] = share
        said.binary[i] = gold.binary
        if gold.points is not None:
            said.points[i] = gold.points
        if gold.max_points is not None:
            said.max_points[i] = gold.max_points
        if gold.tag_shares is not None:
            said.tags[i] = 0
            for tag, share in gold.tag_shares.items():
                said.tags[i, place[tag]] = share
        if gold.answer_correct is not None:
            said.answer_correct[i] = gold.answer_correct
        said.weight[i] = gold.weight
    return replace(said, stratum=Names.of([g.stratum for g in golds]))

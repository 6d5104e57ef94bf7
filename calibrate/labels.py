"""Human labels: where they come from, and which of them count. What several annotators of one solution amount to is said
in judge/adjudication.py, since judges are trained on it too."""

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from calibrate.columns import Solutions, read_solutions
from calibrate.sample import ASKED, Sample, samples
from calibrate.sheets import unguarded
from generate.journal import BadInput, read, text_hash
from generate.labels import HumanLabel
from generate.stage import Number, NumberMap, TextMap, settings
from generate.study import Study, slug
from generate.tables import Columns, Row, Table, read_rows
from judge.taxonomy import Taxonomy

Points = Annotated[Number, Field(gt=0, allow_inf_nan=False)]
Json = dict[str, Any]
Sampling = Literal["random", "random_problems", "stratified", "unknown"]
"""How the labelled solutions were drawn from all."""
Identity = tuple[str, str, str]

# --- where labels come from -------------------------------------------------------------------------------------------


@runtime_checkable
class LabelSource(Protocol):
    """What `labels=` names."""

    name: str | None
    """The label file that what is read goes to; null: nothing is brought along."""

    def read(self, study: Study, taxonomy: Taxonomy) -> list[HumanLabel]:
        """Labels to add to the study. Raises BadInput, naming file, row and column."""
        ...


@settings
class FromStudy:
    """conf/labels/study.yaml: the labels that stand in the study already."""

    name: None = None
    sampling: Sampling = "unknown"

    def read(self, study: Study, taxonomy: Taxonomy) -> list[HumanLabel]:
        return []


@settings
class LabelColumns:
    """Which column of the annotators' table holds what; null: the table has none such."""

    solution_id: str
    annotator: str | None = None
    verdict: str | None = None
    points: str | None = None
    fallacies: str | None = None
    answer_correct: str | None = None
    spans: str | None = None
    comment: str | None = None
    stratum: str | None = None
    weight: str | None = None


@settings
class FromTable:
    """conf/labels/table.yaml: annotators' own tables. Their labels are copied into the study, for its present texts."""

    name: str | None = "annotators"
    path: str | list[str] | None = None
    sampling: Sampling = "unknown"
    columns: LabelColumns
    annotator: str = "human"
    max_points: Points = 7.0
    points_to_verdict: NumberMap = field(default_factory=lambda: {"correct": 6, "partially_correct": 1})
    verdict_words: TextMap | None = None
    word_points: NumberMap | None = None
    scale: Literal["three", "binary"] = "three"

    def __post_init__(self) -> None:
        if not self.path:
            raise BadInput("path: must be given, such as labels.path=FILE (CSV, TSV, JSONL or Parquet)")
        for file in self.files():
            self._table(file, self.columns)  # whatever is wrong with the settings shows before anything is read

    def files(self) -> list[Path]:
        """Every file that `path` names. Raises BadInput for a name or pattern that stands for none."""
        found: dict[Path, None] = {}
        for name in [self.path] if isinstance(self.path, str) else self.path or []:
            some = [Path(name)] if Path(name).is_file() else sorted(Path(f) for f in glob.glob(name, recursive=True))
            some = [f for f in some if f.is_file()]
            if not some:
                raise BadInput(f"path: there is no file {name}")
            found |= dict.fromkeys(some)
        return list(found)

    def _table(self, file: Path, columns: LabelColumns) -> Table:
        return Table(
            name=str(self.name),
            path=str(file),
            columns=Columns(**vars(columns)),
            annotator=self.annotator,
            max_points=self.max_points,
            points_to_verdict=self.points_to_verdict,
            verdict_words=self.verdict_words,
            word_points=self.word_points,
            scale=self.scale,
        )

    def read(self, study: Study, taxonomy: Taxonomy) -> list[HumanLabel]:
        """The labels of the tables. A label that stands in the study in the same words stays one of the text it was
        given for: copying it once more does not mean that somebody read the present text. An annotator whose cells are
        empty now withdraws what came from them. A sheet that `mode=sample` wrote is known by its record: its labels are
        of the text that it shows, and have their place in the sample."""
        solutions, drawn = study.solutions(), samples(study)
        stands = {k for k, x in newest(label_file(study, str(self.name))).items() if not withdrawn(x)}
        known = {words(x): x.text_hash for file in label_files(study) for x in newest(file).values()}
        labels: list[HumanLabel] = []
        seen: dict[Identity, Row] = {}
        for file in self.files():
            rows, columns, places = as_sheet(list(read_rows(file)), self.columns, drawn)
            if self.sampling == "stratified" and not places and columns.stratum is None:
                raise BadInput("labels.columns.stratum: must be given, since labels.sampling=stratified")
            try:
                said = {identity(x): x for x in self._table(file, columns).of(rows).labels}
            except BadInput as error:
                raise BadInput(str(error).replace("(dataset.", "(labels.")) from None
            for row in rows:
                name = row.name(columns.solution_id)
                if name not in solutions:
                    raise row.bad(columns.solution_id, f"study {study.name} has no solution '{name}'")
                annotator = (row.text(columns.annotator) or self.annotator).strip()
                nothing = HumanLabel(solution_id=name, annotator=annotator)
                if (other := seen.setdefault(identity(nothing), row)) is not row:
                    raise row.bad(
                        columns.solution_id,
                        f"solution '{name}' and annotator '{annotator}' stand in {other.file}, row {other.number} too",
                    )
                label = said.get(identity(nothing))
                if label is None:
                    labels += [nothing] if identity(nothing) in stands else []
                    continue
                label = label.model_copy(update={"sampling": None if self.sampling == "unknown" else self.sampling})
                if name in places:
                    label = label.model_copy(update=places[name])
                for tag in label.fallacies or ():
                    if taxonomy.find(tag) is None:
                        raise row.bad(str(columns.fallacies), _no_such_tag(tag, taxonomy))
                shown = label.text_hash if name in places else text_hash(solutions[name].text)
                labels.append(label.model_copy(update={"text_hash": known.get(words(label), shown)}))
        return labels


def as_sheet(
    rows: list[Row], columns: LabelColumns, drawn: dict[str, Sample]
) -> tuple[list[Row], LabelColumns, dict[str, Json]]:
    """Of a sheet that `mode=sample` wrote: its rows with the solutions' own ids, its columns, and what its sample says of
    each solution. Any other table as it is. Raises BadInput for a row that the sample does not have."""
    sample = drawn.get(unguarded(rows[0].text("sample") or ""))
    if sample is None or not {"sample", "solution_id", "annotator"} <= set(rows[0].cells):
        return rows, columns, {}
    by_code = {d.code: d for d in sample.drawn}
    found, places = [], {}
    for row in rows:
        plain = {k: unguarded(v) if isinstance(v, str) else v for k, v in row.cells.items()}
        row = Row(row.file, row.number, plain)
        if row.text("sample") != sample.name:
            raise row.bad("sample", f"is not '{sample.name}', as in the rows before")
        code = row.name("solution_id")
        if code not in by_code:
            raise row.bad("solution_id", f"sample '{sample.name}' has no solution '{code}'")
        if row.text("annotator") is None:
            raise row.bad("annotator", "is empty, and every row of a sheet needs one")
        place = by_code[code]
        found.append(Row(row.file, row.number, plain | {"solution_id": place.solution_id}))
        places[place.solution_id] = {
            "stratum": place.stratum,
            "weight": sample.label_weight(place),
            "sampling": sample.design,
            "text_hash": place.text_hash,
        }
    asked = {field: field for field in ASKED if field in rows[0].cells}
    return found, LabelColumns(solution_id="solution_id", annotator="annotator", **asked), places


# --- which labels count -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """The labels of a study: those that count, and those that do not, with the reason."""

    counting: list[HumanLabel]
    unjoined: list[HumanLabel]
    """Their solution is not in the study."""
    changed: list[HumanLabel]
    """Their solution's text has changed since."""


def collect(
    study: Study,
    added: Sequence[HumanLabel],
    source: LabelSource,
    taxonomy: Taxonomy,
    solutions: Solutions | None = None,
) -> Labels:
    """The labels of the study with those just read, which stand in the study's file of that source or soon will. Tags
    get the taxonomy's own names. `solutions` are the study's, where they have been read already.

    Raises BadInput for a tag that is not in the taxonomy, and for an annotator who says two things of one solution.
    """
    target = label_file(study, source.name) if source.name is not None else None
    read_from = getattr(source, "path", None) or source.name
    unstated = source.sampling if isinstance(source, FromStudy) and source.sampling != "unknown" else None
    solutions = solutions or read_solutions(study)
    known: dict[Identity, tuple[HumanLabel, str]] = {}
    for file in sorted({*label_files(study), *([target] if target else [])}):
        here = {name: (x, str(file)) for name, x in newest(file).items()}
        if file == target:
            here |= {identity(x): (x, str(read_from)) for x in added}
        for name, (label, shown) in here.items():
            if withdrawn(label):
                continue
            other, other_shown = known.get(name, (label, shown))
            if words(other) != words(label):
                raise BadInput(
                    f"{shown}: annotator '{label.annotator}' says something else of solution '{label.solution_id}' "
                    f"than in {other_shown}; give each annotator a name of their own (labels.annotator)"
                )
            row = solutions.place.get(label.solution_id)
            if name not in known or (row is not None and not _is_of_another_text(label, solutions.text_hash[row])):
                known[name] = (label, shown)
    labels = Labels([], [], [])
    for _, (found, shown) in sorted(known.items(), key=lambda item: item[0]):
        label = _with_known_tags(found, shown, taxonomy)
        if label.sampling is None and unstated is not None:
            label = label.model_copy(update={"sampling": unstated})
        row = solutions.place.get(label.solution_id)
        if row is None:
            labels.unjoined.append(label)
        elif _is_of_another_text(label, solutions.text_hash[row]):
            labels.changed.append(label)
        else:
            labels.counting.append(label)
    return labels


def _is_of_another_text(label: HumanLabel, now: str | None) -> bool:
    """Whether it was given for another text than the solution has now. A label without a hash is trusted."""
    return label.text_hash is not None and label.text_hash != now


def _no_such_tag(tag: str, taxonomy: Taxonomy) -> str:
    return f"'{tag}' is not a fallacy of taxonomy={taxonomy.name}; there are: {', '.join(taxonomy.names)}"


def _with_known_tags(label: HumanLabel, file: str, taxonomy: Taxonomy) -> HumanLabel:
    if not label.fallacies:
        return label
    found = []
    for tag in label.fallacies:
        known = taxonomy.find(tag)
        if known is None:
            raise BadInput(
                f"{file}: solution '{label.solution_id}', annotator '{label.annotator}': {_no_such_tag(tag, taxonomy)}"
            )
        found.append(known)
    return label.model_copy(update={"fallacies": list(dict.fromkeys(found))})


def add_to_study(labels: Iterable[HumanLabel], study: Study, source: str) -> tuple[Path, int]:
    """Put labels into the study's file of that source; returns the file and how many were new or changed."""
    with study.labels_journal(source) as journal:
        return journal.path, journal.put(labels)


def label_files(study: Study) -> list[Path]:
    return sorted((study.path / "labels").glob("*.jsonl"))


def label_file(study: Study, source: str) -> Path:
    return study.path / "labels" / f"{slug(source)}.jsonl"


def identity(label: HumanLabel) -> Identity:
    """Whose word it is, and of what: a later label of the same takes its place."""
    return label.solution_id, label.annotator, label.kind


def newest(file: Path) -> dict[Identity, HumanLabel]:
    """What a file of labels says now, withdrawn labels among it."""
    return {identity(x): x for x in read(file, HumanLabel)}


def words(label: HumanLabel) -> str:
    """All of a label but which text it was given for, and how the solution was drawn."""
    return label.model_dump_json(exclude={"text_hash", "sampling"})


def withdrawn(label: HumanLabel) -> bool:
    """Whether it says nothing, as the line that a source leaves when it takes back what it said. It is no label."""
    said = (label.verdict, label.points, label.fallacies, label.answer_correct, label.spans, label.comment)
    return all(x is None for x in said)

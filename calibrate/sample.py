"""Drawing what to label: a sample of a study's solutions, and a blind sheet for each annotator.

What was drawn, how, and with what chance is kept in studies/STUDY/samples/NAME/sample.json. By it filled sheets find
back to their solutions (`labels=table`), and their labels to their stratum, weight and design.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, ValidationError

from calibrate.sheets import sheet
from generate.journal import BadInput, Record, text_hash, write_whole
from generate.labels import HumanLabel
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import STUDY_NAME, Study, slug

Json = dict[str, Any]
Design = Literal["random", "random_problems", "stratified"]
GIVEN = ("sample", "solution_id", "annotator", "problem", "answer", "reference_solution", "rubric", "solution")
ASKED = ("verdict", "fallacies", "points", "answer_correct", "comment")
"""What a sheet shows, and what its annotator fills in."""
Picked = tuple[Solution, str | None, float]
"""A solution, its stratum, and with what chance it was drawn."""
FILE = "sample.json"
MOST_ANNOTATORS = 100


def people_named(value: object) -> object:
    """How many annotators, as their names."""
    if isinstance(value, bool):
        raise ValueError("should be a number, or a list of names")
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, int):
        if not 1 <= value <= MOST_ANNOTATORS:
            raise ValueError(f"should be 1 to {MOST_ANNOTATORS}")
        return [f"annotator-{i}" for i in range(1, value + 1)]
    if isinstance(value, list) and len({str(x) for x in value}) < len(value):
        raise ValueError("two annotators have one name")
    return value


Annotators = Annotated[list[str], BeforeValidator(people_named), Field(min_length=1, max_length=MOST_ANNOTATORS)]


class Drawn(Record):
    """One solution of a sample."""

    code: str
    """What the sheets call it: a solution's own id may name its model."""
    solution_id: str
    problem_id: str
    stratum: str | None = None
    probability: float
    """With what chance it was drawn."""
    weight: float
    """How many solutions it stands for: 1 / probability."""
    text_hash: str | None = None
    """Of the text that the sheets show."""


class Stratum(Record):
    """One part of the solutions that was drawn from on its own."""

    name: str
    solutions: int
    drawn: int
    weight: float


class Sample(Record):
    """sample.json"""

    name: str
    design: Design
    seed: int
    asked: int
    """How many solutions were asked for."""
    redraw: bool
    annotators: list[str]
    frame: dict[str, int]
    """What was drawn from: `solutions` and `problems` that could be drawn, and why others could not."""
    strata: list[Stratum]
    drawn: list[Drawn]

    def label_weight(self, drawn: Drawn) -> float:
        """A label's weight: the inclusion weight, scaled to 1 on average, so that several samples of a study add up."""
        return drawn.weight * len(self.drawn) / sum(d.weight for d in self.drawn)


@dataclass(frozen=True)
class Terms:
    """What to draw."""

    n: int
    annotators: list[str]
    design: Design
    seed: int
    redraw: bool
    """Also what is labelled, or was drawn before."""


def folder(study: Study) -> Path:
    return study.path / "samples"


def samples(study: Study) -> dict[str, Sample]:
    """The samples that were drawn from this study, by name. Raises BadInput for a record that is none."""
    found = {}
    for file in sorted(folder(study).glob(f"*/{FILE}")):
        try:
            found[file.parent.name] = Sample.model_validate_json(file.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{file}: {'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from None
    return found


def draw(
    solutions: dict[str, Solution],
    problems: dict[str, Problem],
    labelled: set[str],
    known: dict[str, Sample],
    name: str,
    terms: Terms,
) -> Sample:
    """A sample of the solutions. Raises BadInput where there are too few to draw from.

    `random`: every solution has the same chance. `random_problems`: whole problems, as many as come nearest to n
    solutions. `stratified`: by model and topic, in proportion to how many solutions each has, but two of each where it
    has two (one where n is too small for that). Nothing without a text is drawn.
    """
    drawn_before = {d.solution_id for s in known.values() for d in s.drawn}
    without_text = [s for s in solutions.values() if s.error is not None or not (s.text or "").strip()]
    out = {s.id for s in without_text}
    frame = {"without_text": len(out), "labelled": 0, "drawn_before": 0}
    if not terms.redraw:
        frame["labelled"] = len(labelled & set(solutions) - out)
        out |= labelled
        frame["drawn_before"] = len(drawn_before & set(solutions) - out)
        out |= drawn_before
    there = sorted((s for s in solutions.values() if s.id not in out), key=lambda s: s.id)
    of_problem = Counter(s.problem_id for s in there)
    frame = {"solutions": len(there), "problems": len(of_problem)} | frame
    if len(there) < terms.n:
        kinds = ("without_text", "labelled", "drawn_before")
        why = ", ".join(f"{frame[k]} {k.replace('_', ' ')}" for k in kinds)
        raise BadInput(f"n={terms.n}: only {len(there)} of {len(solutions)} solutions can be drawn ({why})")

    random = np.random.default_rng([terms.seed, len(known)])
    picked: list[Picked] = []
    strata: list[Stratum] = []
    if terms.design == "random_problems":
        names = sorted(of_problem)
        whole = min(len(names), max(1, round(terms.n * len(names) / len(there))))
        chosen = {names[i] for i in random.choice(len(names), whole, replace=False)}
        picked = [(s, None, whole / len(names)) for s in there if s.problem_id in chosen]
    elif terms.design == "random":
        places = sorted(random.choice(len(there), terms.n, replace=False))
        picked = [(there[i], None, terms.n / len(there)) for i in places]
    else:
        picked, strata = _stratified(there, problems, terms.n, random)
    drawn = [
        Drawn(
            code=f"{name}-{i:0{len(str(len(picked)))}d}",
            solution_id=s.id,
            problem_id=s.problem_id,
            stratum=stratum,
            probability=chance,
            weight=1 / chance,
            text_hash=text_hash(s.text),
        )
        for i, (s, stratum, chance) in enumerate((picked[j] for j in random.permutation(len(picked))), 1)
    ]
    return Sample(
        name=name,
        design=terms.design,
        seed=terms.seed,
        asked=terms.n,
        redraw=terms.redraw,
        annotators=terms.annotators,
        frame=frame,
        strata=strata,
        drawn=drawn,
    )


def _stratified(
    there: Sequence[Solution], problems: dict[str, Problem], n: int, random: np.random.Generator
) -> tuple[list[Picked], list[Stratum]]:
    by_stratum: dict[str, list[Solution]] = {}
    for s in there:
        problem = problems.get(s.problem_id)
        topic = (problem.topic if problem else None) or "no topic"
        by_stratum.setdefault(f"{s.model} / {topic}", []).append(s)
    names = sorted(by_stratum)
    sizes = np.array([len(by_stratum[name]) for name in names])
    if n < len(names):
        raise BadInput(f"n={n}: there are {len(names)} strata (model and topic), and each needs a solution")
    counts = allocate(sizes, n)
    picked: list[Picked] = []
    for name, k in zip(names, counts, strict=True):
        members = by_stratum[name]
        places = sorted(random.choice(len(members), k, replace=False))
        picked += [(members[i], name, float(k / len(members))) for i in places]
    strata = [
        Stratum(name=name, solutions=int(size), drawn=int(k), weight=float(size / k))
        for name, size, k in zip(names, sizes, counts, strict=True)
    ]
    return picked, strata


def allocate(sizes: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """How many of n to draw from each stratum: in proportion to its size, by largest remainders, but at least two (one
    where n is too small for that), and never more than it has. Needs len(sizes) <= n <= sum(sizes)."""
    least = np.minimum(sizes, 2)
    counts = least if least.sum() <= n else np.ones_like(sizes)
    while (left := n - int(counts.sum())) > 0:
        wanted = np.where(counts < sizes, np.maximum(sizes * n / sizes.sum() - counts, 1e-9), 0.0)
        share = wanted * left / wanted.sum()
        step = np.minimum(np.floor(share).astype(int), sizes - counts)
        if not step.any():
            step[np.argsort(-(share - np.floor(share)), kind="stable")[:1]] = 1
            step = np.minimum(step, sizes - counts)
        counts = counts + step
    return counts


def write(study: Study, sample: Sample) -> list[Path]:
    """The sheets, then the record, without which the sheets count for nothing. Raises BadInput for a name that is taken."""
    if not STUDY_NAME.fullmatch(sample.name):
        raise BadInput(
            f"name={sample.name}: a sample's name is letters, digits, '.', '_' and '-', the first of the former"
        )
    here = folder(study) / sample.name
    if (here / FILE).exists():
        raise BadInput(f"{here} is a sample that was drawn before, and its sheets may be filled; say name=OTHER")
    solutions, problems = study.solutions(), study.problems()
    files = []
    for number, annotator in enumerate(sample.annotators):
        order = np.random.default_rng([sample.seed, number]).permutation(len(sample.drawn))
        rows = []
        for drawn in (sample.drawn[i] for i in order):
            solution = solutions[drawn.solution_id]
            problem = problems.get(solution.problem_id) or Problem(id=solution.problem_id)
            shown = (problem.statement, problem.answer, problem.reference_solution, problem.rubric, solution.text)
            rows.append([sample.name, drawn.code, annotator, *(x or "" for x in shown), *[""] * len(ASKED)])
        file = here / f"{annotator if STUDY_NAME.fullmatch(annotator) else slug(annotator)}.csv"
        write_whole(file, sheet([*GIVEN, *ASKED], rows))
        files.append(file)
    write_whole(here / FILE, sample.model_dump_json(indent=1).encode() + b"\n")
    return files


def sampling_of(labels: Sequence[HumanLabel]) -> Json:
    """How the labelled solutions were drawn, for the report: solutions by design, and a warning where that is unknown."""
    design = {x.solution_id: x.sampling or "unknown" for x in labels if x.kind == "human"}
    counts = Counter(design.values())
    unknown = counts["unknown"]
    warning = (
        f"How {unknown} of {len(design)} labelled solutions were chosen is not stated, so nothing says that figures from "
        "them hold for any others; where it is known, say labels.sampling=random, random_problems or stratified."
    )
    return {"designs": dict(sorted(counts.items())), "warning": warning if unknown else None}

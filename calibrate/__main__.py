"""Stage 3: verdicts and human labels in, a report out. `python -m calibrate study=NAME`"""

import sys
from typing import Any, Literal

from pydantic import Field

from calibrate.alt_test import AltTest
from calibrate.calibration import Method, keep_calibrators
from calibrate.columns import read_solutions
from calibrate.controls import add_controls
from calibrate.estimate import Estimand
from calibrate.gates import Gates, in_words, outcomes
from calibrate.intervals import Intervals
from calibrate.labels import LabelSource, Points, add_to_study, collect, withdrawn
from calibrate.material import Material, fingerprint, gather
from calibrate.metrics import build
from calibrate.pairs import Missing, Terms
from calibrate.report import Report
from calibrate.report.sections import in_short
from calibrate.report.terminal import terminal
from calibrate.sample import Annotators, Design, draw, people_named, samples, write
from calibrate.sample import Terms as SampleTerms
from calibrate.splitting import Part, held_back, of_split, opened
from generate.journal import BadInput
from generate.stage import Count, StageConfig, Whole, launch
from generate.study import Manifest, Study
from judge.adjudication import Adjudication
from judge.splits import read_splits
from judge.taxonomy import Taxonomy

GATE_FAILED = 1
"""Exit code of a report that stands, and misses a gate."""


class Config(StageConfig):
    """conf/calibrate.yaml"""

    labels: LabelSource
    taxonomy: Taxonomy
    mode: Literal["report", "sample"] = "report"
    n: Count = 100
    annotators: Annotators = Field(default="3", validate_default=True)
    design: Design = "random"
    redraw: bool = False
    adjudication: Adjudication = Adjudication()
    name: str | None = None
    overwrite: bool = False
    judges: list[str] | None = None
    missing: Missing = "leave_out"
    pass_threshold: Points | None = None
    estimand: Estimand = "problems"
    calibration: Method = "auto"
    split: Part = "all"
    gate: Gates = Gates()
    alt_test: AltTest = AltTest()
    seed: Whole = 0
    resamples: Count = 2000
    page_solutions: Whole = 5000
    open: bool = False


def run(config: Config, plain: dict[str, Any]) -> int:
    study, why = Study.existing(config.studies_dir, config.study)
    if config.mode == "report":
        check_no_sample(config)
    print(f"study {study.path} ({why})")
    if config.mode == "sample":
        return draw_sample(config, plain, study)
    report = Report(study, config.name or "report")
    added = config.labels.read(study, config.taxonomy)
    solutions = read_solutions(study)
    labels = collect(study, added, config.labels, config.taxonomy, solutions)
    splits = read_splits(study)
    labels = of_split(labels, solutions, splits, config.split)
    material = gather(study, labels, config.taxonomy, config.judges, config.adjudication, solutions)
    material = held_back(study, material, splits, config.split)
    check_threshold(config.pass_threshold, material)

    settings = settings_of(config)
    how_split = splits.model_dump(exclude={"lockbox_openings"})
    terms_given = {"judges": config.judges, "fallacies": config.taxonomy.names, "splits": how_split}
    inputs = fingerprint(study, labels, settings | terms_given)
    known = report.known()
    if known is not None and not config.overwrite:
        if known.get("inputs") != inputs:
            raise BadInput(f"{report.path} is a report on other records or settings; say name=OTHER or overwrite=true")
        print("\n" + terminal(in_short(known)))
        print(f"nothing has changed since this report was made: {report.path / 'report.md'}")
        return ended(config, report, known.get("gates", []))

    manifest = Manifest(study, "calibrate", plain)
    if config.labels.name is not None:
        file, new = add_to_study(added, study, config.labels.name)
        gone = sum(map(withdrawn, added))
        print(f"human labels: {len(added) - gone} read into {file}, {new - gone} new or changed; {gone} withdrawn")
        if not added:
            print(
                "warning: the rows of labels.path hold no label: the columns that labels.columns names are empty in all of them"
            )
    terms = Terms(
        tuple(config.taxonomy.names), config.missing, config.pass_threshold, config.estimand, config.calibration
    )
    openings = [x.model_dump() for x in opened(study, material, config.split).lockbox_openings]
    metrics: dict[str, Any] = {"report": report.path.name, "inputs": inputs, "settings": settings}
    intervals = Intervals(config.seed, config.resamples)
    metrics |= build(material, terms, intervals, config.alt_test)
    metrics |= {"split": config.split, "lockbox_openings": openings}
    metrics["gates"] = outcomes(metrics["judges"], config.gate.given(), config.judges)
    add_controls(metrics, study, intervals)
    keep_calibrators(report.path, metrics, material, terms.tags)
    if config.page_solutions:
        from calibrate.report.page import write_page  # here: --help and a config error should not wait for it

        page = (labels.counting, config.adjudication, config.taxonomy, metrics, config.page_solutions)
        write_page(report.path, study, *page)
    report.write(metrics)
    manifest.finish(report=report.path.name, labels=len(labels.counting), judges=sorted(material.judges))
    print("\n" + terminal(in_short(metrics)))
    print(f"report: {report.path / 'report.md'}; every figure: {report.path / 'metrics.json'}")
    if config.page_solutions:
        print(f"to look at, with every solution: {report.page}")
    return ended(config, report, metrics["gates"])


def ended(config: Config, report: Report, gates: list[dict[str, Any]]) -> int:
    """Shows the page where that is wanted, and says which gates failed; returns the exit code."""
    if config.open:
        show(report)
    failed = list(in_words(gates))
    for line in failed:
        print(line, file=sys.stderr)
    return GATE_FAILED if failed else 0


def show(report: Report) -> None:
    """Opens the page in the user's browser. Where there is no page or no browser, that is said, and is no failure."""
    import webbrowser

    if not report.page.exists():
        print(f"there is no {report.page}: it is made with page_solutions above 0 (and overwrite=true)")
    elif not webbrowser.open(report.page.resolve().as_uri()):
        print(f"no browser was found here; open {report.page} in one")


def draw_sample(config: Config, plain: dict[str, Any], study: Study) -> int:
    """`mode=sample`: draw what to label, and write a sheet for each annotator."""
    name, solutions, known = config.name or "sample", study.solutions(), samples(study)
    labels = collect(study, [], config.labels, config.taxonomy).counting
    terms = SampleTerms(config.n, config.annotators, config.design, config.seed, config.redraw)
    sample = draw(solutions, study.problems(), {x.solution_id for x in labels if x.kind == "human"}, known, name, terms)
    files = write(study, sample)
    manifest = Manifest(study, "calibrate", plain)
    manifest.finish(sample=name, drawn=len(sample.drawn), annotators=sample.annotators)
    frame = sample.frame
    print(f"sample {name} ({sample.design}, seed {sample.seed}): {len(sample.drawn)} of {frame['solutions']} solutions, "
          f"{len({d.problem_id for d in sample.drawn})} of {frame['problems']} problems; not drawn from: "
          f"{frame['without_text']} without a text, {frame['labelled']} labelled, {frame['drawn_before']} drawn before")  # fmt: skip
    for file in files:
        print(f"sheet: {file}")
    print(f"filled sheets come back with: python -m calibrate labels=table 'labels.path={files[0].parent}/*.csv'")
    return 0


def check_no_sample(config: Config) -> None:
    """Raises BadInput where a word that only a sample goes by is given without mode=sample."""
    usual = {"n": 100, "annotators": people_named(3), "design": "random", "redraw": False}
    for name in usual:
        if getattr(config, name) != usual[name]:
            raise BadInput(f"{name}: is of mode=sample, which draws solutions to label; say mode=sample as well")


def check_threshold(threshold: float | None, material: Material) -> None:
    """Raises BadInput for one that no solution could reach: both sides would say the same of every solution."""
    tops = [x.max_points for x in material.labels.counting if x.points is not None and x.max_points is not None]
    if threshold is not None and tops and threshold > min(tops):
        raise BadInput(f"pass_threshold={threshold:g}: is above the labels' max_points, {min(tops):g}")


def settings_of(config: Config) -> dict[str, Any]:
    """What the figures depend on besides the records, as the report states it."""
    return {
        "adjudication": {"method": config.adjudication.method, "adjudicator": config.adjudication.adjudicator},
        "split": config.split,
        "gate": config.gate.given(),
        "alt_test": {"epsilon": config.alt_test.epsilon, "q": config.alt_test.q, "fewest": config.alt_test.fewest},
        "missing": config.missing,
        "pass_threshold": config.pass_threshold,
        "estimand": config.estimand,
        "calibration": config.calibration,
        "taxonomy": config.taxonomy.name,
        "seed": config.seed,
        "resamples": config.resamples,
    }


if __name__ == "__main__":
    sys.exit(launch("calibrate", Config, run))

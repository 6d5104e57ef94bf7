"""Stage 3: verdicts and human labels in, a report out. `python -m calibrate study=NAME`"""

import sys
from typing import Any

from calibrate.intervals import Intervals
from calibrate.labels import LabelSource, Points, add_to_study, collect, withdrawn
from calibrate.material import Material, fingerprint, gather
from calibrate.metrics import build
from calibrate.pairs import Missing, Terms
from calibrate.report import Report
from calibrate.report.sections import in_short
from calibrate.report.terminal import terminal
from generate.journal import BadInput
from generate.stage import Count, StageConfig, Whole, launch
from generate.study import Manifest, Study
from judge.adjudication import Adjudication
from judge.taxonomy import Taxonomy


class Config(StageConfig):
    """conf/calibrate.yaml"""

    labels: LabelSource
    taxonomy: Taxonomy
    adjudication: Adjudication = Adjudication()
    name: str | None = None
    overwrite: bool = False
    judges: list[str] | None = None
    missing: Missing = "leave_out"
    pass_threshold: Points | None = None
    seed: Whole = 0
    resamples: Count = 2000


def run(config: Config, plain: dict[str, Any]) -> int:
    study, why = Study.existing(config.studies_dir, config.study)
    print(f"study {study.path} ({why})")
    report = Report(study, config.name or "report")
    added = config.labels.read(study)
    labels = collect(study, added, config.labels, config.taxonomy)
    material = gather(study, labels, config.taxonomy, config.judges, config.adjudication)
    check_threshold(config.pass_threshold, material)

    settings = settings_of(config)
    inputs = fingerprint(study, labels, settings | {"judges": config.judges, "fallacies": config.taxonomy.names})
    known = report.known()
    if known is not None and not config.overwrite:
        if known.get("inputs") != inputs:
            raise BadInput(f"{report.path} is a report on other records or settings; say name=OTHER or overwrite=true")
        print("\n" + terminal(in_short(known)))
        print(f"nothing has changed since this report was made: {report.path / 'report.md'}")
        return 0

    manifest = Manifest(study, "calibrate", plain)
    if config.labels.name is not None:
        file, new = add_to_study(added, study, config.labels.name)
        gone = sum(map(withdrawn, added))
        print(f"human labels: {len(added) - gone} read into {file}, {new - gone} new or changed; {gone} withdrawn")
    terms = Terms(tuple(config.taxonomy.names), config.missing, config.pass_threshold)
    metrics = {"report": report.path.name, "inputs": inputs, "settings": settings}
    metrics |= build(material, terms, Intervals(config.seed, config.resamples))
    report.write(metrics)
    manifest.finish(report=report.path.name, labels=len(labels.counting), judges=sorted(material.judges))
    print("\n" + terminal(in_short(metrics)))
    print(f"report: {report.path / 'report.md'}; every figure: {report.path / 'metrics.json'}")
    return 0


def check_threshold(threshold: float | None, material: Material) -> None:
    """Raises BadInput for one that no solution could reach: both sides would say the same of every solution."""
    tops = [x.max_points for x in material.labels.counting if x.points is not None and x.max_points is not None]
    if threshold is not None and tops and threshold > min(tops):
        raise BadInput(f"pass_threshold={threshold:g}: is above the labels' max_points, {min(tops):g}")


def settings_of(config: Config) -> dict[str, Any]:
    """What the figures depend on besides the records, as the report states it."""
    return {
        "adjudication": {"method": config.adjudication.method, "adjudicator": config.adjudication.adjudicator},
        "missing": config.missing,
        "pass_threshold": config.pass_threshold,
        "taxonomy": config.taxonomy.name,
        "seed": config.seed,
        "resamples": config.resamples,
    }


if __name__ == "__main__":
    sys.exit(launch("calibrate", Config, run))

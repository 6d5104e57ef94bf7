"""A report on disk: metrics.json with every figure, and report.md, which shows what stands in it."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from calibrate.report.latex import latex
from calibrate.report.markdown import markdown
from calibrate.report.sections import in_full
from calibrate.report.tables import tables
from generate.journal import BadInput, write_whole
from generate.study import STUDY_NAME, Study

Json = dict[str, Any]


def schema() -> Json:
    """The JSON schema of metrics.json."""
    found: Json = orjson.loads((files(__package__) / "metrics.schema.json").read_bytes())
    return found


class Report:
    """studies/STUDY/reports/NAME/. Never overwritten unless asked for."""

    def __init__(self, study: Study, name: str):
        if not STUDY_NAME.fullmatch(name):
            raise BadInput(
                f"name={name}: a report's name is letters, digits, '.', '_' and '-', the first a letter or digit"
            )
        self.path: Path = study.path / "reports" / name
        self.page: Path = self.path / "index.html"

    def known(self) -> Json | None:
        """The metrics that stand there; null where there is no whole report."""
        try:
            content = orjson.loads((self.path / "metrics.json").read_bytes())
        except FileNotFoundError:
            return None
        except orjson.JSONDecodeError:
            return {}
        return content if isinstance(content, dict) else {}

    def write(self, metrics: Json) -> None:
        """metrics.json goes last: where it stands, the report is whole."""
        write_whole(self.path / "report.md", markdown(in_full(metrics)).encode())
        write_whole(self.path / "report.tex", latex(in_full(metrics)).encode())
        made = tables(metrics)
        for old in (self.path / "tables").glob("*.csv"):
            if old.name not in made:
                old.unlink()
        for name, content in made.items():
            write_whole(self.path / "tables" / name, content)
        write_whole(self.path / "metrics.json", orjson.dumps(metrics, option=orjson.OPT_INDENT_2) + b"\n")

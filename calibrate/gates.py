"""Gates: what every judge must reach for the stage to end with exit code 0, tested at the interval's lower end."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from generate.stage import Number, settings

Json = dict[str, Any]
BASELINES = ("constant", "answer_only", "tfidf")
"""Judges that are there to be beaten: not tested, unless `judges=` names them."""


@settings
class Gates:
    """The least that a figure's lower end may be; null: no gate. As `gate` in conf/calibrate.yaml says."""

    verdict_accuracy: Number | None = None
    verdict_kappa: Number | None = None
    verdict_weighted_kappa: Number | None = None
    verdict_alpha: Number | None = None
    verdict_ac1: Number | None = None
    verdict_mcc: Number | None = None
    verdict_macro_f1: Number | None = None
    pass_accuracy: Number | None = None
    pass_kappa: Number | None = None
    pass_precision: Number | None = None
    pass_recall: Number | None = None
    pass_f1: Number | None = None
    points_exact: Number | None = None
    points_spearman: Number | None = None
    fallacies_micro_f1: Number | None = None
    fallacies_macro_f1: Number | None = None
    fallacies_jaccard: Number | None = None
    ceiling_accuracy: Number | None = None
    alt_test_advantage: Number | None = None

    def given(self) -> dict[str, float]:
        """The gates that are set."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}


SHORT = {"kappa": "cohen_kappa", "alpha": "krippendorff_alpha", "ac1": "gwet_ac1"}


def figure_of(judge: Json, gate: str) -> Json:
    """The figure of one judge's block that a gate is about."""
    if gate == "ceiling_accuracy":
        found: Json = judge["ceiling"]["difference"]["accuracy"]
    elif gate == "alt_test_advantage":
        found = judge["alt_test"]["advantage"]
    else:
        part, _, name = gate.partition("_")
        found = judge["agreement"][part][SHORT.get(name, name)]
    return found


def outcomes(judges: dict[str, Json], gates: dict[str, float], named: list[str] | None) -> list[Json]:
    """The `gates` block: each gate for each judge, in order. `named` are the judges that the user asked for."""
    chosen = [name for name in judges if named is not None or name not in BASELINES]
    found = []
    for gate, least in gates.items():
        for name in chosen:
            figure = figure_of(judges[name], gate)
            low = figure["low"]
            found.append(
                {"gate": gate, "judge": name, "least": least, "low": low, "passed": low is not None and low >= least}
                | {"why": _why_without(figure) if low is None else None}
            )
        if not chosen:
            nobody = "there is no judge to test"
            found.append({"gate": gate, "judge": None, "least": least, "low": None, "passed": False, "why": nobody})
    return found


def _why_without(figure: Json) -> str:
    return str(figure.get("why") or figure.get("degenerate") or "it has no interval")


def in_words(gates: list[Json]) -> Iterator[str]:
    """One line for each gate that failed."""
    for g in gates:
        if not g["passed"]:
            shown = f"the interval's lower end is {g['low']:.3f}" if g["low"] is not None else str(g["why"])
            whose = f"judge {g['judge']}: " if g["judge"] else ""
            yield f"gate.{g['gate']}={g['least']:g} failed: {whose}{shown}"

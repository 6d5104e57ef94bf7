"""Which labels a report uses: those of a split, and for a judge that was trained on labels those of the lockbox alone.

`judge/splits.py` says which problem lies where; a trained program's manifest says which labels it saw. A judge is never
held against one of those.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrate.columns import Said, Solutions
from calibrate.labels import Labels
from calibrate.material import Judge, Material
from generate.journal import BadInput
from generate.study import Study
from judge.compiled import read_manifest
from judge.splits import FILE, Splits, open_lockbox, read_splits

Json = dict[str, Any]
Part = Literal["all", "dev", "lockbox"]


def of_split(labels: Labels, solutions: Solutions, splits: Splits, split: Part) -> Labels:
    """The labels of that split; all of them for `all`."""
    if split == "all":
        return labels
    names, codes = solutions.problem.names, solutions.problem.codes
    inside = [
        x
        for x in labels.counting
        if (row := solutions.place.get(x.solution_id)) is not None and splits.of(names[codes[row]]) == split
    ]
    if labels.counting and not inside:
        raise BadInput(f"split={split}: none of the {len(labels.counting)} labels is of a problem of that split")
    return replace(labels, counting=inside)


def held_back(study: Study, m: Material, splits: Splits, split: Part) -> Material:
    """The material with each judge's own labels: those that it may be held against.

    Raises BadInput for a trained judge whose labels include what it was trained on, or cannot be told apart from that.
    """
    return replace(m, judges={name: _own_labels(study, m, judge, splits, split) for name, judge in m.judges.items()})


def _own_labels(study: Study, m: Material, judge: Judge, splits: Splits, split: Part) -> Judge:
    if judge.compiled is None:
        return replace(judge, human=m.human, planted=m.planted)
    seen = _seen(study, judge)

    def allowed(said: Said) -> Said:
        problems = m.solutions.problem.at(said.row)
        lockbox = np.array([splits.of(name) == "lockbox" for name in problems.names], dtype=bool)
        here = said.at(lockbox[problems.codes]) if split == "all" else said
        met = sorted(seen & {problems.names[i] for i in m.solutions.problem.codes[here.row]})
        if met:
            more = f" and {len(met) - 1} more" if len(met) > 1 else ""
            raise BadInput(
                f"split={split}: judge '{judge.name}' ({judge.compiled}) was trained or chosen on labels of problem "
                f"'{met[0]}'{more}, and is not scored on them; say split=lockbox, or leave it out of judges="
            )
        return here

    return replace(judge, seen=frozenset(seen), human=allowed(m.human), planted=allowed(m.planted))


def _seen(study: Study, judge: Judge) -> set[str]:
    """The problems whose labels the judge's program saw."""
    name, _, key = str(judge.compiled).partition("@")
    manifest = read_manifest(study, name)
    if manifest is None or manifest.program_key != key:
        raise BadInput(
            f"judge '{judge.name}' judged with the trained program {judge.compiled}, and {study.path}/programs/{name} holds "
            "no manifest of it: on which labels it was trained is not known, so it is not scored (leave it out of judges=)"
        )
    return {x.problem_id for x in manifest.labels}


def opened(study: Study, m: Material, split: Part) -> Splits:
    """The splits, with this opening of the lockbox recorded where the report looks into it: with split=lockbox, for a
    trained judge, and with split=all in a study that keeps splits. Call it before looking."""
    trained = [name for name, judge in m.judges.items() if judge.compiled is not None]
    looks = split == "lockbox" or (split == "all" and (bool(trained) or (study.path / FILE).exists()))
    if not looks or not len(m.human):
        return read_splits(study)
    return open_lockbox(study, "calibrate", f"split={split}; judges: {_listed(m.judges)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

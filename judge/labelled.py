"""The labels of a study that a judge may learn from: those that count, and adjudicated."""

from generate.journal import read, text_hash
from generate.labels import HumanLabel
from generate.solutions import Solution
from generate.study import Study
from judge.adjudication import Adjudication, Gold, Kind, adjudicate
from judge.taxonomy import Taxonomy


def golds_of(
    study: Study, solutions: dict[str, Solution], taxonomy: Taxonomy, how: Adjudication | None = None
) -> dict[str, Gold]:
    """What humans say of the solutions that they labelled, by solution id."""
    return adjudicate(labels_of(study, solutions, taxonomy), "human", how)


def labels_of(
    study: Study, solutions: dict[str, Solution], taxonomy: Taxonomy, kind: Kind = "human"
) -> list[HumanLabel]:
    """The labels of these solutions that count.

    Of each annotator's words on a solution the newest in a file count, of both of two files that hold them. Labels of another
    text than the solution has now are left out, and so are tags that the taxonomy does not have (`calibrate` refuses
    these, with file and row).
    """
    counting: dict[tuple[str, str], HumanLabel] = {}
    for file in sorted((study.path / "labels").glob("*.jsonl")):
        newest = {(x.solution_id, x.annotator, x.kind): x for x in read(file, HumanLabel)}
        for label in newest.values():
            solution = solutions.get(label.solution_id)
            if label.kind != kind or solution is None:
                continue
            if label.text_hash is None or label.text_hash == text_hash(solution.text):
                counting[label.solution_id, label.annotator] = _in_words_of(taxonomy, label)
    return list(counting.values())


def _in_words_of(taxonomy: Taxonomy, label: HumanLabel) -> HumanLabel:
    if label.fallacies is None:
        return label
    named = [known for tag in label.fallacies if (known := taxonomy.find(tag)) is not None]
    return label.model_copy(update={"fallacies": list(dict.fromkeys(named))})

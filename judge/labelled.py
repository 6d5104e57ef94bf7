"""The human labels of a study that a judge may learn from: those that count, adjudicated."""

from generate.journal import text_hash
from generate.labels import HumanLabel
from generate.solutions import Solution
from generate.study import Study
from judge.adjudication import Adjudication, Gold, adjudicate
from judge.taxonomy import Taxonomy


def golds_of(
    study: Study, solutions: dict[str, Solution], taxonomy: Taxonomy, how: Adjudication | None = None
) -> dict[str, Gold]:
    """What humans say of the solutions that they labelled, by solution id.

    Of each annotator's words on a solution the newest count, of both of two files that hold them. Labels of another
    text than the solution has now are left out, and so are tags that the taxonomy does not have (`calibrate` refuses
    these, with file and row).
    """
    newest: dict[tuple[str, str], HumanLabel] = {}
    for label in study.every("labels", HumanLabel):
        solution = solutions.get(label.solution_id)
        if label.kind != "human" or solution is None:
            continue
        if label.text_hash is None or label.text_hash == text_hash(solution.text):
            newest[label.solution_id, label.annotator] = _in_words_of(taxonomy, label)
    return adjudicate(newest.values(), "human", how)


def _in_words_of(taxonomy: Taxonomy, label: HumanLabel) -> HumanLabel:
    if label.fallacies is None:
        return label
    named = [known for tag in label.fallacies if (known := taxonomy.find(tag)) is not None]
    return label.model_copy(update={"fallacies": list(dict.fromkeys(named))})

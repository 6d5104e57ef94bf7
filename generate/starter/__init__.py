"""The starter set: original problems with sound and flawed solutions, labelled by construction."""

from importlib.resources import files

import yaml

from generate.journal import key_of, text_hash
from generate.labels import HumanLabel, Span
from generate.problems import Dataset, Problem
from generate.solutions import Solution
from generate.stage import settings

SOURCE = "starter set"
WRITER = "planted"


@settings
class Starter:
    """conf/dataset/starter.yaml. Its labels are `kind: planted`: flaws that were written in on purpose."""

    name: str = "starter"

    def read(self) -> Dataset:
        content = yaml.safe_load((files(__package__) / "starter.yaml").read_text(encoding="utf-8"))
        problems, solutions, labels = [], [], []
        for p in content["problems"]:
            fields = {
                name: p.get(name) for name in ("id", "statement", "answer", "topic", "reference_solution", "rubric")
            }
            problems.append(Problem(source=SOURCE, **fields))
            for number, s in enumerate(p["solutions"]):
                text = s["text"]
                key = key_of(source=SOURCE, id=s["id"], text=text)
                solutions.append(
                    Solution(key=key, id=s["id"], problem_id=p["id"], model=WRITER, sample=number, text=text)
                )
                labels.append(_label(s, text))
        return Dataset(problems, solutions, labels)


def _label(s: dict, text: str) -> HumanLabel:  # type: ignore[type-arg]
    spans = []
    for flaw in s["flaws"]:
        start = text.index(flaw["quote"])
        spans.append(
            Span(start=start, end=start + len(flaw["quote"]), tag=flaw["tag"], comment=flaw.get("explanation"))
        )
    return HumanLabel(
        solution_id=s["id"],
        annotator="construction",
        kind="planted",
        verdict=s["verdict"],
        fallacies=list(dict.fromkeys(f["tag"] for f in s["flaws"])),
        answer_correct=s["answer_correct"],
        spans=spans,
        comment=s.get("comment"),
        text_hash=text_hash(text),
    )

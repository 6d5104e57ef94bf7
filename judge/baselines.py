"""Judges that need no language model, and that any judge has to beat: the same for everyone, the final answer alone, and
words counted. They are `program=` like any other, and write the same verdicts. Light to import: scikit-learn is loaded
when words are counted.

What learns from human labels is cross-fitted: what it says of a problem's solutions comes from the labels of other
problems alone, so that its agreement with the humans is not flattered.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from generate.journal import BadInput, Failure, key_of, text_hash
from generate.labels import VerdictName
from generate.solutions import Solution
from generate.stage import Count, Number, settings
from judge.adjudication import Gold
from judge.labelled import golds_of
from judge.program import Bench, Read, problem_hash
from judge.taxonomy import Taxonomy
from judge.verdicts import Case, Fallacy, Reading

ORDER: tuple[VerdictName, ...] = get_args(VerdictName)
"""From the lowest verdict to the highest."""
VERSION = 1
"""Raise it when a baseline says something else of the same: all is then judged anew."""
DIGITS = 6
"""Of a probability: what comes after depends on the machine."""


Labelled = list[tuple[Solution, Gold]]
"""Solutions with what humans say of them."""


def labelled_for(bench: Bench) -> Labelled:
    """The study's solutions with a human verdict, in order of their ids: those with three verdicts to choose from, where
    there are such, else those on which humans only said pass or not."""
    solutions = bench.study.solutions()
    golds = golds_of(bench.study, solutions, bench.taxonomy)
    known = [(solutions[k], g) for k, g in sorted(golds.items()) if g.verdict]
    return [(s, g) for s, g in known if not g.binary] or known


def learnt_from(labelled: Labelled, with_texts: bool) -> list[Any]:
    """What a learnt judge's key says of its labels."""
    return [
        [s.id, s.problem_id, text_hash(s.text) if with_texts else None, g.verdict, g.tags and sorted(g.tags)]
        for s, g in labelled
    ]


def refuse_few(labelled: Labelled, program: str, least: int, classes: int) -> None:
    """Raises BadInput for too few labels, problems or different verdicts to learn from without a look at the same problem."""
    problems = {s.problem_id for s, _ in labelled}
    said = {g.verdict for _, g in labelled}
    if len(labelled) < least:
        raise BadInput(
            f"program={program}: learns from human verdicts, and the study has {len(labelled)} that it can use; "
            f"it needs {least}"
        )
    if len(problems) < 2:
        raise BadInput(f"program={program}: all human verdicts are on one problem, so none is left to learn from")
    if len(said) < classes:
        raise BadInput(f"program={program}: all human verdicts are '{next(iter(said))}', so there is nothing to learn")


# --- the same of everyone -----------------------------------------------------------------------------------------------


@settings
class Constant:
    """conf/program/constant.yaml: the same verdict of every solution."""

    asks_model: ClassVar[bool] = False
    needs_text: ClassVar[bool] = False

    name: str = "constant"
    verdict: Literal["best", "incorrect", "partially_correct", "correct"] = "best"

    def check(self, bench: Bench) -> None:
        if self.verdict == "best":
            refuse_few(labelled_for(bench), self.name, 1, 1)

    def judge_key(self, bench: Bench) -> str:
        labels = learnt_from(labelled_for(bench), with_texts=False) if self.verdict == "best" else []
        return key_of(program="constant", version=VERSION, verdict=self.verdict, labels=labels)

    def shown(self, case: Case) -> Any:
        return [case.problem.id, problem_hash(case.problem), text_hash(case.solution.text)]

    @contextmanager
    def reading(self, bench: Bench) -> Iterator[Read]:
        """The named verdict, or `best`: the most common one in the labels of all other problems (of a tie the lower), with
        the shares of the verdicts there as probabilities."""
        by_problem: dict[str, Counter[str]] = {}
        for solution, gold in labelled_for(bench):
            by_problem.setdefault(solution.problem_id, Counter())[str(gold.verdict)] += 1
        everywhere = sum(by_problem.values(), Counter())

        async def read(case: Case, seed: int | None = None) -> Reading:
            if self.verdict != "best":
                return Reading(verdict=self.verdict)
            elsewhere = Counter(everywhere)
            elsewhere.subtract(by_problem.get(case.problem.id, Counter()))
            return likeliest({v: elsewhere[v] / elsewhere.total() for v in ORDER})

        yield read


def likeliest(shares: dict[VerdictName, float], fallacies: list[Fallacy] | None = None) -> Reading:
    """The verdict with the largest share, of a tie the lower."""
    rounded: dict[str, float] = {v: round(share, DIGITS) for v, share in shares.items()}
    best: VerdictName = max(ORDER, key=lambda v: rounded[v])
    return Reading(verdict=best, probabilities=rounded, fallacies=fallacies)


# --- the final answer alone -------------------------------------------------------------------------------------------


@settings
class AnswerOnly:
    """conf/program/answer_only.yaml: correct where the final answer is right by the strict reading, incorrect where it is
    not or there is none, whatever stands before it. Where that is not known there is no verdict, and the record says why.
    """

    asks_model: ClassVar[bool] = False
    needs_text: ClassVar[bool] = False

    name: str = "answer_only"

    def check(self, bench: Bench) -> None:
        return None

    def judge_key(self, bench: Bench) -> str:
        return key_of(program="answer_only", version=VERSION)

    def shown(self, case: Case) -> Any:
        answer = case.answer
        checked = [answer.extracted, answer.outcome, answer.reason] if answer else None
        return [problem_hash(case.problem), text_hash(case.solution.text), checked]

    @contextmanager
    def reading(self, bench: Bench) -> Iterator[Read]:
        async def read(case: Case, seed: int | None = None) -> Reading:
            answer = case.answer
            if case.problem.answer is None:
                why = "a problem without a gold answer: there is no final answer to check"
                return Reading(error=Failure(kind="no_gold_answer", message=why))
            if answer is None:
                return Reading(error=Failure(kind="unchecked", message="the final answer was not checked"))
            if answer.outcome == "undecided":
                why = f"the final answer {answer.extracted!r} is undecided: {answer.reason}"
                return Reading(error=Failure(kind="answer_undecided", message=why))
            return Reading(verdict="correct" if answer.outcome == "equal" else "incorrect")

        yield read


# --- words counted ----------------------------------------------------------------------------------------------------


@settings
class Tfidf:
    """conf/program/tfidf.yaml: logistic regression on how often words stand in a solution (TF-IDF), fitted to the human
    verdicts and, where labels have them, to each fallacy tag; by scikit-learn.

    Labelled problems fall into `folds`; a problem's solutions are judged by the fit on the other folds, those of problems
    without labels by the fit on all.
    """

    asks_model: ClassVar[bool] = False
    needs_text: ClassVar[bool] = True

    name: str = "tfidf"
    folds: Annotated[Count, Field(ge=2)] = 10
    least_labels: Count = 20
    longest_phrase: Count = 2
    least_solutions: Count = 2
    inverse_regularisation: Annotated[Number, Field(gt=0)] = 10.0
    balanced: bool = True

    def check(self, bench: Bench) -> None:
        """Raises BadInput for too few labels, and where those that one fold leaves over all say the same."""
        labelled = self._learnable(bench)
        refuse_few(labelled, self.name, self.least_labels, 2)
        folds = self._folds(labelled)
        for fold in range(self.folds):
            said = {g.verdict for s, g in labelled if folds[s.problem_id] != fold}
            if len(said) < 2:
                inside = sorted(p for p, f in folds.items() if f == fold)
                raise BadInput(
                    f"program={self.name}: without {', '.join(inside[:3])} all human verdicts are '{next(iter(said))}', "
                    "so there is nothing to learn from them"
                )

    def judge_key(self, bench: Bench) -> str:
        labelled = self._learnable(bench)
        knobs = {k: v for k, v in vars(self).items() if k != "name"}
        tags = bench.taxonomy.names if any(g.tags is not None for _, g in labelled) else None
        labels = learnt_from(labelled, with_texts=True)
        return key_of(program="tfidf", version=VERSION, knobs=knobs, tags=tags, labels=labels)

    def shown(self, case: Case) -> Any:
        return [case.problem.id, problem_hash(case.problem), text_hash(case.solution.text)]

    @contextmanager
    def reading(self, bench: Bench) -> Iterator[Read]:
        labelled = self._learnable(bench)
        folds = self._folds(labelled)

        @cache
        def fitted(fold: int | None) -> _Fit:
            others = [(s, g) for s, g in labelled if fold is None or folds[s.problem_id] != fold]
            return self._fit(others, bench.taxonomy)

        async def read(case: Case, seed: int | None = None) -> Reading:
            return fitted(folds.get(case.problem.id)).read(case.solution.text or "")

        yield read

    def _learnable(self, bench: Bench) -> Labelled:
        return [(s, g) for s, g in labelled_for(bench) if s.text]

    def _folds(self, labelled: Labelled) -> dict[str, int]:
        """The fold of each labelled problem: in turn, in the order of a hash of their ids."""
        problems = sorted({s.problem_id for s, _ in labelled}, key=lambda p: hashlib.sha256(p.encode()).digest())
        return {problem: i % self.folds for i, problem in enumerate(problems)}

    def _fit(self, labelled: Labelled, taxonomy: Taxonomy) -> "_Fit":
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        def classifier(rows: Any, said: Sequence[Any]) -> Any:
            weights = "balanced" if self.balanced else None
            return LogisticRegression(C=self.inverse_regularisation, class_weight=weights, max_iter=1000).fit(
                rows, said
            )

        least = min(self.least_solutions, len(labelled))
        counter = TfidfVectorizer(ngram_range=(1, self.longest_phrase), min_df=least, sublinear_tf=True)
        try:
            rows = counter.fit_transform([s.text for s, _ in labelled])
        except ValueError:
            raise BadInput(
                f"program={self.name}: the labelled solutions have no words in common to learn from"
            ) from None
        tagged = [i for i, (_, g) in enumerate(labelled) if g.tags is not None]
        by_tag: dict[str, Any] = {}
        for tag in taxonomy.names:
            borne = [tag in (labelled[i][1].tags or ()) for i in tagged]
            if len(set(borne)) == 2:
                by_tag[tag] = classifier(rows[tagged], borne)
        return _Fit(counter, classifier(rows, [g.verdict for _, g in labelled]), by_tag if tagged else None)


@dataclass(frozen=True)
class _Fit:
    """Fitted to some labels: a counter of words, a classifier of verdicts, and one for each tag that some labels bear and
    some do not; null where no label says anything of tags."""

    counter: Any
    verdicts: Any
    by_tag: dict[str, Any] | None

    def read(self, text: str) -> Reading:
        row = self.counter.transform([text])
        names = [str(c) for c in self.verdicts.classes_]
        chances = dict(zip(names, self.verdicts.predict_proba(row)[0], strict=True))
        found = None
        if self.by_tag is not None:
            borne = {tag: float(c.predict_proba(row)[0, 1]) for tag, c in self.by_tag.items()}
            found = [Fallacy(tag=tag, probability=round(p, DIGITS)) for tag, p in borne.items() if p > 0.5]
        return likeliest({v: float(chances.get(v, 0.0)) for v in ORDER}, found)

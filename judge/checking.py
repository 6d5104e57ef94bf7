"""Final answers held against the gold answers: once for each solution, before any judge and before a model is loaded."""

from collections import Counter

from generate.journal import key_of, text_hash
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study, describe
from generate.work import make_newest
from judge.answers import Comparison, Policy, compare_many
from judge.verdicts import Answer

VERSION = 1  # raise it when the checker's outcomes change: all answers are then checked anew


def check_answers(
    study: Study, problems: dict[str, Problem], solutions: dict[str, Solution], policy: Policy, checker: str
) -> dict[str, int]:
    """Check what is not checked yet; returns how many solutions had each outcome.

    A solution whose engine failed has no answer to check and no record. One that was cut off inside its reasoning has
    none either, and that is the solver's failure: `missing`.
    """
    wanted: dict[str, tuple[Solution, str]] = {}
    for solution in solutions.values():
        problem = problems.get(solution.problem_id)
        if (
            problem is None
            or problem.answer is None
            or solution.error
            or (solution.text is None and not solution.cut_off)
        ):
            continue
        key = key_of(
            version=VERSION, policy=vars(policy), gold=problem.answer, solution=solution.id, text=solution.text
        )
        wanted[key] = (solution, problem.answer)
    if not wanted:
        print("final answers: no solution of a problem with a gold answer")
        return {}
    with study.journal("answers", checker, Answer) as journal:
        todo = [(key, *pair) for key, pair in wanted.items() if (key,) not in journal.records]
        compared = compare_many([(gold, solution.text) for _, solution, gold in todo], policy)
        for (key, solution, _), comparison in zip(todo, compared, strict=True):
            journal.append(as_answer(key, solution, comparison, checker))
        make_newest(wanted, journal, lambda a: a.solution_id)
        outcomes: Counter[str] = Counter(journal.records[(key,)].outcome for key in wanted)
    print(f"final answers ({checker}): {describe(outcomes)}; {len(todo)} checked now")
    return dict(outcomes)


def as_answer(key: str, solution: Solution, comparison: Comparison, checker: str) -> Answer:
    taken = comparison.extraction
    return Answer(
        key=key,
        solution_id=solution.id,
        text_hash=text_hash(solution.text),
        checker=checker,
        extracted=taken.text,
        start=taken.start,
        end=taken.end,
        outcome="missing" if taken.text is None else comparison.outcome,
        method=comparison.method,
        reason=comparison.reason,
    )

"""Final answers held against the gold answers: once for each solution, before any judge and before a model is loaded."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

from generate.journal import key_of, text_hash
from generate.problems import Problem
from generate.solutions import Solution
from generate.study import Study, describe
from generate.work import Progress, make_newest
from judge.answers import Comparison, Policy, compare_many, self_check
from judge.verdicts import Answer

VERSION = 3  # raise it when the checker's outcomes change: all answers are then checked anew
STRICT, LENIENT = "strict", "lenient"
"""The two readings of an answer. Headline figures rest on the strict one; reports show the lenient one where it differs."""
SHOW_PROGRESS_FROM = 2000
PATIENCE = 3600.0  # seconds to wait for another judge's run that checks the same answers


def check_golds(problems: Iterable[Problem], policy: Policy) -> list[str]:
    """Hold each gold answer against itself; says and returns the ids of problems whose gold no reply could match."""
    golds = {p.id: p.answer for p in problems if p.answer is not None}
    wrong = dict(self_check(list(dict.fromkeys(golds.values())), policy))
    for id_, gold in golds.items():
        if gold in wrong:
            shown = gold if len(gold) <= 80 else gold[:77] + "..."
            reason = f"{wrong[gold].outcome}: {wrong[gold].reason}"
            print(f"warning: the gold answer of {id_}, {shown!r}, is not equal to itself ({reason})", file=sys.stderr)
    return [id_ for id_, gold in golds.items() if gold in wrong]


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
            version=VERSION, policy=asdict(policy), gold=problem.answer, solution=solution.id, text=solution.text
        )
        wanted[key] = (solution, problem.answer)
    if not wanted:
        return {}
    with study.journal("answers", checker, Answer, patience=PATIENCE) as journal:
        todo = [(key, *pair) for key, pair in wanted.items() if key not in journal]
        progress = Progress(len(todo), 0, "answer") if len(todo) >= SHOW_PROGRESS_FROM else None
        compared = compare_many([(gold, solution.text) for _, solution, gold in todo], policy)
        for (key, solution, gold), comparison in zip(todo, compared, strict=True):
            journal.append(as_answer(key, solution, gold, comparison, checker))
            if progress:
                progress.step(0, failed=False)
        if progress:
            progress.close()
        make_newest(wanted, journal)
        outcomes: Counter[str] = Counter(a.outcome for a in journal.newest(wanted))
    print(f"final answers ({checker}): {describe(outcomes)}; {len(todo)} checked now")
    return dict(outcomes)


def as_answer(key: str, solution: Solution, gold: str, comparison: Comparison, checker: str) -> Answer:
    taken = comparison.extraction
    return Answer(
        key=key,
        solution_id=solution.id,
        text_hash=text_hash(solution.text),
        checker=checker,
        gold=gold,
        extracted=taken.text,
        start=taken.start,
        end=taken.end,
        outcome="missing" if comparison.missing else comparison.outcome,
        method=comparison.method,
        reason=comparison.reason,
    )

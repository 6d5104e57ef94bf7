"""Stage 2: solutions in, verdicts out. `python -m judge model=qwen study=NAME`, or `program=recorded`."""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

from generate.budget import Budget, Spending
from generate.engines import Engine, EngineConfig
from generate.journal import BadInput, key_of, text_hash
from generate.labels import Finding, Judgement
from generate.models import Model
from generate.models import Recorded as RecordedModel
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import SPENT, Count, StageConfig, Whole, launch
from generate.study import Manifest, Shard, Study, describe
from generate.work import make_newest, plan, work_into
from judge import compiled
from judge.answers import Policy
from judge.checking import LENIENT, STRICT, check_answers, check_golds
from judge.controls import Variants, controls_study, take_variants
from judge.lastrun import with_model_of_last_run
from judge.optimisers import Optimiser, Training
from judge.panel import MemberStopped, Panel, judge_as_panel
from judge.program import (
    Bench,
    Nothing,
    Probabilities,
    Program,
    Recorded,
    Rubric,
    Trainable,
    problem_hash,
    verdict_key,
)
from judge.taxonomy import Taxonomy
from judge.verdicts import Answer, Case, Fallacy, Opinion, Verdict, leave_last, verdict_of
from judge.voting import Combine, Voting, voted

Counts = dict[str, Any]
OpenEngine = Callable[[], Engine]
"""Opens the engine the first time it is called: finished work needs none."""


class Config(StageConfig):
    """conf/judge.yaml"""

    model: Model | RecordedModel
    engine: EngineConfig
    program: Program | Panel | Recorded | Nothing
    taxonomy: Taxonomy
    answers: Policy
    lenient: Policy
    variants: Variants
    controls: bool = False
    show: str | None = None
    optimiser: Optimiser
    mode: Literal["judge", "optimise"] = "judge"
    training: Training = Training()
    ask_undecided: bool = False
    models: list[str] | None = None
    limit: Count | None = None
    seed: Whole = 0
    in_flight: Count = 128
    thinking_tokens: Whole = 0
    votes: Count = 1
    combine: Combine = "majority"
    stop_early: bool = True
    probabilities: Probabilities = "votes"
    retry_errors: bool = False
    shard: Shard = Shard()
    budget: Budget = Budget()

    @property
    def asks_model(self) -> bool:
        """Whether this run may put anything to the model."""
        return getattr(self.program, "asks_model", False) or self.ask_undecided

    def voting(self, program: Program) -> Voting:
        """How the votes of a solution are made into one verdict."""
        of_points = getattr(program, "verdict_of_points", None)
        most = getattr(program, "max_points", 0.0)
        return Voting(self.combine, self.stop_early, self.probabilities, self.seed, of_points, most)


def run(config: Config, plain: dict[str, Any]) -> int:
    study, why = Study.existing(config.studies_dir, config.study)
    study = study.part(config.shard)
    if config.show is not None:
        from judge.show import show

        print(show(study, config.show, lambda verdict: judged_by(config, study, verdict)))
        return 0
    problems, solutions = study.problems(), chosen_solutions(study, config)
    judgements = [j for j in study.judgements() if j.solution_id in solutions]
    check_program(config, study, solutions, judgements)
    print(f"study {study.path} ({why})")

    manifest = Manifest(study, "judge", plain)
    counts: Counts = {
        "golds_not_equal_to_themselves": check_golds(
            [p for p in problems.values() if config.shard.holds(p.id)], config.answers
        )
    }
    readings = ((STRICT, config.answers), (LENIENT, config.lenient))
    counts["answers"] = {c: check_answers(study, problems, solutions, policy, c) for c, policy in readings}
    if not any(counts["answers"].values()):
        print("final answers: no solution of a problem with a gold answer")
    home = study
    if config.controls:
        home = controls_study(study)
        solutions = take_variants(config.variants, study, problems, solutions, config.taxonomy, config.answers)
        for checker, policy in readings:
            check_answers(home, problems, solutions, policy, checker)
    if isinstance(config.program, Recorded):
        counts |= take_recorded(study, judgements, solutions)
    if isinstance(config.program, Panel):
        cases = cases_of(home, problems, solutions, needs_text=False)
        voting = Voting(config.combine, probabilities=config.probabilities)
        try:
            counts |= judge_as_panel(config.program, study, home, cases, voting, sys.argv[1:])
        except MemberStopped as stopped:
            print(f"judge: {stopped}: run the same command again to go on", file=sys.stderr)
            return stopped.code
    with ExitStack() as at_end:
        engines: list[Engine] = []
        spending = Spending(config.budget)

        def opened() -> Engine:
            if not engines:
                engines.append(at_end.enter_context(config.engine.open(config.model, config.seed)))  # type: ignore[arg-type]
                engines[0].spending = spending
            return engines[0]

        if config.ask_undecided:
            assert isinstance(config.model, Model)
            counts |= ask_undecided(config, config.model, study, problems, solutions, opened)
        if isinstance(config.program, Program):
            bench = replace(bench_of(config, study), open_engine=opened)
            if config.mode == "optimise":
                counts |= train(config, bench, problems, solutions)
            else:
                counts |= judge_solutions(config, config.program, bench, home, problems, solutions)
        counts |= {"engine": engines[0].about() if engines else {}, "spent": spending.about()}
    manifest.finish(**counts)
    if spending.refused:
        return SPENT
    if config.mode == "judge":
        print("next: python -m calibrate")
    return 0


def chosen_solutions(study: Study, config: Config) -> dict[str, Solution]:
    """The newest solution of each id, of the models that the config asks for."""
    solutions = study.solutions()
    if config.models is not None:
        there = {s.model for s in solutions.values()}
        if unknown := [m for m in config.models if m not in there]:
            raise BadInput(
                f"models: {study.path} has no solutions by {unknown[0]!r}; there are: {', '.join(sorted(there))}"
            )
        solutions = {k: s for k, s in solutions.items() if s.model in config.models}
    if not solutions:
        raise BadInput(f"{study.path} holds no solutions: run `python -m generate` for it first")
    first = list(solutions.items())[: config.limit]
    return {k: s for k, s in first if config.shard.holds(s.problem_id)}


def bench_of(config: Config, study: Study) -> Bench:
    """What the program judges with."""
    model = config.model if getattr(config.program, "asks_model", False) else None
    assert not isinstance(model, RecordedModel)
    about = config.engine.identity(model) if model else {}
    logprobs = config.probabilities == "logprobs"
    return Bench(study, config.taxonomy, model, about, config.seed, config.thinking_tokens, logprobs=logprobs)


def judged_by(config: Config, study: Study, verdict: Verdict) -> tuple[Program, Bench] | None:
    """The program that made a verdict and what it judged with: of this config, or of the run's own, whichever has its key."""
    from judge.show import configs_of_runs

    for known in (config, *configs_of_runs(study, verdict.judge_key, Config)):
        asks_recorded = getattr(known.program, "asks_model", False) and isinstance(known.model, RecordedModel)
        if isinstance(known.program, Program) and not asks_recorded:
            bench = bench_of(known, study)
            with contextlib.suppress(BadInput):  # a trained program that is gone has no key
                if judge_names(known, known.program, bench)[1] == verdict.judge_key:
                    return known.program, bench
    return None


def check_program(config: Config, study: Study, solutions: dict[str, Solution], judgements: list[Judgement]) -> None:
    """What can be known to fail is said before anything is written or loaded."""
    if isinstance(config.program, Recorded) and not judgements:
        raise BadInput(
            f"program=recorded: {study.path} holds no recorded judgements; choose program=single and a model"
        )
    if config.asks_model and isinstance(config.model, RecordedModel):
        raise BadInput("model=recorded cannot judge; choose a model, or program=recorded for recorded judgements")
    if isinstance(config.program, Panel):
        config.program.check(study)
        if config.votes > 1:
            raise BadInput("program=panel: votes= is a member's affair; say it in program.members")
    if config.controls and not isinstance(config.program, Program | Panel):
        raise BadInput(f"controls=true: program={config.program.name} judges no new solution; choose one that does")
    if config.controls and config.ask_undecided:
        raise BadInput("controls=true: ask_undecided is for the study's own answers; run it without controls")
    if config.controls and config.mode == "optimise":
        raise BadInput("controls=true: nothing is trained on made-up solutions; run mode=optimise without controls")
    if getattr(config.program, "needs_text", False) and solutions and not any(s.text for s in solutions.values()):
        raise BadInput(f"{study.path} holds no texts of solutions to judge (of those that are asked for)")
    if config.asks_model and isinstance(config.model, Model):
        config.model.check()
        config.engine.check(config.model)
    if isinstance(config.program, Program):
        check_votes(config, config.program)
        config.program.check(bench_of(config, study))
    if config.mode == "optimise" and config.retry_errors:
        raise BadInput("retry_errors=true: is for mode=judge; in training a reply that fails scores 0, and is counted")
    if config.mode == "optimise" and (not isinstance(config.program, Trainable) or config.program.load is not None):
        raise BadInput(
            "mode=optimise trains a program that asks a model, as its config has it: program=single, without program.load"
        )


def check_votes(config: Config, program: Program) -> None:
    if config.votes > 1 and not program.asks_model:
        raise BadInput(
            f"votes={config.votes}: program={program.name} says the same each time; choose one that asks a model"
        )
    if config.votes > 1 and isinstance(config.model, Model) and config.model.sampling.temperature == 0:
        raise BadInput(
            f"votes={config.votes}: a greedy model says the same each time; set model.sampling.temperature, such as 0.7"
        )
    if config.probabilities == "logprobs" and isinstance(program, Rubric):
        raise BadInput("probabilities=logprobs: program=rubric names points and no verdict; use votes or none")


# --- recorded judges --------------------------------------------------------------------------------------------------


def take_recorded(study: Study, judgements: list[Judgement], solutions: dict[str, Solution]) -> Counts:
    """Each recorded judgement as a verdict, or as an error record where it could not be read."""
    by_judge: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_judge.setdefault(judgement.judge, []).append(judgement)
    counts: Counts = {}
    for judge, given in by_judge.items():
        with study.journal("verdicts", judge, Verdict) as journal:
            records = [as_verdict(j, solutions[j.solution_id].text) for j in given]
            new = journal.put(records)
            make_newest([r.key for r in records], journal)
        errors = Counter(r.error.kind for r in records if r.error)
        counts[judge] = {"verdicts": len(records), "errors": dict(errors)}
        print(f"judge {judge}: {len(records)} recorded judgements, {new} new or changed; errors: {describe(errors)}")
    return {"judges": counts}


def as_verdict(judgement: Judgement, text: str | None) -> Verdict:
    """`text` is the solution's."""
    recorded = judgement.model_dump(mode="json", exclude={"fallacies"} if judgement.fallacies is None else None)
    hashed = text_hash(text)
    return Verdict(
        key=key_of(recorded=recorded, text=hashed),
        id=f"{judgement.judge}/{judgement.solution_id}",
        solution_id=judgement.solution_id,
        text_hash=hashed,
        judge=judgement.judge,
        judge_key=key_of(program="recorded", judge=judgement.judge),
        verdict=judgement.verdict,
        points=judgement.points,
        max_points=judgement.max_points,
        fallacies=None if judgement.fallacies is None else [as_fallacy(f, text) for f in judgement.fallacies],
        error=judgement.error,
    )


def as_fallacy(finding: Finding, text: str | None) -> Fallacy:
    """With the words that stand where the judge points to; without a place where it points to none in the text."""
    start, end = finding.start, finding.end
    if text is None or start is None or end is None or not 0 <= start < end <= len(text):
        return Fallacy(tag=finding.tag, explanation=finding.comment)
    return Fallacy(
        tag=finding.tag, quote=text[start:end], start=start, end=end, grounded=True, explanation=finding.comment
    )


# --- a program as judge -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One case to judge, or one undecided answer to ask about."""

    key: str
    case: Case


def judge_solutions(
    config: Config,
    program: Program,
    bench: Bench,
    home: Study,
    problems: dict[str, Problem],
    solutions: dict[str, Solution],
) -> Counts:
    """Judge what is not judged yet; `home` is where solutions, answers and verdicts stand: the study, or its controls."""
    (name, judge_key), trained = judge_names(config, program, bench), compiled.mark(bench.study, load_of(program))
    cases = cases_of(home, problems, solutions, program.needs_text)
    tasks = [Task(verdict_key(judge_key, c.solution.id, program.shown(c)), c) for c in cases]
    homeless = sum(s.problem_id not in problems for s in solutions.values())
    without_text = len(solutions) - len(tasks) - homeless
    if homeless:
        wanting = f"the problem of {homeless} solutions is not in {bench.study.path / 'problems.jsonl'}, and they are not judged"
        print(f"warning: {wanting}; shard 0 of generate writes it: run that first", file=sys.stderr)
    own = sum(s.model in (bench.model.name, bench.model.id) for s in solutions.values()) if bench.model else 0
    if own:
        warning = f"{name} judges {own} solutions that its own model wrote; models are known to favour their own"
        print(f"warning: {warning}", file=sys.stderr)
    new, tokens = 0, dict[str, int]()
    with home.journal("verdicts", name, Verdict) as journal:
        if journal.torn_bytes:
            print(f"cut off a half-written line at the end of {journal.path}; its work is done again")
        todo, done = plan(tasks, lambda t: t.key, journal, config.retry_errors)
        make_newest([t.key for t in tasks], journal)
        there = f"{done} there already, {len(todo)} to do; {without_text} without a text"
        print(f"judge {name}: {len(tasks)} solutions to judge, {there}")
        if todo:
            voting = config.voting(program)
            with program.reading(bench) as read:

                async def judge_one(task: Task) -> Verdict:
                    case = task.case
                    names: dict[str, Any] = {"key": task.key, "id": f"{name}/{case.solution.id}"}
                    names |= {"judge": name, "judge_key": judge_key, "compiled": trained}
                    began = time.monotonic()
                    whole, votes, saved = await voted(read, case, config.votes, voting)
                    names |= {"problem_hash": problem_hash(case.problem), "votes": votes, "votes_saved": saved}
                    return verdict_of(whole, case, seconds=round(time.monotonic() - began, 3), **names)

                new, tokens = work_into(journal, todo, judge_one, config.in_flight, done, "verdict")
        leave_last(journal, [t.key for t in tasks])
        errors: Counter[str] = Counter()
        said: Counter[str] = Counter()
        saved = 0
        for record in journal.newest(t.key for t in tasks):
            errors.update([record.error.kind] if record.error else [])
            said.update([record.verdict] if record.verdict else [])
            saved += record.votes_saved
    print(f"verdicts: {describe(said)}; errors: {describe(errors)} (in {journal.path})")
    if saved:
        print(
            f"{saved} of {config.votes * (said.total() + errors.total())} votes were saved: they could change nothing"
        )
    if errors:
        print("errors are kept as records, and are no verdicts; retry_errors=true runs them again")
    return {"judge": name, "judge_key": judge_key, "tokens": tokens, "judged": new, "there_already": done,
            "without_text": without_text, "without_problem": homeless, "own_solutions": own, "errors": dict(errors), "votes_saved": saved}  # fmt: skip


def judge_names(config: Config, program: Program, bench: Bench) -> tuple[str, str]:
    """What the judge is called, and the hash of all that its verdicts depend on but for the case."""
    parts = [program.name, bench.model.name if bench.model else None, load_of(program)]
    name, key = "-".join(p for p in parts if p), program.judge_key(bench)
    if config.votes > 1:
        name += f"-x{config.votes}"
        key = key_of(judge=key, votes=config.votes, voting=config.voting(program).identity())
    elif config.probabilities == "none" and not program.asks_model:  # what asks a model has none after one reading
        key = key_of(judge=key, probabilities=config.probabilities)
    return name, key


def train(config: Config, bench: Bench, problems: dict[str, Problem], solutions: dict[str, Solution]) -> Counts:
    from judge.optimise import Pupil, optimise

    program, model = config.program, bench.model
    assert isinstance(program, Program) and isinstance(program, Trainable) and model is not None
    cases = {c.solution.id: c for c in cases_of(bench.study, problems, solutions, program.needs_text)}
    pupil = Pupil(
        program.name, program.judge_key(bench), program.module(bench), program.inputs,
        program.sampling(bench), bench, getattr(program, "quotes", "required"),
    )  # fmt: skip
    return optimise(pupil, config.optimiser, config.training, cases, config.in_flight)


def load_of(program: Program) -> str | None:
    """The trained program that this one loads, where it can."""
    load: str | None = getattr(program, "load", None)
    return load


def cases_of(
    study: Study, problems: dict[str, Problem], solutions: dict[str, Solution], needs_text: bool
) -> list[Case]:
    """What can be judged: each solution with its problem and the strict answer check of its present text."""
    answers = {a.solution_id: a for a in study.every("answers", Answer) if a.checker == STRICT}
    cases = []
    for solution in solutions.values():
        problem, answer = problems.get(solution.problem_id), answers.get(solution.id)
        if problem is None or solution.error or (needs_text and not has_text(solution)):
            continue
        if answer and (answer.text_hash != text_hash(solution.text) or answer.gold != problem.answer):
            answer = None
        cases.append(Case(problem, solution, answer))
    return cases


def has_text(solution: Solution) -> bool:
    """Whether there is something to read. An empty text counts only where it is a control, made up to be empty."""
    return bool(solution.text) or (solution.text == "" and "control" in solution.meta)


def ask_undecided(
    config: Config,
    model: Model,
    study: Study,
    problems: dict[str, Problem],
    solutions: dict[str, Solution],
    opened: OpenEngine,
) -> Counts:
    """Put the answers that the strict reading left undecided to the model."""
    from judge.opinions import (
        opinion,
        opinion_adapter,
        opinion_judge_key,
        opinion_key,
        opinion_sampling,
    )

    name = f"opinion-{model.name}"
    sampling = opinion_sampling(model, config.seed, config.thinking_tokens)
    judge_key = opinion_judge_key(model, config.engine.identity(model), sampling)
    newest = {a.solution_id: a for a in study.every("answers", Answer) if a.checker == STRICT}
    tasks = [
        Task(opinion_key(judge_key, problems[s.problem_id], answer), Case(problems[s.problem_id], s, answer))
        for s in solutions.values()
        if (answer := newest.get(s.id)) and answer.outcome == "undecided" and answer.text_hash == text_hash(s.text)
    ]
    with study.journal("opinions", name, Opinion) as journal:
        todo, done = plan(tasks, lambda t: t.key, journal, config.retry_errors)
        make_newest([t.key for t in tasks], journal)
        print(f"undecided answers put to {model.name}: {len(tasks)}, {done} there already, {len(todo)} to do")
        if todo:
            from judge.lm import dspy_with

            async def ask_one(task: Task) -> Opinion:
                assert task.case.answer is not None
                names = {"key": task.key, "judge": name, "judge_key": judge_key}
                return await opinion(task.case.problem, task.case.solution, task.case.answer, **names)

            with dspy_with(opened(), sampling, opinion_adapter()):
                work_into(journal, todo, ask_one, config.in_flight, done, "opinion")
        leave_last(journal, [t.key for t in tasks])
        kept = journal.newest(t.key for t in tasks)
        said = Counter(r.outcome or f"error {r.error.kind if r.error else ''}" for r in kept)
    print(f"opinions: {describe(said)}. They are the model's, and enter no human-gold figure")
    return {"opinions": dict(said)}


if __name__ == "__main__":
    sys.argv[1:], from_where = with_model_of_last_run(sys.argv[1:])
    if from_where:
        print(from_where, flush=True)
    sys.exit(launch("judge", Config, run, names=("show",)))

"""Stage 2: solutions in, verdicts out. `python -m judge model=qwen study=NAME`, or `program=recorded`."""

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from generate.engines import EngineConfig
from generate.journal import BadInput, Journal, key_of, text_hash
from generate.labels import Judgement
from generate.models import Model
from generate.models import Recorded as RecordedModel
from generate.problems import Problem
from generate.solutions import Solution, Usage
from generate.stage import Count, StageConfig, Whole, launch
from generate.study import Manifest, Study, describe
from generate.work import Progress, make_newest, plan, work_through
from judge.answers import Policy
from judge.checking import check_answers
from judge.program import Judge, Nothing, Recorded, verdict_key
from judge.taxonomy import Taxonomy
from judge.verdicts import Verdict


class Config(StageConfig):
    """conf/judge.yaml"""

    model: Model | RecordedModel
    engine: EngineConfig
    program: Judge | Recorded | Nothing
    taxonomy: Taxonomy
    answers: Policy
    checker: str
    models: list[str] | None = None
    limit: Count | None = None
    seed: Whole = 0
    in_flight: Count = 128
    retry_errors: bool = False


def run(config: Config, plain: dict[str, Any]) -> int:
    study, why = Study.existing(config.studies_dir, config.study)
    problems, solutions = study.problems(), chosen_solutions(study, config)
    judgements = [j for j in study.judgements() if j.solution_id in solutions]
    check_program(config, study, solutions, judgements)
    print(f"study {study.path} ({why})")

    manifest = Manifest(study, "judge", plain)
    answers = check_answers(study, problems, solutions, config.answers, config.checker)
    counts: dict[str, Any] = {"answers": answers}
    if isinstance(config.program, Recorded):
        counts |= take_recorded(study, judgements, solutions)
    elif isinstance(config.program, Judge):
        assert isinstance(config.model, Model)
        counts |= judge_solutions(config, config.program, config.model, study, problems, solutions)
    manifest.finish(**counts)
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
    return dict(list(solutions.items())[: config.limit])


def check_program(config: Config, study: Study, solutions: dict[str, Solution], judgements: list[Judgement]) -> None:
    """What can be known to fail is said before anything is written or loaded."""
    if isinstance(config.program, Recorded) and not judgements:
        raise BadInput(f"program=recorded: {study.path} holds no recorded judgements; choose program=judge and a model")
    if isinstance(config.program, Judge):
        if isinstance(config.model, RecordedModel):
            raise BadInput("model=recorded cannot judge; choose a model, or program=recorded for recorded judgements")
        if not any(s.text for s in solutions.values()):
            raise BadInput(f"{study.path} holds no texts of solutions to judge (of those that are asked for)")
        config.engine.check()


def take_recorded(study: Study, judgements: list[Judgement], solutions: dict[str, Solution]) -> dict[str, Any]:
    """Each recorded judgement as a verdict, or as an error record where it could not be read."""
    by_judge: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_judge.setdefault(judgement.judge, []).append(judgement)
    counts: dict[str, Any] = {}
    for judge, given in by_judge.items():
        with study.journal("verdicts", judge, Verdict) as journal:
            records = [as_verdict(j, text_hash(solutions[j.solution_id].text)) for j in given]
            new = journal.put(records)
            make_newest([r.key for r in records], journal, lambda v: v.id)
        errors = Counter(r.error.kind for r in records if r.error)
        counts[judge] = {"verdicts": len(records), "errors": dict(errors)}
        print(f"judge {judge}: {len(records)} recorded judgements, {new} new or changed; errors: {describe(errors)}")
    return {"judges": counts}


def as_verdict(judgement: Judgement, text: str | None) -> Verdict:
    return Verdict(
        key=key_of(recorded=judgement.model_dump(mode="json"), text=text),
        id=f"{judgement.judge}/{judgement.solution_id}",
        solution_id=judgement.solution_id,
        text_hash=text,
        judge=judgement.judge,
        judge_key=key_of(program="recorded", judge=judgement.judge),
        verdict=judgement.verdict,
        points=judgement.points,
        max_points=judgement.max_points,
        error=judgement.error,
    )


@dataclass(frozen=True)
class Task:
    """One solution to judge."""

    key: str
    problem: Problem
    solution: Solution


def judge_solutions(
    config: Config,
    program: Judge,
    model: Model,
    study: Study,
    problems: dict[str, Problem],
    solutions: dict[str, Solution],
) -> dict[str, Any]:
    name = f"{program.name}-{model.name}"
    judge_key = program.judge_key(config.taxonomy, model, config.engine.identity(model), config.seed)
    tasks = [
        Task(verdict_key(judge_key, problems[s.problem_id], s), problems[s.problem_id], s)
        for s in solutions.values()
        if s.text and not s.error and s.problem_id in problems
    ]
    without_text = len(solutions) - len(tasks)
    own = sum(s.model in (model.name, model.id) for s in solutions.values())
    if own:
        print(
            f"warning: {name} judges {own} solutions that its own model wrote; models are known to favour their own",
            file=sys.stderr,
        )
    tokens = Counter[str]()
    about: dict[str, Any] = {}
    with study.journal("verdicts", name, Verdict) as journal:
        if journal.torn_bytes:
            print(f"cut off a half-written line at the end of {journal.path}; its work is done again")
        todo, done = plan(tasks, lambda t: t.key, journal, config.retry_errors)
        make_newest([t.key for t in tasks], journal, lambda v: v.id)
        print(
            f"judge {name}: {len(tasks)} solutions to judge, {done} there already, {len(todo)} to do; {without_text} without a text"
        )
        if todo:
            with config.engine.open(model, config.seed) as engine:
                about = engine.about()
                judge_all(todo, engine, config, program, model, judge_key, name, journal, done, tokens)
        wanted = {t.key for t in tasks}
        records = [r for r in journal.records.values() if r.key in wanted]
    errors = Counter(r.error.kind for r in records if r.error)
    said = Counter(r.verdict for r in records if r.verdict)
    print(f"verdicts: {describe(said)}; errors: {describe(errors)} (in {journal.path})")
    if errors:
        print("errors are kept as records, and are no verdicts; retry_errors=true runs them again")
    return {"judge": name, "judge_key": judge_key, "engine": about, "tokens": dict(tokens), "judged": len(todo),
            "there_already": done, "without_text": without_text, "own_solutions": own, "errors": dict(errors)}  # fmt: skip


def judge_all(
    todo: list[Task],
    engine: Any,
    config: Config,
    program: Judge,
    model: Model,
    judge_key: str,
    name: str,
    journal: Journal[Verdict],
    done: int,
    tokens: Counter[str],
) -> None:
    import dspy

    from judge.grading import Grader, GradingAdapter, grade, inputs_of, verdict_of
    from judge.lm import dspy_lm

    grader = Grader(program.instructions)
    lm = dspy_lm(engine, program.sampling(model, config.seed))
    adapter = GradingAdapter(config.taxonomy, program.schema(config.taxonomy))
    progress = Progress(len(todo) + done, done, "verdict")

    async def judge_one(task: Task) -> Verdict:
        said, vote, usage = await grade(grader, inputs_of(task.problem, task.solution))
        return verdict_of(
            said,
            vote,
            usage,
            task.solution,
            key=task.key,
            id=f"{name}/{task.solution.id}",
            judge=name,
            judge_key=judge_key,
        )

    def keep(verdict: Verdict) -> None:
        journal.append(verdict)
        usage = verdict.usage or Usage()
        tokens["prompt"] += usage.prompt_tokens or 0
        tokens["completion"] += usage.completion_tokens or 0
        progress.step(usage.completion_tokens or 0, verdict.error is not None)

    try:
        with dspy.context(lm=lm, adapter=adapter, track_usage=False, disable_history=True):
            work_through(todo, judge_one, keep, config.in_flight)
    finally:
        progress.close()


if __name__ == "__main__":
    sys.exit(launch("judge", Config, run))

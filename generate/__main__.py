"""Stage 1: problems in, solutions out. `python -m generate model=qwen dataset=imo_answerbench dataset.path=FILE`"""

import hashlib
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from generate.budget import Budget, Spending
from generate.engines import Chat, Engine, EngineConfig, Refused, Reply, Sampling, with_call
from generate.journal import BadInput, Failure, Journal, key_of
from generate.labels import HumanLabel
from generate.models import Model, Recorded
from generate.problems import Dataset, Problem, Reader
from generate.prompts import Prompt
from generate.solutions import Solution, Usage
from generate.stage import SPENT, Count, StageConfig, Whole, launch
from generate.study import MOMENT, Manifest, Shard, Study, describe
from generate.work import make_newest, plan, work_into


class Config(StageConfig):
    """conf/generate.yaml"""

    dataset: Reader
    model: Model | Recorded
    engine: EngineConfig
    prompt: Prompt
    limit: Count | None = None
    topics: list[str] | None = None
    samples: Count = 1
    seed: Whole = 0
    in_flight: Count = 256
    retry_errors: bool = False
    shard: Shard = Shard()
    budget: Budget = Budget()


def run(config: Config, plain: dict[str, Any]) -> int:
    dataset = config.dataset.read().only(config.topics, config.limit)
    study = Study.named(config.studies_dir, config.dataset.name if config.study is None else config.study)
    why = "named on the command line" if config.study else "the dataset's name"
    if isinstance(config.model, Recorded) and not dataset.solutions:
        raise BadInput(f"model=recorded: dataset {config.dataset.name} brings no solutions along; choose a model")
    if isinstance(config.model, Model):
        config.model.check()
        config.engine.check(config.model)
    print(f"study {study.path} ({why})")

    manifest = Manifest(study, "generate", plain)
    # the first shard brings along what all of them share
    brought = bring_along(dataset, study, config.dataset.name) if config.shard.index == 0 else {}
    for what, (count, new) in brought.items():
        print(f"{what}: {count} from {config.dataset.name}, {new} of them new or changed")
    if isinstance(config.model, Recorded):
        manifest.finish(brought={k: v[0] for k, v in brought.items()})
        print("next: python -m judge" + (" program=recorded" if dataset.judgements else ""))
        return 0
    return write_solutions(config, config.model, dataset, study.part(config.shard), manifest)


def bring_along(dataset: Dataset, study: Study, source: str) -> dict[str, tuple[int, int]]:
    """Put all that the source brings into the study; returns for each kind how many there are and how many were new.

    Every journal is opened before the first is written, so that a damaged one is found while nothing is changed.
    """
    by_model: dict[str, list[Solution]] = {}
    for solution in dataset.solutions:
        by_model.setdefault(solution.model, []).append(solution)
    refuse_other_models(dataset, study)
    brought = {}
    with ExitStack() as open_journals:
        problems = open_journals.enter_context(study.problems_journal())
        solutions = {m: open_journals.enter_context(study.solutions_journal(m, MOMENT)) for m in by_model}
        labelled = dataset.labels or study.label_file(source).exists()
        labels = open_journals.enter_context(study.labels_journal(source)) if labelled else None
        judgements = open_journals.enter_context(study.judgements_journal(source)) if dataset.judgements else None

        brought["problems"] = (len(dataset.problems), problems.put(dataset.problems))
        if by_model:
            new = sum(solutions[model].put(records) for model, records in by_model.items())
            for model, records in by_model.items():
                make_newest([s.key for s in records], solutions[model])
            brought["recorded solutions"] = (len(dataset.solutions), new)
        if labels is not None:
            kind = "planted" if {x.kind for x in dataset.labels} == {"planted"} else "human"
            brought[f"{kind} labels"] = (len(dataset.labels), labels.put(dataset.labels))
            if withdrawn := labels.put(withdrawn_labels(dataset, labels)):
                brought["withdrawn labels"] = (withdrawn, withdrawn)
        if judgements is not None:
            brought["recorded judgements"] = (len(dataset.judgements), judgements.put(dataset.judgements))
    return brought


def refuse_other_models(dataset: Dataset, study: Study) -> None:
    """An id names one solution: where the source now gives it to another model, labels could join the wrong text."""
    there = {s.id: s.model for s in study.every("solutions", Solution)}
    for solution in dataset.solutions:
        model = there.get(solution.id, solution.model)
        if model != solution.model:
            raise BadInput(
                f"solution '{solution.id}' is by '{solution.model}' in the source and by '{model}' in {study.path}; "
                "take a new study for it, with study=NAME"
            )


def withdrawn_labels(dataset: Dataset, journal: Journal[HumanLabel]) -> list[HumanLabel]:
    """For labels that the journal has and the source no longer gives to a solution it still holds: the same, empty."""
    given = {journal.name(x) for x in dataset.labels}
    there = {s.id for s in dataset.solutions}
    nothing = dict.fromkeys(("verdict", "fallacies", "answer_correct", "points", "max_points", "spans", "comment"))
    return [
        x.model_copy(update=nothing)
        for x in journal.newest()
        if journal.name(x) not in given and x.solution_id in there
    ]


@dataclass(frozen=True)
class Task:
    """One sample of one problem."""

    key: str
    problem: Problem
    sample: int
    chat: Chat
    sampling: Sampling


def write_solutions(config: Config, model: Model, dataset: Dataset, study: Study, manifest: Manifest) -> int:
    with study.solutions_journal(model.name) as journal:
        if journal.torn_bytes:
            print(f"cut off a half-written line at the end of {journal.path}; its work is done again")
        # the engine's part of the key is known from its config, so that finished work needs no engine
        about_engine = config.engine.identity(model)
        tasks = [
            make_task(config, model, about_engine, problem, sample)
            for problem in dataset.problems
            if config.shard.holds(problem.id)
            for sample in range(config.samples)
        ]
        if others := journal.noted - {settings_key(config, model, about_engine)}:
            note = (
                f"{len(others)} other settings (sampling, prompt, engine) have written solutions by {model.name} here"
            )
            print(f"warning: {note}; give each a name of its own with model.name=NAME", file=sys.stderr)
        todo, done = plan(tasks, lambda t: t.key, journal, config.retry_errors)
        make_newest([t.key for t in tasks], journal)
        print(f"solutions by {model.name}: {len(tasks)} asked for, {done} there already, {len(todo)} to write")
        new, tokens = 0, dict[str, int]()
        about: dict[str, Any] = {}
        spending = Spending(config.budget)
        if todo:
            with config.engine.open(model, config.seed) as engine:
                engine.spending = spending
                shared = settings_key(config, model, about_engine)

                async def solve(task: Task) -> Solution:
                    return (await written(task, engine, model)).model_copy(update={"settings_key": shared})

                new, tokens = work_into(journal, todo, solve, config.in_flight, done, "solution")
                about = engine.about()
        errors: Counter[str] = Counter()
        there = cut = 0
        for record in journal.newest(t.key for t in tasks):
            there += 1
            cut += record.cut_off
            if record.error:
                errors[record.error.kind] += 1
    manifest.finish(engine=about, tokens=tokens, written=new, there_already=done, errors=dict(errors), cut_off=cut)
    print(f"solutions: {there} in {journal.path}; {cut} cut off by the token limit; errors: {describe(errors)}")
    if errors:
        print("errors are kept as records; retry_errors=true runs them again")
    if spending.refused:
        return SPENT
    print("next: python -m judge")
    return 0


def settings_key(config: Config, model: Model, about_engine: dict[str, Any]) -> str:
    """What all solutions of one run share: the model, its engine, how it is asked and sampled."""
    prompt = [vars(config.prompt.final_answer), vars(config.prompt.proof)]
    return key_of(model=model.identity(), engine=about_engine, prompt=prompt, sampling=vars(model.sampling))


def make_task(config: Config, model: Model, about_engine: dict[str, Any], problem: Problem, sample: int) -> Task:
    chat = config.prompt.chat(problem)
    sampling = with_call(model.sampling, seed=sample_seed(config.seed, problem.id, sample))
    key = key_of(
        model=model.identity(),
        engine=about_engine,
        chat=chat,
        sampling=vars(sampling),
        problem=problem.id,
        sample=sample,
    )
    return Task(key, problem, sample, chat, sampling)


def sample_seed(seed: int, problem_id: str, sample: int) -> int:
    """A seed of its own for each sample: n samples of one problem with one seed would come out the same."""
    digest = hashlib.sha256(f"{seed}\0{problem_id}\0{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


async def written(task: Task, engine: Engine, model: Model) -> Solution:
    try:
        reply = await engine.complete(task.chat, task.sampling)
    except Refused as refusal:
        return as_solution(task, model, None, Failure(kind=refusal.kind, message=str(refusal)))
    return as_solution(task, model, reply, None)


def as_solution(task: Task, model: Model, reply: Reply | None, error: Failure | None) -> Solution:
    if reply is not None and reply.text is None and reply.finish_reason != "length":
        error = Failure(kind="no_reply", message="the reply is nothing but reasoning", raw=reply.reasoning)
    return Solution(
        key=task.key,
        id=f"{task.problem.id}/{model.name.replace('/', '%2F')}/{task.sample}",
        problem_id=task.problem.id,
        model=model.name,
        sample=task.sample,
        text=(reply.text or "") if reply and not error else None,
        reasoning=reply.reasoning if reply else None,
        finish_reason=reply.finish_reason if reply else None,
        usage=Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens) if reply else None,
        seed=task.sampling.seed,
        error=error,
    )


if __name__ == "__main__":
    sys.exit(launch("generate", Config, run))

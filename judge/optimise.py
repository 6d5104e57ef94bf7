"""`python -m judge mode=optimise`: let a DSPy optimiser better a judge by human labels, and save what comes out.

It learns from the study's `train` split and is chosen by its `dev` split; no text and no label of the `lockbox` is ever read.
"""

import contextlib
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from generate.engines import Sampling, with_call
from generate.journal import BadInput, Journal, key_of
from generate.models import Model
from generate.study import describe, versions
from generate.work import Progress
from judge.adjudication import adjudicate
from judge.compiled import ProgramManifest, Seen, folder_of, read_manifest, save
from judge.evidence import Quotes
from judge.labelled import labels_of
from judge.ledger import Call, Ledger, Stopped
from judge.lm import dspy_lm
from judge.optimisers import ALWAYS, Material, Optimiser, Training
from judge.program import Bench
from judge.splits import Splits, keep_splits
from judge.training import Account, Candidate, Example, ProposalAdapter, Trainee, example_of
from judge.verdicts import Case


@dataclass(frozen=True)
class Pupil:
    """What is trained, as the judge stage would run it."""

    program: str
    """Its name."""
    judge_key: str
    """Of the judge as it is before."""
    module: dspy.Module
    inputs: Callable[[Case], dict[str, Any]]
    """What the module is called with."""
    sampling: Sampling
    bench: Bench
    quotes: Quotes = "required"
    """Which of its tags count."""

    @property
    def model(self) -> Model:
        assert self.bench.model is not None
        return self.bench.model


@dataclass(frozen=True)
class Lessons:
    """The labelled solutions that a training may see."""

    train: list[Example]
    dev: list[Example]
    seen: list[Seen]


def optimise(
    pupil: Pupil, optimiser: Optimiser, training: Training, cases: dict[str, Case], in_flight: int
) -> dict[str, Any]:
    """Train, save, and say what was reached; returns what the stage's manifest records of it. `cases`: what the program can
    judge, by solution."""
    study = pupil.bench.study
    splits = keep_splits(study)
    lessons = lessons_of(pupil, splits, training, cases)
    name = training.name or f"{optimiser.name}-{pupil.program}"
    folder = folder_of(study, name)
    inputs = key_of(
        judge=pupil.judge_key, optimiser=[optimiser.name, vars(optimiser)], metric=asdict(training.metric),
        proposal_tokens=training.proposal_tokens, seed=pupil.bench.seed,
        train=[x.toDict() for x in lessons.train], dev=[x.toDict() for x in lessons.dev],
    )  # fmt: skip
    known = read_manifest(study, name)
    if known is not None and known.inputs == inputs and known.ended is None:
        print(f"trained program {name}: there already, from the same labels and settings ({folder})")
        say_reached(known)
        return {"program": name, "there_already": True}
    if known is not None and known.inputs != inputs and not training.overwrite:
        raise BadInput(
            f"{folder} was trained on other labels or settings; say training.name=OTHER or training.overwrite=true"
        )
    print(f"training {name}: {len(lessons.train)} labelled solutions of train to learn from, {len(lessons.dev)} of dev to "
          f"choose by; labels: {training.labels}")  # fmt: skip
    run = train(name, pupil, optimiser, training, lessons, in_flight)
    before, after = run.first, run.best
    manifest = ProgramManifest(
        name=name,
        program_key=key_of(state=after.state),
        inputs=inputs,
        program=pupil.program,
        optimiser={"name": optimiser.name, **vars(optimiser)},
        metric=asdict(training.metric),
        kind=training.labels,
        splits=splits.model_dump(exclude={"lockbox_openings"}),
        labels=lessons.seen,
        judge={"judge_key": pupil.judge_key, "model": pupil.model.identity(), "engine": pupil.bench.about_engine,
               "sampling": vars(pupil.sampling)},
        dev={"before": reached(before), "after": reached(after), "chosen": after.number},
        candidates=[{"number": c.number, "failures_as_0": c.mean(), **reached(c)} for c in run.candidates],
        calls=run.calls,
        failures=dict(run.failures),
        ended=run.ended,
        versions=versions(),
        finished=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )  # fmt: skip
    save(study, manifest, after.state)
    say_reached(manifest)
    print(
        f"saved: {folder / 'program.json'}; judge with it: python -m judge program={pupil.program} program.load={name}"
    )
    return {"program": name, "there_already": False, "calls": run.calls}


# --- what it may see --------------------------------------------------------------------------------------------------


def lessons_of(pupil: Pupil, splits: Splits, training: Training, cases: dict[str, Case]) -> Lessons:
    """The examples of train and dev. Raises BadInput where there are none.

    What falls into the lockbox is left out first, before any label is looked at.
    """
    study = pupil.bench.study
    open_ = {k: c for k, c in cases.items() if splits.of(c.problem.id) != "lockbox"}
    allowed = {k: c.solution for k, c in open_.items()}
    labels = labels_of(study, allowed, pupil.bench.taxonomy, training.labels)
    by_solution: dict[str, list[Any]] = {}
    for label in labels:
        by_solution.setdefault(label.solution_id, []).append(label)
    sides: dict[str, list[Example]] = {"train": [], "dev": []}
    seen = []
    for solution_id, gold in adjudicate(labels, training.labels).items():
        case = open_[solution_id]
        if gold.verdict is None:  # a tie, or tags alone: it teaches no verdict
            continue
        side: str = splits.of(case.problem.id)
        own = by_solution[solution_id]
        comments = [x.comment for x in own if x.comment]
        sides[side].append(example_of(pupil.inputs(case), gold, comments))
        people = sorted({x.annotator for x in own})
        seen.append(Seen(solution_id=solution_id, problem_id=case.problem.id, split=side, annotators=people))
    for side, found in sides.items():
        if not found:
            raise BadInput(
                f"{study.path} has no {training.labels} verdict on a text of a problem in the split '{side}', so nothing can "
                "be trained"
                + ("; training.labels=planted trains on planted flaws" if training.labels == "human" else "")
            )
    return Lessons(sides["train"], sides["dev"], seen)


# --- the run itself ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    first: Candidate
    best: Candidate
    candidates: list[Candidate]
    calls: dict[str, int]
    failures: Counter[str]
    ended: str | None


def train(name: str, pupil: Pupil, optimiser: Optimiser, training: Training, lessons: Lessons, in_flight: int) -> Run:
    """One training, from its first call or from where it was stopped. Raises EngineGone, KeyboardInterrupt; BadInput where the
    budget ends before the program was once judged on all of dev."""
    bench = pupil.bench
    assert bench.open_engine is not None
    study, seed, engine = bench.study, bench.seed, bench.open_engine()
    folder = folder_of(study, name)
    identity = {"model": pupil.model.identity(), "engine": pupil.bench.about_engine}
    room = training.proposal_tokens + (bench.thinking_tokens if pupil.model.reasoning else 0)
    order = list(lessons.train)
    random.Random(seed).shuffle(order)
    with Journal(folder / "calls.jsonl", Call) as journal:
        progress = Progress(engine.spending.budget.requests, 0, "call")

        def step(call: Call) -> None:
            progress.step(call.completion_tokens or 0, call.error is not None)

        ledger = Ledger(engine, identity, journal, seed, step)
        account = Account(lessons.dev, training.metric, bench.taxonomy, pupil.quotes, progress.say)
        student = Trainee(pupil.module, account)
        threads = max(1, min(in_flight, len(lessons.dev)))
        judge_lm = dspy_lm(ledger, pupil.sampling)
        proposer = dspy_lm(ledger, with_call(pupil.model.sampling, seed=seed, max_tokens=room))
        given = Material(student, order, lessons.dev, account.score, account.criticise, proposer, threads, seed)
        ended = None
        try:
            with (
                interruptible(ledger),
                quiet(folder / "optimiser.log"),
                dspy.context(
                    lm=judge_lm, adapter=ProposalAdapter(), disable_history=True, track_usage=False, trace=None
                ),
            ):
                judge_once(student, lessons.dev, account, threads)
                optimiser.compile(given)
        except Stopped:
            if ledger.fault is not None:
                raise ledger.fault from None
            ended = ledger.why
        except (AdapterParseError, LMError) as fault:
            ended = f"an instruction could not be written: {' '.join(str(fault).split())[:200]}"
        finally:
            with interruptible(ledger):
                ledger.stop("done", finish=True)
                ledger.drain()
            progress.close()
    candidates = account.complete()
    best = account.best()
    if best is None or candidates[0].number != 0:
        raise BadInput(
            f"{ended}: the program was not judged on all {len(lessons.dev)} solutions of dev; allow more (budget)"
        )
    calls = {"calls": ledger.calls, "replayed": ledger.replayed, **ledger.tokens}
    return Run(candidates[0], best, candidates, calls, account.failures, ended)


def judge_once(student: Trainee, dev: list[Example], account: Account, threads: int) -> None:
    """The program as it is, on all of dev: what every candidate is held against."""
    dspy.Evaluate(devset=dev, metric=account.score, num_threads=threads, max_errors=ALWAYS)(student)


@contextlib.contextmanager
def interruptible(ledger: Ledger) -> Iterator[None]:
    """Ctrl-C gives up the calls under way at once: DSPy's threads, which Python waits for at its end, would wait for them."""
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: Any) -> None:
        ledger.stop("Ctrl-C", KeyboardInterrupt())
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    except BaseException:
        ledger.stop("failed")
        raise
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def quiet(log: Path) -> Iterator[None]:
    """What the optimiser prints and logs goes into a file: our own progress line says what a user wants to know."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a", encoding="utf-8", errors="replace") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        yield


# --- what was reached -------------------------------------------------------------------------------------------------


def reached(candidate: Candidate) -> dict[str, Any]:
    """The mean of the metric over the readings that could be read, and how many could not."""
    read = [s for s in candidate.scores.values() if s is not None]
    return {
        "value": sum(read) / len(read) if read else None,
        "n": len(read),
        "failed": len(candidate.scores) - len(read),
    }


def say_reached(manifest: ProgramManifest) -> None:
    def shown(side: str) -> str:
        figure = manifest.dev[side]
        value = "undefined" if figure["value"] is None else f"{figure['value']:.3f}"
        return f"{value} (n={figure['n']}, {figure['failed']} failed)"

    print(f"metric on dev, from 0 to 1: before {shown('before')}, after {shown('after')}. It was chosen by these solutions: only "
          "the lockbox says what it is worth")  # fmt: skip
    if manifest.dev["chosen"] == 0:
        print("no candidate did better than the program as it was: what is saved is that")
    if manifest.kind == "planted":
        print("its labels are planted flaws: no human judged them")
    if manifest.failures:
        print(f"readings that failed on the way: {describe(manifest.failures)}; each scored 0")
    if manifest.ended:
        print(f"the optimiser ended early: {manifest.ended} The same command goes on from there")

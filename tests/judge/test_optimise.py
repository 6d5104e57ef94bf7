"""Training a judge by DSPy's own optimisers, over an engine that answers as it is told."""

import json
import re
from dataclasses import replace

import dspy
import pytest
import yaml
from hydra.utils import instantiate

from generate.budget import Budget, Spending
from generate.engines import Refused
from generate.journal import BadInput, Journal, text_hash
from generate.labels import HumanLabel
from generate.models import Model
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import CONF, EngineGone
from generate.study import Study
from judge import compiled
from judge.ledger import Call, Ledger
from judge.lm import dspy_lm
from judge.metric import Metric
from judge.optimise import Pupil, optimise
from judge.optimisers import Bootstrap, Gepa, Mipro, Training
from judge.program import Bench, Single
from judge.splits import split_of
from judge.verdicts import Case
from tests.conftest import reply

SECRET = "Only the lockbox holds this sentence"
TAG = "Calculation Mistake"
OPTIMISERS = {
    "bootstrap": Bootstrap(demonstrations=1, candidates=1, rounds=1, threshold=1.0),
    "mipro": Mipro(demonstrations=1, candidates=2, trials=3, minibatch=None, threshold=1.0, examples_read=2),
    "gepa": Gepa(readings=40, examples_read=3, instruction_characters=2000, merge=False),
}


def ids(split: str, count: int) -> list[str]:
    found = (f"problem {i}" for i in range(1000) if split_of(f"problem {i}") == split)
    return [next(found) for _ in range(count)]


@pytest.fixture
def study(tmp_path) -> Study:
    """Six problems of each split with two solutions each: a sound one, and one with a slip. Humans say which is which."""
    made = Study(tmp_path / "studies" / "s")
    (made.path / "manifests").mkdir(parents=True)
    with (
        made.problems_journal() as problems,
        made.solutions_journal("m") as solutions,
        made.labels_journal("human") as labels,
    ):
        for split in ("train", "dev", "lockbox"):
            for problem in ids(split, 6):
                own = f" {SECRET}." if split == "lockbox" else ""
                problems.append(Problem(id=problem, statement=f"Show {problem}.{own}", rubric=own or None))
                for kind in ("sound", "slip"):
                    text = f"A {kind} text on {problem}.{own} So 1+1=3."
                    solution = Solution(
                        key=f"{problem}/{kind}", id=f"{problem}/{kind}", problem_id=problem, model="m", text=text
                    )
                    solutions.append(solution)
                    labels.append(
                        HumanLabel(
                            solution_id=solution.id,
                            annotator="ann",
                            verdict="correct" if kind == "sound" else "incorrect",
                            fallacies=[] if kind == "sound" else [TAG],
                            comment=own or "Read it twice." if kind == "slip" else None,
                            text_hash=text_hash(text),
                        )
                    )
    return made


def shipped(kind: str):
    """A program as its config file has it."""
    fields = yaml.safe_load((CONF / "program" / f"{kind}.yaml").read_text())
    return instantiate(fields, _convert_="all")


def single(**changes) -> Single:
    return Single(**{"name": "single", "instructions": "Grade it.", "reasoning_characters": 200, "fallacies": 2,
                     "quote_characters": 80, "explanation_characters": 80, **changes})  # fmt: skip


def said(verdict: str, tags=()) -> str:
    fallacies = [{"tag": t, "quote": "1+1=3", "explanation": "it is 2"} for t in tags]
    return json.dumps({"reasoning": "I read it.", "fallacies": fallacies, "first_wrong_step": None, "verdict": verdict})


def learner(chat, sampling):
    """Sees slips only once it is told to look for them, or shown how; writes better instructions when asked."""
    if "FALLACIES" not in chat[0]["content"]:
        return reply("LOOK FOR SLIPS, and grade it.")  # as a small model does: without the marks that it was asked for
    taught = "LOOK FOR SLIPS" in chat[0]["content"] or len(chat) > 2
    slip = "A slip text" in chat[-1]["content"]
    return reply(said("incorrect", [TAG]) if slip and taught else said("correct"))


def cases_of(study) -> dict[str, Case]:
    problems = study.problems()
    return {s.id: Case(problems[s.problem_id], s) for s in study.solutions().values()}


def trained(study, taxonomy, engine, optimiser, program=None, seed=0, in_flight=4, budget=None, **training):
    engine.spending = Spending(budget or Budget())
    program = program or single()
    bench = Bench(study, taxonomy, Model(name="m", id="org/m"), {}, seed=seed, open_engine=lambda: engine)
    cases = cases_of(study)
    pupil = Pupil(program.name, program.judge_key(bench), program.module(bench), program.inputs,
                  program.sampling(bench), bench)  # fmt: skip
    given = Training(**{"name": "better", **training})
    return optimise(pupil, optimiser, given, cases, in_flight)


def prompts(study, taxonomy, program) -> list[list[dict[str, str]]]:
    """What a program, loaded as the judge stage loads it, sends for each solution of dev."""
    bench = Bench(study, taxonomy, Model(name="m", id="org/m"), {})
    module, problems = program.module(bench), study.problems()
    return [
        module.grade.adapter.format(
            module.grade.signature, module.grade.demos, program.inputs(Case(problems[s.problem_id], s))
        )
        for s in study.solutions().values()
        if split_of(s.problem_id) == "dev"
    ]


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_betters_the_judge_and_what_it_saves_gives_the_same_prompts(study, taxonomy, scripted, name):
    engine = scripted(learner)
    trained(study, taxonomy, engine, OPTIMISERS[name])
    manifest = compiled.read_manifest(study, "better")
    # before: of each two solutions one verdict and tag set is right, and the other wholly wrong; after: all right
    assert manifest.dev["before"] == {"value": 0.5, "n": 12, "failed": 0}
    assert manifest.dev["after"] == {"value": 1.0, "n": 12, "failed": 0} and manifest.dev["chosen"] > 0
    assert manifest.optimiser["name"] == name and manifest.kind == "human" and manifest.ended is None
    assert {x.split for x in manifest.labels} == {"train", "dev"} and len(manifest.labels) == 24
    assert all(split_of(x.problem_id) == x.split and x.annotators == ["ann"] for x in manifest.labels)
    sent = [chat for chat, _ in engine.asked]
    loaded = single(load="better")
    assert all(chat in sent for chat in prompts(study, taxonomy, loaded))
    assert prompts(study, taxonomy, loaded) != prompts(study, taxonomy, single())
    bench = Bench(study, taxonomy, Model(name="m", id="org/m"), {})
    assert loaded.judge_key(bench) != single().judge_key(bench)
    assert {p.suffix for p in (study.path / "programs" / "better").iterdir()} == {".json", ".jsonl", ".log"}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_no_word_of_the_lockbox_reaches_the_engine_or_what_is_saved(study, taxonomy, scripted, name):
    engine = scripted(learner)
    trained(study, taxonomy, engine, OPTIMISERS[name])
    locked = set(ids("lockbox", 6))
    for chat, _ in engine.asked:
        shown = "\n".join(m["content"] for m in chat)
        assert SECRET not in shown and not {p for p in locked if re.search(rf"\b{p}\b", shown)}
    for file in (study.path / "programs" / "better").iterdir():
        assert SECRET not in file.read_text()
    seen = "\n".join(m["content"] for chat, _ in engine.asked for m in chat)
    assert all(f"Show {p}." in seen for p in ids("dev", 6))  # the test would see it, were it there


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_stopped_training_goes_on_where_it_was_and_asks_nothing_twice(study, taxonomy, scripted, name):
    whole = scripted(learner)
    trained(study, taxonomy, whole, OPTIMISERS[name], name="whole")
    count = len(whole.asked)

    left = [count // 2]

    def dies(chat, sampling):
        left[0] -= 1
        return learner(chat, sampling) if left[0] >= 0 else EngineGone("the server is gone.")

    first, second = scripted(dies), scripted(learner)
    with pytest.raises(EngineGone):
        trained(study, taxonomy, first, OPTIMISERS[name])
    assert compiled.read_manifest(study, "better") is None
    trained(study, taxonomy, second, OPTIMISERS[name])
    assert len(second.asked) == count - count // 2
    one, other = (compiled.load(study, n) for n in ("whole", "better"))
    assert one.state == other.state
    assert other.manifest.calls["replayed"] >= count // 2
    third = scripted(learner)
    trained(study, taxonomy, third, OPTIMISERS[name])
    assert not third.asked  # it is there already


def by_schema(chat, sampling):
    """Answers whatever form it is asked in, as `learner` does: a slip is seen once it was told or shown."""
    if "FALLACIES" not in chat[0]["content"] and sampling.json_schema is None:
        return reply("LOOK FOR SLIPS, and grade it.")
    asked = sampling.json_schema["properties"]
    taught = "LOOK FOR SLIPS" in chat[0]["content"] or len(chat) > 2
    seen = "A slip text" in chat[-1]["content"] and taught
    if "doubts" in asked:
        said = {"reasoning": "r", "doubts": [{"quote": "1+1=3", "why": "it is 2"}] if seen else []}
    elif "points" in asked:
        said = {"reasoning": "r", "items": [], "points": 0 if seen else 7}
    else:
        flaw = {"tag": TAG, "quote": "1+1=3", "explanation": "it is 2", "fatal": True}
        said = {"reasoning": "r", "fallacies": [flaw] if seen else [], "first_wrong_step": None,
                "verdict": "incorrect" if seen else "correct"}  # fmt: skip
    return reply(json.dumps(said))


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("kind", ["two_step", "rubric"])
def test_programs_of_other_makes_are_trained_and_loaded_alike(study, taxonomy, scripted, kind, name):
    program = shipped(kind)
    trained(study, taxonomy, scripted(by_schema), OPTIMISERS[name], program=program)
    manifest = compiled.read_manifest(study, "better")
    assert manifest.dev["before"]["value"] == 0.5 and manifest.dev["after"]["value"] == 1.0
    assert manifest.program == kind and len(compiled.load(study, "better").state) == {"two_step": 2, "rubric": 1}[kind]
    silent = scripted(lambda chat, sampling: EngineGone("this was never asked in the training."))
    loaded = replace(program, load="better")
    bench = Bench(study, taxonomy, Model(name="m", id="org/m"), {}, open_engine=lambda: silent)
    assert loaded.judge_key(bench) != program.judge_key(bench)
    with Journal(study.path / "programs" / "better" / "calls.jsonl", Call) as journal:
        ledger = Ledger(silent, {"model": bench.model.identity(), "engine": {}}, journal, 0, lambda call: None)
        with dspy.context(lm=dspy_lm(ledger, loaded.sampling(bench))):
            for case in cases_of(study).values():
                if split_of(case.problem.id) == "dev":
                    right = "incorrect" if "slip" in case.solution.text else "correct"
                    assert loaded.module(bench)(**loaded.inputs(case)).verdict == right


def test_a_reply_that_cannot_be_read_scores_0_is_counted_and_left_out_of_the_figures(study, taxonomy, scripted):
    unreadable = ids("dev", 6)[0]

    def answer(chat, sampling):
        if f"text on {unreadable}." in chat[-1]["content"]:
            return reply("no idea") if "sound" in chat[-1]["content"] else Refused("prompt_too_long", "9000 tokens")
        return learner(chat, sampling)

    trained(study, taxonomy, scripted(answer), OPTIMISERS["bootstrap"])
    manifest = compiled.read_manifest(study, "better")
    assert manifest.dev["before"] == {"value": 0.5, "n": 10, "failed": 2}
    assert manifest.dev["after"] == {"value": 1.0, "n": 10, "failed": 2}
    assert manifest.candidates[0]["failures_as_0"] == 5 / 12
    assert manifest.failures["unparsed"] >= 2 and manifest.failures["prompt_too_long"] >= 2


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_judge_that_never_says_anything_readable_does_not_end_a_run(study, taxonomy, scripted, name):
    trained(study, taxonomy, scripted(lambda chat, sampling: reply("no idea")), OPTIMISERS[name])
    manifest = compiled.read_manifest(study, "better")
    assert manifest.dev["before"] == {"value": None, "n": 0, "failed": 12} and manifest.dev["chosen"] == 0


def test_gepa_is_told_in_words_what_was_missed_and_invented(study, taxonomy, scripted):
    def answer(chat, sampling):
        if "FALLACIES" in chat[0]["content"]:
            return reply(said("partially_correct", ["Proof by Example"]))
        return reply("LOOK")

    engine = scripted(answer)
    trained(study, taxonomy, engine, OPTIMISERS["gepa"])
    told = [c[-1]["content"] for c, _ in engine.asked if "FALLACIES" not in c[0]["content"]]
    assert told
    text = "\n".join(told)
    assert "The verdict should be 'incorrect', as human experts say; it is 'partially_correct'." in text
    assert f"Missed: '{TAG}', which the experts see here (d)." in text
    assert "Invented: 'Proof by Example', which the experts do not see here." in text
    assert "An expert's comment: Read it twice." in text


def test_a_budget_ends_the_optimiser_the_best_program_so_far_is_kept_and_the_next_run_goes_on(
    study, taxonomy, scripted
):
    whole = scripted(learner)
    trained(study, taxonomy, whole, OPTIMISERS["gepa"], name="whole")
    engine = scripted(learner)
    trained(study, taxonomy, engine, OPTIMISERS["gepa"], budget=Budget(requests=33), in_flight=1)
    manifest = compiled.read_manifest(study, "better")
    assert "budget of this run is spent (requests: 33)" in manifest.ended
    assert manifest.dev["after"]["value"] == 1.0 and len(engine.asked) == 33 < len(whole.asked)
    trained(study, taxonomy, engine, OPTIMISERS["gepa"])
    assert compiled.read_manifest(study, "better").ended is None and len(engine.asked) == len(whole.asked)

    tokens = scripted(learner)
    trained(study, taxonomy, tokens, OPTIMISERS["gepa"], name="tokens", budget=Budget(tokens=15 * 20), in_flight=1)
    assert "(tokens: 300)" in compiled.read_manifest(study, "tokens").ended
    assert len(tokens.asked) == 20  # of 15 tokens each
    for name, budget in (("less", Budget(requests=5)), ("late", Budget(minutes=0.001))):
        with pytest.raises(BadInput, match="was not judged on all 12 solutions of dev"):
            slow = scripted(learner, seconds=0.05)
            trained(study, taxonomy, slow, OPTIMISERS["gepa"], name=name, budget=budget, in_flight=1)


def test_what_cannot_be_trained_is_one_line(study, taxonomy, scripted):
    engine = scripted(learner)
    with pytest.raises(BadInput, match="no planted verdict on a text of a problem in the split 'train'"):
        trained(study, taxonomy, engine, OPTIMISERS["bootstrap"], labels="planted")
    with study.labels_journal("human") as journal:
        for label in list(journal.newest()):
            if split_of(label.solution_id.split("/")[0]) == "dev":
                journal.append(label.model_copy(update={"text_hash": "of another text"}))
    with pytest.raises(BadInput, match="in the split 'dev'"):
        trained(study, taxonomy, engine, OPTIMISERS["bootstrap"])
    assert not engine.asked


def test_mipro_without_optuna_is_one_line_before_anything_is_asked(monkeypatch):
    monkeypatch.setattr("judge.optimisers.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"needs optuna.*olympiad-judge\[optimise\]"):
        replace(OPTIMISERS["mipro"])


def test_planted_labels_teach_only_where_that_is_said_and_the_manifest_says_it(study, taxonomy, scripted, capsys):
    with study.labels_journal("human") as human, study.labels_journal("planted") as planted:
        for label in human.newest():
            planted.append(label.model_copy(update={"kind": "planted"}))
    trained(study, taxonomy, scripted(learner), OPTIMISERS["bootstrap"], labels="planted")
    assert compiled.read_manifest(study, "better").kind == "planted"
    assert "its labels are planted flaws: no human judged them" in capsys.readouterr().out


def test_other_labels_or_settings_do_not_overwrite_a_trained_program(study, taxonomy, scripted):
    engine = scripted(learner)
    trained(study, taxonomy, engine, OPTIMISERS["bootstrap"])
    before = compiled.load(study, "better")
    with pytest.raises(BadInput, match="was trained on other labels or settings"):
        trained(study, taxonomy, engine, OPTIMISERS["bootstrap"], seed=1)
    assert compiled.load(study, "better").manifest == before.manifest
    trained(study, taxonomy, engine, OPTIMISERS["bootstrap"], seed=1, overwrite=True)
    assert compiled.load(study, "better").manifest.inputs != before.manifest.inputs


def test_a_trained_program_that_was_tampered_with_or_is_of_another_make_is_refused(study, taxonomy, scripted):
    trained(study, taxonomy, scripted(learner), OPTIMISERS["bootstrap"])
    file = study.path / "programs" / "better" / "program.json"
    bench = Bench(study, taxonomy, Model(name="m", id="org/m"), {})
    single(load="better").check(bench)
    with pytest.raises(BadInput, match=r"no such trained program; there are: better"):
        single(load="worse").check(bench)
    with pytest.raises(BadInput, match="letters, digits"):
        single(load="../better").check(bench)
    with pytest.raises(BadInput, match="whose parts are grade; here they are decide, list"):
        other = dspy.Module()
        other.list, other.decide = dspy.Predict("a -> b"), dspy.Predict("a -> b")
        compiled.loaded_into(other, study, "better")
    file.write_text(file.read_text().replace("I read it.", "I rather read it."))
    with pytest.raises(BadInput, match="is not the program that its manifest describes"):
        single(load="better").check(bench)


def test_equal_calls_that_are_drawn_at_random_get_a_seed_each_and_greedy_ones_are_asked_once(study, taxonomy, scripted):
    from generate.engines import Sampling

    chat = [{"role": "user", "content": "a"}]
    engine = scripted(lambda chat, sampling: reply(str(sampling.seed)))
    with study.journal("programs/x", "calls", Call) as journal:

        def run():
            ledger = Ledger(engine, {}, journal, 7, lambda call: None)
            return [ledger.complete_sync(chat, Sampling(temperature=t)).text for t in (1.0, 1.0, 0.0, 0.0, 1.0)]

        first = run()
        asked = len(engine.asked)
        assert asked == 4 and len({first[i] for i in (0, 1, 4)}) == 3 and first[2] == first[3] == "None"
        assert run() == first and len(engine.asked) == asked


@pytest.mark.parametrize(
    ("human", "tags", "verdict", "named", "score"),
    [
        # verdict and F1 = 2|A and B| / (|A|+|B|), by hand; weights 1 and 1
        ("correct", [], "correct", [], (1 + 1) / 2),
        ("correct", [], "incorrect", ["a"], 0),
        ("incorrect", ["a", "b"], "incorrect", ["b", "c"], (1 + 2 * 1 / 4) / 2),
        ("incorrect", ["a"], "partially_correct", ["a", "b"], (0.25 + 2 * 1 / 3) / 2),
        ("incorrect", None, "correct", ["a"], 0),
        ("correct", None, "correct", ["a"], 1),
        ("incorrect", ["a"], "incorrect", None, 1),
    ],
)
def test_the_metric_joins_verdict_and_tags(human, tags, verdict, named, score):
    example = dspy.Example(human_verdict=human, human_tags=tags, only_pass=False)
    assert Metric(near_miss=0.25)(example, verdict, None if named is None else frozenset(named)) == pytest.approx(score)


def test_where_humans_only_said_pass_or_not_a_partial_verdict_is_not_passed():
    example = dspy.Example(human_verdict="incorrect", human_tags=None, only_pass=True)
    assert [Metric()(example, v, frozenset()) for v in ("incorrect", "partially_correct", "correct")] == [1, 1, 0]

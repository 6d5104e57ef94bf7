"""Judges without a language model: cross-fitted by problem, keyed by the labels they learn from, honest about what they
cannot say."""

import asyncio
import json
import random

import pytest

from generate.journal import BadInput
from generate.problems import Problem
from generate.solutions import Solution
from judge.baselines import AnswerOnly, Constant, Tfidf
from judge.program import Bench, Program
from judge.verdicts import Answer, Case, Reading
from tests.calibrate.conftest import Maker

VERDICT_WORDS = {"correct": "rigorous lemma", "incorrect": "obviously clearly", "partially_correct": "sketch gap"}


@pytest.fixture
def bench_of(tmp_path, taxonomy):
    """A study in which these solutions bear these verdicts; the problem's id stands before the slash."""
    made = []

    def make(verdicts, texts, extra=(), tags=None, scale="three") -> Bench:
        maker = Maker(tmp_path / str(len(made)))
        made.append(maker)
        with maker.study.solutions_journal("m") as solutions:
            for name in verdicts:
                solutions.append(solution(name, texts[name]))
            for other in extra:
                solutions.append(other)
        for name, verdict in verdicts.items():
            maker.label(name, verdict, fallacies=tags and sorted(tags[name]), scale=scale)
        return Bench(maker.study, taxonomy)

    return make


def solution(id: str, text: str | None = "text") -> Solution:
    return Solution(key=id, id=id, problem_id=id.split("/")[0], model="m", text=text)


def readings(program: Program, bench: Bench, solutions=None) -> dict[str, Reading]:
    """What it says of each solution of the study, or of the given ones."""
    wanted = list(bench.study.solutions().values()) if solutions is None else solutions

    async def all_of_them():
        with program.reading(bench) as read:
            return {s.id: await read(Case(Problem(id=s.problem_id), s), None) for s in wanted}

    return asyncio.run(all_of_them())


def corpus(problems: int = 12, each: int = 4, seed: int = 0) -> tuple[dict[str, str], dict[str, str]]:
    """Verdicts and texts whose words tell the verdict mostly, but not always."""
    draw = random.Random(seed)
    verdicts, texts = {}, {}
    for p in range(problems):
        for s in range(each):
            name = f"p{p}/{s}"
            verdicts[name] = draw.choice(list(VERDICT_WORDS))
            told = verdicts[name] if draw.random() < 0.8 else draw.choice(list(VERDICT_WORDS))
            filler = " ".join(draw.choice(["alpha", "beta", "gamma", "delta", "epsilon"]) for _ in range(12))
            texts[name] = f"{filler} {VERDICT_WORDS[told]} {filler}"
    return verdicts, texts


# --- words counted ----------------------------------------------------------------------------------------------------


def test_a_problems_own_labels_have_no_part_in_its_verdicts(bench_of):
    verdicts, texts = corpus()
    own = [k for k in verdicts if k.startswith("p3/")]
    flipped = verdicts | {k: "incorrect" if verdicts[k] == "correct" else "correct" for k in own}
    one, other = (readings(Tfidf(folds=4), bench_of(labels, texts)) for labels in (verdicts, flipped))
    assert all(one[k] == other[k] for k in own)
    assert any(one[k] != other[k] for k in verdicts)  # the same labels do teach what is said of other problems


def test_it_is_what_scikit_learns_own_cross_validation_gives(bench_of):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline

    verdicts, texts = corpus()
    bench, program, names = bench_of(verdicts, texts), Tfidf(folds=5), sorted(verdicts)
    folds = program._folds(program._learnable(bench))
    assert sorted(set(folds.values())) == [0, 1, 2, 3, 4]
    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
        LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000),
    )
    expected = cross_val_predict(
        pipeline,
        [texts[n] for n in names],
        [verdicts[n] for n in names],
        cv=PredefinedSplit([folds[n.split("/")[0]] for n in names]),
        method="predict_proba",
    )
    said = readings(program, bench)
    classes = ("correct", "incorrect", "partially_correct")  # scikit-learn's order is the alphabet's
    for name, row in zip(names, expected, strict=True):
        assert [said[name].probabilities[c] for c in classes] == pytest.approx(list(row), abs=1e-6)
        assert said[name].verdict == classes[row.argmax()]


def test_unlabelled_solutions_are_judged_by_a_fit_that_has_not_seen_their_problem(bench_of):
    verdicts, texts = corpus()
    text = texts["p0/0"]
    bench = bench_of(verdicts, texts, [solution("new/0", text), solution("p0/9", text)])
    said = readings(Tfidf(folds=3), bench)
    assert said == readings(Tfidf(folds=3), bench)
    assert said["p0/9"] == said["p0/0"]  # the same text, the same problem, the same fit
    assert said["new/0"].probabilities != said["p0/9"].probabilities  # the fit on all labels has seen p0


def test_tags_come_from_the_labels_that_were_annotated_with_tags(bench_of):
    verdicts, texts = corpus()
    assert all(r.fallacies is None for r in readings(Tfidf(), bench_of(verdicts, texts)).values())
    tags = {k: {"Calculation Mistake"} if "obviously" in texts[k] else set() for k in verdicts}
    said = readings(Tfidf(), bench_of(verdicts, texts, tags=tags))
    right = sum({f.tag for f in said[k].fallacies} == tag for k, tag in tags.items())
    assert right >= 0.9 * len(tags)  # one word tells this tag
    assert all(0.5 < f.probability <= 1 for r in said.values() for f in r.fallacies)


def test_labels_that_only_say_pass_or_not_give_these_two(bench_of):
    verdicts, texts = corpus()
    binary = {k: v if v == "correct" else "incorrect" for k, v in verdicts.items()}
    said = readings(Tfidf(), bench_of(binary, texts, scale="binary"))
    assert {r.verdict for r in said.values()} == {"correct", "incorrect"}
    assert all(r.probabilities["partially_correct"] == 0 for r in said.values())


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ({}, "has 0 that it can use; it needs 20"),
        ({f"p{i}/0": "correct" for i in range(25)}, "all human verdicts are 'correct'"),
        ({f"p/{i}": "correct" if i % 2 else "incorrect" for i in range(25)}, "are on one problem"),
        (
            {f"p{i % 5}/{i}": "incorrect" if i % 5 else "correct" for i in range(25)},
            "without p0 all human verdicts are",
        ),
    ],
)
def test_it_refuses_to_learn_from_too_little(bench_of, verdicts, message):
    with pytest.raises(BadInput, match=message):
        Tfidf().check(bench_of(verdicts, dict.fromkeys(verdicts, "some words")))


def test_its_key_depends_on_the_labels_and_its_knobs(bench_of):
    verdicts, texts = corpus()
    bench = bench_of(verdicts, texts)
    more = bench_of({**verdicts, "p99/0": "correct"}, {**texts, "p99/0": "new"})
    unlabelled = bench_of(verdicts, texts, [solution("p99/0")])
    key = Tfidf().judge_key(bench)
    assert key == Tfidf(name="other").judge_key(unlabelled)
    assert len({key, Tfidf().judge_key(more), Tfidf(folds=5).judge_key(bench)}) == 3


# --- the same of everyone -----------------------------------------------------------------------------------------------


def test_the_best_constant_is_found_without_the_problem_that_it_is_said_of(bench_of):
    verdicts = {"a/0": "correct", "a/1": "correct", "a/2": "correct", "b/0": "incorrect", "c/0": "incorrect"}
    said = readings(Constant(), bench_of(verdicts, dict.fromkeys(verdicts, "t"), [solution("d/0", None)]))
    assert {k: r.verdict for k, r in said.items()} == {
        **dict.fromkeys(("a/0", "a/1", "a/2"), "incorrect"),
        **dict.fromkeys(("b/0", "c/0", "d/0"), "correct"),
    }
    assert said["d/0"].probabilities == {"incorrect": 0.4, "partially_correct": 0.0, "correct": 0.6}


def test_of_a_tie_the_lower_verdict_is_the_constant(bench_of):
    verdicts = {"a/0": "correct", "b/0": "partially_correct"}
    said = readings(Constant(), bench_of(verdicts, dict.fromkeys(verdicts, "t"), [solution("c/0")]))
    assert said["c/0"].verdict == "partially_correct"


def test_a_named_constant_needs_no_labels(bench_of):
    bench = bench_of({}, {}, [solution("a/0", None)])
    program = Constant(verdict="incorrect")
    program.check(bench)
    assert [r.verdict for r in readings(program, bench).values()] == ["incorrect"]
    with pytest.raises(BadInput, match="has 0 that it can use"):
        Constant().check(bench)


# --- the final answer alone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "outcome", "verdict", "error"),
    [
        ("4", "equal", "correct", None),
        ("4", "different", "incorrect", None),
        ("4", "missing", "incorrect", None),
        ("4", "undecided", None, "answer_undecided"),
        ("4", None, None, "unchecked"),
        (None, None, None, "no_gold_answer"),
    ],
)
def test_the_final_answer_alone_decides_or_there_is_no_verdict(bench_of, gold, outcome, verdict, error):
    answer = outcome and Answer(key="k", solution_id="p/0", checker="strict", gold=gold, outcome=outcome, reason="r")
    case = Case(Problem(id="p", answer=gold), solution("p/0"), answer or None)

    async def one() -> Reading:
        with AnswerOnly().reading(bench_of({}, {})) as read:
            return await read(case, None)

    said = asyncio.run(one())
    assert said.verdict == verdict and (said.error.kind if said.error else None) == error


# --- as a user runs them ----------------------------------------------------------------------------------------------


def write_table(path, verdicts, texts, answer=""):
    lines = ["pid,answer,sid,text,v"]
    lines += [f"{k.split('/')[0]},{answer},{k},{texts[k]},{v}" for k, v in verdicts.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"problem_id": "pid", "answer": "answer", "solution_id": "sid", "solution": "text", "verdict": "v"}
    return ["dataset=table", f"dataset.path={path.name}", "model=recorded", "study=s"] + [
        f"dataset.columns.{k}={v}" for k, v in columns.items()
    ]


def test_a_baseline_is_judged_once_again_only_for_new_labels_and_is_reported(stage, tmp_path):
    verdicts, texts = corpus(8, 3)
    mapped = write_table(tmp_path / "t.csv", verdicts, texts)
    assert stage("generate", *mapped).returncode == 0
    first = stage("judge", "study=s", "program=tfidf")
    assert first.returncode == 0, first.stderr
    assert "24 solutions to judge, 0 there already, 24 to do" in first.stdout
    (file,) = (tmp_path / "studies" / "s" / "verdicts").glob("*.jsonl")
    written = file.read_bytes()
    again = stage("judge", "study=s", "program=tfidf")
    assert "24 there already, 0 to do" in again.stdout and file.read_bytes() == written

    bare = stage("judge", "study=s", "program=tfidf", "probabilities=none")
    assert "0 there already, 24 to do" in bare.stdout, bare.stderr
    last = [json.loads(line) for line in file.read_text().splitlines()][-24:]
    assert all(v["verdict"] and v["probabilities"] is None for v in last)

    other = verdicts | {"p0/0": "correct" if verdicts["p0/0"] != "correct" else "incorrect"}
    write_table(tmp_path / "t.csv", other, texts)
    assert stage("generate", *mapped).returncode == 0
    assert "24 solutions to judge, 0 there already, 24 to do" in stage("judge", "study=s", "program=tfidf").stdout
    report = stage("calibrate", "study=s")
    assert report.returncode == 0 and "tfidf" in report.stdout, report.stderr


def test_a_baseline_without_labels_is_refused_in_one_line_before_anything_is_written(stage, tmp_path):
    assert stage("generate", "dataset=starter", "model=recorded", "study=s").returncode == 0
    before = sorted(p.name for p in (tmp_path / "studies" / "s").rglob("*"))
    for program in ("tfidf", "constant"):
        done = stage("judge", "study=s", f"program={program}")
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert f"program={program}: learns from human verdicts, and the study has 0" in done.stderr
    assert sorted(p.name for p in (tmp_path / "studies" / "s").rglob("*")) == before
    done = stage("judge", "study=s", "program=answer_only")
    assert done.returncode == 0 and "correct" in done.stdout, done.stderr

"""`python -m judge show=ID`: one judgement in full, as text for a terminal: what was said, its quotes in place, the prompt
that was sent, the reply that came.

Prompts are not kept: they are made again, by the program itself, whose model is a replay of the recorded replies. That is
done only where the judge's key and the verdict's own key, hashes of all that a prompt depends on, come out the same.
"""

import asyncio
import difflib
import json
import shlex
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import yaml

from generate.engines import Chat, Engine, Refused, Reply, Sampling
from generate.journal import BadInput, text_hash
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import CONF, StageConfig, build
from generate.study import Study
from judge.checking import STRICT
from judge.controls import controls_study
from judge.program import Bench, Program, verdict_key
from judge.verdicts import Answer, Case, Verdict, Vote

C = TypeVar("C", bound=StageConfig)
WIDTH = 100
JudgedBy = Callable[[Verdict], tuple[Program, Bench] | None]
"""The program that made a verdict and what it judged with; null where no config that is known has the verdict's judge key."""


def show(study: Study, name: str, judged_by: JudgedBy) -> str:
    """The judgement of this id, or the newest of each judge on the solution of this id, in the study or its controls.
    Raises BadInput for an id of neither."""
    parts, known = [], []
    problems = study.problems()
    for home in (study, controls_study(study)):
        found: dict[str, Verdict] = {}
        for verdict in home.every("verdicts", Verdict):
            if name in (verdict.id, verdict.solution_id):
                found[verdict.judge] = verdict
            known.append(verdict.id)
        solutions = home.solutions()
        known += solutions
        if found or name in solutions:
            about = next(iter(found.values())).solution_id if found else name
            here = _Home(study, problems, solutions, _answers(home, about))
            parts.append(_solution(name, here) if not found else "")
            parts += [_judgement(verdict, here, judged_by) for _, verdict in sorted(found.items())]
    if not parts:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise BadInput(f"show={name}: {study.path} has no verdict and no solution of this id{hint}")
    return "\n\n".join(p for p in parts if p)


@dataclass(frozen=True)
class _Home:
    study: Study
    problems: dict[str, Problem]
    solutions: dict[str, Solution]
    answers: dict[str, Answer]


def _answers(home: Study, solution_id: str) -> dict[str, Answer]:
    every = home.every("answers", Answer)
    return {a.solution_id: a for a in every if a.solution_id == solution_id and a.checker == STRICT}


# --- what is said -----------------------------------------------------------------------------------------------------


def safe(text: str) -> str:
    """Text of strangers for a terminal: line breaks stay, any other character that is not seen is written out."""
    return "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else _written(c) for c in text)


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _section(title: str, text: str) -> str:
    return f"--- {title} " + "-" * max(3, WIDTH - len(title) - 5) + "\n" + safe(text).strip("\n")


def _solution(name: str, home: _Home) -> str:
    solution = home.solutions[name]
    parts = [f"solution {name} of problem {solution.problem_id}, by {solution.model}: no judge has judged it"]
    if solution.error:
        parts.append(f"error: {solution.error.kind}: {solution.error.message}")
    return safe("\n".join(parts)) + "\n" + _section("solution", solution.text or "(no text)")


def _judgement(verdict: Verdict, home: _Home, judged_by: JudgedBy) -> str:
    solution = home.solutions.get(verdict.solution_id)
    changed = solution is None or verdict.text_hash not in (None, text_hash(solution.text))
    parts = [safe("\n".join(_facts(verdict, solution, home.answers.get(verdict.solution_id))))]
    if found := "\n".join(_fallacies(verdict)):
        parts.append(_section("fallacies", found))
    if verdict.reasoning:
        parts.append(_section("reasoning", verdict.reasoning))
    if solution is None:
        parts.append(_section("solution", "(it is not in the study any more)"))
    elif changed:
        parts.append(_section("solution", "(its text has changed since it was judged, so no quote is marked)"))
    else:
        parts.append(_section("solution, with the quotes in place", marked(solution.text or "(no text)", verdict)))
    parts.append(_prompts(verdict, home, judged_by))
    for number, vote in enumerate(verdict.votes, 1):
        of = f"reading {number} of {len(verdict.votes)}, " if len(verdict.votes) > 1 else ""
        parts += [_section(f"{of}earlier raw reply", raw) for raw in vote.earlier or []]
        parts.append(_section(f"{of}raw reply{_about(vote)}", vote.raw if vote.raw is not None else "(none)"))
    return "\n".join(parts)


def _about(vote: Vote) -> str:
    said = [
        vote.judge or "",
        vote.verdict or "no verdict",
        f"finish reason {vote.finish_reason}" if vote.finish_reason else "",
    ]
    said += [f"seed {vote.seed}" if vote.seed is not None else ""]
    return " (" + ", ".join(s for s in said if s) + ")"


def _facts(verdict: Verdict, solution: Solution | None, answer: Answer | None) -> Iterator[str]:
    yield "=" * WIDTH
    yield f"{verdict.judge} on solution {verdict.solution_id}" + (
        f" of problem {solution.problem_id}, by {solution.model}" if solution else ""
    )
    yield f"verdict: {verdict.verdict or 'none'}"
    if verdict.error:
        yield f"error: {verdict.error.kind}: {verdict.error.message}"
    if verdict.probabilities:
        yield "probabilities: " + ", ".join(f"{v} {p:.3f}" for v, p in verdict.probabilities.items())
    if verdict.points is not None:
        yield f"points: {verdict.points:g}" + (f" of {verdict.max_points:g}" if verdict.max_points else "")
    for item in verdict.items or []:
        yield f"item: {json.dumps(item, ensure_ascii=False)}"
    if answer:
        yield f"final answer: {answer.outcome} (extracted {answer.extracted}, gold {answer.gold}; {answer.reason})"
    if verdict.votes_saved:
        yield f"readings: {len(verdict.votes)} made, {verdict.votes_saved} saved since they could have changed nothing"
    if verdict.usage:
        yield f"tokens: {verdict.usage.prompt_tokens} read, {verdict.usage.completion_tokens} written"
    control = solution.meta.get("control") if solution else None
    if control:
        yield f"a control, made from {control['of']}: {control['kind']} ({control['what']})"
    yield f"id: {verdict.id}; judge key: {verdict.judge_key}; key: {verdict.key}"


def _fallacies(verdict: Verdict) -> Iterator[str]:
    for number, fallacy in enumerate(verdict.fallacies or [], 1):
        chance = f" (probability {fallacy.probability:.3f})" if fallacy.probability is not None else ""
        place = f"characters {fallacy.start} to {fallacy.end}" if fallacy.start is not None else "not in the solution"
        quote = f": {fallacy.quote!r}, {place}" if fallacy.quote is not None else ": no quote"
        yield f"{number}. {fallacy.tag}{chance}{quote}"
        if fallacy.fatal is not None:
            yield "   the judge says that the solution " + (
                "falls with it" if fallacy.fatal else "does not fall with it"
            )
        if fallacy.explanation:
            yield textwrap.indent(textwrap.fill(fallacy.explanation, WIDTH - 3), "   ")
    for fallacy in verdict.apart or []:
        yield f"not counted: {fallacy.tag}: {fallacy.quote or 'no quote'}"
    for doubt in verdict.doubts or []:
        yield f"doubted at first: {doubt.get('quote')}: {doubt.get('why')}"
    if verdict.first_wrong_step:
        yield f"first wrong step: {verdict.first_wrong_step}"


def marked(text: str, verdict: Verdict) -> str:
    """The text with `[[1>` before the first fallacy's quote and `<1]]` after it, and so on."""
    marks = []
    for number, fallacy in enumerate(verdict.fallacies or [], 1):
        if fallacy.start is not None and fallacy.end is not None:
            marks += [(fallacy.start, 1, f"[[{number}>"), (fallacy.end, 0, f"<{number}]]")]
    for place, _, mark in sorted(marks, reverse=True):
        text = text[:place] + mark + text[place:]
    return text


# --- what was sent ----------------------------------------------------------------------------------------------------


class _Replay(Engine):
    """Gives the recorded replies in their order, and keeps what it is asked."""

    enforces_schema = True

    def __init__(self, replies: list[Reply]):
        super().__init__()
        self.replies = replies
        self.asked: list[Chat] = []

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        self.asked.append(chat)
        if len(self.asked) > len(self.replies):
            raise Refused("not_recorded", "no such reply was recorded")
        return self.replies[len(self.asked) - 1]


def _prompts(verdict: Verdict, home: _Home, judged_by: JudgedBy) -> str:
    """The messages as they were sent, or one line that says why they cannot be shown."""
    solution = home.solutions.get(verdict.solution_id)
    problem = home.problems.get(solution.problem_id) if solution else None
    if not verdict.votes:
        return _section("prompt", "(no model was asked)")
    if any(vote.judge for vote in verdict.votes):
        return _section(
            "prompt", "(a panel's: show the verdicts of its members, or run each of them alone, to see theirs)"
        )
    known = judged_by(verdict)
    if known is None:
        return _section("prompt", f"(not shown: {_no_config(home.study, verdict.judge_key)})")
    program, bench = known
    if solution is None or problem is None:
        return _section("prompt", "(the solution or its problem is not in the study any more)")
    answer = home.answers.get(solution.id)
    if answer and (answer.text_hash != text_hash(solution.text) or answer.gold != problem.answer):
        answer = None
    case = Case(problem, solution, answer)
    if verdict_key(verdict.judge_key, solution.id, program.shown(case)) != verdict.key:
        return _section("prompt", "(the solution or its problem has changed since, so it would come out otherwise)")
    sent: list[Chat] = []
    for vote in verdict.votes:
        sent += [chat for chat in prompts_sent(program, bench, case, vote) if chat not in sent]
    parts = [
        _section(f"prompt {n} of {len(sent)}, {m['role']}" if len(sent) > 1 else f"prompt, {m['role']}", m["content"])
        for n, chat in enumerate(sent, 1)
        for m in chat
    ]
    return "\n".join(parts)


def prompts_sent(program: Program, bench: Bench, case: Case, vote: Vote) -> list[Chat]:
    """The messages of each call of one reading, made again by the program over the replies that were recorded."""
    replies = [Reply(text=raw, reasoning=None, finish_reason="stop") for raw in vote.earlier or []]
    if vote.raw is not None:
        replies.append(Reply(text=vote.raw, reasoning=None, finish_reason=vote.finish_reason or "stop"))
    engine = _Replay(replies)

    async def again() -> None:
        with program.reading(replace(bench, open_engine=lambda: engine)) as read:
            await read(case, vote.seed)

    with engine:
        asyncio.run(again())
    return engine.asked


# --- the config of the run that judged --------------------------------------------------------------------------------


def _runs(study: Study, judge_key: str, ended_or_not: bool = False) -> Iterator[dict[str, Any]]:
    """The manifests of finished runs that judged under this key, newest first; and of those that were stopped or are under
    way, which do not say their key."""
    for file in sorted((study.path / "manifests").glob("judge-*.json"), reverse=True):
        try:
            content = json.loads(file.read_bytes())
        except ValueError:
            continue
        if not isinstance(content, dict):
            continue
        if content.get("judge_key") == judge_key or (ended_or_not and content.get("finished", "") is None):
            yield content


def _no_config(study: Study, judge_key: str) -> str:
    """Why the judge cannot be made again, with the words that it was run with, where they are known."""
    words = next((run.get("command") for run in _runs(study, judge_key)), None)
    if not words:
        return "the config describes another judge, and no finished run left one with this judge key; repeat the words that it was run with"
    said = shlex.join(str(word) for word in words)
    return f"the config describes another judge. It was run as `python -m judge {said}`; repeat these words with show="


def configs_of_runs(study: Study, judge_key: str, config_class: type[C]) -> Iterator[C]:
    """The configs of runs that judged under this key, or may have (they were stopped), newest first.

    A manifest may come from a stranger, so nothing in it is trusted: only classes that our own configs name are built, and
    what reads the environment is passed over. Whether such a config is the judge's is for its key to say.
    """
    own = {target for file in CONF.rglob("*.yaml") for target in _targets(yaml.safe_load(file.read_text("utf-8")))}
    for run in _runs(study, judge_key, ended_or_not=True):
        plain = run.get("config")
        if isinstance(plain, dict) and set(_targets(plain)) <= own and "${" not in json.dumps(plain):
            try:
                yield build(config_class, plain)
            except BadInput:  # of another version
                continue


def _targets(value: Any) -> Iterator[str]:
    """Every `_target_` in a config."""
    if isinstance(value, dict):
        if "_target_" in value:
            yield str(value["_target_"])
        for inner in value.values():
            yield from _targets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _targets(inner)

"""`program=panel`: several judges made into one. Each member judges in a process of its own, into its own verdicts; the
panel's verdicts are combined from theirs, without any model. So each member can be seen, and resumed, by itself.
"""

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from generate.journal import BadInput, key_of, text_hash
from generate.stage import settings
from generate.study import Study, describe
from generate.work import make_newest
from judge.program import problem_hash
from judge.verdicts import Case, Reading, Verdict, leave_last, verdict_of
from judge.voting import Voting, combined

OWN_WORDS = ("program", "combine", "probabilities", "show", "mode")
"""Words of the panel's run that its members do not get."""
REFUSED_WORDS = ("study", "studies_dir", "models", "limit", "controls", "mode", "show")
"""Words that say what is judged: all members judge the same."""


@settings
class Panel:
    """conf/program/panel.yaml: its members, each the words of a judge run (`model=qwen program=two_step`), or the name of a
    judge whose verdicts stand in the study already."""

    name: str = "panel"
    members: list[str] | None = None

    def check(self, study: Study) -> None:
        """Raise BadInput for members that cannot be, before anything is written."""
        if not self.members or len(self.members) < 2:
            example = """'program.members=["model=qwen", "model=deepseek program=two_step"]'"""
            raise BadInput(f"program=panel: needs at least two members, such as {example}")
        if twice := next((m for m, n in Counter(self.members).items() if n > 1), None):
            raise BadInput(f"program.members: {twice!r} stands there twice")
        there = {v.judge for v in study.every("verdicts", Verdict)} if any(map(_is_name, self.members)) else set()
        for member in self.members:
            if _is_name(member):
                if member not in there:
                    names = ", ".join(sorted(there)) or "none"
                    raise BadInput(f"program.members: {member!r} is no judge of {study.path}; there are: {names}")
                continue
            keys = [_key(word) for word in words_of(member)]
            if wrong := next((k for k in keys if k in REFUSED_WORDS), None):
                raise BadInput(f"program.members: {member!r}: {wrong}= is said once, for the whole panel")
            if any(word.split("=")[-1] == "panel" and _key(word) == "program" for word in words_of(member)):
                raise BadInput(f"program.members: {member!r}: a panel cannot be a member")


@dataclass(frozen=True)
class Member:
    """A judge as the panel takes it."""

    judge: str
    judge_key: str


class MemberStopped(Exception):
    """A member's process did not come to its end; `code` is its exit code."""

    def __init__(self, member: str, code: int):
        super().__init__(f"the member {member!r} ended with exit code {code}, so the panel has no verdicts yet")
        self.code = code


def _is_name(member: str) -> bool:
    return "=" not in member


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~")


def words_of(member: str) -> list[str]:
    try:
        return shlex.split(member)
    except ValueError as error:
        raise BadInput(f"program.members: {member!r}: {error}") from None


def members_of(panel: Panel, study: Study, home: Study, argv: list[str]) -> list[Member]:
    """Let each member judge what it has not judged yet; returns what they are. `argv` are the words of this run, which the
    members get as well, but for those about the panel itself. Raises MemberStopped."""
    found = []
    for member in panel.members or []:
        if _is_name(member):
            last = [v.judge_key for v in home.every("verdicts", Verdict) if v.judge == member]
            if not last:
                raise BadInput(f"program.members: {member!r} has judged nothing in {home.path}")
            found.append(Member(member, last[-1]))
            continue
        print(f"member: python -m judge {member}", flush=True)
        words = [
            *_passed_on(argv, member),
            f"study={study.name}",
            f"studies_dir={study.path.parent}",
            *words_of(member),
        ]
        process = subprocess.Popen([sys.executable, "-m", "judge", *words])
        try:
            code = process.wait()
        except BaseException:  # Ctrl-C reaches the member as well: let it keep what is done
            process.wait()
            raise
        if code != 0:
            raise MemberStopped(member, code)
        found.append(_judge_of(study, process.pid, member))
    if twice := next((m.judge for m, n in Counter(found).items() if n > 1), None):
        raise BadInput(f"program.members: two of them are the same judge, {twice}")
    return found


def _passed_on(argv: list[str], member: str) -> list[str]:
    """A member that chooses its own model gets no words about another one and its engine."""
    own = {_key(w) for w in words_of(member)}
    left_out = {*OWN_WORDS, "study", "studies_dir", "hydra", *(("model", "engine") if "model" in own else ())}
    passed, flag = [], False
    for word in argv:
        if flag or word.startswith("-"):
            flag = word in ("--config-dir", "-cd")
            passed.append(word)
        elif _key(word) not in own and _key(word).split(".")[0] not in left_out:
            passed.append(word)
    return passed


def _judge_of(study: Study, process: int, member: str) -> Member:
    """What the process that has just ended judged as, from its manifest."""
    for file in sorted((study.path / "manifests").glob("judge-*.json"), reverse=True):
        content = json.loads(file.read_bytes())
        if content.get("process") == process and "judge" in content:
            return Member(content["judge"], content["judge_key"])
    raise BadInput(f"program.members: {member!r} is no judge that reads solutions")


def judge_as_panel(
    panel: Panel, study: Study, home: Study, cases: list[Case], voting: Voting, argv: list[str]
) -> dict[str, Any]:
    """The panel's verdict on each case that at least one member has judged; returns the counts."""
    members = members_of(panel, study, home, argv)
    key = key_of(panel=[vars(m) for m in members], how=voting.how, probabilities=voting.probabilities)
    said = {member: dict(_verdicts_of(home, member)) for member in members}
    print(f"judge {panel.name}: {voting.how} of {', '.join(m.judge for m in members)}")
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    unjudged = 0
    keys = []
    with home.journal("verdicts", panel.name, Verdict) as journal:
        for case in cases:
            verdicts = {m: v for m in members if (v := said[m].get(case.solution.id)) and _is_of(v, case)}
            if not verdicts:
                unjudged += 1
                continue
            record = _together(panel, key, case, members, verdicts, voting)
            if record.key not in journal:
                journal.append(record)
            keys.append(record.key)
            errors.update([record.error.kind] if record.error else [])
            counts.update([record.verdict] if record.verdict else [])
        make_newest(keys, journal)
        leave_last(journal, keys)
        path = journal.path
    print(f"verdicts: {describe(counts)}; errors: {describe(errors)}; judged by no member: {unjudged} (in {path})")
    return {"judge": panel.name, "judge_key": key, "members": [vars(m) for m in members], "errors": dict(errors)}


def _verdicts_of(home: Study, member: Member) -> Iterator[tuple[str, Verdict]]:
    """The member's verdicts by solution, oldest first; without what only a reader of its own file needs."""
    for verdict in home.every("verdicts", Verdict):
        if verdict.judge == member.judge and verdict.judge_key == member.judge_key:
            yield verdict.solution_id, verdict.model_copy(update={"doubts": None, "items": None})


def _is_of(verdict: Verdict, case: Case) -> bool:
    """Whether a verdict is about the case as it stands now."""
    same_text = verdict.text_hash == text_hash(case.solution.text)
    return same_text and verdict.problem_hash in (None, problem_hash(case.problem))


def _together(
    panel: Panel, judge_key: str, case: Case, members: list[Member], verdicts: dict[Member, Verdict], voting: Voting
) -> Verdict:
    readings = [_reading(v) for v in verdicts.values()]
    whole = combined(readings, len(members), voting)
    parts = [[m.judge, v.key, v.verdict, v.points, _tags(v), v.error and v.error.kind] for m, v in verdicts.items()]
    trained = sorted({v.compiled for v in verdicts.values() if v.compiled})
    if len(trained) > 1:
        raise BadInput(
            "program.members: a panel may have one trained program, since a report must know what it has seen"
        )
    return verdict_of(
        whole,
        case,
        key=key_of(judge=judge_key, solution=case.solution.id, members=parts),
        id=f"{panel.name}/{case.solution.id}",
        problem_hash=problem_hash(case.problem),
        judge=panel.name,
        judge_key=judge_key,
        compiled=trained[0] if trained else None,
        votes=[r.vote() for r in readings],
        usage=None,  # it stands in the members' verdicts
    )


def _tags(verdict: Verdict) -> list[str] | None:
    return None if verdict.fallacies is None else [f.tag for f in verdict.fallacies]


def _reading(verdict: Verdict) -> Reading:
    """A member's verdict as a reading; its raw reply is kept where it was one. A judge that says nothing of the verdict
    (it only names fallacies) has no vote."""
    one = verdict.votes[0] if len(verdict.votes) == 1 else None
    same = ("verdict", "fallacies", "apart", "first_wrong_step", "reasoning", "points", "max_points", "probabilities")
    content = {name: getattr(verdict, name) for name in same}
    return Reading(
        **content,
        error=verdict.error,
        judge=verdict.judge,
        raw=one.raw if one else None,
        earlier=one.earlier if one else None,
        finish_reason=one.finish_reason if one else None,
    )

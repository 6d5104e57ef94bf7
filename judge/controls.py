"""Made-up variants of real solutions, by which one sees whether a judge reads: some must be judged worse than the solution
they are made from, some must not be judged otherwise. They live in studies/STUDY/controls/, apart from the study's records.

Every variant is made by rule, so that it can be made again, and only of a solution that is fit for it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal

from generate.journal import BadInput, key_of, text_hash
from generate.problems import Problem
from generate.solutions import Solution
from generate.stage import Count, Whole, settings
from generate.study import Study
from generate.work import make_newest
from judge.adjudication import Gold
from judge.answers import Policy, compare
from judge.checking import STRICT
from judge.labelled import golds_of
from judge.taxonomy import Taxonomy
from judge.verdicts import Answer

VERSION = 1
"""Part of a variant's key: raise it when a rule makes another text of the same solution."""
Kind = Literal[
    "empty", "other_problem", "key_step_removed", "answer_replaced", "answer_alone", "plea", "reworded"
]  # fmt: skip
UNCHANGED = "unchanged"
"""The solution as it stands, judged once more beside its variants: what they are compared with, and itself a control."""
Expectation = Literal["incorrect", "falls", "not_raised", "same"]
EXPECTED: dict[str, Expectation] = {
    UNCHANGED: "same",
    "empty": "incorrect",
    "other_problem": "incorrect",
    "key_step_removed": "falls",
    "answer_replaced": "falls",
    "answer_alone": "falls",
    "plea": "not_raised",
    "reworded": "same",
}
"""What a judge that reads would do. `falls`: what was correct is so no longer."""
FOLDER = "controls"
FEWEST_SENTENCES = 5
"""Of a solution from which one is taken out."""
SHORTEST_STEP = 40
"""Characters of a sentence that may be a key step."""


@settings
class Variants:
    """conf/variants/default.yaml: which variants `controls=true` makes, and of how many solutions."""

    kinds: list[Kind]
    solutions: Count
    plea: str
    seed: Whole = 0

    def __post_init__(self) -> None:
        if not self.kinds:
            raise BadInput("kinds: is empty; name at least one kind of variant")
        if not self.plea.strip():
            raise BadInput("plea: is empty")


@dataclass(frozen=True)
class Source:
    """A solution, and all that is known of it that a rule may use."""

    solution: Solution
    text: str
    problem: Problem
    answer: Answer | None
    """The strict reading of its final answer as it stands now."""
    passed: bool | None
    """Whether humans call it correct; null where they do not say."""
    other: Solution | None
    """The next solution of another problem, in the order of the draw."""


Made = tuple[str, str] | None
"""A variant's text, and what was done in words; null where the solution is not fit for it."""


def controls_study(study: Study) -> Study:
    """Where a study's controls live: solutions, answers and verdicts of their own, in shards as the study's are."""
    return Study(study.path / FOLDER, study.shard)


def take_variants(
    variants: Variants,
    study: Study,
    problems: Mapping[str, Problem],
    solutions: Mapping[str, Solution],
    taxonomy: Taxonomy,
    policy: Policy,
) -> dict[str, Solution]:
    """Make the variants of these solutions, put them into the study's controls, each as the newest of its id, and say how
    many there are of each kind."""
    answers = {a.solution_id: a for a in study.every("answers", Answer) if a.checker == STRICT}
    golds = golds_of(study, dict(solutions), taxonomy)
    made = make_variants(variants, problems, solutions, golds, answers, policy)
    with controls_study(study).solutions_journal(FOLDER) as journal:
        journal.put(made.values())
        make_newest([s.key for s in made.values()], journal)
    counts = Counter(s.meta["control"]["kind"] for s in made.values())
    said = ", ".join(f"{counts[k]} {k}" for k in (UNCHANGED, *variants.kinds))
    print(f"controls: {said} (in {journal.path})")
    return made


def make_variants(
    variants: Variants,
    problems: Mapping[str, Problem],
    solutions: Mapping[str, Solution],
    golds: Mapping[str, Gold],
    answers: Mapping[str, Answer],
    policy: Policy,
) -> dict[str, Solution]:
    """For each kind the variants of the first `variants.solutions` solutions that are fit for it, in an order drawn with
    `variants.seed`, and these solutions unchanged; by id. Equal input gives equal variants. Raises BadInput where no
    solution is fit for anything."""
    drawn = sorted(
        (s for s in solutions.values() if s.text and s.text.strip() and not s.error and s.problem_id in problems),
        key=lambda s: hashlib.sha256(f"{variants.seed}\0{s.id}".encode("utf-8", "replace")).digest(),
    )
    made: dict[str, Solution] = {}
    for kind in variants.kinds:
        for solution, text, what in _fit(kind, drawn, variants, problems, golds, answers, policy):
            unchanged = _control(UNCHANGED, solution, solution.text or "", "nothing")
            made[unchanged.id] = unchanged
            variant = _control(kind, solution, text, what)
            made[variant.id] = variant
    if not made:
        raise BadInput(f"controls=true: no solution is fit for any of {', '.join(variants.kinds)}")
    return made


def _fit(
    kind: Kind,
    drawn: list[Solution],
    variants: Variants,
    problems: Mapping[str, Problem],
    golds: Mapping[str, Gold],
    answers: Mapping[str, Answer],
    policy: Policy,
) -> Iterator[tuple[Solution, str, str]]:
    count = 0
    for place, solution in enumerate(drawn):
        if count == variants.solutions:
            return
        after = chain(islice(drawn, place + 1, None), islice(drawn, place))
        gold, answer = golds.get(solution.id), answers.get(solution.id)
        source = Source(
            solution=solution,
            text=solution.text or "",
            problem=problems[solution.problem_id],
            answer=answer if answer is not None and answer.text_hash == text_hash(solution.text) else None,
            passed=None if gold is None or gold.verdict is None else gold.verdict == "correct",
            other=next((s for s in after if s.problem_id != solution.problem_id), None),
        )
        if _no_room(kind, source.passed):
            continue
        found = with_plea(source, variants.plea) if kind == "plea" else RULES[kind](source, policy)
        if found is not None and found[0] != source.text:
            count += 1
            yield solution, *found


def _no_room(kind: Kind, passed: bool | None) -> bool:
    """What humans already call less than correct shows nothing by falling, and what they call correct cannot rise."""
    return (EXPECTED[kind] == "falls" and passed is False) or (EXPECTED[kind] == "not_raised" and passed is True)


def _control(kind: str, of: Solution, text: str, what: str) -> Solution:
    about: dict[str, Any] = {"kind": kind, "of": of.id, "of_text": text_hash(of.text), "what": what}
    return Solution(
        key=key_of(version=VERSION, kind=kind, of=of.id, of_text=text_hash(of.text), text=text),
        id=f"{of.id}#{kind}",
        problem_id=of.problem_id,
        model=of.model,
        sample=of.sample,
        text=text,
        finish_reason=of.finish_reason,
        meta={"control": about},
    )


# --- the rules --------------------------------------------------------------------------------------------------------


def empty(source: Source, policy: Policy) -> Made:
    return "", "nothing is left"


def other_problem(source: Source, policy: Policy) -> Made:
    return (source.other.text or "", f"the text of {source.other.id}") if source.other else None


def key_step_removed(source: Source, policy: Policy) -> Made:
    """Takes out the sentence that looks most like a key step: neither the first nor the last, not the one that states
    the final answer, with a word of inference, and of these the one with the longest formulas."""
    sentences = list(sentences_of(source.text))
    if len(sentences) < FEWEST_SENTENCES:
        return None
    start, end = (source.answer.start, source.answer.end) if source.answer else (None, None)
    best, longest = None, 0
    for a, b in sentences[1:-1]:
        states_answer = start is not None and end is not None and a < end and start < b
        sentence = source.text[a:b]
        formulas = sum(len(m[0]) for m in FORMULA.finditer(sentence))
        if states_answer or "\\boxed" in sentence or b - a < SHORTEST_STEP or not INFERENCE.search(sentence):
            continue
        if formulas > longest:
            best, longest = (a, b), formulas
    if best is None:
        return None
    a, b = best
    return source.text[:a] + source.text[b:].lstrip(" \t"), f"taken out: {source.text[a:b]}"


def answer_replaced(source: Source, policy: Policy) -> Made:
    """Puts another answer in the place of a right final answer: one more, where it is a whole number, else the gold
    answer of another problem; the checker must call it different."""
    found = source.answer
    if found is None or found.outcome != "equal" or found.start is None or found.end is None:
        return None
    said = source.text[found.start : found.end]
    whole = re.fullmatch(r"-?\d{1,15}", said.strip())
    for other in [str(int(said) + 1)] if whole else ["2026", "0", "1", "-1"]:
        text = source.text[: found.start] + other + source.text[found.end :]
        if compare(str(source.problem.answer), text, policy).outcome == "different":
            return text, f"{said} replaced by {other}"
    return None


def answer_alone(source: Source, policy: Policy) -> Made:
    """The right final answer as the solution states it, without a word of reasoning."""
    found = source.answer
    if found is None or found.outcome != "equal" or found.extracted is None:
        return None
    for text in (
        f"Final answer: $\\boxed{{{found.extracted.strip().strip('$')}}}$",
        f"The answer is {found.extracted}.",
    ):
        if compare(str(source.problem.answer), text, policy).outcome == "equal":
            return text, "nothing but the final answer is left"
    return None


def with_plea(source: Source, plea: str) -> Made:
    """The solution, and after it words that address the judge."""
    return f"{source.text.rstrip()}\n\n{plea.strip()}\n", "a plea put at the end"


def reworded(source: Source, policy: Policy) -> Made:
    """The same in other words where no meaning can change: connectives that open a sentence and mean the same, spaces
    around `=` in formulas, where LaTeX sees none, and wider gaps between paragraphs."""
    text = OPENING.sub(lambda m: SYNONYMS[m[1]] + ",", source.text)
    text = FORMULA.sub(lambda m: EQUALS.sub(" = ", m[0]), text)
    text = re.sub(r"(?<=\S)\n\n(?=[^\s])", "\n\n\n", text)
    return text, "connectives, spaces around = in formulas, gaps between paragraphs"


RULES: dict[str, Callable[[Source, Policy], Made]] = {
    "empty": empty,
    "other_problem": other_problem,
    "key_step_removed": key_step_removed,
    "answer_replaced": answer_replaced,
    "answer_alone": answer_alone,
    "reworded": reworded,
}

# --- the text's parts -------------------------------------------------------------------------------------------------

FORMULA = re.compile(
    r"\$\$.+?\$\$|\$(?:[^$\n]|\n(?!\s*\n))+?\$|\\\[.+?\\\]|\\\(.+?\\\)|\\begin\{(\w+\*?)\}.+?\\end\{\1\}", re.DOTALL
)
EQUALS = re.compile(r"(?<![\\:<>!=&|~^_ \n{])=(?![=<>&|~ \n}])")
"""An equals sign that stands alone, without spaces."""
SYNONYMS = {
    "Therefore": "Hence", "Hence": "Thus", "Thus": "Therefore", "Moreover": "Furthermore", "Furthermore": "Moreover",
    "For example": "For instance", "For instance": "For example", "Consequently": "As a consequence",
    "As a consequence": "Consequently",
}  # fmt: skip
OPENING = re.compile(rf"\b({'|'.join(SYNONYMS)}),(?=\s)")
INFERENCE = re.compile(
    r"\b(therefore|thus|hence|since|because|implies|follows|consequently|contradict\w*|so|gives|yields|obtain|must|then)\b",
    re.IGNORECASE,
)
_HIDDEN = "\ue000"
_SENTENCE_END = re.compile(
    rf"(?<!\bi\.e)(?<!\be\.g)(?<!\bcf)(?<!\bresp)[.!?][)\"'”*]*(?=\s+[A-Z{_HIDDEN}(\[*#])|\n[ \t]*\n|\n(?=\s*(?:[-*#]|\d+[.)])\s)"
)


def sentences_of(text: str) -> Iterable[tuple[int, int]]:
    """Where the sentences of a solution stand, as (start, end) in characters. What stands inside a formula ends none, but
    for a full stop at the formula's own end."""

    def hidden(match: re.Match[str]) -> str:
        stop = "." if match[0].rstrip("$])\\ \n").endswith(".") else _HIDDEN
        return _HIDDEN * (len(match[0]) - 1) + stop

    plain, start = FORMULA.sub(hidden, text), 0
    for end in [*(m.end() for m in _SENTENCE_END.finditer(plain)), len(plain)]:
        a, b = start, end
        while a < b and text[a].isspace():
            a += 1
        while b > a and text[b - 1].isspace():
            b -= 1
        if a < b:
            yield a, b
        start = end

"""`compare`: extraction, then the cascade from the cheapest step to the dearest."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from . import limits, numeric, pool, structure
from .cascade import Cascade, Pair, Proven, Result, different, equal, undecided
from .extract import extract
from .normalise import Refused, Token, clean, key, tokens
from .outcome import Comparison, Extraction
from .parse import Expr, Num, Op, symbols, to_json
from .policy import Policy
from .structure import Answer, Opaque

_INTEGER = re.compile(r"([+-]?)0*(\d+)")
_UNSURE = {"box cut off": "the reply breaks off inside its box"}


def compare(
    gold: str,
    reply: str | None,
    policy: Policy = Policy(),  # noqa: B008 - frozen
    *,
    reasoning_start: str = "<think>",
    reasoning_end: str = "</think>",
    text_step: bool = True,
) -> Comparison:
    """Holds a reply's final answer against the gold answer.

    The reply may be a whole one, its end, or an answer alone; its final answer is extracted first. The steps, in order:
    the same text; exact arithmetic; structure (sets, tuples, intervals, congruences, functions, equations, units, words);
    interval arithmetic, which can prove a difference; sympy in a worker process under the policy's limits.

    Args:
        gold: the gold answer, as it stands in the data set.
        reply: what the solver wrote; `None` for no reply.
        policy: what counts as the same where people differ, and the limits of the symbolic work.
        reasoning_start: what opens a solver's reasoning.
        reasoning_end: what closes it.
        text_step: for tests: `False` skips the comparison of the normalised texts, so that the other steps must show
            the equality.

    Returns:
        The outcome `equal` or `different` where it is proven, otherwise `undecided`. A reply without a final answer is
        `undecided` with the method `"extraction"`, and `.missing` is true.
    """
    extraction = extract(reply, reasoning_start=reasoning_start, reasoning_end=reasoning_end)
    result = _decide(gold, extraction, policy, text_step=text_step, ask=_ask)
    return Comparison(result.outcome, result.method, result.reason, extraction)


Ask = Callable[[dict[str, Any], Policy], list[str]]


def _ask(request: dict[str, Any], policy: Policy) -> list[str]:
    answer: list[str] = pool.shared().ask(request, policy.seconds, policy.memory_mb)
    return answer


def _decide(gold: str, extraction: Extraction, policy: Policy, *, text_step: bool, ask: Ask) -> Result:
    if extraction.text is None:
        return undecided(f"there is no answer to compare: {extraction.why}", "extraction")
    if extraction.how in _UNSURE:
        return undecided(_UNSURE[extraction.how], "extraction")
    result = _texts(gold, extraction.text, policy, text_step=text_step, ask=ask)
    if extraction.how == "sentence" and result.outcome == "different":
        return undecided("the answer was only guessed from a sentence, and differs", "extraction")
    return result


def _texts(gold: str, text: str, policy: Policy, *, text_step: bool, ask: Ask) -> Result:
    if not gold.strip():
        return undecided("the gold answer is empty", "text")
    if text_step and gold.strip() == text.strip():
        return equal("text", "both are the same text")
    plain_gold, plain_text = gold, text
    if len(gold) > limits.MAX_ANSWER_CHARS or len(text) > limits.MAX_ANSWER_CHARS:
        plain = [re.sub(r"[\s$]|\{,\}|\\,", "", t) if len(t) < limits.MAX_REPLY_CHARS else t for t in (gold, text)]
        return _integers(*plain) or undecided("an answer is too long to be read as a formula", "limit")
    plain_gold, plain_text = clean(gold), clean(text)
    whole = _integers(plain_gold, plain_text, text_step=text_step)
    if whole is not None:
        return whole
    try:
        sides = [tokens(t) for t in (plain_gold, plain_text)]
    except Refused as refused:
        return undecided(f"an answer can't be read: {refused}", "text")
    if text_step and key(sides[0]) == key(sides[1]):
        return equal("text", "both are the same, but for spacing and spelling of the formula")
    if any(not s for s in sides):
        return undecided("an answer is empty", "text")
    return _answers(sides, (plain_gold, plain_text), policy, text_step=text_step, ask=ask)


def _integers(gold: str, text: str, *, text_step: bool = True) -> Result | None:
    """Whole numbers of any length, digit by digit."""
    one, two = _INTEGER.fullmatch(gold), _INTEGER.fullmatch(text)
    if one is None or two is None:
        return None
    same = one[2] == two[2] and ((one[1] == "-") == (two[1] == "-") or one[2] == "0")
    if same:
        return equal("exact", "both are the same whole number")
    return different("exact", "they are different whole numbers")


def _answers(sides: list[list[Token]], texts: tuple[str, str], policy: Policy, *, text_step: bool, ask: Ask) -> Result:
    golds, replies = structure.read(sides[0]), structure.read(sides[1])
    first = _readings(golds, replies, sides, policy, {})
    result, pending = first
    if result.outcome != "undecided":
        return result
    if pending:
        solved = _symbolic(pending, policy, ask)
        if isinstance(solved, str):
            return undecided(solved, "limit")
        if any(v == "equal" for v in solved.values()):
            result, _ = _readings(golds, replies, sides, policy, solved)
        return result
    if isinstance(golds[0], Opaque) or isinstance(replies[0], Opaque):
        return _latex(golds[0], replies[0], sides, texts, result, policy, ask)
    return result


def _readings(
    golds: list[Answer], replies: list[Answer], sides: list[list[Token]], policy: Policy, solved: dict[Pair, Proven]
) -> tuple[Result, list[Pair]]:
    """All readings of both: a digit group may be read in the way that fits, a slash has to fit in both ways."""
    results: list[Result] = []
    pending: list[Pair] = []
    for gold in golds:
        for reply in replies:
            cascade = Cascade(policy, solved)
            try:
                results.append(cascade.answers(gold, reply))
            except RecursionError:
                results.append(undecided("it is nested too deeply", "limit"))
            pending.extend(cascade.pending)
    if len(results) == 1:
        return results[0], pending
    strict = any(len(s) > 1 and structure.ambiguous_slash(t) for s, t in ((golds, sides[0]), (replies, sides[1])))
    outcomes = {r.outcome for r in results}
    if len(outcomes) == 1:
        return results[0], pending
    if not strict and "equal" in outcomes:
        return next(r for r in results if r.outcome == "equal"), pending
    return undecided("they have several readings, which do not agree"), pending


def _symbolic(pending: list[Pair], policy: Policy, ask: Ask) -> dict[Pair, Proven] | str:
    """What sympy says of the pairs that are left over, or why it says nothing."""
    small = [p for p in dict.fromkeys(pending) if _small(p[0]) and _small(p[1])]
    if not small:
        return {}
    letters = frozenset().union(*(symbols(x) for p in small for x in p))
    request = {
        "op": "expressions",
        "pairs": [[to_json(a), to_json(b)] for a, b in small[:20]],
        "whole": [name for name in letters if name[0] in numeric.WHOLE],
    }
    try:
        answers = ask(request, policy)
    except pool.Failed as failed:
        return str(failed)
    return {p: "equal" if a == "equal" else "undecided" for p, a in zip(small, answers, strict=False)}


def _small(expr: Expr) -> bool:
    """Whether it is safe to hand to sympy: no huge numbers, and no powers or factorials that make them."""
    count = 0
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        count += 1
        if count > limits.MAX_SYMBOLIC_NODES:
            return False
        if isinstance(node, Num) and max(node.value.numerator.bit_length(), node.value.denominator.bit_length()) > limits.MAX_SYMBOLIC_BITS:
            return False
        if isinstance(node, Op):
            if node.op in ("fact", "fact2", "binom", "pow") and not symbols(node):
                try:
                    size = numeric.Evaluator({}, 64).of(node)[1]
                except (Refused, ValueError, OverflowError):
                    return False
                if size[1] and abs(size[2] + size[3]) > limits.MAX_SYMBOLIC_BITS:
                    return False
            if node.op == "pow" and isinstance(node.args[1], Num) and abs(node.args[1].value) > 200 and symbols(node.args[0]):
                return False
            stack.extend(node.args)
    return True


def _latex(
    gold: Answer, reply: Answer, sides: list[list[Token]], texts: tuple[str, str], result: Result, policy: Policy, ask: Ask
) -> Result:
    """Sums, integrals and other notation that only math-verify's parser reads."""
    formulas = all("\\" in t or isinstance(a, structure.Value) for t, a in zip(texts, (gold, reply), strict=True))
    wordy = any(t.kind == "word" for s in sides for t in s)
    if not formulas or wordy or any(len(t) > limits.MAX_SYMBOLIC_CHARS for t in texts):
        return result
    if not any(("cmd", name) in s for s in sides for name in ("sum", "prod", "int", "lim")):
        return result
    try:
        answer = ask({"op": "latex", "pairs": [list(texts)]}, policy)
    except pool.Failed as failed:
        return undecided(str(failed), "limit")
    if answer == ["equal"]:
        return equal("sympy", "sympy simplifies their difference to zero")
    return result


def compare_many(
    pairs: Iterable[tuple[str, str | None]],
    policy: Policy = Policy(),  # noqa: B008 - frozen
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
    reasoning_start: str = "<think>",
    reasoning_end: str = "</think>",
) -> Iterator[Comparison]:
    """`compare` for many pairs, in order, over several processes; only a few hundred pairs are held at a time.

    Args:
        pairs: (gold, reply) pairs, read as they are needed.
        policy: as for `compare`.
        processes: how many; by default the number of usable processors. With 1, all but symbolic work is done here.
        progress: called with the number of pairs done, after each of them.
        reasoning_start: as for `compare`.
        reasoning_end: as for `compare`.

    Yields:
        One comparison for each pair.
    """
    marks = {"reasoning_start": reasoning_start, "reasoning_end": reasoning_end}
    for done, pair in enumerate(pairs, 1):
        yield compare(pair[0], pair[1], policy, **marks)
        if progress is not None:
            progress(done)


def self_check(
    golds: Iterable[str],
    policy: Policy = Policy(),  # noqa: B008 - frozen
    *,
    processes: int | None = None,
    text_step: bool = True,
) -> list[tuple[str, Comparison]]:
    """The gold answers that are not equal to themselves, each with the comparison that says so."""
    out = []
    for gold in golds:
        found = compare(gold, gold, policy, text_step=text_step)
        if found.outcome != "equal":
            out.append((gold, found))
    return out


_ = (deque, ThreadPoolExecutor, islice)

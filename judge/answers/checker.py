"""`compare`: extraction, then the cascade from the cheapest step to the dearest."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

from . import limits, numeric, pool, structure
from .cascade import Cascade
from .extraction import extract
from .formulas import Pair, Proven, Result, different, equal, undecided
from .kinds import Answer, Opaque, Value
from .normalise import Refused, Token, clean, key, tokens
from .outcome import Comparison, Extraction
from .parse import Expr, Num, Op, symbols, to_json
from .policy import Policy

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_DIGIT_GROUPS = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_UNSURE = {
    "box cut off": "the reply breaks off inside its box",
    "denied box": "the reply says that what stands in its box is not the answer",
    "boxes in parts": "the reply has several boxes, which may be the parts of one answer or the answers to several parts",
    "box in a formula": "the box of the reply is a piece of a larger formula",
    "several lines": "more formulas stand right below the answer",
    "answer with a mark": "its last mark may be a factorial, or the end of a sentence",
}


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
    marks = {"reasoning_start": reasoning_start, "reasoning_end": reasoning_end}
    return _compare(gold, reply, policy, marks, text_step=text_step, ask=_ask)


Ask = Callable[[dict[str, Any], Policy], list[str]]


def _ask(request: dict[str, Any], policy: Policy) -> list[str]:
    answer: list[str] = pool.shared().ask(request, policy.seconds, policy.memory_mb)
    return answer


def _compare(
    gold: str, reply: str | None, policy: Policy, marks: dict[str, str], *, text_step: bool, ask: Ask
) -> Comparison:
    extraction = extract(reply, **marks)
    try:
        result = _decide(gold, extraction, policy, text_step=text_step, ask=ask)
    except (ArithmeticError, LookupError, ValueError, TypeError, AssertionError, RecursionError) as error:
        # A mistake of ours on input that nobody thought of: one pair for a person to look at, not a lost run.
        result = undecided(f"the checker failed on it ({type(error).__name__})", "error")
    return Comparison(result.outcome, result.method, result.reason, extraction)


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
    if len(gold) > limits.MAX_ANSWER_CHARS or len(text) > limits.MAX_ANSWER_CHARS:
        return _integers(gold.strip(" \n$"), text.strip(" \n$")) or undecided(
            "an answer is too long to be read as a formula", "limit"
        )
    plain_gold, plain_text = clean(gold), clean(text)
    whole = _integers(plain_gold, plain_text)
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


def _integers(gold: str, text: str) -> Result | None:
    """Whole numbers of any length, digit by digit."""
    one, two = _INTEGER.fullmatch(gold), _INTEGER.fullmatch(text)
    if one is None or two is None:
        return None
    same = one[2] == two[2] and ((one[1] == "-") == (two[1] == "-") or one[2] == "0")
    if same:
        return equal("exact", "both are the same whole number")
    return different("exact", "they are different whole numbers")


def _answers(sides: list[list[Token]], texts: tuple[str, str], policy: Policy, *, text_step: bool, ask: Ask) -> Result:
    golds, replies = (
        structure.read(side, grouped=_DIGIT_GROUPS.fullmatch(text) is not None)
        for side, text in zip(sides, texts, strict=True)
    )
    first = _readings(golds, replies, texts, policy, {})
    result, pending = first
    if result.outcome != "undecided":
        return result
    if pending:
        solved = _symbolic(pending, policy, ask)
        if isinstance(solved, str):
            return undecided(solved, "limit")
        if any(v == "equal" for v in solved.values()):
            result, _ = _readings(golds, replies, texts, policy, solved)
        return result
    if isinstance(golds[0], Opaque) or isinstance(replies[0], Opaque):
        return _latex(golds[0], replies[0], sides, texts, result, policy, ask)
    return result


def _readings(
    golds: list[Answer], replies: list[Answer], texts: tuple[str, str], policy: Policy, solved: dict[Pair, Proven]
) -> tuple[Result, list[Pair]]:
    """All readings of both. Digits in groups of three, such as `1,234`, are one number where that fits, and are never
    called equal as the list that they may be as well; all other readings have to agree."""
    results: list[Result] = []
    as_number: list[Result] = []
    grouped = [_DIGIT_GROUPS.fullmatch(t) is not None for t in texts]
    pending: list[Pair] = []
    for gold in golds:
        for reply in replies:
            cascade = Cascade(policy, solved)
            try:
                results.append(cascade.answers(gold, reply))
            except RecursionError:
                results.append(undecided("it is nested too deeply", "limit"))
            if all(
                isinstance(side, Value) for side, may_be_list in zip((gold, reply), grouped, strict=True) if may_be_list
            ):
                as_number.append(results[-1])
            pending.extend(cascade.pending)
    if len(results) == 1:
        return results[0], pending
    outcomes = {r.outcome for r in results}
    if len(outcomes) == 1:
        return results[0], pending
    if any(grouped) and (fits := [r for r in as_number if r.outcome == "equal"]):
        return fits[0], pending
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
        "whole": [name for name in letters if name[0] in numeric.COUNTED],
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
        if (
            isinstance(node, Num)
            and max(node.value.numerator.bit_length(), node.value.denominator.bit_length()) > limits.MAX_SYMBOLIC_BITS
        ):
            return False
        if isinstance(node, Op):
            if node.op in ("fact", "fact2", "binom", "pow") and not symbols(node):
                try:
                    size = numeric.Evaluator({}, 64).of(node)[1]
                except (Refused, ValueError, OverflowError):
                    return False
                if size[1] and abs(size[2] + size[3]) > limits.MAX_SYMBOLIC_BITS:
                    return False
            if (
                node.op == "pow"
                and isinstance(node.args[1], Num)
                and abs(node.args[1].value) > 200
                and symbols(node.args[0])
            ):
                return False
            stack.extend(node.args)
    return True


def _latex(
    gold: Answer,
    reply: Answer,
    sides: list[list[Token]],
    texts: tuple[str, str],
    result: Result,
    policy: Policy,
    ask: Ask,
) -> Result:
    """Sums, integrals and other notation that only math-verify's parser reads."""
    formulas = all("\\" in t or isinstance(a, Value) for t, a in zip(texts, (gold, reply), strict=True))
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


Pairs = list[tuple[str, str | None]]


def compare_many(
    pairs: Iterable[tuple[str, str | None]],
    policy: Policy = Policy(),  # noqa: B008 - frozen
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
    reasoning_start: str = "<think>",
    reasoning_end: str = "</think>",
) -> Iterator[Comparison]:
    """`compare` for many pairs, in order, over several processes.

    Pairs are read as they are needed, and only a few chunks of them are held at a time. A few pairs alone are compared
    in this process, since starting others would take longer.

    Args:
        pairs: (gold, reply) pairs.
        policy: as for `compare`.
        processes: how many; by default the number of usable processors. With 1, all but symbolic work is done here.
        progress: called with the number of pairs done, after each of them.
        reasoning_start: as for `compare`.
        reasoning_end: as for `compare`.

    Yields:
        One comparison for each pair.
    """
    marks = {"reasoning_start": reasoning_start, "reasoning_end": reasoning_end}
    compared = _compare_all(iter(pairs), policy, processes or pool.usable_processors(), marks)
    for done, comparison in enumerate(compared, 1):
        yield comparison
        if progress is not None:
            progress(done)


def _compare_all(
    pairs: Iterator[tuple[str, str | None]], policy: Policy, processes: int, marks: dict[str, str]
) -> Iterator[Comparison]:
    if processes > 1:
        first = list(islice(pairs, limits.MANY))
        if len(first) == limits.MANY:
            yield from _spread(_chunks(chain(first, pairs)), policy, processes, marks)
            return
        pairs = iter(first)
    for gold, reply in pairs:
        yield _compare(gold, reply, policy, marks, text_step=True, ask=_ask)


def _chunks(pairs: Iterator[tuple[str, str | None]]) -> Iterator[Pairs]:
    chunk: Pairs = []
    size = 0
    for gold, reply in pairs:
        length = len(gold) + len(reply or "")
        if chunk and (len(chunk) >= limits.CHUNK or size + length > limits.CHUNK_CHARS):
            yield chunk
            chunk, size = [], 0
        chunk.append((gold, reply))
        size += length
    if chunk:
        yield chunk


def _spread(chunks: Iterator[Pairs], policy: Policy, processes: int, marks: dict[str, str]) -> Iterator[Comparison]:
    """The chunks over worker processes, each fed by a thread; results in order."""
    workers = pool.Pool(processes)
    threads = ThreadPoolExecutor(processes, thread_name_prefix="answers")

    def ask(request: dict[str, Any], policy: Policy) -> list[str]:
        answer: list[str] = workers.ask(request, policy.seconds, policy.memory_mb)
        return answer

    def one(pair: tuple[str, str | None]) -> Comparison:
        return _compare(pair[0], pair[1], policy, marks, text_step=True, ask=ask)

    def work(chunk: Pairs) -> list[Comparison]:
        request = {"op": "chunk", "pairs": chunk, "policy": vars(policy), "marks": marks}
        try:
            if sum(len(g) + len(r or "") for g, r in chunk) > limits.CHUNK_CHARS:
                raise pool.Failed("too long to be sent")
            rows: list[list[Any] | None] = workers.ask(request, limits.CHUNK_SECONDS, policy.memory_mb)
        except pool.Failed:
            rows = [None] * len(chunk)
        # what needs sympy, or was in a chunk that failed, is done again by itself, each under its own limits
        return [one(pair) if row is None else _unpack(row, pair[1]) for pair, row in zip(chunk, rows, strict=True)]

    running: deque[Future[list[Comparison]]] = deque()
    try:
        for chunk in chunks:
            running.append(threads.submit(work, chunk))
            if len(running) > 2 * processes:
                yield from running.popleft().result()
        while running:
            yield from running.popleft().result()
    finally:
        for future in running:
            future.cancel()
        workers.close()
        threads.shutdown(wait=True, cancel_futures=True)


def cheap_chunk(pairs: Pairs, policy: Policy, marks: dict[str, str]) -> list[list[Any] | None]:
    """In a worker process: all steps but the symbolic one, packed for the way back; `None` where sympy is needed."""

    def ask(request: dict[str, Any], policy: Policy) -> list[str]:
        raise _NeedsSympy

    rows: list[list[Any] | None] = []
    for gold, reply in pairs:
        try:
            found = _compare(gold, reply, policy, marks, text_step=True, ask=ask)
        except _NeedsSympy:
            rows.append(None)
            continue
        taken = found.extraction
        rows.append([found.outcome, found.method, found.reason, taken.start, taken.end, taken.how, taken.why])
    return rows


class _NeedsSympy(Exception):
    pass


def _unpack(row: list[Any], reply: str | None) -> Comparison:
    outcome, method, reason, start, end, how, why = row
    text = None if start is None or reply is None else reply[start:end]
    return Comparison(outcome, method, reason, Extraction(text, start, end, how, why))


def self_check(
    golds: Iterable[str],
    policy: Policy = Policy(),  # noqa: B008 - frozen
    *,
    processes: int | None = None,
) -> list[tuple[str, Comparison]]:
    """The gold answers that are not equal to themselves, each with the comparison that says so.

    Such a gold can't be matched by any reply: the row is to be mended or left out before anything is scored.
    """
    golds = list(golds)
    compared = compare_many([(gold, gold) for gold in golds], policy, processes=processes)
    return [(gold, found) for gold, found in zip(golds, compared, strict=True) if found.outcome != "equal"]

"""The final answer of a whole reply: what it says last, never what it thought on the way."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import limits
from .outcome import Extraction

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{)")
_BOX_OR_BRACE = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{|\\.|[{}]", re.DOTALL)
_BOX_TOKEN = re.compile(r"\\boxed\s*(\\[a-zA-Z]+|[0-9A-Za-z])(?![{a-zA-Z])")
_PLACEHOLDER = re.compile(
    r"(?:\s|\.|\\[lc]?dots|\\,|\$|_|\?|…|answer|ANSWER|your answer|\\text\{[^{}]*answer[^{}]*\}|\\cdot)*", re.I
)
# What may stand between two boxes that together are one answer.
_JOINT = re.compile(
    r"(?:[\s$,;.&*]|\\[,;:!\[\]() ]|\\(?:q?quad|text)(?![a-z])|\{|\}|\band\b|\bor\b|\bas well as\b|\balong with\b)*"
)
# Between two boxes that together may be one answer, or the answers to several parts: who reads them has to tell.
_PARTS = re.compile(
    r"[\s$.,;*)\]\\]*(?:for\s+(?:all|every|any|each)\b[^.\n\\$]{1,30}(?:\$[^$\n]{1,20}\$)?)?[\s$.,;*]*(?:and|or)?[\s$*]*(?:\\[(\[]\s*)?"
    r"(?:[-*•]\s+|\(?[a-zA-Z0-9]{1,3}\s*[).:]|(?:case|part|question|problem)\s+\w{1,4}\s*[:.)]|[a-zA-Z](?:_\{?\w+\}?)?(?:\([a-z]\))?\s*=)?"
    r"[\s$*(]*",
    re.I,
)
_SEPARATES = re.compile(r"[,;&]|\b(?:and|or|as\s+well\s+as|along\s+with)\b")
_OPERATOR = re.compile(r"[\s$]*(?:[-+/^]|\\(?:times|cdot|div|pm|le|ge|leq|geq|neq?|binom)\b)[\s$]*")
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|cannot|never|neither|nor|instead\s+of|rather\s+than)|n['’]t)(?:\s+(?:be|equal|to|just|simply|the|only))*[\s$*(]*(?:\\[(\[]\s*)?$",
    re.I,
)
_DENIED_AFTER = re.compile(
    r"[\s$)*]*(?:\\[)\]])?\s*(?:is|was|would\s+be|were|are)\s+(?:wrong|incorrect|false|not\b|impossible|too\s)", re.I
)
# A box that is only a piece of a formula. In mathematics only: "\\boxed{7}!" may be a cheer.
_PIECE_BEFORE = re.compile(
    r"(?:[-+*/^_<>\d]|\\(?:times|cdot|div|leq?|geq?|neq?|lt|gt|pm|mp|leqslant|geqslant|ne)"
    r"|(?:\\(?:sqrt(?:\[[^\]\n]*\])?|[dtc]?frac|[dt]?binom)|[\^_])\s*\{|\\[dtc]?(?:frac|binom)\s*\{[^{}\n]*\}\s*\{)\s*$"
)
_PIECE_AFTER = re.compile(
    r"(?:\s|\\[,;:!]|\})*(?:(?!\^\s*\{?\s*\\circ)[\^_+\-*/!%<>]|[0-9a-zA-Z]"
    r"|\\(?:%|(?:times|cdot|div|pi|sqrt|[dt]?frac|pm|mp|[dt]?binom|ln|log|sin|cos|tan|leq?|geq?|neq?|lt|gt|le|ge)(?![a-zA-Z])))"
)
_MATH_MARKS = re.compile(
    r"\\[()\[\]]|(?<!\\)\$\$?|\\(?:begin|end)\{(?:align|equation|gather|multline)[^{}]{0,3}\}|\n[ \t]*\n"
)
_LEAD_IN = re.compile(r"\\text(?:bf|rm)?\s*\{\s*(?:the\s+)?(?:final\s+)?answers?\s*(?:is|are)?\s*:?\s*\}\s*:?\s*", re.I)
_TAG = re.compile(
    r"</?(?:b|strong|i|em|u|p|br|span|div|code|answer|final_answer|h\d|li|ul|td|tr)(?:\s[^<>]{0,80})?/?>", re.I
)
_FENCE = re.compile(r"\s*```[a-zA-Z]*\n(?P<inner>.*?)\n?```\s*", re.DOTALL)
_NEXT_LINE = re.compile(r"\n[ \t]*(?:or|and)\b[^\n]*", re.I)
_MATH_LINE = re.compile(r"(?:[-*•]\s+)?[$\s]*(?:[\d(\[{\\+\-]|[a-zA-Z]\s*(?:=|\(|\^))[^\n]*")
_MARKER = re.compile(
    r"(?:\b(?<!</)(?P<final>final[\s_]+answers?|answers?|ans|solution\s+set)\b[\s*_#}]*"
    r"(?:(?P<colon>[:=：]|(?<=<answer)>|(?<=<final_answer)>)|\b(?:is|are|equals|must\s+be)\b(?:\s+(?:therefore|thus|simply|exactly|indeed|just|then|precisely|given\s+by|equal\s+to))*[\s:]*))",
    re.I,
)
# "Answer. 42", "Result: 42" and "#### 42" at the start of a line.
_LINE_MARKER = re.compile(
    r"^[ \t]*(?:[*_#]*[ \t]*(?:\\textbf\{)?(?:answer[*_]*\.|result[*_]*:)[*_}]*|####)[ \t]+(?=\S)", re.I | re.M
)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*)[ \t]*(?:the[ \t]+)?(?:final[ \t]+)?answers?[ \t]*:?[ \t]*\**[ \t]*:?[ \t]*$",
    re.I | re.M,
)
_HEDGE = re.compile(
    r"\b(?:if|whether|suppose|assum\w+|might|would|could|claim\w*|guess\w*|conjectur\w+|maybe|perhaps|not|wrong|incorrect|"
    r"unless|think|why|suspect\w*|expect\w*)\b",
    re.I,
)
_WEAK = re.compile(
    r"\b(?:maximum|minimum|largest|smallest|greatest|least|number|value|total|sum|product|probability|area|length|angle|"
    r"ratio|result|max|min|count|remainder|limit|solutions?|perimeter|volume|radius|distance)\b"
    r"[^.;:\n=]{0,80}?(?:\b(?:is|are|equals|becomes)\b|=)\s*(?:equal\s+to\s+|exactly\s+|therefore\s+|thus\s+)?",
    re.I,
)
_CONCLUDES = re.compile(r"\b(?:so|thus|hence|therefore|consequently|finally|we (?:get|obtain|find|conclude))\b", re.I)
_TITLE = re.compile(
    r"\s*(?:step|case|part|lemma|claim|theorem|section|subcase|problem|figure)\b|\s*\d+[.)]\s*[A-Za-z]|.*:\s*$", re.I
)
# Words of an argument: a short reply that has one of them is a sentence about the problem, not a bare answer.
_DISCOURSE = re.compile(
    r"\b(?:we|(?-i:I)|our|us|so|thus|hence|therefore|because|since|let|cannot|can't|find|need|show|prove|proof|note|then|"
    r"suppose|assume|consider|must|maximum|minimum|value of|answer|tried|got|get|gives?|sorry|hmm|wait|error|"
    r"obtain|conclude|follows|claim|boxed)\b",
    re.I,
)
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_STATED = re.compile(r"(?![aAI]\s+[a-z])(?:[\d$\\({\[\-+*√π∅±|]|[a-zA-Z]\s*(?:=|\(|\^|_|\b(?![a-z])))")
_STATED_WORDS = re.compile(
    r"(?:yes|no|none|true|false|no\s+(?:solutions?|such|real|integer|positive)|all|odd|even|both|there\s+(?:is|are)\s+no|"
    r"infinitely|zero|one|two|three|four|five|six|seven|eight|nine|ten|[A-Z][a-z]+)\b",
)
_PLAIN_WORDS = re.compile(r"(?:yes|no|none|true|false|no\s+solutions?)\b", re.I)
_OPENING = re.compile(
    r"(?:\W|_|\b(?:so|thus|hence|therefore|actually|finally|correction|wait|but|and|the|our|my|correct|final|that|means|in|"
    r"fact|conclusion|we|conclude|consequently|final)\b)*",
    re.I,
)
_UNSURE_END = re.compile(
    r"^\s*(?:at\s+(?:least|most)|not\b|more\s+than|less\s+than|unknown|unclear|correct|right|wrong|as follows)", re.I
)


def extract(text: str | None, *, reasoning_start: str = "<think>", reasoning_end: str = "</think>") -> Extraction:
    """The final answer of a reply, with its span and how it was found.

    The last stated answer wins: a box, or a later sentence of the form "the (final) answer is ...". Boxes joined by
    "and", "or" or a comma are one answer. What stands between the reasoning marks never counts, and a reply that was
    cut off in its reasoning has no answer. A short text without a sentence about it is an answer as it stands.

    Args:
        text: the whole reply or its end; `None` is a reply without content.
        reasoning_start: what opens the model's reasoning; empty for none.
        reasoning_end: what closes it.

    Returns:
        The answer: `text[start:end]` of the given text. `.text` is `None`, with `.why`, where there is none.
    """
    if text is None or not text.strip():
        return _none("the reply is empty")
    offset = 0
    if len(text) > limits.MAX_REPLY_CHARS:
        offset = len(text) - limits.MAX_REPLY_CHARS
    visible = _visible(text, offset, reasoning_start, reasoning_end)
    if visible is None:
        return _none("the reply was cut off inside its reasoning")
    for start, end in reversed(visible):
        if text[start:end].strip():
            found = _in_segment(text, start, end)
            if found is not None:
                return found
    return _none("the reply states no final answer")


def _none(why: str) -> Extraction:
    return Extraction(None, None, None, "", why)


def _visible(text: str, offset: int, opening: str, closing: str) -> list[tuple[int, int]] | None:
    """The spans outside of the reasoning; `None` where the text ends inside it."""
    if not opening or not closing:
        return [(offset, len(text))]
    spans: list[tuple[int, int]] = []
    start = offset
    inside = False
    for mark in re.compile(f"{re.escape(opening)}|{re.escape(closing)}").finditer(text, offset):
        if mark[0] == opening:
            if not inside:
                spans.append((start, mark.start()))
            inside = True
        else:
            if not inside:
                # no opening mark: chat templates put it into the prompt, so all before the closing one is reasoning
                spans.clear()
            inside = False
            start = mark.end()
    if inside:
        return None
    spans.append((start, len(text)))
    return spans


def _in_segment(text: str, start: int, end: int) -> Extraction | None:
    box = _last_box(text, start, end)
    after = start if box is None or box.end is None else box.end
    stated = _last_statement(text, after, end, over_a_box=box is not None)
    if box is not None and stated is None:
        return box
    if stated is not None:
        return stated
    return _bare(text, start, end) or _emphasised(text, start, end) or _sentence(text, start, end)


def _take(text: str, start: int, end: int, how: str) -> Extraction | None:
    """The span without the blanks, marks and tags around it."""
    while start < end:
        tag = _TAG.match(text, start, end) if text[start] == "<" else None
        if tag is None and text[start] not in " \t\r\n*_:`":
            break
        start = tag.end() if tag is not None else start + 1
    while end > start:
        opens = text.rfind("<", max(start, end - 100), end) if text[end - 1] == ">" else -1
        tag = _TAG.fullmatch(text, opens, end) if opens >= 0 else None
        if tag is None and text[end - 1] not in " \t\r\n*_`":
            break
        end = opens if tag is not None else end - 1
    if start >= end:
        return None
    return Extraction(text[start:end], start, end, how)


class _Box(NamedTuple):
    start: int  # of the command
    end: int  # after the closing brace
    inner: int  # where the content starts
    inner_end: int
    how: str


def _boxes(text: str, start: int, end: int) -> list[_Box]:
    """All outermost boxes, in one pass over the braces (a reply may hold a megabyte of them)."""
    first = _BOX.search(text, start, end)
    if first is None:
        return []
    stack: list[tuple[int, int] | None] = []  # (box start, brace), or None for a plain brace
    closed: list[tuple[int, int, int]] = []  # start, brace, closing brace
    for match in _BOX_OR_BRACE.finditer(text, first.start(), end):
        piece = match[0]
        if piece == "{":
            stack.append(None)
        elif piece == "}":
            top = stack.pop() if stack else None
            if top is not None:
                while closed and closed[-1][0] > top[0]:
                    closed.pop()  # it stood inside this one
                closed.append((*top, match.start()))
        elif len(piece) > 2:
            stack.append((match.start(), match.end() - 1))
    boxes = [_Box(s, c + 1, b + 1, c, "boxed") for s, b, c in closed]
    unclosed = [entry for entry in stack if entry is not None][-1:]
    for begin, brace in unclosed:
        # Never closed: the line is all there is, unless the text was cut off in the middle of it.
        stops = [i for i in (text.find("$", brace, end), text.find("\n", brace, end)) if i >= 0]
        stop, how = (min(stops), "unclosed box") if stops else (end, "box cut off")
        boxes.append(_Box(begin, stop, brace + 1, stop, how))
    return sorted(boxes)


def _last_box(text: str, start: int, end: int) -> Extraction | None:
    """The last box, or the group of boxes that it belongs to."""
    boxes = _boxes(text, start, end)
    real = [b for b in boxes if not _PLACEHOLDER.fullmatch(text[b.inner : min(b.inner_end, b.inner + 200)])]
    if not real:
        bare = list(_BOX_TOKEN.finditer(text, start, end))[-1:]
        return _take(text, bare[0].start(1), bare[0].end(1), "boxed") if bare else None
    denied = real[-1]
    real = [b for b in real if not _denied(text, b, start, end)]
    if not real:
        # "The answer is not \\boxed{6}."
        return Extraction(text[denied.inner : denied.inner_end], denied.inner, denied.inner_end, "denied box")
    last = first = real[-1]
    how = "boxes"
    for earlier in reversed(real[:-1]):
        between = text[earlier.end : first.start]
        joint = len(between) <= 40 and "\n\n" not in between and _JOINT.fullmatch(between) is not None
        part = joint or (len(between) <= 80 and _PARTS.fullmatch(between) is not None)
        if part and text[earlier.inner : earlier.inner_end] == text[last.inner : last.inner_end] and first is last:
            last = first = earlier  # the same answer once more
            continue
        if joint and not _SEPARATES.search(between):
            how = "boxes in parts"
        if not joint:
            if part or (len(between) <= 80 and _OPERATOR.fullmatch(between)):
                how, first = "boxes in parts", earlier
            break
        first = earlier
    if first is not last and last.how == "boxed":
        return Extraction(text[first.start : last.end], first.start, last.end, how)
    if last.how == "boxed" and _piece(text, last, start, end):
        return Extraction(text[last.inner : last.inner_end], last.inner, last.inner_end, "box in a formula")
    lead = _LEAD_IN.match(text, last.inner, last.inner_end)
    return _take(text, lead.end() if lead is not None else last.inner, last.inner_end, last.how)


def _denied(text: str, box: _Box, start: int, end: int) -> bool:
    """Whether the words right before or behind a box say that it is not the answer."""
    return (
        _DENIED_BEFORE.search(text[max(start, box.start - 60) : box.start]) is not None
        or _DENIED_AFTER.match(text, box.end, min(end, box.end + 60)) is not None
    )


def _piece(text: str, box: _Box, start: int, end: int) -> bool:
    """Whether a box is only a piece of the formula that it stands in: `-\\boxed{2}`, `\\sqrt{\\boxed{3}}`."""
    before = text[max(start, box.start - 80) : box.start]
    if not (_PIECE_BEFORE.search(before) or _PIECE_AFTER.match(text, box.end, min(end, box.end + 80))):
        return False
    inside = False
    for mark in _MATH_MARKS.finditer(text, max(start, box.start - 2_000), box.start):
        found = mark[0]
        opens = found in ("\\(", "\\[") or found.startswith("\\begin")
        inside = not inside if found[0] == "$" else opens
    return inside


def _line_end(text: str, start: int, end: int) -> int:
    """Where the line ends, with the next one if that goes on with "or" or "and"."""
    stop = text.find("\n", start, end)
    if stop < 0:
        return end
    more = _NEXT_LINE.match(text, stop, end)
    return stop if more is None else more.end()


def _several_lines(text: str, took: Extraction | None, stop: int, end: int) -> Extraction | None:
    """An answer with more formulas on lines of their own right below it: nothing tells whether they belong to it."""
    if took is None or took.start is None or took.text is None:
        return took
    rest = text[stop : min(end, stop + 400)].lstrip()
    line = rest.partition("\n")[0].strip()
    if line in ("", "$$", "\\]") or _WORD.search(line) or "boxed" in line or not _MATH_LINE.fullmatch(line):
        return took
    return Extraction(took.text, took.start, took.end, "several lines")


def _sentence_start(text: str, position: int, start: int) -> int:
    return max(start, *(text.rfind(mark, start, position) + 1 for mark in (".", "\n", "?", "!", ";")))


def _last_statement(text: str, start: int, end: int, *, over_a_box: bool) -> Extraction | None:
    """The last "answer: ...", "the final answer is ...", or heading with the answer below it.

    One that stands behind a box replaces it only if it is a sentence of its own, and looks like mathematics: "We check
    that the answer is right for n = 3" and "Answer: see above" don't.
    """
    window = max(start, end - limits.STATEMENT_WINDOW)
    found: Extraction | None = None
    for match in _HEADING.finditer(text, window, end):
        below = match.end()
        while below < end and text[below] in " \t\r\n":
            below += 1
        stop = _line_end(text, below, end)
        if below < stop and stop - below <= 400 and "\\boxed" not in text[below:stop]:
            took = _answer_clause(text, below, stop, "final-answer line")
            found = _several_lines(text, took, stop, end) or found
    for match in list(_LINE_MARKER.finditer(text, window, end))[-limits.MAX_STATEMENTS :]:
        took = _answer_clause(text, match.end(), _line_end(text, match.end(), end), "final-answer line")
        if took is not None and _STATED.match(took.text or ""):
            found = took
    for match in list(_MARKER.finditer(text, window, end))[-limits.MAX_STATEMENTS :]:
        sentence = _sentence_start(text, match.start(), window)
        if _HEDGE.search(text, sentence, match.start()):
            continue
        if over_a_box and not _OPENING.fullmatch(text, sentence, match.start()):
            continue
        stop = _line_end(text, match.end(), end)
        if not text[match.end() : stop].strip(" \t*_$"):
            # the marker ends its line: the answer stands on the next one (display mathematics)
            below = stop
            while below < end and text[below] in " \t\r\n*":
                below += 1
            if text.startswith(("$$", "\\["), below):
                close = text.find("$$" if text[below] == "$" else "\\]", below + 2, end)
                stop = close if close >= 0 else end
                below += 2
            else:
                stop = _line_end(text, below, end)
            took = _answer_clause(text, below, stop, "final-answer line")
            if "$$" not in text[stop : stop + 2] and "\\]" not in text[stop : stop + 2]:
                took = _several_lines(text, took, stop, end)
        else:
            how = "final-answer line" if match["colon"] else "answer sentence"
            took = _answer_clause(text, match.end(), stop, how)
            if (
                match["colon"]
                and text[stop : stop + 1] == "\n"
                and "=" not in text[stop : _line_end(text, stop + 1, end)]
            ):
                took = _several_lines(text, took, stop, end) if text[stop + 1 : stop + 2].strip() else took
        if (
            took is not None
            and over_a_box
            and not (_STATED.match(took.text or "") or _PLAIN_WORDS.match(took.text or ""))
        ):
            took = None
        if took is not None and (found is None or (took.start or 0) >= (found.start or 0)):
            found = took
    return found


def _answer_clause(text: str, start: int, end: int, how: str) -> Extraction | None:
    """The answer at the head of a line: up to the end of its sentence, if it looks like an answer at all."""
    while start < end:
        tag = _TAG.match(text, start, end) if text[start] == "<" else None
        if tag is None and text[start] not in " \t*_:=}`":
            break
        start = tag.end() if tag is not None else start + 1
    end = min(end, start + 1_000)
    if start >= end or _UNSURE_END.match(text, start, end):
        return None
    nested = _MARKER.search(text, start, end)
    if nested is not None:
        return None  # "Final Answer: The final answer is 42": the inner one is taken on its own
    if not (_STATED.match(text, start, end) or _STATED_WORDS.match(text, start, end) or how == "final-answer line"):
        return None
    stop = _clause_end(text, start, end)
    if stop - start > 400:
        return None
    if how == "answer sentence" and _CHEER.search(text, start, stop) and not text[stop:end].strip(" *_"):
        how = "answer with a mark"  # "The answer is 3!" may be 6, or 3 with a cheer
    return _take(text, start, stop, how)


_CHEER = re.compile(r"(?<=\d)!\s*\Z")
# What is left out of an answer may change it: "12 when n is even, and 13 otherwise".
_GOES_ON = re.compile(r"\b(?:otherwise|else|even|odd|except|unless)\b|\b(?:and|or)\s+(?:\$|\\\(|\\\[)?\s*[-\d]", re.I)
_CLAUSE_STOP = re.compile(
    r"(?:(?<=[^.\s])\.(?=\s+[A-Z\\]|\s*$)|[!?](?=\s|$)(?<![\dn)]!)|,?\s+(?:because|since|as\s+(?:required|desired|claimed)|which|attained|"
    r"achieved|when|obtained|and\s+(?:we|this|it|so)|so\b|by\b(?!\s*[\d$\\])|hence|thus)|,\s+(?=[a-zA-Z]{3,}\s(?!and\b|or\b|where\b|for\b|if\b|when\b))|;\s(?!\s*[\d$\\({\-])|</?(?:b|strong|i|em|p|div|span|answer|final_answer|code)>|<br)"
)


def _clause_end(text: str, start: int, end: int) -> int:
    """The end of the clause that starts here, dots inside mathematics aside."""
    if text.startswith("**", start) or (start >= 2 and text.startswith("**", start - 2)):
        close = text.find("**", start + 2, end)
        if close > 0:
            return close
    position = start
    in_math = False
    while position < end:
        if text[position] == "$" and text[position - 1 : position] != "\\":
            in_math = not in_math
        elif not in_math:
            match = _CLAUSE_STOP.match(text, position, end)
            if match is not None and position > start:
                if match[0].lstrip(", ").startswith(("when", "attained", "achieved")) and _GOES_ON.search(
                    text, position, end
                ):
                    return end
                return position
        position += 1
    return end


def _bare(text: str, start: int, end: int) -> Extraction | None:
    """A short text with no argument in it is an answer as it stands."""
    fence = _FENCE.fullmatch(text, start, end)
    if fence is not None:
        start, end = fence.span("inner")
    body = text[start:end].strip()
    if len(body) > limits.MAX_ANSWER_CHARS and not body[:2].lstrip("+-$").isdigit():
        return None
    if len(body) > 300 and re.search(r"[a-zA-Z]{3,}\s+[a-zA-Z]{2,}\s", body):
        return None
    if body.startswith(("The ", "There ")) and _WEAK.match(body[4:]):
        return None  # "The minimum is 7.": a sentence about the answer
    if body.count("\n") > 1 or _DISCOURSE.search(body[:2000]):
        return None
    return _take(text, start, end, "bare answer")


def _emphasised(text: str, start: int, end: int) -> Extraction | None:
    """Bold mathematics in the last paragraph."""
    tail = max(start, end - 600)
    last = None
    for match in re.compile(r"\*\*([^*\n]{1,200})\*\*").finditer(text, tail, end):
        if re.search(r"\d|\$|\\", match[1]) and not _DISCOURSE.search(match[1]) and not _TITLE.match(match[1]):
            last = match
    return _take(text, last.start(1), last.end(1), "bold") if last is not None else None


def _sentence(text: str, start: int, end: int) -> Extraction | None:
    """A concluding last sentence: "So the maximum is 12, attained at n = 7."."""
    body_end = end
    while body_end > start and text[body_end - 1] in " \t\r\n":
        body_end -= 1
    head = max(start, body_end - 400)
    cut = max([m.end() for m in re.compile(r"[.!?]\s+(?=[A-Z])|\n").finditer(text, head, body_end)], default=head)
    alone = not text[start:cut].strip()
    if _HEDGE.search(text, cut, body_end) or not (alone or _CONCLUDES.search(text, max(start, cut - 40), body_end)):
        return None
    match = _WEAK.search(text, cut, body_end)
    if match is None:
        return None
    took = _answer_clause(text, match.end(), body_end, "sentence")
    if took is None or took.text is None or not re.match(r"[\d$\\({\-]", took.text):
        return None
    if took.text.count("$") % 2 or took.text.count("{") != took.text.count("}") or len(took.text) > 100:
        return None  # cut out of a longer formula
    return took

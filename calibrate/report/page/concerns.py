"""What can be odd about one judged solution, in order of gravity. The page shows the gravest, so that a person can look
through just those."""

import re
from typing import Any

Json = dict[str, Any]
CONCERNS = (
    "cut off",
    "ungrounded quote",
    "gold answer in the text, not extracted",
    "votes split",
    "parse failed",
    "near the threshold",
)
"""The gravest first.

- cut off: the solution, or the judge's reply, ended at the token limit.
- ungrounded quote: the judge quotes what does not stand in the solution.
- gold answer in the text, not extracted: the answer checker did not find it right, yet the gold answer stands there.
- votes split: the judge's votes do not agree.
- parse failed: the judge has no verdict, or one of its votes has none.
- near the threshold: a point more or less, or a tenth of probability, would have made it pass or fail.
"""
NEAR_END = 500
"""Characters at a solution's end in which a short gold answer is looked for; a long one is looked for everywhere."""
LONG = 3
CLOSE = 0.1


def gravest(solution: Json, verdict: Json | None, answer: Json | None, threshold: float | None) -> int | None:
    """The place in CONCERNS of the gravest; null where there is none.

    Args:
        solution: the record of the solution.
        verdict: what the judge says of it; null where it says nothing.
        answer: what the answer checker says of it; null where it was not checked.
        threshold: the points from which on a solution passes; null where its verdict decides.
    """
    found = (
        _cut_off(solution, verdict),
        verdict is not None and _ungrounded(verdict),
        answer is not None and gold_not_extracted(solution.get("text"), answer),
        verdict is not None and len({v for v in _votes(verdict) if v is not None}) > 1,
        verdict is not None and (bool(verdict.get("error")) or None in _votes(verdict)),
        verdict is not None and _near(verdict, threshold),
    )
    return next((place for place, is_so in enumerate(found) if is_so), None)


def _votes(verdict: Json) -> list[str | None]:
    return [v.get("verdict") for v in verdict.get("votes") or ()]


def _cut_off(solution: Json, verdict: Json | None) -> bool:
    reasons = [solution.get("finish_reason")]
    if verdict is not None:
        reasons += [v.get("finish_reason") for v in verdict.get("votes") or ()]
        reasons.append("length" if (verdict.get("error") or {}).get("kind") == "cut_off" else None)
    return "length" in reasons


def _ungrounded(verdict: Json) -> bool:
    return any(f.get("quote") and f.get("start") is None for f in verdict.get("fallacies") or ())


def gold_not_extracted(text: str | None, answer: Json) -> bool:
    """Whether the gold answer stands in the text though the checker did not find the answer right."""
    gold = _plain(answer.get("gold") or "")
    if not text or not gold or answer.get("outcome") == "equal":
        return False
    place = _plain(text if len(gold) >= LONG else text[-NEAR_END:])
    return re.search(rf"(?<![0-9a-z.\\]){re.escape(gold)}(?![0-9a-z]|\.[0-9])", place) is not None


def _plain(text: str) -> str:
    """Without case, dollar signs, TeX's spaces and brackets of formulas, and white space but between words."""
    bare = re.sub(r"\\[ ,;:!()\[\]]|\\left|\\right|\$", " ", text.replace("\\dfrac", "\\frac")).casefold()
    return re.sub(r"\s+(?=\W)|(?<=\W)\s+", "", re.sub(r"\s+", " ", bare)).strip()


def _near(verdict: Json, threshold: float | None) -> bool:
    points = verdict.get("points")
    if points is not None and threshold is not None:
        return bool(threshold - 1 <= points < threshold + 1)
    ranked = sorted((verdict.get("probabilities") or {}).values(), reverse=True)
    return len(ranked) > 1 and ranked[0] - ranked[1] < CLOSE

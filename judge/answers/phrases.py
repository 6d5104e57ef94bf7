"""Words in and around an answer: yes and no, parity, conditions, remarks, units, names."""

from __future__ import annotations

import re

from .brackets import balanced, depth_of, unwrap, wraps
from .kinds import Answer, Function, Group
from .normalise import UNIT_WORDS, Token, words
from .numeric import WHOLE
from .parse import symbols

_CONDITION_WORDS = words(
    "for where with if when whenever such provided given otherwise excluding except unless while as assuming"
)
# A condition of these words and letters alone says nothing but that the letters are arbitrary.
_IDLE_WORDS = words(
    "for some any all every each where with is an a are arbitrary constant constants real reals number "
    "numbers the and x r be can"
)
_LEAD = frozenset(["all", "the", "every", "any", "only", "exactly", "each"])
POLITE = words(
    "it is possible this can be done they he she exists exist always such a an the that we indeed so does do holds true ' s"
)
_WINS = re.compile(
    r"(?:has a winning strategy|has the winning strategy|has a strategy|wins?(?: the game)?|always wins|can win|will win)$"
)
# Words that answer a question with yes or no, or leave it open: written with a capital they are still no names.
_NO_NAMES = words(
    "impossible possible always never sometimes infinite finite infinitely undefined unknown undetermined maybe neither "
    "either correct incorrect cannot none nobody everyone nothing zero any certainly indeed true false"
)
_DEGREES = frozenset(["degree", "degrees"])
# Plurals that change a number: 7 dozens is no 7.
_NUMERIC_NOUNS = words(
    "tens dozens scores hundreds thousands millions billions trillions halves thirds quarters fourths fifths sixths "
    "sevenths eighths ninths tenths hundredths thousandths percents times pairs couples triples digits powers roots logs "
    "squares cubes bits bases moduli modulos plus minus less always others primes multiples factors divisors evens odds "
    "weeks months years decades centuries yards knots pounds ounces euros pence turns revolutions "
    "points places sides degrees parts means does has goes exists was works wins fails gives"
)
CARDINALS = {
    name: value
    for value, name in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
NUMBER_WORDS = {
    "all real numbers": "R", "all reals": "R", "real numbers": "R", "all integers": "Z", "integers": "Z",
    "all positive integers": "Z+", "positive integers": "Z+", "all rational numbers": "Q", "all natural numbers": "N",
    "every positive integer": "Z+", "all positive integers n": "Z+", "every integer": "Z", "any real number": "R",
    "any positive integer": "Z+", "all complex numbers": "C",
}  # fmt: skip
NOTHING = re.compile(
    r"(?:there (?:is|are|exists?) )?no(?: such)?(?: (?:real|integer|positive|natural|rational|valid|nonzero))*"
    r"(?: (?:solutions?|integers?|numbers?|functions?|values?|pairs?|triples?|polynomials?|sequences?|primes?|[a-z]))?(?: exists?)?"
    r"|none(?: exists?)?|(?:the )?empty set|the set is empty|does not exist"
)
PARITY = re.compile(
    r"(?:(?:all|every|any|the) )?(?:(?P<a>odd|even)(?: (?:integers?|numbers?|values?(?: of)?))?(?: (?P<va>[a-z]))?"
    r"|(?P<vb>[a-z]) (?:is |must be |are )?(?:an )?(?P<b>odd|even)(?: (?:integer|number))?"
    r"|(?:integers |numbers )?(?P<vc>[a-z]) such that (?P<vd>[a-z]) is (?P<c>odd|even))"
)
MULTIPLES = re.compile(
    r"(?:(?:all|every|any|the) )?(?:(?P<va>[a-z]) is (?:a )?|integers |numbers )?(?:multiples? of|divisible by) (?P<m>\d{1,9})"
)
FORM = re.compile(r"(?:all )?(?:(?:integers?|numbers?)(?: [a-z])? )?of the form")


def phrase_of(items: list[Token]) -> tuple[str, ...]:
    return tuple(
        t.text.lower() if t.kind == "word" else ("\\" + t.text if t.kind == "cmd" else t.text)
        for t in items
        if not (t.kind == "op" and t.text in ("{", "}", '"', "."))
    )


def has_words(items: list[Token]) -> bool:
    return any(t.kind == "word" for t in items)


def without_lead(phrase: tuple[str, ...]) -> tuple[str, ...]:
    while len(phrase) > 1 and phrase[0] in _LEAD:
        phrase = phrase[1:]
    return phrase


def single_name(items: list[Token]) -> str | None:
    """A single name, such as Alice, or Alice with "wins" after it."""
    plain = [t for t in items if not (t.kind == "op" and t.text in ("{", "}", ".", '"'))]
    if not plain or plain[0].kind != "word" or not plain[0].text[0].isupper() or not plain[0].text[1:].islower():
        return None
    if (
        any(t.kind not in ("word", "sym") for t in plain)
        or plain[0].text.lower()
        in _LEAD
        | {
            "no",
            "yes",
            "not",
            "none",
            "both",
        }
        | _NO_NAMES
    ):
        return None
    rest = " ".join(t.text.lower() for t in plain[1:])
    if rest and not _WINS.fullmatch(rest):
        return None
    return plain[0].text.lower()


def split_condition(items: list[Token]) -> tuple[list[Token], list[Token]]:
    """What stands before "for", "where", "if", ... and what from there on."""
    level = 0
    for index, token in enumerate(items):
        level += depth_of(token)
        opening = token == ("op", "(") and index + 1 < len(items) and _condition_at(items, index + 1)
        if (level == 0 or (level == 1 and opening)) and index and (_condition_at(items, index) or opening):
            return unwrap(items[:index]), items[index:]
        if (
            level == 1
            and index
            and token == ("op", "{")
            and _condition_at(items, index + 1)
            and items[index - 1].text not in ("^", "_")
        ):
            return unwrap(items[:index]), items[index:]
    return items, []


def _condition_at(items: list[Token], index: int) -> bool:
    return index < len(items) and items[index].kind == "word" and items[index].text.lower() in _CONDITION_WORDS


def without_remark(items: list[Token]) -> list[Token]:
    """Without a remark in parentheses at the end, such as "(about 18.9 cards)"."""
    plain = items
    while plain and plain[-1] == ("op", "}"):
        plain = plain[:-1]
    if not plain or plain[-1] != ("op", ")"):
        return items
    for start in range(len(plain) - 2, 0, -1):
        if plain[start] == ("op", "(") and wraps(plain[start:]):
            words = [t.text.lower() for t in plain[start + 1 :] if t.kind in ("word", "cmd")]
            if words and words[0] in (
                "about",
                "approximately",
                "approx",
                "roughly",
                "around",
                "or",
                "ie",
                "nearly",
                "attained",
                "achieved",
            ):
                head = plain[:start]
                while head and head[-1] == ("op", "{"):
                    head = head[:-1]
                return unwrap(head) if words[0] != "or" or "about" in words or "approximately" in words else items
            return items
    return items


def says_nothing(condition: list[Token], inner: Answer) -> bool:
    """Whether a condition only says that the letters of the answer are arbitrary."""
    letters: frozenset[str] = frozenset()
    if isinstance(inner, Function):
        letters = symbols(inner.body) | set(inner.params)
    elif isinstance(inner, Group) and all(isinstance(i, Function) for i in inner.items):
        for item in inner.items:
            if isinstance(item, Function):
                letters |= symbols(item.body) | set(item.params)
    if not letters:
        return False
    words = [t for t in condition if not (t.kind == "op" and t.text in ("{", "}", "(", ")", ","))]
    seen = domain = False
    whole = all(letter[0] in WHOLE for letter in letters)
    for before, token in zip([None, *words], words, strict=False):
        if token.kind == "word" and token.text.lower() in _IDLE_WORDS:
            continue
        if token.kind == "sym" and token.text in letters:
            seen = True
            continue
        if token in (("cmd", "in"), ("cmd", "mathbb R")):
            continue
        if token == ("sym", "R") and before is not None and before.text == "in":
            continue
        if whole and token.kind == "cmd" and token.text in ("mathbb N", "mathbb Z"):
            domain = True
            continue
        if domain and token.text in "_^*+>01":
            continue
        return False
    return seen or any(t.text.lower() in ("constant", "constants", "reals", "numbers") for t in words)


def strip_units(items: list[Token]) -> tuple[list[Token], tuple[str, int] | None]:
    """The formula before a unit, and the unit with its power."""
    plain = list(items)
    power = 1
    counted = [t for t in plain if not (t.kind == "op" and t.text in ("{", "}"))]
    if len(counted) == 2 and counted[0].kind == "num" and counted[0].text.isdecimal() and counts_things(counted[1]):
        return counted[:1], (counted[1].text.lower(), 1)
    tail = [t for t in plain if not (t.kind == "op" and t.text in ("{", "}"))]
    if len(tail) >= 3 and tail[-2] == ("op", "^") and tail[-3].kind == "word" and tail[-1].text in ("2", "3"):
        power = int(tail[-1].text)
        at = len(plain) - 1 - plain[::-1].index(Token("op", "^"))
        plain = plain[:at]
    unit = None
    end = len(plain)
    names: list[str] = []
    while end:
        token = plain[end - 1]
        if token.kind == "word" and token.text.lower() in UNIT_WORDS:
            names.append(token.text.lower())
        elif not (token.kind == "op" and token.text in ("{", "}") and _brace_of_words(plain, end - 1)):
            break
        end -= 1
    if not names or end == 0:
        return items, None
    head = plain[:end]
    if not balanced(head):
        return items, None
    name = names[0]
    if "square" in names[1:]:
        power = 2
    if "cubic" in names[1:]:
        power = 3
    if len([n for n in names if n not in ("square", "cubic")]) > 1:
        return items, None
    unit = ("degree", 1) if name in _DEGREES else (name, power)
    return head, unit


def counts_things(token: Token) -> bool:
    """Whether a word after a number only says what was counted: "7 apples", but not "7 dozens"."""
    text = token.text.lower()
    if token.kind != "word" or text in UNIT_WORDS or text in _NUMERIC_NOUNS:
        return False
    return text in ("people", "children", "men", "women") or (
        len(text) >= 4 and text.endswith("s") and text[-2] not in "su"
    )


def _brace_of_words(items: list[Token], at: int) -> bool:
    """Whether the brace at this place belongs to a group of words (that of a \\text)."""
    if items[at].text == "}":
        level = 0
        for index in range(at, -1, -1):
            level += (items[index].text == "}") - (items[index].text == "{") if items[index].kind == "op" else 0
            if level == 0:
                inner = items[index + 1 : at]
                return bool(inner) and all(t.kind == "word" for t in inner)
        return False
    return at + 1 < len(items) and items[at + 1].kind == "word"


def skip_tokens(items: list[Token], skip: int) -> list[Token]:
    """The tokens after the first `skip` ones that are not braces."""
    count = 0
    for index, token in enumerate(items):
        if token.kind == "op" and token.text in ("{", "}"):
            continue
        if count == skip:
            rest = items[index:]
            while rest and not balanced(rest) and rest[-1] == ("op", "}"):
                rest = rest[:-1]
            return rest
        count += 1
    return []

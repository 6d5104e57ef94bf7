"""From the many ways to write a formula to one: unicode, spacing and typographic commands, then a list of tokens.

Nothing here changes a value. What it doesn't know it keeps, so that the later steps refuse it rather than misread it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from . import limits


class Refused(ValueError):
    """Input outside of what a step handles; the message is the reason, in words for a person."""


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set: how the lists of names in this package are written."""
    return frozenset(text.split())


class Token(NamedTuple):
    """A token: kind is `num`, `sym` (a letter), `word`, `cmd` (a LaTeX command or function name) or `op`."""

    kind: str
    text: str


_UNICODE = {
    "×": "*", "⋅": "*", "·": "*", "∙": "*", "•": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/",
    "−": "-", "–": "-", "‐": "-", "‑": "-", "﹣": "-", "±": r"\pm ", "∓": r"\mp ",
    "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ", "≠": r"\ne ", "≡": r"\equiv ",
    "≈": r"\approx ", "∈": r"\in ", "∉": r"\notin ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ",
    "⊂": r"\subset ", "⊆": r"\subseteq ", "∖": r"\setminus ", "∣": r"\mid ",
    "ø": r"\emptyset ", "∞": r"\infty ", "√": r"\sqrt ", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]", "…": r"\ldots ",
    "⋯": r"\ldots ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "°": r"\deg ", "º": r"\deg ",
    "∘": r"\circ ", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ",
    "→": r"\to ", "↦": r"\mapsto ", "⇒": r"\Rightarrow ", "⟨": r"\langle ", "⟩": r"\rangle ", "＝": "=", "，": ",", "：": ":",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅙": r"\frac{1}{6}", "⅛": r"\frac{1}{8}", "∀": r"\forall ", "∃": r"\exists ",
    "ϕ": r"\phi ", "φ": r"\varphi ", "ϑ": r"\vartheta ", "ϵ": r"\epsilon ", "ε": r"\varepsilon ", "µ": r"\mu ",
}  # fmt: skip
_GREEK = words(
    "alpha beta gamma delta zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
for _name in _GREEK:
    _UNICODE[
        unicodedata.lookup(
            f"GREEK {'CAPITAL' if _name[0].isupper() else 'SMALL'} LETTER {_name.upper().replace('LAMBDA', 'LAMDA')}"
        )
    ] = f"\\{_name} "
_TRANSLATE = {ord(k): v for k, v in _UNICODE.items()}
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ", "0123456789+-()ni", strict=True))
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₖᵢⱼ", "0123456789+-()nkij", strict=True))
_SUPER_RUN = re.compile(f"[{''.join(_SUPER)}]+")
_SUB_RUN = re.compile(f"[{''.join(_SUB)}]+")
# Zero-width characters and direction marks show nothing; the characters that reorder text do, and stay unreadable.
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u061c"))

_SPACES = re.compile(
    r"\\[,;:! ]|\\(?:q?quad|thinspace|medspace|enspace|negthinspace|hspace\{[^{}]*\})(?![a-zA-Z])|[~\s]"
)
_SIZES = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|noindent|centering)"
    r"(?![a-zA-Z])"
)
_INVISIBLE_DELIMITER = re.compile(r"\\(?:left|right)\s*\.")
_THOUSANDS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:(?:\{,\}|\\,|\\!,\\!|,\\!|\\;|\\:|\\ |~|\u2009|\u202f|\xa0)\d{3})+|(?: \d{3})+)(?![\d,]|\.\d*,)"
)
_SHORT_FRAC = re.compile(r"\\([dt]?frac|[dt]?binom)\s*(\d)\s*(\d)")
_ROOT_OF_NUMBER = re.compile(r"\\sqrt\s+(\d+(?:\.\d+)?)")
_DOTTED = re.compile(r"(?<![\d.])(\d*\.\d*)\\dot\s*\{?(\d)\}?(?:(\d*)\\dot\s*\{?(\d)\}?)?")
# A letter e between a number and digits is no factor; before a sign it may be one, unless the digits show a computer's hand.
_SCIENTIFIC = re.compile(r"(?<![\w\\.])(\d+(?:\.\d+)?)(?:[eE](\d{1,4})|E\+?(-?\d{1,4}))(?![\w.]*\w)")
_MAYBE_SCIENTIFIC = re.compile(r"(?<![\w\\.])(?:\d+\.\d+e[+-]\d+|\d+e[+-]0\d+)")
_DOTS = re.compile(r"\.(?:\s?\.){2,}")
_DOLLARS = re.compile(r"(?<!\\)\$+|\\[()\[\]](?=\s|\S|$)")

_ALIAS = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "leq": "le", "leqslant": "le",
    "leqq": "le", "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne", "not=": "ne", "lt": "<", "gt": ">", "cdot": "*",
    "times": "*", "ast": "*", "div": "/", "dots": "ldots", "cdots": "ldots", "dotsc": "ldots", "dotsb": "ldots",
    "varnothing": "emptyset", "lbrace": "{", "rbrace": "}", "lvert": "|", "rvert": "|", "vert": "|", "colon": ":",
    "lbrack": "[", "rbrack": "]", "degree": "deg", "isin": "in", "land": "and", "lor": "or", "vee": "or", "wedge": "and",
    "tg": "tan", "ctg": "cot", "arctg": "arctan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "lg": "lg",
    "infinity": "infty", "inf": "infty", "backslash": "setminus", "emptyset": "emptyset", "bmod": "mod", "bar": "overline",
    "lparen": "(", "rparen": ")", "exp": "exp", "iff": "Leftrightarrow", "implies": "Rightarrow", "Rightarrow": "Rightarrow",
}  # fmt: skip
_TEXT_COMMANDS = words(
    "text textbf textit textrm textsf texttt textnormal mbox hbox emph textup mathbf mathit mathsf boldsymbol "
    "bm mathrm operatorname rm bf it boxed fbox framebox"
)
_FUNCTIONS = words(
    "sin cos tan cot sec csc arcsin arccos arctan asin acos atan ln log lg exp gcd lcm max min mod sqrt floor "
    "ceil binom"
)
_NAMED = {"pi": "pi", "infty": "infty", "infinity": "infty", "inf": "infty", **{g: g for g in _GREEK if len(g) > 2}}
_SHORT_WORDS = words(
    "or and if is are for all any odd the of in no yes not has be by to on at as it its an one two six ten "
    "each red her his him she he we so no none only but both few non nor old per set sum way who why you let "
    "does do"
)
UNIT_WORDS = words(
    "m g s h cm mm km dm kg mg ml hr min sec cm2 degrees degree deg radians rad meters meter metres metre "
    "centimeters centimetres inches inch feet foot ft miles mile hours hour minutes minute seconds second "
    "kilometers kilometer kilometres kilometre millimeters millimeter millimetres millimetre centimeter centimetre "
    "kilogram kilograms days day dollars dollar cents cent grams gram liters litres units unit square cubic percent"
)

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<num>[0-9]+(?:\.[0-9]+|\.(?=\\overline|\\bar))?|\.[0-9]+)"
    r"|\\(?P<cmd>[a-zA-Z]+)"
    r"|\\(?P<esc>[{}%$&#_|])"
    r"|(?P<letters>[a-zA-Z]+)"
    r"|(?P<op><=|>=|!=|==|\*\*|[-+*/^_=<>(){}\[\],;:.!|%'\"?&])"
)


def clean(text: str) -> str:
    """One spelling for characters, spaces and typographic commands; digits grouped by thousands are joined."""
    if not text.isascii():
        text = re.sub(r"\d", lambda m: str(unicodedata.decimal(m[0])), text.translate(_INVISIBLE))
        text = _SUPER_RUN.sub(lambda m: "^{" + "".join(_SUPER[c] for c in m[0]) + "}", text)
        text = _SUB_RUN.sub(lambda m: "_{" + "".join(_SUB[c] for c in m[0]) + "}", text)
        text = _THOUSANDS.sub(_join_digits, text)
        text = unicodedata.normalize("NFKC", text.translate(_TRANSLATE)).translate(_TRANSLATE)
        text = _ROOT_OF_NUMBER.sub(r"\\sqrt{\1}", text)
    text = _THOUSANDS.sub(_join_digits, text)
    text = _DOTS.sub(r"\\ldots ", text)
    text = _SCIENTIFIC.sub(lambda m: f"{m[1]}*10^{{{m[2] or m[3]}}}", text)
    if "\\" in text:
        text = _INVISIBLE_DELIMITER.sub(" ", text)
        text = _SIZES.sub(" ", text)
        text = _SPACES.sub(" ", text)
        text = _DOTTED.sub(lambda m: f"{m[1]}\\overline{{{m[2]}{m[3] or ''}{m[4] or ''}}}", text)
        text = _SHORT_FRAC.sub(r"\\\1{\2}{\3}", text)
    text = _DOLLARS.sub(" ", text)
    text = text.strip()
    while text.startswith("**") and text.endswith("**") and len(text) > 4:
        text = text[2:-2].strip()
    return text.rstrip(" \t\n.,;\\")


def _join_digits(match: re.Match[str]) -> str:
    return re.sub(r"\D", "", match[0])


def tokens(text: str) -> list[Token]:
    """The tokens of a cleaned answer; raises `Refused` on a character that it doesn't know, or on too many."""
    out: list[Token] = []
    if _MAYBE_SCIENTIFIC.search(text):
        raise Refused("its e may be that of scientific notation")
    _tokenise(text, out, in_text=False, depth=0)
    for _ in range(limits.MAX_NESTING):
        at = next((i for i, t in enumerate(out) if t in _INFIX), None)
        if at is None:
            break
        out = _prefixed(out, at)
    return out


_INFIX = {("cmd", "over"): "frac", ("cmd", "choose"): "binom"}


def _prefixed(items: list[Token], at: int) -> list[Token]:
    """`{a \\over b}` as `\\frac{a}{b}`, and `{n \\choose k}` as a binomial coefficient."""
    level, start = 0, at
    while start > 0:
        text = items[start - 1].text if items[start - 1].kind == "op" else ""
        level += (text == "}") - (text == "{")
        if level < 0:
            break
        start -= 1
    level, stop = 0, at + 1
    while stop < len(items):
        text = items[stop].text if items[stop].kind == "op" else ""
        level += (text == "{") - (text == "}")
        if level < 0:
            break
        stop += 1
    above, below = items[start:at], items[at + 1 : stop]
    for part in (above, below):
        brackets = [t.text for t in part if t.kind == "op"]
        if not part or brackets.count("(") != brackets.count(")"):
            raise Refused("what stands above and below its fraction is not certain")
    brace = [Token("op", "{")], [Token("op", "}")]
    made = [Token("cmd", _INFIX[items[at]]), *brace[0], *above, *brace[1], *brace[0], *below, *brace[1]]
    return [*items[:start], *made, *items[stop:]]


def _tokenise(text: str, out: list[Token], *, in_text: bool, depth: int) -> None:
    if depth > limits.MAX_NESTING:
        raise Refused("it is nested too deeply")
    position = 0
    end = len(text)
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise Refused(f"it has the character U+{ord(text[position]):04X}, which has no meaning here")
        position = match.end()
        if len(out) > limits.MAX_TOKENS:
            raise Refused("it is too long to be read as a formula")
        kind = match.lastgroup
        value = match[kind] if kind else ""
        if kind == "space":
            continue
        if kind == "num":
            if len(value) > limits.MAX_NUMBER_DIGITS:
                raise Refused("it has a number of too many digits")
            out.append(Token("num", value))
        elif kind == "letters":
            _letters(value, out, in_text=in_text)
        elif kind == "esc":
            out.append(Token("op", {"{": "\\{", "}": "\\}", "|": "|"}.get(value, value)))
        elif kind == "op":
            value = {"<=": "\\le", ">=": "\\ge", "!=": "\\ne", "==": "=", "**": "^"}.get(value, value)
            if value in ("\\le", "\\ge", "\\ne"):
                out.append(Token("cmd", value[1:]))
            else:
                out.append(Token("op", value))
        else:
            position = _command(value, text, position, out, in_text=in_text, depth=depth)


def _command(name: str, text: str, position: int, out: list[Token], *, in_text: bool, depth: int) -> int:
    """One LaTeX command: fonts are dropped, aliases resolved. Returns where to go on."""
    if name in _TEXT_COMMANDS:
        start = position
        while start < len(text) and text[start] == " ":
            start += 1
        if start >= len(text) or text[start] != "{":
            return position
        stop = closing_brace(text, start)
        if stop is None:
            raise Refused("its braces don't match")
        inner = text[start + 1 : stop]
        words = name not in ("boxed", "fbox", "framebox", "mathbf", "boldsymbol", "bm", "mathit")
        # \text{a} has the same meaning as {a}: keep the group, so that x^\text{2} and \frac\text{..} still work
        opened = len(out)
        before = out[-1] if out else None
        if before == ("op", "{") and opened > 1 and out[-2] == ("op", "_"):
            before = out[-2]
        out.append(Token("op", "{"))
        _tokenise(inner, out, in_text=words or in_text, depth=depth + 1)
        if before == ("op", "_"):
            out[opened:] = [Token("sym", t.text) if t.kind == "word" else t for t in out[opened:]]
            out.append(Token("op", "}"))
        elif words and (
            (len(out) == opened + 2 and out[-1].kind == "cmd")
            or (any(t.kind == "word" for t in out[opened:]) and before != ("op", "^"))
        ):
            # words are no argument of anything: "x=2 \text{ or } x=3" is two formulas, \operatorname{lcm} a command
            del out[opened]
        else:
            out.append(Token("op", "}"))
        return stop + 1
    if name == "mathbb" or name == "mathcal":
        match = re.compile(r"\s*\{?\s*([A-Za-z])\s*\}?").match(text, position)
        if match is None:
            raise Refused(f"\\{name} without a letter")
        out.append(Token("cmd", f"{name} {match[1]}"))
        return match.end()
    if name == "not":
        out.append(Token("cmd", "not"))
        return position
    alias = _ALIAS.get(name, name)
    if not alias.isalpha():
        alias = {"{": "\\{", "}": "\\}"}.get(alias, alias)
        out.append(Token("op", alias))
    elif alias in ("and", "or"):
        out.append(Token("word", alias))
    elif alias == "forall":
        out.extend((Token("word", "for"), Token("word", "all")))
    else:
        out.append(Token("cmd", alias))
    return position


def _letters(run: str, out: list[Token], *, in_text: bool) -> None:
    """A run of letters: a function's name, a constant's, a word, or a product of variables."""
    if len(run) == 1:
        metres = in_text and run in "mgsh" and len(out) > 1 and out[-1] == ("op", "{") and out[-2].kind == "num"
        out.append(Token("word" if metres else "sym", run))
        return
    lower = run.lower()
    if run in _FUNCTIONS:
        out.append(Token("cmd", _ALIAS.get(run, run)))
    elif run in _NAMED and not in_text:
        out.append(Token("cmd", _NAMED[run]))
    elif (
        in_text
        or len(run) >= 4
        or lower in _SHORT_WORDS
        or (lower in UNIT_WORDS and out and out[-1].kind == "num")
        or (len(run) == 3 and run[0].isupper() and run[1:].islower())
    ):
        out.append(Token("word", run))
    else:
        out.extend(Token("sym", c) for c in run)


def closing_brace(text: str, start: int) -> int | None:
    """Where the brace group that opens at `start` ends; `None` where it never does."""
    depth = 0
    position = start
    for match in _BRACES.finditer(text, start):
        piece = match[0]
        position = match.start()
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth -= 1
            if depth == 0:
                return position
    return None


_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)


def key(items: list[Token]) -> tuple[str, ...]:
    """What two spellings of the same formula share: the tokens, without braces around a single one, words in lower case."""
    out: list[str] = []
    for kind, value in items:
        if kind == "op" and value == "}" and len(out) >= 2 and out[-2] == "{" and out[-1][-1].isalnum():
            out.pop(-2)  # but {,} between digits is no list comma
        else:
            out.append(value.lower() if kind == "word" else "\\" + value if kind == "cmd" else value)
    while len(out) >= 2 and out[-1] in (".", ",", ";"):
        out.pop()
    while len(out) >= 2 and out[0] == "{" and out[-1] == "}" and _one_group(out):
        out = out[1:-1]
    return tuple(out)


def _one_group(items: list[str]) -> bool:
    depth = 0
    for index, value in enumerate(items):
        depth += (value == "{") - (value == "}")
        if depth == 0:
            return index == len(items) - 1
    return False

"""The page's HTML: what can be read without its script. Every figure is taken from metrics.json by its pointer, which
stands beside it in the page, so that the two cannot disagree."""

from collections.abc import Sequence
from typing import Any

from calibrate.report.page.figures import Figure, pointer
from calibrate.report.page.markup import Markup, tag, text
from calibrate.report.page.trust import verdict_on
from calibrate.report.sections import JUDGE_FIGURES, METRICS, in_full
from calibrate.report.shown import Section, interval, number, remark

Json = dict[str, Any]
SHARES = [k for k in METRICS if k != "final_answer_accuracy"]


class Notes:
    """What is odd about the figures of a table: a letter in the cell, the words once below."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, words: str) -> Markup | None:
        if not words:
            return None
        place = len(self._letters)
        letters = "abcdefghijklmnopqrstuvwxyz"
        new = letters[place % 26] * (place // 26 + 1)
        return tag("sup", self._letters.setdefault(words, new))

    def below(self) -> Markup | None:
        if not self._letters:
            return None
        return tag("p", [[tag("sup", k), f" {words}. "] for words, k in self._letters.items()], class_="aside")


def cell(m: Json, steps: Sequence[object], percent: bool, notes: Notes) -> Markup:
    """One estimate: its value, interval and n; a dash where it is undefined. What is odd about it is noted."""
    e: Any = m
    for step in steps:
        e = e[step]
    where, odd = pointer(*steps), notes.letter(remark(e))
    if e["value"] is None:
        return tag("td", tag("span", "-", data_figure=where), odd, class_="figure")
    shown = tag("b", number(e["value"], percent), data_figure=where, data_as="percent" if percent else None)
    spread = tag("small", interval(e, percent)) if e["low"] is not None else None
    return tag("td", shown, odd, spread, tag("small", f"n={e['n']}"), class_="figure")


def table(caption: Any, head: Sequence[Any], rows: Sequence[Sequence[Any]], class_: str | None = None) -> Markup:
    """A table whose first column heads its rows. Cells are texts, or elements already."""

    def row(cells: Sequence[Any]) -> Markup:
        first, *others = cells
        return tag("tr", tag("th", first, scope="row"), [c if isinstance(c, Markup) else tag("td", c) for c in others])

    heads = tag("tr", [tag("th", h, scope="col") if h else tag("td") for h in head])
    inner = tag(
        "table", tag("caption", caption), tag("thead", heads), tag("tbody", [row(r) for r in rows]), class_=class_
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=_plain(caption))


def _plain(caption: Any) -> str:
    return str(caption) if not isinstance(caption, Markup) else "table"


def head(m: Json, about: Json) -> Markup:
    """What was judged by whom."""
    people = [f"{a['annotator']} ({a['labels']} {a['kind']} labels)" for a in m["annotators"]]
    models = list(m["solutions"]["by_model"])
    facts = [
        ("Study", f"{m['study']} (report {m['report']})"),
        (
            "Solutions",
            text(
                tag("span", m["n_solutions"], data_figure="/n_solutions"),
                " of ",
                tag("span", m["n_problems"], data_figure="/n_problems"),
                f" problems, by {_some(models)}",
            ),
        ),
        ("Judges", _some(list(m["judges"])) if m["judges"] else "none yet"),
        ("Labels by", _some(people) if people else "nobody"),
        ("Split", _split(m)),
        ("Taxonomy", m["settings"]["taxonomy"]),
        ("Date", about["date"] or "not known"),
        ("Versions", ", ".join(f"{k} {v}" for k, v in about["versions"].items())),
    ]
    return tag("dl", [tag("div", tag("dt", k), tag("dd", v)) for k, v in facts], class_="facts")


def _split(m: Json) -> str:
    opened = len(m.get("lockbox_openings") or ())
    split = m.get("split") or "all"
    said = "all labelled solutions" if split == "all" else f"{split} alone"
    return said + (f"; the lockbox was opened {opened} time{'s' if opened > 1 else ''}" if opened else "")


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _groups(block: Json) -> list[tuple[str, tuple[str, ...]]]:
    """All solutions, then each model's; of a single model it is said once."""
    models = list(block["by_model"])
    if len(models) == 1:
        return [(f"all (by {models[0]})", ("overall",))]
    return [("all", ("overall",)), *((model, ("by_model", model)) for model in models)]


def gold_table(m: Json, key: str, caption: str) -> Markup:
    """By model: the metrics from labels."""
    groups = _groups(m[key])
    shown, left_out = _defined(m, [[key, *steps] for _, steps in groups], list(METRICS))
    notes = Notes()
    rows = [[name, *(cell(m, [key, *steps, k], True, notes) for k in shown)] for name, steps in groups]
    return text(table(caption, ["", *(METRICS[k] for k in shown)], rows, "gold"), notes.below(), left_out)


def _defined(m: Json, places: Sequence[Sequence[str]], metrics: Sequence[str]) -> tuple[list[str], Markup | None]:
    """Of the metrics those that are defined somewhere, and a line that says why the others are not."""
    why: dict[str, list[str]] = {}
    for k in metrics:
        found = []
        for steps in places:
            e: Any = m
            for step in (*steps, k):
                e = e.get(step) if isinstance(e, dict) else None
            found += [e] if isinstance(e, dict) and "value" in e else []
        if found and not any(e["n"] for e in found):
            why.setdefault(remark(found[0]), []).append(k)
    missing = [f"{', '.join(METRICS[k] for k in ks)} ({reason})" for reason, ks in why.items()]
    said = tag("p", f"Not defined here: {'; '.join(missing)}.", class_="aside") if missing else None
    return [k for k in metrics if not any(k in ks for ks in why.values())], said


def estimates_table(m: Json, name: str) -> Markup:
    """By model: what the judge alone would report, and that corrected by the labelled part where it can be."""
    found = m["judges"][name]["estimates"]
    at = ["judges", name, "estimates"]
    groups = _groups(found["raw"])
    hows = [how for how in ("raw", "corrected") if isinstance(found.get(how), dict)]
    shown, left_out = _defined(m, [[*at, how, *steps] for how in hows for _, steps in groups], SHARES)
    notes = Notes()
    rows: list[list[Any]] = []
    for group, steps in groups:
        for how in hows:
            block: Any = found[how]
            for step in steps:
                block = block.get(step) if isinstance(block, dict) else None
            cells = [
                cell(m, [*at, how, *steps, k], True, notes)
                if isinstance(block, dict) and isinstance(block.get(k), dict) and "value" in block[k]
                else tag("td", "-")
                for k in shown
            ]
            rows.append([text(group, " ", tag("i", how)), *cells])
    caption = f"Estimate by judge {name}: no human said this"
    if "corrected" in hows:
        of = found.get("estimand")
        means = {"problems": "new problems of this kind", "pool": "just these solutions"}.get(of, of)
        words = "raw: as the judge says it. corrected: by the labelled part (prediction-powered inference)"
        left_out = text(left_out, tag("p", f"{words}{f'; estimated for {means}' if means else ''}.", class_="aside"))
    return text(
        table(caption, ["", *(METRICS[k] for k in shown)], rows, "estimate") if shown else None, notes.below(), left_out
    )


def judges_table(m: Json, key: str) -> Markup:
    """One line a judge, and the constant predictor, so that they can be compared."""
    whose = "human" if key == "agreement" else "planted"
    notes = Notes()
    rows: list[list[Any]] = []
    for name in m["judges"]:
        at = ["judges", name]
        cover = [*at, "coverage"] if whose == "human" else [*at, key, "coverage"]
        here: Any = m
        for step in cover:
            here = here[step]
        numbers = [tag("td", here[k], class_="figure", data_figure=pointer(*cover, k)) for k in ("both", "missing")]
        link = tag("a", name, href="#" + _hash(name)) if whose == "human" else name
        rows.append([link, *numbers, *(cell(m, [*at, key, *steps], p, notes) for _, steps, p in JUDGE_FIGURES)])
    for baseline, block in m["baselines"].items():
        if key in block:
            shown = [cell(m, ["baselines", baseline, key, *steps], p, notes) for _, steps, p in JUDGE_FIGURES]
            rows.append([f"({baseline})", "", "", *shown])
    caption = (
        "Judges against the human labels" if whose == "human" else "Judges against the planted labels (not human gold)"
    )
    heads = ["judge", "n", "errors", *(f for f, _, _ in JUDGE_FIGURES)]
    return text(table(caption, heads, rows), notes.below())


def differences_table(m: Json) -> Markup | None:
    """Each two judges on the same solutions; null where this is not known."""
    pairs = ((m.get("differences") or {}).get("judges") or {}).get("pairs") or {}
    notes = Notes()
    figures = {"accuracy": True, "cohen_kappa": False, "weighted_kappa": False, "pass_accuracy": True}
    rows: list[list[Any]] = []
    for a, others in pairs.items():
        for b, block in others.items():
            at = ["differences", "judges", "pairs", a, b]
            rows.append(
                [f"{a} less {b}", *(cell(m, [*at, k], p, notes) if k in block else "-" for k, p in figures.items())]
            )
    heads = ["", *(k.replace("_", " ") for k in figures)]
    return text(table("Differences between judges on the same solutions", heads, rows), notes.below()) if rows else None


def _hash(judge: str) -> str:
    from urllib.parse import quote

    return "judge=" + quote(judge, safe="")


def trust_section(m: Json, place: int, name: str) -> Markup:
    """In words: how far this judge can be trusted. The script shows one judge at a time; without it all follow each other."""
    summary, reasons = verdict_on(m, name)
    return tag(
        "section",
        tag("h2", f"How far can {name} be trusted here?"),
        tag("p", summary, class_="summary"),
        tag("ul", [tag("li", r) for r in reasons]),
        data_judge=place,
    )


def figures_section(place: int, name: str, drawn: Sequence[Figure]) -> Markup:
    nothing = "There is nothing to draw: no solution has a label and a verdict by this judge."
    return tag(
        "section",
        tag("h2", f"Figures: {name}"),
        tag("div", [_figure(f, place) for f in drawn], class_="figures") if drawn else tag("p", nothing),
        data_judge=place,
    )


def _figure(figure: Figure, place: int) -> Markup:
    return tag(
        "figure",
        tag("h4", figure.title),
        tag("div", figure.svg, class_="scroll", tabindex="0", role="region", aria_label=figure.title),
        tag("figcaption", figure.about),
    )


def sections(found: Sequence[Section]) -> Markup:
    """Everything that report.md has, for looking up."""
    parts: list[Any] = []
    for section in found:
        parts.append(tag("h3" if section.level <= 2 else "h4", section.title))
        parts += [tag("p", p) for p in section.text]
        if section.rows:
            parts.append(table(section.title, section.header, section.rows))
    return text(parts)


def body(m: Json, about: Json, drawn: dict[str, list[Figure]]) -> Markup:
    people = any(a["kind"] == "human" for a in m["annotators"])
    gold = (
        gold_table(m, "human_gold", "Human gold, by model: what human annotators say")
        if people
        else tag(
            "p",
            "There are no human labels in this study, so there is no human gold. No other number here takes its place.",
        )
    )
    estimates = [
        tag(
            "section",
            tag("h3", f"Estimate by {name}"),
            tag(
                "p",
                tag("span", "ESTIMATE", class_="badge"),
                " What the judge alone would report of all that it judged. It is no ground truth.",
            ),
            estimates_table(m, name),
            data_judge=i,
        )
        for i, name in enumerate(m["judges"])
    ]
    planted = (
        tag(
            "section",
            tag("h2", "Planted labels (not human gold)"),
            tag("p", "Planted labels say which flaws were written in on purpose. They are not human judgements."),
            gold_table(m, "planted", "Planted labels, by model"),
            judges_table(m, "against_planted") if m["judges"] else None,
        )
        if m["planted"]
        else None
    )
    compare = judges_table(m, "agreement") if m["judges"] and people else None
    return text(
        tag(
            "header",
            tag("h1", f"Report on study {m['study']}"),
            head(m, about),
            [tag("p", note, class_="note") for note in [*m["notes"], (m.get("sampling") or {}).get("warning")] if note],
        ),
        tag("div", id="chooser"),
        tag(
            "main",
            tag(
                "div",
                tag("section", tag("h2", "Human gold"), gold, class_="side"),
                tag("div", estimates, class_="side estimates") if estimates else None,
                class_="beside",
            ),
            [trust_section(m, i, name) for i, name in enumerate(m["judges"])],
            tag("section", tag("h2", "Judges compared"), compare, differences_table(m)) if compare else None,
            planted,
            [figures_section(i, name, drawn[name]) for i, name in enumerate(m["judges"])],
            None if m["judges"] else tag("p", "No judge has judged this study yet: run python -m judge."),
            id="overview",
        ),
        tag(
            "div",
            tag("noscript", "The table of solutions needs JavaScript, which stands in this file."),
            id="solutions",
        ),
        tag(
            "section",
            tag("details", tag("summary", tag("h2", "All figures")), sections(in_full(m)[1:])),
            id="all-figures",
        ),
    )

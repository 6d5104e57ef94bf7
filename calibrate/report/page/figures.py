"""The figures, as SVG made by hand: small, equal for equal input, and readable by a screen reader. All but those of
single solutions are drawn from metrics.json alone.

Shapes tell sides apart, not colours: filled circles and whole lines are humans, hollow diamonds and dashed lines the
judge. In the page CSS gives them light or dark colours; a saved file carries colours for white paper.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from calibrate.report.page.markup import Markup, tag
from calibrate.report.shown import interval, number
from generate.labels import VERDICTS

Json = dict[str, Any]
WIDTH = 460
INK, FAINT, HUMAN, JUDGE = "#1b1f24", "#8a929b", "#0b5cad", "#a84300"
SHARES = ("#f2f4f6", "#9aa5b1", "#3d4854")  # incorrect, partially correct, correct: light to dark, also in grey
WORDS = {"incorrect": "incorrect", "partially_correct": "partially correct", "correct": "correct"}
LINE = 22


@dataclass(frozen=True)
class Figure:
    name: str
    """Of the file it is saved in."""
    title: str
    about: str
    """What it shows, in words; stands under it."""
    svg: Markup

    @property
    def file(self) -> bytes:
        """The figure as a file of its own."""
        style = f"svg{{font-family:sans-serif;background:#fff;color:{INK}}}"
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        return (head + self.svg.replace(">", f"><style>{style}</style>", 1) + "\n").encode()


def pointer(*steps: object) -> str:
    """Where a figure stands in metrics.json (RFC 6901), by which a test reads the page."""
    return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in steps)


def of_judge(m: Json, name: str, pairs: "Pairs") -> list[Figure]:
    """The figures of one judge, those left out for which there is nothing to draw. They hold it against the human
    labels; in a study that only has planted ones against those, and say so."""
    against = "planted" if m["planted"] and not any(a["kind"] == "human" for a in m["annotators"]) else "human"
    side = Side(m, name, against)
    drawn = [
        confusion(side, pairs),
        fallacy_f1(side),
        frequencies(side, "by_topic", "topic"),
        frequencies(side, "by_answer_type", "kind of problem"),
        reliability(side),
        points(side, pairs),
        risk_coverage(side),
        verdict_shares(side),
    ]
    return [f for f in drawn if f is not None]


@dataclass(frozen=True)
class Side:
    """One judge, and the labels that it is held against."""

    m: Json
    name: str
    whose: str
    """`human` or `planted`."""

    @property
    def agreement(self) -> tuple[Json, tuple[str, ...]]:
        steps = ("judges", self.name, "agreement" if self.whose == "human" else "against_planted")
        return self.m["judges"][self.name][steps[2]], steps

    @property
    def gold(self) -> tuple[Json, tuple[str, ...]]:
        steps = ("human_gold" if self.whose == "human" else "planted",)
        return self.m[steps[0]], steps

    @property
    def raw(self) -> tuple[Json, tuple[str, ...]]:
        return self.m["judges"][self.name]["estimates"]["raw"], ("judges", self.name, "estimates", "raw")

    @property
    def labels(self) -> str:
        return "humans" if self.whose == "human" else "planted labels (no human judgements)"


@dataclass(frozen=True)
class Pairs:
    """What single solutions add to metrics.json: how often each pair of a label and a judge's word occurs. Drawn only
    where they are all that metrics.json counts (not where the page shows a part, or a judge is held against a part)."""

    passes: Counter[tuple[bool, bool]]
    points: Counter[tuple[float, float]]


# --- parts of a drawing -----------------------------------------------------------------------------------------------


def _svg(width: float, height: float, title: str, about: str, *children: Any) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        tag("desc", about),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        font_size="12",
    )


def _word(x: float, y: float, said: object, at: str = "start", where: str | None = None, **more: Any) -> Markup:
    settings = {"fill": INK, "class_": "ink"} | more
    return tag("text", said, x=_n(x), y=_n(y), text_anchor=None if at == "start" else at, data_figure=where, **settings)


def _line(x1: float, y1: float, x2: float, y2: float, **more: Any) -> Markup:
    settings = {"stroke": FAINT, "class_": "axis"} | more
    return tag("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), **settings)


def _dot(x: float, y: float) -> Markup:
    return tag("circle", cx=_n(x), cy=_n(y), r="4", fill=HUMAN, class_="human-fill")


def _diamond(x: float, y: float) -> Markup:
    d = f"M{_n(x)} {_n(y - 5)}l5 5l-5 5l-5 -5z"
    return tag("path", d=d, fill="#fff", stroke=JUDGE, stroke_width="1.5", class_="judge-line")


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _short(said: str, most: int = 26) -> str:
    return said if len(said) <= most else said[: most - 1] + "…"


def _axis(x: Callable[[float], float], y: float, top: float, label: str, percent: bool = True) -> list[Markup]:
    """A scale from 0 to 1 below a drawing."""
    parts = [_line(x(v), top, x(v), y, opacity="0.5") for v in (0, 0.25, 0.5, 0.75, 1)]
    parts += [
        _word(x(v), y + 15, f"{100 * v:g}%" if percent else f"{v:g}", "middle", fill=FAINT, class_="faint")
        for v in (0, 0.5, 1)
    ]
    return [*parts, _word((x(0) + x(1)) / 2, y + 31, label, "middle")]


def _mark(e: Json, x: Callable[[float], float], y: float, judge: bool) -> list[Markup]:
    """A value with its interval: a circle on a line, or a diamond on a dashed line for a judge."""
    parts = []
    if e["low"] is not None and e["high"] is not None:
        stroke = _stroke("raw" if judge else "human")
        parts.append(_line(x(max(0.0, e["low"])), y, x(min(1.0, e["high"])), y, stroke_width="1.5", **stroke))
    return [*parts, (_diamond if judge else _dot)(x(e["value"]), y)]


# --- the figures ------------------------------------------------------------------------------------------------------


def confusion(side: Side, pairs: Pairs) -> Figure | None:
    """Counts and row shares; of labels that only say pass or not, a table of two by two."""
    (agreement, steps), name = side.agreement, side.name
    verdict = agreement["verdict"]
    if verdict["accuracy"]["n"]:
        words = [WORDS.get(v, v) for v in verdict["labels"]]
        counts = verdict["confusion"]
        where = pointer(*steps, "verdict", "confusion")
    elif pairs.passes.total() and pairs.passes.total() == agreement["pass"]["accuracy"]["n"]:
        words, where = ["not passed", "passed"], None
        counts = [[pairs.passes[a, b] for b in (False, True)] for a in (False, True)]
    else:
        return None
    k, cell, left, top = len(words), 92, 120, 50
    height = 46
    parts = [_word(left + k * cell / 2, 16, "judge", "middle", font_weight="bold")]
    parts += [_word(left + (j + 0.5) * cell, 38, w, "middle") for j, w in enumerate(words)]
    parts.append(_word(4, 38, side.whose, font_weight="bold"))
    for i, row in enumerate(counts):
        n, y = sum(row), top + i * height
        parts += [_word(4, y + 20, words[i]), _word(4, y + 36, f"n = {n}", fill=FAINT, class_="faint")]
        for j, count in enumerate(row):
            share = count / n if n else 0.0
            x = left + j * cell
            parts.append(
                tag(
                    "rect",
                    x=_n(x),
                    y=_n(y),
                    width=cell - 4,
                    height=height - 4,
                    fill=HUMAN,
                    fill_opacity=f"{0.06 + 0.3 * share:.3f}",
                    stroke=INK if i == j else "none",
                    class_="cell",
                )
            )
            mid = x + cell / 2 - 2
            parts.append(
                _word(mid, y + 19, count, "middle", where and where + pointer(i, j), font_weight="bold", font_size="14")
            )
            parts.append(_word(mid, y + 35, f"{100 * share:.0f}% of row" if n else "-", "middle"))
    n = sum(map(sum, counts))
    about = (
        f"Each row is what {side.labels} say of {n} solutions that {name} judged too, framed where both say the same."
    )
    svg = _svg(
        left + k * cell + 4, top + k * height + 4, "Confusion matrix", _table_words(side.whose, words, counts), parts
    )
    return Figure("confusion", "Confusion matrix", about, svg)


def _table_words(whose: str, words: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    rows = [
        f"{whose} {a}: " + ", ".join(f"judge {b} {n}" for b, n in zip(words, row, strict=True))
        for a, row in zip(words, counts, strict=True)
    ]
    return "; ".join(rows)


def fallacy_f1(side: Side) -> Figure | None:
    (agreement, steps), name = side.agreement, side.name
    fallacies = agreement["fallacies"]
    tags = {t: e for t, e in fallacies.items() if "support" in e}
    if not any(e["f1"]["n"] for e in tags.values()):
        return None
    left, right, top = 186, 92, 24

    def x(v: float) -> float:
        return left + v * (WIDTH - left - right)

    bottom = top + len(tags) * LINE
    parts = _axis(x, bottom, top - 6, "F1 of the judge, with its 95% interval")
    parts += [_word(WIDTH - right + 14, 14, "F1"), _word(WIDTH - 2, 14, "support", "end")]
    said = []
    for i, (t, e) in enumerate(tags.items()):
        y, f1 = top + i * LINE + 8, e["f1"]
        parts.append(_word(4, y + 4, _short(t)))
        where = pointer(*steps, "fallacies", t, "f1")
        if f1["value"] is not None:
            parts += _mark(f1, x, y, True)
        parts.append(_word(WIDTH - right + 14, y + 4, number(f1["value"], True), where=where, data_as="percent"))
        support = pointer(*steps, "fallacies", t, "support")
        parts.append(_word(WIDTH - 2, y + 4, e["support"], "end", support))
        said.append(f"{t}: {number(f1['value'], True)} {interval(f1, True)}, support {e['support']}")
    n = fallacies["exact"]["n"]
    about = (
        f"How well {name} finds each fallacy, against {side.labels}, over {n} solutions whose fallacies are annotated. Support: how many of "
        "them bear it. Where there is no mark the F1 is not defined."
    )
    svg = _svg(WIDTH, bottom + 40, "F1 of each fallacy", "; ".join(said), parts)
    return Figure("fallacy-f1", "F1 of each fallacy", about, svg)


def frequencies(side: Side, key: str, words: str) -> Figure | None:
    """Of humans (labelled solutions) and of the judge (all that it judged), for each group a panel."""
    (gold, of_gold), (raw, of_raw), name = side.gold, side.raw, side.name
    groups = {group: (gold[key].get(group, {}), raw[key].get(group, {})) for group in sorted({*gold[key], *raw[key]})}
    tags = list(gold["overall"]["fallacies"])

    def told(block: Json) -> bool:
        return any(block.get("fallacies", {}).get(t, {}).get("value") is not None for t in tags)

    if not groups or not all(any(told(pair[i]) for pair in groups.values()) for i in (0, 1)):
        return None
    left, right, top = 186, 108, 40

    def x(v: float) -> float:
        return left + v * (WIDTH - left - right)

    parts: list[Any] = [_dot(10, 12), _word(20, 16, side.whose), _diamond(90, 12), _word(100, 16, "judge")]
    parts += [_word(WIDTH - 58, 16, side.whose, "end"), _word(WIDTH - 2, 16, "judge", "end")]
    y, said = float(top), []
    for group, (human, judge) in groups.items():
        ns = [max((e["n"] for e in b.get("fallacies", {}).values()), default=0) for b in (human, judge)]
        title = _group_words(group)
        parts.append(_word(4, y + 2, _short(title, 40), font_weight="bold"))
        parts.append(_word(WIDTH - 2, y + 2, f"n = {ns[0]}; {ns[1]}", "end", fill=FAINT, class_="faint"))
        y += 10
        panel_top = y
        for t in tags:
            y += LINE - 4
            parts.append(_word(4, y + 4, _short(t)))
            cells = []
            for block, dashed, where, at in (
                (human, False, pointer(*of_gold, key, group, "fallacies", t), WIDTH - 58),
                (judge, True, pointer(*of_raw, key, group, "fallacies", t), WIDTH - 2),
            ):
                e = block.get("fallacies", {}).get(t)
                if e is None:
                    parts.append(_word(at, y + 4, "-", "end"))
                    continue
                if e["value"] is not None:
                    parts += _mark(e, x, y + (3 if dashed else -3), dashed)
                parts.append(_word(at, y + 4, number(e["value"], True), "end", where, data_as="percent"))
                cells.append(number(e["value"], True))
            said.append(f"{title}, {t}: {side.whose} {cells[0] if cells else '-'}, judge {cells[-1] if cells else '-'}")
        parts += [_line(x(v), panel_top + 4, x(v), y + 10, opacity="0.5") for v in (0, 0.5, 1)]
        y += 26
    parts += [_word(x(v), y, f"{100 * v:g}%", "middle", fill=FAINT, class_="faint") for v in (0, 0.5, 1)]
    parts.append(_word((x(0) + x(1)) / 2, y + 18, "share of the solutions that bear it", "middle"))
    about = (
        f"How often each fallacy occurs, by {words}: as {side.labels} tag the labelled solutions, and as {name} alone would "
        "report it of all that it judged (an estimate). n: labelled; judged."
    )
    svg = _svg(WIDTH, y + 24, f"Fallacy frequencies by {words}", "; ".join(said), parts)
    return Figure(f"frequencies-{words.replace(' ', '-')}", f"Fallacy frequencies by {words}", about, svg)


def _group_words(group: str) -> str:
    return {"final_answer": "problems with a final answer", "proof": "proof problems"}.get(group, group)


def points(side: Side, pairs: Pairs) -> Figure | None:
    """Circles whose area is the number of solutions with these points on both sides."""
    n = side.agreement[0]["points"]["mae"]["n"]
    if not n or pairs.points.total() != n:
        return None
    top_value = max(1.0, *(max(p) for p in pairs.points))
    left, bottom, size = 52, 330, 290

    def x(v: float) -> float:
        return left + 20 + v / top_value * size

    def y(v: float) -> float:
        return bottom - 20 - v / top_value * size

    most = max(pairs.points.values())
    widest = min(15.0, size / top_value / 2)
    parts: list[Any] = [_line(left, bottom, x(top_value) + 20, bottom), _line(left, bottom, left, y(top_value) - 20)]
    parts.append(_line(x(0), y(0), x(top_value), y(top_value), stroke_dasharray="3 3"))
    ticks = [top_value * i / 7 for i in range(8)] if top_value == 7 else [0, top_value / 2, top_value]
    for v in ticks:
        parts.append(_word(x(v), bottom + 16, f"{v:g}", "middle", fill=FAINT, class_="faint"))
        parts.append(_word(left - 8, y(v) + 4, f"{v:g}", "end", fill=FAINT, class_="faint"))
    for (human, judge), count in sorted(pairs.points.items()):
        r = max(2.0, widest * sqrt(count / most))
        parts.append(
            tag(
                "circle",
                cx=_n(x(human)),
                cy=_n(y(judge)),
                r=_n(r),
                fill=JUDGE,
                fill_opacity="0.25",
                stroke=JUDGE,
                class_="judge-area",
            )
        )
        if r >= 7:
            parts.append(_word(x(human), y(judge) + 4, count, "middle", font_size="11"))
    parts.append(_word((left + x(top_value)) / 2, bottom + 34, f"points by {side.labels}", "middle"))
    parts.append(
        tag(
            "text",
            "points by the judge",
            transform=f"rotate(-90 14 {_n(bottom / 2)})",
            x="14",
            y=_n(bottom / 2),
            text_anchor="middle",
            fill=INK,
            class_="ink",
        )
    )
    about = (
        f"n = {n} solutions with points by both. The area of a circle is the number of solutions there; on the dashed "
        "line both give the same."
    )
    said = "; ".join(f"human {a:g}, judge {b:g}: {c}" for (a, b), c in sorted(pairs.points.items()))
    return Figure("points", "Points", about, _svg(400, bottom + 42, "Points by humans and by the judge", said, parts))


def verdict_shares(side: Side) -> Figure | None:
    """By model, from human labels, and as the judge alone would report them."""
    (gold, of_gold), (raw, of_raw), name = side.gold, side.raw, side.name
    rows: list[tuple[str, str, Json, str]] = []
    for model in sorted({*gold["by_model"], *raw["by_model"]}):
        for whose, block, where in (
            (side.whose, gold["by_model"].get(model), pointer(*of_gold, "by_model", model)),
            ("judge", raw["by_model"].get(model), pointer(*of_raw, "by_model", model)),
        ):
            if block is not None and block["correct"]["n"]:
                rows.append((model, whose, block, where))
    if not rows:
        return None
    left, right, bar = 64, 60, 17

    def x(v: float) -> float:
        return left + v * (WIDTH - left - right)

    three = any(block["incorrect"]["value"] is not None for _, _, block, _ in rows)
    names = WORDS if three else {"incorrect": "not passed", "partially_correct": "", "correct": "passed"}
    parts: list[Any] = []
    for i, verdict in enumerate(VERDICTS):
        if not names[verdict]:
            continue
        at = 4 + i * 118
        parts.append(tag("rect", x=at, y="4", width="12", height="12", fill=SHARES[i], stroke=INK, class_=f"share-{i}"))
        parts.append(_word(at + 18, 14, names[verdict]))
    y, said, last = 26.0, [], None
    for model, whose, block, where in rows:
        if model != last:
            y += 18
            parts.append(_word(4, y, _short(model, 56), font_weight="bold"))
            y, last = y + 6, model
        parts.append(
            _word(
                4,
                y + 13,
                whose,
                class_="ink" if whose != "judge" else "ink slant",
                font_style=None if whose != "judge" else "italic",
            )
        )
        e = {v: block[v]["value"] for v in VERDICTS}
        if e["incorrect"] is None:  # labels that only say pass or not
            e = {"incorrect": 1 - block["correct"]["value"], "partially_correct": 0.0, "correct": e["correct"]}
        start = 0.0
        for i, verdict in enumerate(VERDICTS):
            share = e[verdict] or 0.0
            parts.append(
                tag(
                    "rect",
                    x=_n(x(start)),
                    y=_n(y),
                    width=_n(x(start + share) - x(start)),
                    height=bar,
                    fill=SHARES[i],
                    stroke=INK,
                    stroke_dasharray=None if whose != "judge" else "3 2",
                    class_=f"share-{i}",
                )
            )
            if share >= 0.1:
                parts.append(
                    _word(
                        x(start + share / 2),
                        y + 13,
                        number(share, True),
                        "middle",
                        fill="#fff" if i == 2 else INK,
                        class_=f"on-share-{i}",
                        font_size="11",
                        where=pointer_of(block, where, verdict),
                        data_as="percent",
                    )
                )
            start += share
        parts.append(_word(WIDTH - 2, y + 13, f"n = {block['correct']['n']}", "end", where=None))
        said.append(f"{model}, {whose}: " + ", ".join(f"{names[v]} {number(e[v], True)}" for v in VERDICTS if names[v]))
        y += bar + 4
    parts += [_word(x(v), y + 14, f"{100 * v:g}%", "middle", fill=FAINT, class_="faint") for v in (0, 0.5, 1)]
    parts.append(_word(x(0.5), y + 30, "share of the solutions", "middle"))
    about = (
        f"Shares of the verdicts by model: of {side.labels} over labelled solutions, and (dashed, an estimate) as {name} "
        "alone would report them over all that it judged."
    )
    svg = _svg(WIDTH, y + 38, "Verdict shares by model", "; ".join(said), parts)
    return Figure("verdict-shares", "Verdict shares by model", about, svg)


def pointer_of(block: Json, where: str, verdict: str) -> str | None:
    """Where the share stands in metrics.json; null for one that labels of pass or not leave open."""
    return where + pointer(verdict) if block[verdict]["value"] is not None else None


def reliability(side: Side) -> Figure | None:
    """How often the judge's verdict is the humans', by the probability that it gives it."""
    found = _calibrated(side, "reliability", lambda x: x.get("verdict given"))
    if found is None:
        return None
    parts: list[Any] = [_line(at(0), down(0), at(1), down(1), stroke_dasharray="3 3")]
    said = []
    for how, bins in found.items():
        stroke = _stroke(how)
        for b in bins:
            e, x = b["observed"], at(b["predicted"])
            if e["low"] is not None and e["high"] is not None:
                parts.append(_line(x, down(e["low"]), x, down(e["high"]), stroke_width="1.5", **stroke))
            parts.append((_diamond if how == "raw" else _dot)(x, down(e["value"])))
            beside = (x - 7, "end") if how == "raw" else (x + 7, "start")
            parts.append(_word(beside[0], down(e["value"]) - 6, e["n"], beside[1], font_size="10"))
            said.append(
                f"{how}: says {number(b['predicted'], True)}, so it is in {number(e['value'], True)}, n={e['n']}"
            )
    about = (
        f"Of the verdicts that {side.name} gives with a probability, how many are the humans' verdict, with 95% intervals; "
        "numbers are n. On the dashed line probabilities are true. Hollow: as the judge gives them; filled: calibrated."
    )
    words = "; ".join(said)
    return square(
        "Reliability", about, words, "reliability", "probability of the verdict given", "share that is right", parts
    )


def risk_coverage(side: Side) -> Figure | None:
    """What is wrong among the verdicts that are kept, when only the most confident ones are."""
    found = _calibrated(side, "risk_coverage", lambda x: x.get("points"))
    if found is None:
        return None
    parts: list[Any] = []
    said, n = [], 0
    for how, points in found.items():
        stroke = _stroke(how)
        places = [(at(p["coverage"]), down(p["risk"]["value"])) for p in points]
        path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in places)
        parts.append(tag("path", d=path, fill="none", stroke_width="1.5", **stroke))
        for p, (x, y) in zip(points, places, strict=True):
            e = p["risk"]
            if e["low"] is not None and e["high"] is not None:
                parts.append(_line(x, down(e["low"]), x, down(e["high"]), **stroke))
            parts.append((_diamond if how == "raw" else _dot)(x, y))
            said.append(f"{how}: of {number(p['coverage'], True)}, {number(e['value'], True)} wrong, n={e['n']}")
            n = max(n, e["n"])
    about = (
        f"Share of wrong verdicts when only those are kept of which {side.name} is surest, with 95% intervals; n = {n} where "
        "all are kept. Hollow: by its own probabilities; filled: calibrated."
    )
    words = "; ".join(said)
    return square(
        "Risk against coverage",
        about,
        words,
        "risk-coverage",
        "share of the verdicts kept",
        "share that is wrong",
        parts,
    )


def _calibrated(side: Side, key: str, points: Callable[[Json], Any]) -> dict[str, list[Json]] | None:
    """What `calibration` has to draw, raw and calibrated; null where the judge gives no probabilities, or too few."""
    found = (side.m["judges"][side.name].get("calibration") or {}).get(key) or {}
    sides = {how: points(found[how]) for how in ("raw", "calibrated") if how in found}
    drawn = {how: [p for p in ps if p] for how, ps in sides.items() if ps}
    return drawn or None


def _stroke(how: str) -> dict[str, str]:
    if how == "raw":
        return {"stroke": JUDGE, "stroke_dasharray": "4 3", "class_": "judge-stroke"}
    return {"stroke": HUMAN, "class_": "human-stroke"}


def square(
    title: str, about: str, said: str, name: str, horizontal: str, vertical: str, parts: Sequence[Any]
) -> Figure:
    """A drawing over two scales from 0 to 1."""
    axes: list[Any] = [_line(at(v), down(0), at(v), down(1), opacity="0.4") for v in (0, 0.5, 1)]
    axes += [_line(at(0), down(v), at(1), down(v), opacity="0.4") for v in (0, 0.5, 1)]
    axes += [_word(at(v), down(0) + 16, f"{100 * v:g}%", "middle", fill=FAINT, class_="faint") for v in (0, 0.5, 1)]
    axes += [_word(at(0) - 6, down(v) + 4, f"{100 * v:g}%", "end", fill=FAINT, class_="faint") for v in (0, 0.5, 1)]
    axes.append(_word(at(0.5), down(0) + 34, horizontal, "middle"))
    axes.append(
        tag(
            "text",
            vertical,
            transform=f"rotate(-90 14 {_n(down(0.5))})",
            x="14",
            y=_n(down(0.5)),
            text_anchor="middle",
            fill=INK,
            class_="ink",
        )
    )
    return Figure(name, title, about, _svg(360, 336, title, said, axes, *parts))


def at(v: float) -> float:
    """Where a share lies on the horizontal scale of `square`."""
    return 56 + v * 280


def down(v: float) -> float:
    """Where a share lies on the vertical scale of `square`."""
    return 292 - v * 280

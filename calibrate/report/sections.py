"""What a report says, in which order: plain text and tables, made from metrics.json alone. How it looks is said in
`markdown.py` and `terminal.py`.

Human gold comes first, and every heading says whose numbers follow: humans', planted labels', or a judge's.
"""

from collections.abc import Mapping, Sequence

from calibrate.report import people
from calibrate.report.shown import Json, Section, interval, number, remark, whole

MOST_NAMES = 20
"""Names listed of what was left out; metrics.json has them all."""
METRICS = {
    "final_answer_accuracy": "Final Answer Accuracy",
    "correct_given_correct_answer": "Correct given correct final answer",
    "correct": "Correct",
    "partially_correct": "Partially Correct",
    "incorrect": "Incorrect",
}
JUDGE_FIGURES = (  # heading, where it stands in an agreement block, whether it is a share
    ("accuracy", ("verdict", "accuracy"), True),
    ("kappa", ("verdict", "cohen_kappa"), False),
    ("weighted kappa", ("verdict", "weighted_kappa"), False),
    ("pass agreement", ("pass", "accuracy"), True),
    ("Spearman", ("points", "spearman"), False),
    ("MAE", ("points", "mae"), False),
)
CHANCE_CORRECTED = ("cohen", "linear", "weighted", "krippendorff", "gwet", "mcc")
"""Figures that are no shares: they may be below 0."""
GROUPS = {
    "by_model": "by model",
    "by_topic": "by topic",
    "by_answer_type": "by kind of problem",
    "by_source": "by source",
}
OPINIONS = ("equal", "different", "unsure", "error")
EXPECTATIONS = {
    "incorrect": "incorrect",
    "falls": "correct no longer",
    "not_raised": "judged no better",
    "same": "judged the same",
}
NOT_HUMAN = "Planted labels say which flaws were written in on purpose. They are not human judgements."


def about(estimate: Json) -> str:
    """What a final-answer accuracy leaves out, the lenient reading, and a model's opinions."""
    words = [not_counted(estimate)]
    if lenient := estimate["lenient"]:
        words.append(f"by the lenient reading {whole(lenient, True)}")
    for model, said_of in (estimate["asked_model"] or {}).items():
        counted = ", ".join(f"{n} {k}" for k, n in said_of.items() if n)
        words.append(f"of the undecided ones {model} says: {counted} (not counted here)")
    return "; ".join(w for w in words if w)


def not_counted(estimate: Json) -> str:
    """What a final-answer accuracy leaves out or counts as not right."""
    counts, bounds = estimate["counts"], estimate["bounds"]
    left_out = {k: counts[k] for k in ("undecided", "failed", "unchecked") if counts[k]}
    not_right = {k.replace("_", " "): counts[k] for k in ("missing", "cut_off") if counts[k]}
    said = [f"{n} {k}" for k, n in left_out.items()]
    words = (
        [f"left out: {', '.join(said)}; with them {number(bounds['low'], True)} to {number(bounds['high'], True)}"]
        if said
        else []
    )
    words += [f"counted as not right: {', '.join(f'{n} {k}' for k, n in not_right.items())}"] if not_right else []
    return "; ".join([w for w in [remark(estimate), *words] if w])


# --- sections ---------------------------------------------------------------------------------------------------------


def in_short(m: Json) -> list[Section]:
    """What the terminal shows: human gold, planted labels, and one line for each judge."""
    sections = [human_gold(m)]
    if m["planted"]:
        sections.append(planted(m))
    if m["judges"]:
        sections.append(judges(m, "agreement"))
        if m["planted"]:
            sections.append(judges(m, "against_planted"))
        sections += [*estimates_in_short(m), *controls(m)]
    else:
        sections.append(Section("Judges", ["No judge has judged this study yet: run `python -m judge`."]))
    if lost := not_written(m["solutions"]["overall"]):
        sections.append(Section("Solutions", [f"Of {m['n_solutions']} solutions: {lost}."]))
    sections += people.gates(m)
    if m["split"] != "all" or m["lockbox_openings"]:
        sections.append(people.split(m))
    left = [row for row in left_out(m).rows if row[1] != "0"]
    if left:
        sections.append(Section("Left out", [], ["what", "how many", "which"], left))
    return sections


def in_full(m: Json) -> list[Section]:
    """What report.md shows."""
    sections = [Section(f"Report on study {m['study']}", head(m), level=1), human_gold(m)]
    sections += [*by_group(m["human_gold"], "Human gold"), *people.annotators(m)]
    if m["planted"]:
        sections += [planted(m), *by_group(m["planted"], "Planted labels")]
    if m["judges"]:
        sections.append(judges(m, "agreement"))
        sections += [s for name, j in m["judges"].items() for s in details(name, j["agreement"], "human labels")]
        if m["planted"]:
            sections.append(judges(m, "against_planted"))
            sections += [
                s for name, j in m["judges"].items() for s in details(name, j["against_planted"], "planted labels")
            ]
        sections += [*people.beside_people(m), *people.differences(m), *controls(m), coverage(m), judge_says(m)]
        sections += [*estimates(m), *calibrations(m)]
    else:
        sections.append(Section("Judges", ["No judge has judged this study yet: run `python -m judge`."]))
    sections += [*people.gates(m), people.split(m)]
    return [*sections, solutions(m), final_answers(m), *opinions(m), left_out(m), how_to_read(m)]


def head(m: Json) -> list[str]:
    people = [f"{a['annotator']} ({a['kind']}, {a['labels']} labels)" for a in m["annotators"]]
    return [
        f"{m['n_solutions']} solutions of {m['n_problems']} problems. Labels by: {', '.join(people) or 'nobody'}.",
        *m["notes"],
    ]


def _labelled(m: Json, kind: str) -> int:
    return sum(a["labels"] for a in m["annotators"] if a["kind"] == kind)


def human_gold(m: Json) -> Section:
    title = "Human gold: what human annotators say (ground truth)"
    if not _labelled(m, "human"):
        return Section(
            title,
            [
                "There are no human labels in this study, so there is no human gold. "
                "No other number here takes its place."
            ],
        )
    header, rows = _metric_rows(m["human_gold"]["overall"])
    warning = m["sampling"]["warning"]
    return Section(title, [f"Warning: {warning}"] if warning else [], header, rows)


def planted(m: Json) -> Section:
    header, rows = _metric_rows(m["planted"]["overall"])
    return Section("Planted labels: flaws written in on purpose (not human gold)", [NOT_HUMAN], header, rows)


def _metric_rows(block: Json) -> tuple[list[str], list[list[str]]]:
    estimates = {METRICS[k]: block[k] for k in METRICS} | {
        f"Fallacy: {tag}": e for tag, e in block["fallacies"].items()
    }
    tags = list(block["fallacies"].values())
    if tags and all(e["value"] is None for e in tags):  # one line says it for all
        estimates = {METRICS[k]: block[k] for k in METRICS} | {"Fallacies": tags[0]}
    rows = [
        [
            name,
            number(e["value"], True),
            interval(e, True),
            str(e["n"]),
            str(e["n_problems"]),
            about(e) if "counts" in e else remark(e),
        ]
        for name, e in estimates.items()
    ]
    return ["metric", "value", "95% interval", "n", "problems", "remark"], rows


def by_group(gold: Json, whose: str) -> list[Section]:
    sections = []
    for key, words in GROUPS.items():
        groups: Mapping[str, Json] = gold[key]
        if len(groups) < 2:
            continue
        rows = [[name, *(whole(block[k], True) for k in METRICS)] for name, block in groups.items()]
        sections.append(Section(f"{whose} {words}", [], ["", *METRICS.values()], rows, 3))
        tags = list(gold["overall"]["fallacies"])
        if key != "by_model" and any(b["fallacies"][t]["value"] is not None for b in groups.values() for t in tags):
            rows = [[tag, *(whole(block["fallacies"][tag], True) for block in groups.values())] for tag in tags]
            sections.append(Section(f"{whose}: fallacies {words}", [], ["fallacy", *groups], rows, 3))
    return sections


def judges(m: Json, key: str) -> Section:
    """One line for each judge, its intervals below it, and the constant predictor beside them."""
    whose = "human" if key == "agreement" else "planted"
    title = (
        "Judges against the human labels" if whose == "human" else "Judges against the planted labels (not human gold)"
    )
    if not _labelled(m, whose):
        return Section(title, ["There are no human labels, so how far any judge agrees with humans is not known."])
    rows: list[list[str]] = []
    for name, judge in m["judges"].items():
        cover = judge["coverage"] if whose == "human" else judge[key]["coverage"]
        rows += _judge_rows(name, judge[key], str(cover["both"]), str(cover["missing"]))
    texts = [
        "n: labelled solutions that the judge has judged; errors: those it failed on. "
        "A figure that rests on another n says so."
    ]
    if rates := _base_rates(m["human_gold" if whose == "human" else "planted"]["overall"]):
        texts.append(rates)
    baseline = m["baselines"].get("constant", {}).get(key)
    if baseline:
        n = max(
            baseline[part][k]["n"] for part, k in (("verdict", "accuracy"), ("pass", "accuracy"), ("points", "mae"))
        )
        rows += _judge_rows("(constant)", baseline, str(n), "0")
        texts[0] += (
            " (constant) says the same of every solution, for each figure what serves it best "
            f"({_constant(baseline)}): what it reaches is worth nothing."
        )
    return Section(title, texts, ["judge", "n", "errors", *(name for name, _, _ in JUDGE_FIGURES)], rows)


def _base_rates(gold: Json) -> str:
    """What agreement is to be seen against: high agreement on what is nearly always so says little."""
    words = {k: k.replace("_", " ") for k in ("correct", "partially_correct", "incorrect")}
    known = [f"{number(gold[k]['value'], True)} {word}" for k, word in words.items() if gold[k]["value"] is not None]
    return f"Base rates, as the labels have it: {', '.join(known)}." if known else ""


def _constant(baseline: Json) -> str:
    verdict, passing, points = (baseline[f"{k}_said"] for k in ("verdict", "pass", "points"))
    said = [
        f"verdict: {verdict.replace('_', ' ')}" if verdict is not None else "",
        f"pass: {'passed' if passing else 'not passed'}" if passing is not None else "",
        f"points: {points:g}" if points is not None else "",
    ]
    return "; ".join(s for s in said if s) or "nothing, since no label has verdict or points"


def _judge_rows(name: str, block: Json, n: str, errors: str) -> list[list[str]]:
    values, spreads = [name, n, errors], ["", "", ""]
    for _, (part, figure), percent in JUDGE_FIGURES:
        estimate = block[part][figure]
        mark = "*" if estimate.get("degenerate") else ""
        values.append(number(estimate["value"], percent) + mark)
        spread = interval(estimate, percent)
        other = f" n={estimate['n']}" if str(estimate["n"]) != n and estimate["value"] is not None else ""
        spreads.append((spread if spread != "-" else "") + other)
    return [values, spreads]


def details(name: str, block: Json, against: str) -> list[Section]:
    """Of one judge: confusion, each verdict, each fallacy, all figures of passing and of points."""
    sections = []
    verdict = block["verdict"]
    if verdict["accuracy"]["n"]:
        labels = verdict["labels"]
        rows = [[f"label: {a}", *map(str, row)] for a, row in zip(labels, verdict["confusion"], strict=True)]
        sections.append(
            Section(f"{name} against {against}: confusion", [], ["", *(f"judge: {b}" for b in labels)], rows, 3)
        )
        rows = [
            [v, str(c["support"]), *(whole(c[k], True) for k in ("precision", "recall", "f1"))]
            for v, c in verdict["by_class"].items()
        ]
        sections.append(
            Section(
                f"{name} against {against}: each verdict",
                [],
                ["verdict", "support", "precision", "recall", "F1"],
                rows,
                3,
            )
        )
    tags = {t: e for t, e in block["fallacies"].items() if "support" in e}
    overall = {k: e for k, e in block["fallacies"].items() if "support" not in e}
    if overall["exact"]["n"]:
        rows = [
            [
                t,
                str(e["support"]),
                *(whole(e[k], k != "kappa") for k in ("prevalence", "precision", "recall", "f1", "kappa")),
            ]
            for t, e in tags.items()
        ]
        words = [f"{k.replace('_', ' ')}: {whole(e, True)}" for k, e in overall.items()]
        words.append(f"macro means are over the {overall['macro_f1']['over']} tags that a label bears")
        header = ["fallacy", "support", "prevalence", "precision", "recall", "F1", "kappa"]
        sections.append(Section(f"{name} against {against}: fallacies", ["; ".join(words)], header, rows, 3))
    figures = [
        [
            f"{part}: {k.replace('_', ' ')}",
            whole(e, part != "points" and not k.startswith(CHANCE_CORRECTED)),
            e["method"],
            remark(e),
        ]
        for part in ("verdict", "pass", "points")
        for k, e in block[part].items()
        if isinstance(e, dict) and "value" in e and e["n"]
    ]
    if figures:
        header = ["figure", "value, 95% interval, n", "how the interval is made", "remark"]
        sections.append(Section(f"{name} against {against}: all figures", [], header, figures, 3))
    return sections


def controls(m: Json) -> list[Section]:
    """How each judge took made-up variants of solutions; no section where no judge was given any."""
    rows = [
        [
            name,
            kind.replace("_", " "),
            EXPECTATIONS[c["expectation"]],
            number(c["as_expected"]["value"], True),
            interval(c["as_expected"], True),
            *(str(n) for n in (c["as_expected"]["n"], c["lowered"], c["stayed"], c["raised"])),
            _errors(c["errors"]) or "none",
        ]
        for name, judge in m["judges"].items()
        for kind, c in judge.get("controls", {}).items()
    ]
    if not rows:
        return []
    text = [
        "Variants made by rule from solutions of this study; no human labelled them. as expected: of those that could show "
        "it (n), how many the judge took as one that reads would; where the judge should move, those that were correct "
        "unchanged. lower, same, higher: than the same solution unchanged, judged beside it (unchanged: than in the "
        "study). The rule for a key step is a guess, so a judge that reads may miss 100% there."
    ]
    header = ["judge", "variant", "should be", "as expected", "95% interval", "n", "lower", "same", "higher", "errors"]
    return [Section("Controls: made-up variants of solutions", text, header, rows)]


def coverage(m: Json) -> Section:
    keys = ("judged", "labelled", "both", "missing", "unjudged", "without_text")
    rows = []
    for name, judge in m["judges"].items():
        cover = judge["coverage"]
        errors = _errors(cover["errors"]) or "none"
        older = ", ".join(f"{key} ({n} verdicts)" for key, n in judge["other_judge_keys"].items()) or "none"
        tags = ", ".join(f"{tag} ({n})" for tag, n in judge["unknown_tags"].items()) or "none"
        grounded = whole(judge["grounded"], True)
        rows.append([name, *(str(cover[k]) for k in keys), errors, judge["judge_key"], older, tags, grounded])
    missing = m["settings"]["missing"]
    words = "left out of every figure" if missing == "leave_out" else "counted as wrong (missing=wrong)"
    text = [
        f"labelled: by humans. missing: labelled, and the judge failed on it; these are {words}. unjudged: labelled, "
        "and the judge has not seen it. without text: not judged, since there is no text to judge. Older keys are "
        "earlier configurations of a judge: they are never mixed in."
    ]
    return Section(
        "Coverage",
        text,
        [
            "judge",
            *(k.replace("_", " ") for k in keys),
            "errors",
            "judge key",
            "older keys, not used",
            "tags outside the taxonomy",
            "quotes that stand in the solution",
        ],
        rows,
    )


def judge_says(m: Json) -> Section:
    """What each judge would have reported had nobody looked."""
    rows = []
    for name, judge in m["judges"].items():
        block = judge["estimates"]["raw"]["overall"]
        rows.append([f"judge {name}", *(whole(block[k], True) for k in list(METRICS)[1:])])
    text = [
        "Shares of the judge's own verdicts, over all solutions it judged. No human had a part in these, and they are "
        "not corrected."
    ]
    return Section("What the judges alone would report (not human gold)", text, ["", *list(METRICS.values())[1:]], rows)


def estimates_in_short(m: Json) -> list[Section]:
    """One line for each judge that was asked about more solutions than have labels; no section where none was."""
    shown = ("correct_given_correct_answer", "correct", "partially_correct", "incorrect")
    rows = []
    for name, judge in m["judges"].items():
        block = judge["estimates"]
        if block["models"] and block["solutions"] > block["labelled"]:
            overall, lam = block["corrected"]["overall"], block["lambda"]["correct"]
            counts = f"{block['labelled']} of {block['solutions']}"
            shares = (f"{number(overall[k]['value'], True)} {interval(overall[k], True)}" for k in shown)
            rows.append([name, counts, *shares, "-" if lam is None else number(lam, False)])
    if not rows:
        return []
    text = [
        "What humans would say of all solutions, estimated from the judge's verdicts and the labelled part (PPI++). lambda: "
        "how much the judge counts, 0 to 1."
    ]
    header = ["judge", "labelled", *(METRICS[k] for k in shown), "lambda"]
    return [Section("Estimates by judges, corrected (not human gold)", text, header, rows)]


def estimates(m: Json) -> list[Section]:
    """What each judge says of all solutions, raw and corrected by the labelled part."""
    sections = []
    about = {
        "problems": "new problems of this kind: labelled and unlabelled solutions vary together, problem by problem",
        "pool": "just these solutions: only which of them were labelled is left to chance",
    }
    for name, judge in m["judges"].items():
        block = judge["estimates"]
        if not block["models"]:
            text = ["No model has enough labels of its own to correct this judge by (30 solutions of 10 problems)."]
            sections.append(Section(f"Estimate by judge {name}, corrected (not human gold)", text))
            continue
        without = ", ".join(block["models_without_labels"])
        text = [
            f"An estimate of what humans would say of {block['solutions']} solutions, {block['labelled']} of them "
            f"labelled, written by {', '.join(block['models'])}. Intervals are about {about[block['estimand']]}. corrected: the "
            "labelled share, moved by lambda times what the judge sees of the others (PPI++); lambda near 0 means that the "
            "judge adds nothing. inverted: the judge's confusion matrix inverted, as a cross-check."
        ]
        text += [f"Not covered, for want of labels of their own: {without}."] if without else []
        text += [m["sampling"]["warning"]] if m["sampling"]["warning"] else []
        rows = []
        for words, raw, fixed, back in _estimate_rows(block["raw"], block["corrected"], block["inverted"]):
            if raw["value"] is None and fixed["value"] is None and "Fallacy" in words:
                continue  # nobody tags
            lam = fixed["lambda"]
            shown = [whole(e, True) if e else "-" for e in (raw, fixed, back)]
            notes = [
                remark(fixed),
                fixed.get("warning", ""),
                f"inverted: {why}" if back and (why := remark(back)) else "",
            ]
            rows.append([words, *shown, "-" if lam is None else number(lam, False), "; ".join(n for n in notes if n)])
        header = ["metric", "judge alone", "corrected", "inverted", "lambda", "remark"]
        sections.append(Section(f"Estimate by judge {name}, corrected (not human gold)", text, header, rows))
        for group, words in GROUPS.items():
            groups: Mapping[str, Json] = block["corrected"][group]
            if len(groups) > 1:
                rows = [[g, *(whole(b[k], True) for k in METRICS), remark(b["correct"])] for g, b in groups.items()]
                title = f"Estimate by judge {name}, corrected, {words} (not human gold)"
                sections.append(Section(title, [], ["", *METRICS.values(), "remark"], rows, 3))
    return sections


def _estimate_rows(raw: Json, corrected: Json, inverted: Json) -> list[tuple[str, Json, Json, Json | None]]:
    """Name, raw, corrected and inverted of each figure over all."""
    blocks = [block["overall"] for block in (raw, corrected, inverted)]
    rows = [(words, blocks[0][key], blocks[1][key], blocks[2].get(key)) for key, words in METRICS.items()]
    tags = corrected["overall"]["fallacies"]
    return rows + [(f"Fallacy: {tag}", *(block["fallacies"][tag] for block in blocks)) for tag in tags]


def calibrations(m: Json) -> list[Section]:
    """How good each judge's probabilities are, as they are and mapped to human frequencies."""
    sections = []
    for name, judge in m["judges"].items():
        block = judge["calibration"]
        title = f"Calibration of judge {name}"
        tags = {tag: b for tag, b in block["fallacies"].items() if b["why"] is None}
        if block["why"] is not None and not tags:
            sections.append(Section(title, [f"{block['why'][0].upper()}{block['why'][1:]}."]))
            continue
        text = [
            "calibrated: mapped to how often humans agree, each problem by a fit that has not seen it. Brier score: the "
            "squared distance from the labels, lower is better, with its parts (Murphy). ECE: how far confidence is from "
            "the share that is right, over ten bins; few labels alone make it larger than 0."
        ]
        rows = []
        parts = ("reliability", "resolution", "uncertainty")
        named = ([("verdict", block)] if block["why"] is None else []) + list(tags.items())
        for what, b in named:
            for side in ("raw", "calibrated"):
                score = b["brier"][side]
                method = b["method"] if side == "calibrated" else "as it is"
                split = [number(score["parts"][k], False) for k in parts]
                rows.append([what, method, whole(score, False), *split, whole(b["ece"][side], False)])
        header = ["of", "probabilities", "Brier score", *parts, "ECE"]
        sections.append(Section(title, text, header, rows))
        if block["why"] is None:
            bins = block["reliability"]["calibrated"]["verdict given"]
            rows = [
                [f"{b['low']:.1f} to {b['high']:.1f}", number(b["predicted"], True), whole(b["observed"], True)]
                for b in bins
            ]
            header = ["confidence", "mean of it", "right, by human labels"]
            sections.append(Section(f"{title}: calibrated confidence and how often it is right", [], header, rows, 3))
            rows = [
                [number(x["coverage"], True), f"{x['threshold']:.3f}", whole(x["risk"], True)]
                for x in block["risk_coverage"]["calibrated"]["points"]
            ]
            header = ["verdicts kept", "confidence from", "of these wrong"]
            sections.append(Section(f"{title}: risk against coverage", [], header, rows, 3))
        if tags:
            rows = [
                [
                    tag,
                    "-" if b["threshold"] is None else f"{b['threshold']:.3f}",
                    *(whole(b["f1"][k], True) for k in b["f1"]),
                ]
                for tag, b in tags.items()
            ]
            header = ["fallacy", "threshold", "F1 at 0.5", "F1 at the threshold, cross-fitted"]
            sections.append(Section(f"{title}: thresholds for fallacies", [], header, rows, 3))
    return sections


def final_answers(m: Json) -> Section:
    block = m["final_answers"]
    title = "Final answers of all solutions"
    if not block["overall"]["bounds"]:
        return Section(title, ["No problem of this study has a final answer."])
    text = [
        "Over every solution, labelled or not, as the answer checker finds them, or a human where one said so. The "
        "strict reading is the figure; the lenient one shows what it would be if it forgave more (conf/answers). "
        "A right answer says nothing of the reasoning."
    ]
    rows = [[name, whole(e, True), _by_lenient(e), not_counted(e)] for name, e in _final_answer_groups(m).items()]
    return Section(title, text, ["", "Final Answer Accuracy (strict)", "by the lenient reading", "remark"], rows)


def _by_lenient(estimate: Json) -> str:
    if estimate["lenient"]:
        return whole(estimate["lenient"], True)
    return "the same" if estimate["value"] is not None else "-"


def _final_answer_groups(m: Json) -> dict[str, Json]:
    block = m["final_answers"]
    groups = {"all": block["overall"], **{f"model {k}": e for k, e in block["by_model"].items()}}
    return groups | {f"topic {k}": e for k, e in block["by_topic"].items()}


def opinions(m: Json) -> list[Section]:
    """What models say of answers that the checker left undecided; no section where none was asked."""
    rows = [
        [name, model, str(e["counts"]["undecided"]), *(str(said[k]) for k in OPINIONS)]
        for name, e in _final_answer_groups(m).items()
        for model, said in (e["asked_model"] or {}).items()
    ]
    if not rows:
        return []
    text = [
        "Answers that the strict reading left undecided, put to a model. It is no human's word, and no figure has it."
    ]
    title = "What a model says of undecided final answers (not counted here)"
    return [Section(title, text, ["", "model", "undecided", *OPINIONS], rows, 3)]


def solutions(m: Json) -> Section:
    """How many solutions the solvers wrote, and what became of the others."""
    groups = {"all": m["solutions"]["overall"]}
    groups |= {f"model {k}": counts for k, counts in m["solutions"]["by_model"].items()}
    rows = [
        [name, str(counts["written"]), str(counts["cut_off"]), _errors(counts["errors"]) or "none"]
        for name, counts in groups.items()
    ]
    text = (
        "cut off: by the token limit, before the end. errors: there is no solution; such a failure may be the engine's."
    )
    return Section("Solutions", [text], ["", "written", "cut off", "errors"], rows)


def not_written(counts: Json) -> str:
    """What became of solutions that are not whole, in words; empty where all are."""
    parts = [f"{counts['cut_off']} cut off by the token limit"] if counts["cut_off"] else []
    if counts["errors"]:
        parts.append(f"errors: {_errors(counts['errors'])}")
    return "; ".join(parts)


def _errors(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in errors.items())


def left_out(m: Json) -> Section:
    out = m["left_out"]

    def named(what: str, names: Sequence[str]) -> list[str]:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return [what, str(len(names)), ", ".join(names[:MOST_NAMES]) + more]

    def who(labels: Sequence[Json]) -> list[str]:
        return [f"{x['solution_id']} ({x['annotator']})" for x in labels]

    rows = [
        named("labels whose solution is not in the study", who(out["labels_without_solution"])),
        named("labels whose solution's text has changed since", who(out["labels_of_changed_text"])),
        named("solutions on whose verdict the human annotators tie", out["unresolved"]["human"]),
        named("solutions on whose verdict the planted labels tie", out["unresolved"]["planted"]),
        named("solutions on some of whose fallacies the human annotators tie", out["unresolved_fallacies"]["human"]),
        named("solutions on some of whose fallacies the planted labels tie", out["unresolved_fallacies"]["planted"]),
        *(
            named(f"verdicts of {j} whose solution is not in the study", x)
            for j, x in out["verdicts_without_solution"].items()
        ),
        *(
            named(f"verdicts of {j} whose solution's text has changed since", x)
            for j, x in out["verdicts_of_changed_text"].items()
        ),
        *(
            named(f"verdicts of {j} whose problem (statement, answer, reference, rubric) has changed since", x)
            for j, x in out["verdicts_of_changed_problem"].items()
        ),
        named(
            "checked answers whose solution's text has changed since (run judge again)", out["answers_of_changed_text"]
        ),
        named("checked answers whose gold answer has changed since (run judge again)", out["answers_of_changed_gold"]),
    ]
    return Section("What is left out", [], ["what", "how many", "which"], rows)


def how_to_read(m: Json) -> Section:
    settings = m["settings"]
    threshold = settings["pass_threshold"]
    passing = "its verdict is correct" if threshold is None else f"it has at least {threshold:g} points"
    return Section(
        "How to read this",
        [
            "Intervals are 95% intervals, and count problems, since solutions of one problem are not independent. Shares: "
            "Wilson's, with the effective number of rows that the variance between problems leaves, and t quantiles. Other "
            f"figures: a BCa bootstrap over problems ({settings['resamples']} resamples, seed {settings['seed']}), and none "
            "with fewer than ten problems. A remark says where few problems or few cases may make one too narrow.",
            f"A solution passes when {passing}. Weighted kappa has quadratic weights in the order incorrect, partially "
            "correct, correct. A kappa marked * is degenerate: one side says the same of every solution.",
            f"{_adjudicated(settings['adjudication'])} Where their verdicts tie there is none, and the solution enters "
            "shares in equal parts. Intervals do not know that annotators err.",
            f"Taxonomy {settings['taxonomy']}. Every figure with its method stands in metrics.json.",
        ],
    )


def _adjudicated(how: Json) -> str:
    """What several annotators of one solution amount to, in words."""
    first = f"Where {how['adjudicator']} labelled, that word decides. " if how["adjudicator"] else ""
    if how["method"] == "dawid_skene":
        return first + (
            "Of several annotators the verdict and each tag are those that Dawid and Skene's model of annotators with error "
            "rates of their own finds most probable (with fewer than three annotators it says little); points are the median."
        )
    return first + (
        "Of several annotators the verdict counts that more of them give than any other, the median of their points, and "
        "the tags that more than half of them name."
    )

"""Sections about people beside judges: annotators among themselves, the human ceiling, differences, gates, the split."""

from typing import Any

from calibrate.report.shown import Section, interval, number, remark, whole

Json = dict[str, Any]
PAIR = (  # heading, where it stands in an agreement block, whether it is a share
    ("agreement", ("verdict", "accuracy"), True),
    ("kappa", ("verdict", "cohen_kappa"), False),
    ("weighted kappa", ("verdict", "weighted_kappa"), False),
    ("pass agreement", ("pass", "accuracy"), True),
    ("fallacies (micro F1)", ("fallacies", "micro_f1"), False),
)
CEILING = (
    ("agreement", "accuracy", True),
    ("kappa", "cohen_kappa", False),
    ("pass agreement", "pass_accuracy", True),
    ("fallacies (micro F1)", "fallacy_micro_f1", False),
)
DIFFERENCES = {
    "judges": (("agreement", "accuracy"), ("kappa", "cohen_kappa"), ("weighted kappa", "weighted_kappa"),
               ("pass agreement", "pass_accuracy"), ("pass kappa", "pass_kappa")),
    "models": (("Correct", "correct"), ("Partially Correct", "partially_correct"), ("Incorrect", "incorrect"),
               ("Final Answer Accuracy", "final_answer_accuracy")),
}  # fmt: skip
WHAT_SPLIT = {
    "all": "All labels are used. A judge that was trained on labels is held against those of the lockbox alone.",
    "dev": "Only labels of problems of the split dev are used: figures to choose by, not to report.",
    "lockbox": "Only labels of problems of the lockbox are used: nothing was trained or chosen on them.",
}


def annotators(m: Json) -> list[Section]:
    """Agreement of annotators with each other; nothing where nobody labelled."""
    block = m["human_human"]
    if not block["annotators"]:
        return []
    title = "Annotators among themselves"
    alphas = {"verdicts": block["alpha"]["verdict"], "verdicts, in their order": block["alpha"]["verdict_ordinal"],
              "pass or not": block["alpha"]["pass"]} | {f"fallacy: {t}": e for t, e in block["alpha"]["fallacies"].items()}  # fmt: skip
    tags = list(block["alpha"]["fallacies"].values())
    if tags and all(e["value"] is None for e in tags):
        alphas = {k: e for k, e in alphas.items() if not k.startswith("fallacy: ")}
    if all(e["value"] is None for e in alphas.values()):
        why = block["why"] or remark(next(iter(alphas.values())))
        return [Section(title, [f"How far annotators agree is not known: {why}."])]
    text = "Krippendorff's alpha over all annotators: 1 is perfect, 0 what chance gives. Labels may be missing."
    rows = [[k, number(e["value"], False), interval(e, False), str(e["n"]), remark(e)] for k, e in alphas.items()]
    sections = [Section(title, [text], ["alpha of", "value", "95% interval", "solutions", "remark"], rows)]
    pairs = [(a, b, of) for a, others in block["pairs"].items() for b, of in others.items()]
    if pairs:
        header = ["annotator", "and", "shared", *(h for h, _, _ in PAIR)]
        rows = [[a, b, str(of["shared"]), *(whole(of[p][f], share) for _, (p, f), share in PAIR)] for a, b, of in pairs]
        sections.append(Section("Each two annotators", [block["why"]] if block["why"] else [], header, rows, 3))
    return sections


def beside_people(m: Json) -> list[Section]:
    """Judges beside annotators: with each of them, the human ceiling, the alternative annotator test."""
    if not m["judges"] or not m["human_human"]["annotators"]:
        return []
    with_each = {n: j["by_annotator"]["annotators"] for n, j in m["judges"].items() if j["by_annotator"]["annotators"]}
    sections = []
    if with_each:
        header = ["judge", "annotator", "shared", *(h for h, _, _ in PAIR)]
        rows = [[name, who, str(of["shared"]), *(whole(of[p][f], share) for _, (p, f), share in PAIR)]
                for name, found in with_each.items() for who, of in found.items()]  # fmt: skip
        sections.append(Section("Judges against each annotator", [], header, rows))
    title = "Judges beside the human ceiling"
    known = {n: j["ceiling"] for n, j in m["judges"].items() if j["ceiling"]["why"] is None}
    if not known:
        why = next(iter(m["judges"].values()))["ceiling"]["why"]
        return [*sections, Section(title, [f"The human ceiling is not known: {why}."])]
    text = ("Each annotator in turn is left out; that annotator and the judge are held against the majority of the same "
            "others on the same solutions. Means over the annotators; difference: judge less annotators.")  # fmt: skip
    rows = []
    for name, of in known.items():
        for heading, key, share in CEILING:
            if of["difference"][key]["value"] is not None:
                shown = (whole(of[side][key], share) for side in ("judge", "annotators"))
                apart = of["difference"][key]
                rows.append([name, heading, *shown, f"{number(apart['value'], share)} {interval(apart, share)}"])
    header = ["judge", "figure", "judge's", "annotators'", "difference"]
    return [*sections, Section(title, [text], header, rows), alternative(m)]


def alternative(m: Json) -> Section:
    title = "Alternative annotator test"
    tests = {n: j["alt_test"] for n, j in m["judges"].items()}
    first = next(iter(tests.values()))
    if all(t["winning_rate"]["value"] is None for t in tests.values()):
        return Section(title, [f"Not done: {first['winning_rate']['why']}."])
    text = (f"Calderon, Reichart and Dror 2025 (arXiv:2501.10970), epsilon {first['epsilon']:g}, false discovery rate "
            f"{first['q']:g}. A judge passes that wins against at least half of the annotators; its advantage is the "
            "probability that it is as near to the others as an annotator is, or nearer.")  # fmt: skip
    rows = []
    for name, t in tests.items():
        counted = [a for a in t["annotators"].values() if a["judge_wins"] is not None]
        won = f"{sum(a['judge_wins'] for a in counted)} of {len(counted)}"
        passed = {True: "yes", False: "no", None: "-"}[t["passed"]]
        reason = t["winning_rate"]["why"] if t["passed"] is None else ""
        rows.append([name, passed, won, whole(t["advantage"], True), reason])
    return Section(title, [text], ["judge", "passed", "annotators won", "advantage", "remark"], rows)


def differences(m: Json) -> list[Section]:
    """Between judges, and between models, where there are two."""
    sections = []
    titles = {
        "judges": "Differences between judges: the first less the second, against the human gold on the same solutions",
        "models": "Differences between models: the first less the second, from the human gold on the same problems",
    }
    for key, figures in DIFFERENCES.items():
        block = m["differences"][key]
        pairs = [(a, b, of) for a, others in block["pairs"].items() for b, of in others.items()]
        shown = [p for p in pairs if any(p[2][f]["value"] is not None for _, f in figures)]
        if block["why"]:
            sections.append(Section(titles[key], [f"Not compared: {block['why']}."]))
        elif shown:
            rows = [[a, b, *(whole(of[f], "kappa" not in f) for _, f in figures)] for a, b, of in shown]
            sections.append(Section(titles[key], [], ["", "and", *(h for h, _ in figures)], rows))
    return sections


def gates(m: Json) -> list[Section]:
    if not m["gates"]:
        return []
    rows = [
        [g["gate"], f"{g['least']:g}", g["judge"] or "-", number(g["low"], False), "passed" if g["passed"] else "FAILED",
         g["why"] or ""] for g in m["gates"]
    ]  # fmt: skip
    text = "A gate is passed where the lower end of the figure's 95% interval is at least what is asked."
    return [Section("Gates", [text], ["gate", "at least", "judge", "lower end", "outcome", "remark"], rows)]


def split(m: Json) -> Section:
    trained = {n: j["trained"] for n, j in m["judges"].items() if j["trained"]}
    whose = "lockbox" if m["split"] == "all" else m["split"]
    texts = [f"split={m['split']}: {WHAT_SPLIT[m['split']]}"]
    texts += [f"Judge {n} was trained ({t}); it is held against labels of the {whose}." for n, t in trained.items()]
    openings = m["lockbox_openings"]
    texts.append(
        f"The lockbox was opened {len(openings)} time{'' if len(openings) == 1 else 's'}."
        if openings
        else "The lockbox was not opened."
    )
    rows = [[o["date"], o["who"], o["what"]] for o in openings]
    return Section("Split and lockbox", texts, ["date", "who", "what"] if rows else [], rows)

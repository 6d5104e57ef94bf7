"""In words: how far a judge can be trusted on this study, and why. Made from metrics.json alone."""

from typing import Any

from calibrate.report.shown import interval, number, remark

Json = dict[str, Any]
STRENGTH = ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (0.0, "slight"))
"""Names of Landis and Koch (1977, Biometrics 33:159) for a kappa; we go by the lower end of its interval."""
MANY_UNSCORED = 0.05


def verdict_on(m: Json, name: str) -> tuple[str, list[str]]:
    """A sentence that sums up, and the reasons for it, one a line."""
    judge = m["judges"][name]
    agreement = judge["agreement"]
    which, kappa = _kappa(agreement)
    reasons = []
    if kappa is None:
        labelled = judge["coverage"]["labelled"]
        why = "no solution has a human label" if not labelled else "no solution has a verdict by both humans and judge"
        summary = f"Nothing here says how far {name} can be trusted: {why}."
    elif kappa["value"] is None:
        summary = (
            f"How far {name} can be trusted cannot be said: its agreement with humans is undefined ({kappa['why']})."
        )
    elif kappa["low"] is None:
        summary = (
            f"How far {name} can be trusted is open: kappa is {number(kappa['value'], False)} on {kappa['n']} "
            f"solutions ({remark(kappa)})."
        )
    elif kappa["low"] <= 0:
        summary = f"Do not rely on {name} here: that it agrees with humans on the {which} no more than chance is not ruled out."
    else:
        strength = next(word for bound, word in STRENGTH if kappa["low"] >= bound)
        summary = f"{name} agrees with humans on the {which} beyond chance, at least to a {strength} degree."
    if kappa is not None and kappa["value"] is not None:
        spread = f" {interval(kappa, False)}" if kappa["low"] is not None else ""
        reasons.append(
            f"Kappa on the {which} is {number(kappa['value'], False)}{spread}, over {kappa['n']} solutions of "
            f"{kappa['n_problems']} problems; the lower end decides."
        )
    if judge.get("trained"):
        reasons.append("It was trained on labels of this study: these figures are of problems that it never saw.")
    reasons += [
        r
        for r in (_ceiling(m, name), _baselines(m, agreement), _worst(agreement), _grounded(judge), _unscored(judge))
        if r
    ]
    return summary, reasons


def _kappa(agreement: Json) -> tuple[str, Json | None]:
    for which in ("verdict", "pass"):
        kappa = agreement[which]["cohen_kappa"]
        if kappa["n"]:
            return ("verdict" if which == "verdict" else "pass or not"), kappa
    return "verdict", None


def _ceiling(m: Json, name: str) -> str:
    """What humans reach among each other, like with like: judge and annotator held against the same other annotators."""
    ceiling = m["judges"][name].get("ceiling") or {}
    judge, people = (ceiling.get(side) or {} for side in ("judge", "annotators"))
    for key, words in (("cohen_kappa", "kappa"), ("accuracy", "accuracy"), ("pass_accuracy", "pass agreement")):
        ours, theirs = judge.get(key), people.get(key)
        if ours and theirs and ours["value"] is not None and theirs["value"] is not None:
            percent = key != "cohen_kappa"
            return (
                f"Held against the same other annotators it reaches {words} {number(ours['value'], percent)} "
                f"{interval(ours, percent)}, where a human reaches {number(theirs['value'], percent)} "
                f"{interval(theirs, percent)}: that is the ceiling."
            )
    if not any(a["kind"] == "human" for a in m["annotators"]):
        return ""
    why = ceiling.get("why") or "there is one annotator a solution"
    return f"How well humans agree among each other, the ceiling, is not known: {why}."


def _baselines(m: Json, agreement: Json) -> str:
    constant = m["baselines"].get("constant", {}).get("agreement")
    for which in ("verdict", "pass"):
        ours = agreement[which]["accuracy"]
        if constant and ours["n"] and constant[which]["accuracy"]["value"] is not None:
            theirs = constant[which]["accuracy"]
            words = "the verdict" if which == "verdict" else "pass or not"
            return (
                f"It gives {words} as humans do in {number(ours['value'], True)} {interval(ours, True)}; saying the same "
                f"of every solution would reach {number(theirs['value'], True)}."
            )
    return ""


def _worst(agreement: Json) -> str:
    """The fallacies that it finds worst, of those that humans found."""
    known = {t: e["f1"] for t, e in agreement["fallacies"].items() if e.get("support")}
    defined = sorted((e["value"], t) for t, e in known.items() if e["value"] is not None)
    if not defined:
        return ""
    named = ", ".join(
        f"{t} (F1 {number(value, True)}, support {agreement['fallacies'][t]['support']})" for value, t in defined[:2]
    )
    return f"Fallacies that it finds worst: {named}."


def _grounded(judge: Json) -> str:
    found = judge.get("grounded") or {}
    if not found.get("tags"):
        return ""
    share = number(found["share"], True)
    return f"Of the {found['tags']} fallacies that it names {found['grounded']} ({share}) quote what stands in the solution."


def _unscored(judge: Json) -> str:
    cover = judge["coverage"]
    failed = sum(cover["errors"].values())
    asked = cover["judged"] + failed
    if not failed:
        return f"It has a verdict on each of the {asked} solutions that it was asked about." if asked else ""
    kinds = ", ".join(f"{n} {kind}" for kind, n in cover["errors"].items())
    share = failed / asked
    more = " That is a lot: its figures are of what it could read." if share > MANY_UNSCORED else ""
    return f"It has no verdict on {failed} of {asked} solutions ({number(share, True)}: {kinds}).{more}"

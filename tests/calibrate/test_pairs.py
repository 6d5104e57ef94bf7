"""From pairs of words to figures: degenerate input, missing values, scales."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibrate.columns import Said, columns_of
from calibrate.intervals import Intervals
from calibrate.pairs import Terms, agreement
from judge.adjudication import Gold

V = ("incorrect", "partially_correct", "correct")
TAGS = ("A", "B", "C")
Row = tuple[Gold, Gold | None]


def columns(golds: list[Gold | None]) -> Said:
    """Null: the judge failed."""
    found = columns_of([g or Gold("") for g in golds], np.arange(len(golds)), TAGS)
    return replace(found, failed=np.array([g is None for g in golds], dtype=bool))


def compare(rows: list[Row], **terms: Any) -> dict[str, Any]:
    label, judge = columns([a for a, _ in rows]), columns([b for _, b in rows])
    return agreement(np.arange(len(rows)), label, judge, Terms(TAGS, **terms), Intervals(0, 200))


def said(verdict: str | None, points: float | None = None, tags: Any = None, **f: Any) -> Gold:
    top = {"max_points": None if points is None else 7.0} | f
    return Gold("", verdict, verdict_shares={verdict: 1.0} if verdict else None, points=points,
                tag_shares=None if tags is None else dict.fromkeys(tags, 1.0), **top)  # fmt: skip


def pairs_of(*rows: Row) -> list[Row]:
    return list(rows)


def every_estimate(block: Any) -> list[dict[str, Any]]:
    if isinstance(block, dict) and "method" in block:
        return [block]
    return [e for part in (block.values() if isinstance(block, dict) else ()) for e in every_estimate(part)]


def test_nothing_in_common_is_null_everywhere_and_says_why() -> None:
    estimates = every_estimate(compare([]))
    assert estimates and all(e["value"] is None and e["n"] == 0 and e["why"] for e in estimates)


def test_both_always_correct_is_undefined_for_kappa_and_not_1() -> None:
    block = compare(pairs_of(*[(said("correct"), said("correct"))] * 6))
    assert block["verdict"]["accuracy"]["value"] == 1
    assert block["verdict"]["accuracy"]["low"] < 0.7
    for figure in (block["verdict"]["cohen_kappa"], block["verdict"]["weighted_kappa"], block["pass"]["cohen_kappa"]):
        assert figure["value"] is None and "only" in figure["why"]


def test_a_constant_judge_has_kappa_0_and_is_called_degenerate() -> None:
    block = compare(pairs_of(*[(said(v), said("correct")) for v in V * 3]))
    kappa = block["verdict"]["cohen_kappa"]
    assert kappa["value"] == 0 and kappa["degenerate"] == "the judge says only 'correct'"
    assert kappa["low"] is None and kappa["high"] is None
    assert block["verdict"]["by_class"]["incorrect"]["precision"]["why"] == "the judge never says it"
    assert block["verdict"]["by_class"]["incorrect"]["f1"]["value"] == 0


def test_two_constant_sides_that_differ_have_kappa_0_and_are_called_degenerate() -> None:
    block = compare(pairs_of(*[(said("correct", tags="A"), said("incorrect", tags=""))] * 6))
    reason = "the labels say only 'correct', and the judge only 'incorrect'"
    for kappa in (block["verdict"]["cohen_kappa"], block["verdict"]["weighted_kappa"]):
        assert kappa["value"] == 0 and kappa["degenerate"] == reason and kappa["low"] is None
    assert block["pass"]["cohen_kappa"]["degenerate"] == "the labels say only 'passed', and the judge only 'not passed'"
    assert block["fallacies"]["A"]["kappa"]["degenerate"]
    assert block["fallacies"]["B"]["kappa"]["value"] is None  # both say only 'absent'


def test_a_perfect_judge_is_not_known_to_be_perfect() -> None:
    rows = [(said(v, p, t), said(v, p, t)) for v, p, t in zip(V * 3, (0, 3, 7) * 3, ("A", "B", "AB") * 3, strict=True)]
    block = compare(pairs_of(*rows))
    for e in every_estimate(block):
        assert e["low"] is None or e["high"] - e["low"] > 0.05
    for figure in ("cohen_kappa", "weighted_kappa", "macro_f1", "accuracy"):
        assert block["verdict"][figure]["value"] == pytest.approx(1) and block["verdict"][figure]["low"] < 0.95
    for figure in ("pearson", "spearman", "kendall", "exact"):
        assert block["points"][figure]["value"] == pytest.approx(1) and block["points"][figure]["low"] < 0.95
    assert block["points"]["mae"]["value"] == 0 and block["points"]["mae"]["high"] > 0.5
    for figure in ("micro_f1", "macro_f1", "jaccard", "exact"):
        assert block["fallacies"][figure]["value"] == 1 and block["fallacies"][figure]["low"] < 0.95


def test_a_judge_that_names_a_verdict_no_human_gives_keeps_its_rows() -> None:
    block = compare(pairs_of((said("correct"), said("partially_correct")), (said("incorrect"), said("incorrect"))))
    assert block["verdict"]["accuracy"]["n"] == 2 and sum(map(sum, block["verdict"]["confusion"])) == 2
    assert block["verdict"]["confusion"][2][1] == 1  # label correct, judge partially correct
    assert block["verdict"]["by_class"]["partially_correct"]["recall"]["why"] == "no label bears it"


@pytest.mark.parametrize("missing", ["leave_out", "wrong"])
def test_a_missing_value_is_left_out_or_wrong(missing: str) -> None:
    rows = [
        (said("correct", 7), said("correct", 7)),
        (said("incorrect", 0), said("incorrect", 1)),
        (said("correct", 7), None),
    ]
    block = compare(pairs_of(*rows), missing=missing)
    n = 3 if missing == "wrong" else 2
    assert block["verdict"]["accuracy"]["value"] == pytest.approx(2 / n)
    assert block["pass"]["accuracy"]["value"] == pytest.approx(2 / n)
    assert block["points"]["exact"]["value"] == pytest.approx(1 / n)
    assert block["points"]["mae"]["value"] == pytest.approx((1 + 7 * (n == 3)) / n)
    assert block["points"]["nmae"]["value"] == pytest.approx((1 / 7 + (n == 3)) / n)
    assert block["verdict"]["by_class"]["correct"]["recall"]["value"] == (0.5 if n == 3 else 1)
    assert [block["points"][f]["n"] for f in ("exact", "mae", "nmae", "bias", "spearman")] == [n, n, n, 2, 2]
    assert block["verdict"]["cohen_kappa"]["n"] == 2


def test_binary_labels_give_pass_figures_only() -> None:
    rows = [
        (said("correct", binary=True), said("correct")),
        (said("incorrect", binary=True), said("partially_correct")),
    ]
    block = compare(pairs_of(*rows))
    assert block["pass"]["accuracy"]["value"] == 1 and block["pass"]["accuracy"]["n"] == 2
    assert block["verdict"]["accuracy"]["why"] == "the labels only say pass or not: only pass figures are comparable"


def test_pass_by_points_counts_rows_with_points_on_both_sides() -> None:
    rows = [
        (said("correct", 6), said("correct", 5)),
        (said("correct", 6), said("correct")),
        (said("incorrect", 1), said(None, 2)),
    ]
    block = compare(pairs_of(*rows), pass_threshold=6)
    assert block["pass"]["threshold"] == 6
    assert (block["pass"]["accuracy"]["value"], block["pass"]["accuracy"]["n"]) == (0.5, 2)


def test_points_on_another_scale_are_not_compared() -> None:
    block = compare([(said("correct", 7), said("correct", 70.0, max_points=100.0))])
    assert block["points"]["mae"]["why"] == "the judge's points are on another scale than the labels'"


def test_constant_points_have_no_correlation() -> None:
    block = compare(pairs_of(*[(said("correct", p), said("correct", 3)) for p in (1, 2, 5)]))
    for figure in ("pearson", "spearman", "kendall"):
        assert block["points"][figure]["value"] is None
        assert block["points"][figure]["why"] == "the points of the judge are all equal"


def test_bias_is_judge_minus_label() -> None:
    block = compare(pairs_of((said("correct", 3), said("correct", 5)), (said("correct", 3), said("correct", 4))))
    assert block["points"]["bias"]["value"] == 1.5


def test_tags_without_support_do_not_pull_the_mean_down() -> None:
    rows = [
        (said("incorrect", tags="A"), said("incorrect", tags="A")),
        (said("incorrect", tags=""), said("incorrect", tags="B")),
    ]
    block = compare(pairs_of(*rows))["fallacies"]
    assert block["macro_f1"]["value"] == 1 and block["macro_f1"]["over"] == 1  # over A alone
    assert block["B"]["f1"]["why"] == "no label bears it" and block["B"]["support"] == 0
    assert block["B"]["precision"]["value"] == 0
    assert block["micro_f1"]["value"] == pytest.approx(2 / 3)
    assert block["A"]["prevalence"]["value"] == 0.5 and block["exact"]["value"] == 0.5


def test_two_empty_tag_sets_agree() -> None:
    block = compare(pairs_of((said("correct", tags=""), said("correct", tags=""))))["fallacies"]
    assert block["jaccard"]["value"] == 1 and block["exact"]["value"] == 1
    assert block["micro_f1"]["value"] is None and block["macro_f1"]["why"] == "no label bears it"


def test_labels_without_tags_never_enter_tag_figures() -> None:
    rows = [
        (said("incorrect", tags="A"), said("incorrect", tags="A")),
        (said("incorrect"), said("incorrect", tags="B")),
    ]
    block = compare(pairs_of(*rows))["fallacies"]
    assert block["exact"]["n"] == 1 and block["B"]["prevalence"]["n"] == 1


def test_a_judge_that_does_not_tag_has_no_tag_figures() -> None:
    block = compare(pairs_of((said("incorrect", tags="A"), said("incorrect"))))["fallacies"]
    assert block["A"]["f1"]["why"] == "no fallacy tags by this judge"


def test_every_figure_equals_that_of_an_independent_library() -> None:
    """scikit-learn, krippendorff and scipy on the same rows, to 1e-9; the words in our order, not the alphabet's."""
    import krippendorff
    from scipy import stats
    from sklearn import metrics as sk

    rng = np.random.default_rng(7)
    n = 80
    a, noise = rng.choice(3, n, p=[0.3, 0.2, 0.5]), rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.6, a, noise)
    x, y = rng.integers(0, 8, n), rng.integers(0, 8, n)
    s = rng.random((n, 3)) < [0.4, 0.2, 0.0]  # no label bears the last tag
    t = np.where(rng.random((n, 3)) < 0.7, s, rng.random((n, 3)) < 0.3)

    def side(words: Any, points: Any, tags: Any) -> list[Gold]:
        return [
            said(V[w], float(p), [TAGS[k] for k in np.flatnonzero(of)])
            for w, p, of in zip(words, points, tags, strict=True)
        ]

    block = compare(list(zip(side(a, x, s), side(b, y, t), strict=True)))
    label, judge = [V[i] for i in a], [V[i] for i in b]
    order = list(V)

    def kappa(weights: str | None) -> float:
        return float(sk.cohen_kappa_score(label, judge, weights=weights, labels=order))

    def alpha(level: str) -> float:
        return float(krippendorff.alpha(np.stack([a, b]), value_domain=[0, 1, 2], level_of_measurement=level))

    expected = {
        "accuracy": sk.accuracy_score(label, judge),
        "cohen_kappa": kappa(None),
        "linear_kappa": kappa("linear"),
        "weighted_kappa": kappa("quadratic"),
        "krippendorff_alpha": alpha("nominal"),
        "krippendorff_alpha_ordinal": alpha("ordinal"),
        "mcc": sk.matthews_corrcoef(label, judge),
        "macro_precision": sk.precision_score(label, judge, average="macro"),
        "macro_recall": sk.recall_score(label, judge, average="macro"),
        "macro_f1": sk.f1_score(label, judge, average="macro"),
    }
    assert {k: block["verdict"][k]["value"] for k in expected} == pytest.approx(expected, abs=1e-9)
    assert abs(kappa("quadratic") - sk.cohen_kappa_score(label, judge, weights="quadratic")) > 1e-3  # the alphabet's
    assert block["verdict"]["confusion"] == sk.confusion_matrix(label, judge, labels=order).tolist()
    parts = sk.precision_recall_fscore_support(label, judge, labels=order)
    for i, word in enumerate(V):
        found = [block["verdict"]["by_class"][word][k] for k in ("precision", "recall", "f1")]
        assert [e["value"] for e in found] == pytest.approx([part[i] for part in parts[:3]], abs=1e-9)
        assert block["verdict"]["by_class"][word]["support"] == parts[3][i]

    passed, claimed = a == 2, b == 2
    expected = {
        "accuracy": sk.accuracy_score(passed, claimed),
        "cohen_kappa": sk.cohen_kappa_score(passed, claimed),
        "mcc": sk.matthews_corrcoef(passed, claimed),
        "precision": sk.precision_score(passed, claimed),
        "recall": sk.recall_score(passed, claimed),
        "f1": sk.f1_score(passed, claimed),
    }
    assert {k: block["pass"][k]["value"] for k in expected} == pytest.approx(expected, abs=1e-9)

    expected = {
        "exact": np.mean(x == y),
        "mae": sk.mean_absolute_error(x, y),
        "nmae": sk.mean_absolute_error(x, y) / 7,
        "bias": np.mean(y - x),
        "krippendorff_alpha": krippendorff.alpha(np.stack([x, y]), level_of_measurement="interval"),
        "pearson": stats.pearsonr(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
        "kendall": stats.kendalltau(x, y).statistic,
    }
    assert {k: block["points"][k]["value"] for k in expected} == pytest.approx(expected, abs=1e-9)

    borne = [0, 1]  # the tags with support, over which the macro means are
    expected = {
        "micro_precision": sk.precision_score(s, t, average="micro"),
        "micro_recall": sk.recall_score(s, t, average="micro"),
        "micro_f1": sk.f1_score(s, t, average="micro"),
        "macro_precision": sk.precision_score(s[:, borne], t[:, borne], average="macro"),
        "macro_recall": sk.recall_score(s[:, borne], t[:, borne], average="macro"),
        "macro_f1": sk.f1_score(s[:, borne], t[:, borne], average="macro"),
        "jaccard": sk.jaccard_score(s, t, average="samples", zero_division=1),
        "exact": sk.accuracy_score(s, t),
    }
    assert {k: block["fallacies"][k]["value"] for k in expected} == pytest.approx(expected, abs=1e-9)
    for i, tag in enumerate(TAGS[:2]):
        found = block["fallacies"][tag]
        each = sk.precision_recall_fscore_support(s[:, i], t[:, i], average="binary")
        assert [found[k]["value"] for k in ("precision", "recall", "f1")] == pytest.approx(each[:3], abs=1e-9)
        assert found["kappa"]["value"] == pytest.approx(sk.cohen_kappa_score(s[:, i], t[:, i]), abs=1e-9)
        assert found["support"] == s[:, i].sum() and found["prevalence"]["value"] == pytest.approx(s[:, i].mean())


def test_a_fallacy_on_which_people_tie_has_no_gold_and_no_part_in_agreement() -> None:
    """Agreement is that of the rows that are settled, by scikit-learn; the tied tag is in no set."""
    from sklearn import metrics as sk

    rng = np.random.default_rng(0)
    label, judge = rng.choice([0.0, 0.5, 1.0], (60, 3)), rng.integers(0, 2, (60, 3)).astype(float)
    rows = [
        (Gold("", tag_shares=dict(zip(TAGS, x, strict=True))), Gold("", tag_shares=dict(zip(TAGS, y, strict=True))))
        for x, y in zip(label.tolist(), judge.tolist(), strict=True)
    ]
    block = compare(rows)["fallacies"]
    for i, tag in enumerate(TAGS):
        settled = label[:, i] != 0.5
        a, b = label[settled, i], judge[settled, i]
        expected = {
            "precision": sk.precision_score(a, b),
            "recall": sk.recall_score(a, b),
            "f1": sk.f1_score(a, b),
            "kappa": sk.cohen_kappa_score(a, b),
            "prevalence": a.mean(),
        }
        assert {k: block[tag][k]["value"] for k in expected} == pytest.approx(expected, abs=1e-9)
        assert block[tag]["kappa"]["n"] == block[tag]["prevalence"]["n"] == settled.sum()
        assert block[tag]["support"] == a.sum()
    settled = label != 0.5
    assert block["micro_f1"]["value"] == pytest.approx(sk.f1_score(label[settled], judge[settled]), abs=1e-9)
    x, y = label == 1, (judge == 1) & settled
    assert block["jaccard"]["value"] == pytest.approx(
        sk.jaccard_score(x, y, average="samples", zero_division=1), abs=1e-9
    )
    assert block["exact"]["value"] == pytest.approx(sk.accuracy_score(x, y), abs=1e-9)


def test_a_fallacy_on_which_people_always_tie_says_so() -> None:
    row = Gold("", tag_shares={"A": 0.5, "B": 1.0, "C": 0.0}), Gold("", tag_shares={"A": 1.0, "B": 1.0, "C": 0.0})
    block = compare([row] * 12)["fallacies"]
    assert block["A"]["kappa"] == {"value": None, "low": None, "high": None, "n": 0, "n_problems": 0, "method": "none",
                                   "why": "people tie on it wherever they annotate it"}  # fmt: skip
    assert block["macro_f1"]["value"] == 1 and block["macro_f1"]["over"] == 1


def test_alpha_of_points_is_undefined_where_all_are_the_same_and_wide_where_a_judge_never_erred() -> None:
    same = compare([(said("correct", 7.0), said("correct", 7.0))] * 12)["points"]["krippendorff_alpha"]
    assert same["value"] is None and "both sides say only '7 points'" in same["why"]
    perfect = compare([(said(None, float(i % 8)), said(None, float(i % 8))) for i in range(16)])
    alpha = perfect["points"]["krippendorff_alpha"]
    assert alpha["value"] == alpha["high"] == 1 and alpha["low"] < 0.5
    constant = compare([(said(None, float(i % 8)), said(None, 7.0)) for i in range(16)])["points"]["krippendorff_alpha"]
    assert constant["value"] < 0 and constant["degenerate"] == "the points of the judge are all equal"

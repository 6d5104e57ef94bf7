"""Answers that tempt a checker into a wrong outcome, found by an adversary; what is right was decided by mathematics.

`equal` and `different` have to be proven; `open` marks pairs that must not be called equal, and `near` pairs that must
not be called different, since they have a reading in which they agree.
"""

import pytest

from judge.answers import Policy, compare

RIGHT = {
    "equal": {"equal"},
    "different": {"different"},
    "open": {"different", "undecided"},
    "near": {"equal", "undecided"},
}

PAIRS = [
    # mixed numbers keep their whole part, whatever stands before them
    (r"-1\frac12", r"-\frac32", "equal"),
    (r"-1\frac12", r"-\frac12", "different"),
    (r"3\cdot 2\frac12", "7.5", "equal"),
    (r"3\cdot 2\frac12", "3", "different"),
    (r"2^3\frac12", "4", "equal"),
    (r"\sqrt2\frac12", r"\frac{\sqrt2}{2}", "equal"),
    (r"2\frac n2", "n", "equal"),
    # numbers of other notations
    ("1.5e3", "1500", "equal"),
    ("1E-3", "0.001", "equal"),
    ("1.5e-3", "0.0015", "near"),
    ("2e-1", r"2\mathrm{e}-1", "equal"),
    (r"0.1\dot{6}", r"\frac16", "equal"),
    (r"0.\dot{1}4285\dot{7}", r"\frac17", "equal"),
    (r"1+{1 \over 2}", r"\frac32", "equal"),
    (r"{10 \choose 3}", "120", "equal"),
    (r"\frac{5!}{2!3!}", "10", "equal"),
    (r"C_{10}^3", "120", "near"),
    (r"1A_{16}", "26", "near"),
    ("twelve", "12", "equal"),
    ("twelve", "13", "different"),
    # labels, units, percent
    ("C", "(C) 12", "near"),
    (r"60^\circ", r"60 \text{ radians}", "open"),
    (r"180^\circ", r"\pi \text{ radians}", "equal"),
    ("50 percent", "50", "open"),
    ("50 percent", r"\frac12", "equal"),
    ("3 kg", "3000 g", "equal"),
    ("3 km", "3 kilometers", "equal"),
    ("5 m", "5 cm", "open"),
    ("12 students", "12", "equal"),
    ("12 students", "13", "different"),
    ("7 apples", "7 pears", "open"),
    ("2 dozens", "2", "open"),
    # values by name: which is whose
    ("x=1, y=2", "x=2, y=1", "different"),
    ("x=1, y=2", "y=2, x=1", "equal"),
    ("A=(1,2), B=(3,4)", "A=(3,4), B=(1,2)", "different"),
    ("A=(1,2), B=(3,4)", "B=(3,4), A=(1,2)", "equal"),
    ("(x,y)=(1,2),(3,4)", "(y,x)=(2,1),(4,3)", "equal"),
    ("(x,y)=(1,2),(3,4)", "(y,x)=(1,2),(3,4)", "different"),
    ("(1,2),(3,4)", "(x,y)=(3,4),(1,2)", "equal"),
    ("(1,2),(3,4)", r"(x,y)\in\{(1,2),(3,4)\}", "equal"),
    (r"(x,y)\in\{(1,2),(3,4)\}", "(1,2)", "different"),
    (r"x=1, y=2 \text{ or } x=2, y=1", r"x=1, y=1 \text{ or } x=2, y=2", "open"),
    ("a=1, b=2", "c=2, d=1", "open"),
    # sets of real numbers
    (r"|x|\le 2", "[-2,2]", "equal"),
    ("|x|>2", r"x<-2 \text{ or } x>2", "equal"),
    ("|x|<2", "x<2", "different"),
    (r"\mathbb{R}\setminus\{0,1\}", r"(-\infty,0)\cup(0,1)\cup(1,\infty)", "equal"),
    (r"\mathbb{R}\setminus\{0\}", r"\{x \mid x \ne 0\}", "equal"),
    (r"\mathbb{R}\setminus\{0\}", r"\mathbb{R}", "different"),
    (r"x\ne 0, x\ne 1", r"\mathbb{R}", "open"),
    (r"\mathbb{R}\setminus\{0,1\}", r"x\ne 0,1", "near"),
    (r"a+b\le 2", r"-2a-2b\ge -4", "equal"),
    (r"a+b\le 2", r"a+2b\le 2", "open"),
    (r"\infty", r"-\infty", "different"),
    # words
    ("No", "Impossible", "near"),
    ("Yes", "Impossible", "open"),
    ("no real solutions", "no integer solutions", "open"),
    ("no real solutions", "no solutions", "equal"),
    (r"f(n)=n+1 \ \forall n\in\mathbb{N}", "f(n)=n+1", "equal"),
    (r"f(x)=x \text{ for } x>0", "f(x)=x", "open"),
]


@pytest.mark.parametrize(("gold", "answer", "outcome"), PAIRS)
def test_both_ways_and_in_every_form(gold, answer, outcome):
    plain = len([w for w in answer.split() if w.isalpha() and len(w) > 2]) > 0
    sentence = answer if plain and "\\" not in answer else f"${answer}$"
    for one, two in ((gold, answer), (answer, gold)):
        assert compare(one, rf"\boxed{{{two}}}").outcome in RIGHT[outcome]
    assert compare(gold, f"Final answer: {sentence}").outcome in RIGHT[outcome]
    assert compare(f"${gold}$", answer).outcome in RIGHT[outcome]


NOT_SEVEN = [
    r"$x = -\boxed{7}$", r"\(10^{\boxed{7}}\)", r"$\boxed{7}\cdot 3$", r"$\frac{\boxed{7}}{2}$", r"$n < \boxed{7}$",
    r"$\boxed{7}\%$", r"$\boxed{6}+\boxed{7}$", r"It is not \boxed{7}.", r"\boxed{6}, not \boxed{7}",
    r"\boxed{7} is wrong, the answer is 8", r"$x=\boxed{6}$, $y=\boxed{7}$", "(a) \\boxed{6}\n(b) \\boxed{7}",
    "- \\boxed{6}\n- \\boxed{7}", r"Case 1: \boxed{6}. Case 2: \boxed{7}.", "$$\\boxed{1}$$\n$$\\boxed{7}$$",
    "The answer is 7 when n is even, and 8 otherwise.", "Answer: 7; 8", "Answer: 7\nor 8", "Answer: 7\n8\n9",
    "Final Answer:\n\n7\n\n8", "Answer: 7 by 8", "Answer: 7 percent", "answer > 7", "The answer is 7, 8.",
]  # fmt: skip
SEVEN = [
    r"\boxed{7}!", "\\boxed{7}\n\n\\boxed{7}", r"$\boxed{7}. \boxed{7}$", r"$\boxed{\ 7\ }$", r"$\boxed{\text{Answer: }7}$",
    r"Thus $\boxed{7}$ - this is sharp.", "\\begin{align*}\nx&=3+4\\\\\n&=\\boxed{7}\n\\end{align*}", "1. First\n2. \\boxed{7}",
    r"$\boxed{7}\tag{1}$", "Step 1: \\boxed{3}\n\nStep 2: we see that \\boxed{7}", r"It isn't 8; it's \boxed{7}.",
    r"\boxed{7}, not \boxed{6}", "```\n7\n```", "`7`", "The answer is `7`.", "Answer: <b>7</b>", "<answer>\n7\n</answer>",
    "<p>The answer is <strong>7</strong>.</p>", "Answer: $7$ (attained at $n=3$)", "Answer: $2+5$; this is sharp.",
    r"Answer: 7\\", "Answer: 7\n\nExplanation: $3+4=7$.",
]  # fmt: skip


@pytest.mark.parametrize("reply", NOT_SEVEN)
def test_what_is_not_the_final_answer(reply):
    assert compare("7", reply).outcome != "equal"


@pytest.mark.parametrize("reply", SEVEN)
def test_what_is_the_final_answer(reply):
    assert compare("7", reply).outcome == "equal"


@pytest.mark.parametrize(
    ("gold", "answer", "policy", "outcome"),
    [
        ("7 apples", "7", {"units": "strict"}, "open"),
        ("7 apples", "7 pears", {"units": "ignored"}, "equal"),
        ("50 percent", "50", {"units": "ignored"}, "open"),
        ("50 percent", "50", {"percent": "bare"}, "equal"),
        ("10%, 20%", "10, 20", {}, "open"),
        ("x=1, y=2", "x=2, y=1", {"ordered_tuples": False}, "different"),
        ("(1,1,2)", "(1,2,2)", {"ordered_tuples": False}, "different"),
        ("n=2k", "n=2m+1", {"renamed_parameters": "any"}, "open"),
    ],
)
def test_the_knobs(gold, answer, policy, outcome):
    assert compare(gold, answer, Policy(**policy)).outcome in RIGHT[outcome]
    assert compare(answer, gold, Policy(**policy)).outcome in RIGHT[outcome]

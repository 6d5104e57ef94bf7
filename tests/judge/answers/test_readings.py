"""How answers and boxes are read where a careless reader goes wrong: each line with the outcome that mathematics gives."""

import pytest

from judge.answers import compare

PAIRS = [
    # a box that is only a piece of a formula, or is denied, is not the answer
    ("2", r"Hence $x = -\boxed{2}$.", {"undecided", "different"}),
    ("3", r"So the length is $\sqrt{\boxed{3}}$.", {"undecided", "different"}),
    ("6", r"The answer is not \boxed{6}.", {"undecided", "different"}),
    ("7", r"So the answer is $\boxed{7}$, not $\boxed{6}$.", {"equal", "undecided"}),
    ("7", r"Done! \boxed{7}!", {"equal", "undecided"}),
    # mixed numbers, and fractions and binomials written infix
    ("7/3", r"\boxed{2\frac{1}{3}}", {"equal"}),
    ("2/3", r"\boxed{2\frac{1}{3}}", {"different"}),
    ("3/4", r"\boxed{{3 \over 4}}", {"equal"}),
    ("10", r"\boxed{{5 \choose 2}}", {"equal"}),
    ("5/2", r"\boxed{{5 \choose 2}}", {"different"}),
    # things that are counted, and nouns that are numbers
    ("7", r"The answer is \boxed{7 \text{ apples}}.", {"equal"}),
    ("7", r"The answer is \boxed{7 \text{ dozens}}.", {"undecided", "different"}),
    ("7", r"The answer is \boxed{7 \text{ squares}}.", {"equal", "undecided"}),
    # scientific notation, and a letter e that may be a number
    ("3000", r"\boxed{3\times 10^3}", {"equal"}),
    ("300", r"\boxed{3\times 10^3}", {"different"}),
    # factorials at the end of a sentence
    ("6", r"\boxed{3!}", {"equal"}),
    ("3", r"\boxed{3!}", {"different"}),
    ("3", "The answer is 3!", {"equal", "undecided"}),
    # infinite values
    (r"\infty", r"\boxed{-\infty}", {"different"}),
    (r"\infty", r"\boxed{+\infty}", {"equal"}),
    ("5", r"\boxed{\infty}", {"different"}),
    # repeating decimals
    ("1/3", r"\boxed{0.\overline{3}}", {"equal"}),
    ("1/3", r"\boxed{0.\overline{33}}", {"equal"}),
    ("1/3", r"\boxed{0.3}", {"different"}),
    # conditions that are left out may change an answer
    (
        "12",
        r"The answer is \boxed{12 \text{ when } n \text{ is even, and } 13 \text{ otherwise}}.",
        {"undecided", "different"},
    ),
    # kinds of "none"
    ("no solutions", r"\boxed{\text{There are no solutions}}", {"equal"}),
    (r"\varnothing", r"\boxed{\text{no solutions}}", {"equal", "undecided"}),
    ("no solutions", r"\boxed{0}", {"different", "undecided"}),
]


@pytest.mark.parametrize(("gold", "reply", "allowed"), PAIRS)
def test_the_reading(gold, reply, allowed):
    found = compare(gold, reply)
    assert found.outcome in allowed, found


@pytest.mark.parametrize(
    "answer", [r"2\frac{1}{3}", r"\{1, 2\}", "(1, 2)", r"\sqrt{8}", "4k+3", r"x \ge 2", "Yes", r"60^\circ"]
)
def test_the_form_around_an_answer_changes_nothing(answer):
    for form in (
        answer,
        f"${answer}$",
        rf"\boxed{{{answer}}}",
        f"Final answer: ${answer}$",
        f"So the answer is ${answer}$.",
    ):
        assert compare(answer, form).outcome == "equal", form


@pytest.mark.parametrize(
    ("gold", "reply", "outcome"),
    [
        ("1234", "1,234", "equal"),
        ("1,234", "1234", "equal"),
        ("100,200", "100200", "equal"),
        ("1,234", r"\{1,234\}", "undecided"),
        (r"\{1,234\}", "1,234", "undecided"),
        ("1,234", "234,1", "undecided"),
        ("100,200", "200,100", "undecided"),
        ("2,341,116", r"\{2,341,116\}", "undecided"),
        (r"\{1,234\}", r"\{234,1\}", "equal"),
        ("1, 234", "234, 1", "equal"),
        ("1,234", "1235", "different"),
    ],
)
def test_digits_in_groups_of_three_are_a_number_where_that_fits_and_never_equal_as_a_list(gold, reply, outcome):
    assert compare(gold, reply).outcome == outcome
    assert compare(gold, rf"\boxed{{{reply}}}").outcome == outcome

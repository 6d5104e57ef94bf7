"""Quotes held against the text they are said to come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.evidence import grounded, locate
from judge.verdicts import Fallacy

TEXT = "We check n = 1, 2, 3.\nThe pattern  continues, so $a_n = 2^n$ for all n. Hence the answer is 8."


@pytest.mark.parametrize(
    "quote",
    [
        "The pattern  continues",
        "the pattern continues",
        '"The pattern continues"',
        "...pattern continues, so a_n = 2^n...",
        "pattern\ncontinues, so $a_n=2^n$",
    ],
)
def test_a_quote_is_found_but_for_spacing_case_and_marks(quote):
    start, end = locate(quote, TEXT)
    assert "pattern  continues" in TEXT[start:end]


@pytest.mark.parametrize("quote", [None, "", "  ", "the pattern stops", "...", "a"])
def test_what_does_not_stand_there_has_no_place(quote):
    if quote == "a":
        assert locate(quote, TEXT) == (TEXT.find("a"), TEXT.find("a") + 1)  # an exact find, however short
    else:
        assert locate(quote, TEXT) is None


@given(st.text(min_size=1, max_size=80), st.integers(0, 79), st.integers(1, 80))
def test_a_piece_of_the_text_is_found_where_it_stands(text, start, length):
    piece = text[start : start + length]
    if piece.strip():
        place = locate(piece, text)
        assert place is not None
        assert text[place[0] : place[1]] == piece


LATEX = "Let \\left( x \\right) be such that $a\\,b \\leq c^2$; then~x\u00a0\u2212 1 \u2265 0, by Cauchy\u2013Schwarz\u2019s inequality. Caf\u00e9 $n\\ge 2$ \\quad holds."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        (r"a b \leq c^2", r"a\,b \leq c^2"),
        ("ab ≤ c^2", r"a\,b \leq c^2"),
        (r"a\;b \le c^2$", r"a\,b \leq c^2"),
        ("then x - 1 ≥ 0", "then~x\u00a0\u2212 1 \u2265 0"),
        (r"x - 1 \geqslant 0", "x\u00a0\u2212 1 \u2265 0"),
        ("Cauchy-Schwarz's inequality", "Cauchy\u2013Schwarz\u2019s inequality"),
        ("Cafe\u0301 n ≥ 2 holds", "Caf\u00e9 $n\\ge 2$ \\quad holds"),
        (r"Let (x) be", r"Let \left( x \right) be"),
        ("such\u200b that", "such that"),
        ("such than", None),
        (r"a b \leq c^3", None),
    ],
)
def test_a_quote_is_found_up_to_latex_spacing_and_unicode_forms(quote, found):
    place = locate(quote, LATEX)
    assert (LATEX[place[0] : place[1]] if place else None) == found


def test_a_quote_that_does_not_stand_there_marks_its_tag_and_a_tag_without_one_is_set_apart():
    said = [
        Fallacy(tag="A", quote="the pattern continues"),
        Fallacy(tag="B", quote="no such words"),
        Fallacy(tag="C"),
        Fallacy(tag="D", quote=" "),
    ]
    kept, apart = grounded(said, TEXT, "required")
    assert [(f.tag, f.grounded) for f in kept] == [("A", True), ("B", False)]
    assert TEXT[kept[0].start : kept[0].end] == "The pattern  continues" and kept[1].start is None
    assert [(f.tag, f.grounded) for f in apart] == [("C", None), ("D", None)]
    kept, apart = grounded(said, TEXT, "optional")
    assert [f.tag for f in kept] == ["A", "B", "C", "D"] and not apart

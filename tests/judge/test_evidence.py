"""Quotes held against the text they are said to come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.evidence import locate

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

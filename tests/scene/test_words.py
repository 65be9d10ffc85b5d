"""Text widths and cutting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.scene.words import fit, text_width


def test_mono_letters_are_all_equally_wide() -> None:
    assert text_width("iii") == text_width("WWW") == pytest.approx(3 * 0.6 * 12)
    assert text_width("中", 10, "sans") == 10


def test_what_fits_is_not_cut() -> None:
    assert fit("matmul", 6 * 7.2) == "matmul"
    assert fit("BinaryCrossEntropyWithLogitsBackward0", 120, 11) == "BinaryCrossEntrop…"
    assert fit("matmul", 3) == ""


@given(st.text(max_size=40), st.floats(0, 300))
def test_a_cut_text_always_fits(text: str, room: float) -> None:
    assert text_width(fit(text, room)) <= room + 0.02 or fit(text, room) == ""

"""Where the canvas looks, as plain numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.app.eye import LARGEST, NATURAL, SMALLEST, Eye, centered, fitted, revealed

numbers = st.floats(-1e4, 1e4)


@given(numbers, numbers, st.floats(0.01, 100), numbers, numbers)
def test_zoom_holds_the_point_and_keeps_its_bounds(x: float, y: float, factor: float, left: float, top: float) -> None:
    eye = Eye(left, top, 0.7)
    zoomed = eye.zoomed(factor, x, y)
    assert SMALLEST <= zoomed.scale <= LARGEST
    assert zoomed.to_scene(x, y) == pytest.approx(eye.to_scene(x, y), abs=1e-3)


@given(numbers, numbers, st.floats(1, 1e5), st.floats(1, 1e5))
def test_what_is_fitted_lies_inside_the_room(x: float, y: float, w: float, h: float) -> None:
    room = (40.0, 60.0, 800.0, 500.0)
    eye = fitted((x, y, w, h), room)
    assert eye.scale <= NATURAL
    left, top = eye.to_screen(x, y)
    right, bottom = eye.to_screen(x + w, y + h)
    assert (left + right) / 2 == pytest.approx(440, abs=0.1)
    assert (top + bottom) / 2 == pytest.approx(310, abs=0.1)
    assert left >= 39.9
    assert top >= 59.9


def test_revealing_moves_as_little_as_needed() -> None:
    eye, room = Eye(), (0.0, 0.0, 100.0, 100.0)
    assert revealed(eye, (10, 10, 20, 20), room) == eye
    assert revealed(eye, (150, 10, 20, 20), room) == Eye(70, 0)
    assert revealed(eye, (-30, -5, 20, 20), room) == Eye(-30, -5)
    assert revealed(eye, (-50, 0, 300, 20), room) == eye, "too large to fit, and partly in view"


@given(numbers, numbers, st.floats(0.1, 4))
def test_what_is_centered_shows_nothing_past_the_edges(x: float, y: float, scale: float) -> None:
    whole, room = (-1e4, -1e4, 2e4, 60.0), (40.0, 60.0, 800.0, 500.0)
    eye = centered((x, y, 10.0, 10.0), whole, room, scale)
    assert eye.scale == scale
    left, right = eye.to_screen(whole[0], 0)[0], eye.to_screen(whole[0] + whole[2], 0)[0]
    assert left <= 40.001 and right >= 839.999
    assert eye.to_screen(0, whole[1] + 30)[1] == pytest.approx(310, abs=0.01), "smaller than the room: in its middle"
    if abs(x) < 1e4 - 400 / scale - 10:
        assert eye.to_screen(x + 5, 0)[0] == pytest.approx(440, abs=0.01)


def test_halfway_between_two_places() -> None:
    half = Eye(0, 0, 1).toward(Eye(10, 20, 4), 0.5)
    assert (half.left, half.top, half.scale) == (5, 10, 2)

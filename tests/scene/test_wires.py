"""Curves: where along them things stand."""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.scene.wires import at, ease, head, nearest

CHAIN = np.asarray([(0, 0), (10, 0), (20, 0), (30, 0), (40, 0), (50, 10), (60, 30)], np.float64)


def test_ends_and_middle_of_a_chain() -> None:
    assert at(CHAIN, 0.0) == pytest.approx((0, 0))
    assert at(CHAIN, 1.0) == pytest.approx((60, 30))
    assert 25 < at(CHAIN, 0.5)[0] < 40


def test_head_begins_the_same_and_ends_on_the_chain() -> None:
    for share in (0.1, 0.4, 0.7):
        part = head(CHAIN, share)
        assert len(part) % 3 == 1
        assert part[0].tolist() == [0, 0]
        assert part[-1] == pytest.approx(at(CHAIN, share))
    assert head(CHAIN, 1.0) is CHAIN


def test_nearest_place() -> None:
    assert nearest(CHAIN, np.asarray([60.0, 31.0])) == 1.0
    assert nearest(CHAIN, np.asarray([15.0, 9.0])) == pytest.approx(0.2, abs=0.06)


def test_ease_starts_and_ends_at_rest() -> None:
    assert [ease(s) for s in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert ease(0.01) < 0.001

"""Going by lines on real recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.player.navigate import first_of_line, last_of_line, line_of, next_line, previous_line
from gradviz.trace import Trace, open_trace

NAMES = ("one_layer", "accumulation", "training_loop", "double_backward", "second_backward")


@pytest.fixture(params=NAMES)
def trace(request: pytest.FixtureRequest, recorded: Callable[[str], Path]) -> Trace:
    return open_trace(recorded(request.param))


def by_hand(trace: Trace, step: int) -> tuple[int, int]:
    """First and last step of a line, found by looking at every neighbour."""
    first = last = step
    while first > 1 and line_of(trace, first - 1) == line_of(trace, step):
        first -= 1
    while last < trace.steps and line_of(trace, last + 1) == line_of(trace, step):
        last += 1
    return first, last


def test_bounds_are_those_found_by_looking_at_every_step(trace: Trace) -> None:
    for step in range(1, trace.steps + 1):
        assert (first_of_line(trace, step), last_of_line(trace, step)) == by_hand(trace, step)


def test_forward_reaches_the_end_and_back_visits_the_same_places(trace: Trace) -> None:
    places = [0]
    while places[-1] < trace.steps:
        places.append(next_line(trace, places[-1]))
        assert places[-1] > places[-2]
    assert len(places) < trace.steps + 1, "some line has several steps"
    for before, after in zip(places[-2::-1], places[:0:-1], strict=True):
        assert previous_line(trace, after) == before
    assert next_line(trace, trace.steps) == trace.steps and previous_line(trace, 0) == 0

"""Where a long row of columns is broken into lines, which are read like those of a text."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

WIDE = 3200.0
"""Up to this width, in pixels, a graph stays in one line..."""
SLIM = 4.0
"""...and one that is not so many times as wide as high."""
ASPECT = 2.0
"""Width of the wrapped whole to its height, about."""
ASIDE = 0.22
"""A break may stand so far, as a share of the line, from where lines would be equally long."""
CORRIDOR = 44.0
"""Between two lines, and so much more for each wire that goes from one to the next:"""
PITCH = 14.0
UNDER, OVER = 20.0, 62.0
"""More room below and above a line where groups stand open in frames."""
TURN, WIDER = 44.0, 14.0
"""How far the innermost wire reaches out where it turns, and each further one more."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A wire's way from the end of a line to the beginning of the next one."""

    wire: int
    passed: int
    """Lanes before it."""
    y: float
    """Height at which it goes back, between the lines."""
    right: float
    left: float
    """How far it reaches out on both sides."""


def breaks(widths: Sequence[float], gaps: Sequence[float], costs: Sequence[float], height: float) -> list[int]:
    """First column of each line. `costs[c]`: how bad a break before column c is."""
    ends, x = [], 0.0
    for width, gap in zip(widths, gaps, strict=True):
        x += gap + width
        ends.append(x)
    if not ends or x <= WIDE or x < SLIM * height:
        return [0]
    wanted = math.sqrt(ASPECT * x * (height + CORRIDOR + PITCH))
    count = max(2, round(x / wanted))
    if len(ends) < 2 * count:
        return [0]
    line = x / count
    found = [0]
    for k in range(1, count):
        low, high = (k - ASIDE) * line, (k + ASIDE) * line
        first, last = bisect_left(ends, low) + 1, bisect_right(ends, high) + 1
        near = range(max(first, found[-1] + 1), min(last, len(ends)))
        if near:
            found.append(min(near, key=lambda c: costs[c] + 6 * abs(ends[c - 1] - k * line) / line))
    return found

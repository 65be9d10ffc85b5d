"""Where a sequence repeats itself: iterations of a loop, layers that are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

FEWEST = 3
"""Fewer in a row are not said to repeat."""
SHORT = 16
"""All periods up to this are tried..."""
PERIODS = 48
"""...and so many longer ones, the commonest distances between equal items."""


def repeats(sequence: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """(start, period, count) of stretches that are `count` times the same `period` items, in order and apart from one
    another. Where several begin at one place, the longest is taken, of the shortest period."""
    numbers: dict[Hashable, int] = {}
    items = np.fromiter((numbers.setdefault(item, len(numbers)) for item in sequence), np.int64, len(sequence))
    if len(items) < FEWEST or len(numbers) == len(items):
        return []
    best, period = np.zeros(len(items), np.int64), np.zeros(len(items), np.int64)
    for p in _periods(items):
        covered = p * (_run_lengths(items[p:] == items[:-p]) // p + 1)
        covered[covered < FEWEST * p] = 0
        longer = covered > best[: len(covered)]
        best[: len(covered)][longer] = covered[longer]
        period[: len(covered)][longer] = p
    found, at = [], 0
    starts = np.flatnonzero(best)
    for start in starts.tolist():
        if start >= at:
            p = int(period[start])
            found.append((start, p, int(best[start]) // p))
            at = start + int(best[start])
    return found


def _periods(items: np.ndarray) -> list[int]:
    """Periods worth a try, short ones first."""
    order = np.argsort(items, kind="stable")
    same = items[order[1:]] == items[order[:-1]]
    distances = Counter((order[1:] - order[:-1])[same].tolist())
    common = [p for p, _ in distances.most_common(PERIODS)]
    most = len(items) // FEWEST
    return sorted({p for p in (*range(1, SHORT + 1), *common) if p <= most})


def _run_lengths(equal: np.ndarray) -> np.ndarray:
    """How many in a row, from each place on, are true."""
    count = len(equal)
    stops = np.flatnonzero(~equal)
    following = np.searchsorted(stops, np.arange(count))
    ends: np.ndarray = np.append(stops, count)[following]
    return ends - np.arange(count)

"""Which column every item stands in, and in which order: longest paths from the results, then barycentres.

Items are plain numbers: first the cards of one graph, then the lanes of wires that pass columns. No recursion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

Lists = list[list[int]]

SWEEPS = 6
SWAPS = 4
BEATS = SWEEPS + SWEEPS // 2 + 1
MANY = 20_000
"""Above so many items only half the sweeps are made, and no swaps."""


def neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[Lists, Lists]:
    """What stands left and right of each item along the links (left, right)."""
    left: Lists = [[] for _ in range(count)]
    right: Lists = [[] for _ in range(count)]
    for a, b in links:
        left[b].append(a)
        right[a].append(b)
    return left, right


def ranks(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """Column of each card, 0 at the left.

    Longest path from the results, so that leaves stand near what reads them. Then a card with room to its left that
    gathers more than it spreads is pulled back to its inputs (the head of an early step stands beside that step).
    """
    inputs, readers = neighbours(count, list(dict.fromkeys(link for link in links if link[0] != link[1])))
    depth, order = _depths(inputs, readers)
    deepest = max(depth, default=0)
    rank = [deepest - d for d in depth]
    for item in reversed(order):
        found = [rank[i] for i in inputs[item] if inputs[i]]
        if found and len(readers[item]) <= len(inputs[item]) and max(found) + 1 < rank[item]:
            rank[item] = max(found) + 1
    for item in range(count):
        if not inputs[item]:
            rank[item] = max(0, min((rank[r] for r in readers[item]), default=1) - 1)
    return rank


def _depths(inputs: Lists, readers: Lists) -> tuple[list[int], list[int]]:
    """Longest way to a result, and the items with readers before what they read (Kahn). Items on a cycle come last."""
    waiting = [len(found) for found in readers]
    depth = [0] * len(readers)
    ready = [i for i, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        item = ready.pop()
        order.append(item)
        below = depth[item] + 1
        for source in inputs[item]:
            depth[source] = max(depth[source], below)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    if len(order) < len(readers):
        seen = set(order)
        order += [i for i in reversed(range(len(readers))) if i not in seen]
    return depth, order


def ordered(
    rank: Sequence[int],
    links: Sequence[tuple[int, int]],
    until: float = float("inf"),
    beat: Callable[[], object] = lambda: None,
) -> tuple[Lists, int]:
    """The items of each column from top to bottom, and how many wires cross. `until`: process time to stop at. `beat`
    is called `BEATS` times at most, and may raise to end the work."""
    count = len(rank)
    left, right = neighbours(count, links)
    place = [0] * count
    starts = [_first_order(rank, left, upper=upper) for upper in (True, False)]
    crossed = [_settled(columns, place, right) for columns in starts]
    best, fewest = (starts[0], crossed[0]) if crossed[0] <= crossed[1] else (starts[1], crossed[1])
    sweeps = SWEEPS if count <= MANY else SWEEPS // 2
    for first, start in enumerate(starts if count <= MANY else [best]):
        columns = start
        for sweep in range(sweeps // 2 if first else sweeps):
            beat()
            if not fewest or time.process_time() > until:
                break
            columns = [list(column) for column in columns]
            forth = sweep % 2 == 0
            if not sweep:
                _settled(columns, place, right)
            _sweep(columns if forth else columns[::-1], left if forth else right, place)
            crossings = _settled(columns, place, right)
            if crossings < fewest:
                best, fewest = columns, crossings
    beat()
    if fewest and count <= MANY:
        best, fewest = _swapped(best, fewest, place, left, right, until)
    return best, fewest


def _first_order(rank: Sequence[int], left: Lists, *, upper: bool) -> Lists:
    """As a walk from the results finds them: what belongs together comes together. `upper`: the first input first."""
    columns: Lists = [[] for _ in range(max(rank, default=-1) + 1)]
    seen = bytearray(len(rank))
    for start in sorted(range(len(rank)), key=lambda i: -rank[i]):
        if seen[start]:
            continue
        stack = [start]
        while stack:
            item = stack.pop()
            if not seen[item]:
                seen[item] = 1
                columns[rank[item]].append(item)
                stack.extend(reversed(left[item]) if upper else left[item])
    return columns


def _settled(columns: Lists, place: list[int], right: Lists) -> int:
    """Write down every item's place in its column; the number of crossings."""
    for column in columns:
        for k, item in enumerate(column):
            place[item] = k
    total = 0
    for column, following in pairwise(columns):
        if len(column) > 1 and len(following) > 1:
            total += inversions(_landings(column, place, right))
    return total


def _landings(column: list[int], place: list[int], right: Lists) -> list[int]:
    found: list[int] = []
    for item in column:
        near = right[item]
        if len(near) == 1:
            found.append(place[near[0]])
        elif near:
            found.extend(sorted([place[n] for n in near]))
    return found


def _sweep(columns: Lists, near: Lists, place: list[int]) -> None:
    """Sort each column by the mean place of its neighbours in the column before it."""
    for column in columns:
        if len(column) < 2:
            continue
        key: dict[int, float] = {}
        for k, item in enumerate(column):
            found = near[item]
            if not found:
                key[item] = k
            elif len(found) == 1:
                key[item] = place[found[0]]
            else:
                key[item] = sum([place[n] for n in found]) / len(found)
        column.sort(key=key.__getitem__)
        for k, item in enumerate(column):
            place[item] = k


def _swapped(
    columns: Lists, fewest: int, place: list[int], left: Lists, right: Lists, until: float
) -> tuple[Lists, int]:
    """Swap neighbours in a column as long as that takes crossings away."""
    columns = [list(column) for column in columns]
    _settled(columns, place, right)
    for _ in range(SWAPS):
        gain = 0
        for column in columns:
            if 1 < len(column) <= 400 and time.process_time() < until:
                gain += _swap_column(column, place, left, right)
        if not gain:
            break
    return columns, _settled(columns, place, right)


def _swap_column(column: list[int], place: list[int], left: Lists, right: Lists) -> int:
    gain = 0
    for _ in range(min(len(column), 20)):
        before = gain
        for k in range(len(column) - 1):
            a, b = column[k], column[k + 1]
            less = _saved(left[a], left[b], place) + _saved(right[a], right[b], place)
            if less > 0:
                column[k], column[k + 1] = b, a
                place[a], place[b] = k + 1, k
                gain += less
        if gain == before:
            break
    return gain


def _saved(above: list[int], below: list[int], place: list[int]) -> int:
    """Crossings between the wires of two items now, less those after they change places."""
    now = 0
    for a in above:
        at = place[a]
        for b in below:
            other = place[b]
            now += (at > other) - (at < other)
    return now


def inversions(places: list[int]) -> int:
    """Pairs out of order, by a binary indexed tree."""
    size = max(places, default=0) + 2
    tree = [0] * (size + 1)
    total = 0
    for seen, place in enumerate(places):
        i, below = place + 1, 0
        while i:
            below += tree[i]
            i &= i - 1
        total += seen - below
        i = place + 1
        while i <= size:
            tree[i] += 1
            i += i & -i
    return total

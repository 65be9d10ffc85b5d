"""How high every item of a column stands: least squares towards straight wires, under the order of the column.

Each column in turn is solved exactly against its neighbours (pool adjacent violators; Robertson, Wright and Dykstra,
Order Restricted Statistical Inference, 1988, chapter 1), forth and back over the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

SWEEPS = 10
MANY = 20_000
"""Above so many items fewer sweeps have to do."""

Link = tuple[int, int, float, float, float]
"""Left item, right item, height of the wire's end on each below the item's top, weight."""


def heights(
    columns: Sequence[Sequence[int]],
    height: Sequence[float],
    links: Sequence[Link],
    beat: Callable[[], object] = lambda: None,
) -> list[float]:
    """Tops of all items, in pixels. `height` of an item includes the space to be kept below it. `beat` is called
    `SWEEPS` times at most, and may raise to end the work."""
    count = len(height)
    offset, level = [0.0] * count, [0.0] * count
    for column in columns:
        y = 0.0
        for item in column:
            offset[item] = y
            y += height[item]
        for item in column:
            level[item] = -y / 2
    near, shift, total = _pulls(count, links, offset)
    for sweep in range(SWEEPS if count <= MANY else SWEEPS // 2):
        beat()
        for column in columns if sweep % 2 else reversed(columns):
            if len(column) == 1:
                (item,) = column
                if total[item]:
                    level[item] = _aim(near[item], shift[item], level)
            else:
                _solve(column, near, shift, total, level)
    return [level[i] + offset[i] for i in range(count)]


def _pulls(
    count: int, links: Sequence[Link], offset: list[float]
) -> tuple[list[list[tuple[int, float]]], list[float], list[float]]:
    """For each item: (neighbour, share) pairs and a constant, so that its wanted level is one sum; and its weight."""
    total = [0.0] * count
    for a, b, _, _, weight in links:
        total[a] += weight
        total[b] += weight
    near: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    shift = [0.0] * count
    for a, b, port_a, port_b, weight in links:
        lower = offset[a] + port_a - offset[b] - port_b
        share_a, share_b = weight / total[a], weight / total[b]
        near[a].append((b, share_a))
        near[b].append((a, share_b))
        shift[a] -= lower * share_a
        shift[b] += lower * share_b
    return near, shift, total


def _aim(near: list[tuple[int, float]], shift: float, level: list[float]) -> float:
    for other, share in near:
        shift += level[other] * share
    return shift


def _solve(
    column: Sequence[int],
    near: list[list[tuple[int, float]]],
    shift: list[float],
    total: list[float],
    level: list[float],
) -> None:
    wanted, rising, last = [], True, float("-inf")
    for item in column:
        aim = level[item]
        if total[item]:
            aim = shift[item]
            for other, share in near[item]:
                aim += level[other] * share
        if aim < last:
            rising = False
        last = aim
        wanted.append(aim)
    if not rising:
        wanted = monotone(wanted, [total[item] or 0.1 for item in column])
    for item, found in zip(column, wanted, strict=True):
        level[item] = found


def monotone(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nondecreasing sequence nearest to `wanted` in weighted least squares."""
    blocks: list[tuple[float, float, int]] = []
    for aim, weight in zip(wanted, weights, strict=True):
        mean, total, count = aim, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, count = total + heavy, count + many
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]

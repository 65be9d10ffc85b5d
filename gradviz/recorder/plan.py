"""The order in which the engine will run nodes, worked out beforehand from edges and sequence numbers.

The engine keeps ready nodes in a `std::priority_queue`: the highest sequence number first. Every AccumulateGrad has the
same number, so which of two goes first depends on how the heap moves its elements; `_push` and `_pop` move them as
libstdc++ does (`std::push_heap`, `std::pop_heap`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradviz.recorder.nodes import Tag

_Item = tuple[int, int]


def plan(
    tags: Mapping[int, Tag], roots: Sequence[int], wanted: Iterable[int] | None, *, runs_wanted: bool
) -> list[int]:
    """Node ids in the engine's order.

    Args:
        tags: every node reachable from the roots, by id.
        roots: the node of each root tensor; the same may come twice.
        wanted: nodes to which `inputs=` limits the pass; None: no limit.
        runs_wanted: True for `backward(inputs=…)`, which runs those nodes; False for `grad`, which catches what
            arrives at them.
    """
    waits = dict.fromkeys(tags, 0)
    for root in roots:
        waits[root] += 1
    for tag in tags.values():
        for below, _ in tag.edges:
            if below is not None:
                waits[below] += 1
    needed, stop = None, set()
    if wanted is not None:
        targets = {node for node in wanted if node in tags}
        needed = _ways_to(tags, targets)
        stop = targets - needed
        if runs_wanted:
            needed |= targets
            stop = set()
    heap: list[_Item] = []
    order: list[int] = []
    for root in roots:
        waits[root] -= 1
        if not waits[root] and (needed is None or root in needed or root in stop):
            _push(heap, (tags[root].seq, root))
    while heap:
        node = (heap.pop() if len(heap) == 1 else _pop(heap))[1]
        if node in stop:
            continue
        order.append(node)
        for below, _ in tags[node].edges:
            if below is not None and (needed is None or below in needed or below in stop):
                waits[below] -= 1
                if not waits[below]:
                    _push(heap, (tags[below].seq, below))
    return order


def _ways_to(tags: Mapping[int, Tag], targets: set[int]) -> set[int]:
    """Nodes from which a target can be reached over at least one edge."""
    above: dict[int, list[int]] = {}
    for ident, tag in tags.items():
        for below, _ in tag.edges:
            if below is not None:
                above.setdefault(below, []).append(ident)
    found: set[int] = set()
    stack = list(targets)
    while stack:
        for node in above.get(stack.pop(), ()):
            if node not in found:
                found.add(node)
                stack.append(node)
    return found


def _push(heap: list[_Item], item: _Item) -> None:
    heap.append(item)
    _rise(heap, len(heap) - 1, item)


def _rise(heap: list[_Item], hole: int, item: _Item) -> None:
    while hole:
        parent = (hole - 1) // 2
        if heap[parent][0] >= item[0]:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = item


def _pop(heap: list[_Item]) -> _Item:
    top, item = heap[0], heap.pop()
    size = len(heap)
    if not size:
        return top
    hole, child = 0, 0
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    _rise(heap, hole, item)
    return top

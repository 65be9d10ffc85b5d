"""Arrays that follow from a graph and its layout alone, for whoever looks at all cards at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from gradviz.graph.model import Card, Floats, Graph, Ints, Layout

BESIDE = 60.0
"""How far what rides on a wire reaches from its middle, at most."""


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """Rows are cards, or wires."""

    born: Ints
    """First step at which each card is shown."""
    node_ptr: Ints
    node_ids: Ints
    generation: Ints
    is_leaf: npt.NDArray[np.bool_]
    folds: Ints
    """Cards that are folds."""
    results: Ints
    """Cards of roots."""
    source: Ints
    target: Ints
    wire_node: Ints
    """First node that sends a gradient along each wire, -1 where none does."""

    @classmethod
    def of(cls, graph: Graph) -> GraphIndex:
        """Index a graph."""
        cards, wires = graph.cards, graph.wires
        count = len(cards)
        ptr = np.zeros(count + 1, np.int64)
        ptr[1:] = np.cumsum(np.fromiter((len(card.nodes) for card in cards), np.int64, count))
        source = np.fromiter((wire.source for wire in wires), np.int64, len(wires))
        target = np.fromiter((wire.target for wire in wires), np.int64, len(wires))
        return cls(
            _births(graph, source, target),
            ptr,
            np.fromiter(chain.from_iterable(card.nodes for card in cards), np.int64, int(ptr[-1])),
            np.fromiter((card.generation for card in cards), np.int64, count),
            np.fromiter((card.kind == "leaf" for card in cards), np.bool_, count),
            np.asarray([i for i, card in enumerate(cards) if card.kind == "fold"], np.int64),
            np.asarray([i for i, c in enumerate(cards) if c.kind == "result" and c.tensor is not None], np.int64),
            source,
            target,
            np.fromiter((w.edges[0][0] if w.edges else -1 for w in wires), np.int64, len(wires)),
        )


def _births(graph: Graph, source: Ints, target: Ints) -> Ints:
    """First step at which each card is shown: a leaf shown again for a later graph comes with its first user."""
    born = np.fromiter((card.born for card in graph.cards), np.int64, len(graph.cards))
    seen: set[int] = set()
    again = np.zeros(len(born), np.bool_)
    for i, card in enumerate(graph.cards):
        if card.kind == "leaf" and card.tensor is not None:
            again[i] = card.tensor in seen
            seen.add(card.tensor)
    if again.any():
        used = np.full(len(born), np.iinfo(np.int64).max)
        np.minimum.at(used, source, born[target])
        late = again & (used < np.iinfo(np.int64).max)
        born[late] = np.maximum(born[late], used[late])
    return born


def wire_boxes(layout: Layout, count: int) -> Floats:
    """Shape (wires, 4): left, top, right, bottom of both routes; nothing: turned inside out."""
    boxes = np.full((count, 4), np.nan)
    boxes[:, :2], boxes[:, 2:] = np.inf, -np.inf
    for ptr, xy in ((layout.forward_ptr, layout.forward_xy), (layout.gradient_ptr, layout.gradient_xy)):
        starts = np.asarray(ptr[:-1], np.int64)
        some = starts < np.asarray(ptr[1:], np.int64)
        if some.any():
            boxes[some, :2] = np.minimum(boxes[some, :2], np.minimum.reduceat(xy, starts[some]))
            boxes[some, 2:] = np.maximum(boxes[some, 2:], np.maximum.reduceat(xy, starts[some]))
    for labels in (layout.forward_label, layout.gradient_label):
        have = ~np.isnan(labels[:, 0]) if len(labels) else np.zeros(0, np.bool_)
        boxes[have, :2] = np.minimum(boxes[have, :2], labels[have] - BESIDE)
        boxes[have, 2:] = np.maximum(boxes[have, 2:], labels[have] + BESIDE)
    boxes += np.asarray([-4.0, -4.0, 4.0, 4.0])
    return boxes


def index_card(
    i: int,
    card: Card,
    index: dict[str, int],
    of_op: dict[int, int],
    of_node: dict[int, int],
    of_tensor: dict[int, list[int]],
) -> None:
    """Write down by what a card is found, see `Graph`."""
    index[card.key] = i
    for op in card.ops:
        of_op[op] = i
    for node in card.nodes:
        of_node.setdefault(node, i)
    if card.tensor is not None and card.kind in ("leaf", "result"):
        of_tensor[card.tensor].append(i)
    for tensor in card.tensors:
        of_tensor[tensor].append(i)

"""From a recording to cards and wires. Where they stand is the layout's business."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gradviz.graph import sizes
from gradviz.graph.folds import fold
from gradviz.graph.index import index_card
from gradviz.graph.model import Card, Graph, Opened, Wire
from gradviz.trace import Trace, shape_text
from gradviz.trace.events import Op, Tensor

Mode = Literal["both", "forward", "autograd"]
SHORT = {"binary_cross_entropy_with_logits": "bce_with_logits", "binary_cross_entropy": "bce"}
COPIES = 3
"""A leaf that more operations of one graph read is drawn once beside each of them."""


def build(
    trace: Trace,
    mode: str = "both",
    folded: frozenset[str] = frozenset(),
    unfolded: frozenset[str] = frozenset(),
) -> Graph:
    """Cards and wires of everything recorded so far, in order of time.

    "both": operations with the nodes that they left behind; "forward": operations and leaves alone; "autograd": exactly
    the `next_functions` graph, one card a node and one wire an edge. Groups are folded as the person chose (`folded`,
    `unfolded`: fold keys), and by themselves where there are many cards.
    """
    if mode == "autograd":
        return _finish(*_autograd(trace), mode)
    cards, wires = _Builder(trace, rows=mode == "both").build()
    cards, wires, frames = fold(trace, cards, wires, folded, unfolded)
    if any(card.kind == "fold" for card in cards):
        cards = _beside_the_first(_generations([_moved(card, 0) for card in cards], wires))
        order, place = _order(cards)
        cards = [cards[i] for i in order]
        wires = [replace(w, source=place[w.source], target=place[w.target]) for w in wires]
        frames = tuple(replace(f, cards=tuple(sorted(place[i] for i in f.cards))) for f in frames)
    return _finish(cards, wires, mode, frames)


def _beside_the_first(cards: list[Card]) -> list[Card]:
    """What nothing is joined to stands beside the first graph that has nodes."""
    home = min((c.generation for c in cards if c.nodes and c.kind != "leaf"), default=0)
    return [replace(c, generation=home) if c.fold is not None and c.fold.kind == "setup" else c for c in cards]


def _finish(cards: list[Card], wires: list[Wire], mode: str, frames: tuple[Opened, ...] = ()) -> Graph:
    index: dict[str, int] = {}
    of_op: dict[int, int] = {}
    of_node: dict[int, int] = {}
    of_tensor: dict[int, list[int]] = defaultdict(list)
    for i, card in enumerate(cards):
        index_card(i, card, index, of_op, of_node, of_tensor)
    return Graph(
        tuple(cards),
        tuple(wires),
        mode,
        frames,
        index=index,
        card_of_op=of_op,
        card_of_node=of_node,
        cards_of_tensor={tensor: tuple(found) for tensor, found in of_tensor.items()},
    )


def _autograd(trace: Trace) -> tuple[list[Card], list[Wire]]:
    """One card a node and one wire an edge. A card's source is the node that receives the gradient."""
    cards = []
    for node in trace.nodes:
        name = trace.name(node.leaf) if node.leaf is not None else None
        title = sizes.elide(f"{node.name} · {name}" if name else node.name)
        shape = shape_text(node.inputs[0][0]) if node.inputs else ""
        width, height = sizes.node_size(title)
        born = int(trace.node_step.view[node.id])
        cards.append(
            Card(
                f"node:{node.id}",
                "node",
                title,
                shape,
                node.op,
                node.leaf,
                (node.id,),
                born=born,
                width=width,
                height=height,
            )
        )
    wires = []
    for node in trace.nodes:
        for number, (target, _) in enumerate(node.edges):
            if target is not None:
                wires.append(
                    Wire(
                        target,
                        node.id,
                        None,
                        forward=False,
                        edges=((node.id, number),),
                        grad_from=cards[node.id].height * (number + 1) / (len(node.edges) + 1),
                        grad_to=cards[target].height / 2,
                        label=(64.0, 22.0),
                    )
                )
    return _generations(cards, wires), wires


@dataclass(slots=True)
class _Way:
    """A wire in the making, see `Wire`."""

    source: int
    target: int
    tensor: int | None = None
    forward: bool = True
    edges: list[tuple[int, int]] = field(default_factory=list)
    ghost: bool = False
    source_port: float = 0.0
    target_port: float = 0.0
    grad_from: float = 0.0
    grad_to: float = 0.0
    label: tuple[float, float] | None = None

    def wire(self, place: Sequence[int]) -> Wire:
        """The wire, where `place` tells where each card has gone."""
        return Wire(
            place[self.source], place[self.target], self.tensor, self.forward, tuple(self.edges), self.ghost,
            self.source_port, self.target_port, self.grad_from, self.grad_to, self.label,
        )  # fmt: skip


class _Builder:
    """Walks the operations once, in order of time."""

    def __init__(self, trace: Trace, *, rows: bool) -> None:
        self.trace = trace
        self.rows = rows
        self.cards: list[Card] = []
        self.members: dict[int, list[int]] = defaultdict(list)
        """Operation that gives a card -> operations told by it."""
        self.nodes: dict[int, list[int]] = defaultdict(list)
        self.producer: dict[int, int] = {}
        self.reads: list[tuple[int, int | None, int]] = []
        """(tensor, card that made it or None for a leaf, card that reads it)."""
        self.accumulators: dict[int, list[int]] = defaultdict(list)
        self.shown: set[int] = set()

    def build(self) -> tuple[list[Card], list[Wire]]:
        self._group()
        for op in self.trace.ops:
            if op.id in self.members and self._has_card(op):
                self._op(op)
        self._results()
        ways = self._ways()
        self.cards = _generations(self.cards, ways)
        cards = self._copies(ways)
        order, place = _order(cards)
        return [cards[i] for i in order], [way.wire(place) for way in ways]

    def _group(self) -> None:
        """Operations inside another belong to its card, but for those that left nodes: these are of a graph apart,
        which the other's backward runs."""
        outer = self.trace.outer_op
        for op in self.trace.ops:
            top = op.id
            while not self.trace.ops[top].nodes and top in outer:
                top = outer[top]
            self.members[top].append(op.id)
        owner = {op: top for top, members in self.members.items() for op in members}
        for node in self.trace.nodes:
            if node.leaf is not None:
                self.accumulators[node.leaf].append(node.id)
            elif node.op in owner:
                self.nodes[owner[node.op]].append(node.id)

    def _has_card(self, op: Op) -> bool:
        if self.nodes.get(op.id):
            return True
        if op.quiet or op.error or op.within is not None or not op.outputs:
            return False
        if op.name.endswith("_like") or op.name.startswith("new_"):  # of its input only type and device are read
            return False
        if op.untracked == "no_grad" and any(t in self.trace.grad_tensors for t in op.inputs):
            return False
        if set(op.outputs) <= set(op.inputs):
            return False
        return any(t in self.producer for t in op.inputs) or any(self._wants_grad(t) for t in op.inputs)

    def _wants_grad(self, tensor: int) -> bool:
        known = self.trace.tensor(tensor)
        return known is not None and known.requires_grad

    def _op(self, op: Op) -> None:
        made = op.outputs or op.writes
        first = self.trace.tensor(made[0]) if made else None
        title = sizes.elide(SHORT.get(op.name, op.name))
        detail = shape_text(first.shape) if first else ""
        nodes = tuple(self.nodes.get(op.id, ())) if self.rows else ()
        width, height = sizes.op_size(title, detail, [self.trace.nodes[n].name for n in nodes])
        members = tuple(self.members[op.id])
        born = int(self.trace.op_step.view[members[0]])
        card = len(self.cards)
        self.cards.append(
            Card(
                f"op:{op.id}", "op", title, detail, op.id, made[0] if made else None, nodes,
                ops=members, born=born, width=width, height=height,
            )
        )  # fmt: skip
        inputs = dict.fromkeys(t for m in members for t in self.trace.ops[m].inputs)
        inside = {t for m in members for t in self.trace.ops[m].outputs}
        for tensor in inputs:
            if tensor not in inside or tensor in op.inputs:
                self.reads.append((tensor, self.producer.get(tensor), card))
        for m in members:
            for tensor in (*self.trace.ops[m].outputs, *self.trace.ops[m].writes):
                if not self._is_leaf(tensor):
                    self.producer[tensor] = card

    def _is_leaf(self, tensor: int) -> bool:
        known = self.trace.tensor(tensor)
        return known is not None and known.is_leaf and known.requires_grad

    def _results(self) -> None:
        """A card for each root of a pass and each named result that nothing reads."""
        read = {tensor for tensor, _, _ in self.reads}
        roots = dict.fromkeys(t for p in self.trace.passes for t in p.tensors)
        ends = [t for t in self.producer if t not in read and self.trace.name(t) and self._wants_grad(t)]
        for tensor in dict.fromkeys([*roots, *ends]):
            known, source = self.trace.tensor(tensor), self.producer.get(tensor)
            if known is None or source is None:
                continue
            title, grid = sizes.elide(self.trace.name(tensor) or "result", 16), sizes.grid_of(known.shape)
            width, height = sizes.leaf_size(title, "", grid, slot=False)
            self.reads.append((tensor, source, len(self.cards)))
            self.cards.append(
                Card(
                    f"result:{tensor}", "result", title, shape_text(known.shape), tensor=tensor, grid=grid,
                    born=self.cards[source].born, width=width, height=max(height, 62.0),
                )
            )  # fmt: skip

    def _leaf(self, tensor: int) -> Card:
        known = self.trace.tensor(tensor) or Tensor(tensor)
        title = sizes.elide(self.trace.name(tensor) or "·", 20)
        grid, slot = sizes.grid_of(known.shape), self.rows and known.requires_grad and known.is_leaf
        detail = shape_text(known.shape)
        width, height = sizes.leaf_size(title, detail, grid, slot=slot)
        seen = self.trace.tensors[tensor].steps if tensor in self.trace.tensors else [0]
        return Card(
            f"leaf:{tensor}", "leaf", title, detail, None, tensor, tuple(self.accumulators.get(tensor, ())),
            slot=slot, grid=grid, born=max(1, seen[0]), width=width, height=height,
        )  # fmt: skip

    def _ways(self) -> list[_Way]:
        leaf_card: dict[int, int] = {}
        ways: list[_Way] = []
        for tensor, source, target in self.reads:
            if source is None:
                if tensor not in leaf_card:
                    leaf_card[tensor] = len(self.cards)
                    self.cards.append(self._leaf(tensor))
                source = leaf_card[tensor]
            ways.append(_Way(source, target, tensor))
        for tensor in self.accumulators:
            if tensor not in leaf_card and self.trace.name(tensor):
                leaf_card[tensor] = len(self.cards)
                self.cards.append(self._leaf(tensor))
        if self.rows:
            _add_gradients(self.trace, self.cards, ways)
        _add_ports(self.cards, ways)
        return ways

    def _copies(self, ways: list[_Way]) -> list[Card]:
        """A leaf stands in each graph that reads it, and beside each reader where there are many."""
        cards = list(self.cards)
        users: dict[int, list[_Way]] = defaultdict(list)
        for way in ways:
            if cards[way.source].kind == "leaf":
                users[way.source].append(way)
        for leaf, found in users.items():
            homes: dict[tuple[int, int], int] = {}
            many = len({way.target for way in found}) > COPIES
            for way in found:
                target = cards[way.target]
                home = (target.generation, way.target if many else -1)
                if not homes:
                    homes[home] = leaf
                    cards[leaf] = _moved(cards[leaf], target.generation)
                elif home not in homes:
                    homes[home] = len(cards)
                    copy = replace(cards[leaf], key=f"{cards[leaf].key}@{target.key}", generation=target.generation)
                    cards.append(copy)
                way.source = homes[home]
        return cards


def _moved(card: Card, generation: int) -> Card:
    return card if card.generation == generation else replace(card, generation=generation)


def _add_gradients(trace: Trace, cards: list[Card], ways: list[_Way]) -> None:
    """Give each wire the edges whose gradients go back along it, and the ports; add wires for edges that have none."""
    home = {node: i for i, card in enumerate(cards) for node in card.nodes}
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, way in enumerate(ways):
        between[way.source, way.target].append(i)
    for node in trace.nodes:
        target = home.get(node.id)
        if target is None:
            continue
        for number, (receiver, slot) in enumerate(node.edges):
            source = home.get(receiver) if receiver is not None else None
            if source is None or source == target:
                continue
            found = between[source, target]
            if not found:
                found.append(len(ways))
                ways.append(_Way(source, target, forward=False))
            way = ways[found[0] if len(found) == 1 else _best(trace, ways, found, receiver, slot)]
            way.edges.append((node.id, number))
    for way in ways:
        reader = cards[way.target]
        way.ghost = not way.edges and reader.kind == "op" and bool(reader.nodes)
        _gradient_ports(trace, cards, way)


def _best(trace: Trace, ways: list[_Way], found: list[int], receiver: int | None, slot: int) -> int:
    """The wire whose tensor came out of this output of the receiving node; else the first between the two cards."""
    for i in found:
        tensor = ways[i].tensor
        known = trace.tensor(tensor) if tensor is not None else None
        if known is not None and known.node == receiver and known.output_nr == slot:
            return i
    return found[0]


def _gradient_ports(trace: Trace, cards: list[Card], way: _Way) -> None:
    source, target = cards[way.source], cards[way.target]
    if target.kind == "result":
        way.grad_from, way.grad_to = target.height - 16, sizes.row_center(len(source.nodes) - 1)
        return
    if not way.edges:
        return
    node, number = way.edges[0]
    receiver = trace.nodes[node].edges[number][0]
    way.grad_from = sizes.row_center(target.nodes.index(node))
    if source.kind == "leaf":
        way.grad_to = sizes.slot_center(source.height)
    else:
        way.grad_to = sizes.row_center(source.nodes.index(receiver) if receiver in source.nodes else 0)


def _add_ports(cards: list[Card], ways: list[_Way]) -> None:
    """Forward ports: the inputs of an operation share its upper half in their order."""
    inputs: dict[int, list[_Way]] = defaultdict(list)
    for way in ways:
        if way.forward:
            inputs[way.target].append(way)
    for target, found in inputs.items():
        card = cards[target]
        room = sizes.HEADER if len(found) <= 4 else card.height
        for rank, way in enumerate(found):
            source = cards[way.source]
            leaf = source.kind == "leaf"
            rows = source.grid[0] if source.grid else 3
            middle = min(source.height - 8, sizes.LEAF_HEADER + rows * sizes.PITCH / 2)
            way.source_port = middle if leaf else sizes.HEADER / 2
            if card.kind == "result":
                way.target_port = sizes.HEADER / 2 if source.nodes else card.height / 2
            else:
                way.target_port = room * (rank + 1) / (len(found) + 1)
            way.label = (84.0, 22.0) if way.edges or not leaf else None


def _generations(cards: list[Card], wires: Sequence[Wire | _Way]) -> list[Card]:
    """Number the graphs that are not connected but by leaves, in order of time."""
    leader = list(range(len(cards)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    shared = {
        i for i, card in enumerate(cards) if card.kind == "leaf" or (card.kind == "node" and card.tensor is not None)
    }
    for wire in wires:
        if wire.source not in shared:
            a, b = find(wire.source), find(wire.target)
            leader[max(a, b)] = min(a, b)
    numbers: dict[int, int] = {}
    made = []
    for i, card in enumerate(cards):
        if i not in shared:
            made.append(_moved(card, numbers.setdefault(find(i), len(numbers))))
        else:
            made.append(card)
    for wire in wires:
        if wire.source in shared and made[wire.source].generation == 0:
            made[wire.source] = _moved(made[wire.source], made[wire.target].generation)
    return made


def _order(cards: list[Card]) -> tuple[list[int], list[int]]:
    """Cards by generation and birth, leaves before what reads them; and where each card has gone."""
    order = sorted(range(len(cards)), key=lambda i: (cards[i].generation, cards[i].born, cards[i].kind != "leaf", i))
    place = [0] * len(order)
    for new, old in enumerate(order):
        place[old] = new
    return order, place

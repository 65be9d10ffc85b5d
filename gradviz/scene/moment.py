"""What every card is doing at one step, found for all cards at once."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gradviz.graph.index import GraphIndex
from gradviz.graph.model import Graph
from gradviz.player.view import ViewState
from gradviz.scene.runs import Runs
from gradviz.scene.theme import Theme
from gradviz.trace import Frame
from gradviz.trace.events import Backward, Data, Grad, NodeRan, Op

HIDDEN, IDLE, PENDING, PLANNED, RUNNING, DONE, FREED, GONE, FAILED = range(9)
"""Codes of a card: the most telling of its nodes' states. IDLE has no nodes, HIDDEN is not born yet."""
_OF_STATUS = np.asarray([HIDDEN, PENDING, RUNNING, DONE, FREED, GONE, FAILED], np.uint8)
"""Status of a node, as frames number it -> code."""
_TELLING = np.asarray([0, 0, 3, 4, 6, 2, 2, 1, 7], np.uint8)
"""Code -> how telling it is for a card of several nodes."""
_CODE = np.asarray([IDLE, GONE, DONE, PENDING, PLANNED, IDLE, RUNNING, FAILED], np.uint8)
"""...and back."""


class Moment:
    """A graph at one step, under one view."""

    def __init__(
        self, graph: Graph, index: GraphIndex, frame: Frame, view: ViewState, theme: Theme, runs: Runs
    ) -> None:
        self.graph = graph
        self.index = index
        self.frame = frame
        self.view = view
        self.theme = theme
        self.runs = runs
        self.trace = frame.trace
        self.motion = 1.0 if view.reduced_motion else max(0.0, min(1.0, view.alpha))
        """How far the motion inside this step has got; 1 when at rest."""
        self.event = frame.event

    @cached_property
    def node_codes(self) -> npt.NDArray[np.uint8]:
        """Code of each node by its id."""
        codes = _OF_STATUS[self.frame.statuses]
        # A node whose saved tensors are freed waits, too, when a pass comes again: what it did was an earlier pass.
        codes[((codes == PENDING) | (codes == FREED)) & self.frame.planned] = PLANNED
        return codes

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """Code of each card."""
        index = self.index
        codes = np.full(len(index.born), IDLE, np.uint8)
        starts = index.node_ptr[:-1]
        some = starts < index.node_ptr[1:]
        if some.any():
            telling = _TELLING[self.node_codes[self._ids]]
            codes[some] = _CODE[np.maximum.reduceat(telling, starts[some])]
        for i in index.results.tolist():
            node = self._maker(i)
            if node is not None and self.node_code(node) == GONE:
                codes[i] = GONE
        codes[index.born > self.frame.step] = HIDDEN
        return codes

    def _maker(self, card: int) -> int | None:
        """The node that made the tensor of a root's card."""
        tensor = self.graph.cards[card].tensor
        known = self.trace.tensor(tensor, self.frame.step) if tensor is not None else None
        return known.node if known is not None else None

    @cached_property
    def _ids(self) -> npt.NDArray[np.int64]:
        ids = self.index.node_ids
        return np.minimum(ids, max(len(self.frame.statuses) - 1, 0))  # the recording may have grown since

    def shares(self, card: int) -> tuple[int, int]:
        """How many of a card's nodes have run, those that are gone since included, and how many there are."""
        ids = self._ids[self.index.node_ptr[card] : self.index.node_ptr[card + 1]]
        codes = self.node_codes[ids]
        ran = np.isin(codes, (DONE, FREED, RUNNING)) | ((codes == GONE) & (self.frame.last_run[ids] >= 0))
        return int(ran.sum()), len(ids)

    def freed(self, node: int) -> bool:
        """Whether a node has let go what it saved."""
        return bool(self._freed[node])

    @cached_property
    def _freed(self) -> npt.NDArray[np.bool_]:
        trace = self.trace
        mark = np.zeros(len(trace.nodes), np.bool_)
        mark[trace.freed_node.view[: np.searchsorted(trace.freed_step.view, self.frame.step, "right")]] = True
        return mark

    def gradient_of(self, card: int) -> tuple[bool, float | None]:
        """Whether a NaN came to the nodes of a card in their latest runs, and the norm of the gradients that came:
        those of its leaves where it holds leaves that have run, else of all its nodes; None before any."""
        ids = self._ids[self.index.node_ptr[card] : self.index.node_ptr[card + 1]]
        last = self.frame.last_run[ids]
        nan, norm = self.runs.of(last)
        leaves = [n for n in ids.tolist() if self.trace.nodes[n].leaf is not None]
        if leaves and (last[np.isin(ids, leaves)] >= 0).any():
            norm = self.runs.of(last[np.isin(ids, leaves)])[1]
        return nan, norm

    def value_index(self, tensor: int | None) -> int | None:
        """Which event tells the value that a tensor has now."""
        values = self.trace.values
        return values[tensor].at(self.frame.step) if tensor is not None and tensor in values else None

    def card_state(self, i: int) -> object:
        """All that the shapes of a card depend on apart from its look, as a value to compare."""
        card = self.graph.cards[i]
        if card.kind == "fold":
            ids = self.index.node_ptr[i]
            last = int(self.frame.last_run[self._ids[ids : self.index.node_ptr[i + 1]]].sum())
            return self.shares(i), last, self.view.language
        nodes = tuple((self.node_code(n), self.freed(n)) for n in card.nodes) if card.kind != "leaf" else ()
        if card.tensor is None:
            return nodes
        trace = self.trace
        value = self.value_index(card.tensor)
        grad = id(self.frame.grad_event(card.tensor)) if card.tensor in trace.grads else None
        seed = self.seeds.get(card.tensor) if card.kind == "result" else None
        return nodes, value, grad, id(seed[0]) if seed else None, card.tensor in self.writes

    @cached_property
    def op(self) -> Op | None:
        """The operation that is this step."""
        return self.event if isinstance(self.event, Op) else None

    @cached_property
    def run(self) -> NodeRan | None:
        """The node's run that is this step."""
        return self.event if isinstance(self.event, NodeRan) else None

    @cached_property
    def seed(self) -> Backward | None:
        """The seed that is this step."""
        return self.event if isinstance(self.event, Backward) else None

    @cached_property
    def writes(self) -> dict[int, Grad]:
        """Tensor -> the change of its `.grad` that belongs to this step."""
        if not isinstance(self.event, NodeRan | Grad):
            return {}
        return {e.tensor: e for e in self.frame.events if isinstance(e, Grad)}

    @cached_property
    def now(self) -> int | None:
        """The card where this step happens."""
        graph, event = self.graph, self.event
        if isinstance(event, NodeRan):
            return self._running(event)
        if isinstance(event, Op):
            card = graph.card_of_op.get(event.id)
            if card is None and event.outputs + event.writes:
                card = self._newest((event.outputs + event.writes)[0])
            return card
        if isinstance(event, Backward):
            return next((c for t in event.tensors for c in graph.cards_of_tensor.get(t, ())), None)
        if isinstance(event, Grad):
            return self._newest(event.tensor)
        return None

    def _newest(self, tensor: int) -> int | None:
        """Of the several cards of a leaf that iterations share, the one in the graph that was built last."""
        cards = self.graph.cards_of_tensor.get(tensor, ())
        return max(
            cards, key=lambda c: (self.index.born[c] <= self.frame.step, self.graph.cards[c].generation), default=None
        )

    def _running(self, event: NodeRan) -> int | None:
        """The card of a node that runs; of a leaf's several cards the one in the graph that the pass goes through."""
        graph = self.graph
        leaf = self.trace.nodes[event.node].leaf
        cards = graph.cards_of_tensor.get(leaf, ()) if leaf is not None else ()
        if len(cards) < 2:
            return graph.card_of_node.get(event.node, cards[0] if cards else None)
        roots = self.trace.passes[event.within].roots if event.within < len(self.trace.passes) else ()
        root = graph.card_of_node.get(roots[0]) if roots else None
        home = graph.cards[root].generation if root is not None else None
        return next((c for c in cards if graph.cards[c].generation == home), cards[0])

    def unfolds(self, key: str) -> str:
        """The key that a fold is unfolded by: of a large stack, the one where the step happens, else its first."""
        card = self.graph.index.get(key)
        fold = self.graph.cards[card].fold if card is not None else None
        if fold is None or not fold.members:
            return key
        if fold.opens:
            return fold.opens
        op = self.op.id if self.op else self.trace.nodes[self.run.node].op if self.run else None
        inside = op is not None and self.now == card
        return fold.members[max(0, bisect_right(fold.starts, op) - 1) if inside and op is not None else 0]

    @cached_property
    def seeds(self) -> dict[int, tuple[Data | None, bool]]:
        """Root tensor -> seed of the latest pass that began there, and whether that pass is under way."""
        begun = int(np.searchsorted(self.trace.pass_step.view, self.frame.step, "right"))
        running = set(self.trace.active_passes(self.frame.step))
        found: dict[int, tuple[Data | None, bool]] = {}
        for item in self.trace.passes[max(0, begun - 64) : begun]:
            for i, tensor in enumerate(item.tensors):
                found[tensor] = (item.seeds[i] if i < len(item.seeds) else None, item.id in running)
        return found

    def node_code(self, node: int) -> int:
        """Code of one node; HIDDEN where the recording does not have it yet."""
        return int(self.node_codes[node]) if node < len(self.node_codes) else HIDDEN

    @cached_property
    def lit(self) -> frozenset[int]:
        """Cards next to the one that is selected or hovered."""
        chosen = {c for c in (self.card(self.view.selection), self.card(self.view.hover)) if c is not None}
        if not chosen:
            return frozenset()
        source, target = self.index.source, self.index.target
        near = np.concatenate([target[np.isin(source, list(chosen))], source[np.isin(target, list(chosen))]])
        return frozenset(near.tolist()) - chosen

    def card(self, key: str | None) -> int | None:
        """Position of the card that a selection key means."""
        return find_card(self.graph, key)


def find_card(graph: Graph, key: str | None) -> int | None:
    """Position of the card that a key means: a card's own, or "node:5", "op:3", "tensor:2"; None where none does."""
    if key is None:
        return None
    if key in graph.index:
        return graph.index[key]
    kind, _, ident = key.partition(":")
    if not ident.isdigit():
        return None
    number = int(ident)
    if kind == "node":
        return graph.card_of_node.get(number)
    if kind == "op":
        return graph.card_of_op.get(number)
    if kind in ("tensor", "leaf", "result"):
        return next(iter(graph.cards_of_tensor.get(number, ())), None)
    return None

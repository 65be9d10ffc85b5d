"""What a window and its layout process say to each other: frames of a length, a letter and bytes. No pickle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np

from gradviz.graph.index import GraphIndex, index_card, wire_boxes
from gradviz.graph.model import Card, Floats, Graph, Layout, Opened, Wire

RECORDING, REQUEST, CANCEL, BEFORE, PROGRESS, ANSWER = b"B", b"R", b"X", b"V", b"P", b"A"
CARDS, WIRES, REST, ARRAY = b"c", b"w", b"r", b"a"
"""The parts of an answer, or of what stood before."""
WIRE_BOXES = "wire boxes"
AT_ONCE = 1000
"""Cards, or wires, in one frame: what is decoded in a few milliseconds."""
HEAD = 5


class Request(msgspec.Struct, array_like=True, frozen=True):
    """Lay the recording out, as far as it was sent."""

    number: int
    mode: str
    folded: tuple[str, ...]
    unfolded: tuple[str, ...]
    keep: bool
    """Known cards keep the places of the last answer, or of what was sent as standing before."""
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with all that its canvas needs."""

    graph: Graph
    layout: Layout
    index: GraphIndex
    boxes: Floats
    """See `wire_boxes`."""


class _Rest(msgspec.Struct, array_like=True):
    """The small fields of an answer."""

    mode: str
    groups: tuple[Opened, ...]
    bounds: tuple[float, float, float, float]
    crossings: int
    seconds: float


_encoder = msgspec.msgpack.Encoder()
_cards = msgspec.msgpack.Decoder(list[Card])
_wires = msgspec.msgpack.Decoder(list[Wire])
_rest = msgspec.msgpack.Decoder(_Rest)
_array = msgspec.msgpack.Decoder(tuple[str, str, tuple[int, ...], bytes])
_LAYOUT = [f.name for f in fields(Layout) if f.name not in ("bounds", "crossings", "seconds")]
_INDEX = [f.name for f in fields(GraphIndex)]


def frame(letter: bytes, content: bytes) -> bytes:
    """One frame."""
    return len(content).to_bytes(4, "big") + letter + content


def encode(thing: Any) -> bytes:
    """A small message."""
    return _encoder.encode(thing)


def parts(graph: Graph, layout: Layout) -> Iterator[bytes]:
    """A graph and its layout as frames."""
    for letter, items in ((CARDS, graph.cards), (WIRES, graph.wires)):
        for k in range(0, len(items), AT_ONCE):
            yield frame(letter, _encoder.encode(items[k : k + AT_ONCE]))
    yield frame(REST, _encoder.encode(_Rest(graph.mode, graph.groups, layout.bounds, layout.crossings, layout.seconds)))
    for name in _LAYOUT:
        yield frame(ARRAY, _packed(name, getattr(layout, name)))
    index = GraphIndex.of(graph)
    for name in _INDEX:
        yield frame(ARRAY, _packed(name, getattr(index, name)))
    yield frame(ARRAY, _packed(WIRE_BOXES, wire_boxes(layout, len(graph.wires))))


def _packed(name: str, array: np.ndarray) -> bytes:
    return _encoder.encode((name, array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()))


class Assembly:
    """Takes the frames of an answer one by one, each in little time."""

    def __init__(self) -> None:
        self._cards: list[Card] = []
        self._wires: list[Wire] = []
        self._arrays: dict[str, np.ndarray] = {}
        self._told: _Rest | None = None
        self._index: dict[str, int] = {}
        self._of_op: dict[int, int] = {}
        self._of_node: dict[int, int] = {}
        self._of_tensor: dict[int, list[int]] = defaultdict(list)

    def take(self, letter: bytes, content: bytes) -> None:
        """Take a part."""
        if letter == CARDS:
            for card in _cards.decode(content):
                index_card(len(self._cards), card, self._index, self._of_op, self._of_node, self._of_tensor)
                self._cards.append(card)
        elif letter == WIRES:
            self._wires += _wires.decode(content)
        elif letter == REST:
            self._told = _rest.decode(content)
        elif letter == ARRAY:
            name, dtype, shape, data = _array.decode(content)
            self._arrays[name] = np.frombuffer(data, dtype).reshape(shape)

    def placed(self) -> Placed:
        """What all parts make together."""
        told = self._told
        assert told is not None
        arrays = self._arrays
        graph = Graph(
            tuple(self._cards), tuple(self._wires), told.mode, told.groups, self._index, self._of_op, self._of_node,
            {tensor: tuple(found) for tensor, found in self._of_tensor.items()},
        )  # fmt: skip
        layout = Layout(
            **{name: arrays[name] for name in _LAYOUT},
            bounds=told.bounds, crossings=told.crossings, seconds=told.seconds,
        )  # fmt: skip
        return Placed(graph, layout, GraphIndex(**{name: arrays[name] for name in _INDEX}), arrays[WIRE_BOXES])

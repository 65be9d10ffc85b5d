"""The values that graph building, layout, scene and canvas hand to one another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

CardKind = Literal["op", "leaf", "node", "result", "fold"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


FoldKind = Literal["module", "line", "loop", "stack", "setup"]


@dataclass(frozen=True, slots=True)
class Fold:
    """What a folded group is, so that any language can say it.

    "module": a module's call, called by the card's title. "line": operations of one line, or of some lines (`lines`).
    "loop": one iteration of a loop; "stack": several alike (iterations, or modules), counted (`numbers`). "setup":
    what code of a library did on a line of the program and no grad_fn came of.
    """

    kind: FoldKind
    lines: tuple[int, int] | None = None
    """First and last line of the program."""
    numbers: tuple[int, int, int] | None = None
    """First and last of those alike that are in it, counted from 1, and how many there are in all."""
    looped: bool = False
    """Those alike are iterations: the same lines ran again."""
    opens: str = ""
    """Key to unfold all that is in it; empty: the card's own."""
    members: tuple[str, ...] = ()
    """For a stack: the keys of those in it..."""
    starts: tuple[int, ...] = ()
    """...and the first operation of each."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An unfolded group: its key, how it is called, and its cards."""

    key: str
    title: str
    fold: Fold
    cards: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One box on the canvas. Its size follows from the recording alone, never from the step.

    "op": upper half the operation, lower half a row for each node of `nodes`. "leaf": a tensor without grad_fn, with a
    `.grad` slot if `slot`. "result": a root or unconsumed named output. "node": one grad_fn node (Autograd view).
    "fold": a group, `count` cards folded into one.
    """

    key: str
    """Stable from one build to the next: "op:3", "leaf:2", "leaf:2@op:7" (a copy beside one user), "node:5",
    "result:4", "fold:blocks.7"."""
    kind: CardKind
    title: str
    detail: str = ""
    """Shape of the result, or what the fold holds."""
    op: int | None = None
    tensor: int | None = None
    nodes: tuple[int, ...] = ()
    """For a leaf: its AccumulateGrad nodes. For a fold: all nodes inside."""
    generation: int = 0
    slot: bool = False
    grid: tuple[int, int] | None = None
    """Rows and columns of heat cells shown for the tensor; None: too large or unknown."""
    ops: tuple[int, ...] = ()
    count: int = 1
    born: int = 0
    """First step at which it exists."""
    width: float = 120.0
    height: float = 40.0
    fold: Fold | None = None
    tensors: tuple[int, ...] = ()
    """For a fold: the leaves and roots whose cards are in it."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A tensor's way from one card to another, with the gradients that go back beside it.

    Ports are distances in pixels from the top of the card: `source_port` on the right side of the source,
    `target_port` on the left side of the target; `grad_from` on the left side of the target (the row of the node that
    sends) and `grad_to` on the right side of the source (the row or slot that receives).
    """

    source: int
    target: int
    tensor: int | None = None
    forward: bool = True
    """Drawn solid from source to target. False: only a gradient passes (Autograd view)."""
    edges: tuple[tuple[int, int], ...] = ()
    """(node, edge number) of each gradient that goes back along it; empty: none does."""
    ghost: bool = False
    """An input that autograd has no edge for (`next_functions` has None)."""
    source_port: float = 0.0
    target_port: float = 0.0
    grad_from: float = 0.0
    grad_to: float = 0.0
    label: tuple[float, float] | None = None
    """Width and height of the heat cells that ride on it, to be kept free of cards; None: nothing rides."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Cards and wires, in order of time."""

    cards: tuple[Card, ...] = ()
    wires: tuple[Wire, ...] = ()
    mode: str = "both"
    groups: tuple[Opened, ...] = ()
    """Unfolded groups, outer ones first."""
    index: dict[str, int] = field(default_factory=dict)
    """Card key -> position in `cards`."""
    card_of_op: dict[int, int] = field(default_factory=dict)
    card_of_node: dict[int, int] = field(default_factory=dict)
    cards_of_tensor: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where cards and wires stand, in pixels, y downwards. Row i belongs to card or wire i of the graph.

    A route is a chain of cubic curves, points p0 c1 c2 p1 c1 c2 p2 ... (3k + 1 of them); wire i has
    `forward_xy[forward_ptr[i]:forward_ptr[i + 1]]` from source to target and the same with `gradient_*` from target
    back to source. No points: that wire has no such route, or is a stub (`stub[i]`), drawn as a port at both ends.
    """

    boxes: Floats
    """Shape (cards, 4): x, y, width, height."""
    forward_ptr: Ints
    forward_xy: Floats
    gradient_ptr: Ints
    gradient_xy: Floats
    stub: npt.NDArray[np.bool_]
    forward_label: Floats
    """Shape (wires, 2): centre of what rides on the forward route, NaN where nothing does."""
    gradient_label: Floats
    groups: Floats
    """Frames of the unfolded groups, shape (groups, 4); all zero where other cards stand among theirs."""
    bounds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """x, y, width, height."""
    crossings: int = 0
    seconds: float = 0.0

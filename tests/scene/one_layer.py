"""The one-layer example as a hand-made recording with a hand-placed layout: what scene and canvas tests stand on."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.graph.model import Card, Graph, Layout, Wire
from gradviz.trace import Trace
from gradviz.trace.events import (
    Backward,
    BackwardEnded,
    Cell,
    Data,
    Ended,
    Fault,
    File,
    Freed,
    Grad,
    Header,
    Named,
    Node,
    NodeRan,
    Op,
    Saved,
    Tensor,
    Value,
)

SOURCE = """import torch

x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward()
"""


def data(value: Any) -> Data:
    array = np.asarray(value, np.float32)
    finite = array[np.isfinite(array)]
    return Data(
        array.shape,
        "float32",
        raw=array.tobytes(),
        nan=int(np.isnan(array).sum()),
        inf=int(np.isinf(array).sum()),
        low=float(finite.min()) if finite.size else None,
        high=float(finite.max()) if finite.size else None,
        norm=float(np.linalg.norm(finite.astype(np.float64))),
    )


class Numbers:
    """The forward and backward values, worked out with numpy."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self.x, self.y = np.ones(5, np.float32), np.zeros(3, np.float32)
        self.w = draw.standard_normal((5, 3)).astype(np.float32)
        self.b = draw.standard_normal(3).astype(np.float32)
        self.h = self.x @ self.w
        self.z = self.h + self.b
        self.loss = np.float32(np.mean(np.log1p(np.exp(self.z))))
        self.gz = (1 / (1 + np.exp(-self.z)) / 3).astype(np.float32)
        self.gw = np.outer(self.x, self.gz).astype(np.float32)


def _maker(i: int, name: str, value: Any, *, grad: bool) -> list[Any]:
    line = i + 3
    return [
        Tensor(i, np.shape(value), requires_grad=grad, storage=i, version=0),
        Op(
            i,
            "randn" if grad else "ones",
            outputs=(i,),
            span=(0, line, 4, line, 20),
            untracked="no_input_requires_grad",
        ),
        Value(i, data(value), 0),
        Named(i, name, (0, line, 0, line, 1)),
    ]


def _forward(n: Numbers) -> list[Any]:
    return [
        Node(0, "AccumulateGrad", inputs=(((5, 3), "float32"),), leaf=2),
        Node(1, "MmBackward0", ((None, 0), (0, 0)), sequence=0, op=4, saved=(Saved("self", "tensor", 0, 0, (5,)),)),
        Node(2, "SqueezeBackward4", ((1, 0),), sequence=1, op=4),
        Tensor(4, (3,), requires_grad=True, is_leaf=False, node=2, op=4, storage=4, version=0),
        Op(4, "matmul", inputs=(0, 2), outputs=(4,), nodes=(1, 2), span=(0, 7, 4, 7, 22)),
        Value(4, data(n.h), 0),
        Node(3, "AccumulateGrad", inputs=(((3,), "float32"),), leaf=3),
        Node(4, "AddBackward0", ((2, 0), (3, 0)), sequence=2, op=5),
        Tensor(5, (3,), requires_grad=True, is_leaf=False, node=4, op=5, storage=5, version=0),
        Op(5, "add", inputs=(4, 3), outputs=(5,), nodes=(4,), span=(0, 7, 4, 7, 26)),
        Value(5, data(n.z), 0),
        Named(5, "z"),
        Node(
            5,
            "BinaryCrossEntropyWithLogitsBackward0",
            ((4, 0),),
            sequence=3,
            op=6,
            saved=(Saved("self", "tensor", 5, 0, (3,)), Saved("target", "tensor", 1, 0, (3,))),
        ),
        Tensor(6, (), requires_grad=True, is_leaf=False, node=5, op=6, storage=6, version=0),
        Op(6, "bce_with_logits", inputs=(5, 1), outputs=(6,), nodes=(5,), span=(0, 8, 7, 8, 60)),
        Value(6, data(n.loss), 0),
        Named(6, "loss"),
    ]


def _pass(i: int, n: Numbers, *, retain: bool) -> list[Any]:
    gz, gw, add = data(n.gz), data(n.gw), i + 1
    before_b, before_w = (data(n.gz * i), data(n.gw * i)) if i else (None, None)
    freed = [] if retain else [Freed(5, i), Freed(1, i)]
    return [
        Backward(
            i,
            roots=(5,),
            root_inputs=(0,),
            tensors=(6,),
            seeds=(data(1.0),),
            implicit=(True,),
            retain_graph=retain,
            planned=(5, 4, 3, 2, 1, 0),
            span=(0, 9 + i, 0, 9 + i, 15),
        ),
        NodeRan(i, 5, (data(1.0),), (gz,)),
        *freed[:1],
        NodeRan(i, 4, (gz,), (gz, gz)),
        NodeRan(i, 3, (gz,), ()),
        Grad(3, "accumulate", before_b, gz, data(n.gz * add), within=i, node=3),
        NodeRan(i, 2, (gz,), (data(n.gz[None]),)),
        NodeRan(i, 1, (data(n.gz[None]),), (None, gw)),
        *freed[1:],
        NodeRan(i, 0, (gw,), ()),
        Grad(2, "accumulate", before_w, gw, data(n.gw * add), within=i, node=0),
        BackwardEnded(i),
    ]


def recording(passes: int = 1, *, retain: bool = True, fault: bool = False) -> Trace:
    """Seven forward steps, then `passes` passes of seven steps each; with `fault`, one more pass that fails at once."""
    n = Numbers()
    events: list[Any] = [Header(program="one_layer.py", source=SOURCE), File(0, "one_layer.py", SOURCE), Cell(0, 0)]
    for i, (name, grad) in enumerate((("x", False), ("y", False), ("w", True), ("b", True))):
        events += _maker(i, name, getattr(n, name), grad=grad)
    events += _forward(n)
    for i in range(passes):
        events += _pass(i, n, retain=retain)
    if fault:
        events += [
            Backward(
                passes, (5,), (0,), (6,), (data(1.0),), (True,), planned=(5, 4, 3, 2, 1, 0), span=(0, 10, 0, 10, 15)
            ),
            Fault(
                0,
                "RuntimeError",
                "Trying to backward through the graph a second time.",
                code="freed_graph",
                node=5,
                within=passes,
                span=(0, 10, 0, 10, 15),
            ),
            BackwardEnded(passes, error=True),
        ]
    events.append(Ended(0, "error" if fault else "ok"))
    return Trace(events)


_CARDS = (
    (Card("leaf:0", "leaf", "x", "(5,)", tensor=0, grid=(1, 5), born=1), (40, 60, 88, 52)),
    (Card("leaf:2", "leaf", "w", "(5, 3)", tensor=2, nodes=(0,), slot=True, grid=(5, 3), born=3), (40, 190, 96, 200)),
    (Card("op:4", "op", "matmul", "(3,)", op=4, tensor=4, nodes=(1, 2), ops=(4,), born=5), (180, 170, 190, 92)),
    (Card("leaf:3", "leaf", "b", "(3,)", tensor=3, nodes=(3,), slot=True, grid=(1, 3), born=4), (240, 410, 96, 94)),
    (Card("op:5", "op", "add", "(3,)", op=5, tensor=5, nodes=(4,), ops=(5,), born=6), (470, 190, 160, 66)),
    (Card("leaf:1", "leaf", "y", "(3,)", tensor=1, grid=(1, 3), born=2), (470, 460, 88, 52)),
    (Card("op:6", "op", "bce_with_logits", "()", op=6, tensor=6, nodes=(5,), ops=(6,), born=7), (730, 190, 240, 66)),
    (Card("result:6", "result", "loss", "()", tensor=6, grid=(1, 1), born=7), (1030, 190, 64, 66)),
)
_WIRES = (
    Wire(0, 2, 0, ghost=True, source_port=38, target_port=14),
    Wire(1, 2, 2, edges=((1, 1),), source_port=90, target_port=24, grad_from=45, grad_to=150),
    Wire(2, 4, 4, edges=((4, 0),), source_port=14, target_port=10, grad_from=45, grad_to=70, label=(60, 22)),
    Wire(3, 4, 3, edges=((4, 1),), source_port=40, target_port=20, grad_from=52, grad_to=74, label=(60, 22)),
    Wire(4, 6, 5, edges=((5, 0),), source_port=14, target_port=14, grad_from=45, grad_to=45, label=(60, 22)),
    Wire(5, 6, 1, ghost=True, source_port=38, target_port=22),
    Wire(6, 7, 6, source_port=14, target_port=14, grad_from=45, grad_to=45),
)


def _curve(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float]]:
    middle = (x0 + x1) / 2
    return [(x0, y0), (middle, y0), (middle, y1), (x1, y1)]


def placed() -> tuple[Graph, Layout]:
    """Cards and wires in the places of the design picture."""
    cards = tuple(
        Card(
            **{
                **{f: getattr(c, f) for f in c.__slots__},
                "width": float(box[2]),
                "height": float(box[3]),
            }
        )
        for c, box in _CARDS
    )
    graph = Graph(
        cards,
        _WIRES,
        index={c.key: i for i, c in enumerate(cards)},
        card_of_op={o: i for i, c in enumerate(cards) for o in c.ops},
        card_of_node={n: i for i, c in enumerate(cards) for n in c.nodes},
        cards_of_tensor={c.tensor: (i,) for i, c in enumerate(cards) if c.kind != "op" and c.tensor is not None},
    )
    boxes = np.asarray([box for _, box in _CARDS], np.float64)
    forward, gradient = [], []
    for wire in _WIRES:
        s, t = boxes[wire.source], boxes[wire.target]
        forward.append(_curve(s[0] + s[2], s[1] + wire.source_port, t[0], t[1] + wire.target_port))
        back = bool(wire.edges) or wire.target == 7
        gradient.append(_curve(t[0], t[1] + wire.grad_from, s[0] + s[2], s[1] + wire.grad_to) if back else [])
    label = np.full((len(_WIRES), 2), np.nan)
    grad_label = label.copy()
    for i, wire in enumerate(_WIRES):
        if wire.label:
            label[i] = np.asarray(forward[i]).mean(0) - np.asarray([0.0, 30.0])
            grad_label[i] = np.asarray(gradient[i]).mean(0) + np.asarray([0.0, 22.0])
    return graph, Layout(
        boxes,
        _pointers(forward),
        np.asarray([p for route in forward for p in route], np.float64),
        _pointers(gradient),
        np.asarray([p for route in gradient for p in route], np.float64),
        np.zeros(len(_WIRES), np.bool_),
        label,
        grad_label,
        np.zeros((0, 4)),
        (40.0, 60.0, 1054.0, 452.0),
    )


def _pointers(routes: list[list[tuple[float, float]]]) -> Any:
    return np.cumsum([0, *(len(r) for r in routes)]).astype(np.int64)

"""Recordings of any length, and a measure of work that no other program on the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gradviz.trace import Trace
from gradviz.trace.events import (
    Backward,
    BackwardEnded,
    Cell,
    Ended,
    Event,
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
)

SOURCE = """import torch
w = torch.ones(3, requires_grad=True)
for _ in range(K):
    loss = (w * w).sum()
    w.grad = None
    loss.backward()
"""


def loop(times: int) -> Trace:
    """What the recorder would write of that program, without numbers: five steps and a few names each time around."""
    events: list[Event] = [Header(program="loop.py", source=SOURCE), File(0, "loop.py", SOURCE), Cell(0, 0)]
    events += [Op(0, "ones", outputs=(0,), span=(0, 2, 4, 2, 37)), Tensor(0, (3,), requires_grad=True), Named(0, "w")]
    events += [Node(0, "AccumulateGrad", leaf=0)]
    for k in range(times):
        mul, total, op, at = 1 + 2 * k, 2 + 2 * k, 1 + 2 * k, (0, 4, 11, 4, 16)
        kept = Saved("self", "tensor", tensor=0)
        events += [Op(op, "mul", inputs=(0, 0), outputs=(mul,), nodes=(mul,), span=at)]
        events += [Node(mul, "MulBackward0", ((0, 0), (0, 0)), sequence=mul, op=op, saved=(kept,))]
        events += [Tensor(mul, (3,), requires_grad=True, is_leaf=False, node=mul, op=op)]
        events += [Op(op + 1, "sum", inputs=(mul,), outputs=(total,), nodes=(total,), span=(0, 4, 11, 4, 24))]
        events += [Node(total, "SumBackward0", ((mul, 0),), sequence=total, op=op + 1)]
        events += [Tensor(total, (), requires_grad=True, is_leaf=False, node=total, op=op + 1), Named(total, "loss")]
        plan = (total, mul, 0)
        events += [
            Backward(k, roots=(total,), planned=plan, tensors=(total,), span=(0, 6, 4, 6, 19), text="loss.backward()")
        ]
        events += [NodeRan(k, node) for node in plan[:2]] + [Freed(mul), NodeRan(k, 0)]
        events += [Grad(0, "accumulate", within=k, node=0), BackwardEnded(k)]
    return Trace([*events, Ended(0, final=True)])


def work(call: Callable[[], Any]) -> int:
    """How many instructions of Python a call carries out. Loops inside of C count as one."""
    count = 0

    def tell(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return tell

    before = sys.gettrace()
    sys.settrace(tell)
    try:
        call()
    finally:
        sys.settrace(before)
    return count

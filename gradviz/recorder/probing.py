"""Measuring a program from outside: a copy of it runs with one element of a leaf nudged, as far as one of its passes.

There the value of the roots, weighted with v, and on demand the rows of the Jacobian are written to a report, and the
process ends: nothing after the pass runs again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import torch

from gradviz.recorder.core import Off
from gradviz.recorder.tensors import Entry

MOST_ROWS, MOST_COLUMNS = 8, 64
"""Largest Jacobian that is measured: elements of the root, elements of the leaf."""


class Probing(msgspec.Struct, frozen=True):
    """What to do, as `--probe` gives it in JSON. Ids are those of the recording that the copy repeats."""

    within: int
    """The pass at which to measure."""
    tensor: int
    after: int = -1
    """The nudge comes when this operation is over, the last write to the tensor; -1: when it is first seen."""
    element: int = 0
    """In C order."""
    delta: float = 0.0
    lens: bool = False
    report: str = ""
    """File to write to."""


class Probe:
    """One measurement; its methods are called around each operation and before each pass. `end` leaves the program."""

    def __init__(self, asked: Probing, end: Callable[[], NoReturn] | None = None) -> None:
        self.asked = asked
        self._end = end or _leave
        self._leaf: Any = None
        self._nudged: tuple[float, float] | None = None

    def operation(self, count: int, known: Iterable[Entry]) -> None:
        """Nudge the element as soon as its tensor is among these, with `count` operations told."""
        if self._leaf is not None or count <= self.asked.after:
            return
        entry = next((e for e in known if e.id == self.asked.tensor), None)
        tensor = None if entry is None else entry.ref()
        if tensor is not None:
            self._leaf = tensor
            if self.asked.delta:
                self._nudge(tensor)

    def _nudge(self, tensor: Any) -> None:
        with Off():
            content = tensor.data  # its writes move no version counter: no node takes notice
            place = torch.unravel_index(torch.tensor(self.asked.element), content.shape) if content.dim() else ()
            before = content[place].item()
            content[place] = before + self.asked.delta
            self._nudged = float(before), float(content[place].item())

    def passing(self, number: int, real: Any, args: tuple[Any, ...]) -> None:
        """Measure before the pass that is asked for, then end the process."""
        if number != self.asked.within:
            return
        told: dict[str, Any] = {"nudged": self._nudged}
        try:
            outputs, grads = tuple(args[0]), tuple(args[1])
            with Off(), torch.no_grad():
                told["objective"] = sum(_weighted(o, g) for o, g in zip(outputs, grads, strict=True))
            told["nodes"] = _names(outputs)
            if self.asked.lens and self._leaf is not None:
                with Off():
                    told |= _jacobian(real, outputs, grads, self._leaf)
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}"[:300]
        Path(self.asked.report).write_text(json.dumps(told), "utf-8")
        self._end()


def _leave() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def _weighted(output: torch.Tensor, grad: torch.Tensor) -> float:
    return float((output.detach().to("cpu", torch.float64) * grad.to("cpu", torch.float64)).sum())


def _names(outputs: tuple[Any, ...]) -> list[str]:
    """Names of the nodes that the roots reach, sorted: another way through the program has others."""
    seen: set[Any] = set()
    stack = [output.grad_fn for output in outputs]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [below for below, _ in node.next_functions]
    return sorted(node.name() for node in seen)


def _jacobian(real: Any, outputs: tuple[Any, ...], grads: tuple[Any, ...], leaf: Any) -> dict[str, Any]:
    """Rows of the Jacobian of the only root by the leaf, one for each one-hot v, and the v of the pass."""
    if len(outputs) != 1 or outputs[0].numel() > MOST_ROWS or leaf.numel() > MOST_COLUMNS:
        return {}
    rows = []
    for k in range(outputs[0].numel()):
        hot = torch.zeros_like(grads[0]).contiguous()
        hot.view(-1)[k] = 1
        (row,) = real.run_backward(outputs, (hot,), True, False, (leaf,), allow_unreachable=True, accumulate_grad=False)
        flat = torch.zeros(leaf.numel()) if row is None else row.detach().to("cpu", torch.float64).reshape(-1)
        rows.append([float(x) for x in flat])
    return {"jacobian": rows, "v": [float(x) for x in grads[0].detach().to("cpu", torch.float64).reshape(-1)]}

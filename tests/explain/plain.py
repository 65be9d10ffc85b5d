"""A program of single lines, run by PyTorch alone, with what it held after each line and what its engine did."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib
import linecache
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from gradviz.recorder import record
from gradviz.trace import Trace

PREAMBLE = ["import torch", "torch.manual_seed(0)"]


@dataclass
class Run:
    """A node that the engine ran: its name, its leaf's name, what came in and went out; not `done` where it raised."""

    name: str
    leaf: str | None
    gin: list[Any] = field(default_factory=list)
    gout: list[Any] = field(default_factory=list)
    done: bool = False


@dataclass
class Line:
    """What PyTorch held when a line was over. `steps` is the number of the recording's last step by then."""

    steps: int
    error: str | None
    runs: list[Run]
    held: dict[str, dict[str, Any]]
    alive: bool | None
    """Whether every node below the newest root can still read what it saved; None without a root."""
    nodes: int
    """Nodes below that root, AccumulateGrad not counted."""


def _nodes(root: Any) -> list[Any]:
    found, queue = [], [root.grad_fn] if root.grad_fn is not None else []
    while queue:
        node = queue.pop()
        if node is not None and node not in found:
            found.append(node)
            queue += [n for n, _ in node.next_functions]
    return found


def _array(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy().copy()


def _watch(space: dict[str, Any], root: Any, handles: list[Any]) -> list[Run]:
    """Note every node that the next pass from a root runs, in the engine's order; `handles` end that."""
    runs: list[Run] = []
    for node in _nodes(root):
        leaf = next((k for k, t in space.items() if t is getattr(node, "variable", space)), None)

        def before(gin: Any, node: Any = node, leaf: str | None = leaf) -> None:
            runs.append(Run(node.name(), leaf, [_array(g) for g in gin]))

        def after(gout: Any, gin: Any) -> None:
            runs[-1].gout, runs[-1].done = [_array(g) for g in gout], True

        handles += [node.register_prehook(before), node.register_hook(after)]
    return runs


def _alive(root: Any) -> bool:
    try:
        for node in _nodes(root):
            for name in dir(node):
                if name.startswith("_saved_"):
                    getattr(node, name)
    except RuntimeError:
        return False
    return True


def _held(space: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, tensor in space.items():
            if isinstance(tensor, torch.Tensor) and not tensor.is_inference():
                found[name] = {
                    "grad": _array(tensor.grad),
                    "is_leaf": tensor.is_leaf,
                    "requires_grad": tensor.requires_grad,
                    "grad_fn": tensor.grad_fn.name() if tensor.grad_fn is not None else "None",
                    "version": tensor._version,
                }
    return found


def _play(lines: list[str], recording: Any = None) -> list[Line]:
    space: dict[str, Any] = {}
    told: list[Line] = []
    root: Any = None
    for number, line in enumerate(PREAMBLE + lines):
        name = f"<asked line {number}>"
        linecache.cache[name] = len(line), None, [line + "\n"], name
        runs: list[Run] = []
        handles: list[Any] = []
        if ".backward(" in line and recording is None:
            with contextlib.suppress(Exception):
                root = eval(line.partition(".backward(")[0].strip(), space)
                runs = _watch(space, root, handles)
        error = None
        try:
            exec(compile(line, name, "exec"), space)
        except (RuntimeError, AttributeError, IndexError, TypeError) as raised:
            error = str(raised)
        for handle in handles:
            handle.remove()
        if recording is not None:
            recording._recorder.core.journal.settle(caught=True)
        held = _held(space) if recording is None else {}
        alive = _alive(root) if root is not None else None
        nodes = sum(n.name() != "torch::autograd::AccumulateGrad" for n in _nodes(root)) if root is not None else 0
        told.append(Line(recording.trace.steps if recording else 0, error, runs, held, alive, nodes))
    return told


def both(lines: list[str]) -> tuple[Trace, list[Line]]:
    """The recording of a program, and the plain run of it, each line with the step it ended at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = _play(lines)
        recording = record(values="all")
        with recording:
            noted = _play(lines, recording)
    assert recording.problems == []
    for one, other in zip(plain, noted, strict=True):
        one.steps = other.steps
    return recording.trace, plain


def line_at(plain: list[Line], step: int) -> int:
    """Position of the line that a step belongs to."""
    return next(k for k, line in enumerate(plain) if line.steps >= step)


def short(name: str) -> str:
    """A node's name without its namespace."""
    return name.rpartition("::")[2]


def same(told: Any, real: Any) -> bool:
    """The same numbers, bit for bit."""
    return bool(np.array_equal(np.asarray(told, np.asarray(real).dtype), real, equal_nan=True))

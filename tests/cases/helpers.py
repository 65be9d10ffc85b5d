"""Short ways to record a few lines and to ask a recording about them."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from gradviz.recorder import record
from gradviz.trace import Trace
from gradviz.trace.events import Fault, Grad, Node, NodeRan, Op, Warn


def recorded(program: Callable[[], Any], values: str = "all") -> tuple[Trace, Any]:
    """The recording of a program that works, and what it returned."""
    recording = record(values=values)
    with warnings.catch_warnings(), recording:
        warnings.simplefilter("ignore")
        result = program()
    assert recording.problems == []
    return recording.trace, result


def fails(program: Callable[[], Any]) -> tuple[Trace, Fault]:
    """The recording of a program that raises, and its last fault; the exception is that of a plain run."""
    plain = caught(program)
    recording = record(values="all")
    seen = caught(lambda: _inside(recording, program))
    assert plain is not None
    assert seen is not None
    assert (type(seen), str(seen)) == (type(plain), str(plain))
    assert recording.problems == []
    return recording.trace, recording.trace.faults[-1]


def _inside(recording: Any, program: Callable[[], Any]) -> None:
    with recording:
        program()


def caught(program: Callable[[], Any]) -> Exception | None:
    with quiet():
        try:
            program()
        except Exception as error:
            return error
    return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def op(trace: Trace, name: str) -> Op:
    """The last operation of a name."""
    return [o for o in trace.ops if o.name == name][-1]


def node(trace: Trace, name: str) -> Node:
    """The last node whose name begins so."""
    return [n for n in trace.nodes if n.name.startswith(name)][-1]


def runs(trace: Trace, name: str) -> list[NodeRan]:
    """The runs of nodes whose name begins so."""
    return [e for e in trace.events if isinstance(e, NodeRan) and trace.nodes[e.node].name.startswith(name)]


def grads(trace: Trace, name: str) -> list[Grad]:
    """The changes of the `.grad` of the tensor that a name means at the end."""
    return [e for e in trace.events if isinstance(e, Grad) and e.tensor == trace.named(name)]


def warned(trace: Trace, code: str) -> list[Warn]:
    return [w for w in trace.warnings if w.code == code]


def line(event: Any) -> str:
    """The text that an event stands at."""
    return str(event.text)


def same(told: Any, real: torch.Tensor | None) -> bool:
    """Equal to the bit, None for None."""
    if told is None or real is None:
        return told is None and real is None
    dense = real.detach().to_dense() if real.layout is not torch.strided else real.detach()
    return bool(told.shape == tuple(dense.shape) and np.array_equal(told, dense.resolve_conj().numpy(), equal_nan=True))


def end(trace: Trace) -> Any:
    return trace.at(trace.steps)

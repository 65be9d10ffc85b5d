"""What a recording holds, as one object of plain values: the answer of `gradviz info --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradviz.trace import Frame, NotCaptured, Trace, to_numpy
from gradviz.trace.events import BackwardEnded, Data, Fault, Node, Span, Tensor

Plain = dict[str, Any]


def describe(trace: Trace, step: int | None = None) -> Plain:
    """The recording as plain values; leaves as they are at `step` (at the end by default).

    `ops` is a count, lines count from 1, ids are the recording's. A complex number is written as [real, imaginary].
    """
    return {
        "format": list(trace.header.format),
        "torch": trace.header.versions.get("torch"),
        "device": trace.header.device,
        "complete": trace.complete,
        "steps": trace.steps,
        "ops": len(trace.ops),
        "nodes": [_node(trace, node) for node in trace.nodes],
        "passes": list(_passes(trace)),
        "leaves": list(_leaves(trace.at(trace.steps if step is None else step))),
        "faults": [_fault(fault) for fault in trace.faults],
        "warnings": [
            {"code": w.code, "message": w.message, "line": line(w.span), "node": w.node} for w in trace.warnings
        ],
        "output": "".join(event.text for event in trace.outputs),
    }


def line(span: Span | None) -> int | None:
    """First line of a span, or None where there is none."""
    return span[1] if span is not None and span[1] > 0 else None


def node_line(trace: Trace, node: Node) -> int | None:
    """The line whose operation left a node behind."""
    known = node.op is not None and node.op < len(trace.ops)
    return line(trace.ops[node.op].span) if known and node.op is not None else None


def _node(trace: Trace, node: Node) -> Plain:
    return {
        "id": node.id,
        "name": node.name,
        "line": node_line(trace, node),
        "op": node.op,
        "next": [list(edge) for edge in node.edges],
        "parent": node.parent,
    }


def _passes(trace: Trace) -> Iterator[Plain]:
    failed = {event.id for event in trace.events if isinstance(event, BackwardEnded) and event.error}
    for one in trace.passes:
        yield {
            "roots": list(one.roots),
            "parent": one.parent,
            "retain_graph": one.retain_graph,
            "create_graph": one.create_graph,
            "order": trace.order(one.id),
            "error": _error(trace, one.id, failed),
        }


def _error(trace: Trace, pass_id: int, failed: set[int]) -> int | None:
    """The fault that ended a pass: its own, else that of a pass inside it."""
    own = [fault.id for fault in trace.faults if fault.within == pass_id]
    if own:
        return own[-1]
    if pass_id not in failed:
        return None
    inner = [_error(trace, one.id, failed) for one in trace.passes if one.parent == pass_id]
    return next((fault for fault in reversed(inner) if fault is not None), None)


def _leaves(frame: Frame) -> Iterator[Plain]:
    trace = frame.trace
    fed = {tensor for event in trace.ops for tensor in event.inputs}
    for ident in sorted(trace.tensors):
        tensor = trace.tensor(ident, frame.step)
        if tensor is None or ident in trace.grad_tensors or not _counts(trace, tensor, fed):
            continue
        grad, captured = _grad(frame, ident)
        yield {
            "name": trace.name(ident),
            "names": list(trace.names_of.get(ident, ())),
            "shape": list(tensor.shape),
            "dtype": tensor.dtype,
            "is_leaf": tensor.is_leaf,
            "requires_grad": tensor.requires_grad,
            "grad": grad,
            "grad_captured": captured,
        }


def _counts(trace: Trace, tensor: Tensor, fed: set[int]) -> bool:
    if not tensor.is_leaf:
        return tensor.retains_grad
    return tensor.requires_grad or tensor.id in fed or bool(trace.names_of.get(tensor.id))


def _grad(frame: Frame, tensor: int) -> tuple[Any, bool]:
    data = frame.grad_data(tensor)
    if data is None:
        return None, True
    nested = nested_list(data)
    return nested, nested is not None


def nested_list(data: Data) -> Any:
    """Content of a tensor as nested lists, dense; None where it was not captured."""
    try:
        array = to_numpy(data)
    except NotCaptured:
        return None
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    return array.tolist()


def _fault(fault: Fault) -> Plain:
    return {
        "type": fault.type,
        "message": fault.message,
        "line": line(fault.span),
        "node": fault.node,
        "kind": fault.code,
    }


def summary(trace: Trace) -> str:
    """The same for people, some lines of text."""
    header = trace.header
    rows = [
        ("program", header.program or "(recorded inside another program)"),
        ("torch", f"{header.versions.get('torch', 'unknown')} on {header.device}"),
        ("steps", str(trace.steps)),
        ("operations", str(len(trace.ops))),
        ("nodes", str(len(trace.nodes))),
        ("backward passes", str(len(trace.passes))),
        ("leaves", _leaf_names(trace)),
    ]
    rows += [("fault", f"{one.type} at line {line(one.span) or '?'}: {_first(one.message)}") for one in trace.faults]
    rows += [("warning", f"{one.code}: {_first(one.message)}") for one in trace.warnings]
    if trace.damage:
        rows.append(("damage", trace.damage))
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in rows)


def _leaf_names(trace: Trace) -> str:
    found = [leaf for leaf in _leaves(trace.at(trace.steps)) if leaf["requires_grad"] and leaf["is_leaf"]]
    shown = [str(leaf["name"] or "?") for leaf in found[:8]]
    more = f" and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    return (", ".join(shown) + more) or "none that requires grad"


def _first(message: str) -> str:
    return message.strip().split("\n", 1)[0]

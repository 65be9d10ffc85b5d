"""The autograd graph at a step as GraphML, for yEd, Gephi and networkx."""

from __future__ import annotations

from gradviz.export.info import node_line
from gradviz.export.svg import fit
from gradviz.graph.networks import graphml
from gradviz.trace import Frame, Trace
from gradviz.trace.events import Node


def to_graphml(trace: Trace, step: int) -> str:
    """Nodes that were born by `step` with name, status, line, op id and leaf name; edges with their input number."""
    frame = trace.at(step)
    return graphml(trace, {n.id: _facts(frame, n) for n in trace.nodes if frame.status(n.id) != "not born"})


def _facts(frame: Frame, node: Node) -> dict[str, str | int]:
    facts = {
        "name": node.name,
        "status": frame.status(node.id),
        "line": node_line(frame.trace, node),
        "op": node.op,
        "leaf": frame.trace.name(node.leaf) if node.leaf is not None else None,
    }
    return {key: fit(v) if isinstance(v, str) else v for key, v in facts.items() if v is not None}

"""The autograd graph at a step in Graphviz's language: exactly the nodes and edges of `next_functions`."""

from __future__ import annotations

from gradviz.export.info import node_line
from gradviz.trace import Frame, Status, Trace
from gradviz.trace.events import Node

_LOOKS: dict[Status, str] = {
    "not born": "",
    "pending": 'color="#6B6B6B"',
    "running": 'color="#C05300", penwidth=3',
    "done": 'color="#C05300"',
    "freed": 'color="#8A6D00", style="rounded,dashed"',
    "gone": 'color="#6B6B6B", style="rounded,dotted"',
    "failed": 'color="#B3261E", penwidth=3',
}


def to_dot(trace: Trace, step: int) -> str:
    """Nodes that were born by `step`, coloured and labelled by their status then. Edges run from a node to the ones
    that receive its gradients, labelled with the input number where that is not 0."""
    frame = trace.at(step)
    born = [node for node in trace.nodes if frame.status(node.id) != "not born"]
    lines = ["digraph autograd {", '  node [shape=box, style=rounded, fontname="monospace"];']
    lines += [f"  n{node.id} [{_node(frame, node)}];" for node in born]
    lines += [
        f"  n{node.id} -> n{target}{f' [label={number}]' if number else ''};"
        for node in born
        for target, number in node.edges
        if target is not None
    ]
    return "\n".join([*lines, "}", ""])


def _node(frame: Frame, node: Node) -> str:
    status = frame.status(node.id)
    parts = [node.name]
    name = frame.trace.name(node.leaf) if node.leaf is not None else None
    if name:
        parts.append(name)
    where = node_line(frame.trace, node)
    if where:
        parts.append(f"line {where}")
    label = "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in parts)
    return f'label="{label}", tooltip="{status}", {_LOOKS[status]}'

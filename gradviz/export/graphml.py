"""The autograd graph at a step as GraphML, for yEd, Gephi and networkx."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from gradviz.export.info import node_line
from gradviz.trace import Frame, Trace
from gradviz.trace.events import Node

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_KEYS = (
    ("name", "node", "string"),
    ("status", "node", "string"),
    ("line", "node", "int"),
    ("op", "node", "int"),
    ("leaf", "node", "string"),
    ("input", "edge", "int"),
)


def to_graphml(trace: Trace, step: int) -> str:
    """Nodes that were born by `step` with name, status, line, op id and leaf name; edges with their input number."""
    frame = trace.at(step)
    root = ET.Element("graphml", {"xmlns": _NAMESPACE})
    for name, owner, kind in _KEYS:
        ET.SubElement(root, "key", {"id": name, "for": owner, "attr.name": name, "attr.type": kind})
    graph = ET.SubElement(root, "graph", {"id": "autograd", "edgedefault": "directed"})
    born = [node for node in trace.nodes if frame.status(node.id) != "not born"]
    for node in born:
        _data(ET.SubElement(graph, "node", {"id": f"n{node.id}"}), _facts(frame, node))
    count = 0
    for node in born:
        for target, number in node.edges:
            if target is not None:
                edge = {"id": f"e{count}", "source": f"n{node.id}", "target": f"n{target}"}
                _data(ET.SubElement(graph, "edge", edge), {"input": number})
                count += 1
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _facts(frame: Frame, node: Node) -> dict[str, str | int | None]:
    return {
        "name": node.name,
        "status": frame.status(node.id),
        "line": node_line(frame.trace, node),
        "op": node.op,
        "leaf": frame.trace.name(node.leaf) if node.leaf is not None else None,
    }


def _data(element: ET.Element, facts: dict[str, str | int | None]) -> None:
    for key, value in facts.items():
        if value is not None:
            ET.SubElement(element, "data", {"key": key}).text = str(value)

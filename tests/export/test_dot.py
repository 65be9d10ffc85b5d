"""Graphviz text: the nodes that were born and their edges, no more."""

from __future__ import annotations

import re

from gradviz.export.dot import to_dot
from tests.scene.one_layer import recording


def test_nodes_and_edges_are_those_of_the_trace() -> None:
    trace = recording()
    dot = to_dot(trace, trace.steps)
    assert {int(n) for n in re.findall(r"^  n(\d+) \[", dot, re.MULTILINE)} == {node.id for node in trace.nodes}
    edges = sorted((int(a), int(b)) for a, b in re.findall(r"n(\d+) -> n(\d+)", dot))
    assert edges == sorted((node.id, to) for node in trace.nodes for to, _ in node.edges if to is not None)


def test_nothing_is_born_at_the_start() -> None:
    assert "->" not in to_dot(recording(), 0)


def test_status_is_told() -> None:
    trace = recording()
    assert 'tooltip="freed"' in to_dot(trace, trace.steps) or 'tooltip="done"' in to_dot(trace, trace.steps)
    assert 'tooltip="done"' not in to_dot(trace, 3)

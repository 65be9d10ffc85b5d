"""GraphML, read back by networkx."""

from __future__ import annotations

import networkx as nx

from gradviz.export.graphml import to_graphml
from tests.scene.one_layer import recording


def test_networkx_reads_the_graph_back() -> None:
    trace = recording()
    graph = nx.parse_graphml(to_graphml(trace, trace.steps), force_multigraph=True)
    assert {data["name"] for _, data in graph.nodes(data=True)} == {node.name for node in trace.nodes}
    edges = sorted((a, b, data["input"]) for a, b, data in graph.edges(data=True))
    assert edges == sorted(
        (f"n{node.id}", f"n{to}", number) for node in trace.nodes for to, number in node.edges if to is not None
    )


def test_an_early_step_has_fewer_nodes() -> None:
    trace = recording()
    early = nx.parse_graphml(to_graphml(trace, 0))
    assert len(early) == 0

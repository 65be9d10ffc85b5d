"""The recorded graph as networkx has it, for whoever works with that. networkx does not draw here."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

from gradviz.trace import Trace

Facts = Mapping[str, str | int]


def networkx_of(trace: Trace, facts: Mapping[int, Facts]) -> nx.MultiDiGraph:
    """The `next_functions` graph of the nodes in `facts`, called "n5" and so on, with their facts as attributes: from
    each an edge to every node that receives a gradient of it, whose `input` is the number it arrives at."""
    graph = nx.MultiDiGraph()
    for ident, told in facts.items():
        graph.add_node(f"n{ident}", **told)
    for ident in facts:
        for target, number in trace.nodes[ident].edges:
            if target is not None:
                graph.add_edge(f"n{ident}", f"n{target}", input=number)
    return graph


def graphml(trace: Trace, facts: Mapping[int, Facts]) -> str:
    """`networkx_of` as a GraphML document."""
    lines = nx.generate_graphml(networkx_of(trace, facts), named_key_ids=True)
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *lines, ""])

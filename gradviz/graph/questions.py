"""Questions on the recorded graph, answered by networkx."""

from __future__ import annotations

import networkx as nx

from gradviz.trace import Trace


def networkx_of(trace: Trace) -> nx.DiGraph:
    """The `next_functions` graph: node ids with `name`, an edge from each node to what it sends gradients to."""
    graph = nx.DiGraph()
    for node in trace.nodes:
        graph.add_node(node.id, name=node.name)
        graph.add_edges_from((node.id, target) for target, _ in node.edges if target is not None)
    return graph


def reached_leaves(trace: Trace, root: int) -> set[int]:
    """Tensors whose AccumulateGrad a pass from the node `root` reaches."""
    graph = networkx_of(trace)
    reached = nx.descendants(graph, root) | {root}
    return {leaf for n in reached if (leaf := trace.nodes[n].leaf) is not None}


def path_to_leaf(trace: Trace, root: int, leaf: int) -> list[int] | None:
    """Nodes on a shortest way from `root` to the AccumulateGrad of tensor `leaf`; None where there is none."""
    ends = {n.id for n in trace.nodes if n.leaf == leaf}
    lengths, paths = nx.single_source_dijkstra(networkx_of(trace), root, weight=None)
    near = [n for n in ends if n in lengths]
    return list(paths[min(near, key=lengths.__getitem__)]) if near else None

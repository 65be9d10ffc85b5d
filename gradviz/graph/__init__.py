"""Trace -> graph -> folded groups -> layout. networkx answers questions about the graph; it does not draw."""

from gradviz.graph.build import build
from gradviz.graph.layout import lay_out
from gradviz.graph.model import Card, Graph, Layout, Wire
from gradviz.graph.questions import networkx_of, path_to_leaf, reached_leaves

__all__ = ["Card", "Graph", "Layout", "Wire", "build", "lay_out", "networkx_of", "path_to_leaf", "reached_leaves"]

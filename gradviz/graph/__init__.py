"""Trace -> graph -> folded groups -> layout. `networks` hands the graph to networkx, which does not draw."""

from gradviz.graph.build import build
from gradviz.graph.layout import lay_out
from gradviz.graph.model import Card, Graph, Layout, Wire

__all__ = ["Card", "Graph", "Layout", "Wire", "build", "lay_out"]

"""Trace -> graph -> folded groups -> layout. networkx answers `questions` on the graph; it does not draw it."""

from gradviz.graph.build import build
from gradviz.graph.layout import lay_out
from gradviz.graph.model import Card, Graph, Layout, Wire

__all__ = ["Card", "Graph", "Layout", "Wire", "build", "lay_out"]

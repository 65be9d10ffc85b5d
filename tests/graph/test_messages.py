"""What goes between the window and its layout process comes out as it went in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from gradviz.graph import build, lay_out, messages
from gradviz.graph.index import GraphIndex, wire_boxes
from gradviz.graph.messages import Assembly, parts
from tests.graph.test_build import recorded
from tests.graph.test_folds import blocks, encoder, training
from tests.graph.test_folds import recorded as run


@pytest.mark.parametrize("what", ["one_layer", "lstm", blocks, encoder, training])
@pytest.mark.parametrize("mode", ["both", "autograd"])
def test_a_graph_and_its_layout_come_out_as_they_went_in(
    what: str | Callable[[], object], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "AT_ONCE", 7)
    trace = recorded(what) if isinstance(what, str) else run(what)
    graph = build(trace, mode)
    layout = lay_out(graph)
    assembly = Assembly()
    for part in parts(graph, layout):
        length, letter = int.from_bytes(part[:4], "big"), part[4:5]
        assert length == len(part) - messages.HEAD
        assembly.take(letter, part[messages.HEAD :])
    placed = assembly.placed()
    assert placed.graph == graph
    for made, original in ((placed.layout, layout), (placed.index, GraphIndex.of(graph))):
        for field in dataclasses.fields(original):
            np.testing.assert_array_equal(getattr(made, field.name), getattr(original, field.name), field.name)
    np.testing.assert_array_equal(placed.boxes, wire_boxes(layout, len(graph.wires)))

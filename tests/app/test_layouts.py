"""The canvas is kept supplied: every recording, view and fold gets its graph; what is there keeps its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradviz.app.window import Window

Opened = Callable[..., Window]


def test_each_view_gets_its_graph(shown: Window) -> None:
    keys = {}
    for mode in ("forward", "autograd", "both"):
        shown.trigger(f"view.{mode}")
        assert shown.wait_ready(20)
        graph = shown.desk.layouts.graph
        assert graph is not None and graph.mode == mode
        keys[mode] = {card.key for card in graph.cards}
    assert all(key.startswith("node:") for key in keys["autograd"])
    assert len(keys["autograd"]) == len(shown.session.trace.nodes)
    assert keys["both"] != keys["autograd"]


def test_an_action_leaves_every_card_in_its_place(live: Window) -> None:
    canvas = live.desk.canvas
    assert canvas.composer is not None
    old = {c.key: tuple(canvas.composer.layout.boxes[i]) for i, c in enumerate(canvas.composer.graph.cards)}
    assert live.trigger("run.forward") and live.wait_ready(20)
    assert canvas.composer is not None
    new = {c.key: tuple(canvas.composer.layout.boxes[i]) for i, c in enumerate(canvas.composer.graph.cards)}
    assert len(new) > len(old)
    assert {key: new[key] for key in old} == old


def test_fold_and_unfold(open_on: Opened, recorded: Callable[[str], Path]) -> None:
    window = open_on(recorded("gpt"))
    assert window.wait_ready(30)
    graph = window.desk.layouts.graph
    assert graph is not None
    many = len(graph.cards)
    window.trigger("view.fold_all")
    assert window.wait_ready(30)
    folded = window.desk.layouts.graph
    assert folded is not None and len(folded.cards) < many
    window.trigger("view.unfold_all")
    assert window.wait_ready(30)
    assert window.desk.layouts.graph is not None and len(window.desk.layouts.graph.cards) >= many

"""The graph as arrays: culling, picking, classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradviz.player.view import ViewState
from gradviz.scene.compose import Composer
from gradviz.scene.far import palette
from gradviz.scene.moment import DONE, HIDDEN, PLANNED, RUNNING
from gradviz.scene.theme import load_theme
from gradviz.scene.walk import neighbour
from tests.scene.one_layer import placed, recording

LIGHT = load_theme("light")


@pytest.fixture
def composer() -> Composer:
    return Composer(recording(), *placed(), LIGHT)


def test_cards_and_wires_in_a_box(composer: Composer) -> None:
    assert composer.far.cards_in((1000, 0, 500, 500)).tolist() == [7]
    assert composer.far.cards_in((-500, -500, 10, 10)).tolist() == []
    assert len(composer.far.cards_in((0, 0, 2000, 2000))) == 8
    assert 6 in composer.far.wires_in((1000, 190, 10, 80)).tolist()
    assert len(composer.far.wires_in((-100, -100, 3000, 3000))) == 7


@pytest.mark.parametrize("steps", [1, 6])
def test_pieces_follow_their_routes(composer: Composer, steps: int) -> None:
    layout = placed()[1]
    for wire in range(7):
        lines, owner = composer.far.pieces(np.asarray([wire]), steps)
        route = layout.forward_xy[layout.forward_ptr[wire] : layout.forward_ptr[wire + 1]]
        assert owner.tolist() == [wire] * steps
        assert lines[0, :2] == pytest.approx(route[0])
        assert lines[-1, 2:] == pytest.approx(route[-1])
        assert lines[1:, :2] == pytest.approx(lines[:-1, 2:])
    assert composer.far.pieces(np.arange(7), steps)[1].tolist() == np.repeat(np.arange(7), steps).tolist()


def test_a_wire_with_only_a_gradient_is_drawn_by_that(composer: Composer) -> None:
    graph, layout = placed()
    only_back = replace(layout, forward_ptr=np.zeros(8, np.int64), forward_xy=np.zeros((0, 2)))
    lines, owner = Composer(recording(), graph, only_back, LIGHT).far.pieces(np.arange(7), 1)
    assert owner.tolist() == [1, 2, 3, 4, 6]
    assert lines[0].tolist() == [*layout.gradient_xy[0], *layout.gradient_xy[3]]


def test_pick_gives_the_row_the_card_or_nothing(composer: Composer) -> None:
    x, y, w, h = composer.anchor("node:2") or (0, 0, 0, 0)
    assert composer.pick(x + w / 2, y + h / 2) == "node:2"
    assert composer.pick(190, 175) == "op:4"
    assert composer.pick(50, 70) == "leaf:0"
    assert composer.pick(0, 0) is None
    assert composer.pick(38, 70) is None
    assert composer.pick(38, 70, slack=4) == "leaf:0"


def test_classes_of_boxes_and_wires(composer: Composer) -> None:
    trace = recording()
    now = composer.scene(trace.at(10), ViewState(step=10, steps=trace.steps))
    keys = [card.key for card in now.moment.graph.cards]
    classes = dict(zip(keys, now.classes.tolist(), strict=True))
    assert (classes["op:5"], classes["op:6"], classes["op:4"]) == (RUNNING, DONE, PLANNED)
    assert classes["leaf:2"] == PLANNED + 9
    assert now.wire_classes.tolist() == [1, 1, 3, 3, 2, 1, 1]
    before = composer.scene(trace.at(0), ViewState(steps=trace.steps))
    assert set((before.classes % 9).tolist()) == {HIDDEN}
    assert not before.wire_classes.any()
    assert len(palette(LIGHT)) == 18
    assert all(palette(LIGHT))


def test_walking_along_the_wires(composer: Composer) -> None:
    trace = recording()
    moment = composer.scene(trace.at(14), ViewState(step=14, steps=trace.steps)).moment
    go = {
        ("op:5", "left"): "op:4",
        ("op:5", "right"): "op:6",
        ("op:6", "right"): "result:6",
        ("result:6", "right"): None,
        ("leaf:0", "down"): "leaf:2",
        ("leaf:2", "up"): "leaf:0",
        ("node:4", "left"): "op:4",
        (None, "left"): "leaf:2",
    }
    assert {pair: neighbour(moment, composer.far, *pair) for pair in go} == go


def test_nobody_walks_into_the_future(composer: Composer) -> None:
    trace = recording()
    moment = composer.scene(trace.at(5), ViewState(step=5, steps=trace.steps)).moment
    assert neighbour(moment, composer.far, "op:4", "right") is None
    assert neighbour(composer.scene(trace.at(0), ViewState()).moment, composer.far, None, "right") is None

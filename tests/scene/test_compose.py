"""What the scene of the one-layer example shows at each step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradviz.player.view import ViewState
from gradviz.scene.compose import Composer, Scene, compose
from gradviz.scene.moment import DONE, FAILED, HIDDEN, IDLE, PENDING, PLANNED, RUNNING
from gradviz.scene.shapes import Cells, Curve, Poly, Rect, Shape, Text
from gradviz.scene.theme import load_theme, mix
from gradviz.trace import Trace
from tests.scene.one_layer import placed, recording

LIGHT = load_theme("light")
PLANNED_INK = mix(LIGHT.gradient, LIGHT.canvas, 0.45)


def scene(trace: Trace, step: int, **view: object) -> Scene:
    graph, layout = placed()
    shown = replace(ViewState(step=step, steps=trace.steps), **view)  # type: ignore[arg-type]
    return compose(graph, layout, trace.at(step), shown, LIGHT)


def texts(shapes: list[Shape]) -> list[str]:
    return [shape.text for shape in shapes if isinstance(shape, Text)]


def curves(shapes: list[Shape], color: str) -> list[Curve]:
    return [shape for shape in shapes if isinstance(shape, Curve) and shape.stroke == color]


def card(of: Scene, key: str) -> list[Shape]:
    return list(of.card(of.moment.graph.index[key]))


def codes(of: Scene) -> dict[str, int]:
    return {c.key: int(code) for c, code in zip(of.moment.graph.cards, of.moment.codes, strict=True)}


def test_before_anything_only_places_are_shown() -> None:
    shapes = scene(recording(), 0).shapes()
    assert texts(shapes) == []
    assert all(isinstance(shape, Rect) and shape.fill is None and shape.dash for shape in shapes)


def test_cards_appear_with_their_operation() -> None:
    trace = recording()
    assert set(codes(scene(trace, 0)).values()) == {HIDDEN}
    assert codes(scene(trace, 4)) | {"leaf:0": IDLE, "leaf:1": IDLE} == codes(scene(trace, 4))
    assert codes(scene(trace, 4))["op:4"] == HIDDEN
    assert codes(scene(trace, 5))["op:4"] == PENDING
    assert "MmBackward0" in texts(card(scene(trace, 5), "op:4"))
    assert codes(scene(trace, 5))["op:5"] == HIDDEN


def test_states_in_the_middle_of_a_pass() -> None:
    now = scene(recording(), 10)
    assert codes(now) == {
        "leaf:0": IDLE,
        "leaf:1": IDLE,
        "leaf:2": PLANNED,
        "leaf:3": PLANNED,
        "op:4": PLANNED,
        "op:5": RUNNING,
        "op:6": DONE,
        "result:6": IDLE,
    }


def test_each_state_has_a_sign_beside_its_colour() -> None:
    now = scene(recording(1, retain=False, fault=True), 10)
    running = card(now, "op:5")
    assert any(isinstance(s, Rect) and s.fill == LIGHT.accent for s in running)
    assert any(isinstance(s, Poly) and s.closed and s.fill == LIGHT.accent_text for s in running), "a triangle"
    done = card(now, "op:6")
    assert any(isinstance(s, Poly) and not s.closed and s.stroke == LIGHT.ink("gradient") for s in done), "a tick"
    assert any(isinstance(s, Rect) and s.stroke == LIGHT.freed and s.fill is None and s.dash for s in done), (
        "hollow chip"
    )
    assert any(isinstance(s, Poly) and s.stroke == LIGHT.freed and len(s.points) == 2 for s in done), "struck"


def test_saved_chip_is_full_while_kept() -> None:
    kept = card(scene(recording(1, retain=True), 14), "op:6")
    assert any(isinstance(s, Rect) and s.fill == LIGHT.saved_fill and s.stroke == LIGHT.saved for s in kept)
    assert not any(isinstance(s, Rect) and s.stroke == LIGHT.freed for s in kept)


def test_the_failing_node_is_red_and_crossed() -> None:
    trace = recording(1, retain=False, fault=True)
    last = scene(trace, trace.steps)
    assert codes(last)["op:6"] == FAILED
    shapes = card(last, "op:6")
    assert any(isinstance(s, Rect) and s.stroke == LIGHT.error and s.line == 2 for s in shapes)
    assert any(isinstance(s, Poly) and s.fill == LIGHT.ink("error") and len(s.points) == 12 for s in shapes), "a cross"


def test_gradients_are_dotted_then_dashed_then_thick_then_solid() -> None:
    trace = recording()
    dotted = curves(scene(trace, 7).shapes(), LIGHT.idle)
    assert len(dotted) == 4
    assert all(curve.dash for curve in dotted)
    assert len(curves(scene(trace, 8).shapes(), PLANNED_INK)) == 4
    moving = curves(scene(trace, 10).shapes(), LIGHT.gradient)
    assert [curve.line for curve in moving].count(3.0) == 2, "Add sends to Squeeze and to b"
    assert not any(curve.dash for curve in moving)
    end = curves(scene(trace, trace.steps).shapes(), LIGHT.gradient)
    assert [curve.line for curve in end] == [1.6] * 5, "four edges and the seed"


def test_tensors_and_gradients_ride_on_their_wires() -> None:
    trace = recording()
    forward = texts(scene(trace, 7).shapes())
    assert "z" in forward
    assert "∇" not in forward
    assert texts(scene(trace, 10).shapes()).count("∇") == 3


def test_a_travelling_gradient_moves_with_alpha_and_ends_where_it_rests() -> None:
    trace = recording()

    def places(alpha: float) -> list[tuple[float, float]]:
        moving = scene(trace, 9, alpha=alpha).shapes()
        return [(s.x, s.y) for s in moving if isinstance(s, Text) and s.text == "∇"]

    start, middle, end = places(0.0), places(0.5), places(1.0)
    assert start != middle != end
    assert middle == places(0.5), "the same moment gives the same picture"
    assert start[0][0] > middle[0][0] > end[0][0], "from bce to add: leftwards"
    rest = [(s.x, s.y) for s in scene(trace, 12).shapes() if isinstance(s, Text) and s.text == "∇"]
    assert end[0] in rest


def test_reduced_motion_does_not_travel() -> None:
    trace = recording()
    assert (
        scene(trace, 9, alpha=0.2, reduced_motion=True).shapes()
        == scene(trace, 9, alpha=1.0, reduced_motion=True).shapes()
    )


def test_slot_is_empty_then_written_then_holds_the_gradient() -> None:
    trace = recording()
    empty, written, held = (card(scene(trace, step), "leaf:3") for step in (10, 11, 13))
    assert "None" in texts(empty)
    assert next(s.marks for s in empty if isinstance(s, Cells)) == "ooo"
    assert "+=" in texts(written)
    assert any(isinstance(s, Rect) and s.fill == LIGHT.gradient_fill for s in written)
    assert next(s.marks for s in held if isinstance(s, Cells)) == "..."
    assert any(text.startswith("‖") for text in texts(held))


def test_second_accumulation_shows_old_plus_new_is_sum() -> None:
    trace = recording(2)
    first, second = scene(trace, 11).shapes(), scene(trace, 18).shapes()
    assert "+" not in texts(first), "there was nothing to add to"
    assert [t for t in texts(second) if t in ("+", "=")] == ["+", "="]
    grids = [s for s in second if isinstance(s, Cells)][-3:]
    assert grids[0].colors == grids[1].colors != grids[2].colors


def test_root_shows_its_value_and_its_seed() -> None:
    trace = recording()
    assert "∇ 1" not in texts(card(scene(trace, 7), "result:6"))
    shown = texts(card(scene(trace, 8), "result:6"))
    assert shown[0] == "loss"
    assert shown[1].startswith("0.2")
    assert shown[2] == "∇ 1"


def test_selection_outlines_the_card_and_lights_its_neighbours() -> None:
    trace = recording()
    chosen = scene(trace, 14, selection="node:4")
    assert any(isinstance(s, Rect) and s.stroke == LIGHT.selection and s.line == 2 for s in card(chosen, "op:5"))
    assert {chosen.moment.graph.cards[i].key for i in chosen.moment.lit} == {"op:4", "leaf:3", "op:6"}


@pytest.mark.parametrize("step", range(0, 22, 3))
def test_any_step_looks_the_same_from_either_side(step: int) -> None:
    trace = recording(2, retain=False)
    graph, layout = placed()
    composer = Composer(trace, graph, layout, LIGHT)
    views = {k: ViewState(step=k, steps=trace.steps) for k in range(trace.steps + 1)}
    fresh = compose(graph, layout, trace.at(step), views[step], LIGHT).shapes()
    up = [composer.scene(trace.at(k), views[k]).shapes() for k in range(trace.steps + 1)]
    down = [composer.scene(trace.at(k), views[k]).shapes() for k in range(trace.steps, -1, -1)]
    assert up[step] == down[trace.steps - step] == fresh


def test_only_what_is_in_view_is_made() -> None:
    whole = scene(recording(), 14)
    part = whole.shapes((1020.0, 180.0, 100.0, 100.0))
    assert texts(part) == ["loss", "0.2011", "∇ 1"]
    assert len(whole.shapes()) > 5 * len(part)


def test_anchor_is_the_row_of_a_node_and_the_box_of_a_card() -> None:
    now = scene(recording(), 14)
    assert now.anchor("op:4") == (180, 170, 190, 92)
    assert now.anchor("tensor:3") == (240, 410, 96, 94)
    row = now.anchor("node:2")
    assert row is not None
    assert row[1] > 170 + 28 + 22
    assert now.anchor("node:99") is None
    assert now.anchor("nonsense") is None
    assert now.anchor(None) is None


def test_every_text_is_cut_to_its_card() -> None:
    now = scene(recording(1, retain=False, fault=True), 16)
    for key, i in now.moment.graph.index.items():
        x, _, w, _ = now.far.boxes[i].tolist()
        for shape in card(now, key):
            if isinstance(shape, Text):
                left = shape.x - {"start": 0, "middle": shape.width / 2, "end": shape.width}[shape.anchor]
                assert x <= left, (key, shape.text)
                assert left + shape.width <= x + w, (key, shape.text)


def test_composer_recolours() -> None:
    trace = recording()
    graph, layout = placed()
    view = ViewState(step=14, steps=trace.steps)
    first = compose(graph, layout, trace.at(14), view, LIGHT)
    dark = compose(graph, layout, trace.at(14), view, load_theme("dark"), first.composer)
    assert dark.composer is first.composer
    assert dark.shapes() == compose(graph, layout, trace.at(14), view, load_theme("dark")).shapes()

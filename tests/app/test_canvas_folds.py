"""Folds and the frames of open groups under real clicks and keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gradviz.app.canvas import Canvas
from gradviz.explain import Words
from gradviz.graph import build, lay_out
from gradviz.player.view import ViewState
from gradviz.scene.captions import card_title, detail_of
from gradviz.scene.describe import told
from gradviz.session import Session
from tests.graph.test_folds import blocks, recorded, unrolled


def shown(qtbot: QtBot, program: Callable[[], object]) -> Canvas:
    session = Session()
    canvas = Canvas(session)
    qtbot.addWidget(canvas)
    canvas.resize(1400, 900)
    canvas.show()
    session.begin(recorded(program))
    session.update(reduced_motion=True, step=session.trace.steps)

    def follow(old: ViewState, new: ViewState) -> None:
        if (old.folded, old.unfolded) != (new.folded, new.unfolded):
            graph = build(session.trace, folded=new.folded, unfolded=new.unfolded)
            canvas.set_graph(graph, lay_out(graph))

    session.listen(follow)
    graph = build(session.trace)
    canvas.set_graph(graph, lay_out(graph))
    canvas._see(type(canvas.eye)(-40.0, -200.0, 0.7))
    canvas.grab()
    return canvas


def keys(canvas: Canvas) -> set[str]:
    assert canvas.composer is not None
    return set(canvas.composer.graph.index)


def test_a_click_on_the_title_of_an_open_group_folds_it(qtbot: QtBot) -> None:
    canvas = shown(qtbot, blocks)
    assert canvas.composer is not None
    group = canvas.composer.graph.groups[0]
    x, y, _, h = canvas.composer.tab(group, canvas.composer.layout.groups[0].tolist())
    left, top = canvas.eye.to_screen(x + 6, y + h / 2)
    assert canvas.rect().contains(int(left), int(top))
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(round(left), round(top)))
    assert canvas.session.view.folded == {"fold:blocks.0"}
    assert canvas.session.view.selection is None
    (stack,) = (card for card in canvas.composer.graph.cards if card.fold and card.fold.kind == "stack")
    assert stack.title == "blocks.0 – 23"


def test_backspace_folds_the_group_around_the_selection(qtbot: QtBot) -> None:
    canvas = shown(qtbot, blocks)
    canvas.session.update(selection="fold:blocks.0.norm")
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.session.view.folded == {"fold:blocks.0"}
    assert canvas.session.view.selection == "fold:blocks.0"


def test_a_large_stack_opens_where_the_step_is(qtbot: QtBot) -> None:
    canvas = shown(qtbot, unrolled)
    session = canvas.session
    stack = next(key for key in keys(canvas) if "+" in key)
    tanh = [op for op in session.trace.ops if op.name == "tanh"]
    session.update(step=int(session.trace.op_step.view[tanh[20].id]))
    canvas.open(stack)
    (opened,) = session.view.unfolded
    assert f"op:{tanh[20].id}" in keys(canvas)
    assert f"op:{tanh[21].id}" not in keys(canvas)
    session.update(step=session.trace.steps, folded=frozenset(), unfolded=frozenset())
    node = next(n for n in session.trace.nodes if n.op == tanh[20].id)
    session.update(step=session.trace.runs(node.id)[0])
    canvas.open(stack)
    assert session.view.unfolded == {opened}
    session.update(step=0, folded=frozenset(), unfolded=frozenset())
    canvas.open(stack)
    assert f"op:{tanh[1].id}" in keys(canvas)


def test_a_small_stack_opens_into_all_of_it(qtbot: QtBot) -> None:
    canvas = shown(qtbot, blocks)
    session = canvas.session
    session.update(unfolded=frozenset(f"fold:blocks.{k}" for k in range(10)))
    stack = next(key for key in keys(canvas) if "+" in key)
    canvas.open(stack)
    assert {f"fold:blocks.{k}" for k in range(10, 24)} <= keys(canvas)


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", {"blocks.1 – 23": "23 × {each} nodes", "head": "1 op · {head} nodes"}),
        ("zh", {"blocks.1 – 23": "23 × {each} 个节点", "head": "1 个运算 · {head} 个节点"}),
    ],
)
def test_captions_are_in_the_language_of_the_view(qtbot: QtBot, language: str, texts: dict[str, str]) -> None:
    canvas = shown(qtbot, blocks)
    canvas.session.update(language=language)
    scene = canvas.scene()
    assert scene is not None
    words = Words(language)
    cards = [card for card in scene.moment.graph.cards if card.kind == "fold"]
    said = {card_title(card, words): detail_of(card, words) for card in cards}
    nodes = {card.title: len(card.nodes) for card in cards}
    fields = {"each": nodes["blocks.1 – 23"] // 23, "head": nodes["head"]}
    want = {title: text.format(**fields) for title, text in texts.items()}
    assert want.items() <= said.items()
    assert words("ui.fold.tip") in told(scene.moment, "fold:head")
    drawn = {shape.text for shape in scene.shapes() if hasattr(shape, "text")}
    assert set(said.values()) <= drawn

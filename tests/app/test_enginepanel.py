"""Being the engine in the window: by keyboard alone, by clicks on the canvas, and to the end."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from gradviz.app.enginepanel import NODE, EnginePanel
from gradviz.app.window import Window
from gradviz.player.engine import Game, ready, task
from gradviz.trace.values import to_numpy


@pytest.fixture
def panel(shown: Window) -> EnginePanel:
    assert shown.trigger("engine.play")
    return shown.desk.engine


def game(window: Window) -> Game:
    found = window.session.view.engine
    assert found is not None
    return found


def take(panel: EnginePanel, node: int) -> None:
    """Pick a node in the list by keyboard."""
    row = next(k for k in range(panel.list.count()) if panel.list.item(k).data(NODE) == node)
    panel.list.setCurrentRow(row)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)


def node(window: Window, name: str) -> int:
    trace = window.session.trace
    return next(n.id for n in trace.nodes if n.name == name or (n.leaf is not None and trace.name(n.leaf) == name))


def test_a_whole_pass_by_keyboard(shown: Window, panel: EnginePanel) -> None:
    trace = shown.session.trace
    assert panel.isVisible() and not shown.desk.inspector.isVisible() and panel.list.hasFocus()
    while (now := game(shown)) and ready(trace, now):
        take(panel, ready(trace, now)[0])
        asked = task(trace, game(shown))
        assert asked is not None and panel.line.hasFocus()
        truth = to_numpy(asked.data)
        QTest.keyClicks(panel.line, str((truth[asked.place] if asked.place else truth).tolist()))
        QTest.keyClick(panel.line, Qt.Key.Key_Return)
        assert panel.said.text().startswith(("Exact", "All nodes"))
    assert game(shown).right == game(shown).answered == len(trace.order(0)) and panel.list.hasFocus()
    assert "engine's own order" in panel.said.text()
    panel.leave.click()
    assert shown.session.view.step == trace.pass_end[0] and shown.desk.inspector.isVisible()


def test_refusals_name_what_is_missing(shown: Window, panel: EnginePanel) -> None:
    take(panel, node(shown, "w"))
    assert "MmBackward0" in panel.said.text() and "missing" in panel.said.text() and not panel.line.isVisible()
    take(panel, node(shown, "BinaryCrossEntropyWithLogitsBackward0"))
    assert panel.line.isVisible() and panel.said.text() == ""
    QTest.keyClicks(panel.line, "[0, 0, 0]")
    QTest.keyClick(panel.line, Qt.Key.Key_Return)
    assert panel.said.text().startswith("Off") and game(shown).picked is not None
    panel.line.clear()
    QTest.keyClick(panel.line, Qt.Key.Key_Return)
    assert game(shown).done and game(shown).picked is None, "an empty line lets PyTorch do it"


def test_a_click_on_the_canvas_picks(shown: Window, panel: EnginePanel) -> None:
    canvas = shown.desk.canvas
    where = canvas.anchor(f"node:{node(shown, 'BinaryCrossEntropyWithLogitsBackward0')}")
    assert where is not None
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPointF(where.center()).toPoint())
    assert game(shown).picked == node(shown, "BinaryCrossEntropyWithLogitsBackward0")
    leaf = canvas.anchor(f"tensor:{shown.session.trace.named('b')}")
    assert leaf is not None
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=leaf.center())
    assert game(shown).refusal == "waits" and "AddBackward0" in panel.said.text()


def test_a_legal_order_of_ones_own(shown: Window, panel: EnginePanel) -> None:
    for name in ("BinaryCrossEntropyWithLogitsBackward0", "AddBackward0"):
        take(panel, node(shown, name))
        panel.skip.click()
    take(panel, node(shown, "SqueezeBackward4"))
    assert "legal" in panel.said.text() and "AccumulateGrad" in panel.said.text()
    panel.skip.click()
    for name in ("MmBackward0", "w", "b"):
        take(panel, node(shown, name))
        panel.skip.click()
    assert "just as legal" in panel.said.text()
    frame, end = shown.session.frame, shown.session.trace.at(shown.session.trace.steps)
    for name in ("w", "b"):
        mine, theirs = frame.grad(name), end.grad(name)
        assert mine is not None and theirs is not None and np.array_equal(mine, theirs)


def test_stepping_away_ends_it(shown: Window, panel: EnginePanel) -> None:
    assert shown.trigger("step.previous")
    assert shown.session.view.engine is None and not panel.isVisible()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_fits(shown: Window, panel: EnginePanel, language: str) -> None:
    shown.session.update(language=language)
    take(panel, node(shown, "BinaryCrossEntropyWithLogitsBackward0"))
    QTest.keyClicks(panel.line, "[9, 9, 9]")
    QTest.keyClick(panel.line, Qt.Key.Key_Return)
    assert panel.leave.isVisible() and panel.rect().contains(panel.leave.geometry())
    assert panel.list.height() > 40

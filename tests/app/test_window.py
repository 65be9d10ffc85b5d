"""The window as a person and as a program from outside use it: keys, clicks, titles, first start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gradviz.app.window import Window, dropped
from gradviz.player.forms import OneLayer
from gradviz.player.subject import asked_at

Key = Qt.Key
ROOT = Path(__file__).resolve().parents[2]


def picture(window: Window) -> QImage:
    QApplication.processEvents()
    return window.grab().toImage()


# ---- first start


def test_first_start_is_the_one_layer_example_paused_at_step_0(live: Window) -> None:
    view, trace = live.session.view, live.session.trace
    assert trace.header.source == OneLayer().source() and trace.complete
    assert (view.step, view.playing, view.live) == (0, False, "ready")
    assert live.desk.canvas.composer is not None and live.desk.canvas.composer.graph.cards
    welcome = live.desk.stage.welcome
    assert welcome.isVisible() and all(line.text() for line in welcome.lines)
    assert "F8" in welcome.lines[0].text() and "F1" in welcome.lines[2].text()


def test_the_greeting_goes_when_stepping_and_is_dismissed_for_good(
    open_on: Callable[..., Window], recorded: Callable[[str], Path], qtbot: QtBot
) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    welcome = window.desk.stage.welcome
    window.trigger("step.next")
    qtbot.waitUntil(lambda: not welcome.isVisible())
    window.trigger("step.first")
    qtbot.waitUntil(lambda: welcome.isVisible())
    qtbot.mouseClick(welcome.close_button, Qt.MouseButton.LeftButton)
    assert not welcome.isVisible()
    window.close()
    again = open_on(recorded("one_layer"))
    assert again.wait_ready(20) and not again.desk.stage.welcome.isVisible()


# ---- from outside


def test_trigger_is_synchronous_and_a_disabled_action_does_nothing(shown: Window) -> None:
    assert not shown.trigger("step.previous") and shown.session.view.step == 0
    assert shown.trigger("step.last") and shown.session.view.step == shown.session.view.steps == 14
    assert not shown.trigger("step.next") and shown.session.view.step == 14
    assert not shown.trigger("run.backward"), "a file has no live process"
    with pytest.raises(KeyError):
        shown.trigger("no.such")


def test_the_same_step_looks_the_same_from_both_sides(shown: Window) -> None:
    first = picture(shown)
    shown.trigger("step.last")
    last = picture(shown)
    assert last != first
    shown.trigger("step.first")
    assert picture(shown) == first
    shown.trigger("step.last")
    assert picture(shown) == last
    forward = {}
    shown.trigger("step.first")
    for step in range(15):
        forward[step] = picture(shown)
        shown.trigger("step.next")
    for step in range(14, -1, -1):
        assert picture(shown) == forward[step], step
        shown.trigger("step.previous")


def test_wait_ready_tells_when_nothing_was_recorded(open_on: Callable[..., Window], tmp_path: Path) -> None:
    broken = tmp_path / "broken.gradviz"
    broken.write_bytes(b"no recording")
    window = open_on(broken)
    assert not window.wait_ready(0.2)
    assert window.desk.banner.isVisible() and "broken.gradviz" in window.desk.banner.label.text()


def test_the_window_loads_without_torch() -> None:
    code = "import gradviz.app.window, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# ---- keys


def test_function_keys_work_wherever_the_focus_is(shown: Window, qtbot: QtBot) -> None:
    for widget in (
        shown.desk.canvas,
        shown.desk.left.program.code,
        shown.desk.left.done.list,
        shown.desk.stage.search.line,
    ):
        shown.trigger("step.first")
        widget.setFocus()
        qtbot.keyClick(widget, Key.Key_F8)
        qtbot.keyClick(widget, Key.Key_F8)
        assert shown.session.view.step == 2
        qtbot.keyClick(widget, Key.Key_F7)
        assert shown.session.view.step == 1
        qtbot.keyClick(widget, Key.Key_End, Qt.KeyboardModifier.ControlModifier)
        if widget in (shown.desk.canvas, shown.desk.left.done.list):
            assert shown.session.view.step == 14


@pytest.mark.parametrize("panel", ["canvas", "timeline"])
def test_plain_keys_step_on_canvas_and_timeline(shown: Window, qtbot: QtBot, panel: str) -> None:
    widget: QWidget = getattr(shown.desk, panel)
    widget.setFocus()
    for key, step in ((Key.Key_Right, 1), (Key.Key_Right, 2), (Key.Key_Left, 1), (Key.Key_End, 14), (Key.Key_Home, 0)):
        qtbot.keyClick(widget, key)
        assert shown.session.view.step == step
    qtbot.keyClick(widget, Key.Key_Space)
    assert shown.session.view.playing
    qtbot.keyClick(widget, Key.Key_Space)
    assert not shown.session.view.playing


def test_plain_keys_belong_to_text_elsewhere(shown: Window, qtbot: QtBot) -> None:
    line = shown.desk.stage.search.line
    line.setFocus()
    qtbot.keyClicks(line, "f ?/")
    qtbot.keyClick(line, Key.Key_Left)
    assert line.text() == "f ?/" and shown.session.view.step == 0 and not shown.session.view.playing
    assert not shown.desk.keys.isVisible()


def test_slash_finds_and_question_mark_lists_the_keys(shown: Window, qtbot: QtBot) -> None:
    shown.desk.canvas.setFocus()
    qtbot.keyClick(shown.desk.canvas, Key.Key_Question, Qt.KeyboardModifier.ShiftModifier)
    assert shown.desk.keys.isVisible()
    qtbot.keyClick(shown.desk.keys, Key.Key_Escape)
    assert not shown.desk.keys.isVisible() and shown.desk.canvas.hasFocus()
    qtbot.keyClick(shown.desk.canvas, Key.Key_Slash)
    assert shown.desk.stage.search.line.hasFocus()


def test_clickers_step_in_presenter_mode_only(shown: Window, qtbot: QtBot) -> None:
    shown.desk.canvas.setFocus()
    qtbot.keyClick(shown.desk.canvas, Key.Key_PageDown)
    assert shown.session.view.step == 0
    size = QApplication.font().pixelSize()
    qtbot.keyClick(shown.desk.canvas, Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    assert shown.session.view.presenter and QApplication.font().pixelSize() > size
    assert not shown.statusBar().isVisible()
    qtbot.keyClick(shown.desk.canvas, Key.Key_PageDown)
    qtbot.keyClick(shown.desk.canvas, Key.Key_PageDown)
    qtbot.keyClick(shown.desk.canvas, Key.Key_PageUp)
    assert shown.session.view.step == 1
    shown.trigger("view.presenter")
    assert shown.statusBar().isVisible() and QApplication.font().pixelSize() == size


# ---- time


def test_playing_reaches_the_end_and_stops(shown: Window, qtbot: QtBot) -> None:
    shown.session.update(speed=64.0)
    shown.trigger("play.toggle")
    qtbot.waitUntil(lambda: shown.session.view.step == 14 and not shown.session.view.playing, timeout=10_000)
    assert not shown.desk._clock.isActive()


# ---- what is said


def test_a_window_is_dressed_once(
    shown: Window, open_on: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    sheets: list[str] = []
    monkeypatch.setattr(QApplication, "setStyleSheet", lambda _, sheet: sheets.append(sheet))
    open_on()
    assert not sheets, "Qt styles every widget again, for a second"
    shown.trigger("view.theme")
    assert len(sheets) == 1


def test_title_theme_and_language_switch_live_and_are_remembered(
    open_on: Callable[..., Window], recorded: Callable[[str], Path]
) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    assert window.windowTitle() == "one_layer.gradviz[*] — gradviz"
    english, light = window.desk.left.tabs["program"].text(), picture(window)
    window.trigger("view.theme")
    assert picture(window) != light
    window.trigger("view.language")
    assert window.desk.left.tabs["program"].text() == "程序" != english
    window.close()
    again = open_on(recorded("one_layer"))
    assert (again.session.view.theme, again.session.view.language) == ("dark", "zh")
    again.trigger("view.theme", "light")
    again.trigger("view.language", "en")


def test_no_key_of_the_words_is_seen(shown: Window) -> None:
    for language in ("en", "zh"):
        shown.trigger("view.language", language)
        for step in (0, 3, 9, 11, 14):
            shown.session.update(step=step)
            texts = [w.text() for w in shown.findChildren(QWidget) if hasattr(w, "text") and callable(w.text)]
            assert not [t for t in texts if isinstance(t, str) and t.startswith(("ui.", "fault.", "say."))]
    shown.trigger("view.language", "en")


def test_everything_that_takes_the_focus_has_a_name(shown: Window) -> None:
    nameless = [
        f"{type(w).__name__} {w.objectName()} in {type(w.parent()).__name__}"
        for w in shown.findChildren(QWidget)
        if w.focusPolicy() != Qt.FocusPolicy.NoFocus
        and w.isVisibleTo(shown)
        and not w.accessibleName()
        and not (hasattr(w, "text") and isinstance(w.text(), str) and w.text())
        and not w.focusProxy()
    ]
    assert not nameless, "\n".join(nameless)


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (1920, 1080)])
def test_nothing_is_cut_off_at_usual_sizes(shown: Window, size: tuple[int, int]) -> None:
    shown.resize(*size)
    QApplication.processEvents()
    assert (shown.width(), shown.height()) == size, "the window can be made so small"
    assert shown.desk.stage.width() >= 380 and shown.desk.stage.height() >= 250
    assert shown.desk.timeline.height() >= 100


# ---- drops


def drop(window: Window, path: str) -> QDropEvent:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path)])
    event = QDropEvent(
        QPointF(50, 50), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    event.keep = data  # type: ignore[attr-defined]
    return event


def test_a_dropped_recording_is_shown(shown: Window, recorded: Callable[[str], Path]) -> None:
    shown.dropEvent(drop(shown, str(recorded("accumulation"))))
    assert shown.wait_ready(20) and "out" in shown.session.trace.names
    assert dropped(drop(shown, "/x/notes.txt")) is None


def test_steps_know_what_they_are_about(shown: Window) -> None:
    trace = shown.session.trace
    kinds = [asked_at(trace, step).partition(":")[0] for step in range(trace.steps + 1)]
    assert set(kinds) == {"", "op", "tensor", "node"}

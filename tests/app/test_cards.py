"""Cards that lie over the window: palette, keys, answers, errors, banner; and the lists beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from gradviz import assets
from gradviz.actions import ACTIONS
from gradviz.app.output import SHOWN, tail
from gradviz.app.palette import ROLE
from gradviz.app.status import duration, leaf_count
from gradviz.app.window import Window
from gradviz.explain import fault_card
from gradviz.trace import Trace
from gradviz.trace.events import Header, Output

Opened = Callable[..., Window]
Recorded = Callable[[str], Path]
LEFT = Qt.MouseButton.LeftButton


# ---- palette, keys, why


def test_the_palette_finds_and_does(shown: Window, qtbot: QtBot) -> None:
    shown.desk.canvas.setFocus()
    control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(shown.desk.canvas, Qt.Key.Key_P, control)
    card = shown.desk.palette
    assert card.isVisible() and card.list.count() == len(ACTIONS) - 1
    qtbot.keyClicks(card.field, "last step")
    assert "Last" in card.list.item(0).text() and "Ctrl+End" in card.list.item(0).text()
    qtbot.keyClick(card.field, Qt.Key.Key_Return)
    assert not card.isVisible() and shown.session.view.step == 14 and shown.desk.canvas.hasFocus()


@pytest.mark.parametrize(("text", "ids"), [("zero", {"grad.zero"}), ("slowr", {"play.slower"})])
def test_the_palette_offers_what_is_like_a_word_only_where_none_has_it(shown: Window, text: str, ids: set[str]) -> None:
    card = shown.desk.palette
    shown.trigger("view.palette")
    card.field.setText(text)
    found = {card.list.item(k).data(ROLE) for k in range(card.list.count())}
    assert ids <= found and (text != "zero" or found == ids)


def test_the_palette_says_why_not(shown: Window, qtbot: QtBot) -> None:
    shown.trigger("view.palette")
    card = shown.desk.palette
    qtbot.keyClicks(card.field, "backward")
    rows = [card.list.item(k) for k in range(card.list.count())]
    (row,) = [r for r in rows if r.data(int(Qt.ItemDataRole.UserRole)) == "run.backward"]
    assert not row.flags() & Qt.ItemFlag.ItemIsEnabled and " — " in row.text()
    qtbot.keyClick(card.field, Qt.Key.Key_Escape)
    assert not card.isVisible()


def test_the_palette_walks_by_arrow_keys(shown: Window, qtbot: QtBot) -> None:
    shown.trigger("view.palette")
    card = shown.desk.palette
    for _ in range(3):
        qtbot.keyClick(card.field, Qt.Key.Key_Down)
    qtbot.keyClick(card.field, Qt.Key.Key_Up)
    assert card.list.currentRow() == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_keys_has_every_key(shown: Window, language: str) -> None:
    shown.trigger("view.language", language)
    shown.trigger("help.keys")
    texts = [label.text() for label in shown.desk.keys.findChildren(QLabel)]
    shown.trigger("view.language", "en")
    for row in ACTIONS:
        for key in row.keys[:1]:
            assert any(key in text for text in texts), row.id


def test_why_answers_about_the_step_and_the_selection(shown: Window, qtbot: QtBot) -> None:
    shown.session.update(step=11)
    assert shown.trigger("help.why")
    card = shown.desk.answer
    assert card.isVisible() and card.title.text() and card.body.text()
    first = card.title.text()
    shown.session.update(selection="tensor:0")
    shown.trigger("help.why")
    assert card.title.text() != first
    buttons = card.findChildren(QPushButton)
    if buttons:
        qtbot.mouseClick(buttons[-1], LEFT)
    qtbot.keyClick(card, Qt.Key.Key_Escape)
    assert not card.isVisible()


@pytest.mark.parametrize("step", range(15))
def test_why_has_an_answer_at_every_step(shown: Window, step: int) -> None:
    shown.session.update(step=step)
    assert shown.trigger("help.why") and shown.desk.answer.body.text()


# ---- errors


def test_the_card_of_a_fault_stands_clear_of_the_card_that_failed(open_on: Opened, recorded: Recorded) -> None:
    window = open_on(recorded("second_backward"))
    assert window.wait_ready(20)
    card, canvas = window.desk.stage.error, window.desk.canvas
    assert not card.isVisible()
    window.trigger("step.last")
    QApplication.processEvents()
    fault = window.session.trace.faults[0]
    place = canvas.anchor(f"node:{fault.node}")
    assert card.isVisible() and place is not None
    assert not card.geometry().intersects(place) and window.desk.stage.rect().contains(card.geometry())
    assert not window.desk.stage.narration.isVisible()
    window.trigger("step.previous")
    QApplication.processEvents()
    assert not card.isVisible() and window.desk.stage.narration.isVisible()


def test_a_graph_that_stays_readable_gives_way_to_the_card(open_on: Opened, tmp_path: Path) -> None:
    program, file = tmp_path / "twice.py", tmp_path / "twice.gradviz"
    program.write_text(assets.path("programs", "one_layer.py").read_text() + "loss.backward()\nloss.backward()\n")
    subprocess.run([sys.executable, "-m", "gradviz.recorder", "-o", str(file), str(program)], check=False)
    window = open_on(file)
    window.resize(1280, 800)
    window.session.update(reduced_motion=True)
    assert window.wait_ready(20)
    card, canvas = window.desk.stage.error, window.desk.canvas
    before = canvas.eye
    window.trigger("step.last")
    QApplication.processEvents()
    assert card.isVisible() and canvas.composer is not None
    keys = [shown.key for shown in canvas.composer.graph.cards]
    places = [place for key in keys if (place := canvas.anchor(key))]
    assert len(places) == len(keys) and not any(card.geometry().intersects(place) for place in places)
    window.trigger("step.previous")
    QApplication.processEvents()
    assert canvas.eye == before, "and comes back when the card is gone"


def test_pytorch_s_text_is_folded_and_the_card_can_be_dismissed(
    open_on: Opened, recorded: Recorded, qtbot: QtBot
) -> None:
    window = open_on(recorded("inplace_error"))
    assert window.wait_ready(20)
    window.trigger("step.last")
    card = window.desk.stage.error
    QApplication.processEvents()
    assert not card.original.isVisible()
    qtbot.mouseClick(card.fold, LEFT)
    assert card.original.isVisible() and "inplace operation" in card.original.text()
    qtbot.mouseClick(card.close_button, LEFT)
    assert not card.isVisible()
    window.trigger("step.previous")
    window.trigger("step.last")
    QApplication.processEvents()
    assert not card.isVisible(), "dismissed is dismissed"


def test_a_fault_is_told_in_both_languages(open_on: Opened, recorded: Recorded) -> None:
    window = open_on(recorded("second_backward"))
    assert window.wait_ready(20)
    window.trigger("step.last")
    english = window.desk.stage.error.title.text()
    window.trigger("view.language", "zh")
    assert window.desk.stage.error.title.text() != english
    window.trigger("view.language", "en")


# ---- lists and lines


def test_a_click_on_an_action_goes_there(open_on: Opened, recorded: Recorded, qtbot: QtBot) -> None:
    window = open_on(recorded("accumulation"))
    assert window.wait_ready(20)
    done = window.desk.left.done.list
    assert done.count() == 3
    place: QPoint = done.visualItemRect(done.item(1)).center()
    qtbot.mouseClick(done.viewport(), LEFT, pos=place)
    assert window.session.view.step == int(window.session.trace.pass_step.view[1])
    assert done.item(1).text().startswith("▸") and not done.item(2).text().startswith("▸")


def test_output_grows_with_the_steps(open_on: Opened, recorded: Recorded) -> None:
    window = open_on(recorded("accumulation"))
    assert window.wait_ready(20)
    output = window.desk.left.output.text
    assert output.toPlainText() == ""
    window.trigger("step.last")
    whole = output.toPlainText()
    assert whole.strip() == window.session.frame.output.strip() != ""
    window.session.update(step=int(window.session.trace.pass_step.view[1]))
    assert 0 < len(output.toPlainText()) < len(whole)


def test_only_the_end_of_much_output_is_taken() -> None:
    trace = Trace([Header(), *(Output(f"{k:09}\n") for k in range(50_000))])
    pieces, count = tail(trace, 0)
    assert count == 50_000 and SHOWN <= sum(len(p.text) for p in pieces) < SHOWN + 20
    assert pieces[-1].text == "000049999\n"


def test_the_status_line_counts(shown: Window) -> None:
    status = shown.statusBar()
    texts = " ".join(label.text() for label in status.findChildren(QLabel))
    assert f"{len(shown.session.trace.nodes)} grad_fn nodes" in texts and "4 leaves" in texts
    assert "torch" in texts and "cpu" in texts
    assert leaf_count(shown.session.trace) == 4


@pytest.mark.parametrize(("seconds", "text"), [(0.0001, "1 ms"), (0.0123, "12 ms"), (1.26, "1.3 s"), (75, "75 s")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_banner_speaks_the_language_of_now_and_goes(shown: Window, tmp_path: Path, qtbot: QtBot) -> None:
    shown.trigger("file.open", str(tmp_path / "nothing.gradviz"))
    banner = shown.desk.banner
    english = banner.label.text()
    shown.trigger("view.language", "zh")
    assert banner.label.text() != english and "nothing.gradviz" in banner.label.text()
    shown.trigger("view.language", "en")
    qtbot.mouseClick(banner.close_button, LEFT)
    assert not banner.isVisible()


def test_the_card_shown_again_hides_the_buttons_of_before(open_on: Opened, recorded: Callable[[str], Path]) -> None:
    window = open_on(recorded("second_backward"))
    assert window.wait_ready(60)
    window.trigger("step.last")
    window.session.update(language="zh")
    card = window.desk.stage.error
    QApplication.processEvents()  # Qt shows what a layout was given a turn later, and deletes nothing in this one
    buttons = [b for b in card.frame.findChildren(QPushButton) if b.isVisibleTo(card)]
    assert [b.text() for b in buttons] == [f.label for f in fault_card(window.session.trace, 0, "zh").fixes]

"""The toolbar: buttons of the actions, gradient argument, device, and room at every width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gradviz.app.seedbox import SeedBox
from gradviz.app.toolbar import device_spec
from gradviz.app.window import Window
from gradviz.explain import Words
from gradviz.player.forms import Seed
from gradviz.trace.events import Device

LEFT = Qt.MouseButton.LeftButton


def test_buttons_step_and_play(shown: Window, qtbot: QtBot) -> None:
    bar, session = shown.desk.toolbar, shown.session
    assert not bar.previous.isEnabled() and not bar.first.isEnabled()
    for button, step in ((bar.next, 1), (bar.next, 2), (bar.previous, 1), (bar.last, 14), (bar.first, 0)):
        qtbot.mouseClick(button, LEFT)
        assert session.view.step == step
    qtbot.mouseClick(bar.play, LEFT)
    assert session.view.playing
    qtbot.mouseClick(bar.play, LEFT)
    assert not session.view.playing


def test_tooltips_tell_the_key_and_why_not(shown: Window) -> None:
    bar = shown.desk.toolbar
    assert "F8" in bar.next.toolTip() and "F7" in bar.previous.toolTip()
    assert Words("en")("ui.reason.file") in bar.backward.toolTip()


def test_switches_follow_the_view_and_change_it(shown: Window, qtbot: QtBot) -> None:
    bar = shown.desk.toolbar
    assert bar.retains.isChecked() and not bar.creates.isChecked()
    qtbot.mouseClick(bar.retains, LEFT, pos=bar.retains.rect().center())
    assert not shown.session.view.retain_graph and not bar.retains.isChecked()
    shown.trigger("option.create_graph")
    assert bar.creates.isChecked()


def test_speed(shown: Window) -> None:
    shown.trigger("play.faster")
    assert shown.session.view.speed == 2.0 and shown.desk.toolbar.speed.text() == "2×"
    menu = shown.desk.toolbar.speed.menu()
    assert menu is not None
    menu.actions()[0].trigger()
    assert shown.session.view.speed == 0.25


@pytest.mark.parametrize("presenter", [False, True])
@pytest.mark.parametrize("program", ["one_layer", "accumulation"])
def test_nothing_in_the_bar_is_cut(
    open_on: Callable[..., Window], recorded: Callable[[str], Path], program: str, presenter: bool
) -> None:
    window = open_on(recorded(program))
    assert window.wait_ready(20)
    window.session.update(presenter=presenter)
    for width, language in product((1000, 1280, 1440, 1600, 1920), ("en", "zh")):
        window.resize(width, 700)
        window.session.update(language=language)
        QApplication.processEvents()
        bar = window.desk.toolbar
        parts = list(bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly))
        shown = [w for w in parts if w.isVisible()]
        assert bar.backward in shown and bar.next in shown and bar.devices in shown
        if width >= 1280 and not presenter:
            parts_but_name = [w for w in shown if w is not bar.name]
            cut = [w.objectName() for w in parts_but_name if w.width() < w.minimumSizeHint().width()]
            assert not cut, (width, language)
        assert all(w.geometry().right() <= bar.width() for w in shown), (width, language)
    window.session.update(presenter=False, language="en")


def test_leaves_are_in_the_menu_of_grad_zero(live: Window) -> None:
    bar = live.desk.toolbar
    bar.fill_zeros()
    actions = {action.text(): action for action in bar._zeros.actions() if action.text()}
    assert {"w.grad.zero_()", "b.grad.zero_()", "w.grad = None", "b.grad = None"} <= set(actions)
    actions["w.grad = None"].trigger()
    assert live.wait_ready(20)
    bar.fill_zeros()
    actions = {action.text(): action for action in bar._zeros.actions() if action.text()}
    assert not actions["w.grad.zero_()"].isEnabled() and actions["w.grad.zero_()"].toolTip()
    assert actions["b.grad.zero_()"].isEnabled()


# ---- devices


def test_absent_devices_are_named_and_disabled_with_the_reason(shown: Window) -> None:
    box, header = shown.desk.toolbar.devices, shown.session.trace.header
    assert box.count() == len(header.devices)
    for row, device in enumerate(header.devices):
        item = box.model().index(row, 0)
        enabled = bool(item.flags() & Qt.ItemFlag.ItemIsEnabled)
        assert enabled == device.available
        if not device.available:
            assert device.reason and device.reason in box.itemText(row)


def test_choosing_a_device_writes_it_into_the_form_s_program(live: Window) -> None:
    live.desk.toolbar.device.emit("meta")
    assert 'device="meta"' in live.session.view.program.text and live.session.view.device == "meta"
    assert live.wait_ready(60)
    assert any(live.session.trace.tensor(t).device == "meta" for t in live.session.trace.tensors)  # type: ignore[union-attr]


def test_devices_are_called_as_pytorch_calls_them() -> None:
    assert [device_spec(Device("cpu")), device_spec(Device("cuda", 1))] == ["cpu", "cuda:1"]


# ---- gradient argument


@pytest.fixture
def seeds(qtbot: QtBot) -> Iterator[tuple[SeedBox, list[Seed]]]:
    window = QWidget()
    window.resize(600, 60)
    qtbot.addWidget(window)
    box, heard = SeedBox(window), list[Seed]()
    box.resize(600, 40)
    box.retell(Words("en"))
    box.set_shape((5, 3))
    box.changed.connect(heard.append)
    window.show()
    yield box, heard
    window.close()


def test_a_seed_is_chosen_by_hand(seeds: tuple[SeedBox, list[Seed]], qtbot: QtBot) -> None:
    box, heard = seeds
    assert box.seed() == Seed() and not box.typed.isVisible()
    box.kind.setCurrentIndex(1)
    assert [b.isVisible() for b in box.indexes] == [True, True] and box.indexes[0].maximum() == 4
    box.indexes[1].setValue(2)
    assert heard[-1] == Seed("one_hot", index=(0, 2))
    box.kind.setCurrentIndex(2)
    qtbot.keyClicks(box.typed, "[1, 2]")
    assert heard[-1] == Seed("typed", typed="[1, 2]") and not box.typed.toolTip()
    qtbot.keyClicks(box.typed, "]")
    assert box.typed.toolTip()


def test_showing_a_seed_tells_nobody(seeds: tuple[SeedBox, list[Seed]]) -> None:
    box, heard = seeds
    for seed in (Seed("one_hot", index=(3, 1)), Seed("typed", typed="2"), Seed()):
        box.set_seed(seed)
        assert box.seed() == seed
    assert heard == []


def test_the_gradient_is_asked_for_only_where_pytorch_needs_one(
    open_on: Callable[..., Window], recorded: Callable[[str], Path]
) -> None:
    scalar, matrix = open_on(recorded("one_layer")), open_on(recorded("accumulation"))
    assert scalar.wait_ready(20) and matrix.wait_ready(20)
    assert not scalar.desk.toolbar.gradient.isVisible() and matrix.desk.toolbar.gradient.isVisible()
    assert len(matrix.desk.toolbar.gradient.indexes) == 2

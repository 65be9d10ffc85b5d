"""The forms: a change of a field changes the visible program, and PyTorch runs it."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QSpinBox
from pytestqt.qtbot import QtBot

from gradviz.app.seedbox import SeedBox
from gradviz.app.window import Window
from gradviz.player.forms import Accumulation, OneLayer, Seed


def test_a_change_writes_the_program_and_records_it(live: Window, qtbot: QtBot) -> None:
    live.session.update(left="build")
    page = live.desk.left.build.pages[0]
    inputs, bias, activation = (page.fields[n] for n in ("inputs", "bias", "activation"))
    assert isinstance(inputs, QSpinBox) and isinstance(bias, QCheckBox) and isinstance(activation, QComboBox)
    inputs.setValue(4)
    bias.setChecked(False)
    activation.setCurrentText("tanh")
    assert live.desk.left.build.is_due and not live.is_ready
    assert live.wait_ready(60)
    form = OneLayer(inputs=4, bias=False, activation="tanh")
    view, trace = live.session.view, live.session.trace
    assert view.program.form == form and trace.header.source == form.source()
    assert live.desk.left.program.code.toPlainText() == form.source()
    assert "b" not in trace.names and any(n.name.startswith("Tanh") for n in trace.nodes)


def test_the_accumulation_example_reads_4_8_4(live: Window) -> None:
    live.desk.left.build.choose(1)
    assert live.wait_ready(60)
    trace = live.session.trace
    assert live.session.view.program.form == Accumulation() and live.session.view.step == 0
    seen = []
    for ident in range(3):
        grad = trace.at(trace.pass_end[ident]).grad("inp")
        assert grad is not None
        seen.append((float(grad[0, 0]), float(grad[0, 1])))
    assert seen == [(4, 2), (8, 4), (4, 2)]


def test_fields_of_the_accumulation_example(live: Window) -> None:
    build = live.desk.left.build
    build.choose(1)
    assert live.wait_ready(60)
    page = build.pages[1]
    power, calls, gradient = (page.fields[n] for n in ("power", "calls", "gradient"))
    assert isinstance(power, QDoubleSpinBox) and isinstance(calls, QSpinBox) and isinstance(gradient, SeedBox)
    power.setValue(3)
    calls.setValue(1)
    gradient.kind.setCurrentIndex(1)
    gradient.indexes[0].setValue(1)
    gradient.indexes[1].setValue(1)
    assert live.wait_ready(60)
    assert live.session.view.program.form == Accumulation(power=3, calls=1, gradient=Seed("one_hot", index=(1, 1)))
    live.trigger("step.last")
    grad = live.session.frame.grad("inp")
    assert grad is not None and grad[1, 1] == 12 and grad.sum() == 12


def test_a_half_typed_gradient_runs_nothing(live: Window) -> None:
    build = live.desk.left.build
    build.choose(1)
    assert live.wait_ready(60)
    gradient = build.pages[1].fields["gradient"]
    assert isinstance(gradient, SeedBox)
    gradient.kind.setCurrentIndex(2)
    gradient.typed.setText("[1,")
    assert not build.is_due


def test_editing_by_hand_leaves_the_form_alone_until_it_is_used(live: Window) -> None:
    text = live.session.view.program.text + "print(1)\n"
    live.trigger("edit.program")
    live.desk.left.program.code.setPlainText(text)
    assert live.session.view.program.form is None
    seed = live.desk.left.build.pages[0].fields["seed"]
    assert isinstance(seed, QSpinBox)
    seed.setValue(7)
    assert live.wait_ready(60)
    assert live.session.view.program.form == OneLayer(seed=7)


def test_an_example_from_the_toolbar_starts_fresh(live: Window) -> None:
    live.session.update(step=9)
    live.desk.toolbar.example.emit(1)
    assert live.wait_ready(60)
    assert live.session.view.program.form == Accumulation() and live.session.view.step == 0

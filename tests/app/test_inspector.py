"""The inspector's rows against the recording; clicks on them; numbers as cells and as a table; formulas as pixels."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gradviz.app.facts import MOST_WRITES, Facts, tensor_of
from gradviz.app.formula import formula
from gradviz.app.heat import HeatTable
from gradviz.app.inspector import Inspector
from gradviz.app.rows import Entry, Note, Numbers, Pair, Title, spoken
from gradviz.app.window import Window
from gradviz.explain import Words
from gradviz.player.subject import key_of_step
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session
from gradviz.trace.events import Data
from gradviz.trace.values import to_numpy
from tests.long_runs import loop, work
from tests.scene.one_layer import data, recording

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", extend=True)  # said by the offscreen platform


@pytest.fixture
def inspector(qtbot: QtBot) -> Inspector:
    session = Session()
    widget = Inspector(session)
    qtbot.addWidget(widget)
    widget.resize(340, 800)
    widget.show()
    session.begin(recording(2, retain=False, fault=True))
    return widget


def title(inspector: Inspector) -> str:
    first = inspector.sheet.rows[0]
    assert isinstance(first, Title)
    return first.text


def test_follows_the_step_until_something_is_selected(inspector: Inspector) -> None:
    session = inspector.session
    session.update(step=10)
    assert title(inspector) == "AddBackward0"
    session.update(step=11)
    assert title(inspector) == "b"
    session.update(selection="node:1")
    assert title(inspector) == "MmBackward0"
    session.update(step=5)
    assert title(inspector) == "MmBackward0"
    session.update(selection=None)
    assert title(inspector) == "matmul"


def test_every_step_and_every_key_has_rows_in_both_languages(inspector: Inspector) -> None:
    session = inspector.session
    trace = session.trace
    keys = [
        None,
        "fold:blocks.7",
        "leaf:2@op:4",
        "result:6",
        "pass:0",
        "fault:0",
        "node:999",
        "op:999",
        "tensor:999",
        "x",
    ]
    keys += [f"node:{i}" for i in range(len(trace.nodes))] + [f"op:{i}" for i in range(len(trace.ops))]
    keys += [f"tensor:{i}" for i in range(7)]
    for language in ("en", "zh"):
        for step in range(trace.steps + 1):
            for key in keys if step % 5 == 0 else (None,):
                session.update(language=language, step=step, selection=key)
                said = spoken(inspector.sheet.rows)
                assert said and "ui." not in said and "{" not in said


def test_node_shows_gradients_as_the_engine_passed_them() -> None:
    trace = recording(1)
    rows = Facts(trace.at(13), ViewState(step=13)).node(1)
    shown = [row.data for row in rows if isinstance(row, Numbers)]
    run = trace.at(13).run(1)
    assert run is not None
    assert shown == [run.gin[0], run.gout[1]]
    assert [row.go for row in rows if isinstance(row, Pair) and row.label.startswith("→")] == ["node:0"]


def test_saved_tensors_are_struck_once_freed() -> None:
    trace = recording(1, retain=False)
    for step, struck in ((12, False), (13, True)):
        rows = Facts(trace.at(step), ViewState(step=step)).node(1)
        assert [r.struck for r in rows if isinstance(r, Pair) and r.label == "self" and r.right] == [struck]


def test_leaf_counts_follow_the_writes() -> None:
    trace = recording(2)
    leaf = {step: Facts(trace.at(step), ViewState(step=step))._contributions(3) for step in (10, 11, 17, 18)}
    assert leaf == {10: 0, 11: 1, 17: 1, 18: 2}


def test_leaf_row_says_none_while_it_is_none() -> None:
    trace = recording(1)
    rows = {r.label: r for r in Facts(trace.at(11), ViewState(step=11)).leaves() if isinstance(r, Pair)}
    assert rows["w"].right == "None" and rows["b"].right != "None"


def test_a_click_on_an_edge_selects_its_target(inspector: Inspector, qtbot: QtBot) -> None:
    inspector.session.update(step=10)
    spot = next(spot for spot in inspector.sheet.spots if spot.go == "node:2")
    QTest.mouseClick(inspector.sheet, Qt.MouseButton.LeftButton, pos=spot.box.center().toPoint())
    assert inspector.session.view.selection == "node:2"


def test_a_click_on_a_ledger_row_goes_to_its_step(inspector: Inspector, qtbot: QtBot) -> None:
    inspector.session.update(step=3, selection="tensor:3")
    steps = [row.go for row in inspector.sheet.rows if isinstance(row, Entry) and row.go is not None]
    assert 11 in steps
    spot = next(spot for spot in inspector.sheet.spots if spot.go == 11)
    QTest.mouseClick(inspector.sheet, Qt.MouseButton.LeftButton, pos=spot.box.center().toPoint())
    assert inspector.session.view.step == 11 and inspector.session.view.selection == "tensor:3"


def test_a_norm_of_the_inspector_is_not_broken_from_its_number() -> None:
    trace = recording(1)
    said = spoken(Facts(trace.at(trace.steps), ViewState(step=trace.steps)).tensor(2))
    assert "‖·‖\u00a0" in said and "min\u00a0" in said and "‖·‖ 0" not in said


def ledger_of(language: str, element: tuple[int, ...] | None) -> tuple[list[str], list[Entry]]:
    trace = recording(2)
    rows = Facts(trace.at(trace.steps), ViewState(step=trace.steps, language=language), element).ledger(2)
    entries = [row for row in rows if isinstance(row, Entry)]
    return [entries[0].amount, entries[0].total], entries[1:]


@pytest.mark.parametrize(("language", "heads"), [("en", ["‖added‖", "‖.grad‖"]), ("zh", ["‖增量‖", "‖.grad‖"])])
def test_norms_of_a_ledger_are_no_sum(language: str, heads: list[str]) -> None:
    said, entries = ledger_of(language, None)
    assert said == heads and len(entries) == 2
    assert not any(row.amount.startswith("+") for row in entries)


@pytest.mark.parametrize(("language", "heads"), [("en", ["Amount", "Sum"]), ("zh", ["增量", "累计"])])
def test_numbers_of_one_element_add_up(language: str, heads: list[str]) -> None:
    said, entries = ledger_of(language, (4, 1))
    assert said == heads and all(row.amount[0] in "+-" for row in entries)
    assert sum(float(row.amount) for row in entries) == pytest.approx(float(entries[-1].total), abs=2e-4)


def test_a_click_on_a_cell_of_grad_chooses_the_element(inspector: Inspector, qtbot: QtBot) -> None:
    inspector.session.update(step=14, selection="tensor:2")
    spot = next(spot for spot in inspector.sheet.spots if spot.name == "grad" and spot.element == (4, 1))
    QTest.mouseClick(inspector.sheet, Qt.MouseButton.LeftButton, pos=spot.box.center().toPoint())
    assert inspector.element == (4, 1)
    inspector.session.update(selection="tensor:3")
    assert inspector.element is None


def test_keys_walk_the_links(inspector: Inspector, qtbot: QtBot) -> None:
    inspector.session.update(step=10)
    links = [spot.go for spot in inspector.sheet.spots if spot.go is not None]
    QTest.keyClick(inspector.sheet, Qt.Key.Key_Down)
    QTest.keyClick(inspector.sheet, Qt.Key.Key_Return)
    assert inspector.session.view.selection == links[0]


def test_table_opens_with_the_exact_numbers(inspector: Inspector, qtbot: QtBot) -> None:
    inspector.session.update(step=14, selection="tensor:2")
    assert not inspector.table.isVisibleTo(inspector)
    QTest.mouseClick(inspector.open_table, Qt.MouseButton.LeftButton)
    assert inspector.table.isVisibleTo(inspector)
    assert np.array_equal(inspector.table.matrix(), inspector.session.frame.value("w"))  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["tensor:2", "leaf:2", "leaf:2@op:7", "result:2", "grad:2"])
def test_keys_of_tensors(key: str) -> None:
    assert tensor_of(key) == 2
    assert tensor_of("op:2") is None and tensor_of(None) is None


def test_key_of_every_step() -> None:
    trace = recording(1, fault=True)
    found = [key_of_step(trace, step) for step in range(trace.steps + 1)]
    assert found[0] is None and found[5] == "op:4" and found[8] == "pass:0" and found[9] == "node:5"
    assert found[11] == "tensor:3" and found[-1] == "fault:0"


def table_of(qtbot: QtBot, content: Data | None) -> HeatTable:
    table = HeatTable()
    qtbot.addWidget(table)
    table.show_data(content, load_theme("light"), Words("en"))
    return table


def test_slices_of_a_tensor_with_four_axes(qtbot: QtBot) -> None:
    values = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    table = table_of(qtbot, data(values))
    assert np.array_equal(table.matrix(), values[0, 0])
    table.picks[0].setValue(1)
    table.picks[1].setValue(2)
    assert np.array_equal(table.matrix(), values[1, 2])
    table.rows_axis.setCurrentIndex(3)
    table.columns_axis.setCurrentIndex(0)
    table.rows_axis.activated.emit(3)
    table.picks[0].setValue(1)
    table.picks[1].setValue(2)
    assert np.array_equal(table.matrix(), values[:, 1, 2, :].T)


def test_copies_read_back_exactly(qtbot: QtBot) -> None:
    values = np.asarray([[0.1, -2.5e-8], [3.0, 7e9]], np.float32)
    table = table_of(qtbot, data(values))
    assert np.array_equal(np.asarray(ast.literal_eval(table.as_python()), np.float32), values)
    rows = [line.split(",") for line in table.as_csv().splitlines()]
    assert np.array_equal(np.asarray(rows, np.float32), values)
    strange = table_of(qtbot, data([np.nan, -np.inf]))
    assert np.array_equal(eval(strange.as_python()), [np.nan, -np.inf], equal_nan=True)


def test_table_says_what_is_missing(qtbot: QtBot) -> None:
    assert table_of(qtbot, None).note.text()
    summary = Data((100, 100), "float32", missing="budget", thumb=np.ones(4, np.float32).tobytes(), thumb_shape=(2, 2))
    table = table_of(qtbot, summary)
    assert table.matrix().shape == (2, 2) and "budget" in table.note.text()


def test_formula_has_letters_not_only_bars(qtbot: QtBot) -> None:
    def dark(tex: str) -> int:
        made = formula(tex, "#000000", 24.0)
        assert made is not None
        image = made.toImage()
        return sum(image.pixelColor(x, y).alpha() > 128 for x in range(image.width()) for y in range(image.height()))

    assert dark(r"\frac{abcdefg}{hijklmn}") > 3 * dark(r"\frac{\phantom{abcdefg}}{\phantom{hijklmn}}")
    assert formula(r"\frac{", "#000000") is None


def test_cells_write_numbers_of_the_recording(inspector: Inspector) -> None:
    inspector.session.update(step=11, selection="tensor:3")
    grad = inspector.session.frame.grad_data("b")
    assert grad is not None
    tips = {spot.element: spot.tip for spot in inspector.sheet.spots if spot.name == "grad"}
    assert tips == {(i,): f"[{i}] = {float(v)!r}" for i, v in enumerate(to_numpy(grad))}


def test_a_term_of_the_rule_lights_its_tensor_everywhere(shown: Window, qtbot: QtBot) -> None:
    session, sheet = shown.session, shown.desk.inspector.sheet
    trace = session.trace
    node = next(n for n in trace.nodes if n.name == "MmBackward0")
    session.update(step=trace.runs(node.id)[0], selection=f"node:{node.id}")
    saved = next(s for s in node.saved if s.kind == "tensor" and s.tensor is not None)
    key = f"tensor:{saved.tensor}"
    spot = next(s for s in sheet.spots if s.light == key)
    qtbot.mouseMove(sheet, spot.box.center().toPoint())
    qtbot.waitUntil(lambda: session.view.hover == key, timeout=2000)
    qtbot.waitUntil(lambda: sheet._lit == key, timeout=2000)
    assert shown.desk.left.program.code.marks.lit, "the code shows it"
    assert len([s for s in sheet.spots if key in (s.light, s.go)]) > 1, "and the row of what was saved"
    session.update(hover=None)
    assert not shown.desk.left.program.code.marks.lit


def test_the_inspector_lists_as_many_of_a_long_recording_as_of_a_short_one() -> None:
    spent = []
    for times in (200, 2000):
        trace = loop(times)
        step = trace.grads[0].steps[times // 2]
        facts = Facts(trace.at(step), ViewState(step=step))
        rows = facts.ledger(0)
        entries = [row for row in rows if isinstance(row, Entry) and row.go is not None]
        notes = [row.text for row in rows if isinstance(row, Note)]
        assert len(entries) == MOST_WRITES and [row.go for row in entries if row.marked] == [step]
        left_out = times - MOST_WRITES
        assert any(f"{left_out // 2 + 1:,}" in text for text in notes)
        assert sum(int("".join(c for c in text.split()[0] if c.isdigit()) or 0) for text in notes) == left_out
        facts.about("tensor:0")  # who saved what is gathered once for a recording
        spent.append(work(lambda t=trace, s=step: Facts(t.at(s), ViewState(step=s)).about("tensor:0")))  # type: ignore[misc]
    assert spent[1] < 1.1 * spent[0]


def test_its_scroll_bar_is_that_of_the_step(inspector: Inspector) -> None:
    inspector.resize(340, 200)
    bar, heights = inspector.verticalScrollBar(), set()
    for step in range(inspector.session.view.steps + 1):
        inspector.session.update(step=step)
        heights.add(inspector.sheet.height())
        inside = inspector.widget()
        assert inside is not None
        assert bar.maximum() == max(0, inside.sizeHint().height() - inspector.viewport().height())
    assert len(heights) > 3

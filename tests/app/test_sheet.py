"""A sheet of rows: what is cut, wrapped, marked and copied."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.rows import Entry, Formula, Head, Note, Numbers, Pair, Row, Title, spoken
from gradviz.app.sheet import Sheet
from gradviz.scene.theme import load_theme
from tests.scene.one_layer import data

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", extend=True)  # said by the offscreen platform


@pytest.fixture
def sheet(qtbot: QtBot) -> Sheet:
    widget = Sheet()
    qtbot.addWidget(widget)
    widget.resize(320, 100)
    widget.show()
    return widget


def shown(sheet: Sheet, *rows: Row) -> Sheet:
    sheet.show_rows(list(rows), load_theme("light"))
    return sheet


def test_what_is_cut_has_a_tooltip(sheet: Sheet) -> None:
    name = "blocks.7.attention.projection.weight" * 3
    shown(sheet, Title("w"), Pair(name, "value"))
    assert any(spot.tip == name for spot in sheet.spots)
    assert not any(spot.tip == "w" for spot in sheet.spots)


@pytest.mark.parametrize("step", ["7", "1,039", "288,440"])
def test_a_step_of_many_digits_is_whole(sheet: Sheet, step: str) -> None:
    shown(sheet, Entry(step, "backward 1", "1", "1", 7))
    assert not any(spot.tip == step for spot in sheet.spots)


def test_height_follows_the_rows_and_the_width(sheet: Sheet) -> None:
    low = shown(sheet, Note("a")).height()
    high = shown(sheet, Note("many words " * 40)).height()
    assert high > low
    sheet.resize(900, high)
    assert sheet.height() < high


@pytest.mark.parametrize(
    ("shape", "cells"), [((3,), 3), ((5, 3), 15), ((13,), 13), ((2, 2, 2), 8), ((), 1), ((20, 20), 0), ((0,), 0)]
)
def test_small_tensors_are_written_number_by_number(sheet: Sheet, shape: tuple[int, ...], cells: int) -> None:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    shown(sheet, Numbers(data(values), "value"))
    elements = [spot.element for spot in sheet.spots if spot.name == "value"]
    assert len(elements) == cells
    if cells:
        assert elements == [tuple(map(int, index)) for index in np.ndindex(shape)]
        assert all(spot.box.right() <= sheet.width() for spot in sheet.spots)


def test_none_nan_and_zero_look_different(sheet: Sheet) -> None:
    pictures = []
    for content in (None, data([np.nan]), data([0.0]), data([np.inf])):
        shown(sheet, Numbers(content))
        pictures.append(sheet.grab().toImage())
    assert all(a != b for i, a in enumerate(pictures) for b in pictures[:i])


def test_bad_tex_falls_back_to_text(sheet: Sheet) -> None:
    with_tex = shown(sheet, Formula(r"\frac{a}{b}", "a / b")).grab().toImage()
    without = shown(sheet, Formula(r"\frac{", "a / b")).grab().toImage()
    assert with_tex != without
    blank = shown(sheet, Note(" ")).grab().toImage()
    assert without != blank


def test_copies_as_text(sheet: Sheet) -> None:
    rows: list[Row] = [Title("b", detail="leaf"), Head("Value", "(3,)"), Pair("self", "x", "12 B")]
    shown(sheet, *rows)
    QTest.keyClick(sheet, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == spoken(rows) == "b. leaf\nValue (3,)\nself x 12 B"
    assert sheet.accessibleDescription() == spoken(rows)

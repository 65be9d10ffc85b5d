"""The ledger panel: which leaf, which element, and where its rows lead."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gradviz.app.ledger import Ledger
from gradviz.app.rows import Entry
from gradviz.session import Session
from tests.scene.one_layer import Numbers, recording

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", extend=True)  # said by the offscreen platform


@pytest.fixture
def ledger(qtbot: QtBot) -> Ledger:
    widget = Ledger(Session())
    qtbot.addWidget(widget)
    widget.resize(340, 400)
    widget.show()
    widget.session.begin(recording(2))
    return widget


def entries(ledger: Ledger) -> list[Entry]:
    return [row for row in ledger.sheet.rows if isinstance(row, Entry) and not row.heading]


def test_lists_the_leaves_and_follows_the_selection(ledger: Ledger) -> None:
    assert [ledger.leaf.itemText(i) for i in range(ledger.leaf.count())] == ["w", "b"]
    ledger.session.update(selection="leaf:3@op:5")
    assert ledger.leaf.currentText() == "b"
    assert [row.go for row in entries(ledger)] == [11, 18]
    ledger.session.update(selection="tensor:2")
    assert [row.go for row in entries(ledger)] == [14, 21]


def test_one_element_of_it(ledger: Ledger) -> None:
    ledger.session.update(selection="tensor:2")
    ledger.whole.setCurrentIndex(1)
    ledger.whole.activated.emit(1)
    for pick, value in zip(ledger.picks, (4, 1), strict=True):
        pick.setValue(value)
    assert ledger.element() == (4, 1)
    amount = float(Numbers().gw[4, 1])
    assert [float(row.amount) for row in entries(ledger)] == pytest.approx([amount, amount], abs=1e-4)
    assert float(entries(ledger)[1].total) == pytest.approx(2 * amount, abs=1e-4)


def test_a_row_leads_to_its_step(ledger: Ledger) -> None:
    ledger.session.update(selection="tensor:3")
    spot = next(spot for spot in ledger.sheet.spots if spot.go == 18)
    QTest.mouseClick(ledger.sheet, Qt.MouseButton.LeftButton, pos=spot.box.center().toPoint())
    assert ledger.session.view.step == 18
    assert [row.marked for row in entries(ledger)] == [False, True]


def test_language_and_empty_state(qtbot: QtBot, ledger: Ledger) -> None:
    english = ledger.whole.itemText(0)
    ledger.session.update(language="zh")
    assert ledger.whole.itemText(0) != english and ledger.whole.count() == 2
    empty = Ledger(Session())
    qtbot.addWidget(empty)
    assert empty.sheet.accessibleDescription()

"""Change and compare: the other run on a canvas of its own, one clock for both, and a table of what differs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QScrollArea,
    QTableWidget,
    QTableWidgetItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.canvas import Canvas
from gradviz.app.icons import icon
from gradviz.app.knob_list import KnobList
from gradviz.app.layouts import Layouts
from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.explain import step_label
from gradviz.explain.labels import value_text
from gradviz.player.aligned import Aligned, Row
from gradviz.player.view import ViewState, go
from gradviz.session import Session
from gradviz.trace.events import Data
from gradviz.trace.values import number

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

_SHARED = ("theme", "language", "mode", "ghosts", "reduced_motion", "folded", "unfolded")
SLICE_SECONDS = 0.008
TELL_SECONDS = 0.2
KEY_ROLE = int(Qt.ItemDataRole.UserRole)


class RivalPanel(Panel):
    """The run that is compared with, at the moment that belongs to the session's step."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.rival = Session()
        self.canvas = Canvas(self.rival)
        self.layouts = Layouts(self.rival, self.canvas, self)
        self.title = QLabel(self.canvas)
        self.title.setObjectName("heading")
        self.title.move(16, 10)
        self._scanner = QTimer(self, singleShot=True, interval=2)
        self._scanner.timeout.connect(self._scan)
        self._told = 0.0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.canvas, 1)
        self.canvas.set_margins(34, 24, 20, 24)
        self.hide()
        self.begin()

    def retell(self) -> None:
        self.setAccessibleName(self.words("ui.compare.there"))
        self._say()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(
            old, new, "comparing", "step", "moment", "compared", "scanned", "events", "revision", "live", *_SHARED
        ):
            return
        self.setVisible(new.comparing and self.session.before is not None)
        if self.isHidden():
            return
        self.rival.update(**{field: getattr(new, field) for field in _SHARED})
        before = self.session.before
        if before is not None and self.rival.trace is not before:
            self.rival.begin(before)
        comparison = self.session.aligned
        if comparison is not None:
            if comparison.scanned < comparison.last and not self._scanner.isActive():
                self._scanner.start()
            step = comparison.steps(self.session.moment)[1]
            self.rival.show(go(self.rival.view, step))
            self.canvas.set_differs(comparison.marks(self.session.moment)[1])
        else:
            self.canvas.set_differs(())
        self._say()

    @property
    def is_due(self) -> bool:
        """Differences are still being looked for."""
        return self._scanner.isActive()

    def _scan(self) -> None:
        """Look for differences for a few milliseconds, then let the window do something else."""
        aligned = self.session.aligned
        if aligned is None:
            return
        done = aligned.scan(SLICE_SECONDS)
        if not done:
            self._scanner.start()
        if done or time.monotonic() - self._told > TELL_SECONDS:
            self._told = time.monotonic()
            self.session.update(scanned=aligned.scanned)

    def _say(self) -> None:
        view = self.rival.view
        name = self.session.before_name or self.words("ui.compare.there")
        self.title.setText(self.words("ui.compare.there_at", name=name, step=view.step, steps=view.steps))
        self.title.adjustSize()


class ComparePanel(Panel):
    """What can be turned, and what differs at the moment."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self.heading, self.said = QLabel(), QLabel()
        self.heading.setObjectName("title")
        self.said.setObjectName("dim")
        self.said.setWordWrap(True)
        self.more = QLabel()
        self.more.setObjectName("dim")
        self.close_button = QToolButton()
        self.close_button.setObjectName("plain")
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.clicked.connect(lambda: self.session.update(comparing=False))
        self.buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(6)
        for ident in ("compare.first", "compare.previous", "compare.next"):
            row.addWidget(self._button(commands, ident), 1)
        self._commands = commands
        self.table = QTableWidget(0, 3)
        self.table.verticalHeader().hide()
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.table.setShowGrid(False)
        head = self.table.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        head.setMaximumSectionSize(180)
        self.table.verticalHeader().setDefaultSectionSize(24)
        self.table.itemSelectionChanged.connect(self._select)
        self.knobs = KnobList(self.session)
        self.area = QScrollArea()
        self.area.setWidget(self.knobs)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        top = QHBoxLayout()
        top.addWidget(self.heading, 1)
        top.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 12, 12, 8)
        column.setSpacing(8)
        column.addLayout(top)
        column.addWidget(self.area, 2)
        column.addWidget(self.said)
        column.addLayout(row)
        column.addWidget(self.table, 3)
        column.addWidget(self.more)
        column.addWidget(self._button(commands, "compare.keep"), 0, Qt.AlignmentFlag.AlignLeft)
        self.hide()
        self.begin()

    def _button(self, commands: Commands, ident: str) -> QPushButton:
        button = self.buttons[ident] = QPushButton()
        button.clicked.connect(commands[ident].trigger)
        return button

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.compare.name"))
        self.heading.setText(words("ui.compare.name"))
        self.close_button.setAccessibleName(words("ui.banner.close"))
        self.close_button.setToolTip(words("ui.banner.close"))
        self.area.setAccessibleName(words("ui.compare.knobs"))
        self.table.setAccessibleName(words("ui.compare.table"))
        self.table.setHorizontalHeaderLabels([words(f"ui.compare.column.{name}") for name in ("name", "here", "there")])
        for ident, button in self.buttons.items():
            button.setText(words(f"ui.{ident}"))
            button.setAccessibleName(words(f"ui.action.{ident}.title"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "theme"):
            self.close_button.setIcon(icon("close", self.theme.text_dim))
        if not differ(
            old,
            new,
            "comparing",
            "step",
            "moment",
            "compared",
            "scanned",
            "events",
            "revision",
            "live",
            "language",
            "theme",
        ):
            return
        self.setVisible(new.comparing)
        if not new.comparing:
            return
        for ident, button in self.buttons.items():
            button.setEnabled(self._commands.reason(ident) is None)
            button.setToolTip(self._commands[ident].toolTip())
        comparison = self.session.aligned
        rows = comparison.rows(self.session.moment) if comparison is not None else []
        self.said.setText(self._sentence(comparison))
        self._fill(rows)
        left_out = comparison.names_left_out if comparison is not None else 0
        self.more.setText(self.words("ui.compare.left_out", count=left_out))
        self.more.setVisible(bool(left_out))

    def _sentence(self, comparison: Aligned | None) -> str:
        """What this moment is in both runs, and whether it differs."""
        words, session = self.words, self.session
        if session.before is None:
            return words("ui.compare.change")
        if comparison is None:
            return words("ui.compare.wait")
        moment = session.moment
        here, there = comparison.pairs[moment]
        names = {
            "here": step_label(session.trace, here) if here else "",
            "there": step_label(comparison.there, there) if there else "",
        }
        if not moment:
            return words("ui.compare.beginning" if comparison.next(0) else "ui.compare.all_same")
        if here is None or there is None:
            return words("ui.compare.only_there" if here is None else "ui.compare.only_here", **names)
        found = comparison.differences(moment)
        if not found:
            return words("ui.compare.same", **names)
        if not comparison.differs(moment):
            return words("ui.compare.rounding", **names)
        kinds = dict.fromkeys(words(f"ui.compare.kind.{d.kind}") for d in found if not d.rounding)
        return words("ui.compare.differs", what=words("ui.compare.and").join(kinds), **names)

    def _fill(self, rows: list[Row]) -> None:
        table, words, theme = self.table, self.words, self.theme
        table.blockSignals(True)  # the rows are the session's, not a choice of somebody
        table.setRowCount(len(rows))
        for k, row in enumerate(rows):
            name = row.name + {"grad": ".grad", "requires_grad": ".requires_grad"}.get(row.kind, "")
            texts = (("≈ " if row.rounding else "≠ ") + name, self._held(row, row.here), self._held(row, row.there))
            tip = name if row.largest is None else words("ui.compare.largest", name=name, value=number(row.largest, 6))
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                item.setToolTip(tip if column == 0 else text)
                item.setData(KEY_ROLE, row.key)
                item.setForeground(color(theme.text_dim if row.rounding else theme.text))
                table.setItem(k, column, item)
        table.clearSelection()
        table.blockSignals(False)

    def _held(self, row: Row, value: Data | str | None) -> str:
        if isinstance(value, str):
            return value
        if value is None:
            return "None" if row.kind == "grad" else self.words("ui.compare.absent")
        return value_text(value, 4)

    def _select(self) -> None:
        item = self.table.currentItem()
        if item is not None and item.isSelected():
            self.session.update(selection=item.data(KEY_ROLE))

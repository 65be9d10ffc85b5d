"""A fault as a card at the node that raised it: what happened, what proves it, why, and what can be tried."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from gradviz.app.icons import icon
from gradviz.app.panel import Panel, clear, differ
from gradviz.explain import fault_card
from gradviz.player.fixes import repair
from gradviz.player.view import ViewState
from gradviz.trace.events import Fault

if TYPE_CHECKING:
    from gradviz.app.canvas import Canvas
    from gradviz.session import Session

WIDTH = 540
GAP = 30
LEAST, TOP = 8, 48
INSET = 44
"""Pixels of its width that are margins."""


class ErrorCard(Panel):
    """Visible while the step is a fault."""

    fix = Signal(int, object)
    """Fault id and the `Fix` that was clicked."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._fault: Fault | None = None
        self._dismissed: tuple[int, int] | None = None
        self._original = ""
        self.link = QFrame(parent)
        self.link.hide()
        self.frame = QFrame()
        self.frame.setObjectName("errorcard")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.frame)
        column = QVBoxLayout(self.frame)
        column.setContentsMargins(18, 12, 12, 12)
        column.setSpacing(8)
        self.title = self._label("title")
        self.close_button = QToolButton()
        self.close_button.setObjectName("plain")
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.clicked.connect(self._dismiss)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        self.fact, self.effect, self.cause = (self._label("dim") for _ in range(3))
        for label in (self.fact, self.effect, self.cause):
            column.addWidget(label)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        column.addLayout(self._buttons)
        self.fold = QToolButton()
        self.fold.setObjectName("link")
        self.fold.setCheckable(True)
        self.fold.toggled.connect(self._unfold)
        column.addWidget(self.fold)
        self.original = self._label("mono")
        self.original.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        column.addWidget(self.original)
        self.hide()
        self.begin()

    def _label(self, style: str) -> QLabel:
        label = QLabel()
        label.setObjectName(style)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    # ---- what it says

    def retell(self) -> None:
        self.setAccessibleName(self.words("ui.error.name"))
        self.close_button.setAccessibleName(self.words("ui.banner.close"))
        self._fault = None

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, "step", "revision", "language", "theme", "events"):
            return
        event = self.session.trace.event_at(new.step) if self.session.trace.events else None
        fault = event if isinstance(event, Fault) else None
        if fault is None or self._dismissed == (new.revision, fault.id):
            self.hide()
            self.link.hide()
            self._fault = None
        elif fault is not self._fault or differ(old, new, "language", "theme"):
            self._fault = fault
            self._fill(fault)
            self.show()

    def _fill(self, fault: Fault) -> None:
        card = fault_card(self.session.trace, fault.id, self.session.view.language)
        self.title.setText(f"✖ {card.title}")
        for label, text in ((self.fact, card.fact), (self.effect, card.effect), (self.cause, card.cause)):
            label.setText(text)
            label.setVisible(bool(text))
        self.close_button.setIcon(icon("close", self.theme.text_dim))
        clear(self._buttons)
        view = self.session.view
        possible = [
            fix
            for fix in card.fixes
            if fix.kind == "why"
            or repair(fix.kind, self.session.trace, fault.id, view.program.text, view.actions) is not None
        ]
        for k, fix in enumerate(possible):
            button = QPushButton(fix.label)
            button.setAccessibleName(fix.label)
            button.setObjectName("primary" if k == 0 else "")
            button.clicked.connect(partial(self._fix, fault.id, fix))
            self._buttons.addWidget(button)
        self._buttons.addStretch(1)
        self.fold.setChecked(False)
        self._original = self.words("ui.error.message" if fault.code == "other" else "ui.error.original")
        self.fold.setText(f"▸ {self._original}")
        self.fold.setAccessibleName(self._original)
        self.original.setText(card.original)
        self.original.hide()
        self.link.setStyleSheet(f"background: {self.theme.error};")

    def _fix(self, fault: int, fix: object, checked: bool = False) -> None:
        self.fix.emit(fault, fix)

    def _unfold(self, shown: bool) -> None:
        self.fold.setText(("▾ " if shown else "▸ ") + self._original)
        self.original.setVisible(shown)
        self._fit()

    def _dismiss(self) -> None:
        if self._fault is not None:
            self._dismissed = (self.session.view.revision, self._fault.id)
        self.hide()
        self.link.hide()

    # ---- where it stands

    def needed(self) -> int:
        """Height in pixels that it takes at its width."""
        self._fit()
        return self.height()

    def place(self, canvas: Canvas, bottom: int, below: int | None) -> None:
        """Stand inside the canvas: below the graph that ends at pixel `below` where there is room for it, else (None)
        below the failing node, or above it."""
        if self._fault is None or not self.isVisible():
            self.link.hide()
            return
        anchor = self._anchor(canvas)
        width, height = self.width(), self.height()
        if anchor is None:
            self.link.hide()
            y = (bottom - height) // 2 if below is None else min(below + GAP, bottom - height)
            self.move((canvas.width() - width) // 2, max(60, y))
            return
        x = max(12, min(anchor.center().x() - width // 3, canvas.width() - width - 12))
        free = _beside(anchor, height, bottom) if below is None else min(below + GAP, bottom - height)
        y = min(free, canvas.height() - height - 2)
        self.move(x, y)
        self._place_link(anchor.center().x(), anchor.bottom(), anchor.top(), y, height)
        self.raise_()

    def _anchor(self, canvas: Canvas) -> QRect | None:
        """The whole card of the failing node or operation: none of it is to be covered."""
        if canvas.composer is None or self._fault is None:
            return None
        graph, fault = canvas.composer.graph, self._fault
        card = graph.card_of_node.get(fault.node) if fault.node is not None else None
        if card is None and fault.op is not None:
            card = graph.card_of_op.get(fault.op)
        return canvas.anchor(graph.cards[card].key) if card is not None else None

    def _place_link(self, x: int, bottom: int, top: int, y: int, height: int) -> None:
        first, last = (bottom, y) if y >= bottom else (y + height, top)
        self.link.setVisible(last > first)
        if last > first:
            self.link.setGeometry(x, first, 2, last - first)

    def _fit(self) -> None:
        """Take the width that there is; where the height is too little, leave to the inspector what it tells too."""
        parent = self.parentWidget()
        self.setFixedWidth(min(WIDTH, max(240, parent.width() - 24)) if parent else WIDTH)
        buttons = [button for button in self.findChildren(QPushButton) if not button.isHidden()]
        need = sum(button.sizeHint().width() + self._buttons.spacing() for button in buttons)
        narrow = need > self.width() - INSET
        way = QHBoxLayout.Direction
        self._buttons.setDirection(way.TopToBottom if narrow else way.LeftToRight)
        told = [label for label in (self.effect, self.fact, self.cause) if label.text()]
        for label in told:
            label.show()
        self._settle()
        while parent and told and self.height() > parent.height() - TOP - LEAST:
            told.pop(0).hide()
            self._settle()

    def _settle(self) -> None:
        for layout in (self.frame.layout(), self.layout()):
            if layout is not None:
                layout.invalidate()
                layout.activate()
        if layout is not None:
            self.resize(self.width(), layout.heightForWidth(self.width()))


def _beside(anchor: QRect, height: int, bottom: int) -> int:
    """Top of a card of that height below or above a place, as far off as there is room for."""
    below, above = bottom - height - anchor.bottom(), anchor.top() - height - TOP
    if below >= LEAST or below >= above:
        return anchor.bottom() + max(LEAST, min(GAP, below))
    return anchor.top() - height - max(LEAST, min(GAP, above))

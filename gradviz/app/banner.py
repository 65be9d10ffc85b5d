"""A line across the window that says what happened and offers one thing to do about it. Never a modal dialog."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from gradviz.app.icons import icon
from gradviz.app.panel import Panel, differ
from gradviz.explain import Words
from gradviz.player.view import ViewState
from gradviz.session import Session

Say = Callable[[Words], str]


class Banner(Panel):
    """Hidden until `tell` is called; goes away by its ✖, by its button, or by `hide`."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._say: Say | None = None
        self._act: Callable[[], object] | None = None
        self._closed: Callable[[], object] | None = None
        self._key = "ui.banner.again"
        self.frame = QFrame()
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton()
        self.button.clicked.connect(self._clicked)
        self.close_button = QToolButton()
        self.close_button.setObjectName("plain")
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.clicked.connect(self._close)
        row = QHBoxLayout(self.frame)
        row.setContentsMargins(16, 6, 8, 6)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        row.addWidget(self.close_button)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.frame)
        self.hide()
        self.begin()

    def tell(
        self,
        say: Say,
        *,
        warn: bool = False,
        again: Callable[[], object] | None = None,
        button: str = "ui.banner.again",
        closed: Callable[[], object] | None = None,
    ) -> None:
        """Show a sentence, made by `say` from the words of any language; `again` is what its button does, `button` the
        key of what the button says, `closed` what happens when somebody closes it."""
        self._say, self._act, self._key, self._closed = say, again, button, closed
        self.frame.setObjectName("banner" if warn else "note")
        self.frame.style().unpolish(self.frame)
        self.frame.style().polish(self.frame)
        self.button.setVisible(again is not None)
        self.retell()
        self.show()

    def retell(self) -> None:
        words = self.words
        text = self._say(words) if self._say else ""
        self.label.setText(text)
        self.label.setAccessibleName(text)
        for button, key in ((self.button, self._key), (self.close_button, "ui.banner.close")):
            button.setAccessibleName(words(key))
            button.setToolTip(words(key))
        self.button.setText(words(self._key))
        self.setAccessibleName(text)

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "theme"):
            self.close_button.setIcon(icon("close", self.theme.text))

    def _close(self) -> None:
        self.hide()
        if self._closed is not None:
            self._closed()

    def _clicked(self) -> None:
        self.hide()
        if self._act is not None:
            self._act()

"""A line across the window that says what happened and offers one thing to do about it. Never a modal dialog."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from gradviz.app.icons import icon


class Banner(QFrame):
    """Hidden until `tell` is called; goes away by its ✖, by its button, or by `hide`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._act: Callable[[], object] | None = None
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.button = QPushButton()
        self.button.clicked.connect(self._clicked)
        self.close_button = QToolButton()
        self.close_button.setObjectName("plain")
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 8, 6)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        row.addWidget(self.close_button)
        self.hide()

    def tell(
        self, text: str, button: str = "", act: Callable[[], object] | None = None, *, ink: str, close: str
    ) -> None:
        """Show a sentence, with a button that does `act` if there is one. `close` names the ✖."""
        self.label.setText(text)
        self.label.setAccessibleName(text)
        self.button.setText(button)
        self.button.setAccessibleName(button)
        self.button.setVisible(bool(button))
        self.close_button.setIcon(icon("close", ink))
        self.close_button.setAccessibleName(close)
        self.close_button.setToolTip(close)
        self._act = act
        self.show()

    def _clicked(self) -> None:
        self.hide()
        if self._act is not None:
            self._act()

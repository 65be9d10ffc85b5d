"""What every panel of the window has: it listens to the session, and speaks the session's language."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractSpinBox, QLayout, QWidget

from gradviz.explain import Words
from gradviz.player.view import ViewState
from gradviz.scene.theme import Theme, load_theme
from gradviz.session import Session


class Panel(QWidget):
    """Calls `retell` at first and when the language changes, `refresh` at first and after every change."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.destroyed.connect(session.listen(self._heard))

    def begin(self) -> None:
        """To be called when all child widgets exist."""
        self.retell()
        self.refresh(None, self.session.view)

    @property
    def words(self) -> Words:
        """The word list of the language that is spoken now."""
        return Words(self.session.view.language)

    @property
    def theme(self) -> Theme:
        """The colours of now."""
        return load_theme(self.session.view.theme)

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.language != new.language:
            self.retell()
        self.refresh(old, new)

    def retell(self) -> None:
        """Say everything again, in the language of now."""

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        """Show what has changed; `old` is None the first time."""


def differ(old: ViewState | None, new: ViewState, *fields: str) -> bool:
    """One of these fields has changed, or everything is new."""
    return old is None or any(getattr(old, field) != getattr(new, field) for field in fields)


def inset(box: QAbstractSpinBox) -> None:
    """Move the number off the border: the padding of a style sheet does not reach the line inside a spin box."""
    box.lineEdit().setTextMargins(6, 0, 0, 0)


def discard(widget: QWidget) -> None:
    """Take a widget away at once; it is deleted only when the event loop comes to that."""
    widget.hide()
    widget.deleteLater()


def clear(layout: QLayout) -> None:
    """Take everything out of a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            discard(widget)

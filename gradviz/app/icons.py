"""The icons of `resources/icons`, in the colours of the theme."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gradviz import assets

SIDE = 64


@cache
def source(name: str) -> str:
    """The text of an icon.

    Raises:
        FileNotFoundError: there is no such icon.
    """
    return assets.text("icons", f"{name}.svg")


@cache
def picture(name: str, color: str) -> QPixmap:
    """An icon in one colour, large enough for any screen."""
    made = QPixmap(SIDE, SIDE)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer = QSvgRenderer(QByteArray(source(name).replace("currentColor", color).encode()))
    renderer.render(painter, QRectF(0, 0, SIDE, SIDE))
    painter.end()
    return made


@cache
def icon(name: str, color: str, faint: str | None = None) -> QIcon:
    """An icon in `color`, and in `faint` where it is disabled."""
    made = QIcon(picture(name, color))
    if faint is not None:
        made.addPixmap(picture(name, faint), QIcon.Mode.Disabled)
    return made

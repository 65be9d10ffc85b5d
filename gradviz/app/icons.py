"""The icons of `resources/icons`, in the colours of the theme."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

FOLDERS = tuple(Path(__file__).parents[k] / "resources" / "icons" for k in (2, 1))
"""Where icons lie: in a checkout, in a wheel."""
SIDE = 64


@cache
def source(name: str) -> str:
    """The text of an icon.

    Raises:
        KeyError: there is no such icon.
    """
    for folder in FOLDERS:
        path = folder / f"{name}.svg"
        if path.exists():
            return path.read_text("utf-8")
    raise KeyError(name)


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

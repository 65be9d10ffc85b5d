"""Formulas in TeX as pictures; the typesetter is imported when the first one is shown."""

from __future__ import annotations

import warnings
from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer


@lru_cache(512)
def svg_of(tex: str, ink: str, size: float) -> bytes | None:
    """The formula as an SVG document, glyphs as paths; None where TeX cannot be read. `size` in pixels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its way to its font is an old one on Python 3.11
        from ziamath import zmath  # 0.1 s, so not before a formula is wanted
        from ziamath.config import config

    config.svg2 = False  # QtSvg draws no <symbol>, which is how SVG 2 would reuse the glyphs
    try:
        made = zmath.Latex(tex, size=size, color=ink).svg()
    except Exception:  # noqa: BLE001 - what a typesetter raises on bad TeX is nowhere promised; the text is shown instead
        return None
    return made.encode()


@lru_cache(256)
def formula(tex: str, ink: str, size: float = 17.0, ratio: float = 1.0) -> QPixmap | None:
    """The formula as a pixmap for a screen of that pixel ratio; None where TeX cannot be read."""
    text = svg_of(tex, ink, size)
    if text is None:
        return None
    renderer = QSvgRenderer(QByteArray(text))
    wanted = renderer.defaultSize()
    if not renderer.isValid() or wanted.isEmpty():
        return None
    pixmap = QPixmap(wanted * ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(pixmap.rect()))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap

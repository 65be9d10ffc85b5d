"""The bundled fonts, put into Qt's font database once."""

from __future__ import annotations

from functools import cache

from PySide6.QtGui import QFontDatabase

from gradviz import assets

MONO: tuple[str, ...] = ("JetBrains Mono", "DejaVu Sans Mono", "Noto Sans CJK SC")
"""Families in order of preference; Qt goes on to the next one for a glyph that the first lacks."""
SANS: tuple[str, ...] = ("Inter", "DejaVu Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei")


@cache
def load_fonts() -> tuple[str, ...]:
    """Load every bundled font; needs a QGuiApplication. Gives the families that came with them."""
    found: list[str] = []
    for path in sorted(assets.path("fonts").iterdir()):
        if path.suffix in (".ttf", ".otf"):
            found += QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(path)))
    return tuple(dict.fromkeys(found))

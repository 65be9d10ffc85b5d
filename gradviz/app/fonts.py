"""The bundled fonts, put into Qt's font database once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtGui import QFontDatabase

MONO: tuple[str, ...] = ("JetBrains Mono", "DejaVu Sans Mono", "Noto Sans CJK SC")
"""Families in order of preference; Qt goes on to the next one for a glyph that the first lacks."""
SANS: tuple[str, ...] = ("Inter", "DejaVu Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei")
_FOLDERS = tuple(Path(__file__).parents[k] / "resources" / "fonts" for k in (2, 1))


@cache
def load_fonts() -> tuple[str, ...]:
    """Load every bundled font; needs a QGuiApplication. Gives the families that came with them."""
    files = sorted(
        p for folder in _FOLDERS if folder.is_dir() for p in folder.rglob("*") if p.suffix in (".ttf", ".otf")
    )
    found: list[str] = []
    for path in files:
        found += QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(path)))
    return tuple(dict.fromkeys(found))

"""How wide words are, without Qt: the advance widths of the bundled fonts, and guesses for other glyphs."""

from __future__ import annotations

import json
import unicodedata
from functools import cache, lru_cache

from gradviz import assets
from gradviz.scene.shapes import Font

MONO_EM = 0.6
"""Advance of every glyph of JetBrains Mono, in em."""
_NARROW = frozenset("iljtfrI.,:;'|!()[] ")


@cache
def _advances() -> dict[str, dict[str, float]]:
    """Font -> character -> advance in em."""
    fonts = json.loads(assets.text("fonts", "metrics.json"))
    return {
        name: {chr(int(code)): units / font["units_per_em"] for code, units in font["advances"].items()}
        for name, font in fonts.items()
    }


@cache
def _advance(letter: str, font: Font, bold: bool) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if font == "mono":
        return MONO_EM
    for name in ("Inter-SemiBold" if bold else "Inter-Regular", "DejaVuSans"):
        if letter in _advances()[name]:
            return _advances()[name][letter]
    return (0.32 if letter in _NARROW else 0.66 if letter.isupper() else 0.57) * (1.05 if bold else 1.0)


def text_width(text: str, size: float = 12.0, font: Font = "mono", weight: int = 400) -> float:
    """Width of a line of text in pixels."""
    if font == "mono" and text.isascii():
        return len(text) * MONO_EM * size
    return sum(_advance(letter, font, weight >= 600) for letter in text) * size


@lru_cache(20_000)
def fit(text: str, room: float, size: float = 12.0, font: Font = "mono", weight: int = 400) -> str:
    """The text, or as much of it as fits into `room` pixels with "…" after it; "" where not even that fits."""
    if text_width(text, size, font, weight) <= room + 0.01:
        return text
    for end in range(len(text) - 1, 0, -1):
        cut = text[:end].rstrip() + "…"
        if text_width(cut, size, font, weight) <= room:
            return cut
    return ""

"""How wide words are, without Qt: the bundled fonts' own advance widths where those are there, else good guesses."""

from __future__ import annotations

import json
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from gradviz.scene.shapes import Font

MONO_EM = 0.6
"""Advance of every glyph of JetBrains Mono, in em."""
_METRICS = "resources/fonts/metrics.json"
_NARROW = frozenset("iljtfrI.,:;'|!()[] ")


@cache
def _advances() -> dict[str, dict[str, float]]:
    """Font -> character -> advance in em; empty where the bundled metrics are missing."""
    for base in (Path(__file__).parents[2], Path(__file__).parents[1]):
        path = base / _METRICS
        if path.exists():
            return _read(json.loads(path.read_text("utf-8")))
    return {}


def _read(table: dict[str, dict[str, object]]) -> dict[str, dict[str, float]]:
    fonts: dict[str, dict[str, float]] = {}
    for name, font in table.items():
        widths, em = font.get("advances"), font.get("units_per_em")
        if isinstance(widths, dict) and isinstance(em, int | float):
            fonts[name] = {chr(int(code)): float(units) / em for code, units in widths.items()}
    return fonts


@cache
def _advance(letter: str, font: Font, bold: bool) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if font == "mono":
        return MONO_EM
    names = [n for n in _advances() if n.lower().startswith("inter") and (("bold" in n.lower()) == bold)]
    for name in names:
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

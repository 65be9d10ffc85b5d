"""Themes: one named colour for each meaning, read from `resources/themes/*.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache

from gradviz import assets

NAMES: tuple[str, ...] = ("light", "dark", "projector")


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as "#RRGGBB", by attribute (`theme.gradient`) or by name (`theme.color("gradient")`).

    `name` and `dark` tell which theme it is; every other field is a colour. `window` is the ground of the status bar,
    `panel` that of side panels, toolbar and popups, `canvas` that of the graph. A `…_fill` is the ground on which text
    of that meaning stands. `accent` and `accent_text` are for the primary button and the running node.
    """

    name: str
    dark: bool
    window: str
    panel: str
    canvas: str
    dots: str
    border: str
    text: str
    text_dim: str
    text_faint: str
    card: str
    card_border: str
    forward: str
    forward_fill: str
    gradient: str
    gradient_fill: str
    leaf: str
    leaf_fill: str
    saved: str
    saved_fill: str
    freed: str
    freed_fill: str
    error: str
    error_fill: str
    idle: str
    idle_fill: str
    current_line: str
    selection: str
    accent: str
    accent_text: str
    heat_low: str
    heat_zero: str
    heat_high: str

    def color(self, token: str) -> str:
        """The colour of a token.

        Raises:
            KeyError: there is no such token.
        """
        if token not in TOKENS:
            raise KeyError(token)
        return str(getattr(self, token))

    def ink(self, meaning: str) -> str:
        """The colour of text that stands on the fill of its own meaning: the meaning's, a shade nearer to `text` where
        that is needed for a contrast of 4.5."""
        return _ink(self.color(meaning), self.color(f"{meaning}_fill"), self.text)


TOKENS: tuple[str, ...] = tuple(f.name for f in fields(Theme) if f.name not in ("name", "dark"))


@cache
def load_theme(name: str) -> Theme:
    """The theme of that name: "light", "dark" or "projector".

    Raises:
        KeyError: there is no such theme.
    """
    if name not in NAMES:
        raise KeyError(name)
    table = tomllib.loads(assets.text("themes", f"{name}.toml"))
    return Theme(name=table["name"], dark=table["dark"], **table["colors"])


@cache
def _ink(color: str, ground: str, text: str) -> str:
    shades = (mix(color, text, share / 20) for share in range(21))
    return next((shade for shade in shades if contrast(shade, ground) >= 4.5), text)


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue of "#RRGGBB", 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def mix(first: str, second: str, share: float) -> str:
    """The colour that lies `share` (0 to 1) of the way from `first` to `second`."""
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#{:02X}{:02X}{:02X}".format(*(round(a + (b - a) * share) for a, b in pairs))


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    linear = [c / 12.92 if (c := v / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for v in rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""How the window stands before an audience: which panels, how large, what is dimmed. A value and its changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

PANELS: tuple[str, ...] = ("toolbar", "left", "right", "timeline")
"""What can be shown beside the canvas and the narration, which are always there."""
SCALES: tuple[float, ...] = (1.0, 1.25, 1.5, 2.0)

LOW, MOST = 800, 1.5
"""Height of a window for which the smallest scale is right; the largest that is chosen unasked."""


@dataclass(frozen=True, slots=True)
class Show:
    """Everything here holds in presenter mode only."""

    panels: frozenset[str] = frozenset(("toolbar", "left"))
    scale: float = 1.0
    """How much larger letters are than presenter mode makes them anyway."""
    spotlight: bool = False
    """All but the card where the step happens is dimmed."""
    keys: bool = True
    """Keys that are pressed are shown."""
    blank: bool = False
    """The screen is dark: the audience looks at whoever speaks."""
    full: bool = False
    """The window fills the screen."""
    notes: bool = False
    """The speaker's notes stand in a window of their own."""


def panels_of(names: Iterable[str]) -> frozenset[str]:
    """The known ones of these panels."""
    return frozenset(names) & frozenset(PANELS)


def toggled(show: Show, panel: str) -> Show:
    """With a panel shown that was hidden, or hidden that was shown."""
    return replace(show, panels=show.panels ^ panels_of((panel,)))


def fitting(height: int) -> float:
    """The scale with which letters take the same share of a window so many pixels high as of one of `LOW`."""
    return min((scale for scale in SCALES if scale <= MOST), key=lambda scale: abs(scale - height / LOW))


def scaled(show: Show, change: int) -> Show:
    """With the next larger (1) or smaller (-1) letters."""
    nearest = min(range(len(SCALES)), key=lambda k: abs(SCALES[k] - show.scale))
    return replace(show, scale=SCALES[max(0, min(len(SCALES) - 1, nearest + change))])

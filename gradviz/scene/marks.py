"""The small signs that stand beside colour: tick, triangle, cross, lock, arrow head."""

from __future__ import annotations

import math

from gradviz.scene.shapes import Anchor, Font, Point, Poly, Rect, Shape, Text
from gradviz.scene.theme import Theme
from gradviz.scene.words import fit, text_width

ARROW = 9.0
"""Length of an arrow head in pixels."""


def mark(kind: str, x: float, y: float, color: str, size: float = 10.0, opacity: float = 1.0) -> Shape:
    """A sign centred at (x, y): "tick", "run", "cross", "dot"."""
    r = size / 2
    if kind == "tick":
        points = ((x - r * 0.7, y + r * 0.05), (x - r * 0.15, y + r * 0.6), (x + r * 0.75, y - r * 0.55))
        return Poly(points, color, line=1.6, opacity=opacity)
    if kind == "run":
        return Poly(
            ((x - r * 0.7, y - r), (x + r * 0.95, y), (x - r * 0.7, y + r)), None, color, closed=True, opacity=opacity
        )
    if kind == "cross":
        return _cross(x, y, r * 0.85, r * 0.34, color, opacity)
    return Rect(x - 1.25, y - 1.25, 2.5, 2.5, color, radius=1.25, opacity=opacity)


def _cross(x: float, y: float, r: float, half: float, color: str, opacity: float) -> Poly:
    turn = math.sqrt(0.5)
    outline = [(r, half), (half, half), (half, r), (-half, r), (-half, half), (-r, half), (-r, -half), (-half, -half)]
    outline += [(-half, -r), (half, -r), (half, -half), (r, -half)]
    points = tuple((x + (a - b) * turn, y + (a + b) * turn) for a, b in outline)
    return Poly(points, None, color, closed=True, opacity=opacity)


def lock(x: float, y: float, color: str, *, open_: bool = False, opacity: float = 1.0) -> list[Shape]:
    """A padlock, 8 wide and 10 high, centred at (x, y); open: what it held was let go."""
    top = y - 5.0
    lift = -1.5 if open_ else 0.0
    shackle: tuple[Point, ...] = (
        (x - 2.2, y - 0.5),
        (x - 2.2, top + 1.6 + lift),
        (x - 1.2, top + lift),
        (x + 1.2, top + lift),
        (x + 2.2, top + 1.6 + lift),
    )
    if not open_:
        shackle += ((x + 2.2, y - 0.5),)
    body = Rect(
        x - 3.5, y - 0.8, 7, 5.6, None if open_ else color, color if open_ else None, radius=1.2, opacity=opacity
    )
    return [Poly(shackle, color, line=1.3, opacity=opacity), body]


def arrow(tip: Point, direction: Point, color: str, size: float = ARROW, opacity: float = 1.0) -> Poly:
    """A filled arrow head whose tip is at `tip`, pointing along `direction`."""
    length = math.hypot(*direction) or 1.0
    ux, uy = direction[0] / length, direction[1] / length
    bx, by = tip[0] - ux * size, tip[1] - uy * size
    half = size * 0.46
    points = (tip, (bx - uy * half, by + ux * half), (bx + uy * half, by - ux * half))
    return Poly(points, None, color, closed=True, opacity=opacity)


def word(
    x: float,
    y: float,
    text: str,
    color: str,
    room: float,
    *,
    size: float = 12.0,
    font: Font = "mono",
    weight: int = 400,
    anchor: Anchor = "start",
    opacity: float = 1.0,
) -> list[Shape]:
    """Text cut to `room` pixels; nothing where nothing fits."""
    text = fit(text, room, size, font, weight)
    if not text:
        return []
    return [Text(x, y, text, color, size, font, weight, anchor, text_width(text, size, font, weight), opacity)]


def glow(
    x: float, y: float, width: float, height: float, color: str, radius: float, strength: float = 1.0
) -> list[Shape]:
    """Two soft outlines around a box, 6 pixels wide together."""
    return [
        Rect(x - 3, y - 3, width + 6, height + 6, None, color, 6.0, radius + 3, opacity=0.12 * strength),
        Rect(x - 1.5, y - 1.5, width + 3, height + 3, None, color, 3.0, radius + 1.5, opacity=0.22 * strength),
    ]


def saved_chip(
    right: float, y: float, count: int, theme: Theme, *, freed: bool, opacity: float = 1.0
) -> tuple[list[Shape], float]:
    """A chip that tells how many things a node keeps, its right end at `right`, centred at height `y`; freed: hollow
    and struck. Gives its shapes and its width."""
    text = str(count)
    width = 19 + text_width(text, 10)
    x = right - width
    ink = theme.freed if freed else theme.ink("saved")
    shapes: list[Shape] = [
        Rect(x, y - 7, width, 14, None, theme.freed, 1.0, 7, dash=(2.5, 2), opacity=opacity)
        if freed
        else Rect(x, y - 7, width, 14, theme.saved_fill, theme.saved, 1.0, 7, opacity=opacity)
    ]
    shapes += lock(x + 8.5, y, ink, open_=freed, opacity=opacity)
    shapes += word(x + 14.5, y + 3.5, text, ink, 40, size=10, weight=600, opacity=opacity)
    if freed:
        shapes.append(Poly(((x + 3, y + 0.5), (right - 3, y + 0.5)), theme.freed, line=1.2, opacity=opacity))
    return shapes, width

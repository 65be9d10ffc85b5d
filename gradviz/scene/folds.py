"""Folds as shapes, and the frames of those that are open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradviz.explain import Words
from gradviz.graph.model import Card
from gradviz.scene.captions import card_title, detail_of
from gradviz.scene.marks import mark, word
from gradviz.scene.moment import DONE, FAILED, FREED, GONE, PLANNED, RUNNING, Moment
from gradviz.scene.shapes import Box, Poly, Rect, Shape
from gradviz.scene.theme import Theme, mix
from gradviz.scene.words import fit, text_width
from gradviz.trace import values

if TYPE_CHECKING:
    from gradviz.scene.cards import Look

RADIUS = 9.0
TAB = 240.0, 22.0
"""Width, at most, and height of the title of an open group; a click there folds it."""
TALL = 72.0
"""A fold so high has a line of its own for its gradient's norm."""


def fold_shapes(moment: Moment, i: int, card: Card, box: Box, look: Look) -> Iterator[Shape]:
    """A fold: how it is called, what is in it, its gradient's norm, how much of it has run, and how it stands."""
    theme, (x, y, w, h), words = moment.theme, box, Words(moment.view.language)
    done, total = moment.shares(i)
    nan, norm = moment.gradient_of(i)
    state = _state(look.code, done, total, nan=nan)
    stroke, line, dash, fill = _OUTLINE[state](theme)
    if look.now and state not in ("nan", "failed"):
        stroke, line, dash = theme.gradient if look.back or look.code == RUNNING else theme.forward, 2.0, ()
    opacity = look.opacity * (0.8 if state == "gone" else 1.0)
    for depth in (2, 1) if card.fold is not None and card.fold.kind == "stack" else ():
        yield Rect(x + 4 * depth, y - 4 * depth, w, h, theme.card, stroke, 1.0, RADIUS, dash=dash, opacity=opacity)
    yield Rect(x, y, w, h, fill, stroke, line, RADIUS, dash=dash, opacity=opacity)
    sign = _SIGN.get("run" if look.now and look.code == RUNNING else state)
    if sign is not None:
        ink = theme.error if sign == "cross" else theme.ink("gradient") if state != "gone" else theme.idle
        yield mark(sign, x + w - 14, y + 15.5, ink, 10.0, opacity)
    ink = theme.idle if card.fold is not None and card.fold.kind == "setup" else theme.ink("forward")
    title = tail(card_title(card, words), w - 36, 13)
    yield from word(x + 12, y + 20, title, ink, w - 36, size=13, weight=600, opacity=opacity)
    yield from word(
        x + 12, y + 38, detail_of(card, words), theme.text_dim, w - 24, size=11, font="sans", opacity=opacity
    )
    note = "∇ NaN" if nan else f"‖∇‖ {values.number(norm)}" if norm is not None else ""
    ink = theme.ink("error") if nan else theme.text_dim
    base = y + 54 if h >= TALL else y + 38
    side = x + 12 if h >= TALL else x + w - 12
    room = w - 24 - (0.0 if h >= TALL else text_width(detail_of(card, words), 11, "sans") + 8)
    yield from word(
        side, base, note, ink, room, size=11, font="sans", weight=700 if nan else 500,
        anchor="start" if h >= TALL else "end", opacity=opacity,
    )  # fmt: skip
    if total:
        yield from _bar(theme, x + 12, y + h - 13, w - 24, done / total, state, opacity)


def _state(code: int, done: int, total: int, *, nan: bool) -> str:
    """How a fold stands, in a word."""
    if code == FAILED:
        return "failed"
    if nan:
        return "nan"
    if code in (RUNNING, PLANNED) and done:
        return "run"
    if code == GONE:
        return "gone_done" if total and done == total else "gone"
    if code == PLANNED:
        return "planned"
    if code in (DONE, FREED) and total and done == total:
        return "done"
    return "part" if done else "waiting"


_SIGN = {"failed": "cross", "nan": "cross", "run": "run", "done": "tick", "gone_done": "tick"}
Outline = tuple[str, float, tuple[float, ...], str]
_OUTLINE: dict[str, Callable[[Theme], Outline]] = {
    "failed": lambda t: (t.error, 2.0, (), t.error_fill),
    "nan": lambda t: (t.error, 2.0, (), t.error_fill),
    "run": lambda t: (t.gradient, 2.0, (), t.card),
    "planned": lambda t: (mix(t.gradient, t.card, 0.35), 1.2, (4.0, 3.0), t.card),
    "done": lambda t: (t.gradient, 1.5, (), t.gradient_fill),
    "part": lambda t: (mix(t.gradient, t.card, 0.35), 1.2, (), t.card),
    "gone_done": lambda t: (mix(t.gradient, t.card, 0.35), 1.2, (), t.card),
    "gone": lambda t: (t.idle, 1.0, (1.5, 3.0), t.card),
    "waiting": lambda t: (t.card_border, 1.0, (), t.card),
}


def tail(title: str, room: float, size: float) -> str:
    """A path cut at its beginning: its end tells most."""
    if text_width(title, size) <= room or "." not in title:
        return title
    parts = title.split(".")
    for k in range(1, len(parts)):
        cut = "…" + ".".join(parts[k:])
        if text_width(cut, size) <= room:
            return cut
    return "…" + parts[-1]


def _bar(theme: Theme, x: float, y: float, w: float, share: float, state: str, opacity: float) -> Iterator[Shape]:
    ink = {"nan": theme.error, "failed": theme.error, "gone": theme.idle}.get(state, theme.gradient)
    yield Rect(x, y, w, 5, mix(theme.idle_fill, theme.idle, 0.12), None, radius=2.5, opacity=opacity)
    if share > 0:
        yield Rect(x, y, max(5.0, w * share), 5, ink, None, radius=2.5, opacity=opacity)


def frame_shapes(title: str, tab: Box, box: Sequence[float], theme: Theme) -> list[Shape]:
    """The dotted frame of an open group and its title with a sign that says: fold it; without a frame, a tab alone."""
    x, y, w, h = tab
    text = fit(tail(title, w - 26, 12), w - 26, 12, "mono", 600)
    wide = text_width(text, 12) + 26
    shapes: list[Shape] = []
    if box[2]:
        shapes.append(Rect(box[0], box[1], box[2], box[3], None, theme.idle, 1.2, 12, dash=(1.5, 4), opacity=0.8))
    else:
        shapes.append(Rect(x, y, wide, h, theme.canvas, theme.idle, 1.0, 6, dash=(1.5, 3), opacity=0.9))
    shapes.append(Poly(((x + 6, y + 9), (x + 14, y + 9), (x + 10, y + 14)), None, theme.ink("forward"), closed=True))
    shapes += word(x + 20, y + 15.5, text, theme.ink("forward"), w - 24, size=12, weight=600)
    return shapes

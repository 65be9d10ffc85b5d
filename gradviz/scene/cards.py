"""Cards as shapes: operation and grad_fn nodes, leaf and `.grad` slot, root, lone node, fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.graph.model import Card
from gradviz.scene import heat, places
from gradviz.scene.folds import fold_shapes
from gradviz.scene.marks import glow, mark, saved_chip, word
from gradviz.scene.moment import (
    DONE,
    FAILED,
    FREED,
    GONE,
    HIDDEN,
    PLANNED,
    RUNNING,
    Moment,
)
from gradviz.scene.shapes import Box, Poly, Rect, Shape
from gradviz.scene.theme import Theme, mix
from gradviz.scene.words import text_width
from gradviz.trace import values
from gradviz.trace.events import Data

RADIUS = 9.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a card stands out at this moment: `now`: the step happens in it; `chosen`, `lit`: selected, next to it;
    `hit`: found by the search; `back`: what
    happens now is no operation but a seed, a node's run or a change of `.grad`."""

    code: int
    now: bool = False
    chosen: bool = False
    hover: bool = False
    lit: bool = False
    hit: bool = False
    back: bool = False
    opacity: float = 1.0


def card_shapes(moment: Moment, i: int, box: Box, look: Look) -> list[Shape]:
    """All shapes of a card, back to front."""
    card = moment.graph.cards[i]
    if look.code == HIDDEN:
        return [Rect(*box, None, moment.theme.card_border, 1.0, RADIUS, dash=(2, 4), opacity=0.55)]
    shapes = list(_DRAW[card.kind](moment, i, card, box, look))
    return [*_halo(moment.theme, box, look), *shapes]


def _halo(theme: Theme, box: Box, look: Look) -> Iterator[Shape]:
    x, y, w, h = box
    if look.code == FAILED:
        yield from glow(x, y, w, h, theme.error, RADIUS)
    elif look.now:
        color = theme.gradient if look.code == RUNNING or look.back else theme.forward
        yield from glow(x, y, w, h, color, RADIUS)
    if look.hit:
        yield Rect(x - 6, y - 6, w + 12, h + 12, theme.current_line, theme.freed, 1.5, RADIUS + 6)
    if look.chosen:
        yield Rect(x - 5, y - 5, w + 10, h + 10, None, theme.selection, 2.0, RADIUS + 5)
    elif look.hover:
        yield Rect(x - 4, y - 4, w + 8, h + 8, None, theme.selection, 1.0, RADIUS + 4, opacity=0.7)
    elif look.lit and not look.now:
        yield Rect(x - 3, y - 3, w + 6, h + 6, None, theme.selection, 1.0, RADIUS + 3, opacity=0.35)


def _frame(theme: Theme, look: Look) -> tuple[str, float, tuple[float, ...]]:
    """Outline of a card: colour, width, dash."""
    if look.code == FAILED:
        return theme.error, 2.0, ()
    if look.code == RUNNING:
        return theme.gradient, 2.0, ()
    if look.now:
        return (theme.gradient if look.back else theme.forward), 1.5, ()
    if look.code == GONE:
        return theme.idle, 1.0, (1.5, 3)
    return theme.card_border, 1.0, ()


def _ghosted(look: Look) -> float:
    return look.opacity * (0.45 if look.code == GONE else 1.0)


# ---- operations


def _op(moment: Moment, i: int, card: Card, box: Box, look: Look) -> Iterator[Shape]:
    theme, (x, y, w, h) = moment.theme, box
    opacity = _ghosted(look)
    stroke, line, dash = _frame(theme, look)
    untracked = not card.nodes
    head_h = min(places.HEADER, h)
    yield Rect(x, y, w, h, theme.card, None, radius=RADIUS, opacity=opacity)
    fill = theme.idle_fill if untracked else theme.forward_fill
    yield Rect(x, y, w, head_h, fill, None, radius=RADIUS, corners="all" if untracked else "top", opacity=opacity)
    yield Rect(x, y, w, h, None, stroke, line, RADIUS, dash=dash, opacity=opacity)
    ink = theme.idle if untracked else theme.ink("forward")
    detail = word(x + w - 10, y + 18, card.detail, theme.text_dim, w * 0.5, size=11, anchor="end", opacity=opacity)
    room = w - 20 - (text_width(card.detail, 11) + 8 if detail else 0)
    yield from word(x + 10, y + 18, card.title, ink, room, size=13, weight=600, opacity=opacity)
    yield from detail
    for row, node in enumerate(card.nodes):
        place = places.row_box(box, row)
        if place[1] + place[3] > y + h + 0.5:
            break
        yield from _row(moment, node, place, opacity)


def _row(moment: Moment, node: int, box: Box, opacity: float) -> Iterator[Shape]:
    """One grad_fn node: its name, what it keeps, how far it is."""
    theme, (x, y, w, h), code = moment.theme, box, moment.node_code(node)
    fill, stroke, ink, sign = _row_look(theme, code)
    dash: tuple[float, ...] = (3, 2.5) if code == PLANNED else (1.5, 2.5) if code in (GONE, HIDDEN) else ()
    line = 1.5 if code == FAILED else 1.0
    yield Rect(x + 0.5, y + 0.5, w - 1, h - 1, fill, stroke, line, 5, dash=dash, opacity=opacity)
    yield mark(sign, x + w - 11, y + h / 2, ink, 9.0 if sign != "run" else 10.0, opacity)
    right = x + w - 20
    kept = sum(s.kind in ("tensor", "packed") for s in moment.trace.nodes[node].saved)
    if kept and code not in (GONE, HIDDEN):
        chip, width = saved_chip(right, y + h / 2, kept, theme, freed=moment.freed(node), opacity=opacity)
        yield from chip
        right -= width + 4
    name = moment.trace.nodes[node].name
    yield from word(x + 8, y + h / 2 + 4, name, ink, right - x - 10, size=11, opacity=opacity)


def _row_look(theme: Theme, code: int) -> tuple[str | None, str, str, str]:
    """Fill, outline, ink and sign of a node's row."""
    if code == RUNNING:
        return theme.accent, theme.accent, theme.accent_text, "run"
    if code in (DONE, FREED):
        return theme.gradient_fill, theme.gradient, theme.ink("gradient"), "tick"
    if code == FAILED:
        return theme.error_fill, theme.error, theme.ink("error"), "cross"
    if code == PLANNED:
        return None, mix(theme.gradient, theme.card, 0.35), theme.text_dim, "dot"
    if code == GONE:
        return None, theme.idle, theme.idle, "dot"
    return None, theme.card_border, theme.text_dim, "dot"


# ---- leaves


def _leaf(moment: Moment, i: int, card: Card, box: Box, look: Look) -> Iterator[Shape]:
    theme, (x, y, w, h) = moment.theme, box
    opacity = _ghosted(look)
    meaning = theme.leaf if card.slot or card.nodes else theme.card_border
    stroke, line, dash = _frame(theme, look)
    if look.code not in (FAILED, GONE) and not (look.now and look.code != RUNNING):
        stroke, line = meaning, 2.0 if card.slot else 1.0
    yield Rect(x, y, w, h, theme.card, None, radius=RADIUS, opacity=opacity)
    if card.slot:
        yield from _slot(moment, card, box, look, opacity)
    yield Rect(x, y, w, h, None, stroke, line, RADIUS, dash=dash, opacity=opacity)
    base = y + min(18.0, h / 2 + 4.5)
    ink = theme.leaf if card.slot or card.nodes else theme.text_dim
    detail = word(x + w - 10, base, card.detail, theme.text_dim, w - 34, size=11, anchor="end", opacity=opacity)
    room = w - 20 - (text_width(card.detail, 11) + 8 if detail else 0)
    yield from word(x + 10, base, card.title, ink, room, size=13, weight=600, opacity=opacity)
    yield from detail
    if card.tensor is not None and (place := places.value_box(card, box)) is not None:
        yield from _value(moment, card, place, opacity)


def _value(moment: Moment, card: Card, place: Box, opacity: float) -> Iterator[Shape]:
    assert card.tensor is not None
    shown = moment.frame.value_data(card.tensor)
    if shown is None:
        return
    yield _grid(moment, card, shown, place, opacity)


def _grid(moment: Moment, card: Card, shown: Data | None, place: Box, opacity: float) -> Shape:
    """Heat cells in the place that the sizes give them; where a tensor too large for single cells is None, one empty
    dashed place of the size that its picture would have."""
    rows, columns = card.grid or _picture_grid(moment, card, shown)
    pitch = min(places.PITCH, place[2] / columns, (place[3] + 1) / rows)
    gap = 1.0 if pitch > 5 else 0.0
    x, y, grid = place[0], place[1], (rows, columns)
    if shown is None and card.grid is None:
        w, h = columns * pitch - gap, rows * pitch - gap
        return Rect(x + 0.5, y + 0.5, w - 1, h - 1, None, moment.theme.idle, 0.8, 3, dash=(2, 2), opacity=0.7 * opacity)
    return heat.cells(x, y, shown, grid, moment.theme, size=pitch - gap, gap=gap, opacity=opacity)


def _picture_grid(moment: Moment, card: Card, shown: Data | None) -> tuple[int, int]:
    """Cells of a tensor too large to be shown cell by cell."""
    known = moment.trace.tensor(card.tensor) if shown is None and card.tensor is not None else shown
    return heat.grid_of(known, 12) if known is not None else (1, 1)


def _slot(moment: Moment, card: Card, box: Box, look: Look, opacity: float) -> Iterator[Shape]:
    """The `.grad` of a leaf: `+=` while AccumulateGrad runs, its norm after, an empty dashed grid where it is None."""
    theme, (x, y, w, h) = moment.theme, box
    assert card.tensor is not None
    top = places.slot_top(card, box)
    write = moment.writes.get(card.tensor)
    held = moment.frame.grad_data(card.tensor)
    if write is not None:
        yield Rect(x, top, w, y + h - top, theme.gradient_fill, None, radius=RADIUS, corners="bottom", opacity=opacity)
    yield Poly(((x, top), (x + w, top)), theme.border, line=1.0, opacity=opacity)
    ink = theme.ink("gradient") if write is not None else theme.gradient
    base = top + 14.5
    yield from word(x + 10, base, ".grad", ink, w - 20, size=11, weight=600, opacity=opacity)
    room = w - 20 - text_width(".grad ", 11)
    if write is not None:
        sign = _WRITE_SIGN.get(write.cause, "=")
        yield from word(x + w - 10, base, sign, ink, room, size=11, weight=600, anchor="end", opacity=opacity)
    elif held is None:
        yield from word(x + w - 10, base, "None", theme.text_faint, room, size=11, anchor="end", opacity=opacity)
    elif held.norm is not None:
        norms = (f"‖{values.number(held.norm, digits)}‖" for digits in (4, 3, 2))
        norm = next((text for text in norms if text_width(text, 10) <= room), "")
        yield from word(x + w - 10, base, norm, theme.text_dim, room, size=10, anchor="end", opacity=opacity)
    place = places.grad_box(card, box)
    if place is not None:
        yield _grid(moment, card, _shown_grad(moment, card), place, opacity)


_WRITE_SIGN = {"accumulate": "+=", "zero": "zero_()", "none": "= None", "retain": "=", "assign": "="}


def _shown_grad(moment: Moment, card: Card) -> Data | None:
    """What the slot holds: while the gradient is on its way, what it held before."""
    assert card.tensor is not None
    write = moment.writes.get(card.tensor)
    if write is not None and write.cause == "accumulate" and moment.motion < 0.6:
        return write.before
    return moment.frame.grad_data(card.tensor)


# ---- roots, lone nodes, folds


def _result(moment: Moment, i: int, card: Card, box: Box, look: Look) -> Iterator[Shape]:
    theme, (x, y, w, h) = moment.theme, box
    opacity = _ghosted(look)
    stroke, line, dash = _frame(theme, look)
    if not look.now and look.code not in (FAILED, GONE):
        stroke, line = theme.selection, 1.5
    yield Rect(x, y, w, h, theme.card, stroke, line, RADIUS, dash=dash, opacity=opacity)
    middle, room = x + w / 2, w - 10
    yield from word(middle, y + 19, card.title, theme.text, room, size=13, weight=700, anchor="middle", opacity=opacity)
    shown = moment.frame.value_data(card.tensor) if card.tensor is not None else None
    number = scalar_text(shown)
    if card.grid is not None and shown is not None and not number:
        yield _grid(moment, card, shown, places.result_box(card, box), opacity)
    else:
        text = number or card.detail
        yield from word(middle, y + 36, text, theme.text_dim, room, size=11, anchor="middle", opacity=opacity)
    seed = moment.seeds.get(card.tensor) if card.tensor is not None else None
    if seed is not None and h >= places.SEEDED:
        grad = "∇ " + (scalar_text(seed[0]) or (values.shape_text(seed[0].shape) if seed[0] else "1"))
        base = y + h - 11
        yield from word(middle, base, grad, theme.gradient, room, size=11, weight=600, anchor="middle", opacity=opacity)


def scalar_text(data: Data | None) -> str:
    """The number in a tensor of one element; "" for any other."""
    if data is None or any(n != 1 for n in data.shape):
        return ""
    try:
        return values.number(float(abs(v) if isinstance(v := values.to_numpy(data).item(), complex) else v))
    except values.NotCaptured:
        return ""


def _node(moment: Moment, i: int, card: Card, box: Box, look: Look) -> Iterator[Shape]:
    theme, (x, y, w, h) = moment.theme, box
    opacity = _ghosted(look)
    node = card.nodes[0]
    code = moment.node_code(node)
    fill, stroke, ink, sign = _row_look(theme, code)
    leaf = moment.trace.nodes[node].leaf is not None
    if leaf and code not in (RUNNING, FAILED, GONE):
        fill, stroke, ink = theme.leaf_fill if code in (DONE, FREED) else theme.card, theme.leaf, theme.ink("leaf")
    dash: tuple[float, ...] = (4, 3) if code == PLANNED else (1.5, 3) if code == GONE else ()
    yield Rect(x, y, w, h, fill or theme.card, stroke, 1.5, 7, dash=dash, opacity=opacity)
    yield mark(sign, x + w - 12, y + h / 2, ink, 10.0, opacity)
    right = x + w - 22
    kept = sum(s.kind in ("tensor", "packed") for s in moment.trace.nodes[node].saved)
    if kept and code not in (GONE, HIDDEN):
        chip, width = saved_chip(right, y + h / 2, kept, theme, freed=moment.freed(node), opacity=opacity)
        if text_width(card.title, 12) <= right - width - 4 - x - 12:
            yield from chip
            right -= width + 4
    detail = card.detail if h >= 36 else ""
    base = y + h / 2 + (-2 if detail else 4.5)
    yield from word(x + 10, base, card.title, ink, right - x - 12, size=12, weight=600, opacity=opacity)
    faint = ink if code == RUNNING else theme.text_dim
    yield from word(x + 10, y + h / 2 + 12, detail, faint, right - x - 12, size=10, opacity=opacity)


_DRAW = {"op": _op, "leaf": _leaf, "result": _result, "node": _node, "fold": fold_shapes}

"""old + new = sum, beside the leaf into which AccumulateGrad adds at this step."""

from __future__ import annotations

import numpy as np

from gradviz.scene import heat
from gradviz.scene.far import Far
from gradviz.scene.marks import word
from gradviz.scene.moment import Moment
from gradviz.scene.shapes import Box, Cells, Rect, Shape

GAP = 8.0
LABEL = 11.0


def sum_shapes(moment: Moment, far: Far, i: int) -> list[Shape]:
    """The strip for card i; nothing unless its leaf accumulates into a `.grad` that was not None."""
    card = moment.graph.cards[i]
    write = moment.writes.get(card.tensor) if card.slot and card.tensor is not None and moment.now == i else None
    if write is None or write.cause != "accumulate" or None in (write.before, write.added, write.after):
        return []
    theme = moment.theme
    parts = [write.before, write.added, write.after]
    scale = max(heat.magnitude(part) for part in parts)
    grid = heat.grid_of(write.after, 5) if write.after is not None else (1, 1)
    size = 11.0 if grid[0] <= 2 else 8.0
    cells = [heat.cells(0, 0, part, grid, theme, size=size, scale=scale) for part in parts]
    width, height = 3 * cells[0].width + 2 * 22 + 20, cells[0].height + 16
    x, y = _free_place(moment, far, i, width, height)
    shapes: list[Shape] = [Rect(x, y, width, height, theme.gradient_fill, theme.gradient, 1.0, 8)]
    left, middle = x + 10, y + height / 2
    for k, part in enumerate(cells):
        shapes.append(_moved(part, left, middle - part.height / 2))
        left += part.width
        if k < 2:
            ink = theme.ink("gradient")
            shapes += word(
                left + 11, middle + 4.5, "+" if k == 0 else "=", ink, 20, size=13, weight=600, anchor="middle"
            )
            left += 22
    return shapes


def _moved(cells: Cells, x: float, y: float) -> Cells:
    return Cells(x, y, cells.rows, cells.columns, cells.size, cells.gap, cells.colors, cells.marks, cells.ink)


def _free_place(moment: Moment, far: Far, i: int, width: float, height: float) -> tuple[float, float]:
    """Below the card, else right of it, above or left: the first place that touches no other card."""
    x, y, w, h = (float(v) for v in far.boxes[i])
    spots = ((x, y + h + GAP), (x + w + GAP, y + h - height), (x, y - GAP - height), (x - GAP - width, y + h - height))
    for spot in spots:
        box: Box = (*spot, width, height)
        if not np.setdiff1d(far.cards_in(box), [i]).size:
            return spot
    return spots[0]

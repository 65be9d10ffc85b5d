"""Where things stand inside a card. The heights are those that the layout reserved."""

from __future__ import annotations

from gradviz.graph.model import Card
from gradviz.graph.sizes import HEADER, LEAF_HEADER, PADDING, PITCH, ROW, ROW_GAP, SLOT_LABEL
from gradviz.scene.shapes import Box

__all__ = ["HEADER", "PADDING", "PITCH", "SEEDED", "grad_box", "result_box", "row_box", "slot_top", "value_box"]

SEEDED = 56.0
"""A root's card so high has room for its seed."""


def _grid_height(card: Card, box: Box) -> float:
    """Height that the layout left for one grid of a leaf."""
    if card.slot:
        return (box[3] - LEAF_HEADER - SLOT_LABEL - 2 * PADDING) / 2
    return box[3] - LEAF_HEADER - PADDING


def value_box(card: Card, box: Box) -> Box | None:
    """Place of a leaf's value; None where the card has no room for it."""
    height = _grid_height(card, box)
    if height < 4:
        return None
    return box[0] + 10, box[1] + LEAF_HEADER, box[2] - 20, height


def slot_top(card: Card, box: Box) -> float:
    """Height at which the `.grad` slot begins."""
    height = _grid_height(card, box)
    return box[1] + LEAF_HEADER + (height + PADDING if height >= 4 else 0.0)


def grad_box(card: Card, box: Box) -> Box | None:
    """Place of the cells in the `.grad` slot."""
    height = _grid_height(card, box)
    if height < 4:
        return None
    return box[0] + 10, slot_top(card, box) + SLOT_LABEL, box[2] - 20, height


def result_box(card: Card, box: Box) -> Box:
    """Place of a root's value, between its name and its seed; centred."""
    rows, columns = card.grid or (1, 1)
    height = max(4.0, box[3] - LEAF_HEADER - SLOT_LABEL)
    pitch = min(PITCH, (box[2] - 16) / columns, (height + 1) / rows)
    width = pitch * columns - 1
    return box[0] + (box[2] - width) / 2, box[1] + LEAF_HEADER, width + 1, pitch * rows - 1


def row_box(box: Box, row: int) -> Box:
    """Place of a grad_fn node's row in an operation's card."""
    top = box[1] + HEADER + ROW_GAP + row * (ROW + ROW_GAP)
    return box[0] + PADDING, top, box[2] - 2 * PADDING, ROW

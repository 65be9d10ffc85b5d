"""How large cards are. The scene draws with the same numbers."""

from __future__ import annotations

HEADER = 28.0
ROW = 22.0
ROW_GAP = 4.0
PADDING = 8.0
LEAF_HEADER = 26.0
SLOT_LABEL = 20.0
PITCH = 14.0
"""Side of a heat cell with its gap."""
THUMB = 48.0
"""Side of the picture of a tensor that is too large for single cells."""
CELLS = 8
"""Most rows and columns that are shown cell by cell."""

_ADVANCE = 0.6
"""Width of a JetBrains Mono character in em."""


def text_width(text: str, size: float) -> float:
    """Width in pixels of monospaced text."""
    return len(text) * size * _ADVANCE


def elide(text: str, most: int = 28) -> str:
    """At most `most` characters, with an ellipsis for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def op_size(title: str, detail: str, rows: list[str]) -> tuple[float, float]:
    """Width and height of an operation's card with a row for each node."""
    width = text_width(title, 13) + text_width(detail, 11) + 40
    for name in rows:
        width = max(width, text_width(elide(name, 25), 11) + 2 * PADDING + 62)
    height = HEADER + (len(rows) * (ROW + ROW_GAP) + ROW_GAP + 4 if rows else 0.0)
    return max(96.0, width), height


def node_size(title: str) -> tuple[float, float]:
    """Width and height of a grad_fn node's card in the Autograd view: name, chip of what it keeps, sign."""
    return max(96.0, text_width(title, 12) + 70), 40.0


FOLD_PORTS = 24.0, 46.0
"""Heights at which wires meet a fold: forward, gradient."""


def fold_size(title: str) -> tuple[float, float]:
    """Width and height of a fold: title with a sign, what is in it, its gradient's norm, how far it is."""
    return max(176.0, min(text_width(title, 13) + 44, 250.0)), 76.0


def grid_of(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Rows and columns of single cells for at most two dimensions and eight by eight elements, else None."""
    if len(shape) > 2 or any(size > CELLS or size == 0 for size in shape):
        return None
    rows, columns = ((1, 1), (1, *shape), shape)[len(shape)] if len(shape) < 2 else shape
    return int(rows), int(columns)


def leaf_size(title: str, detail: str, grid: tuple[int, int] | None, *, slot: bool) -> tuple[float, float]:
    """Width and height of a leaf's card; twice the grid where it has a `.grad` slot."""
    wide, high = (grid[1] * PITCH, grid[0] * PITCH) if grid else (THUMB, THUMB)
    width = max(text_width(title, 13) + text_width(detail, 11) + 36, wide + 20, 96.0 if slot else 72.0)
    if not slot:
        return width, LEAF_HEADER + high + PADDING
    return width, LEAF_HEADER + 2 * high + SLOT_LABEL + 2 * PADDING


def row_center(row: int) -> float:
    """Height of the middle of a node's row, from the top of its card."""
    return HEADER + ROW_GAP + row * (ROW + ROW_GAP) + ROW / 2


def slot_center(height: float) -> float:
    """Height of the middle of the `.grad` label of a leaf with a slot."""
    grid = (height - LEAF_HEADER - SLOT_LABEL - 2 * PADDING) / 2
    return LEAF_HEADER + grid + PADDING + SLOT_LABEL / 2

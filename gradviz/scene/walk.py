"""From card to card along the wires, for the keyboard."""

from __future__ import annotations

import numpy as np

from gradviz.scene.far import Far, Ints
from gradviz.scene.moment import HIDDEN, Moment


def neighbour(moment: Moment, far: Far, key: str | None, direction: str) -> str | None:
    """Key of the next card from `key`: "left" goes to what it was made from, "right" to what uses it, "up" and "down"
    to the next card in the same column or beside it. With nothing selected: the card of this step, else the first."""
    graph = moment.graph
    shown = np.flatnonzero(moment.codes != HIDDEN)
    if not len(shown):
        return None
    here = moment.card(key)
    if here is None or moment.codes[here] == HIDDEN:
        return graph.cards[moment.now if moment.now is not None else int(shown[0])].key
    source, target = moment.index.source, moment.index.target
    if direction == "left":
        near = source[target == here]
    elif direction == "right":
        near = target[source == here]
    else:
        near = _column(far, here, shown, down=direction == "down")
    near = near[(moment.codes[near] != HIDDEN) & (near != here)]
    if not len(near):
        return None
    centers = far.boxes[:, :2] + far.boxes[:, 2:] / 2
    offset = np.abs(centers[near] - centers[here])
    distance = offset[:, 1] * 2 + offset[:, 0] if direction in ("left", "right") else offset[:, 1] + offset[:, 0] * 2
    return graph.cards[int(near[int(np.argmin(distance))])].key


def _column(far: Far, here: int, shown: Ints, *, down: bool) -> Ints:
    x, y, w, h = far.boxes[here].tolist()
    center = far.boxes[shown, 1] + far.boxes[shown, 3] / 2
    wanted = center > y + h / 2 + 1 if down else center < y + h / 2 - 1
    close = np.abs(far.boxes[shown, 0] + far.boxes[shown, 2] / 2 - x - w / 2) < 400
    picked = shown[wanted & close]
    column: Ints = picked if len(picked) else shown[wanted]
    return column

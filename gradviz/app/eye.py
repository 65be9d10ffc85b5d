"""Where the canvas looks: scale and offset, and the few ways to change them. Plain numbers, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.scene.shapes import Box

SMALLEST, LARGEST = 0.002, 4.0
NATURAL = 1.25


@dataclass(frozen=True, slots=True)
class Sight:
    """Scales between which a graph is legible."""

    whole: float = 0.4
    """Down to this all of a graph is shown, instead of a part."""
    readable: float = 0.5
    """A part is shown at this."""
    largest: float = NATURAL
    """Nothing is blown up beyond this by fitting."""


def sight(larger: float) -> Sight:
    """For letters that are so much larger than at a desk: those on cards are to be read from the back row too."""
    return Sight() if larger == 1.0 else Sight(0.9 * larger, 1.07 * larger, NATURAL * larger)


@dataclass(frozen=True, slots=True)
class Eye:
    """A scene point (x, y) is drawn at ((x - left) * scale, (y - top) * scale)."""

    left: float = 0.0
    top: float = 0.0
    scale: float = 1.0

    def to_screen(self, x: float, y: float) -> tuple[float, float]:
        """Widget pixels of a scene point."""
        return (x - self.left) * self.scale, (y - self.top) * self.scale

    def to_scene(self, x: float, y: float) -> tuple[float, float]:
        """Scene point under a widget pixel."""
        return x / self.scale + self.left, y / self.scale + self.top

    def visible(self, width: float, height: float) -> Box:
        """The part of the scene that a widget of that size shows."""
        return self.left, self.top, width / self.scale, height / self.scale

    def moved(self, dx: float, dy: float) -> Eye:
        """After dragging the picture by so many widget pixels."""
        return Eye(self.left - dx / self.scale, self.top - dy / self.scale, self.scale)

    def zoomed(self, factor: float, x: float, y: float) -> Eye:
        """After zooming with the scene point under widget pixel (x, y) held fast."""
        scale = max(SMALLEST, min(LARGEST, self.scale * factor))
        sx, sy = self.to_scene(x, y)
        return Eye(sx - x / scale, sy - y / scale, scale)

    def toward(self, other: Eye, share: float) -> Eye:
        """Part of the way to another place."""
        scale = self.scale * (other.scale / self.scale) ** share
        return Eye(self.left + (other.left - self.left) * share, self.top + (other.top - self.top) * share, scale)


def fitted(box: Box, room: Box, largest: float = NATURAL, smallest: float = SMALLEST) -> Eye:
    """Look at a scene box so that it fills the `room` (in widget pixels) and stands in its middle."""
    x, y, w, h = box
    rx, ry, rw, rh = room
    scale = max(smallest, min(largest, rw / max(w, 1.0), rh / max(h, 1.0)))
    left = x + w / 2 - (rx + rw / 2) / scale
    top = y + h / 2 - (ry + rh / 2) / scale
    return Eye(left, top, scale)


def centered(box: Box, whole: Box, room: Box, scale: float) -> Eye:
    """Look at a box in the middle of the `room`, but not past the edges of the `whole`; what is smaller than the room
    stands in its middle."""
    rx, ry, rw, rh = room
    left = _edge(box[0] + box[2] / 2, whole[0], whole[2], rw / scale)
    top = _edge(box[1] + box[3] / 2, whole[1], whole[3], rh / scale)
    return Eye(left - rx / scale, top - ry / scale, scale)


def _edge(middle: float, start: float, length: float, room: float) -> float:
    if length <= room:
        return start + (length - room) / 2
    return max(start, min(middle - room / 2, start + length - room))


def revealed(eye: Eye, box: Box, room: Box) -> Eye:
    """The smallest move after which a scene box stands inside the `room`."""
    x, y = eye.to_screen(box[0], box[1])
    w, h = box[2] * eye.scale, box[3] * eye.scale
    rx, ry, rw, rh = room
    dx = _shift(x, w, rx, rw)
    dy = _shift(y, h, ry, rh)
    return eye.moved(dx, dy) if dx or dy else eye


def _shift(start: float, size: float, room: float, length: float) -> float:
    if size > length:
        return room - start if start > room + length or start + size < room else 0.0
    if start < room:
        return room - start
    if start + size > room + length:
        return room + length - start - size
    return 0.0

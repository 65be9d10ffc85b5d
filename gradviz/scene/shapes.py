"""The few plain shapes that every output draws: boxes, curves, polygons, words, cells. Scene pixels, y downwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x, y, width, height."""
Font = Literal["mono", "sans"]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Rect:
    """A box with round corners. No `fill`: hollow. No `stroke`: no outline."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    line: float = 1.0
    radius: float = 0.0
    corners: Literal["all", "top", "bottom"] = "all"
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A chain of cubic curves, 3k + 1 points."""

    points: tuple[Point, ...]
    stroke: str
    line: float = 1.5
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Poly:
    """Straight lines from point to point: a mark, an arrow head, a strike."""

    points: tuple[Point, ...]
    stroke: str | None = None
    fill: str | None = None
    line: float = 1.5
    dash: tuple[float, ...] = ()
    closed: bool = False
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """Words on a base line at (x, y); already cut to fit. `width` is what they take, in pixels."""

    x: float
    y: float
    text: str
    color: str
    size: float = 12.0
    font: Font = "mono"
    weight: int = 400
    anchor: Anchor = "start"
    width: float = 0.0
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Cells:
    """Heat cells, row by row. `marks` has one letter a cell: "." a number, "0" exactly zero, "n" NaN (hatched), "+" and
    "-" infinity (a chevron up or down), "o" nothing there (an empty dashed slot), "?" there but not recorded."""

    x: float
    y: float
    rows: int
    columns: int
    size: float
    gap: float
    colors: tuple[str, ...]
    marks: str
    ink: str
    """Colour of hatches, chevrons and dashes."""
    opacity: float = 1.0

    @property
    def width(self) -> float:
        """In pixels."""
        return self.columns * (self.size + self.gap) - self.gap

    @property
    def height(self) -> float:
        """In pixels."""
        return self.rows * (self.size + self.gap) - self.gap

    def boxes(self) -> list[tuple[float, float, str, str]]:
        """x, y, colour and mark of each cell."""
        pitch = self.size + self.gap
        return [
            (self.x + (i % self.columns) * pitch, self.y + (i // self.columns) * pitch, color, mark)
            for i, (color, mark) in enumerate(zip(self.colors, self.marks, strict=True))
        ]


Shape = Rect | Curve | Poly | Text | Cells


def cell_lines(x: float, y: float, size: float, mark: str) -> list[tuple[Point, ...]]:
    """The lines that a mark draws into its cell: two hatches for NaN, a chevron for an infinity, a question's dot."""
    a, b, c = size * 0.22, size * 0.5, size * 0.78
    if mark == "n":
        return [
            ((x, y + b), (x + b, y)),
            ((x, y + size), (x + size, y)),
            ((x + b, y + size), (x + size, y + b)),
        ]
    if mark == "+":
        return [((x + a, y + size * 0.64), (x + b, y + size * 0.34), (x + c, y + size * 0.64))]
    if mark == "-":
        return [((x + a, y + size * 0.36), (x + b, y + size * 0.66), (x + c, y + size * 0.36))]
    if mark == "?":
        return [((x + size * 0.4, y + b), (x + size * 0.6, y + b))]
    return []

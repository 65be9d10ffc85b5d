"""A step as a figure that stands alone: graph, and narration below. SVG, PNG, PDF, GIF and MP4 draw this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gradviz.explain import narrate
from gradviz.graph import build, lay_out
from gradviz.player.view import Mode, ViewState
from gradviz.scene.compose import Composer, Scene
from gradviz.scene.moment import HIDDEN
from gradviz.scene.shapes import Box, Cells, Rect, Shape, Text
from gradviz.scene.theme import Theme, load_theme
from gradviz.scene.words import text_width
from gradviz.trace import Trace

MARGIN, ABOVE = 32.0, 56.0
NARROWEST = 560.0
"""A figure with narration is at least so wide."""
LINE = 1.5
"""Height of a line of text, in em."""
TITLE, BODY = 15.0, 13.0
LINES_BELOW = 3
"""Room for so many lines of narration in a film, whose frames are all of one size."""


@dataclass(frozen=True, slots=True)
class Page:
    """Shapes, and the box that they fill. `title` says in one line what is on it."""

    box: Box
    ground: str
    shapes: tuple[Shape, ...]
    title: str


class Figure:
    """One recording drawn in one way; `page` gives any step of it.

    Args:
        trace: the recording.
        theme: "light", "dark" or "projector".
        mode: "both", "forward" or "autograd".
        language: of the narration, "en" or "zh".
        title: write the narration of the step below the graph.
    """

    def __init__(
        self, trace: Trace, *, theme: str = "light", mode: Mode = "both", language: str = "en", title: bool = True
    ) -> None:
        self.trace = trace
        self.theme: Theme = load_theme(theme)
        self.language = language
        self.titled = title
        self._view = ViewState(steps=trace.steps, mode=mode, theme=theme, language=language)
        graph = build(trace, mode=mode)
        self.composer = Composer(trace, graph, lay_out(graph), self.theme)

    def scene(self, step: int, alpha: float = 1.0) -> Scene:
        """The scene at a step; steps outside the recording are taken as the nearest one inside it."""
        step = max(0, min(step, self.trace.steps))
        return self.composer.scene(self.trace.at(step), replace(self._view, step=step, alpha=alpha))

    def page(self, step: int) -> Page:
        """A step in a box that fits it."""
        return page(self.scene(step), self.theme, self._narration(step) if self.titled else ())

    def frame(self, step: int, alpha: float) -> Page:
        """A step for a film: every frame has the same box."""
        scene = self.scene(step, alpha)
        x, y, w, h = self.composer.layout.bounds
        width = max(w, NARROWEST)
        words = _lines(self._narration(step), width)[:LINES_BELOW] if self.titled else []
        below = 16.0 + LINES_BELOW * TITLE * LINE if self.titled else 0.0
        box = (x - MARGIN, y - MARGIN, width + 2 * MARGIN, h + 2 * MARGIN + 48.0 + below)
        shapes = (*scene.shapes(), *_set(words, self.theme, x, y + h + 64.0))
        return Page(box, self.theme.canvas, shapes, words[0][0] if words else "gradviz")

    def _narration(self, step: int) -> tuple[str, str]:
        words = narrate(self.trace, max(0, min(step, self.trace.steps)), self.language)
        return words.title, words.body


def page(scene: Scene, theme: Theme, narration: tuple[str, ...] = ()) -> Page:
    """A scene with lines of narration below it, the first one bold."""
    begun = _begun(scene)
    shapes = tuple(shape for shape in scene.shapes() if _near(extent(shape), begun))
    x, y, w, h = _around([begun, *map(extent, shapes)])
    width = max(w, NARROWEST) if narration else w
    words = _lines(narration, width)
    below = 24.0 + sum(size * LINE for _, size in words) if words else 0.0
    box = (x - MARGIN, y - MARGIN, width + 2 * MARGIN, h + 2 * MARGIN + below)
    return Page(box, theme.canvas, (*shapes, *_set(words, theme, x, y + h + 24)), words[0][0] if words else "gradviz")


def _begun(scene: Scene) -> Box:
    """Where the iterations lie of which anything is shown; everything before the first step."""
    moment, regions = scene.moment, scene.composer.regions
    begun = {moment.graph.cards[i].generation for i in np.flatnonzero(moment.codes != HIDDEN).tolist()}
    return _around([regions[generation] for generation in begun]) if begun else scene.bounds


def _near(shape: Box, begun: Box) -> bool:
    """Whether a shape lies at that height, or nearly: iterations stand one below the other, and names of frames and
    gradients above the outermost card."""
    return shape[1] <= begun[1] + begun[3] + ABOVE and begun[1] <= shape[1] + shape[3] + ABOVE


def _lines(narration: tuple[str, ...], room: float) -> list[tuple[str, float]]:
    """Lines that fit, each with its size."""
    sized = [(text, TITLE if k == 0 else BODY) for k, text in enumerate(narration)]
    return [(line, size) for text, size in sized for line in wrap(text, room, size, 600 if size == TITLE else 400)]


def _set(lines: list[tuple[str, float]], theme: Theme, x: float, base: float) -> Iterator[Text]:
    for text, size in lines:
        base += size * LINE
        bold = size == TITLE
        color, weight = (theme.text, 600) if bold else (theme.text_dim, 400)
        yield Text(x, base, text, color, size, "sans", weight, width=text_width(text, size, "sans", weight))


def _around(boxes: list[Box]) -> Box:
    x0, y0 = min(b[0] for b in boxes), min(b[1] for b in boxes)
    return x0, y0, max(b[0] + b[2] for b in boxes) - x0, max(b[1] + b[3] for b in boxes) - y0


def extent(shape: Shape) -> Box:
    """The box around one shape."""
    if isinstance(shape, Rect | Cells):
        return shape.x, shape.y, shape.width, shape.height
    if isinstance(shape, Text):
        left = shape.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * shape.width
        return left, shape.y - shape.size, shape.width, shape.size * 1.2
    xs, ys = [p[0] for p in shape.points], [p[1] for p in shape.points]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def wrap(text: str, room: float, size: float, weight: int) -> list[str]:
    """Break text into lines of at most `room` pixels: at spaces, or anywhere between Chinese characters."""
    lines, line = [], ""
    for token in _tokens(text):
        if line and text_width(line + token.rstrip(), size, "sans", weight) > room:
            lines.append(line.rstrip())
            line = token.lstrip()
        else:
            line += token
    return [*lines, line.rstrip()] if line.strip() else lines


def _tokens(text: str) -> Iterator[str]:
    token = ""
    for letter in text:
        token += letter
        if letter == " " or ord(letter) >= 0x2E80:
            yield token
            token = ""
    if token:
        yield token

"""A step as an SVG file: text stays text, numbers are rounded, and the same step always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from gradviz.player.view import Mode, ViewState
from gradviz.scene.compose import Scene, compose
from gradviz.scene.shapes import Box, Cells, Curve, Point, Poly, Rect, Shape, Text, cell_lines
from gradviz.scene.theme import Theme, load_theme
from gradviz.scene.words import text_width
from gradviz.trace import Trace

FONTS = {
    "mono": "'JetBrains Mono', ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
    "sans": "Inter, system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', 'DejaVu Sans', sans-serif",
}
MARGIN = 32.0
NARROW = 560.0
"""Narration gets at least so much room."""


def to_svg(
    trace: Trace,
    step: int,
    *,
    theme: str = "light",
    mode: Mode = "both",
    language: str = "en",
    title: bool = True,
) -> str:
    """The whole graph at a step as one SVG document, with its narration below where `title` is true.

    Args:
        trace: the recording.
        step: which step; one outside the recording is taken as the nearest one inside it.
        theme: "light", "dark" or "projector".
        mode: "both", "forward" or "autograd".
        language: of the narration, "en" or "zh".
        title: write the narration of the step under the figure.
    """
    from gradviz.explain import narrate
    from gradviz.graph import build, lay_out

    step = max(0, min(step, trace.steps))
    colors = load_theme(theme)
    graph = build(trace, mode=mode)
    view = ViewState(step=step, steps=trace.steps, mode=mode, theme=theme, language=language)
    scene = compose(graph, lay_out(graph), trace.at(step), view, colors)
    lines: list[tuple[str, int, float, str]] = []
    if title:
        words = narrate(trace, step, language)
        lines = [(words.title, 600, 15.0, colors.text), (words.body, 400, 13.0, colors.text_dim)]
    return document(scene, colors, lines)


def document(scene: Scene, theme: Theme, lines: Iterable[tuple[str, int, float, str]] = ()) -> str:
    """A scene, and lines of text under it (text, weight, size, colour), as an SVG document."""
    x, y, w, h = figure(scene)
    written = [(part, weight, size, color) for text, weight, size, color in lines for part in wrap(text, max(w, NARROW), size, weight)]
    below = sum(size * 1.5 for _, _, size, _ in written) + (24 if written else 0)
    width = max(w, NARROW) if written else w
    total = (x - MARGIN, y - MARGIN, width + 2 * MARGIN, h + 2 * MARGIN + below)
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{n(total[2])}" height="{n(total[3])}" '
        f'viewBox="{n(total[0])} {n(total[1])} {n(total[2])} {n(total[3])}" role="img">',
        f"<title>{escape(written[0][0]) if written else 'gradviz'}</title>",
        f'<rect x="{n(total[0])}" y="{n(total[1])}" width="{n(total[2])}" height="{n(total[3])}" fill="{theme.canvas}"/>',
        *shapes_svg(scene.shapes()),
    ]
    base = y + h + 24
    for text, weight, size, color in written:
        base += size * 1.5
        parts.append(_text(Text(x, base, text, color, size, "sans", weight)))
    parts.append("</svg>\n")
    return "\n".join(parts)


def figure(scene: Scene) -> Box:
    """The box around everything that the scene draws."""
    x0, y0, x1, y1 = (float("inf"), float("inf"), float("-inf"), float("-inf"))
    bounds = scene.bounds
    for x, y, w, h in [bounds, *(extent(shape) for shape in scene.shapes())]:
        x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x + w), max(y1, y + h)
    return (x0, y0, x1 - x0, y1 - y0)


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


# ---- shapes


def shapes_svg(shapes: Iterable[Shape]) -> Iterator[str]:
    """One element for each shape."""
    for shape in shapes:
        if isinstance(shape, Rect):
            yield _rect(shape)
        elif isinstance(shape, Curve):
            yield _curve(shape)
        elif isinstance(shape, Poly):
            yield _poly(shape)
        elif isinstance(shape, Text):
            yield _text(shape)
        else:
            yield _cells(shape)


def n(value: float) -> str:
    """A number with at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if round(value, 2) else "0"


def _ink(stroke: str | None, line: float, dash: tuple[float, ...], opacity: float, fill: str | None) -> str:
    parts = [f' fill="{fill or "none"}"']
    if stroke:
        parts.append(f' stroke="{stroke}" stroke-width="{n(line)}"')
        if dash:
            parts.append(f' stroke-dasharray="{" ".join(n(d) for d in dash)}"')
    if opacity < 1:
        parts.append(f' opacity="{n(opacity)}"')
    return "".join(parts)


def _rect(r: Rect) -> str:
    ink = _ink(r.stroke, r.line, r.dash, r.opacity, r.fill)
    if r.corners == "all":
        round_ = f' rx="{n(min(r.radius, r.width / 2, r.height / 2))}"' if r.radius else ""
        return f'<rect x="{n(r.x)}" y="{n(r.y)}" width="{n(r.width)}" height="{n(r.height)}"{round_}{ink}/>'
    x0, y0, x1, y1, q = n(r.x), n(r.y), n(r.x + r.width), n(r.y + r.height), r.radius
    if r.corners == "top":
        d = f"M{x0} {y1}V{n(r.y + q)}Q{x0} {y0} {n(r.x + q)} {y0}H{n(r.x + r.width - q)}Q{x1} {y0} {x1} {n(r.y + q)}V{y1}Z"
    else:
        low = n(r.y + r.height - q)
        d = f"M{x0} {y0}V{low}Q{x0} {y1} {n(r.x + q)} {y1}H{n(r.x + r.width - q)}Q{x1} {y1} {x1} {low}V{y0}Z"
    return f'<path d="{d}"{ink}/>'


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{n(x)} {n(y)}" for x, y in points)


def _curve(c: Curve) -> str:
    d = f"M{_points(c.points[:1])}C{_points(c.points[1:])}"
    return f'<path d="{d}" stroke-linecap="round"{_ink(c.stroke, c.line, c.dash, c.opacity, None)}/>'


def _poly(p: Poly) -> str:
    tag = "polygon" if p.closed else "polyline"
    join = ' stroke-linecap="round" stroke-linejoin="round"' if p.stroke else ""
    return f'<{tag} points="{_points(p.points)}"{join}{_ink(p.stroke, p.line, p.dash, p.opacity, p.fill)}/>'


def _text(t: Text) -> str:
    anchor = f' text-anchor="{t.anchor}"' if t.anchor != "start" else ""
    weight = f' font-weight="{t.weight}"' if t.weight != 400 else ""
    opacity = f' opacity="{n(t.opacity)}"' if t.opacity < 1 else ""
    font = quoteattr(FONTS[t.font])
    return (
        f'<text x="{n(t.x)}" y="{n(t.y)}" font-family={font} font-size="{n(t.size)}"{weight}{anchor} '
        f'fill="{t.color}"{opacity} xml:space="preserve">{escape(t.text)}</text>'
    )


def _cells(c: Cells) -> str:
    parts = []
    radius = n(min(2.0, c.size / 5))
    for x, y, color, mark in c.boxes():
        if mark == "o":
            edge = n(c.size - 1)
            parts.append(
                f'<rect x="{n(x + 0.5)}" y="{n(y + 0.5)}" width="{edge}" height="{edge}" rx="{radius}" fill="none" '
                f'stroke="{c.ink}" stroke-width="0.8" stroke-dasharray="2 1.6" opacity="0.7"/>'
            )
            continue
        parts.append(f'<rect x="{n(x)}" y="{n(y)}" width="{n(c.size)}" height="{n(c.size)}" rx="{radius}" fill="{color}"/>')
        for line in cell_lines(x, y, c.size, mark):
            parts.append(f'<polyline points="{_points(line)}" fill="none" stroke="{c.ink}" stroke-width="1"/>')
    opacity = f' opacity="{n(c.opacity)}"' if c.opacity < 1 else ""
    return f"<g{opacity}>{''.join(parts)}</g>"

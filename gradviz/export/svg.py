"""A step as an SVG file: text stays text, numbers are rounded, and the same step always gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from gradviz.player.view import Mode
from gradviz.scene.figure import Figure, Page
from gradviz.scene.shapes import Cells, Curve, Point, Poly, Rect, Shape, Text, cell_lines
from gradviz.trace import Trace

FONTS = {
    "mono": "'JetBrains Mono', ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
    "sans": "Inter, system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', 'DejaVu Sans', sans-serif",
}

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fit(text: str) -> str:
    """A text with every character that XML 1.0 has no way to hold (section 2.2) as U+FFFD."""
    return _UNFIT.sub("\ufffd", text)


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
        title: write the narration of the step under the graph.
    """
    return document(Figure(trace, theme=theme, mode=mode, language=language, title=title).page(step))


def document(page: Page) -> str:
    """A page as an SVG document."""
    x, y, w, h = (n(v) for v in page.box)
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="{x} {y} {w} {h}" role="img">',
        f"<title>{escape(fit(page.title))}</title>",
        _rect(Rect(*page.box, page.ground)),
        *shapes_svg(page.shapes),
        "</svg>\n",
    ]
    return "\n".join(parts)


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
    flat = f"{n(r.x + q)} {{0}}H{n(r.x + r.width - q)}"
    if r.corners == "top":
        bend = n(r.y + q)
        d = f"M{x0} {y1}V{bend}Q{x0} {y0} {flat.format(y0)}Q{x1} {y0} {x1} {bend}V{y1}Z"
    else:
        bend = n(r.y + r.height - q)
        d = f"M{x0} {y0}V{bend}Q{x0} {y1} {flat.format(y1)}Q{x1} {y1} {x1} {bend}V{y0}Z"
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
        f'fill="{t.color}"{opacity} xml:space="preserve">{escape(fit(t.text))}</text>'
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
        parts.append(
            f'<rect x="{n(x)}" y="{n(y)}" width="{n(c.size)}" height="{n(c.size)}" rx="{radius}" fill="{color}"/>'
        )
        for line in cell_lines(x, y, c.size, mark):
            parts.append(f'<polyline points="{_points(line)}" fill="none" stroke="{c.ink}" stroke-width="1"/>')
    opacity = f' opacity="{n(c.opacity)}"' if c.opacity < 1 else ""
    return f"<g{opacity}>{''.join(parts)}</g>"

"""A recording as one HTML file with a stepper in it: no network, nothing to install, works from disk.

From outside, `window.gradviz.goto(n)` goes to a step and `window.gradviz.state()` gives `{step, grads, nodes}`:
`.grad` of each leaf by name (nested lists, or null where PyTorch has None) and the status of each node by its id. A
page of a lesson has `window.gradviz.checkpoint(k)` too, and `state()` then gives `checkpoint`, counted from 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from gradviz import assets
from gradviz.explain import Words, narrate
from gradviz.export.svg import n, shapes_svg
from gradviz.player.lesson_markup import to_html as markup
from gradviz.player.lesson_tell import place, told
from gradviz.player.lessons import Lesson
from gradviz.player.view import Mode
from gradviz.scene.figure import MARGIN, Figure
from gradviz.scene.shapes import Shape
from gradviz.scene.theme import TOKENS, load_theme
from gradviz.trace import Trace
from gradviz.trace.events import Data
from gradviz.trace.frame import STATUSES
from gradviz.trace.values import NotCaptured, to_numpy

MOST_STEPS = 2_000
MOVING = 60
"""Recordings of up to so many steps show motion inside a step."""
FRAMES = 7
FRAME_MS = 80


class TooLong(ValueError):
    """The recording has more steps than one page can hold."""


def to_html(
    trace: Trace,
    *,
    step: int = 0,
    theme: str = "light",
    mode: Mode = "both",
    language: str = "en",
    lesson: Lesson | None = None,
) -> str:
    """A self-contained page that opens at `step`; with the words of a lesson, of whose program `trace` is a recording.

    Raises:
        TooLong: the recording has more than `MOST_STEPS` steps.
    """
    if trace.steps > MOST_STEPS:
        raise TooLong(f"One page holds {MOST_STEPS} steps at most; this recording has {trace.steps}.")
    words = Words(language)
    figure = Figure(trace, theme=theme, mode=mode, language=language, title=False)
    data = _figures(figure)
    data |= {
        "start": max(0, min(step, trace.steps)),
        "frame_ms": FRAME_MS,
        "words": [_words(trace, k, language) for k in range(trace.steps + 1)],
        "lines": [_lines(trace, k) for k in range(trace.steps + 1)],
        "grads": _grads(trace),
        "nodes": _nodes(trace),
        "labels": {key: words(f"ui.player.{key}") for key in ("counter", "play", "pause")},
    }
    if lesson is not None:
        data["lesson"] = [(place(trace, point), markup(told(trace, point, language))) for point in lesson.checkpoints]
        data["labels"]["checkpoint"] = words("ui.lesson.counter")
    return _page(trace, figure, data, words, lesson)


def _figures(figure: Figure) -> dict[str, Any]:
    """Every step as numbers into one table of elements, and the frames in between where there are few steps."""
    table: dict[str, int] = {}
    steps = figure.trace.steps

    def numbered(shapes: Iterable[Shape]) -> list[int]:
        return [table.setdefault(element, len(table)) for element in shapes_svg(shapes)]

    figures = [numbered(figure.scene(k).shapes()) for k in range(steps + 1)]
    motion = {}
    if steps <= MOVING:
        for k in range(1, steps + 1):
            motion[k] = [numbered(figure.scene(k, f / FRAMES).shapes()) for f in range(FRAMES)]
    return {"table": list(table), "figures": figures, "motion": motion}


def _words(trace: Trace, step: int, language: str) -> tuple[str, str]:
    said = narrate(trace, step, language)
    between = "" if language == "zh" else " "
    return said.title, between.join(part for part in (said.body, said.next) if part)


def _lines(trace: Trace, step: int) -> tuple[int, int, int, int]:
    """Lines of the program where a step is, and those that its node comes from; 0: none."""
    spans = (trace.span(step), trace.origin(step))
    lines: list[int] = []
    for span in spans:
        lines += [span[1], span[3]] if span is not None and trace.cell_of(span[0]) == 0 and span[1] > 0 else [0, 0]
    return lines[0], lines[1], lines[2], lines[3]


def _program(trace: Trace) -> str:
    """Text of the program."""
    if trace.cells and trace.cells[0].file in trace.files:
        return trace.files[trace.cells[0].file].text or trace.header.source
    return trace.header.source


def _grads(trace: Trace) -> list[tuple[int, str, Any]]:
    """(step, leaf's name, `.grad`) for each change, in order, from None at step 0 on."""
    changes: list[tuple[int, str, Any]] = []
    for tensor in sorted(trace.tensors):
        name, known = trace.name(tensor), trace.tensor(tensor)
        if name is None or known is None or not (known.is_leaf and known.requires_grad):
            continue
        changes.append((0, name, None))
        history = trace.grads[tensor].steps if tensor in trace.grads else []
        for step in dict.fromkeys(history):
            changes.append((step, name, _nested(trace.at(step).grad_data(tensor))))
    return sorted(changes, key=lambda change: change[0])


def _nested(data: Data | None) -> Any:
    """Nested lists; an object that says why where the content is not recorded; complex numbers as [real, imaginary]."""
    if data is None:
        return None
    try:
        array = to_numpy(data)
    except NotCaptured:
        return {"missing": data.missing or "unknown"}
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    return array.tolist()


def _nodes(trace: Trace) -> list[tuple[int, str, str]]:
    """(step, node id, status) for each change, in order."""
    changes: list[tuple[int, str, str]] = []
    before = np.full(len(trace.nodes), -1)
    for step in range(trace.steps + 1):
        now = trace.at(step).statuses
        for node in np.flatnonzero(now != before).tolist():
            changes.append((step, str(node), STATUSES[now[node]]))
        before = now
    return changes


def _page(trace: Trace, figure: Figure, data: dict[str, Any], words: Words, lesson: Lesson | None) -> str:
    theme = load_theme(figure.theme.name)
    x, y, w, h = figure.composer.layout.bounds
    box = f"{n(x - MARGIN)} {n(y - MARGIN)} {n(w + 2 * MARGIN)} {n(h + 2 * MARGIN + 40)}"
    colors = ";".join(f"--{token.replace('_', '-')}:{theme.color(token)}" for token in TOKENS)
    name = escape(lesson.titles[figure.language] if lesson else Path(trace.header.program).name or "gradviz")
    rows = "".join(
        f'<div data-line="{k}"><span class="n">{k}</span>{escape(line) or " "}</div>'
        for k, line in enumerate(_program(trace).removesuffix("\n").split("\n"), 1)
    )
    label = {key: escape(words(f"ui.player.{key}"), quote=True) for key in _LABELS}
    script = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    script = script.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"""<!DOCTYPE html>
<html lang="{escape(figure.language, quote=True)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>:root{{--scheme:{"dark" if theme.dark else "light"};{colors}}}
{assets.text("player", "player.css")}</style>
</head>
<body>
<div id="player"{' class="lesson"' if lesson else ""}>
<header>
<h1>{name}</h1>
<button id="first" aria-label="{label["first"]}" title="{label["first"]} (Home)">|◀</button>
<button id="previous" aria-label="{label["previous"]}" title="{label["previous"]} (←)">◀</button>
<button id="play" class="primary" aria-label="{label["play"]}">▶</button>
<button id="next" aria-label="{label["next"]}" title="{label["next"]} (→)">▶|</button>
<button id="last" aria-label="{label["last"]}" title="{label["last"]} (End)">▶▶|</button>
<span id="counter"></span>
</header>
<pre id="code" tabindex="0" aria-label="{label["program"]}">{rows}</pre>
<div id="figure"><svg id="drawing" viewBox="{box}" role="img" aria-labelledby="title"></svg></div>
{_lesson(words) if lesson else ""}<p id="words" aria-live="polite"><b id="title"></b><span id="body"></span></p>
<footer><input id="slider" type="range" min="0" max="{trace.steps}" value="0" aria-label="{label["slider"]}"></footer>
</div>
<script>const DATA = {script};
{assets.text("player", "player.js")}</script>
</body>
</html>
"""


def _lesson(words: Words) -> str:
    """Where the lesson's words stand, with the way on."""
    return f"""<section id="lesson" tabindex="0" aria-label="{escape(words("ui.lesson.name"), quote=True)}">
<div id="told" aria-live="polite"></div>
<nav><button id="back">{escape(words("ui.lesson.previous"))}</button><span id="place"></span>
<button id="on" class="primary">{escape(words("ui.lesson.next"))}</button></nav>
</section>
"""


_LABELS = ("first", "previous", "play", "next", "last", "program", "slider")

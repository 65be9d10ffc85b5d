"""Frame times of the canvas on a software rasterizer, 1600 x 1000: pan and zoom at every scale, steps, jumps.

Run as `python -m tests.bench.bench_canvas [cards]`. Times are CPU milliseconds of a frame: median, 95th percentile.
The scene is a chain laid out in a dense grid, with more cards in view at each scale than a layout of a real graph has.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PySide6.QtWidgets import QApplication

from gradviz.app.canvas import Canvas
from gradviz.app.eye import fitted
from gradviz.graph.model import Card, Graph, Layout, Wire
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Backward, BackwardEnded, Data, Ended, Header, Node, NodeRan, Op, Tensor

SCALES = (0.0, 0.008, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.3, 0.43, 0.6, 1.0, 2.0)
"""0: everything in view."""
FRAMES = 25
ROWS = 40


def chain(count: int) -> tuple[Trace, Graph, Layout]:
    """A chain of multiplications with its backward pass, in columns of `ROWS` cards, down and up in turn."""
    data = Data((3,), "float32", raw=np.ones(3, np.float32).tobytes(), norm=1.7, low=1.0, high=1.0)
    events: list[object] = [Header(), Tensor(0, (3,), requires_grad=True)]
    for i in range(count):
        events.append(Node(i, "MulBackward0", ((i - 1 if i else None, 0),), sequence=i, op=i))
        events.append(Op(i, "mul", inputs=(i,), outputs=(i + 1,), nodes=(i,)))
        events.append(Tensor(i + 1, (3,), requires_grad=True, is_leaf=False, node=i, op=i))
    plan = tuple(range(count - 1, -1, -1))
    events.append(Backward(0, roots=(count - 1,), planned=plan, tensors=(count,)))
    events += [NodeRan(0, i, (data,), (data,)) for i in plan]
    events += [BackwardEnded(0), Ended(0)]
    return Trace(events), *_placed(count)  # type: ignore[arg-type]


def _placed(count: int) -> tuple[Graph, Layout]:
    card = Card("", "op", "mul", "(3,)", width=120.0, height=60.0)
    cards = tuple(
        replace(card, key=f"op:{i}", op=i, tensor=i + 1, nodes=(i,), ops=(i,), born=i + 1) for i in range(count)
    )
    wires = tuple(Wire(i, i + 1, i + 1, edges=((i + 1, 0),), label=(60.0, 20.0)) for i in range(count - 1))
    place = np.arange(count)
    column, row = place // ROWS, place % ROWS
    row = np.where(column % 2, ROWS - 1 - row, row)
    boxes = np.stack([column * 260.0, row * 130.0, np.full(count, 120.0), np.full(count, 60.0)], 1)
    start = boxes[:-1, :2] + np.asarray([120.0, 14.0])
    end = boxes[1:, :2] + np.asarray([0.0, 14.0])
    bend, down = np.asarray([60.0, 0.0]), np.asarray([0.0, 30.0])
    forward = np.stack([start, start + bend, end - bend, end], 1).reshape(-1, 2)
    gradient = np.stack([end + down, end + down - bend, start + down + bend, start + down], 1).reshape(-1, 2)
    pointers = np.arange(count, dtype=np.int64) * 4
    label = (start + end) / 2
    layout = Layout(
        boxes,
        pointers,
        forward,
        pointers,
        gradient,
        np.zeros(count - 1, np.bool_),
        label,
        label + down,
        np.zeros((0, 4)),
        (0.0, 0.0, float(boxes[-1, 0] + 120), ROWS * 130.0),
    )
    index = {c.key: i for i, c in enumerate(cards)}
    each = dict(enumerate(range(count)))
    return Graph(cards, wires, index=index, card_of_op=each, card_of_node=each), layout


def measure(canvas: Canvas, change: Callable[[int], object]) -> tuple[float, float]:
    """Median and 95th percentile of a frame's CPU time in milliseconds."""
    times = []
    for k in range(FRAMES):
        begin = time.process_time()
        change(k)
        canvas.grab()
        times.append((time.process_time() - begin) * 1000)
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.95)]


def main(count: int) -> None:
    """Print one line a measurement."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication([])
    trace, graph, layout = chain(count)
    session = Session()
    canvas = Canvas(session)
    canvas.resize(1600, 1000)
    canvas.show()
    session.begin(trace)
    session.update(reduced_motion=True)
    begin = time.perf_counter()
    canvas.set_graph(graph, layout)
    print(f"{count} cards; set_graph {(time.perf_counter() - begin) * 1000:.0f} ms")
    session.update(step=trace.steps * 3 // 4)
    for _ in range(400):
        app.processEvents()
    for scale in SCALES:
        look(canvas, layout, scale)
        canvas.grab()
        pan = measure(canvas, lambda k: canvas.pan(-17, 11 if k % 2 else -11))
        zoom = measure(canvas, lambda k: canvas.zoom(0.97 if k % 6 < 3 else 1 / 0.97))
        canvas._sharpen()
        sharp = measure(canvas, lambda _: anew(canvas))
        text = f"scale {canvas.eye.scale:6.3f} {canvas.level:9s} pan {pan[0]:5.1f} / {pan[1]:5.1f}"
        print(f"{text}   zoom {zoom[0]:5.1f} / {zoom[1]:5.1f}   at rest after it {sharp[0]:5.1f} / {sharp[1]:5.1f} ms")
    for scale in (0.0, 0.2, 1.0):
        look(canvas, layout, scale)
        canvas._sharpen()
        canvas.grab()
        step = measure(canvas, lambda _: session.update(step=session.view.step + 1))
        print(f"step at scale {canvas.eye.scale:6.3f} {canvas.level:9s} {step[0]:5.1f} / {step[1]:5.1f} ms")
    draw = np.random.default_rng(0)
    jump = measure(canvas, lambda _: session.update(step=int(draw.integers(trace.steps))))
    print(f"jump {jump[0]:5.1f} / {jump[1]:5.1f} ms")


def anew(canvas: Canvas) -> None:
    """Draw everything, from nothing kept."""
    canvas._levels.redraw()
    canvas.update()


def look(canvas: Canvas, layout: Layout, scale: float) -> None:
    """Look at the middle of the layout at a scale."""
    box = layout.boxes[len(layout.boxes) // 2].tolist()
    x, _, w, _ = box
    whole = layout.bounds if not scale else (x, layout.bounds[3] / 2, w, 1.0)
    eye = fitted(whole, canvas.room(), scale or 1.0, scale or 0.0001)
    canvas._see(eye)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

"""The timeline under real presses, drags, wheels and keys; its arrays against the recording they were read from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.timeline import Timeline, bytes_text
from gradviz.app.track_paint import CHIP_FROM, LEFT, Picture, _by_pixel, chip_left, paint_names, paint_tracks
from gradviz.app.tracks import BACKWARD_ROW, FAULT_BACK, FORWARD_ROW, LEAF, NODE, OP, SEED, Tracks, bars
from gradviz.explain import Words
from gradviz.session import Session
from gradviz.trace import Trace, open_trace
from gradviz.trace.events import Grad, Header, Op, Scope, Tensor
from tests import forked
from tests.scene.one_layer import data, recording


@pytest.fixture
def timeline(qtbot: QtBot) -> Timeline:
    session = Session()
    widget = Timeline(session)
    qtbot.addWidget(widget)
    widget.resize(1400, 212)
    session.begin(recording(2, fault=True))
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def long(steps: int) -> Trace:
    events: list[object] = [Header()]
    for i in range(steps):
        events += [Tensor(i, (i % 7 + 1,), op=i), Op(i, "add", outputs=(i,))]
    return Trace(events)  # type: ignore[arg-type]


def point(timeline: Timeline, step: int) -> QPoint:
    return QPoint(round(timeline.x_of(step)), 90)


def turn(widget: Timeline, at: QPoint, angle: int, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    where = QPointF(widget.mapToGlobal(at))
    event = QWheelEvent(
        QPointF(at),
        where,
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def image(widget: Timeline) -> QImage:
    return widget.grab().toImage()


def test_click_and_drag_set_the_step(timeline: Timeline, qtbot: QtBot) -> None:
    QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=point(timeline, 11))
    assert timeline.session.view.step == 11
    QTest.mousePress(timeline, Qt.MouseButton.LeftButton, pos=point(timeline, 11))
    QTest.mouseMove(timeline, point(timeline, 4))
    assert timeline.session.view.step == 4
    QTest.mouseMove(timeline, QPoint(5, 90))
    assert timeline.session.view.step == 0
    QTest.mouseRelease(timeline, Qt.MouseButton.LeftButton, pos=QPoint(5, 90))
    QTest.mouseMove(timeline, point(timeline, 9))
    assert timeline.session.view.step == 0


def test_keys_step_and_stay_inside(timeline: Timeline, qtbot: QtBot) -> None:
    view = timeline.session
    for key, step in (
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_End, view.trace.steps),
        (Qt.Key.Key_Right, view.trace.steps),
        (Qt.Key.Key_Left, view.trace.steps - 1),
        (Qt.Key.Key_Home, 0),
    ):
        QTest.keyClick(timeline, key)
        assert view.view.step == step


def test_wheel_zooms_at_the_cursor_and_a_double_click_shows_all(timeline: Timeline, qtbot: QtBot) -> None:
    timeline.session.begin(long(500))
    at = QPoint(700, 90)
    under, scale = timeline.step_at(700), timeline.scale()
    turn(timeline, at, 480)
    assert timeline.scale() > scale * 1.5 and abs(timeline.step_at(700) - under) <= 1
    first = timeline.step_at(200)
    turn(timeline, at, -240, Qt.KeyboardModifier.ShiftModifier)
    assert timeline.step_at(200) > first
    QTest.mouseDClick(timeline, Qt.MouseButton.LeftButton, pos=at)
    assert timeline.scale() == pytest.approx(scale)


def test_zoomed_in_the_playhead_is_followed(timeline: Timeline) -> None:
    timeline.session.begin(long(2000))
    timeline.zoom(40, 200)
    timeline.session.update(step=1990)
    assert 0 < timeline.x_of(1990) < timeline.width()


def test_tooltip_tells_step_and_sentence(timeline: Timeline) -> None:
    tip = timeline.tip(timeline.x_of(11), 90)
    assert "11" in tip and "b.grad" in tip and "\n" in tip
    assert timeline.tip(10, 45) and timeline.tip(10, 45) != timeline.tip(10, 85)


def test_same_picture_from_either_side_and_another_at_another_step(timeline: Timeline) -> None:
    timeline.session.update(step=11)
    first = image(timeline)
    timeline.session.update(step=20)
    assert image(timeline) != first
    timeline.session.update(step=11)
    assert image(timeline) == first


def test_every_theme_and_language_paints_something_else(timeline: Timeline) -> None:
    light = image(timeline)
    timeline.session.update(theme="dark")
    dark = image(timeline)
    timeline.session.update(language="zh")
    assert light != dark != image(timeline)
    assert timeline.accessibleDescription()


def test_empty_recording_says_what_will_appear(qtbot: QtBot) -> None:
    widget = Timeline(Session())
    qtbot.addWidget(widget)
    widget.resize(900, 212)
    colors = {image(widget).pixel(x, y) for x in range(200, 800, 3) for y in range(60, 200, 3)}
    assert len(colors) > 1


def test_search_marks_its_steps(timeline: Timeline) -> None:
    timeline.session.update(step=23, search="op:matmul")
    assert timeline.hits == {5}
    timeline.session.update(search="")
    assert not timeline.hits


def test_kinds_of_all_steps() -> None:
    trace = recording(2, fault=True)
    tracks = Tracks(trace)
    assert tracks.grow(10)
    kinds = tracks.kinds.tolist()
    assert kinds[1:8] == [OP] * 7 and kinds[8] == SEED and kinds[9] == NODE and kinds[11] == LEAF
    assert kinds[-1] == FAULT_BACK and tracks.faults == [trace.steps]
    assert [(b.first, b.last) for b in tracks.brackets if b.is_pass] == [
        (int(trace.pass_step.view[i]), trace.pass_end[i]) for i in range(3)
    ]


def test_growing_in_slices_gives_the_same() -> None:
    whole = recording(2, fault=True)
    grown, tracks = Trace(), None
    for event in whole.events:
        grown.append(event)
        tracks = tracks or Tracks(grown)
        tracks.grow()
    assert tracks is not None
    at_once = Tracks(whole)
    at_once.grow(10)
    assert np.array_equal(tracks.kinds, at_once.kinds)
    assert tracks.brackets == at_once.brackets
    for leaf, (steps, norms) in at_once.stairs().items():
        assert np.array_equal(tracks.stairs()[leaf][0], steps)
        assert np.array_equal(tracks.stairs()[leaf][1], norms, equal_nan=True)


def test_stairs_are_the_norms_of_the_frames() -> None:
    trace = recording(2)
    tracks = Tracks(trace)
    tracks.grow(10)
    for leaf, (steps, norms) in tracks.stairs().items():
        for step, norm in zip(steps.tolist(), norms.tolist(), strict=True):
            grad = trace.at(step).grad(leaf)
            assert grad is not None
            assert norm == pytest.approx(float(np.linalg.norm(grad.astype(np.float64))))


def test_many_leaves_become_one_stair() -> None:
    events: list[object] = [Header()]
    events += [Tensor(i, (1,), requires_grad=True) for i in range(12)]
    events += [Grad(i, "assign", None, None, data([3.0]), span=(0, i, 0, i, 1)) for i in range(12)]
    trace = Trace(events)  # type: ignore[arg-type]
    tracks = Tracks(trace)
    tracks.grow(10)
    ((key, (_, norms)),) = tracks.stairs().items()
    assert key == -1 and norms[-1] == pytest.approx(np.sqrt(12 * 9.0))
    assert tracks.changes.tolist() == list(range(1, 13))


def test_module_calls_become_brackets() -> None:
    trace = Trace(
        [
            Header(),
            Scope(0, True, "model"),
            Scope(1, True, "model.a"),
            Tensor(0, (1,), op=0),
            Op(0, "add", outputs=(0,)),
            Scope(1, False),
            Tensor(1, (1,), op=1),
            Op(1, "add", outputs=(1,)),
            Scope(0, False),
        ]
    )
    tracks = Tracks(trace)
    tracks.grow(10)
    assert {(b.label, b.first, b.last, b.depth) for b in tracks.brackets} == {("model", 1, 2, 0), ("model.a", 1, 1, 1)}
    assert [b.label for b in tracks.brackets_in(0, 3, 48.0)] == ["model.a"]
    assert [b.label for b in tracks.brackets_in(0, 3, 20.0)] == ["model"]
    assert not tracks.brackets_in(0, 3, 20.0, narrowest=2.0)


def test_bars_of_a_long_recording() -> None:
    tracks = Tracks(long(10_000))
    tracks.grow(60)
    group, share, codes = bars(tracks.kinds, tracks.weights, FORWARD_ROW, 0, 25)
    assert len(group) == 401 and share.min() >= 0.3 and share.max() == 1.0 and set(codes.tolist()) == {OP}
    assert not len(bars(tracks.kinds, tracks.weights, BACKWARD_ROW, 0, 25)[0])


def test_a_long_recording_is_drawn_without_chips(timeline: Timeline) -> None:
    timeline.session.begin(long(5000))
    assert timeline.scale() < CHIP_FROM
    picture = image(timeline)
    row = {picture.pixel(x, 50) for x in range(130, 1300)}
    assert len(row) > 1


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (104, "104 B"), (1024, "1.0 KB"), (3_500_000, "3.3 MB"), (1 << 50, "1024.0 TB")]
)
def test_bytes_as_text(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_the_chip_of_the_current_step_is_whole_at_both_ends() -> None:
    assert chip_left(400.0, 110.0, 900.0) == 400.0
    assert chip_left(850.0, 110.0, 900.0) + 110.0 < 900.0
    assert chip_left(10.0, 110.0, 900.0) >= LEFT - 14


def test_the_last_step_of_a_long_name_is_drawn_inside_the_panel(qtbot: QtBot) -> None:
    session = Session()
    widget = Timeline(session)
    qtbot.addWidget(widget)
    widget.resize(600, 212)
    events: list[object] = [Header()]
    for i in range(300):
        events += [Tensor(i, (2,), op=i), Op(i, "a_very_long_name_of_an_operation", outputs=(i,))]
    session.begin(Trace(events))  # type: ignore[arg-type]
    session.update(step=300)
    widget.show()
    image = widget.grab().toImage()
    y = round(widget._y(36) + 12)
    column = {image.pixelColor(x, y).name() for x in (597, 598, 599)}
    assert column == {image.pixelColor(599, 200).name()}, "nothing of the chip at the very edge"


def test_the_name_of_a_bracket_is_written_beside_the_playhead(timeline: Timeline) -> None:
    shape = timeline._geometry()
    assert shape.brackets
    image = QImage(timeline.size(), QImage.Format.Format_ARGB32)
    for step in range(timeline.tracks.steps + 1):
        painter = Told(image)
        paint_names(painter, shape, step, 0.5)
        painter.end()
        assert len(painter.notes) == len(shape.bracket_names) + len(shape.change_names) > 2
        assert not [spot for spot in painter.notes if spot[0] - 4 < timeline.x_of(step) < spot[1] + 4], step


def test_the_name_of_a_bracket_stands_above_that_one(timeline: Timeline) -> None:
    timeline.resize(1000, 212)  # the last bracket ends at the right edge
    shape = timeline._geometry()
    assert len(shape.bracket_names) == len(shape.brackets) == 3
    for name, bracket in zip(shape.bracket_names, shape.brackets, strict=True):
        left, right = shape.edges(bracket)
        assert name.step == bracket.first and left <= name.left < name.left + name.width <= right


class Told(QPainter):
    """A painter that notes from where to where it writes."""

    def __init__(self, image: QImage) -> None:
        super().__init__(image)
        self.notes: list[tuple[float, float]] = []

    def drawText(self, place: QPointF, text: str) -> None:  # type: ignore[override]
        self.notes.append((place.x(), place.x() + self.fontMetrics().horizontalAdvance(text)))


RETAINED = """
import torch
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
loss = w.exp().sum()
loss.backward(retain_graph=True)
other = (w * 2).exp().sum()
loss = None
other.backward(retain_graph=True)
"""


@pytest.mark.parametrize(
    ("language", "kept", "retained", "partly"),
    [
        ("en", "12 B kept", "12 B kept: retain_graph=True", "24 B kept, 12 B of it retained"),
        ("zh", "保存着 12 B", "保存着 12 B：retain_graph=True", "保存着 24 B（其中 12 B 保留）"),
    ],
)
def test_bytes_are_kept_by_retain_graph_only_where_such_a_pass_went(
    qtbot: QtBot, tmp_path: Path, language: str, kept: str, retained: str, partly: str
) -> None:
    program, out = tmp_path / "retained.py", tmp_path / "retained.gradviz"
    program.write_text(RETAINED, "utf-8")
    assert forked.record("-o", out, program).returncode == 0
    session = Session()
    session.begin(open_trace(out))
    widget = Timeline(session)
    qtbot.addWidget(widget)
    trace, said = session.trace, {}
    for step in range(1, trace.steps + 1):
        session.update(step=step, language=language)
        said[step] = widget._bytes_text(widget._geometry())[0]
    first, second = (int(s) for s in trace.pass_step.view)
    ran = trace.runs(next(n.id for n in trace.nodes if n.name == "ExpBackward0"))[0]
    assert {said[step] for step in range(first, ran)} == {kept}  # the seed, and before the node ran
    assert said[ran] == said[int(trace.pass_end[0])] == retained
    assert (
        said[second - 2] == partly
    )  # `exp` ran anew: of the graph that is alive, and of the one that has only gone forward
    assert said[second] == kept  # the first graph is gone; the pass over the second one has run nothing
    assert "Leaves are not counted" in Words("en")("ui.timeline.saved_tip")


def test_a_peak_among_more_steps_than_pixels_is_drawn(timeline: Timeline) -> None:
    steps, heights = np.arange(90_000), np.full(90_000, 30.0)
    heights[45_678] = 5.0
    timeline.session.begin(long(3000))
    shape = replace(timeline._geometry(), scale=1000 / 90_000)
    flat, steep, last = _by_pixel(shape, steps, heights)
    assert len(flat) == len(steep) == len(last) <= 1001
    assert flat[:, 1].min() == 30.0 and steep[:, 1].min() == 5.0
    assert steep[np.argmin(steep[:, 1]), 0] == pytest.approx(shape.x(45_678), abs=1.0)


def test_while_a_long_recording_grows_the_tracks_are_drawn_anew_a_few_times_a_second(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def paint(painter: QPainter, shape: Picture) -> None:
        drawn.append(shape.tracks.steps)
        paint_tracks(painter, shape)

    monkeypatch.setattr("gradviz.app.timeline.paint_tracks", paint)
    monkeypatch.setattr("gradviz.app.timeline.GROW_SECONDS", 10.0)
    events, session = long(5000).events, Session()
    widget = Timeline(session)
    qtbot.addWidget(widget)
    widget.resize(900, 212)
    session.begin(Trace(events[:4001]))
    widget.show()
    image(widget)
    for first in range(4001, 8001, 1000):
        session.append(events[first : first + 1000])
        pushed = image(widget)
    assert drawn == [2000]
    qtbot.waitUntil(lambda: drawn[-1] == 4000, timeout=5000)
    assert len(drawn) == 2 and image(widget) != pushed
    widget.clearFocus()
    whole = Timeline(session)
    qtbot.addWidget(whole)
    whole.resize(900, 212)
    assert image(whole) == image(widget)

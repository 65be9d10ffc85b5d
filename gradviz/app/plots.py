"""Plots of a recording: gradient norm by leaf, `.grad` over steps, saved bytes, update ratio, histogram of a tensor.

The only module that imports pyqtgraph; import it at first use.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QComboBox, QLabel, QVBoxLayout, QWidget

from gradviz.app.facts import tensor_of
from gradviz.explain import Words, tensor_label
from gradviz.player.subject import key_of_step
from gradviz.player.view import ViewState
from gradviz.scene.theme import Theme, load_theme
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Grad, Value
from gradviz.trace.values import NotCaptured, thumbnail, to_numpy

Floats = npt.NDArray[np.float64]
KINDS: tuple[str, ...] = ("layers", "grads", "saved", "updates", "histogram")
MOST_CURVES = 24


def leaves_of(trace: Trace) -> list[int]:
    """Named leaves that require grad, in first-seen order."""
    told = {t: trace.tensor(t) for t in trace.names_of if t not in trace.grad_tensors}
    return [t for t, event in told.items() if event and event.is_leaf and event.requires_grad]


def grad_norms(trace: Trace, tensor: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Steps at which a leaf's `.grad` changed, and its norm from then on; NaN where it is None or unknown."""
    history = trace.grads.get(tensor)
    steps = np.asarray(history.steps if history else [], np.int64)
    norms = []
    for index in history.indexes if history else []:
        event = trace.events[index]
        after = event.after if isinstance(event, Grad) else None
        norms.append(np.nan if after is None or after.norm is None else after.norm)
    return steps, np.asarray(norms, np.float64)


def update_ratios(trace: Trace, tensor: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Steps at which a leaf's value changed, and the norm of the change over the norm before it. All that one line
    writes between two passes, as an optimizer with weight decay does, is one change. Only where both values were
    recorded whole."""
    found: list[tuple[int, float]] = []
    before = start = None
    last: object = None
    for step, index in _values_of(trace, tensor):
        value = _whole(trace.events[index])
        span = trace.span(step)
        change = None if span is None else (int(np.searchsorted(trace.pass_step.view, step)), span[:2])
        if change is not None and change == last and found:
            found.pop()
        else:
            start = before
        size = float(np.linalg.norm(start)) if start is not None else 0.0
        if value is not None and start is not None and value.shape == start.shape and size > 0:
            found.append((step, float(np.linalg.norm(value - start)) / size))
            last = change
        else:
            last = None
        before = value
    return np.asarray([s for s, _ in found], np.int64), np.asarray([r for _, r in found], np.float64)


def _values_of(trace: Trace, tensor: int) -> list[tuple[int, int]]:
    history = trace.values.get(tensor)
    return list(zip(history.steps, history.indexes, strict=True)) if history else []


def _whole(event: object) -> Floats | None:
    try:
        return to_numpy(event.data).astype(np.float64) if isinstance(event, Value) else None
    except NotCaptured:
        return None


def left_out(trace: Trace) -> int:
    """How many leaves change and were not recorded whole, so that nothing can be said of the change."""
    changing = [t for t in leaves_of(trace) if len(_values_of(trace, t)) > 1]
    return sum(_whole(trace.events[_values_of(trace, t)[-1][1]]) is None for t in changing)


class Plots(QWidget):
    """One plot at a time, chosen in a box above it; a line marks the session's step."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.kind = QComboBox()
        self.plot = pg.PlotWidget()
        self.plot.setMenuEnabled(False)
        self.note, self.key = QLabel(), QLabel()
        """What is drawn, and which colour is which curve."""
        self.key.setTextFormat(Qt.TextFormat.RichText)
        for label in (self.note, self.key):
            label.setWordWrap(True)
        self._marker: Any = None
        self._more = ""
        box = QVBoxLayout(self)
        box.setContentsMargins(18, 4, 18, 10)
        box.addWidget(self.kind)
        box.addWidget(self.plot, 1)
        box.addWidget(self.key)
        box.addWidget(self.note)
        self.kind.addItems(list(KINDS))
        self.kind.activated.connect(lambda _: self._draw())
        self.plot.scene().sigMouseClicked.connect(self._clicked)
        self.destroyed.connect(session.listen(self._changed))
        self._draw()

    def _changed(self, old: ViewState, new: ViewState) -> None:
        fields = ("events", "revision", "theme", "language")
        by_step = KINDS[self.kind.currentIndex()] in ("layers", "histogram")
        if any(getattr(old, f) != getattr(new, f) for f in fields):
            self._draw()
        elif (old.step, old.selection) != (new.step, new.selection):
            if by_step:
                self._draw()
            elif self._marker is not None:
                self._marker.setValue(new.step)

    def show_kind(self, kind: str) -> None:
        """Show another plot: one of `KINDS`."""
        self.kind.setCurrentIndex(KINDS.index(kind))
        self._draw()

    def _draw(self) -> None:
        view = self.session.view
        theme, words = load_theme(view.theme), Words(view.language)
        for i, name in enumerate(KINDS):
            self.kind.setItemText(i, words(f"ui.plots.{name}"))
        self.kind.setAccessibleName(words("ui.plots.name"))
        name = KINDS[max(0, self.kind.currentIndex())]
        self.plot.setAccessibleName(words(f"ui.plots.{name}"))
        self.plot.clear()
        self.plot.setBackground(theme.panel)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.border)
            axis.setTextPen(theme.text_dim)
            axis.setTicks(None)
        self.plot.setLogMode(False, False)
        self._marker = None
        self.plot.enableAutoRange()
        draw: dict[str, Callable[[Theme], bool]] = {
            "layers": self._layers,
            "grads": self._grads,
            "saved": self._saved,
            "updates": self._updates,
            "histogram": self._histogram,
        }
        self._more = ""
        self.key.clear()
        self.plot.getAxis("left").setWidth()
        drawn = draw[name](theme)
        note = words(f"ui.plots.{name}_note" if drawn else f"ui.plots.{name}_empty")
        self.note.setText(" ".join(text for text in (note if drawn or not self._more else "", self._more) if text))
        self.plot.setVisible(drawn)
        self.key.setVisible(bool(self.key.text()))

    def _mark(self, theme: Theme) -> None:
        self._marker = pg.InfiniteLine(self.session.view.step, pen=pg.mkPen(theme.text, width=1.5))
        self.plot.addItem(self._marker)

    def _layers(self, theme: Theme) -> bool:
        """A bar for each leaf, on a logarithmic scale: what vanishes or explodes is seen at once."""
        trace, frame = self.session.trace, self.session.frame
        known = [(t, g) for t in leaves_of(trace) if (g := frame.grad_data(t)) is not None]
        norms = [(t, g.norm) for t, g in known if g.norm is not None and g.norm > 0 and np.isfinite(g.norm)]
        if not norms:
            return False
        logs = np.log10([norm for _, norm in norms])
        floor = np.floor(logs.min()) - 0.5
        places = -np.arange(len(norms))
        bars = pg.BarGraphItem(
            x0=np.full(len(norms), floor), y=places, width=logs - floor, height=0.62, brush=theme.gradient, pen=None
        )
        self.plot.addItem(bars)
        labels = [(int(y), tensor_label(trace, t)) for y, (t, _) in zip(places, norms, strict=True)]
        self.plot.setYRange(-len(norms) + 0.4, 0.6, padding=0)
        self.plot.getAxis("left").setTicks([labels] if len(labels) <= 40 else [labels[:: len(labels) // 20]])
        widest = max(QFontMetricsF(self.plot.font()).horizontalAdvance(text) for _, text in labels)
        self.plot.getAxis("left").setWidth(min(150, widest + 16))
        whole = range(int(np.floor(floor)), int(np.ceil(logs.max())) + 1)
        self.plot.getAxis("bottom").setTicks([[(k, f"1e{k}") for k in whole]])
        return True

    def _curves(self, theme: Theme, of: Callable[[Trace, int], tuple[Any, Floats]], *, logarithmic: bool) -> bool:
        trace = self.session.trace
        found = [(t, *of(trace, t)) for t in leaves_of(trace)[:MOST_CURVES]]
        found = [(t, steps, values) for t, steps, values in found if len(steps) and np.isfinite(values).any()]
        if not found:
            return False
        names = []
        for i, (tensor, steps, values) in enumerate(found):
            line = pg.mkPen(pg.intColor(i, len(found), values=1, maxValue=170 if not theme.dark else 255), width=2)
            with np.errstate(divide="ignore"):
                kept = np.where(values > 0, np.log10(values), np.nan) if logarithmic else values
            name = tensor_label(trace, tensor)
            self._stairs(np.append(steps, trace.steps + 1), kept, line, name)
            names.append(f'<nobr><span style="color:{line.color().name()}">■</span> {escape(name)}</nobr>')
        self.key.setText(" &nbsp; ".join(names))
        self._mark(theme)
        return True

    def _stairs(self, edges: Any, values: Floats, line: Any, name: str) -> None:
        self.plot.plot(edges, values, stepMode="center", pen=line, name=name, connect="finite")

    def _grads(self, theme: Theme) -> bool:
        return self._curves(theme, grad_norms, logarithmic=False)

    def _updates(self, theme: Theme) -> bool:
        drawn = self._curves(theme, update_ratios, logarithmic=True)
        missing = left_out(self.session.trace)
        if missing:
            self._more = Words(self.session.view.language)("ui.plots.updates_large", count=missing)
        return drawn

    def _saved(self, theme: Theme) -> bool:
        held = self.session.trace.held_bytes()
        if not held.any():
            return False
        line = pg.mkPen(theme.saved, width=2)
        edges = np.arange(len(held) + 1) - 0.5
        self.plot.plot(edges, held.astype(np.float64), stepMode="center", pen=line, fillLevel=0, brush=theme.saved_fill)
        self._mark(theme)
        return True

    def _histogram(self, theme: Theme) -> bool:
        view, frame = self.session.view, self.session.frame
        tensor = tensor_of(view.selection or key_of_step(frame.trace, frame.step))
        drawn = False
        if tensor is None:
            return False
        for data, ink in ((frame.value_data(tensor), theme.forward), (frame.grad_data(tensor), theme.gradient)):
            picture = _elements(data) if data is not None else np.zeros(0)
            picture = picture[np.isfinite(picture)]
            if not picture.size:
                continue
            counts, edges = np.histogram(picture, bins=min(60, max(8, int(np.sqrt(picture.size)) * 2)))
            fill = pg.mkColor(ink)
            fill.setAlpha(70)
            self.plot.plot(edges, counts, stepMode="center", pen=pg.mkPen(ink, width=1.5), fillLevel=0, brush=fill)
            drawn = True
        return drawn

    def _clicked(self, event: Any) -> None:
        """A click into a plot over steps leads to the step."""
        if self._marker is None or event.button() != Qt.MouseButton.LeftButton:
            return
        step = round(self.plot.getPlotItem().vb.mapSceneToView(event.scenePos()).x())
        self.session.update(step=max(0, min(step, self.session.view.steps)), alpha=1.0, playing=False)


def _elements(data: Any) -> Floats:
    """All elements where they were recorded, else the means of blocks."""
    try:
        array = to_numpy(data)
    except NotCaptured:
        picture = thumbnail(data)
        array = picture if picture is not None else np.zeros(0)
    flat: Floats = (np.abs(array) if np.iscomplexobj(array) else array).astype(np.float64).ravel()
    return flat

"""Keeps the canvas supplied with a graph of the recording and its layout, without making the window wait."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.canvas import Canvas
    from gradviz.graph.model import Graph, Layout
    from gradviz.session import Session

PATIENCE = 6
"""While a program runs, drawing its graph may take one part in so many of the time."""

Key = tuple[int, int, str, frozenset[str], frozenset[str]]


class Layouts(QObject):
    """Listens to the session; `settled` is emitted when all that is recorded is on the canvas."""

    settled = Signal()

    def __init__(self, session: Session, canvas: Canvas, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._canvas = canvas
        self._shown: Key | None = None
        self._last: tuple[int, str, Graph, Layout] | None = None
        self._seconds = 0.0
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._work)
        self.destroyed.connect(session.listen(self._heard))

    def _key(self) -> Key:
        """What the graph depends on: not on what the program prints."""
        view, trace = self.session.view, self.session.trace
        return view.revision, len(trace.events) - len(trace.outputs), view.mode, view.folded, view.unfolded

    @property
    def is_settled(self) -> bool:
        """All that is recorded is on the canvas."""
        return self._shown == self._key()

    @property
    def graph(self) -> Graph | None:
        """The graph on the canvas."""
        return self._last[2] if self._last else None

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if self._key() == self._shown:
            return
        running = new.live in ("starting", "running")
        wait = max(30, int(self._seconds * 1000 * PATIENCE)) if running else 0
        if not self._timer.isActive() or self._timer.remainingTime() > wait:
            self._timer.start(wait)

    def _work(self) -> None:
        from gradviz.graph import build, lay_out

        key = self._key()
        if key == self._shown:
            return
        began = time.perf_counter()
        view = self.session.view
        graph = build(self.session.trace, mode=view.mode, folded=view.folded, unfolded=view.unfolded)
        layout = lay_out(graph, self._previous(view))
        self._show(key, graph, layout)
        self._seconds = time.perf_counter() - began

    def _previous(self, view: ViewState) -> tuple[Graph, Layout] | None:
        """The layout to go on from, so that what is there keeps its place."""
        if self._last and self._last[:2] == (view.revision, view.mode):
            return self._last[2:]
        return None

    def _show(self, key: Key, graph: Graph, layout: Layout) -> None:
        view = self.session.view
        self._shown = key
        self._last = (view.revision, view.mode, graph, layout)
        self._canvas.set_graph(graph, layout, self._provisional(graph))
        self.settled.emit()

    def _provisional(self, graph: Graph) -> int | None:
        """First card of the graph that is still growing; None where nothing grows."""
        if self.session.view.live not in ("starting", "running") or not graph.cards:
            return None
        newest = graph.cards[-1].generation
        return next(i for i, card in enumerate(graph.cards) if card.generation == newest)

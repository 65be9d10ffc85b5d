"""Keeps the canvas supplied with a graph of the recording and its layout, without making the window wait.

A small recording is laid out at once; a large one in a process of its own, whose answers come in parts. Where that
process is lost, the window does the work itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.canvas import Canvas
    from gradviz.app.layout_process import LayoutProcess
    from gradviz.graph.messages import Placed
    from gradviz.graph.model import Graph, Layout
    from gradviz.session import Session

PATIENCE = 6
"""While a program runs, drawing its graph may take one part in so many of the time."""
READING_MS = 150
LARGE = 4_000
"""Recordings of more events than this are laid out in the other process."""

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
        self._process: LayoutProcess | None = None
        self._alone = False
        """The process was lost while this recording was shown."""
        self._sent: tuple[int, int] = (-1, 0)
        """Of which recording, and how many parts of its tape, the process has."""
        self._asked: tuple[int, Key] | None = None
        self._began = 0.0
        self._answers: tuple[int, str] | None = None
        """The recording and mode of the last answer."""
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

    @property
    def pid(self) -> int | None:
        """Process id of the layout process; None where there is none."""
        return self._process.pid if self._process else None

    def close(self) -> None:
        """The window is closing."""
        self._timer.stop()
        self._asked = None
        if self._process is not None:
            self._process.close()

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.revision != new.revision:
            self._alone = False
        key = self._key()
        if key == self._shown or (self._asked is not None and key == self._asked[1]):
            return
        if self._asked is not None and _same_but_for_growth(key, self._asked[1]):
            return  # when the answer is there, the rest is asked for
        running = new.running or (new.busy is not None and new.busy[0] == "reading")
        wait = max(30, int(self._seconds * 1000 * PATIENCE)) if running else 0
        if not self._timer.isActive() or self._timer.remainingTime() > wait:
            self._timer.start(wait)

    def _work(self) -> None:
        key = self._key()
        if key == self._shown:
            self._give_up()
        elif self._may_wait(key):
            self._timer.start(READING_MS)
        elif len(self.session.trace.events) > LARGE and self.session.tape is not None and not self._alone:
            self._ask(key)
        else:
            self._give_up()
            self._place(key)

    def _may_wait(self, key: Key) -> bool:
        """A file is being read, and too little has come of it since to be worth another layout."""
        busy, shown = self.session.view.busy, self._shown
        reading = busy is not None and busy[0] == "reading"
        return reading and shown is not None and _same_but_for_growth(key, shown) and key[1] < 3 * shown[1]

    def _place(self, key: Key) -> None:
        from gradviz.graph import build, lay_out

        began = time.perf_counter()
        view = self.session.view
        graph = build(self.session.trace, mode=view.mode, folded=view.folded, unfolded=view.unfolded)
        layout = lay_out(graph, self._previous(view))
        self._show(key, graph, layout)
        self._seconds = time.perf_counter() - began

    # ---- the other process

    def _ask(self, key: Key) -> None:
        from gradviz.app.layout_process import LayoutProcess

        view, tape = self.session.view, self.session.tape
        assert tape is not None
        if self._process is not None and self._sent[0] != view.revision:
            self._process.close()
            self._process = None
        if self._process is None:
            self._process = LayoutProcess(self)
            self._process.answered.connect(self._answered)
            self._process.progressed.connect(self._progressed)
            self._process.lost.connect(self._lost)
            self._sent, self._answers = (view.revision, 0), None
        for piece in tape[self._sent[1] :]:
            self._process.tell(piece)
        self._sent = (view.revision, len(tape))
        before = self._previous(view)
        keep = before is not None
        if before is not None and self._answers != (view.revision, view.mode):
            self._process.stood(*before)
        number = self._process.ask(view.mode, view.folded, view.unfolded, keep=keep)
        self._asked = number, key
        self._began = time.perf_counter()

    def _answered(self, number: int, placed: Placed) -> None:
        if self._asked is None or self._asked[0] != number:
            return
        key, self._asked = self._asked[1], None
        self._answers = key[0], key[2]
        self._seconds = (time.perf_counter() - self._began) / PATIENCE  # it costs no frames: half of the time is fine
        self._busy(None)
        self._show(key, placed.graph, placed.layout, placed)
        if self._key() != self._shown:
            self._timer.start(30)

    def _progressed(self, number: int, share: float) -> None:
        if self._asked is not None and self._asked[0] == number:
            self._busy(("layout", round(100 * share)))

    def _busy(self, busy: tuple[Literal["layout"], int] | None) -> None:
        shown = self.session.view.busy
        if shown is None or shown[0] == "layout":
            self.session.update(busy=busy)

    def _give_up(self) -> None:
        if self._asked is not None and self._process is not None:
            self._asked = None
            self._process.cancel()
            self._busy(None)

    def _lost(self) -> None:
        """It was killed: go on without it until another recording is shown."""
        self._process, self._alone = None, True
        self._asked = None
        self._busy(None)
        self._timer.start(0)

    def _previous(self, view: ViewState) -> tuple[Graph, Layout] | None:
        """The layout to go on from, so that what is there keeps its place."""
        if self._last and self._last[:2] == (view.revision, view.mode):
            return self._last[2:]
        return None

    def _show(self, key: Key, graph: Graph, layout: Layout, placed: Placed | None = None) -> None:
        self._shown = key
        self._last = (key[0], key[2], graph, layout)
        self._canvas.set_graph(graph, layout, self._provisional(graph), placed)
        self.settled.emit()

    def _provisional(self, graph: Graph) -> int | None:
        """First card of the graph that is still growing; None where nothing grows."""
        if not self.session.view.running or not graph.cards:
            return None
        newest = graph.cards[-1].generation
        return next(i for i, card in enumerate(graph.cards) if card.generation == newest)


def _same_but_for_growth(key: Key, other: Key) -> bool:
    """The same recording, mode and folds."""
    return (key[0], *key[2:]) == (other[0], *other[2:])

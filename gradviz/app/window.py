"""The window: puts the panels together, runs the clock, answers what comes from outside."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QElapsedTimer, QEventLoop, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QSplitter, QVBoxLayout, QWidget

from gradviz.app.banner import Banner
from gradviz.app.commands import Commands
from gradviz.app.inspector import Inspector
from gradviz.app.layouts import Layouts
from gradviz.app.left import LeftColumn
from gradviz.app.palette import Answer, KeysPage, Palette
from gradviz.app.port import WindowPort
from gradviz.app.recording import RecorderProcess
from gradviz.app.stage import Stage
from gradviz.app.status import StatusBar
from gradviz.app.store import Store
from gradviz.app.style import dress
from gradviz.app.timeline import Timeline
from gradviz.app.toolbar import Toolbar, shown_name
from gradviz.explain import Words
from gradviz.player.fixes import repair
from gradviz.player.forms import FORMS
from gradviz.player.program import edited, from_form
from gradviz.player.view import ViewState, advance, go
from gradviz.session import Session
from gradviz.settings import Settings
from gradviz.trace.events import Backward, Fault, Grad, NodeRan, Op

TICK_MS = 16
LONGEST_TICK = 0.1
"""Seconds that may pass at once: after a stall the motion goes on, it does not jump."""
SIDES = (300, 860, 330)
TIMELINE = 226


class Window(QMainWindow):
    """What DESIGN calls the window; `session`, `trigger` and `wait_ready` are for others to use."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        kept = self.store.settings
        self.session = Session(
            ViewState(theme=kept.theme, language=kept.language, reduced_motion=kept.reduced_motion, speed=kept.speed)
        )
        self._dress()
        self.port = WindowPort(self)
        self.recorder = RecorderProcess(self.session, self)
        self.commands = Commands(self.session, self.port, self)
        self.banner = Banner(self.session)
        self.toolbar = Toolbar(self.commands)
        self.toolbar.recent_files = kept.recent
        self.left = LeftColumn(self.commands)
        self.stage = Stage(self.commands)
        self.canvas = self.stage.canvas
        self.canvas.wheel_zooms = kept.wheel_zooms
        self.stage.welcome.dismissed = kept.greeted
        self.inspector = Inspector(self.session)
        self.timeline = Timeline(self.session)
        self.layouts = Layouts(self.session, self.canvas, self)
        self.palette_card = Palette(self.commands, self)
        self.keys_card = KeysPage(self.commands, self)
        self.answer = Answer(self)
        self._put_together()
        self._connect()
        self._clock = QTimer(self, interval=TICK_MS)
        self._clock.setTimerType(Qt.TimerType.PreciseTimer)
        self._clock.timeout.connect(self._tick)
        self._elapsed = QElapsedTimer()
        self.setAcceptDrops(True)
        self._restore_shape()
        self._stop_listening = self.session.listen(self._heard)
        self._retitle()
        self.canvas.setFocus()

    # ---- building

    def _put_together(self) -> None:
        self.sides = QSplitter(Qt.Orientation.Horizontal)
        right = QWidget()
        right.setObjectName("right")
        right.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.inspector)
        self.right = right
        for panel, share in ((self.left, 0), (self.stage, 1), (right, 0)):
            self.sides.addWidget(panel)
            self.sides.setStretchFactor(self.sides.count() - 1, share)
        self.sides.setCollapsible(1, False)
        self.halves = QSplitter(Qt.Orientation.Vertical)
        self.halves.addWidget(self.sides)
        self.halves.addWidget(self.timeline)
        self.halves.setStretchFactor(0, 1)
        self.halves.setStretchFactor(1, 0)
        self.halves.setCollapsible(0, False)
        for splitter in (self.sides, self.halves):
            splitter.setHandleWidth(1)
        center = QWidget()
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.banner)
        column.addWidget(self.halves, 1)
        self.setCentralWidget(center)
        self.setStatusBar(StatusBar(self.session))
        self.setMinimumSize(900, 560)
        if sys.platform == "darwin":
            self.commands.fill(self.menuBar())

    def _connect(self) -> None:
        self.commands.give_plain_keys(self.canvas, self.timeline)
        self.recorder.lost.connect(self._lost)
        self.left.build.built.connect(lambda form: self.port.rerun(from_form(form)))
        self.toolbar.example.connect(self._example)
        self.toolbar.recent.connect(lambda path: self.commands.trigger("file.open", path))
        self.toolbar.device.connect(self._device)
        self.stage.error.fix.connect(self._fix)
        self.stage.welcome.close_button.clicked.connect(lambda: self.keep(replace(self.store.settings, greeted=True)))
        self.answer.went.connect(lambda step: self.session.show(go(self.session.view, step)))

    def _restore_shape(self) -> None:
        screen = QApplication.primaryScreen().availableGeometry()
        self.resize(min(1600, int(screen.width() * 0.94)), min(1000, int(screen.height() * 0.94)))
        geometry = self.store.shape("geometry")
        if geometry is not None:
            self.restoreGeometry(geometry)
        sides, halves = self.store.shape("sides"), self.store.shape("halves")
        if sides is None or not self.sides.restoreState(sides):
            self.sides.setSizes([*SIDES])
        if halves is None or not self.halves.restoreState(halves):
            self.halves.setSizes([max(300, self.height() - TIMELINE - 84), TIMELINE])

    # ---- from outside

    def trigger(self, action: str, argument: Any = "") -> bool:
        """Do an action now; False where it is disabled, and then nothing has happened.

        Raises:
            KeyError: there is no such action.
        """
        return self.commands.trigger(action, argument)

    @property
    def is_ready(self) -> bool:
        """The program has ended and all that was recorded is on the canvas."""
        view = self.session.view
        recorded = bool(self.session.trace.events) and view.live not in ("starting", "running")
        due = self.left.build.is_due or self.left.program.code.highlighter.is_due
        return recorded and self.layouts.is_settled and not due

    def wait_ready(self, timeout_s: float = 30.0) -> bool:
        """Wait, with events running, until the program has ended and its whole recording is on the canvas. False
        where that takes longer, or where nothing was recorded."""
        loop, timer, limit = QEventLoop(), QTimer(interval=5), QTimer(singleShot=True, interval=int(timeout_s * 1000))
        timer.timeout.connect(lambda: loop.quit() if self.is_ready else None)
        limit.timeout.connect(loop.quit)
        timer.start()
        limit.start()
        if not self.is_ready:
            loop.exec()
        timer.stop()
        limit.stop()
        return self.is_ready

    def keep(self, settings: Settings) -> None:
        """Remember these settings."""
        self.store.write(settings)
        self.toolbar.recent_files = settings.recent

    def surface(self, what: str) -> None:
        """Bring something up, by its name in `Port.surface`."""
        actions: dict[str, Callable[[], None]] = {
            "find": self._find,
            "palette": self.palette_card.open,
            "keys": self.keys_card.open,
            "why": self._why,
            "fit": self._fit,
            "fold_all": lambda: self._fold(True),
            "unfold_all": lambda: self._fold(False),
        }
        actions[what]()

    def _find(self) -> None:
        self.stage.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _fit(self) -> None:
        if self.session.view.selection:
            self.canvas.fit_selection()
        else:
            self.canvas.fit()

    def _fold(self, fold: bool) -> None:
        graph = self.layouts.graph
        if graph is None:
            return
        folds = frozenset(card.key for card in graph.cards if card.kind == "fold")
        groups = frozenset(f"fold:{title}" for title, _, _ in graph.groups)
        view = self.session.view
        if fold:
            self.session.update(folded=view.folded | groups, unfolded=frozenset())
        else:
            self.session.update(folded=frozenset(), unfolded=view.unfolded | folds | groups)

    def _why(self) -> None:
        from gradviz.explain import why

        view, trace = self.session.view, self.session.trace
        target = view.selection or key_of(trace.event_at(view.step))
        answer = why(trace, view.step, target, language=view.language)
        words = Words(view.language)
        steps = tuple((step, words("ui.why.step", step=step)) for step in answer.steps_to_jump)
        self.answer.open(answer.question, tuple(answer.sentences), steps)

    # ---- the session

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.theme != new.theme or old.presenter != new.presenter:
            self._dress()
        if old.presenter != new.presenter:
            self._present(new.presenter)
        if (old.theme, old.language, old.reduced_motion, old.speed) != (
            new.theme,
            new.language,
            new.reduced_motion,
            new.speed,
        ):
            self.keep(
                replace(
                    self.store.settings,
                    theme=new.theme,
                    language=new.language,
                    reduced_motion=new.reduced_motion,
                    speed=new.speed,
                )
            )
        if old.program != new.program or old.language != new.language:
            self._retitle()
        if new.playing or new.alpha < 1.0:
            if not self._clock.isActive():
                self._elapsed.start()
                self._clock.start()
        elif self._clock.isActive():
            self._clock.stop()

    def _tick(self) -> None:
        seconds = min(LONGEST_TICK, self._elapsed.restart() / 1000)
        self.session.show(advance(self.session.view, seconds))

    def _dress(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication):
            dress(app, self.session.view.theme, presenter=self.session.view.presenter)

    def _present(self, on: bool) -> None:
        """For an audience: larger letters, and only what is looked at."""
        self.statusBar().setVisible(not on)
        self.toolbar.fit()
        self.left.present(on)

    def _retitle(self) -> None:
        view = self.session.view
        self.setWindowTitle(f"{shown_name(view, Words(view.language))}[*] — gradviz")
        self.setWindowModified(view.program.modified)

    # ---- what panels ask for

    def _example(self, position: int) -> None:
        self.port.load(from_form(replace(FORMS[position](), device=self.session.view.device)))

    def _device(self, spec: str) -> None:
        program = self.session.view.program
        self.session.update(device=spec)
        if program.form is not None:
            program = from_form(replace(program.form, device=spec))
        self.port.rerun(program)

    def _fix(self, fault: int, fix: Any) -> None:
        view = self.session.view
        if fix.kind == "why":
            self._why()
            return
        mended = repair(fix, self.session.trace, fault, view.program.text, view.actions)
        if mended is None:
            return
        self.port.rerun(edited(view.program, mended.text), mended.actions)

    def _lost(self, kind: str, detail: str) -> None:
        key = f"ui.banner.{kind}" if detail or kind == "stopped" else f"ui.banner.{kind}_unknown"
        self.port.tell(key, warn=kind != "stopped", again=True, detail=detail)

    # ---- Qt's

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = dropped(event)
        if path:
            event.acceptProposedAction()
            self.commands.trigger("file.open", path)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.store.keep_shape("geometry", self.saveGeometry())
        self.store.keep_shape("sides", self.sides.saveState())
        self.store.keep_shape("halves", self.halves.saveState())
        self._clock.stop()
        self.recorder.close()
        super().closeEvent(event)


def dropped(event: QDropEvent) -> str | None:
    """The program or recording that is being dropped; None where it is something else."""
    paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    return next((path for path in paths if path.lower().endswith((".py", ".gradviz"))), None)


def key_of(event: object) -> str:
    """What a step is about, as a key for questions."""
    if isinstance(event, NodeRan):
        return f"node:{event.node}"
    if isinstance(event, Op):
        return f"op:{event.id}"
    if isinstance(event, Fault):
        return f"fault:{event.id}"
    if isinstance(event, Grad):
        return f"grad:{event.tensor}"
    if isinstance(event, Backward) and event.tensors:
        return f"tensor:{event.tensors[0]}"
    return ""

"""All that stands in the window: the panels, the clock, and what happens when a panel asks for something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QSplitter, QVBoxLayout, QWidget

from gradviz.app.autosave import Autosave
from gradviz.app.banner import Banner
from gradviz.app.borders import Borders
from gradviz.app.breakpanel import BreakList, BreakPanel
from gradviz.app.collector import Collector
from gradviz.app.commands import Commands
from gradviz.app.compare import ComparePanel, RivalPanel
from gradviz.app.enginepanel import EnginePanel
from gradviz.app.inspector import Inspector
from gradviz.app.layouts import Layouts
from gradviz.app.left import LeftColumn
from gradviz.app.lessons import LessonList, LessonPanel
from gradviz.app.palette import KeysPage, Palette
from gradviz.app.port import WindowPort
from gradviz.app.presenter import Blank, Notes
from gradviz.app.reading import FileReader
from gradviz.app.recording import RecorderProcess
from gradviz.app.setup_page import SetupPage
from gradviz.app.stage import Stage
from gradviz.app.status import StatusBar
from gradviz.app.style import CODE, SIDES, TIMELINE, dress
from gradviz.app.timeline import Timeline
from gradviz.app.toolbar import Toolbar, shown_name
from gradviz.app.whycard import WhyCard
from gradviz.explain import Words
from gradviz.graph.folds import EVERY
from gradviz.player.breaks import is_hit, toggled
from gradviz.player.fixes import repair
from gradviz.player.forms import FORMS
from gradviz.player.program import edited, from_form
from gradviz.player.quiz import level_of
from gradviz.player.show import Show, panels_of
from gradviz.player.view import ViewState, advance, go
from gradviz.session import Session
from gradviz.settings import noted

if TYPE_CHECKING:
    from gradviz.app.window import Window
    from gradviz.settings import Settings

KEPT = ("theme", "language", "reduced_motion", "speed", "level")
"""Fields of the view that are remembered from one start to the next."""
TICK_MS = 16
ROOMY = 900
"""Height from which a comparison leaves room for the inspector."""
COMPARED = ("comparing", "compared", "scanned", "step", "moment", "events", "live")
LONGEST_TICK = 0.1
"""Seconds that may pass at once: after a stall the motion goes on, it does not jump."""


class Desk(QObject):
    """Builds the panels into a window and keeps the clock. Panels know the session alone, never one another."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window = window
        self.store = window.store
        kept = self.store.settings
        self.session = Session(
            ViewState(
                theme=kept.theme,
                language=kept.language,
                reduced_motion=kept.reduced_motion,
                speed=kept.speed,
                level=level_of(kept.level),
                show=Show(panels=panels_of(kept.panels)),
            )
        )
        self.port = WindowPort(self)
        self.recorder = RecorderProcess(self.session, self)
        self.reader = FileReader(self.session, self)
        self.commands = Commands(self.session, self.port, window)
        self.banner = Banner(self.session)
        self.toolbar = Toolbar(self.commands)
        self.toolbar.recent_files = kept.recent
        self.left = LeftColumn(self.commands)
        self.stage = Stage(self.commands)
        self.canvas = self.stage.canvas
        self.canvas.wheel_zooms = kept.wheel_zooms
        self.stage.welcome.dismissed = kept.greeted
        self.lesson = LessonPanel(self.commands)
        self.inspector = Inspector(self.session)
        self.engine = EnginePanel(self.session)
        self.broken = BreakPanel(self.commands)
        self.compare, self.rival = ComparePanel(self.commands), RivalPanel(self.session)
        self.timeline = Timeline(self.session)
        self.layouts = Layouts(self.session, self.canvas, self)
        self.palette = Palette(self.commands, window)
        self.keys = KeysPage(self.commands, window)
        self.answer = WhyCard(self.session, window)
        self.setup = SetupPage(self.port, window)
        self.autosave = Autosave(self.session, self)
        self.lessons = LessonList(self.commands, self.store, window)
        self.breaks = BreakList(self.commands, window)
        self.blank = Blank(self.session, window)
        self.notes = Notes(self.commands)
        self._visited = False
        """A checkpoint was gone to and the canvas has not followed yet."""
        self._put_together()
        self._connect()
        self._clock = QTimer(self, interval=TICK_MS)
        self._clock.setTimerType(Qt.TimerType.PreciseTimer)
        self._clock.timeout.connect(self._tick)
        self._elapsed = QElapsedTimer()
        self._restore_shape()
        self.borders = Borders(self.sides, self.halves)
        self.destroyed.connect(self.session.listen(self._heard))
        self.collector = Collector(self.session, self)
        self._retitle()
        self.canvas.setFocus()

    # ---- building

    def _put_together(self) -> None:
        self.sides = QSplitter(Qt.Orientation.Horizontal)
        right = self.right = QWidget()
        right.setObjectName("right")
        right.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.lesson)
        column.addWidget(self.broken)
        column.addWidget(self.compare, 3)
        column.addWidget(self.inspector, 2)
        column.addWidget(self.engine, 1)
        self.runs = QSplitter(Qt.Orientation.Vertical)
        self.runs.addWidget(self.stage)
        self.runs.addWidget(self.rival)
        self.runs.setChildrenCollapsible(False)
        for panel, share in ((self.left, 0), (self.runs, 1), (right, 0)):
            self.sides.addWidget(panel)
            self.sides.setStretchFactor(self.sides.count() - 1, share)
        self.sides.setCollapsible(1, False)
        self.halves = QSplitter(Qt.Orientation.Vertical)
        self.halves.addWidget(self.sides)
        self.halves.addWidget(self.timeline)
        self.halves.setStretchFactor(0, 1)
        self.halves.setStretchFactor(1, 0)
        self.halves.setCollapsible(0, False)
        for splitter in (self.sides, self.halves, self.runs):
            splitter.setHandleWidth(1)
        center = QWidget()
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.banner)
        column.addWidget(self.halves, 1)
        self.window.setCentralWidget(center)
        self.window.setStatusBar(StatusBar(self.session))
        if sys.platform == "darwin":
            self.commands.fill(self.window.menuBar())

    def _connect(self) -> None:
        self.commands.give_plain_keys(self.canvas, self.timeline)
        self.layouts.settled.connect(self._look)
        self.recorder.lost.connect(self._lost)
        self.recorder.limited.connect(lambda: self.port.tell("ui.banner.limit", warn=True))
        self.recorder.starved.connect(self._starved)
        self.reader.ended.connect(self.port.tell_damage)
        self.left.build.built.connect(lambda form: self.port.rerun(from_form(form)))
        self.toolbar.example.connect(self._example)
        self.toolbar.recent.connect(lambda path: self.commands.trigger("file.open", path))
        self.toolbar.device.connect(self._device)
        self.stage.error.fix.connect(self._fix)
        self.compare.knobs.turned.connect(lambda text: self.port.rerun(edited(self.session.view.program, text)))
        self.stage.welcome.close_button.clicked.connect(lambda: self.keep(replace(self.store.settings, greeted=True)))
        self.breaks.chosen.connect(lambda kind: self.commands.trigger("break.it", kind))
        self.inspector.wanted.connect(self.commands.trigger)
        self.inspector.asked.connect(self.answer.ask)
        self.answer.went.connect(lambda step: self.session.show(go(self.session.view, step)))

    def _restore_shape(self) -> None:
        for widget in (self.window, self.window.centralWidget()):
            if widget is not None and (layout := widget.layout()) is not None:
                layout.activate()  # splitters take sizes for the width that they have
        sides, halves = self.store.shape("sides"), self.store.shape("halves")
        if sides is None or not self.sides.restoreState(sides):
            self.sides.setSizes([max(SIDES[0], min(self.window.width() * 21 // 100, CODE)), *SIDES[1:]])
        if halves is None or not self.halves.restoreState(halves):
            self.halves.setSizes([max(300, self.window.height() - TIMELINE - 84), TIMELINE])

    def clear(self) -> None:
        """The window is closing: keep the shape, end the recorder."""
        self.borders.restore()
        self.store.keep_shape("sides", self.sides.saveState())
        self.store.keep_shape("halves", self.halves.saveState())
        self._clock.stop()
        self.setup.prober.close()
        self.autosave.close()
        self.layouts.close()
        self.reader.stop()
        self.recorder.close()
        self.collector.close()

    @property
    def is_ready(self) -> bool:
        """The program has ended and all that was recorded is on the canvas."""
        view = self.session.view
        recorded = bool(self.session.trace.events) and not view.running and view.busy is None
        due = self.left.build.is_due or self.left.program.code.highlighter.is_due
        due = due or self.compare.knobs.is_due or self.rival.is_due
        return recorded and self.layouts.is_settled and not due

    def keep(self, settings: Settings) -> None:
        """Remember these settings."""
        self.store.write(settings)
        self.toolbar.recent_files = settings.recent

    def surface(self, what: str) -> None:
        """Bring something up, by its name in `Port.surface`."""
        actions: dict[str, Callable[[], None]] = {
            "find": self._find,
            "console": lambda: self.left.console.line.setFocus(Qt.FocusReason.ShortcutFocusReason),
            "setup": self.setup.open,
            "breakpoint": self._breakpoint,
            "palette": self.palette.open,
            "keys": self.keys.open,
            "why": self._why,
            "break": self.breaks.open,
            "fit": self._fit,
            "difference": lambda: self.inspector.measure("difference"),
            "jacobian": lambda: self.inspector.measure("jacobian"),
            "fold_all": lambda: self._fold(True),
            "unfold_all": lambda: self._fold(False),
            "lessons": self.lessons.open,
        }
        actions[what]()

    def _breakpoint(self) -> None:
        """At the line of the cursor while somebody is in the text, else at what is selected, else at this step's."""
        code, view = self.left.program.code, self.session.view
        kind = (view.selection or "").partition(":")[0]
        span = self.session.trace.span(view.step)
        if code.hasFocus():
            self.left.program.toggle_line(code.textCursor().blockNumber() + 1)
        elif view.selection and kind in ("node", "op"):
            self.session.update(breaks=toggled(view.breaks, view.selection))
        elif span is not None and self.session.trace.cell_of(span[0]) == 0:
            self.session.update(breaks=toggled(view.breaks, f"line:{span[1]}"))

    def _find(self) -> None:
        if self.left.program.code.hasFocus():
            self.left.program.find_bar.open()
            return
        self.stage.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _fit(self) -> None:
        if self.session.view.selection:
            self.canvas.fit_selection()
        else:
            self.canvas.fit()

    def _fold(self, fold: bool) -> None:
        every = frozenset((EVERY,))
        self.session.update(folded=every if fold else frozenset(), unfolded=frozenset() if fold else every)

    def _why(self) -> None:
        self.answer.ask(beyond_card=self.stage.error.isVisible())

    # ---- the session

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if (old.theme, old.presenter, old.show.scale) != (new.theme, new.presenter, new.show.scale):
            self._dress()
        self.borders.follow(old, new)
        self._present(old, new)
        self.inspector.setVisible(new.engine is None)
        changed = {name: getattr(new, name) for name in KEPT if getattr(old, name) != getattr(new, name)}
        if old.show.panels != new.show.panels:
            changed["panels"] = tuple(sorted(new.show.panels))
        if changed:
            self.keep(replace(self.store.settings, **changed))
        if any(getattr(old, name) != getattr(new, name) for name in COMPARED):
            aligned = self.session.aligned
            self.inspector.setVisible(not new.comparing or self.window.height() >= ROOMY)
            self.canvas.set_differs(aligned.marks(self.session.moment)[0] if aligned else ())
        if new.lesson is not None and (old.lesson, old.checkpoint) != (new.lesson, new.checkpoint):
            self.keep(noted(self.store.settings, new.lesson.id, new.checkpoint + 1))
            self._visited = True
        if (old.program, old.language, old.lesson) != (new.program, new.language, new.lesson):
            self._retitle()
        if self._visited and self.layouts.is_settled:
            self._look()
        if new.playing or new.alpha < 1.0:
            if not self._clock.isActive():
                self._elapsed.start()
                self._clock.start()
        elif self._clock.isActive():
            self._clock.stop()

    def _tick(self) -> None:
        seconds = min(LONGEST_TICK, self._elapsed.restart() / 1000)
        view = advance(self.session.view, seconds)
        if view.step != self.session.view.step and is_hit(self.session.trace, view.step, view.breaks):
            view = replace(view, playing=False)
        if view.step == self.session.view.step or not self.session.ask(view.step):
            self.session.show(view)

    def _look(self) -> None:
        """A checkpoint of a lesson is visited: have what it tells of in view."""
        view = self.session.view
        if not self._visited or view.lesson is None:
            return
        self._visited = False
        if view.lesson.checkpoints[view.checkpoint].view is not None:
            self.canvas.fit()
        elif view.selection is not None:
            self.canvas.reveal(view.selection)

    def _dress(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication):
            view = self.session.view
            dress(app, view.theme, larger=view.show.scale if view.presenter else 0.0)

    def _present(self, old: ViewState, new: ViewState) -> None:
        """For an audience: larger letters, and only the panels that were chosen; of the right one what is at work."""
        on = new.presenter
        if (old.presenter, old.show) != (on, new.show):
            self.window.statusBar().setVisible(not on)
            self.left.present(on)
            for name, panel in (("toolbar", self.toolbar), ("left", self.left), ("timeline", self.timeline)):
                panel.setVisible(not on or name in new.show.panels)
            self.toolbar.fit()
        works = new.lesson is not None or new.engine is not None or new.experiment is not None
        self.right.setVisible(not on or works or "right" in new.show.panels)
        if (old.presenter and old.show.full) != (on and new.show.full):
            (self.window.showFullScreen if on and new.show.full else self.window.showNormal)()

    def _retitle(self) -> None:
        view = self.session.view
        self.window.setWindowTitle(f"{shown_name(view, Words(view.language))}[*] — gradviz")
        self.window.setWindowModified(view.program.modified)

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
            self.answer.ask(f"fault:{fault}", beyond_card=True)
            return
        mended = repair(fix.kind, self.session.trace, fault, view.program.text, view.actions)
        if mended is None:
            return
        self.port.rerun(edited(view.program, mended.text), mended.actions)
        self.canvas.setFocus()  # the button that had it is gone: Space is to play on

    def _starved(self) -> None:
        self.port.offer(lambda words: words("ui.setup.starved"), "ui.setup.give", lambda: self.setup.open("reads"))

    def _lost(self, kind: str, detail: str) -> None:
        if kind == "start":
            self.setup.explain(detail)
            return
        key = f"ui.banner.{kind}" if detail or kind == "stopped" else f"ui.banner.{kind}_unknown"
        self.port.tell(key, warn=kind != "stopped", again=True, detail=detail)

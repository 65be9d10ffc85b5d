"""What actions need from the window: runs, files, dialogs. `ask` can be replaced, so that no test meets a dialog."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSaveFile
from PySide6.QtWidgets import QFileDialog

from gradviz.app.banner import Say
from gradviz.app.launch import Launched, Opening, read_program
from gradviz.app.reading import LARGE
from gradviz.app.setups import remembered
from gradviz.app.shelf import shelf
from gradviz.explain import Words
from gradviz.player.lessons import SUFFIX as LESSON
from gradviz.player.lessons import Lesson
from gradviz.player.lessons import load as read_lesson
from gradviz.player.program import Program
from gradviz.settings import opened
from gradviz.trace import SUFFIX, TraceError, encode, open_trace
from gradviz.trace.events import Event

if TYPE_CHECKING:
    from gradviz.app.desk import Desk

Ask = Callable[[str, str, bool], str | None]
FILTERS = {
    "open": "*.py *.gradviz *.md",
    "program": "*.py",
    "recording": "*.gradviz",
    "python": "*",
    "handout": "*.pdf",
    "export": "*.svg *.png *.pdf *.html *.gif *.mp4 *.dot *.json *.graphml",
}


class WindowPort:
    """The `Port` of a window."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.session = desk.session
        self.ask: Ask = self._dialog
        """Asks for a path: (kind, suggestion, saving)."""

    @property
    def words(self) -> Words:
        """The word list of the language that is spoken now."""
        return Words(self.session.view.language)

    # ---- running

    def begin(self, opening: Opening) -> None:
        """Show what a window is opened on."""
        if opening.path is not None and opening.problem is not None:
            self.cannot_open(opening.path, opening.problem)
        elif opening.program is not None:
            self.load(opening.program, opening.launched)
        elif opening.path is not None:
            self.open(opening.path)

    def load(self, program: Program, launched: Launched | None = None) -> None:
        """Show another program and record it, paused at step 0."""
        if program.path is None and launched is None:
            program = replace(program, setup=remembered(None))
        device = program.form.device if program.form else "cpu"
        self.session.update(program=program, editing=False, device=device, lesson=None, checkpoint=0)
        self._desk.banner.hide()
        self._desk.recorder.start(program, launched=launched)

    def run_program(self, actions: tuple[str, ...] = ()) -> None:
        """Record the program anew; the playhead stays where it is."""
        self._desk.banner.hide()
        view = self.session.view
        self.session.update(playing=False)
        self._desk.recorder.start(view.program, actions, step=view.step)

    def rerun(self, program: Program, actions: tuple[str, ...] = ()) -> None:
        """Take a changed program and record it with the setup of now; the playhead stays where it is."""
        self.session.update(program=replace(program, setup=self.session.view.program.setup))
        self.run_program(actions)

    def stop(self) -> None:
        """End the program within a second."""
        self._desk.recorder.stop()

    def send(self, line: str, *, typed: bool = False) -> None:
        """Run a line in the live process."""
        self._desk.recorder.send(line, typed=typed)

    # ---- files

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        """Ask for a file."""
        return self.ask(kind, suggestion, saving)

    def _dialog(self, kind: str, suggestion: str, saving: bool) -> str | None:
        title = self.words(f"ui.file.{'save' if saving else 'open'}_{kind}")
        if kind == "folder":
            return QFileDialog.getExistingDirectory(self._desk.window, title, suggestion) or None
        chosen = f"{self.words(f'ui.file.{kind}')} ({FILTERS[kind]})"
        dialog = QFileDialog.getSaveFileName if saving else QFileDialog.getOpenFileName
        return dialog(self._desk.window, title, suggestion, chosen)[0] or None

    def open(self, path: str) -> None:
        """Show a recording, or load and record a program. Opening a recording runs nothing."""
        try:
            if path.lower().endswith((".py", ".pyw")):
                self.load(read_program(path))
            elif path.lower().endswith(LESSON):
                self.load_lesson(read_lesson(path))
            else:
                self._show_recording(path)
        except (OSError, ValueError, TraceError) as error:
            self.cannot_open(path, str(error))
            return
        self._desk.keep(opened(self._desk.store.settings, str(Path(path).resolve())))

    def open_other(self, path: str) -> None:
        """Compare with a recording from a file."""
        try:
            self.session.compare_with(open_trace(path), Path(path).name)
        except TraceError as error:
            self.cannot_open(path, str(error))

    def _show_recording(self, path: str) -> None:
        large = Path(path).exists() and Path(path).stat().st_size > LARGE
        trace = self._desk.reader.open(path) if large else open_trace(path)
        self._desk.recorder.close()
        self._desk.banner.hide()
        name = Path(path).name
        header = trace.header
        self.session.update(live="none", actions=(), editing=False, device=header.device, lesson=None, checkpoint=0)
        self.session.update(program=Program(header.source, name, saved=header.source))
        if large:
            self._desk.reader.start(trace)
            return
        self.session.begin(trace, tape=[Path(path).read_bytes()])
        self.tell_damage(trace.damage or "")

    def tell_damage(self, damage: str) -> None:
        """Say that a recording is not whole."""
        if damage:
            self._desk.banner.tell(lambda words: damage, warn=True)

    # ---- lessons

    def open_lesson(self, ident: str) -> None:
        """Open one of the lessons that come with gradviz."""
        found = next((lesson for lesson in shelf() if lesson.id == ident), None)
        if found is not None:
            self.load_lesson(found)

    def follow_lesson(self) -> None:
        """Open the lesson after the one that is open; the list where there is none."""
        now, known = self.session.view.lesson, shelf()
        after = next((k + 1 for k, lesson in enumerate(known) if now and lesson.id == now.id), len(known))
        if after < len(known):
            self.load_lesson(known[after])
        else:
            self.surface("lessons")

    def load_lesson(self, lesson: Lesson) -> None:
        """Show a lesson at its first checkpoint and record its program and actions."""
        program = Program(lesson.program, lesson.program_name, saved=lesson.program, setup=remembered(None))
        self.session.update(program=program, editing=False, device="cpu", left="program", mode=lesson.view)
        self._desk.banner.hide()
        self._desk.recorder.start(program, lesson.actions)
        self.session.update(lesson=lesson, checkpoint=0)

    def cannot_open(self, path: str, why: str) -> None:
        """Say that a file cannot be shown."""
        self.tell("ui.banner.cannot_open", warn=True, name=Path(path).name, why=why)

    def write_text(self, path: str, text: str) -> bool:
        """Write a text file, whole or not at all."""
        return self._write(path, text.encode("utf-8"))

    def _write(self, path: str, content: bytes) -> bool:
        file = QSaveFile(path)
        done = file.open(QSaveFile.OpenModeFlag.WriteOnly) and file.write(content) == len(content) and file.commit()
        if not done:
            self.tell("ui.banner.cannot_write", warn=True, name=Path(path).name, why=file.errorString())
            return False
        self.tell("ui.banner.written", name=Path(path).name)
        return True

    def write_recording(self, path: str) -> None:
        """Write the recording as it stands."""
        target = path if path.endswith(SUFFIX) else path + SUFFIX
        known = [event for event in self.session.trace.events if isinstance(event, Event)]
        self._write(target, encode(known))

    def export(self, path: str) -> None:
        """Write the step in the format that the file's name asks for."""
        kind = Path(path).suffix.lower().removeprefix(".")
        writer = _WRITERS.get(kind)
        if writer is None:
            self.tell("ui.banner.no_format", warn=True, name=Path(path).name, formats=", ".join(_WRITERS))
            return
        try:
            text = writer(self, path)
        except (OSError, ImportError, ValueError, RuntimeError, TraceError) as error:
            self.tell("ui.banner.cannot_write", warn=True, name=Path(path).name, why=str(error))
            return
        if text is None:
            self.tell("ui.banner.written", name=Path(path).name)
        else:
            self._write(path, text.encode("utf-8"))

    def handout(self, path: str) -> None:
        """Write the recording as a handout: steps, questions, answers at the end."""
        from gradviz.app.handout import to_handout
        from gradviz.app.raster import ExportError

        view, target = self.session.view, path if path.lower().endswith(".pdf") else f"{path}.pdf"
        options: dict[str, Any] = {
            "mode": view.mode,
            "language": view.language,
            "title": self._desk.window.windowTitle(),
        }
        try:
            to_handout(self.session.trace, target, "light" if view.theme == "dark" else view.theme, **options)
        except (OSError, ExportError) as error:
            self.tell("ui.banner.cannot_write", warn=True, name=Path(target).name, why=str(error))
            return
        self.tell("ui.banner.written", name=Path(target).name)

    # ---- the rest

    def height(self) -> int:
        """Pixels that the window is high."""
        return self._desk.window.height()

    def surface(self, what: str) -> None:
        """Bring something up."""
        self._desk.surface(what)

    def offer(
        self,
        say: Say,
        button: str,
        act: Callable[[], object],
        closed: Callable[[], object] | None = None,
    ) -> None:
        """Say what is wrong, with a button that helps; `closed` is what happens where somebody does not want that."""
        self._desk.banner.tell(say, warn=True, again=act, button=button, closed=closed)

    def tell(self, key: str, *, warn: bool = False, again: bool = False, **fields: object) -> None:
        """Say a sentence across the window, with a button to run again where that is what helps."""
        self._desk.banner.tell(lambda words: words(key, **fields), warn=warn, again=self.run_program if again else None)


def _svg(port: WindowPort, path: str) -> str | None:
    from gradviz.export.svg import to_svg

    view = port.session.view
    return to_svg(port.session.trace, view.step, theme=view.theme, mode=view.mode, language=view.language)


def _html(port: WindowPort, path: str) -> str | None:
    from gradviz.export.html import to_html

    view = port.session.view
    return to_html(port.session.trace, language=view.language, lesson=view.lesson)


def _raster(name: str) -> Callable[[WindowPort, str], str | None]:
    def write(port: WindowPort, path: str) -> str | None:
        from gradviz.app import raster

        view, trace = port.session.view, port.session.trace
        options: dict[str, Any] = {"theme": view.theme, "mode": view.mode, "language": view.language}
        function = getattr(raster, f"to_{name}")
        try:
            if name in ("png", "pdf"):
                function(trace, view.step, path, **options)
            else:
                function(trace, path, **options)
        except raster.ExportError as error:
            raise ValueError(str(error)) from error
        return None

    return write


def _text(module: str, function: str) -> Callable[[WindowPort, str], str | None]:
    def write(port: WindowPort, path: str) -> str | None:
        made = getattr(importlib.import_module(f"gradviz.export.{module}"), function)
        return str(made(port.session.trace, port.session.view.step))

    return write


_WRITERS: dict[str, Callable[[WindowPort, str], str | None]] = {
    "svg": _svg,
    "html": _html,
    "png": _raster("png"),
    "pdf": _raster("pdf"),
    "gif": _raster("gif"),
    "mp4": _raster("mp4"),
    "dot": _text("dot", "to_dot"),
    "json": _text("json_", "to_json"),
    "graphml": _text("graphml", "to_graphml"),
}

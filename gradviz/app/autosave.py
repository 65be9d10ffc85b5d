"""Unsaved text survives a crash: it is written beside the settings while somebody types, and offered at the next start.

Each window has a file of its own, and a lock on it for as long as the window lives: what is not locked was left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLockFile, QObject, QTimer

from gradviz.app.places import folder
from gradviz.app.setups import remembered
from gradviz.explain import Words
from gradviz.player.program import Program
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.banner import Say
    from gradviz.session import Session

WAIT_MS = 400
"""So long after a key at most, what was typed is on the disk."""
KEPT = 20
_NUMBERS = count()

Offer = Callable[["Say", str, Callable[[], object], Callable[[], object]], None]
"""Says a sentence with a button: sentence, key of the button's words, what the button does, what closing does."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that was not saved."""

    file: Path
    text: str
    name: str
    path: str | None
    when: float


class Autosave(QObject):
    """Keeps the draft of a session on the disk for as long as its program is a person's own and unsaved."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._file = drafts_folder() / f"{os.getpid()}-{next(_NUMBERS)}.json"
        self._lock: QLockFile | None = None
        self._timer = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._timer.timeout.connect(self.write)
        self.destroyed.connect(session.listen(self._heard))

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.program != new.program and not self._timer.isActive():
            self._timer.start()

    def write(self) -> None:
        """Bring the disk up to date. Where it cannot be written, nothing happens: the text is still in the window."""
        self._timer.stop()
        program = self.session.view.program
        with contextlib.suppress(OSError):
            if not program.modified:
                self._file.unlink(missing_ok=True)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if self._lock is None:
                self._lock = _lock(self._file)
                self._lock.tryLock(0)
            told = {"text": program.text, "name": program.name, "path": program.path, "when": time.time()}
            partial = self._file.with_suffix(".part")
            partial.write_text(json.dumps(told), "utf-8")
            partial.replace(self._file)

    def close(self) -> None:
        """The window closes: an unsaved text stays on the disk, to be offered at the next start."""
        self.write()
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def offer(self, offer: Offer) -> None:
        """Offer the newest text that was left behind, if there is one."""
        found = abandoned()
        if not found:
            return
        draft = found[0]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(draft.when))

        def say(words: Words) -> str:
            return words("ui.recovery.offer", name=draft.name or "program.py", when=when)

        offer(say, "ui.recovery.restore", lambda: self._restore(draft), lambda: _put_aside(draft))

    def _restore(self, draft: Draft) -> None:
        """Show the text to be edited. It is not run: it may be what crashed."""
        saved = None
        if draft.path is not None:
            with contextlib.suppress(OSError, ValueError):
                saved = Path(draft.path).read_text("utf-8")
        program = Program(draft.text, draft.name, draft.path, saved=saved, setup=remembered(draft.path))
        self.session.update(program=program, editing=True, left="program")
        self.write()
        with contextlib.suppress(OSError):
            draft.file.unlink(missing_ok=True)


def drafts_folder() -> Path:
    """Where unsaved texts are."""
    return folder() / "drafts"


def abandoned() -> list[Draft]:
    """Texts whose window is gone, the newest first."""
    try:
        files = sorted(drafts_folder().glob("*.json"))
    except OSError:
        return []
    found = []
    for file in files:
        lock = _lock(file)
        if lock.tryLock(0):
            draft = _read(file)
            lock.unlock()
            if draft is not None:
                found.append(draft)
    return sorted(found, key=lambda draft: -draft.when)


def _lock(file: Path) -> QLockFile:
    lock = QLockFile(str(file.with_suffix(".lock")))
    lock.setStaleLockTime(0)  # no lock is too old while its process lives; one whose process is dead is no lock
    return lock


def _read(file: Path) -> Draft | None:
    try:
        told = json.loads(file.read_text("utf-8"))
        text, name, path = told["text"], told["name"], told["path"]
        if not isinstance(text, str) or not isinstance(name, str) or not isinstance(path, str | None):
            return None
        return Draft(file, text, name, path, float(told["when"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _put_aside(draft: Draft) -> None:
    """It is not offered again, and stays on the disk until others have taken its place."""
    with contextlib.suppress(OSError):
        draft.file.replace(draft.file.with_suffix(".old"))
        for old in sorted(drafts_folder().glob("*.old"), key=lambda file: file.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)

"""Starting: the recorder first, since it takes longest, then Qt, then the window."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gradviz.app.launch import Launched, launch, read_program
from gradviz.player.forms import OneLayer
from gradviz.player.program import Program, from_form

if TYPE_CHECKING:
    from gradviz.app.window import Window


def open_window(path: str | None = None) -> Window:
    """Show a window; see `gradviz.app.open_window`."""
    program, launched, problem = _prepare(path)
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication(sys.argv[:1])
    app.setApplicationName("gradviz")
    QApplication.setApplicationDisplayName("gradviz")
    QApplication.setDesktopFileName("gradviz")
    from gradviz.app.window import Window

    window = Window()
    window.show()
    if problem is not None and path is not None:
        window.port.cannot_open(path, problem)
    elif program is not None:
        window.port.load(program, launched)
    elif path is not None:
        window.port.open(path)
    return window


def _prepare(path: str | None) -> tuple[Program | None, Launched | None, str | None]:
    """What to show, its recorder on the way, and what went wrong."""
    if path is not None and not path.lower().endswith((".py", ".pyw")):
        return None, None, None
    try:
        program = from_form(OneLayer()) if path is None else read_program(path)
    except (OSError, ValueError) as error:
        return None, None, str(error)
    try:
        return program, launch(program), None
    except OSError:
        return program, None, None  # the window tries again, and says why it fails


def main(path: str | None = None) -> int:
    """Run the window until it is closed. Returns the exit status."""
    window = open_window(path)
    from PySide6.QtWidgets import QApplication

    status = QApplication.exec()
    del window
    return status

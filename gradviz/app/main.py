"""Starting: the recorder first, since it takes longest, then Qt, then the window."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from gradviz import assets
from gradviz.app.launch import Opening, launch, read_program
from gradviz.app.setups import remembered
from gradviz.player.forms import OneLayer
from gradviz.player.program import from_form

if TYPE_CHECKING:
    from gradviz.app.window import Window


def open_window(path: str | None = None) -> Window:
    """Show a window; see `gradviz.app.open_window`."""
    opening = prepare(path)
    from PySide6.QtGui import QIcon
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication(sys.argv[:1])
    app.setApplicationName("gradviz")
    QApplication.setApplicationDisplayName("gradviz")
    QApplication.setDesktopFileName("gradviz")
    from gradviz.app.window import Window

    window = Window(opening)
    window.show()
    window.wait_painted()
    QApplication.setWindowIcon(QIcon(str(assets.path("icons", "logo.svg"))))
    return window


def prepare(path: str | None) -> Opening:
    """What to show, its recorder on the way where there is one."""
    if path is not None and not path.lower().endswith((".py", ".pyw")):
        return Opening(path)
    try:
        program = replace(from_form(OneLayer()), setup=remembered(None)) if path is None else read_program(path)
    except (OSError, ValueError) as error:
        return Opening(path, problem=str(error))
    try:
        return Opening(path, program, launch(program))
    except (OSError, ValueError):
        return Opening(path, program)  # the window tries again, and says why it fails


def main(path: str | None = None) -> int:
    """Run the window until it is closed. Returns the exit status."""
    window = open_window(path)
    from PySide6.QtWidgets import QApplication

    status = QApplication.exec()
    del window
    return status

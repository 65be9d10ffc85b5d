"""The window. Importing this imports no Qt; `open_window` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.app.window import Window

__all__ = ["open_window"]


def open_window(path: str | None = None) -> Window:
    """Show a window on a program or a recording, by default on the one-layer example; makes the QApplication if there
    is none. The recorder is started before Qt is imported."""
    from gradviz.app.main import open_window as show

    return show(path)

"""Windows for tests: on a finished recording (no process), or live on a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from gradviz.app import open_window
from gradviz.app.window import Window

Opened = Callable[..., Window]


@pytest.fixture
def open_on(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens windows on a path (None: the first start), 1280 x 800, without motion; closes them afterwards."""
    monkeypatch.setenv("GRADVIZ_CONFIG_DIR", str(tmp_path / "config"))
    windows: list[Window] = []

    def open_it(path: str | Path | None = None) -> Window:
        window = open_window(None if path is None else str(path))
        window.resize(1280, 800)
        window.session.update(reduced_motion=True)
        windows.append(window)
        return window

    yield open_it
    for window in windows:
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)  # else the next window's style is its too


@pytest.fixture
def shown(open_on: Opened, recorded: Callable[[str], Path]) -> Window:
    """The one-layer recording from a file, on the canvas, at step 0."""
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    return window


@pytest.fixture
def live(open_on: Opened) -> Window:
    """The first start: the one-layer example, recorded live."""
    window = open_on()
    assert window.wait_ready(60)
    return window

"""Unsaved text survives: a kill, a closed window, a damaged folder. It is offered once, and never run by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gradviz.app.autosave import abandoned, drafts_folder
from gradviz.app.window import Window
from gradviz.player.program import edited

Opened = Callable[..., Window]
ROOT = Path(__file__).resolve().parents[2]


def test_what_was_typed_survives_a_kill(
    open_on: Opened, tmp_path: Path, qtbot: QtBot, recorded: Callable[[str], Path]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("import torch\nx = torch.ones(2)\n")
    code = (
        "import sys; from gradviz.app import open_window; from PySide6.QtTest import QTest\n"
        "from PySide6.QtWidgets import QApplication\n"
        f"w = open_window({str(mine)!r}); assert w.wait_ready(60)\n"
        "w.trigger('edit.program'); QTest.keyClicks(w.desk.left.program.code, '# not saved ')\n"
        "from gradviz.app.autosave import drafts_folder\n"
        "while not list(drafts_folder().glob('*.json')): QApplication.processEvents()\n"
        "print(w.desk.recorder.pid, flush=True)\n"
        "while True: QApplication.processEvents()\n"
    )
    config = str(tmp_path / "config")
    environment = {**os.environ, "GRADVIZ_CONFIG_DIR": config}
    shell = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    assert shell.stdout is not None and shell.stdout.readline()
    assert abandoned() == [], "its window lives"
    shell.kill()
    shell.wait()
    shell.stdout.close()
    window = open_on(recorded("one_layer"))
    banner = window.desk.banner
    assert window.wait_ready(20) and banner.isVisible() and "mine.py" in banner.label.text()
    qtbot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    view = window.session.view
    assert view.program.text == "# not saved import torch\nx = torch.ones(2)\n" and view.program.path == str(mine)
    assert view.editing and view.program.modified and window.isWindowModified() and view.live == "none"
    assert window.trigger("file.save") and mine.read_text().startswith("# not saved")
    qtbot.waitUntil(lambda: not list(drafts_folder().glob("*.json")), timeout=5_000)


def test_a_closed_window_leaves_its_text_and_a_saved_one_does_not(
    open_on: Opened, recorded: Callable[[str], Path], qtbot: QtBot
) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20) and not window.desk.banner.isVisible()
    window.session.update(program=edited(window.session.view.program, "x = 1\n"))
    window.close()
    again = open_on(recorded("one_layer"))
    assert again.wait_ready(20) and again.desk.banner.isVisible()
    qtbot.mouseClick(again.desk.banner.close_button, Qt.MouseButton.LeftButton)
    again.close()
    third = open_on(recorded("one_layer"))
    assert third.wait_ready(20) and not third.desk.banner.isVisible(), "it was not wanted"
    assert len(list(drafts_folder().glob("*.old"))) == 1, "and can still be found"


def test_damaged_drafts_are_harmless(open_on: Opened, recorded: Callable[[str], Path]) -> None:
    window = open_on(recorded("one_layer"))
    drafts_folder().mkdir(parents=True)
    for k, text in enumerate(("", "[]", "{", '{"text": 3, "name": "", "path": null, "when": 0}', '{"text": "x"}')):
        (drafts_folder() / f"{k}.json").write_text(text)
    assert abandoned() == []
    assert window.wait_ready(20)

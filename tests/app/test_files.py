"""Opening, saving, exporting, and what is remembered: through the port, so that no test meets a dialog."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gradviz.app.places import folder
from gradviz.app.port import WindowPort
from gradviz.app.store import Store
from gradviz.app.window import Window
from gradviz.settings import Settings
from gradviz.trace import open_trace, write_trace
from gradviz.trace.events import Ended, Header, Op
from tests.trace.damage import sweep

Opened = Callable[..., Window]
Recorded = Callable[[str], Path]


def answer(window: Window, path: Path | None) -> list[tuple[str, str, bool]]:
    """Have every question for a path answered with this one; gives the questions."""
    asked: list[tuple[str, str, bool]] = []

    def ask(kind: str, suggestion: str, saving: bool) -> str | None:
        asked.append((kind, suggestion, saving))
        return None if path is None else str(path)

    port: WindowPort = window.desk.port
    port.ask = ask
    return asked


def test_a_recording_is_saved_as_it_was(shown: Window, recorded: Recorded, tmp_path: Path) -> None:
    asked = answer(shown, tmp_path / "copy")
    assert shown.trigger("file.save_recording")
    assert asked == [("recording", "program.gradviz", True)]
    copy, original = open_trace(tmp_path / "copy.gradviz"), open_trace(recorded("one_layer"))
    assert copy.events == original.events and copy.complete
    assert "copy.gradviz" in shown.desk.banner.label.text()


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.svg", b"<"),
        ("x.png", b"\x89PNG"),
        ("x.pdf", b"%PDF"),
        ("x.html", b"<!"),
        ("x.dot", b"digraph"),
        ("x.json", b"{"),
        ("x.graphml", b"<?xml"),
    ],
)
def test_a_step_is_exported_by_its_file_name(shown: Window, tmp_path: Path, name: str, begins: bytes) -> None:
    shown.session.update(step=10)
    assert shown.trigger("file.export", str(tmp_path / name))
    assert (tmp_path / name).read_bytes().lstrip().startswith(begins), shown.desk.banner.label.text()


def test_an_unknown_format_and_a_closed_folder_are_told(shown: Window, tmp_path: Path) -> None:
    shown.trigger("file.export", str(tmp_path / "x.docx"))
    assert "svg" in shown.desk.banner.label.text() and not (tmp_path / "x.docx").exists()
    shown.trigger("file.export", str(tmp_path / "no" / "such" / "x.svg"))
    assert "x.svg" in shown.desk.banner.label.text() and shown.desk.banner.isVisible()
    shown.trigger("file.export", str(tmp_path / "no" / "such" / "x.png"))
    assert "x.png" in shown.desk.banner.label.text()


def test_the_session_is_saved_as_a_program_that_does_the_same(live: Window, tmp_path: Path) -> None:
    live.trigger("option.retain_graph")
    for action in ("grad.zero", "run.backward", "run.backward"):
        assert live.trigger(action) and live.wait_ready(20)
    live.trigger("step.last")
    assert live.session.trace.faults
    path = tmp_path / "again.py"
    assert live.trigger("file.save_session", str(path))
    check = path.read_text() + "print(w.grad.sum().item())\n"
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    told, total = ran.stdout.strip().rsplit("\n", 1)
    assert "second time" in told
    grad = live.session.frame.grad("w")
    assert grad is not None and float(total) == pytest.approx(float(grad.sum()), rel=1e-6)


def test_a_program_is_opened_edited_and_saved(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import torch\nimport beside\nx = torch.ones(beside.size)\n")
    (tmp_path / "beside.py").write_text("size = 3\n")
    window = open_on(path)
    assert window.wait_ready(60)
    assert "x" in window.session.trace.names, "it finds what lies beside it"
    assert window.windowTitle().startswith("mine.py") and not window.isWindowModified()
    window.trigger("edit.program")
    code = window.desk.left.program.code
    code.setPlainText(code.toPlainText() + "y = x + 1\n")
    assert window.isWindowModified()
    qtbot.keyClick(code, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert path.read_text().endswith("y = x + 1\n") and not window.isWindowModified()
    assert window.trigger("run.program") and window.wait_ready(60)
    assert "y" in window.session.trace.names


def test_an_unsaved_edit_still_finds_what_lies_beside_the_file(open_on: Opened, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import torch, beside\nx = torch.ones(beside.size)\n")
    (tmp_path / "beside.py").write_text("size = 3\n")
    window = open_on(path)
    assert window.wait_ready(60)
    window.trigger("edit.program")
    window.desk.left.program.code.setPlainText(path.read_text() + "y = x * 2\n")
    assert window.trigger("run.program") and window.wait_ready(60)
    assert "y" in window.session.trace.names and not window.session.trace.faults
    assert path.read_text().count("\n") == 2, "running does not write the file"


def test_damage_is_told_and_the_good_part_shown(open_on: Opened, recorded: Recorded, tmp_path: Path) -> None:
    whole = recorded("accumulation").read_bytes()
    torn = tmp_path / "torn.gradviz"
    torn.write_bytes(whole[: len(whole) - 5])
    window = open_on(torn)
    window.wait_ready(5)
    assert window.desk.banner.isVisible() and window.desk.banner.label.text()


def test_bad_files_are_told_and_leave_what_is_shown(shown: Window, tmp_path: Path) -> None:
    events = len(shown.session.trace.events)
    for name, content in (("a.gradviz", b""), ("b.gradviz", os.urandom(500)), ("c.py", b"\xff\xfe\x00")):
        path = tmp_path / name
        path.write_bytes(content)
        shown.trigger("file.open", str(path))
        assert name in shown.desk.banner.label.text()
    shown.trigger("file.open", str(tmp_path / "missing.gradviz"))
    assert "missing.gradviz" in shown.desk.banner.label.text()
    assert len(shown.session.trace.events) == events


def test_opening_asks_and_remembers(shown: Window, recorded: Recorded) -> None:
    asked = answer(shown, recorded("accumulation"))
    shown.trigger("file.open")
    assert asked[0][0] == "open" and shown.wait_ready(20) and "inp" in shown.session.trace.names
    assert shown.desk.toolbar.recent_files[0].endswith("accumulation.gradviz")
    assert Store().settings.recent == shown.desk.toolbar.recent_files


def test_settings_survive_and_a_spoilt_file_does_not_hurt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADVIZ_CONFIG_DIR", str(tmp_path))
    assert folder() == tmp_path
    kept = Settings(theme="dark", speed=2.0, recent=("/a, b;c/x y.py", "/ü/中.py"))
    Store().write(kept)
    assert Store().settings == kept
    (tmp_path / "gradviz.ini").write_bytes(b"[settings]\ntheme=neon\nspeed=fast\ngreeted=@Invalid()\n\xff\xff")
    assert Store().settings.theme == "light"


def test_shapes_are_kept(open_on: Opened, recorded: Recorded) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    before = window.desk.sides.sizes()[0]
    window.desk.sides.setSizes([before + 150, 500, 300])
    window.close()
    again = open_on(recorded("one_layer"))  # narrower at first: the screen of the tests is small
    assert again.desk.sides.sizes()[0] > before + 30


def test_damaged_and_hostile_files_leave_the_window_alive(shown: Window, tmp_path: Path, qtbot: QtBot) -> None:
    path, told = tmp_path / "damaged.gradviz", 0
    for name, data in sweep(17, 3):
        path.write_bytes(data)
        began = shown.session.view.revision
        shown.desk.port.open(str(path))
        opened = shown.session.view.revision != began
        qtbot.waitUntil(lambda: shown.session.view.busy is None, timeout=10_000)
        damage = shown.session.trace.damage
        if not opened or damage:
            told += 1
            assert shown.desk.banner.isVisible() and shown.desk.banner.label.text(), name
        for action in ("step.last", "step.previous", "step.first", "step.next"):
            shown.trigger(action)
    assert told > 8


def test_a_contradiction_in_the_first_bytes_still_shows_what_is_before_it(
    shown: Window, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "odd.gradviz"
    write_trace(path, [Header(), Op(0, "ones", outputs=(0,)), Op(7, "ones", outputs=(1,)), Ended(0)])
    shown.desk.port.open(str(path))
    qtbot.waitUntil(lambda: shown.session.view.busy is None and shown.session.view.steps == 1, timeout=10_000)
    assert "numbered in order" in (shown.session.trace.damage or "")
    assert "numbered in order" in shown.desk.banner.label.text()

"""Running a program with another Python, in another folder, with arguments and input: what is chosen is what runs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from gradviz.app.setups import remember, remembered
from gradviz.app.window import Window
from gradviz.player.setup import Setup

Opened = Callable[..., Window]
TEXT = """import os, sys, torch
print(sys.prefix, os.getcwd(), sys.argv[1:], input("name? "), sep="|")
w = torch.ones(2, requires_grad=True)
w.sum().backward()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "mine.py"
    path.write_text(TEXT)
    return path


def environment(folder: Path, *, shared: bool) -> Path:
    """A virtual environment; `shared`: it sees the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    if shared:
        (site,) = folder.glob("lib/*/site-packages")
        (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def choose(window: Window, python: Path) -> None:
    page = window.desk.setup
    rows = [row for row, known in enumerate(page._known) if known.path == str(python)]
    page.list.setCurrentRow(rows[0])


def test_another_python_folder_arguments_and_input(open_on: Opened, program: Path, qtbot: QtBot) -> None:
    python = environment(program.parent / ".venv", shared=True)
    window = open_on(program)
    assert window.wait_ready(60)
    banner = window.desk.banner
    assert window.session.trace.faults[0].type == "EOFError" and "input()" in banner.label.text()
    banner.button.click()
    page = window.desk.setup
    assert page.isVisible() and page.reads.hasFocus()
    choose(window, python)
    page.reads.setPlainText("Ada")
    page.folder.setText(str(program.parent.parent))
    page.arguments.setText("--lr '0 1' -o x")
    page.run.click()
    assert not page.isVisible() and window.wait_ready(60) and not window.session.trace.faults
    window.trigger("step.last")
    said = window.desk.left.output.text.toPlainText()
    prefix, folder, arguments, name = said.strip().removeprefix("name? ").split("|")
    assert (prefix, folder) == (str(program.parent / ".venv"), str(program.parent.parent))
    assert (arguments, name) == ("['--lr', '0 1', '-o', 'x']", "Ada")
    assert ".venv" in window.statusBar().left.text()  # type: ignore[attr-defined]
    window.close()
    again = open_on(program)
    assert again.wait_ready(60) and again.session.view.program.setup == window.session.view.program.setup
    assert not again.session.trace.faults, "remembered, and used from the start"


def test_a_python_without_torch_gets_a_sentence_and_the_line(open_on: Opened, program: Path, qtbot: QtBot) -> None:
    python = environment(program.parent / ".venv", shared=False)
    remember(str(program), Setup(str(python)))
    window = open_on(program)
    banner = window.desk.banner
    qtbot.waitUntil(banner.isVisible, timeout=30_000)
    assert window.session.view.live == "gone"
    line = f"{python} -m pip install torch msgspec zstandard executing numpy"
    assert "PyTorch is not installed" in banner.label.text() and line in banner.label.text()
    banner.button.click()
    page = window.desk.setup
    assert page._chosen() == str(python)
    qtbot.waitUntil(lambda: str(python) in page.prober.reports and page.line.isVisible(), timeout=30_000)
    page.copy.click()
    assert QGuiApplication.clipboard().text().endswith(line)
    page.list.setCurrentRow(0)
    page.reads.setPlainText("x")
    page.run.click()
    assert window.wait_ready(60) and window.session.trace.complete and not banner.isVisible()
    assert remembered(str(program)) == Setup(reads="x")


def test_what_cannot_be_is_told_and_nothing_is_run(live: Window, tmp_path: Path) -> None:
    before, page = live.session.view, live.desk.setup
    live.trigger("run.setup")
    page.arguments.setText('"')
    page.run.click()
    assert page.isVisible() and "quotation" in page.wrong.text()
    page.arguments.clear()
    page.folder.setText(str(tmp_path / "nowhere"))
    page.run.click()
    assert page.isVisible() and "folder" in page.wrong.text() and live.session.view == before
    page.cancel.click()
    assert not page.isVisible()


def test_a_folder_that_is_gone_is_told(open_on: Opened, program: Path, qtbot: QtBot, tmp_path: Path) -> None:
    remember(str(program), Setup(folder=str(tmp_path / "nowhere")))
    window = open_on(program)
    qtbot.waitUntil(window.desk.banner.isVisible, timeout=30_000)
    assert "nowhere" in window.desk.banner.label.text() and window.session.view.live == "gone"


def test_a_damaged_file_of_setups_is_harmless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADVIZ_CONFIG_DIR", str(tmp_path))
    for text in ("", "[", "[1]", '{"/x.py": 3}', "\0"):
        (tmp_path / "programs.json").write_text(text)
        assert remembered("/x.py") == Setup()
    remember("/x.py", Setup("p"))
    remember("/y.py", Setup("q"))
    assert remembered("/x.py") == Setup("p")
    remember("/x.py", Setup())
    assert remembered("/x.py") == Setup() and remembered("/y.py") == Setup("q")

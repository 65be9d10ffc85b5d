"""Large recordings: read in slices, laid out in a process of their own, which may be killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app import layouts, port
from gradviz.app.window import Window
from gradviz.graph import build
from gradviz.trace import open_trace
from tests.app.conftest import Opened

Recorded = Callable[[str], Path]


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "LARGE", 10)
    monkeypatch.setattr(port, "LARGE", 10)


def graph_of(window: Window) -> object:
    return window.desk.layouts.graph


def test_a_large_recording_is_read_in_slices_and_laid_out_elsewhere(open_on: Opened, recorded: Recorded) -> None:
    path = recorded("lstm")
    window = open_on(path)
    said = []
    window.session.listen(lambda old, new: said.append(new.busy))
    assert window.wait_ready(60)
    whole = open_trace(path)
    assert window.session.trace.events == whole.events
    assert window.session.trace.damage is None
    assert window.session.view.busy is None
    assert graph_of(window) == build(whole)
    assert window.desk.layouts.pid
    assert window.desk.canvas.composer is not None
    window.session.update(mode="autograd")
    assert window.wait_ready(60)
    assert graph_of(window) == build(whole, "autograd")
    window.close()
    assert window.desk.layouts.pid is None


def test_a_damaged_recording_says_so_and_what_is_none_leaves_all_as_it_was(
    open_on: Opened, recorded: Recorded, tmp_path: Path
) -> None:
    data = recorded("lstm").read_bytes()
    cut = tmp_path / "cut.gradviz"
    cut.write_bytes(data[: len(data) * 2 // 3])
    window = open_on(cut)
    assert window.wait_ready(60)
    assert window.session.trace.damage == open_trace(cut).damage
    assert window.session.trace.damage
    assert window.desk.banner.isVisibleTo(window)
    events = len(window.session.trace.events)
    other = tmp_path / "other.gradviz"
    other.write_bytes(b"not a recording, but more than ten bytes")
    window.trigger("file.open", str(other))
    assert len(window.session.trace.events) == events
    assert window.is_ready


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_layout_process_is_done_without(open_on: Opened, recorded: Recorded, qtbot: QtBot) -> None:
    path = recorded("lstm")
    window = open_on(path)
    assert window.wait_ready(60)
    pid = window.desk.layouts.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    window.session.update(mode="autograd")
    qtbot.wait(50)
    assert not window.is_ready
    os.kill(pid, signal.SIGKILL)
    assert window.wait_ready(60)
    assert graph_of(window) == build(open_trace(path), "autograd")
    assert window.desk.layouts.pid is None
    window.trigger("file.open", str(recorded("mlp")))
    assert window.wait_ready(60)
    assert window.desk.layouts.pid not in (None, pid)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_window_leaves_no_layout_process(recorded: Recorded, tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from gradviz.app import layouts, open_window, port
        layouts.LARGE = port.LARGE = 10
        window = open_window(sys.argv[1])
        assert window.wait_ready(60)
        print(window.desk.layouts.pid, flush=True)
        window.wait_ready(60)
        sys.stdin.read()
    """)
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "GRADVIZ_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-c", script, str(recorded("lstm"))]
    window = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert window.stdout is not None and window.stdin is not None
    pid = int(window.stdout.readline())
    window.kill()
    window.wait(10)
    window.stdin.close()
    window.stdout.close()
    until = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"

"""A large recording is read in slices and laid out by a process of its own: both are left when another is opened."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.window import Window
from gradviz.graph import build
from gradviz.trace import open_trace

ROOT = Path(__file__).resolve().parents[2]
Opened = Callable[..., Window]
NODES = 10_000
CELL = f"""import torch
w = torch.ones(4, 4, requires_grad=True)
h = torch.ones(4)
for _ in range({NODES} // 3 + 1):
    h = torch.tanh(w @ h + 0.1)
h.sum().backward()
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "cell.py").write_text(CELL)
    path = folder / "cell.gradviz"
    command = [sys.executable, "-m", "gradviz.recorder", "--values", "none", "-o", str(path), str(folder / "cell.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return path


@pytest.mark.parametrize("stage", ["reading", pytest.param("layout", marks=pytest.mark.slow)])
def test_v19_a_large_recording_is_left_for_another(
    open_on: Opened, large: Path, recorded: Callable[[str], Path], qtbot: QtBot, stage: str
) -> None:
    window = open_on(large)
    view = lambda: window.session.view  # noqa: E731
    qtbot.waitUntil(lambda: view().busy is not None and view().busy[0] == stage, timeout=30_000)  # type: ignore[index]
    began = time.perf_counter()
    window.desk.port.open(str(recorded("one_layer")))
    assert window.wait_ready(20)
    qtbot.waitUntil(lambda: view().busy is None, timeout=20_000)
    assert time.perf_counter() - began < 10
    trace, steps = window.session.trace, view().steps
    assert len(trace.nodes) < 20
    qtbot.wait(300)
    assert window.session.trace is trace
    assert (view().steps, view().busy) == (steps, None)
    assert window.desk.layouts.graph == build(trace)


@pytest.mark.slow
def test_v19_left_alone_it_is_read_whole(open_on: Opened, large: Path, qtbot: QtBot) -> None:
    window = open_on(large)
    qtbot.waitUntil(lambda: len(window.session.trace.nodes) >= NODES, timeout=60_000)
    assert window.wait_ready(60)
    assert window.session.trace.events == open_trace(large).events

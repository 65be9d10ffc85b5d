"""The recorder beside the window: what it does to the window when it ends, hangs, floods, or is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.launch import BOOT, PACKAGE, launch, read_program
from gradviz.app.window import Window
from gradviz.player.program import Program
from gradviz.player.setup import Setup
from gradviz.trace import Decoder
from gradviz.trace.events import Ended

ROOT = Path(__file__).resolve().parents[2]
Opened = Callable[..., Window]

SLOW = """import time, torch
w = torch.ones(3, requires_grad=True)
for k in range(100000):
    loss = (w * k).sum()
    time.sleep(0.01)
"""


def program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ---- a live process takes lines


@pytest.mark.cold
def test_lines_are_run_shown_and_played(live: Window, qtbot: QtBot) -> None:
    end = live.session.view.steps
    qtbot.mouseClick(live.desk.toolbar.backward, Qt.MouseButton.LeftButton)
    assert live.session.view.live == "running" and not live.trigger("run.backward"), "one at a time"
    assert live.wait_ready(20)
    view = live.session.view
    assert view.steps > end and view.step == end + 1 and view.playing, "at the first new step, playing"
    assert view.actions == ("loss.backward(retain_graph=True)",)
    assert live.desk.left.done.list.item(1).text() == "▸ 1: loss.backward(retain_graph=True)"
    live.trigger("step.last")
    frame = live.session.frame
    once, twice = live.session.trace.at(end).grad("w"), frame.grad("w")
    assert once is not None and twice is not None and (twice == 2 * once).all()


def test_a_graph_used_up_is_pytorch_s_own_error_at_its_node(live: Window, qtbot: QtBot) -> None:
    live.trigger("option.retain_graph")
    for _ in range(2):
        assert live.trigger("run.backward") and live.wait_ready(20)
    live.trigger("step.last")
    fault = live.session.trace.faults[-1]
    assert fault.code == "freed_graph" and fault.node is not None
    card = live.desk.stage.error
    qtbot.waitUntil(card.isVisible)
    assert "✖" in card.title.text() and fault.message in card.original.text()
    assert live.session.view.live == "ready", "the process goes on"
    item = card._buttons.itemAt(0)
    primary = item.widget() if item else None
    assert primary is not None
    qtbot.mouseClick(primary, Qt.MouseButton.LeftButton)
    assert live.wait_ready(60)
    assert not live.session.trace.faults and len(live.session.view.actions) == 2
    assert live.session.view.actions[0] == "loss.backward(retain_graph=True)"


def test_zero_none_and_forward_again(live: Window) -> None:
    assert live.trigger("grad.zero", "w") and live.wait_ready(20)
    live.trigger("step.last")
    frame = live.session.frame
    assert not frame.grad("w").any() and frame.grad("b").any()  # type: ignore[union-attr]
    assert live.trigger("grad.none") and live.wait_ready(20)
    live.trigger("step.last")
    assert live.session.frame.grad("w") is None and live.session.frame.grad("b") is None
    assert not live.trigger("grad.zero"), "there is none to zero"
    nodes = len(live.session.trace.nodes)
    assert live.trigger("run.forward") and live.wait_ready(20)
    live.trigger("step.last")
    frame, trace = live.session.frame, live.session.trace
    assert len(trace.nodes) > nodes
    assert {frame.status(n.id) for n in trace.nodes[:nodes] if n.leaf is None} == {"gone"}
    assert live.trigger("run.backward") and live.wait_ready(20)
    live.trigger("step.last")
    assert live.session.frame.grad("w") is not None


def test_undo_runs_the_program_and_all_but_the_last(live: Window) -> None:
    assert live.trigger("run.backward") and live.wait_ready(20)
    once = live.session.view.steps
    assert live.trigger("grad.zero") and live.wait_ready(20)
    assert live.trigger("edit.undo")
    assert live.wait_ready(60)
    view = live.session.view
    assert view.steps == once and view.actions == ("loss.backward(retain_graph=True)",)


# ---- it ends


@pytest.mark.cold
def test_killed_at_once_and_run_again_by_one_button(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    window = open_on(program(tmp_path, SLOW))
    qtbot.waitUntil(lambda: window.session.view.steps > 20, timeout=60_000)
    pid = window.desk.recorder.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: window.session.view.live == "gone", timeout=5_000)
    assert window.desk.banner.isVisible() and "9" in window.desk.banner.label.text()
    ended = window.session.trace.ended[0]
    assert isinstance(ended, Ended) and ended.status == "killed"
    assert window.wait_ready(5)
    assert window.trigger("step.last") and window.session.view.step > 20, "what there is can be stepped through"
    window.desk.port.rerun(Program("import torch\nw = torch.ones(2, requires_grad=True)\n", "mine.py"))
    assert not window.desk.banner.isVisible()
    assert window.wait_ready(60) and window.session.view.live == "ready"


def test_the_button_of_the_banner_runs_again(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    window = open_on(program(tmp_path, "import os, torch\ntorch.ones(2)\nos._exit(3)\n"))
    qtbot.waitUntil(lambda: window.session.view.live == "gone", timeout=60_000)
    assert "3" in window.desk.banner.label.text()
    window.session.update(program=Program("import torch\nx = torch.ones(2) + 1\n", "mine.py"))
    qtbot.mouseClick(window.desk.banner.button, Qt.MouseButton.LeftButton)
    assert window.wait_ready(60)
    assert window.session.view.live == "ready" and "x" in window.session.trace.names


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass",
        "import threading\nthreading.Event().wait()",
        "x = torch.randn(3000, 3000)\nwhile True: x = torch.linalg.matrix_exp(x * 0.001)",
    ],
)
def test_stop_ends_anything_within_a_second(open_on: Opened, tmp_path: Path, qtbot: QtBot, body: str) -> None:
    window = open_on(program(tmp_path, f"import torch\ntorch.ones(2)\n{body}\n"))
    qtbot.waitUntil(lambda: window.session.view.steps > 0, timeout=60_000)
    began = time.perf_counter()
    assert window.trigger("run.stop")
    qtbot.waitUntil(lambda: window.session.view.live in ("ready", "gone"), timeout=5_000)
    assert time.perf_counter() - began < 1.5
    assert window.trigger("run.program"), "and it can be run again"
    window.trigger("run.stop")


def test_a_program_killed_by_stop_is_told_as_stopped_though_its_last_words_come_after(
    open_on: Opened, tmp_path: Path, qtbot: QtBot
) -> None:
    window = open_on(program(tmp_path, SLOW))
    qtbot.waitUntil(lambda: window.session.view.steps > 0, timeout=60_000)
    recorder, ends = window.desk.recorder, []
    recorder.lost.connect(lambda kind, detail: ends.append(kind))
    recorder.stop()
    time.sleep(0.3)  # a busy window: the end that the program tells waits unread until it is killed
    recorder._end_now()
    qtbot.waitUntil(lambda: window.session.view.live == "gone", timeout=5_000)
    assert any(ended.status == "interrupted" for ended in window.session.trace.ended.values())
    assert ends == ["stopped"]


def test_a_flood_of_output_does_not_hold_up_the_window(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    text = "import torch\nfor k in range(200_000): print('line', k)\nw = torch.ones(1, requires_grad=True)\n"
    window = open_on(program(tmp_path, text))
    late: list[float] = []  # work of this thread between two beats: other programs on the machine do not count
    last = time.thread_time()

    def beat() -> None:
        nonlocal last
        now = time.thread_time()
        late.append(now - last)
        last = now

    timer = QTimer(interval=5)
    timer.timeout.connect(beat)
    timer.start()
    window.session.update(following=True)
    assert window.wait_ready(120)
    timer.stop()
    assert len(late) > 20 and sorted(late)[int(len(late) * 0.95)] < 0.25
    window.trigger("step.last")
    assert "line 199999" in window.desk.left.output.text.toPlainText()


def test_a_recorder_that_cannot_start_is_told(open_on: Opened, recorded: Callable[[str], Path], qtbot: QtBot) -> None:
    window = open_on(recorded("one_layer"))
    window.desk.recorder.start(
        Program("x = 1\n", "x.py"), launched=launch(Program("x = 1\n", setup=Setup("/bin/false")))
    )
    qtbot.waitUntil(lambda: window.session.view.live == "gone", timeout=5_000)
    qtbot.waitUntil(window.desk.banner.isVisible, timeout=30_000)
    assert window.desk.banner.button.isVisible()


def test_what_cannot_be_decoded_is_told_and_the_good_part_stays(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    text = "import os, torch\nx = torch.ones(2)\n"
    window = open_on(program(tmp_path, text))
    assert window.wait_ready(60)
    reader = window.desk.recorder._reader
    assert reader is not None
    reader.chunks.put(b"garbage, and no frame")
    window.desk.recorder._arrived.emit()
    qtbot.waitUntil(lambda: window.session.view.live == "gone", timeout=5_000)
    assert window.session.trace.damage and window.session.view.steps == 1


# ---- nothing is left behind


@pytest.mark.cold
def test_closing_the_window_ends_its_recorder(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    window = open_on(program(tmp_path, SLOW))
    qtbot.waitUntil(lambda: window.session.view.steps > 0, timeout=60_000)
    pid = window.desk.recorder.pid
    assert pid is not None and alive(pid)
    window.close()
    qtbot.waitUntil(lambda: not alive(pid), timeout=3_000)


@pytest.mark.parametrize("text", ["import torch\ntorch.ones(2)\n", SLOW])
def test_a_killed_window_leaves_no_orphan(tmp_path: Path, text: str) -> None:
    path = program(tmp_path, text)
    code = (
        "import sys, time; from gradviz.app import open_window; from PySide6.QtWidgets import QApplication\n"
        f"w = open_window({str(path)!r})\n"
        "while not w.session.view.steps: QApplication.processEvents()\n"
        "print(w.desk.recorder.pid, flush=True)\n"
        "while True: QApplication.processEvents()\n"
    )
    shell = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    assert alive(pid)
    shell.kill()
    shell.wait()
    shell.stdout.close()
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


def test_programs_are_read_with_their_own_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\nname = 'é'\n".encode("latin-1"))
    assert "é" in read_program(str(path)).text
    path.write_bytes(b"# coding: no-such-thing\n")
    with pytest.raises(ValueError, match="no-such-thing"):
        read_program(str(path))


def test_running_again_keeps_the_step(live: Window) -> None:
    live.session.update(step=9)
    QApplication.processEvents()
    assert live.trigger("run.program")
    assert live.wait_ready(60)
    assert live.session.view.step == 9


def test_an_interpreter_that_has_no_gradviz_is_given_ours(tmp_path: Path) -> None:
    site = sysconfig.get_path(
        "purelib"
    )  # named by PYTHONPATH, its .pth files are not read, so that gradviz is not there
    environment = {**os.environ, "PYTHONPATH": site}
    bare = [sys.executable, "-S", "-c"]
    known = subprocess.run(
        [*bare, "import gradviz.recorder"], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert known.returncode, "the check checks nothing"
    path = program(tmp_path, "import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    command = [*bare, BOOT, PACKAGE, str(path)]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    events = Decoder().feed(ran.stdout)
    assert isinstance(events[-1], Ended)

"""Programs that print, compute or allocate without end: the window stays at hand and small, and tells what it lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app import launch
from gradviz.app.window import Window
from gradviz.recorder.printed import TAIL, WHOLE
from tests.app.pulse import Pulse, memory

Opened = Callable[..., Window]

SLOT = 0.05
"""Seconds that the window may be away from its events."""
HARD = "import torch\nw = torch.ones(3, requires_grad=True)\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def flood(open_on: Opened, folder: Path, text: str, seconds: float) -> tuple[Window, Pulse]:
    """A window that has seen the end of a program."""
    path = folder / "flood.py"
    path.write_text(HARD + text)
    window = open_on(path)
    window.session.update(following=True)
    pulse = Pulse()
    assert window.wait_ready(seconds)
    pulse.stop()
    return window, pulse


def test_printed_lines_are_thinned_and_counted(open_on: Opened, tmp_path: Path) -> None:
    count = 110_000
    window, _ = flood(open_on, tmp_path, f"for k in range({count}): print('line', k)\n", 120)
    trace = window.session.trace
    printed = sum(len(f"line {k}\n") for k in range(count))
    assert sum(len(one.text) + one.skipped for one in trace.outputs) == printed
    assert trace.ended[0].left_out["output"] == printed - WHOLE - TAIL
    assert len(trace.outputs) < 1000
    window.trigger("step.last")
    shown = window.desk.left.output.text.toPlainText()
    assert shown.endswith(f"line {count - 1}\n") and f"{trace.outputs[-1].skipped:,}" in shown


def test_beyond_the_cap_the_program_goes_on_and_all_is_told(
    open_on: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "LIVE_EVENTS", 500)
    window, _ = flood(open_on, tmp_path, "for k in range(900): y = w * k\nprint('done')\n", 60)
    trace, desk = window.session.trace, window.desk
    assert trace.ended[0].status == "limit" and len(trace.events) < 700
    left_out = trace.ended[0].left_out["ops"]
    assert left_out + len(trace.ops) == 901
    assert str(left_out) in window.statusBar().right.text()  # type: ignore[attr-defined]
    assert desk.banner.isVisible() and desk.banner.label.text() == desk.port.words("ui.banner.limit")
    assert trace.outputs[-1].text == "done\n"
    window.trigger("view.language", "zh")
    assert desk.banner.label.text() == desk.port.words("ui.banner.limit")


def test_linux_ends_the_recorder_before_the_window(live: Window) -> None:
    pid = live.desk.recorder.pid
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"


# ---- for hours


@pytest.mark.slow
def test_ten_million_lines(open_on: Opened, tmp_path: Path) -> None:
    before = memory()
    window, pulse = flood(open_on, tmp_path, "for k in range(10_000_000): print('line', k)\n", 900)
    assert memory() - before < 200
    assert pulse.away(SLOT) < 0.02, pulse
    window.trigger("step.last")
    assert "line 9999999" in window.desk.left.output.text.toPlainText()


@pytest.mark.slow
def test_a_million_operations(open_on: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "LIVE_EVENTS", 60_000)
    before = memory()
    text = "for k in range(250_000):\n    y = w * 2\n    z = (y + 1).sum()\n    z.backward()\n"
    window, pulse = flood(open_on, tmp_path, text, 600)
    assert memory() - before < 300
    assert pulse.away(SLOT) < 0.05, pulse
    trace = window.session.trace
    assert len(trace.ops) + trace.ended[0].left_out["ops"] > 750_000


@pytest.mark.slow
@pytest.mark.cold
def test_allocation_without_end(open_on: Opened, tmp_path: Path, qtbot: QtBot) -> None:
    text = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        "kept = []\nwhile True: kept.append(torch.ones(1 << 20) * 2)\n"
    )
    before = memory()
    path = tmp_path / "flood.py"
    path.write_text(HARD + text)
    window = open_on(path)
    pulse = Pulse()
    qtbot.waitUntil(lambda: window.session.view.live in ("ready", "gone"), timeout=120_000)
    pulse.stop()
    assert memory() - before < 200
    assert pulse.away(SLOT) < 0.02, pulse
    assert len(window.session.trace.ops) > 200

"""Runs copies of a recorded program in processes of their own, each of which answers one question and ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gradviz.app.launch import Launched, launch
from gradviz.player.program import Program

PATIENCE_SECONDS = 120.0
Answer = dict[str, Any] | None


class Copies(QObject):
    """One question at a time. `done` brings the answers in order, None for a copy that gave none, and the ticket that
    `ask` returned."""

    done = Signal(int, object)
    _came = Signal(int, object)  # from a thread to this one

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ticket = 0
        self._running: list[Launched] = []
        self._came.connect(self._deliver)

    def ask(
        self, program: Program, device: str, lines: Sequence[str], count: int, spec: Callable[[list[str]], list[str]]
    ) -> int:
        """Start copies of a program, to which the lines are sent after it. `spec` makes of the paths of `count` reports
        what each copy is asked. A question before that is not answered yet is dropped."""
        self.close()
        self._ticket += 1
        folder = tempfile.TemporaryDirectory(prefix="gradviz-", ignore_cleanup_errors=True)
        reports = [str(Path(folder.name) / f"{k}.json") for k in range(count)]
        try:
            for asked in spec(reports):
                self._running.append(launch(program, device=device, extra=("--values", "none", "--probe", asked)))
        except (OSError, ValueError):
            self.close()
            folder.cleanup()
            self._came.emit(self._ticket, [None] * count)
            return self._ticket
        sent = "".join(json.dumps({"cell": k + 1, "source": line}) + "\n" for k, line in enumerate(lines)).encode()
        work = (self._ticket, list(self._running), folder, reports, sent)
        threading.Thread(target=self._wait, args=work, daemon=True).start()
        return self._ticket

    @property
    def is_busy(self) -> bool:
        """A question is not answered yet."""
        return bool(self._running)

    def close(self) -> None:
        """End what still runs."""
        running, self._running = self._running, []
        for launched in running:
            launched.end()

    def _wait(
        self,
        ticket: int,
        running: list[Launched],
        folder: tempfile.TemporaryDirectory[str],
        reports: list[str],
        sent: bytes,
    ) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired, OSError, ValueError):
            waiting = [threading.Thread(target=_feed, args=(one, sent), daemon=True) for one in running]
            for thread in waiting:
                thread.start()
            for thread in waiting:
                thread.join(PATIENCE_SECONDS)
        answers = [_read(report) for report in reports]
        for launched in running:
            launched.end()
            launched.tidy()
        folder.cleanup()
        with contextlib.suppress(RuntimeError):  # the window is gone
            self._came.emit(ticket, answers)

    def _deliver(self, ticket: int, answers: list[Answer]) -> None:
        if ticket == self._ticket:
            self._running = []
            self.done.emit(ticket, answers)


def _feed(launched: Launched, sent: bytes) -> None:
    """Send the lines and let the copy run to its end; what it records is thrown away."""
    process = launched.process
    with contextlib.suppress(OSError, ValueError):
        if process.stdin is not None:
            process.stdin.write(sent)
            process.stdin.close()
        while process.stdout is not None and process.stdout.read(1 << 16):
            pass
        process.wait(1.0)


def _read(report: str) -> Answer:
    try:
        answer = json.loads(Path(report).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None

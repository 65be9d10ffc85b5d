"""How long a window's thread is away from its events, waiting for a processor left out; how large the process is."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QTimer

EVERY = 0.005


def queued() -> float:
    """Seconds that this thread has waited for a processor so far."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def memory() -> float:
    """Resident memory of this process, in MB."""
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(found.split()[1]) / 1024


class Pulse:
    """Beats from now on until `stop`."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self._last = time.perf_counter() - queued()
        self._timer = QTimer(interval=int(EVERY * 1000))
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter() - queued()
        self.gaps.append(now - self._last - EVERY)
        self._last = now

    def stop(self) -> float:
        """Stop; gives the longest absence in seconds."""
        self._beat()
        self._timer.stop()
        return max(self.gaps)

    def away(self, seconds: float) -> float:
        """The part of the time that was spent in absences longer than this."""
        return sum(gap for gap in self.gaps if gap > seconds) / sum(gap + EVERY for gap in self.gaps)

    def __repr__(self) -> str:
        worst = ", ".join(f"{gap * 1000:.0f}" for gap in sorted(self.gaps)[-5:])
        return f"{len(self.gaps)} beats, {self.away(0.05):.1%} of the time away for more than 50 ms, at most {worst} ms"

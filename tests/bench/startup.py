"""How soon the window paints, and how soon a recorded graph is on it, as shares of `python -c "import torch"`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

BARS = {"first paint": 0.5, "first graph": 1.5}
ROUNDS = 5

CHILD = """
import time
from gradviz.app import open_window
window = open_window()  # starts the recorder before it imports Qt, as `make run` does
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

class Watch(QObject):
    painted = 0.0
    def eventFilter(self, thing, event):
        if event.type() == QEvent.Type.Paint and not self.painted:
            self.painted = time.monotonic()
        return False

app = QApplication.instance()
watch = Watch()
app.installEventFilter(watch)
window.update()
while not watch.painted:
    app.processEvents()
ready = window.wait_ready(60)
print("TIMES", watch.painted, time.monotonic(), ready, flush=True)
window.close()
"""


def torch_seconds() -> float:
    """How long an interpreter takes that imports torch and leaves."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.monotonic() - start


def window_seconds() -> tuple[float, float]:
    """Seconds from the start of the process to the first paint and to the first recorded graph."""
    with tempfile.TemporaryDirectory() as settings:
        environment = os.environ | {"GRADVIZ_CONFIG_DIR": settings}
        start = time.monotonic()
        ran = subprocess.run(
            [sys.executable, "-c", CHILD], check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("TIMES")]
    _, painted, ready, whole = line.split()
    if whole != "True":
        raise RuntimeError("the window was not ready within 60 seconds")
    return float(painted) - start, float(ready) - start


def main() -> int:
    """Print both shares; 1 where one is above its bar."""
    torch_seconds()  # so that files are in the system's cache for both
    window_seconds()
    shares: dict[str, list[float]] = {name: [] for name in BARS}
    for _ in range(ROUNDS):
        base = torch_seconds()
        for name, seconds in zip(BARS, window_seconds(), strict=True):
            shares[name].append(seconds / base)
    late = False
    for name, bar in BARS.items():
        share = median(shares[name])
        late |= share > bar
        spread = f"{min(shares[name]):.2f} to {max(shares[name]):.2f}"
        print(f"{name}: {share:.2f} x import torch (bar {bar} x; {spread} in {ROUNDS} rounds)")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())

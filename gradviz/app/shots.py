"""PNGs of the window in its main states, sizes, themes and languages: `python -m gradviz.app.shots FOLDER`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from PySide6.QtWidgets import QApplication

from gradviz import assets
from gradviz.app import open_window
from gradviz.app.window import Window

SIZES = ((1280, 800), (1920, 1080))


def main(folder: str) -> None:
    """Write all pictures into `folder`, which is made. Settings of the person are neither read nor changed."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as settings:
        os.environ["GRADVIZ_CONFIG_DIR"] = settings
        for program in (None, "accumulation", "second_backward", "gpt"):
            path = str(assets.path("programs", f"{program}.py")) if program else None
            window = open_window(path)
            window.wait_ready(60)
            for (width, height), theme, language in product(SIZES, ("light", "dark"), ("en", "zh")):
                window.resize(width, height)
                window.session.update(theme=theme, language=language)
                for name, step in (("start", 0), ("middle", window.session.view.steps * 5 // 7), ("end", 10**9)):
                    window.session.update(step=min(step, window.session.view.steps), alpha=1.0)
                    _settle(0.4)
                    name = f"{program or 'one_layer'}-{name}-{theme}-{language}-{width}x{height}.png"
                    window.grab().save(str(target / name))
            _close(window)
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")


def _settle(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.01)


def _close(window: Window) -> None:
    window.close()
    _settle(0.1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "shots")

"""The handout: pages are painted inside their margins, the file is a PDF, the command line and the window write it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from gradviz import cli
from gradviz.app.handout import EDGE, HEIGHT, WIDTH, Handout
from gradviz.app.raster import application
from gradviz.app.window import Window
from gradviz.trace import Trace, open_trace


def painted(handout: Handout) -> list[np.ndarray]:
    app = application()
    pages = []
    for draw in handout.pages():
        image = QImage(WIDTH, HEIGHT, QImage.Format.Format_Grayscale8)
        image.fill(255)
        painter = QPainter(image)
        draw(painter)
        painter.end()
        rows = np.frombuffer(bytes(image.constBits()), np.uint8).reshape(HEIGHT, image.bytesPerLine())
        pages.append(rows[:, :WIDTH])
    del app
    return pages


@pytest.fixture
def trace(recorded: Callable[[str], Path]) -> Trace:
    return open_trace(recorded("one_layer"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("per_page", [1, 2])
def test_pages_keep_their_margins(trace: Trace, language: str, per_page: int) -> None:
    pages = painted(Handout(trace, "one_layer.py", language=language, per_page=per_page))
    assert len(pages) == -(-(trace.steps + 1) // per_page) + 1, "steps, and one page of answers"
    edge = int(EDGE)
    for page in pages:
        assert page.min() < 100, "something is written"
        for margin in (page[: edge - 20], page[HEIGHT - edge + 22 :], page[:, : edge - 2], page[:, WIDTH - edge + 4 :]):
            assert margin.min() > 240, "nothing runs over the edge"


def test_two_steps_of_a_page_stay_apart(trace: Trace) -> None:
    room = (HEIGHT - 2 * EDGE - 54) / 2
    rule = int(EDGE + 30 + room)
    for page in painted(Handout(trace, "one_layer.py", per_page=2))[:-2]:
        assert page[rule - 12 : rule - 6].min() > 200, "the upper step ends above the rule"


def test_the_command_line_writes_it(
    recorded: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "handout.pdf"
    assert cli.main(["export", str(recorded("one_layer")), "-o", str(out), "--handout", "--language", "zh"]) == 0
    assert out.read_bytes().startswith(b"%PDF-") and out.stat().st_size > 20_000
    assert cli.main(["export", str(recorded("one_layer")), "-o", str(tmp_path / "x.png"), "--handout"]) == 2
    assert "PDF" in capsys.readouterr().err
    assert cli.main(["export", str(recorded("one_layer")), "-o", str(tmp_path / "no" / "x.pdf"), "--handout"]) == 1


def test_the_window_writes_it(shown: Window, tmp_path: Path) -> None:
    assert shown.trigger("file.handout", str(tmp_path / "mine")) and (tmp_path / "mine.pdf").exists()
    assert shown.desk.banner.isVisible()

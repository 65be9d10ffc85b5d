"""Files painted from the figure: PNG, PDF, GIF, and a clear word where MP4 cannot be made."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from gradviz.app.raster import ExportError, to_gif, to_mp4, to_pdf, to_png
from gradviz.scene.theme import load_theme, rgb
from tests.scene.one_layer import recording

HAS_FFMPEG = importlib.util.find_spec("imageio_ffmpeg") is not None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_png_in_its_theme(qapp: object, tmp_path: Path, theme: str) -> None:
    path = tmp_path / "step.png"
    to_png(recording(), 10, path, theme=theme)
    with Image.open(path) as image:
        assert image.width > 1000
        assert image.convert("RGB").getpixel((2, 2)) == rgb(load_theme(theme).canvas)
        colors = {color for _, color in image.convert("RGB").getcolors(1 << 20) or []}
    assert rgb(load_theme(theme).accent) in colors, "the running node"


def test_png_of_a_wanted_size_and_the_same_each_time(qapp: object, tmp_path: Path) -> None:
    to_png(recording(), 10, tmp_path / "a.png", (640, 400))
    to_png(recording(), 10, tmp_path / "b.png", (640, 400))
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == (640, 400)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_png_that_cannot_be_written(qapp: object, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot be written"):
        to_png(recording(), 1, tmp_path / "no" / "such" / "folder.png")


def test_pdf_has_a_page_for_each_step(qapp: object, tmp_path: Path) -> None:
    to_pdf(recording(), 10, tmp_path / "one.pdf")
    to_pdf(recording(), None, tmp_path / "all.pdf")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "one.pdf").read_bytes().count(b"/Type /Page\n") == 1
    assert (tmp_path / "all.pdf").read_bytes().count(b"/Type /Page\n") == 15


def test_gif_moves(qapp: object, tmp_path: Path) -> None:
    to_gif(recording(), tmp_path / "film.gif", first=8, last=10, size=(500, 300))
    with Image.open(tmp_path / "film.gif") as film:
        assert film.size == (500, 300)
        assert getattr(film, "n_frames") > 8  # noqa: B009


def test_mp4_without_its_package_says_what_to_type(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ExportError, match="pip install imageio-ffmpeg"):
        to_mp4(recording(), tmp_path / "film.mp4")


@pytest.mark.skipif(not HAS_FFMPEG, reason="imageio-ffmpeg is an extra")
def test_mp4_is_written(qapp: object, tmp_path: Path) -> None:
    to_mp4(recording(), tmp_path / "film.mp4", first=9, last=10, size=(320, 200))
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"


def test_png_without_a_display(tmp_path: Path) -> None:
    code = (
        "from tests.scene.one_layer import recording; from gradviz.app.raster import to_png;"
        f"to_png(recording(), 10, {str(tmp_path / 'x.png')!r})"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    subprocess.run([sys.executable, "-c", code], check=True, env=env, cwd=Path(__file__).parents[2], timeout=60)
    assert (tmp_path / "x.png").stat().st_size > 10_000

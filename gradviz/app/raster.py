"""Steps as PNG, PDF, GIF and MP4, painted from the figure that the SVG has. Works without a display."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QGuiApplication, QImage, QPageSize, QPainter, QPdfWriter
from PySide6.QtWidgets import QApplication

from gradviz.app.fonts import load_fonts
from gradviz.app.paint import color, paint
from gradviz.player.view import Mode
from gradviz.scene.figure import Figure, Page
from gradviz.trace import Trace

DENSITY = 2.0
"""Pixels of a PNG for each pixel of the scene where no size is asked for."""
LARGEST = 16_384
PDF_DPI = 96
HOLD_SECONDS, MOVE_SECONDS = 0.7, 0.6
MANY = 80
"""A film of more steps than this shows each step at rest only."""
GIF_FPS, MP4_FPS = 10, 30


class ExportError(Exception):
    """A file could not be written; the text says why in one sentence."""


def application() -> QGuiApplication:
    """The running application, or a new one that needs no display."""
    running = QGuiApplication.instance()
    if isinstance(running, QGuiApplication):
        return running
    if (
        not any(os.environ.get(name) for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"))
        and os.name == "posix"
    ):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return QApplication([])


def to_png(
    trace: Trace,
    step: int,
    path: str | Path,
    size: tuple[int, int] | None = None,
    theme: str = "light",
    *,
    mode: Mode = "both",
    language: str = "en",
    title: bool = True,
) -> None:
    """Write a step as a PNG file; `size` in pixels, by default two for each pixel of the scene.

    Raises:
        ExportError: the file cannot be written.
    """
    app = application()
    image = draw(Figure(trace, theme=theme, mode=mode, language=language, title=title).page(step), size)
    if not image.save(str(path), "PNG"):  # type: ignore[call-overload]
        raise ExportError(f"{path} cannot be written.")
    del app


def draw(page: Page, size: tuple[int, int] | None = None) -> QImage:
    """A page as an image: centred in `size`, or `DENSITY` times as large as the scene."""
    load_fonts()
    x, y, w, h = page.box
    if size is None:
        scale = min(DENSITY, LARGEST / max(w, h))
        size = max(1, round(w * scale)), max(1, round(h * scale))
    scale = min(size[0] / w, size[1] / h)
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(color(page.ground))
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    painter.translate((size[0] - w * scale) / 2, (size[1] - h * scale) / 2)
    painter.scale(scale, scale)
    painter.translate(-x, -y)
    paint(painter, page.shapes)
    painter.end()
    return image


def to_pdf(
    trace: Trace,
    step: int | None,
    path: str | Path,
    theme: str = "light",
    *,
    mode: Mode = "both",
    language: str = "en",
) -> None:
    """Write a step as a PDF file of vectors, or with step None every step as a page of its own.

    Raises:
        ExportError: the file cannot be written.
    """
    app = application()
    load_fonts()
    figure = Figure(trace, theme=theme, mode=mode, language=language)
    pages = [figure.page(step)] if step is not None else [figure.frame(k, 1.0) for k in range(trace.steps + 1)]
    writer = QPdfWriter(str(path))
    writer.setResolution(PDF_DPI)
    writer.setTitle(pages[0].title)
    writer.setCreator("gradviz")
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    _size(writer, pages[0])
    painter = QPainter()
    if not painter.begin(writer):
        raise ExportError(f"{path} cannot be written.")
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for k, page in enumerate(pages):
        if k:
            _size(writer, page)
            writer.newPage()
        painter.save()
        painter.fillRect(QRectF(0, 0, page.box[2], page.box[3]), color(page.ground))
        painter.translate(-page.box[0], -page.box[1])
        paint(painter, page.shapes)
        painter.restore()
    painter.end()
    del app


def _size(writer: QPdfWriter, page: Page) -> None:
    points = QSizeF(page.box[2] * 72 / PDF_DPI, page.box[3] * 72 / PDF_DPI)
    writer.setPageSize(QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch))


# ---- films


def to_gif(
    trace: Trace,
    path: str | Path,
    *,
    first: int = 0,
    last: int | None = None,
    size: tuple[int, int] | None = None,
    theme: str = "light",
    mode: Mode = "both",
    language: str = "en",
) -> None:
    """Write steps `first` to `last` (all by default) as an animated GIF.

    Raises:
        ExportError: the file cannot be written.
    """
    app = application()
    figure = Figure(trace, theme=theme, mode=mode, language=language)
    last = trace.steps if last is None else last
    frames, times = [], []
    palette: Image.Image | None = None
    for image, seconds in _film(figure, first, last, size or _film_size(figure, first, 1.0, 1200), GIF_FPS):
        picture = _pillow(image)
        if palette is None:
            rich = _pillow(draw(figure.frame((first + last) // 2, 1.0), (image.width(), image.height())))
            both = Image.new("RGB", (picture.width, 2 * picture.height))
            both.paste(picture)
            both.paste(rich, (0, picture.height))
            palette = both.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        frames.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
        times.append(round(seconds * 1000))
    try:
        frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror}.") from error
    del app


def to_mp4(
    trace: Trace,
    path: str | Path,
    *,
    first: int = 0,
    last: int | None = None,
    size: tuple[int, int] | None = None,
    theme: str = "light",
    mode: Mode = "both",
    language: str = "en",
) -> None:
    """Write steps `first` to `last` (all by default) as an MP4 video.

    Raises:
        ExportError: imageio-ffmpeg is not installed, or the file cannot be written.
    """
    try:
        ffmpeg = importlib.import_module("imageio_ffmpeg")
    except ImportError as error:
        raise ExportError("MP4 needs one more package: PYTHON -m pip install imageio-ffmpeg") from error
    app = application()
    figure = Figure(trace, theme=theme, mode=mode, language=language)
    writer = None
    try:
        for image, seconds in _film(figure, first, trace.steps if last is None else last, size, MP4_FPS):
            if writer is None:
                writer = ffmpeg.write_frames(
                    str(path), (image.width(), image.height()), fps=MP4_FPS, quality=8, macro_block_size=2
                )
                writer.send(None)
            pixels = _pillow(image).tobytes()
            for _ in range(max(1, round(seconds * MP4_FPS))):
                writer.send(pixels)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error}") from error
    finally:
        if writer is not None:
            writer.close()
    del app


def _film(
    figure: Figure, first: int, last: int, size: tuple[int, int] | None, fps: int
) -> Iterator[tuple[QImage, float]]:
    """Images and how many seconds each stands: motion in frames of 1 / fps, then the step at rest."""
    moves = round(MOVE_SECONDS * fps) if last - first <= MANY else 0
    size = size or _film_size(figure, first, 1.5, 1920)
    for step in range(first, last + 1):
        for k in range(moves if step > first else 0):
            yield draw(figure.frame(step, k / moves), size), 1 / fps
        yield draw(figure.frame(step, 1.0), size), HOLD_SECONDS


def _film_size(figure: Figure, first: int, density: float, longest: float) -> tuple[int, int]:
    """Even numbers, as video wants them."""
    _, _, w, h = figure.frame(first, 1.0).box
    scale = min(density, longest / w, longest / h)
    return 2 * max(1, round(w * scale / 2)), 2 * max(1, round(h * scale / 2))


def _pillow(image: QImage) -> Image.Image:
    plain = image.convertToFormat(QImage.Format.Format_RGB888)
    return Image.frombuffer(
        "RGB", (plain.width(), plain.height()), bytes(plain.constBits()), "raw", "RGB", plain.bytesPerLine(), 1
    )

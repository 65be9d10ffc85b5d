"""The command line. Each command imports only what it needs, so that the window opens at once.

Exit status: 0, or 1 for a file that cannot be read or written, or 2 for bad use; `record` gives that of the program.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gradviz import __version__

if TYPE_CHECKING:
    from gradviz.player.lessons import Lesson
    from gradviz.trace import Trace

COMMANDS = ("record", "info", "export", "lesson", "desktop")
_PRINTING = ("info", "lesson")
VALUES = ("auto", "all", "none")
_TEXTS = ("svg", "html", "dot", "json", "graphml")
_PICTURES = ("png", "pdf", "gif", "mp4")
SUFFIXES = (*_TEXTS, *_PICTURES)
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
_USAGE = """gradviz [FILE.py | FILE.gradviz | LESSON.md]
       gradviz record PROG.py [ARGS ...] -o OUT.gradviz [--values auto|all|none]
       gradviz info FILE [--json]
       gradviz export FILE -o OUT.{svg,png,pdf,html,gif,mp4,dot,json,graphml} [--step N]
       gradviz export FILE -o OUT.pdf --handout [--per-page 1|2]
       gradviz lesson check LESSON.md ...
       gradviz lesson steps FILE.{py,md,gradviz}
       gradviz desktop {install,remove}
       gradviz --diagnose"""


class UsageError(Exception):
    """The command line cannot be followed; the text says why in one sentence."""


class FileError(Exception):
    """A file cannot be read or written; the text says why in one sentence."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message[:1].upper() + message[1:] + ".")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[0] if words and words[0] in COMMANDS else ""
    run: Callable[[list[str]], int] = _RUN.get(command, _open)
    if command in _PRINTING and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may be in letters that a terminal lacks
    try:
        return run(words[1:] if command else words)
    except UsageError as error:
        print(f"gradviz: {error} See gradviz --help.", file=sys.stderr)
        return 2
    except FileError as error:
        print(f"gradviz: {error}", file=sys.stderr)
        return 1


def _say(text: str) -> None:
    """Print. Where nobody reads on (`gradviz info x | head`), that is the end, and no error.

    Raises:
        FileError: what is printed goes to a file that cannot be written.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would flush once more, and complain
        if not isinstance(error, BrokenPipeError):
            raise FileError(f"The output cannot be written: {error.strerror}.") from error


# ---- the window


def _open(words: list[str]) -> int:
    parser = _Parser(prog="gradviz", usage=_USAGE, description="A desktop microscope for PyTorch's autograd.")
    parser.add_argument("file", nargs="?", help="a program (.py) or a lesson (.md) to record, or a recording to show")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--diagnose", action="store_true", help="print what this installation consists of")
    options = parser.parse_args(words)
    if options.version:
        print(f"gradviz {__version__}")
        return 0
    if options.diagnose:
        print(_diagnosis())
        return 0
    if options.file is not None:
        path = Path(options.file)
        if path.suffix not in {".py", ".gradviz", ".md"}:
            raise UsageError(f"{options.file} is no program (.py), no recording (.gradviz) and no lesson (.md).")
        if not path.is_file():
            raise FileError(f"There is no file {options.file}.")
    if sys.platform == "linux" and not any(map(os.environ.get, _SCREENS)):
        raise FileError("There is no screen here to show a window on; gradviz record and export need none.")
    from gradviz.app.main import main as show

    return int(show(options.file))


# ---- record


def _record(words: list[str]) -> int:
    out, values, program = _record_words(words)
    if not program:
        raise UsageError("The record command needs a program: gradviz record PROG.py -o OUT.gradviz.")
    if out is None:
        raise UsageError("The record command needs -o OUT.gradviz.")
    if not Path(program[0]).is_file():
        raise FileError(f"There is no file {program[0]}.")
    if not Path(out).parent.is_dir():
        raise FileError(f"There is no folder {Path(out).parent}.")
    if Path(out).exists() and Path(out).samefile(program[0]):
        raise FileError(f"The recording would take the place of the program {program[0]}.")
    try:
        with Path(out).open("ab"):
            pass
    except OSError as error:
        raise FileError(f"{out} cannot be written: {error.strerror}.") from error
    import runpy

    sys.argv = ["gradviz.recorder", "--values", values, "-o", out, *program]
    try:
        runpy.run_module("gradviz.recorder", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return _status(end.code)
    return 0


def _status(code: object) -> int:
    """Exit status as Python itself would give it."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _record_words(words: list[str]) -> tuple[str | None, str, list[str]]:
    """`-o` and `--values` may stand before the program or, where not yet given, after it; all else after it is its own.
    What follows `--` is the program's alone."""
    out: str | None = None
    values: str | None = None
    program: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--" and not program:
            program.extend(rest)
        elif word in {"-h", "--help"} and not program:
            print(f"usage: {_USAGE}")
            raise SystemExit(0)
        elif word in {"-o", "--output"} and out is None:
            out = _next(rest, word)
        elif word.startswith("--output=") and out is None:
            out = word.partition("=")[2]
        elif (word == "--values" or word.startswith("--values=")) and values is None:
            values = word.partition("=")[2] or _next(rest, word)
            if values not in VALUES:
                raise UsageError(f"--values is one of {', '.join(VALUES)}, not {values!r}.")
        elif word.startswith("-") and not program:
            raise UsageError(f"The record command has no option {word}.")
        else:
            program.append(word)
    return out, values or "auto", program


def _next(rest: Iterator[str], word: str) -> str:
    value = next(rest, None)
    if not value:
        raise UsageError(f"{word} needs a value.")
    return value


# ---- info


def _info(words: list[str]) -> int:
    parser = _Parser(prog="gradviz info", description="Say what a recording holds.")
    parser.add_argument("file", help="a recording (.gradviz)")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    options = parser.parse_args(words)
    from gradviz.export.info import describe, summary

    trace = _read(options.file)
    _say(json.dumps(describe(trace)) if options.json else summary(trace))
    return 0


def _read(path: str) -> Trace:
    from gradviz.trace import TraceError, open_trace

    try:
        return open_trace(path)
    except TraceError as error:
        raise FileError(str(error)) from error


# ---- export


def _export(words: list[str]) -> int:
    parser = _Parser(prog="gradviz export", description="Write a step, or a film of all steps, into a file.")
    parser.add_argument("file", help="a recording, or a program (.py) or lesson (.md) that is recorded first")
    parser.add_argument("-o", "--output", required=True, help=f"its ending says the format: {', '.join(SUFFIXES)}")
    parser.add_argument("--step", type=int, help="which step; the last one by default")
    parser.add_argument("--theme", choices=("light", "dark", "projector"), default="light")
    parser.add_argument("--language", choices=("en", "zh"), default="en", help="of the narration")
    parser.add_argument("--handout", action="store_true", help="a PDF to print: steps, questions, answers at the end")
    parser.add_argument("--per-page", type=int, choices=(1, 2), default=1, help="steps on a page of the handout")
    options = parser.parse_args(words)
    kind = Path(options.output).suffix.lstrip(".").lower()
    if kind not in SUFFIXES:
        raise UsageError(f"{options.output} ends in none of {', '.join(SUFFIXES)}.")
    if options.handout and kind != "pdf":
        raise UsageError("A handout is a PDF: its name ends in .pdf.")
    if options.file.endswith(".md"):
        lesson = _sound_lesson(options.file)
        trace = _rehearsed(lesson)
    else:
        lesson = None
        trace = _recorded(options.file) if options.file.endswith(".py") else _read(options.file)
    step = options.step
    if step is not None and not 0 <= step <= trace.steps:
        raise UsageError(f"There is no step {step}: this recording has steps 0 to {trace.steps}.")
    if options.handout:
        _write_handout(trace, options.output, options.theme, options.language, options.per_page)
    elif kind in _TEXTS:
        _write_text(trace, kind, options.output, step, options.theme, options.language, lesson)
    else:
        _write_picture(trace, kind, options.output, step, options.theme, options.language)
    return 0


def _write_text(
    trace: Trace, kind: str, path: str, step: int | None, theme: str, language: str, lesson: Lesson | None
) -> None:
    at = step if step is not None else 0 if lesson else trace.steps
    try:
        Path(path).write_text(_text(trace, kind, at, theme, language, lesson), "utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}.") from error


def _text(trace: Trace, kind: str, step: int, theme: str, language: str, lesson: Lesson | None) -> str:
    if kind == "svg":
        from gradviz.export.svg import to_svg

        return to_svg(trace, step, theme=theme, language=language)
    if kind == "html":
        from gradviz.export.html import TooLong, to_html

        try:
            mode = lesson.view if lesson else "both"
            return to_html(trace, step=step, theme=theme, mode=mode, language=language, lesson=lesson)
        except TooLong as error:
            raise FileError(str(error)) from error
    if kind == "dot":
        from gradviz.export.dot import to_dot

        return to_dot(trace, step)
    if kind == "graphml":
        from gradviz.export.graphml import to_graphml

        return to_graphml(trace, step)
    from gradviz.export.json_ import to_json

    return to_json(trace, step)


def _write_handout(trace: Trace, path: str, theme: str, language: str, per_page: int) -> None:
    from gradviz.app.handout import to_handout
    from gradviz.app.raster import ExportError

    try:
        to_handout(trace, path, theme, language=language, per_page=per_page)
    except ExportError as error:
        raise FileError(str(error)) from error


def _write_picture(trace: Trace, kind: str, path: str, step: int | None, theme: str, language: str) -> None:
    """A film goes from the first step to `step`."""
    from gradviz.app import raster

    at = trace.steps if step is None else step
    try:
        if kind == "png":
            raster.to_png(trace, at, path, theme=theme, language=language)
        elif kind == "pdf":
            raster.to_pdf(trace, at, path, theme=theme, language=language)
        elif kind == "gif":
            raster.to_gif(trace, path, last=at, theme=theme, language=language)
        else:
            raster.to_mp4(trace, path, last=at, theme=theme, language=language)
    except raster.ExportError as error:
        raise FileError(str(error)) from error


def _recorded(program: str) -> Trace:
    """Record a program into a file that is deleted again. A program that fails still has a recording."""
    if not Path(program).is_file():
        raise FileError(f"There is no file {program}.")
    with tempfile.TemporaryDirectory(prefix="gradviz-") as folder:
        path = Path(folder) / "recording.gradviz"
        command = [sys.executable, "-m", "gradviz.recorder", "-o", str(path), program]
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
        if not path.exists():
            raise FileError(f"{program} could not be recorded: the recorder ended with status {status}.")
        return _read(str(path))


# ---- lesson


def _lesson(words: list[str]) -> int:
    parser = _Parser(prog="gradviz lesson", description="Help for those who write lessons; docs/lessons.md tells how.")
    parser.add_argument("what", choices=("check", "steps"), help="say what is wrong with lessons, or list selectors")
    parser.add_argument("files", nargs="+", help="lessons (.md); for steps also programs (.py) and recordings")
    options = parser.parse_args(words)
    return max((_check_lesson if options.what == "check" else _list_steps)(file) for file in options.files)


def _sound_lesson(path: str) -> Lesson:
    """A lesson that can be shown.

    Raises:
        FileError: it cannot; the text says why.
    """
    from gradviz.player.lessons import LessonError

    try:
        return _read_lesson(path)
    except LessonError as error:
        raise FileError(f"{path} is no lesson: {error}") from error


def _check_lesson(path: str) -> int:
    from gradviz.player.lesson_check import check
    from gradviz.player.lessons import LessonError

    try:
        lesson = _read_lesson(path)
        problems = check(lesson, _rehearsed(lesson))
    except LessonError as error:
        problems = error.problems
    for problem in problems:
        _say(f"{path}:{problem.line}: {problem.text}")
    if not problems:
        count = len(lesson.checkpoints)
        _say(f"{path}: {count} checkpoint{'s' if count != 1 else ''}, nothing is wrong.")
    return 1 if problems else 0


def _read_lesson(path: str) -> Lesson:
    from gradviz.player.lessons import load

    try:
        return load(path)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} cannot be read: it is not UTF-8.") from error


def _rehearsed(lesson: Lesson) -> Trace:
    from gradviz.app.rehearse import RehearsalError, rehearse
    from gradviz.player.program import Program

    try:
        return rehearse(Program(lesson.program, lesson.program_name), lesson.actions)
    except RehearsalError as error:
        raise FileError(f"{lesson.path} cannot be recorded: {error}") from error


def _list_steps(path: str) -> int:
    from gradviz.player.lesson_steps import describe

    if path.endswith(".md"):
        trace = _rehearsed(_sound_lesson(path))
    else:
        trace = _recorded(path) if path.endswith(".py") else _read(path)
    spans = [trace.span(step) for step in range(trace.steps + 1)]
    lines = [f"{k:>5}  {span[1] if span else '':>5}  {describe(trace, k)}" for k, span in enumerate(spans)]
    _say("\n".join(lines))
    return 0


# ---- desktop


def _desktop(words: list[str]) -> int:
    parser = _Parser(prog="gradviz desktop", description="An entry, a file type and an icon on a Linux desktop.")
    parser.add_argument("what", choices=("install", "remove"))
    options = parser.parse_args(words)
    if sys.platform in ("win32", "darwin"):
        raise UsageError("The desktop command is for Linux.")
    from gradviz import desktop

    try:
        paths = desktop.install() if options.what == "install" else desktop.remove()
    except OSError as error:
        raise FileError(f"{error.filename} cannot be written: {error.strerror}.") from error
    for path in paths:
        print(path)
    return 0


# ---- diagnose


def _diagnosis() -> str:
    from importlib.metadata import PackageNotFoundError, version
    from platform import platform, python_version

    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "missing"

    packages = ("PySide6-Essentials", "numpy", "msgspec", "zstandard", "networkx", "pyqtgraph", "ziamath", "pillow")
    rows = [("gradviz", __version__), ("python", f"{python_version()} ({sys.executable})"), ("system", platform())]
    rows += [(package, of(package)) for package in packages]
    rows += [("torch", _torch()), *_qt(), *_paths()]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in rows)


def _torch() -> str:
    """Asked in a process of its own: this one never imports it."""
    ask = (
        "import torch; a = getattr(torch, 'accelerator', None); "
        "print(torch.__version__, 'accelerator', a.current_accelerator() if a and a.is_available() else 'none')"
    )
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return answer.stdout.strip()
    last = answer.stderr.strip().rsplit("\n", 1)[-1] or f"status {answer.returncode}"
    return f"cannot be imported by {sys.executable}: {last}"


def _qt() -> list[tuple[str, str]]:
    try:
        from gradviz.app.fonts import load_fonts
        from gradviz.app.places import folder
        from gradviz.app.raster import application
    except ImportError as error:
        return [("Qt", f"cannot be loaded: {error}")]
    app = application()
    fonts = ", ".join(load_fonts()) or "none bundled"
    return [("Qt platform", app.platformName()), ("fonts", fonts), ("settings", str(folder()))]


def _paths() -> list[tuple[str, str]]:
    from gradviz import assets

    try:
        return [("resources", str(assets.folder()))]
    except FileNotFoundError as error:
        return [("resources", str(error))]


_RUN: dict[str, Callable[[list[str]], int]] = {
    "record": _record,
    "info": _info,
    "export": _export,
    "lesson": _lesson,
    "desktop": _desktop,
}

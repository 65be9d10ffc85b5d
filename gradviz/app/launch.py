"""Starts the recorder's process. Knows nothing of Qt, so that it can run before Qt is imported."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from gradviz.app.setups import remembered
from gradviz.player.program import Program
from gradviz.player.setup import split

PACKAGE = str(Path(__file__).resolve().parents[1])
BOOT = """
import os, runpy, sys
from importlib.util import module_from_spec, spec_from_file_location
root = sys.argv.pop(1)
spec = spec_from_file_location("gradviz", os.path.join(root, "__init__.py"), submodule_search_locations=[root])
sys.modules["gradviz"] = module = module_from_spec(spec)
spec.loader.exec_module(module)
runpy.run_module("gradviz.recorder", run_name="__main__", alter_sys=True)
"""
"""Gives any interpreter this recorder, and nothing else of ours: the folder that gradviz is installed in may hold
packages that were made for another Python. A package of that name which is installed there stands back."""

LIVE_EVENTS = 1_000_000
"""A window takes about 1 kB for each, so that a recording beyond this would take more memory than many machines have to
spare. `gradviz record` goes on to `recorder.MAX_EVENTS`."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A recorder that was started, with what has to be tidied away after it."""

    process: subprocess.Popen[bytes]
    program: Program
    folder: tempfile.TemporaryDirectory[str]
    errors: Path
    """What the recorder itself wrote on standard error."""

    def kill(self) -> None:
        """End the recorder, and what it started, without waiting for that."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def end(self) -> None:
        """End the recorder, and what it started; wait for it, a second at most."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)

    def tidy(self, *, silent: bool = True) -> None:
        """Close its output, unless somebody may still be reading it, and remove what was written for it."""
        if silent and self.process.stdout is not None:
            self.process.stdout.close()
        self.folder.cleanup()

    def complaint(self, limit: int = 2000) -> str:
        """The end of what the recorder wrote on standard error."""
        try:
            return self.errors.read_bytes()[-limit:].decode("utf-8", "replace").strip()
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a window is to show first: a program, perhaps with its recorder on the way, or a file."""

    path: str | None = None
    program: Program | None = None
    launched: Launched | None = None
    problem: str | None = None
    """Why the file cannot be shown."""


def read_program(path: str) -> Program:
    """The program in a file, read with the encoding that it declares.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not text in the encoding that it declares.
    """
    try:
        with tokenize.open(path) as file:
            text = file.read()
    except SyntaxError as error:
        raise ValueError(str(error)) from error
    return Program(text, Path(path).name, path, saved=text, setup=remembered(path))


def launch(program: Program, *, device: str = "cpu", extra: tuple[str, ...] = ()) -> Launched:
    """Start recording a program in a process of its own, with its setup; `extra` are more options of the recorder.

    Raises:
        OSError: the interpreter cannot be started, or its folder is not there.
        ValueError: the arguments cannot be split.
    """
    setup = program.setup
    arguments = split(setup.arguments)
    folder = tempfile.TemporaryDirectory(prefix="gradviz-", ignore_cleanup_errors=True)
    errors = Path(folder.name) / "stderr.txt"
    source, shown = _file_of(program, Path(folder.name))
    command = [setup.python or sys.executable, "-c", BOOT, PACKAGE, "--live", "--display-path", shown]
    command += ["--max-events", str(LIVE_EVENTS)]
    if program.form is None and device != "cpu":
        command += ["--device", device]
    command += extra
    if setup.reads:
        reads = Path(folder.name) / "stdin.txt"
        reads.write_text(setup.reads if setup.reads.endswith("\n") else f"{setup.reads}\n", "utf-8")
        command += ["--stdin", str(reads)]
    try:
        with errors.open("wb") as sink:
            process = subprocess.Popen(
                [*command, str(source), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                bufsize=0,
                cwd=_home(program),
                start_new_session=os.name == "posix",
            )
    except OSError:
        folder.cleanup()
        raise
    return Launched(process, program, folder, errors)


def _file_of(program: Program, folder: Path) -> tuple[Path, str]:
    """The file to run, and the name to show: a person's file itself where it holds the text, else a copy."""
    if program.path and program.text == program.saved:
        return Path(program.path).resolve(), program.path
    copy = folder / program.file_name
    copy.write_text(program.text, "utf-8")
    return copy, program.path or program.file_name


def _home(program: Program) -> str | None:
    if program.setup.folder:
        return program.setup.folder
    parent = Path(program.path).resolve().parent if program.path else None
    return str(parent) if parent and parent.is_dir() else None

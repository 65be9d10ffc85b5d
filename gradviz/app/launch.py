"""Starts the recorder's process. Knows nothing of Qt, so that it can run before Qt is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from gradviz.player.program import Program

_ROOT = str(Path(__file__).resolve().parents[2])
BOOT = """
import runpy, sys
from importlib.util import find_spec
root = sys.argv.pop(1)
try:
    found = find_spec("gradviz.recorder")
except ImportError:
    found = None
if found is None:  # not installed there, or another package has the name
    sys.modules.pop("gradviz", None)
    sys.path.insert(1, root)
runpy.run_module("gradviz.recorder", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True, slots=True)
class Launched:
    """A recorder that was started, with what has to be tidied away after it."""

    process: subprocess.Popen[bytes]
    program: Program
    folder: tempfile.TemporaryDirectory[str]
    errors: Path
    """What the recorder itself wrote on standard error."""

    def complaint(self, limit: int = 2000) -> str:
        """The end of what the recorder wrote on standard error."""
        try:
            return self.errors.read_bytes()[-limit:].decode("utf-8", "replace").strip()
        except OSError:
            return ""


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
    return Program(text, Path(path).name, path, saved=text)


def launch(program: Program, *, device: str = "cpu", python: str | None = None) -> Launched:
    """Start recording a program in a process of its own, in the folder of its file.

    Raises:
        OSError: the interpreter cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="gradviz-", ignore_cleanup_errors=True)
    errors = Path(folder.name) / "stderr.txt"
    source, shown = _file_of(program, Path(folder.name))
    command = [python or sys.executable, "-c", BOOT, _ROOT, "--live", "--display-path", shown]
    if program.form is None and device != "cpu":
        command += ["--device", device]
    try:
        with errors.open("wb") as sink:
            process = subprocess.Popen(
                [*command, str(source)],
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
    parent = Path(program.path).resolve().parent if program.path else None
    return str(parent) if parent and parent.is_dir() else None

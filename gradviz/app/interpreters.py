"""Pythons on this machine that could run a program, and what each of them lacks for it. Starts nothing by itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["own", "active", "conda", "beside", "pyenv", "system", "chosen"]
Problem = Literal["", "broken", "python_old", "torch_missing", "torch_old", "needs"]
OLDEST_PYTHON = (3, 11)
OLDEST_TORCH = (2, 6)
NEEDS = {"msgspec": (0, 19), "zstandard": (0, 22), "executing": (2, 1), "numpy": (1, 26)}
"""What the recorder needs beside torch, and the oldest version of each that will do."""
PROBE = """
import json, sys
told = {"python": list(sys.version_info[:3]), "found": {}, "pip": False}
try:
    from importlib.util import find_spec
    from importlib.metadata import version
except ImportError:
    find_spec = None
def text_of(spec):
    try:
        with open(spec.origin.replace("__init__.py", "version.py")) as file:
            return file.read(4000)
    except Exception:
        return ""
for name in sys.argv[1:] if find_spec else ():
    try:
        spec = find_spec(name)
    except Exception:
        spec = None
    if spec is None or spec.origin is None:
        continue
    try:
        told["found"][name] = version(name) or ""
    except Exception:
        told["found"][name] = text_of(spec)
try:
    told["pip"] = find_spec is not None and find_spec("pip") is not None
except Exception:
    pass
sys.stdout.write(json.dumps(told))
"""
"""Run by the interpreter in question, whatever its age. Imports none of the packages: that would take seconds."""
_ENVIRONMENTS = (".venv", "venv", "env")
_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(20, OLDEST_PYTHON[1] - 1, -1)))


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and how it came to be known."""

    path: str
    kind: Kind
    name: str
    """Short: the name of its environment, or of its file."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a probe has found out."""

    problem: Problem = ""
    python: str = ""
    torch: str = ""
    lacking: tuple[str, ...] = ()
    """Packages that are missing or too old, torch among them."""
    line: str = ""
    """What to type in a shell so that it will do; "" where that would not help."""


# ---- finding


def find(program: str | None, environ: Mapping[str, str], home: Path) -> list[Interpreter]:
    """Known interpreters, each once, gradviz's own first. `program`: path of the program's file."""
    found: list[Interpreter] = []
    seen: set[str] = set()
    for candidate in _candidates(program, environ, home):
        key = _identity(candidate.path)
        if key is not None and key not in seen:
            seen.add(key)
            found.append(candidate)
    return found


def _candidates(program: str | None, environ: Mapping[str, str], home: Path) -> Iterator[Interpreter]:
    yield Interpreter(sys.executable, "own", name_of(sys.executable))
    kinds: tuple[tuple[str, Kind], ...] = (("VIRTUAL_ENV", "active"), ("CONDA_PREFIX", "conda"))
    for variable, kind in kinds:
        if named := environ.get(variable):
            yield from _inside(Path(named), kind)
    if program is not None:
        folder = Path(program).resolve().parent
        for above in (folder, *folder.parents):
            for name in _ENVIRONMENTS:
                if (above / name / "pyvenv.cfg").is_file():
                    yield from _inside(above / name, "beside")
            if (above / ".git").exists() or above == home:
                break
    for place in _conda_environments(home):
        yield from _inside(place, "conda")
    versions = Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    for place in sorted(_folders(versions), key=lambda path: _numbers(path.name), reverse=True):
        yield from _inside(place, "pyenv")
    for name in _NAMES:
        path = shutil.which(name, path=environ.get("PATH", ""))
        if path and Path(path).parent.name != "shims":  # of pyenv: which Python that is changes from folder to folder
            yield Interpreter(path, "system", name_of(path))


def _inside(place: Path, kind: Kind) -> Iterator[Interpreter]:
    parts = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python", "bin/python3")
    for part in parts:
        if (place / part).is_file():
            yield Interpreter(str(place / part), kind, place.name)
            return


def _conda_environments(home: Path) -> list[Path]:
    try:
        lines = (home / ".conda" / "environments.txt").read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return []
    return [Path(line) for line in lines if line.strip() and "\0" not in line]


def _folders(place: Path) -> list[Path]:
    try:
        return [path for path in place.iterdir() if path.is_dir()]
    except OSError:
        return []


def _numbers(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


def _identity(path: str) -> str | None:
    """Two paths with one identity are one Python: an environment is itself, though its binary is a link to another."""
    try:
        if not os.access(path, os.X_OK):
            return None
        place = Path(path).parent.parent
        resolved = place if (place / "pyvenv.cfg").is_file() else Path(path)
        return str(resolved.resolve())
    except (OSError, ValueError, RuntimeError):
        return None


def name_of(path: str) -> str:
    """What a Python is called: its environment, or its file."""
    place = Path(path).parent.parent
    return place.name if (place / "pyvenv.cfg").is_file() else Path(path).name


# ---- judging


def command(path: str) -> list[str]:
    """What to run for `judge` to read."""
    return [path, "-c", PROBE, "torch", *NEEDS]


def judge(path: str, output: bytes) -> Report:
    """What the output of `command(path)` means; no output: it is broken, or no Python."""
    try:
        told = json.loads(output)
        version: list[int] = [int(part) for part in told["python"]]
        found = {str(name): str(text) for name, text in told["found"].items()}
        pip = bool(told["pip"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Report("broken")
    python = ".".join(map(str, version))
    torch = shown_version(found.get("torch", ""))
    oldest = {"torch": OLDEST_TORCH, **NEEDS}
    lacking = tuple(name for name in oldest if name not in found or _older(found[name], oldest[name]))
    report: dict[str, Any] = {"python": python, "torch": torch, "lacking": lacking}
    if tuple(version[:2]) < OLDEST_PYTHON:
        return Report("python_old", **report)
    if not lacking:
        return Report("", **report)
    problem: Problem = "needs"
    if "torch" in lacking:
        problem = "torch_old" if "torch" in found else "torch_missing"
    return Report(problem, line=install_line(path, lacking, found, pip=pip), **report)


def install_line(path: str, lacking: tuple[str, ...], found: Mapping[str, str], *, pip: bool) -> str:
    """One line for a shell that installs what the recorder needs there."""
    wanted = ["torch"] if "torch" in lacking else []
    if set(lacking) & set(NEEDS):
        wanted += NEEDS
    python = shlex.quote(path) if os.name == "posix" else f'"{path}"'
    upgrade = "--upgrade " if set(lacking) & set(found) else ""
    before = "" if pip else f"{python} -m ensurepip && "
    return f"{before}{python} -m pip install {upgrade}{' '.join(wanted)}"


def shown_version(text: str) -> str:
    """ "2.13.0" out of "2.13.0+cpu", or out of a `version.py`."""
    match = re.search(r"\d+(\.\d+)+", text)
    return match.group() if match else ""


def _older(text: str, oldest: tuple[int, ...]) -> bool:
    """A version that cannot be read is taken as new enough: only a run can tell."""
    shown = shown_version(text)
    return bool(shown) and tuple(int(part) for part in shown.split("."))[: len(oldest)] < oldest

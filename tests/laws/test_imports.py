"""Who may import whom. Read from the source, so that imports inside functions and under TYPE_CHECKING count too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gradviz"

# Part of gradviz -> parts of gradviz, and packages from elsewhere, that it may import. A new part needs a row here.
ALLOWED: dict[str, set[str]] = {
    "trace": {"numpy", "msgspec", "zstandard"},
    "recorder": {"gradviz", "trace", "torch", "numpy", "msgspec", "executing"},
    "graph": {"trace", "networkx", "numpy", "msgspec"},
    "explain": {"gradviz", "assets", "trace", "graph", "numpy"},
    "player": {"trace", "graph", "numpy"},
    "scene": {"gradviz", "assets", "trace", "graph", "explain", "player", "numpy"},
    "session": {"trace", "graph", "explain", "player", "scene"},
    "settings": {"trace", "graph", "explain", "player", "scene", "session", "platformdirs"},
    "teaching": {"trace", "graph", "explain", "player", "scene", "session"},
    "runs": {"trace", "player", "session"},
    "actions": {"gradviz", "runs", "teaching", "trace", "graph", "explain", "player", "scene", "session", "settings"},
    "assets": set(),
    "desktop": {"gradviz", "assets"},
    "export": {"gradviz", "assets", "trace", "graph", "explain", "player", "scene", "numpy", "pygments"},
    "notebook": {"trace", "scene", "export", "assets", "IPython"},
    "app": {
        "gradviz", "assets", "trace", "graph", "explain", "player", "scene", "session", "settings", "actions", "export",
        "PySide6", "shiboken6", "numpy", "PIL", "pygments", "ziamath", "rapidfuzz", "platformdirs", "imageio_ffmpeg",
        "msgspec",
    },
    "cli": {"gradviz", "assets", "desktop", "trace", "player", "export", "app"},
    "gradviz": {"trace", "recorder", "notebook"},
    "__main__": {"cli"},
}  # fmt: skip
EXTRA: dict[str, set[str]] = {"app/plots.py": {"pyqtgraph"}}
"""Single files that may import one thing more."""


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    if relative.name == "__init__.py" and len(relative.parts) == 1:
        return "gradviz"
    return relative.parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, those by `import_module("…")` and `__import__("…")` included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            if node.module == "gradviz":
                yield from ((node.lineno, f"gradviz.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def part_imported(name: str) -> str:
    top, _, rest = name.partition(".")
    if top != "gradviz":
        return top
    first = rest.partition(".")[0]
    known = first and ((PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").exists())
    return first if known else "gradviz"


def offences(path: Path, source: str) -> list[str]:
    part = part_of(path)
    relative = path.relative_to(PACKAGE).as_posix()
    if part not in ALLOWED:
        return [f"{relative}: {part!r} has no row in the table of who may import whom"]
    allowed = ALLOWED[part] | EXTRA.get(relative, set()) | {part}
    return [
        f"{relative}:{line} imports {name}"
        for line, name in imported(ast.parse(source))
        if (target := part_imported(name)) not in allowed and target not in sys.stdlib_module_names
    ]


def test_every_import_is_allowed() -> None:
    found = [line for path in sorted(PACKAGE.rglob("*.py")) for line in offences(path, path.read_text("utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("app/window.py", "def f():\n    import torch\n"),
        (
            "app/window.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gradviz.recorder import record\n",
        ),
        ("app/canvas.py", "import pyqtgraph\n"),
        ("recorder/core.py", "from PySide6 import QtCore\n"),
        ("trace/trace.py", "import gradviz.graph.model\n"),
        ("scene/cards.py", "import importlib\nimportlib.import_module('networkx')\n"),
        ("export/svg.py", "from gradviz import app\n"),
        ("newcomer/x.py", "import os\n"),
        ("trace/values.py", "import requests\n"),
    ],
)
def test_the_law_bites(file: str, source: str) -> None:
    assert offences(PACKAGE / file, source)


def test_plots_may_use_pyqtgraph() -> None:
    assert not offences(PACKAGE / "app/plots.py", "import pyqtgraph\n")


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("gradviz", ("torch", "PySide6", "numpy", "msgspec", "networkx")),
        ("gradviz.trace", ("torch", "PySide6", "networkx", "pyqtgraph", "PIL")),
        ("gradviz.recorder", ("PySide6", "networkx", "pyqtgraph", "gradviz.app", "gradviz.scene")),
        ("gradviz.session", ("torch", "PySide6")),
        ("gradviz.actions", ("torch", "PySide6")),
        ("gradviz.app.window", ("torch", "gradviz.recorder", "networkx", "pyqtgraph", "ziamath", "pygments")),
    ],
)
def test_loading_brings_in_nothing_else(module: str, absent: tuple[str, ...]) -> None:
    code = f"import {module}, sys; print([name for name in {absent!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"

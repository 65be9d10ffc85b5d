"""Small programs recorded on the spot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.trace import Trace, open_trace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def record_text(tmp_path: Path) -> Callable[[str], Trace]:
    """Records the text of a program, whether it raises or not."""

    def record(text: str) -> Trace:
        program, out = tmp_path / "program.py", tmp_path / "out.gradviz"
        program.write_text(text)
        command = [sys.executable, "-m", "gradviz.recorder", "-o", str(out), str(program)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert out.exists(), ran.stderr
        return open_trace(out)

    return record


_MANY = """
import os, runpy, sys
import torch, gradviz.recorder.process
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        sys.argv = ["gradviz.recorder", "-o", name + ".gradviz", name + ".py"]
        runpy.run_module("gradviz.recorder", run_name="__main__", alter_sys=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def record_many(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[Trace]]:
    """Records texts of programs, each in a process of its own, with PyTorch imported once for all of them."""

    def record(texts: list[str]) -> list[Trace]:
        folder = tmp_path_factory.mktemp("many")
        names = [str(folder / f"p{k}") for k in range(len(texts))]
        for name, text in zip(names, texts, strict=True):
            Path(f"{name}.py").write_text(text, "utf-8")
        ran = subprocess.run(
            [sys.executable, "-c", _MANY, *names], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert all(Path(f"{name}.gradviz").exists() for name in names), ran.stderr
        return [open_trace(f"{name}.gradviz") for name in names]

    return record

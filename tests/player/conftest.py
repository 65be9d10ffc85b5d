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

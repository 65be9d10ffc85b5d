"""What recording a script costs over running it, beside what is recorded: the start of the recorder."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import ROOT

PROGRAM = "import torch\nw = torch.ones(3, requires_grad=True)\n(w * 2).sum().backward()\n"
SECONDS = 0.3


def took(folder: Path, *words: str) -> float:
    """Seconds of processor time: the machine may be busy with something else."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_the_start_of_the_recorder(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    plain, recorded = [], []
    for _ in range(7):
        plain.append(took(tmp_path, "program.py"))
        recorded.append(took(tmp_path, "-m", "gradviz", "record", "program.py", "-o", "program.gradviz"))
    assert min(recorded) - min(plain) < SECONDS

"""PySide6 6.12.0 on Python 3.11 takes one reference off None with every call that returns None, and then aborts."""

from __future__ import annotations

import subprocess
import sys

CALLS = 20_000
CODE = f"""
import sys
from PySide6.QtCore import QObject
thing = QObject()
before = sys.getrefcount(None)
for _ in range({CALLS}):
    thing.setObjectName("x")
    thing.parent()
print(sys.getrefcount(None) - before)
"""


def test_calls_that_return_none_keep_their_reference() -> None:
    """In a process of its own: where it fails, it takes the process with it."""
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"Qt aborted: {ran.stderr}"
    assert abs(int(ran.stdout)) < CALLS // 100

"""The public names."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.trace import open_trace, write_trace
from gradviz.trace.events import Event
from tests.scene.one_layer import recording


def test_open_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.gradviz"
    write_trace(path, [event for event in recording().events if isinstance(event, Event)])
    assert gradviz.open(path).steps == recording().steps


@pytest.mark.parametrize("content", [b"", b"no recording", b"\x28\xb5\x2f\xfd" * 10])
def test_what_cannot_be_read_is_a_trace_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gradviz"
    path.write_bytes(content)
    with pytest.raises(gradviz.TraceError):
        gradviz.open(path)
    with pytest.raises(gradviz.TraceError):
        gradviz.open(tmp_path / "none.gradviz")


def test_show_starts_a_window_on_a_file_and_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    gradviz.show(recording())
    ((python, *words, path),) = started
    assert python == sys.executable and words == ["-m", "gradviz"]
    assert open_trace(path).steps == recording().steps
    Path(path).unlink()


def test_show_refuses_what_is_no_recording() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="takes a Trace, not int"):
        gradviz.show(wrong)


def test_unknown_names_are_attribute_errors() -> None:
    assert {"record", "open", "show", "Trace", "TraceError"} <= set(dir(gradviz))
    name = "nonsense"
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(gradviz, name)


def test_importing_is_nothing() -> None:
    """Time only as a guard against something heavy: the law of imports names what must not come in."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import gradviz"], check=True)
    assert time.perf_counter() - start < 5

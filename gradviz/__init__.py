"""gradviz: record a PyTorch program once and step through what autograd did.

The public names are imported when they are first used: `import gradviz` alone imports nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from gradviz.recorder import record
    from gradviz.trace import Trace, TraceError

__version__ = "0.1.0"
__all__ = ["Trace", "TraceError", "__version__", "open", "record", "show"]

_HOMES = {"Trace": "gradviz.trace", "TraceError": "gradviz.trace", "record": "gradviz.recorder"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gradviz' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    _let_traces_display()
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def open(path: str | os.PathLike[str]) -> Trace:  # noqa: A001
    """Read a `.gradviz` recording. Opening one runs nothing; a damaged one opens up to its last good part.

    Raises:
        TraceError: the file cannot be read as a recording.
    """
    from gradviz.trace import open_trace

    _let_traces_display()
    return open_trace(path)


def show(trace: Trace) -> None:
    """Show a recording in a window of its own process, and return at once.

    Raises:
        TypeError: `trace` is no recording.
    """
    import os
    import subprocess
    import sys
    import tempfile

    from gradviz.trace import SUFFIX, Trace, write_trace
    from gradviz.trace.events import Event

    if not isinstance(trace, Trace):
        raise TypeError(f"gradviz.show takes a Trace, not {type(trace).__name__}: record with gradviz.record() first.")
    handle, path = tempfile.mkstemp(suffix=SUFFIX, prefix="gradviz-")
    os.close(handle)
    write_trace(path, (event for event in trace.events if isinstance(event, Event)))
    subprocess.Popen([sys.executable, "-m", "gradviz", path], stdin=subprocess.DEVNULL, start_new_session=True)


def _let_traces_display() -> None:
    """Tell `Trace`, which knows nothing of drawing, how a notebook shows it."""
    from gradviz.trace import Trace

    Trace.display = staticmethod(_display)


def _display(trace: Trace) -> dict[str, str]:
    from gradviz.notebook import bundle

    return bundle(trace)

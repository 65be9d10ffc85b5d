"""PyTorch to events: `record` inside a program, `python -m gradviz.recorder` around one."""

from gradviz.recorder.recorder import Recorder
from gradviz.recorder.recording import record

__all__ = ["Recorder", "record"]

"""PyTorch to events: `record` inside a program of one's own, `python -m gradviz.recorder` for a program as it stands."""

from gradviz.recorder.record import record
from gradviz.recorder.recorder import Recorder

__all__ = ["Recorder", "record"]

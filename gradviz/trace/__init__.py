"""The language of gradviz: events, the file format, `Trace` and `Frame`. Knows nothing of torch, Qt or drawing."""

from gradviz.trace.codec import Decoder, TraceError, Writer, encode
from gradviz.trace.file import SUFFIX, open_trace, write_trace
from gradviz.trace.frame import STATUSES, Frame, Status
from gradviz.trace.trace import StepKind, Trace
from gradviz.trace.values import NotCaptured, number, shape_text, thumbnail, to_numpy

__all__ = [
    "STATUSES",
    "SUFFIX",
    "Decoder",
    "Frame",
    "NotCaptured",
    "Status",
    "StepKind",
    "Trace",
    "TraceError",
    "Writer",
    "encode",
    "number",
    "open_trace",
    "shape_text",
    "thumbnail",
    "to_numpy",
    "write_trace",
]

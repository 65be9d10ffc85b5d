"""Short names and numbers: how a step, a tensor, a node and a value are called in chips, sentences and tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from pathlib import PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.explain.words import Words
from gradviz.trace import NotCaptured, Trace, number, shape_text, to_numpy
from gradviz.trace.events import Backward, Data, Fault, Grad, NodeRan, Op, Saved, Span, Value

_SHORT = {
    "binary_cross_entropy_with_logits": "bce",
    "binary_cross_entropy": "bce",
    "BinaryCrossEntropyWithLogits": "Bce",
    "BinaryCrossEntropy": "Bce",
    "cross_entropy": "ce",
    "scaled_dot_product_attention": "sdpa",
    "ScaledDotProductFlashAttentionForCpu": "Sdpa",
    "ScaledDotProductEfficientAttention": "Sdpa",
    "ScaledDotProductFlashAttention": "Sdpa",
    "NativeLayerNorm": "LayerNorm",
    "NativeBatchNorm": "BatchNorm",
    "NativeGroupNorm": "GroupNorm",
    "NativeDropout": "Dropout",
}
_GRAD_MARK = {"zero": "zero", "none": "None", "assign": "=", "edit": "edit", "hook": "hook"}


def one_line(text: str) -> str:
    """Source text without its line breaks and indentation."""
    return " ".join(text.split())


@lru_cache(maxsize=1024)
def short_node(name: str) -> str:
    """ "AddBackward0" -> "Add"; the long names of losses and normalisations as people say them."""
    stem = re.sub(r"Backward\w{0,3}$", "", name) or name
    return _SHORT.get(stem, stem)


def tensor_label(trace: Trace, tensor: int) -> str:
    """The tensor's name; for a `.grad` its leaf's; else the expression that made it, else its operation and id."""
    tail, passed = "", {tensor}
    while (owner := trace.grad_tensors.get(tensor, tensor)) not in passed and trace.name(tensor) is None:
        tensor, tail = owner, f"{tail}.grad"
        passed.add(owner)  # a damaged file may lead round in a circle
    return f"{_label(trace, tensor)}{tail}"


def _label(trace: Trace, tensor: int) -> str:
    name = trace.name(tensor)
    if name is not None:
        return name
    told = trace.tensor(tensor)
    if told is None or told.op is None or told.op >= len(trace.ops):
        return f"#{tensor}"
    op = trace.ops[told.op]
    if op.text and len(op.text) <= 28 and "\n" not in op.text and len(op.outputs) == 1:
        return op.text
    return f"{op.name} #{tensor}"


def node_label(trace: Trace, node: int) -> str:
    """The node's name, for an AccumulateGrad with its leaf."""
    told = trace.nodes[node]
    return told.name if told.leaf is None else f"{told.name} · {tensor_label(trace, told.leaf)}"


def step_label(trace: Trace, step: int) -> str:
    """What a chip of the timeline says: "x", "matmul", "seed", "Bce", "b.grad"."""
    event = trace.event_at(step)
    if isinstance(event, Op):
        named = [name for t in event.outputs if (name := trace.name(t))]
        return named[0] if not event.inputs and named else _SHORT.get(event.name, event.name)
    if isinstance(event, Backward):
        return "seed"
    if isinstance(event, NodeRan):
        node = trace.nodes[event.node]
        return f"{tensor_label(trace, node.leaf)}.grad" if node.leaf is not None else short_node(node.name)
    if isinstance(event, Grad):
        mark = _GRAD_MARK.get(event.cause, "")
        return f"{tensor_label(trace, event.tensor)}.grad {mark}".strip()
    if isinstance(event, Fault):
        node_id = event.node
        return f"✖ {short_node(trace.nodes[node_id].name)}" if node_id is not None else "✖"
    return ""


def value_text(data: Data | None, limit: int = 6) -> str:
    """Up to `limit` elements in full, "[0.2661, 0.1179, 0.0027]"; of larger ones shape and norm. "None" for None."""
    if data is None:
        return "None"
    count = int(np.prod(data.shape, dtype=np.float64))
    if len(data.parts) == 2 and np.prod(data.parts[1].shape, dtype=np.float64) <= 2 * limit:
        indices, values = (value_text(part, 2 * limit) for part in data.parts)
        return f"sparse {shape_text(data.shape)}: indices {indices}, values {values}"
    if count <= limit:
        try:
            return _nested(to_numpy(data))
        except NotCaptured:
            return f"{shape_text(data.shape)} {data.dtype}"
    norm = f", ‖·‖\u00a0=\u00a0{number(data.norm)}" if data.norm is not None else ""
    return f"[… {shape_text(data.shape)}{norm}]"


def _nested(array: npt.NDArray[Any]) -> str:
    if array.ndim:
        return "[" + ", ".join(_nested(part) for part in array) + "]"
    value = array.item()
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{number(value.real)}{'+' if value.imag >= 0 else '-'}{number(abs(value.imag))}j"
    return number(float(value))


def saved_data(trace: Trace, node: int, saved: Saved, step: int) -> Data | None:
    """What a saved tensor of a node holds at a step, at the version that was saved: a write behind the version counter
    changes it, other memory given to the tensor later does not. None where no value of it was recorded."""
    history = trace.values.get(saved.tensor) if saved.tensor is not None else None
    if history is None or saved.tensor is None:
        return None
    born = int(trace.node_step.view[node])
    home = trace.tensor(saved.tensor, born)
    for position in range(bisect_right(history.steps, max(step, born)) - 1, -1, -1):
        at, event = history.steps[position], trace.events[history.indexes[position]]
        now = trace.tensor(saved.tensor, at) if at > born else home
        moved = now is not None and home is not None and now.storage != home.storage
        if isinstance(event, Value) and not moved and (saved.version is None or event.version == saved.version):
            return event.data
    return None


def joined(items: list[str], language: str) -> str:
    """A list as it is read out: "a, b and c", "a、b 和 c"."""
    if len(items) < 2:
        return "".join(items)
    comma, last = ("、", " 和 ") if language == "zh" else (", ", " and ")
    return comma.join(items[:-1]) + last + items[-1]


def place(trace: Trace, span: Span | None, language: str) -> str:
    """Where a span is, as part of a sentence: a line of the program or of another file, or an action by its number."""
    return _place("where", trace, span, language)


def spot(trace: Trace, span: Span | None, language: str) -> str:
    """The same to stand alone: "line 3", "action 2"; "" where it is not known."""
    return _place("spot", trace, span, language) if span is not None and span[1] > 0 else ""


def _place(kind: str, trace: Trace, span: Span | None, language: str) -> str:
    words = Words(language)
    if span is None:
        return words(f"say.{kind}.unknown")
    file, line = span[0], span[1]
    cell = trace.cell_of(file)
    if cell:
        return words(f"say.{kind}.sent", number=cell)
    if cell is None and trace.cells and file in trace.files:
        # A recording is read on other systems than the one that made it: this class knows both separators.
        return words(f"say.{kind}.file", line=line, file=PureWindowsPath(trace.files[file].path).name)
    return words(f"say.{kind}.program", line=line)

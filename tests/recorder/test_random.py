"""Random programs of operations, views, in-place writes and passes: the recording says at each line what held."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib
import linecache
import warnings
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.recorder import record
from gradviz.trace import Trace
from tests.recorder.oracle import content

NAMES = ("a", "b", "c", "d", "e")
LEAVES = ("u", "v")
_UNARY = ("sin", "exp", "tanh", "neg", "clone", "detach", "t")
_IN_PLACE = ("mul_(0.5)", "sin_()", "add_(1)", "zero_()")

_name = st.sampled_from(NAMES)
_any = st.sampled_from(NAMES + LEAVES)
LINE = st.one_of(
    st.builds("{} = {}.{}()".format, _name, _any, st.sampled_from(_UNARY)),
    st.builds("{} = {} * {}".format, _name, _any, _any),
    st.builds("{} = {} @ {}".format, _name, _any, _any),
    st.builds("{} = {}[:2]".format, _name, _name),
    st.builds("{}.{}".format, _name, st.sampled_from(_IN_PLACE)),
    st.builds("{}[0] = {}".format, _name, st.sampled_from(["2.0", "u[1]"])),
    st.builds("{}.retain_grad()".format, _name),
    st.builds("{}.register_hook(lambda g: g * 2)".format, _name),
    st.builds("{}.sum().backward(retain_graph={})".format, _any, st.booleans()),
    st.builds("{}.grad = None".format, st.sampled_from(LEAVES)),
    st.builds("{}.grad.zero_()".format, st.sampled_from(LEAVES)),
    st.builds("{}.data.mul_(2)".format, st.sampled_from(LEAVES)),
)
_START = ["torch.manual_seed(0)", *(f"{n} = torch.randn(3, 3, requires_grad=True)" for n in LEAVES)]
_START += [f"{n} = u * {i + 1}" for i, n in enumerate(NAMES)]
_Held = dict[str, tuple[Any, Any]]


def _held(namespace: dict[str, Any]) -> _Held:
    """Content and `.grad` of every tensor of the program."""
    found: _Held = {}
    with torch._C.DisableTorchFunction():
        for name in NAMES + LEAVES:
            if name in namespace:
                tensor = namespace[name]
                grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
                found[name] = content(tensor), None if grad is None else content(grad)
    return found


def _play(lines: list[str], recording: Any = None) -> list[tuple[int, _Held]]:
    """Run line by line and note after each how many steps there are and what PyTorch holds; a line may fail."""
    namespace: dict[str, Any] = {"torch": torch}
    noted = []
    for number, line in enumerate(lines):
        name = f"<random line {number}>"
        linecache.cache[name] = len(line), None, [line + "\n"], name
        with contextlib.suppress(RuntimeError, AttributeError, IndexError):
            exec(compile(line, name, "exec"), namespace)
        steps = 0
        if recording is not None:
            recording._recorder.core.journal.settle(caught=True)
            steps = recording.trace.steps
        noted.append((steps, _held(namespace)))
    return noted


def _same(told: Any, real: Any) -> bool:
    if told is None or real is None:
        return told is None and real is None
    return bool(told.shape == real[0] and told.tobytes() == real[2])


def _check(trace: Trace, noted: list[tuple[int, _Held]]) -> None:
    for steps, held in [*noted, *reversed(noted)]:
        frame = trace.at(steps)
        for name, (value, grad) in held.items():
            assert _same(frame.value(name), value), (steps, name)
            assert _same(frame.grad(name), grad), (steps, name, "grad")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(LINE, min_size=3, max_size=14))
def test_the_recording_at_each_line_is_what_pytorch_held(lines: list[str]) -> None:
    program = _START + lines
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = _play(program)
        recording = record(values="all")
        with recording:
            noted = _play(program, recording)
    assert recording.problems == []
    assert [held for _, held in noted] == [held for _, held in plain]
    _check(recording.trace, noted)

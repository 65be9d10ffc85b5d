"""The recorder broken from inside, in one place after the other: the program must not notice, the trace must say it."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import torch

from gradviz.recorder import Recorder, forward, record
from gradviz.recorder.backward import Passes
from gradviz.recorder.core import Core
from gradviz.recorder.faults import Faults
from gradviz.recorder.forward import Forward
from gradviz.recorder.guard import guarded
from gradviz.recorder.journal import Journal
from gradviz.recorder.modules import Modules
from gradviz.recorder.nodes import Nodes
from gradviz.recorder.snapshot import Snapshots
from gradviz.recorder.source import Sources
from gradviz.recorder.tensors import Tensors
from gradviz.recorder.warns import Warns
from gradviz.trace import Decoder, Trace
from gradviz.trace.events import Ended
from tests.recorder.oracle import both, content, failing, patches

BREAKS: list[tuple[Any, str]] = [
    *((Sources, name) for name in ("here", "site", "hands_up", "names", "_resolve")),
    *((Forward, name) for name in ("inputs", "_finish", "_grad_seen", "_grad_set", "_changed", "_bind")),
    *((Tensors, name) for name in ("see", "value", "again", "_tell", "name")),
    *((Nodes, name) for name in ("walk", "_saved")),
    *((Snapshots, name) for name in ("of", "gradient")),
    *((Passes, name) for name in ("_begin", "_hook", "_started", "_ran", "_results", "_note_root", "_failed")),
    *((Modules, name) for name in ("_path", "_name_parameters")),
    *((Warns, name) for name in ("_shown", "loss")),
    (Faults, "_tell"),
    (Journal, "write"),
    (Core, "where"),
    (forward, "classify"),
]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        x: torch.Tensor = ctx.saved_tensors[0]
        return 3 * x * x * grad


def program() -> list[Any]:
    """A little of everything that has a tap of its own."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
    x = torch.randn(2, 3, requires_grad=True)
    out = net(Cube.apply(x))
    out.register_hook(lambda g: g * 2)
    out.retain_grad()
    loss = torch.nn.functional.mse_loss(out, torch.zeros(2, 1))
    loss.backward(retain_graph=True)
    (again,) = torch.autograd.grad(loss, x, create_graph=True)
    warnings.warn("a warning of the program's", stacklevel=1)
    errors = []
    for fails in (out.backward, lambda: x.add_(1), loss.backward, loss.backward):
        try:
            fails()
        except RuntimeError as error:
            errors.append(str(error))
    frozen = torch.ones(2)
    frozen.requires_grad_(True)
    aside: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: aside.append((frozen * 2).sum()))
    thread.start()
    thread.join()
    with torch.no_grad():
        frozen[0] = 5
    first = x.grad
    x.grad = None
    return [loss, again, first, x.grad, out.grad, frozen, *aside, *errors, *(p.grad for p in net.parameters())]


def _raise(*_: object, **__: object) -> None:
    raise ZeroDivisionError("broken on purpose")


@pytest.mark.parametrize(("owner", "name"), BREAKS, ids=lambda v: getattr(v, "__name__", v).rpartition(".")[2])
def test_a_failure_inside_ends_the_recording_and_nothing_else(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as plain_warnings:
        warnings.simplefilter("always")
        expected, state = [content(v) for v in program()], torch.get_rng_state()
    before = patches()
    recording = record()
    torch.manual_seed(0)
    broken = guarded(_raise) if hasattr(getattr(owner, name), "__wrapped__") else _raise
    with warnings.catch_warnings(record=True) as seen_warnings, recording:
        warnings.simplefilter("always")
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            result = program()
    assert [content(v) for v in result] == expected
    assert torch.equal(torch.get_rng_state(), state)
    assert [str(w.message) for w in seen_warnings] == [str(w.message) for w in plain_warnings]
    assert patches() == before
    assert "broken on purpose" in recording.problems[0]
    trace = recording.trace
    assert trace.damage is None
    assert "broken on purpose" in trace.warnings[-1].message
    assert [e.final for e in trace.events if isinstance(e, Ended)] == [True]
    trace.at(trace.steps)


def test_an_error_of_the_program_is_its_own_where_the_recorder_breaks_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Forward, "failed", guarded(_raise))
        recording = record()
        with pytest.raises(RuntimeError, match="leaf Variable") as caught, recording:
            torch.ones(2, requires_grad=True).add_(1)
    assert caught.value.__cause__ is None
    assert "broken on purpose" in recording.problems[0]


def test_hooks_are_taken_off_the_nodes_where_recording_stops_in_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    with monkeypatch.context() as patch, record():
        patch.setattr(Passes, "_ran", _raise)
        loss.backward(retain_graph=True)
    with monkeypatch.context() as patch:
        patch.setattr(Passes, "_post", lambda *_: calls.append(1))
        patch.setattr(Passes, "_pre", lambda *_: calls.append(1))
        loss.backward()
    assert calls == []


def test_where_the_disk_is_full_the_program_goes_on() -> None:
    frames: list[bytes] = []

    def sink(frame: bytes) -> None:
        if len(frames) == 3:
            raise OSError(28, "No space left on device")
        frames.append(frame)

    recorder = Recorder(sink)
    recorder.header()
    recorder.begin(0, 0)
    recorder.start()
    x = torch.ones(100, requires_grad=True)
    for _ in range(300):
        (x * torch.rand_like(x)).sum().backward()
    recorder.stop()
    recorder.end(0, "ok", final=True)
    recorder.close()
    assert "No space left" in recorder.core.problems[0]
    assert len(frames) == 3
    assert Trace(Decoder().feed(b"".join(frames))).steps > 0


@pytest.mark.parametrize("caps", [{"max_events": 200}, {"max_bytes": 2_000}])
def test_beyond_a_cap_recording_stops_and_says_so(caps: dict[str, Any]) -> None:
    def steps() -> list[Any]:
        w = torch.randn(50, requires_grad=True)
        for _ in range(60):
            (w * torch.randn(50)).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w
        return [w, w.grad]

    trace = both(steps, **caps)
    ended = trace.ended[0]
    assert (ended.status, ended.final) == ("limit", True)
    assert ended.left_out["ops"] > 200
    assert len(trace.events) < 1200
    assert len(trace.at(trace.steps).statuses) == len(trace.nodes)


def test_a_fault_is_told_beyond_the_cap_too() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        for _ in range(50):
            (x * x).sum().backward()
        x.add_(1)

    trace = failing(program, max_events=50)
    assert [(f.type, f.caught) for f in trace.faults] == [("RuntimeError", False)]
    assert trace.ended[0].status == "error"
    assert trace.ended[0].left_out["ops"] > 50

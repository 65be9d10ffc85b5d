"""Runs one program plain and recorded, and asks PyTorch itself what the recording must say."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from gradviz.recorder import record
from gradviz.recorder.recording import Recording
from gradviz.trace import Trace, to_numpy
from gradviz.trace.events import Data, Node

Program = Callable[[], Sequence[Any]]
Walk = list[tuple[str, tuple[tuple[int | None, int], ...]]]
_ENGINE: Any = torch.autograd.Variable
_OVERRIDES: Any = torch.overrides


def content(value: Any) -> Any:
    """A tensor as (shape, dtype, bytes), anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided:
        value = value.to_dense()
    plain = value.detach().resolve_conj().resolve_neg().contiguous().cpu()
    if plain.dtype is torch.bfloat16:
        return tuple(plain.shape), "bfloat16", plain.view(torch.int16).numpy().tobytes()
    return tuple(plain.shape), str(plain.dtype), plain.numpy().tobytes()


def patches() -> tuple[Any, ...]:
    """All that the recorder may replace while it is on."""
    return (
        _ENGINE._execution_engine,
        torch.autograd._make_grads,
        torch.nn.Module.__call__,
        torch.autograd.Function.__dict__["apply"],
        threading.Thread.start,
        torch.overrides.has_torch_function,
        warnings.showwarning,
        tuple(_OVERRIDES._get_current_function_mode_stack()),
    )


def both(program: Program, values: str = "all", **caps: Any) -> Trace:
    """Run a program plain and recorded; everything that it returns, and the state of the generator, must be equal."""
    expected, state = _run(program)
    before = patches()
    recording: Recording = record(values=values, **caps)
    torch.manual_seed(0)
    with recording:
        result = list(program())
    assert patches() == before
    assert [content(v) for v in result] == expected
    assert torch.equal(torch.get_rng_state(), state)
    del result
    assert recording.problems == []
    assert recording.trace.damage is None
    return recording.trace


def _run(program: Program) -> tuple[list[Any], torch.Tensor]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = [content(v) for v in program()]
    return result, torch.get_rng_state()


def failing(program: Callable[[], object], values: str = "all", **caps: Any) -> Trace:
    """Record a program that raises; type and message must be those of the plain run."""
    raised = _error(program)
    recording: Recording = record(values=values, **caps)
    torch.manual_seed(0)
    with pytest.raises(raised[0]) as caught, recording:
        program()
    assert str(caught.value) == raised[1]
    assert type(caught.value) is raised[0]
    assert recording.problems == []
    return recording.trace


def _error(program: Callable[[], object]) -> tuple[type[Exception], str]:
    torch.manual_seed(0)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        program()
    return type(caught.value), str(caught.value)


def walk(roots: Sequence[Any]) -> Walk:
    """The graph below some nodes, numbered in first-seen order, depth first."""
    numbers: dict[Any, int] = {}
    order: list[Any] = []
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in numbers:
            continue
        numbers[node] = len(order)
        order.append(node)
        stack += [n for n, _ in reversed(node.next_functions) if n is not None]
    return [
        (
            node.name().rpartition("::")[2],
            tuple((None if n is None else numbers[n], 0 if n is None else i) for n, i in node.next_functions),
        )
        for node in order
    ]


def told(trace: Trace, roots: Sequence[int]) -> Walk:
    """The same of a recording."""
    numbers: dict[int, int] = {}
    order: list[Node] = []
    stack = list(reversed(roots))
    while stack:
        ident = stack.pop()
        if ident in numbers:
            continue
        numbers[ident] = len(order)
        order.append(trace.nodes[ident])
        stack += [n for n, _ in reversed(trace.nodes[ident].edges) if n is not None]
    return [(node.name, tuple((None if n is None else numbers[n], i) for n, i in node.edges)) for node in order]


def order(roots: Sequence[Any], run: Callable[[], object]) -> list[str]:
    """Names of the nodes that the engine runs while `run` is called, in its order."""
    names: list[str] = []
    seen: set[Any] = set()
    stack = list(roots)
    handles = []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        name = node.name().rpartition("::")[2]
        handles.append(node.register_hook(lambda *_, name=name: names.append(name)))
        stack += [n for n, _ in node.next_functions if n is not None]
    run()
    for handle in handles:
        handle.remove()
    return names


def bits(data: Data | None) -> bytes | None:
    """Content as dense bytes; None for None."""
    return None if data is None else to_numpy(data).tobytes()


Outcome = tuple[list[Any], list[Any], Walk]
"""What a run made, the gradients that it left, and the graph that was walked."""


def fresh(value: Any) -> Any:
    """A leaf of its own with the same content; anything but a tensor as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def agree(trace: Trace, plain: Outcome, again: Outcome, seen: Outcome, name: str) -> None:
    """A recorded run made what a plain one did (to the bit where two plain ones agree), and was told as it was."""
    if plain[:2] == again[:2]:
        assert seen[:2] == plain[:2], name
    assert seen[2] == plain[2], name
    for run in trace.passes:
        assert trace.order(run.id) == list(run.planned), name
    if trace.passes:
        assert told(trace, [n for n in trace.passes[-1].roots if trace.nodes[n].leaf is None]) == plain[2], name

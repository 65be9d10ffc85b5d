"""The lines that buttons send, from real recordings; plain PyTorch runs them."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradviz.player.forms import Seed
from gradviz.player.lines import (
    Leaf,
    Root,
    acts,
    backward_line,
    default_root,
    forward_source,
    leaves,
    none_line,
    typed_error,
    zero_line,
)
from gradviz.trace import Trace, open_trace
from tests.long_runs import loop, work

Recorded = Callable[[str], Path]


def opened(recorded: Recorded, name: str) -> Trace:
    return open_trace(recorded(name))


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "<program>", "exec"), names)
    return names


def test_leaves_of_the_one_layer_network(recorded: Recorded) -> None:
    found = leaves(opened(recorded, "one_layer"))
    assert [(leaf.name, leaf.shape, leaf.has_grad) for leaf in found] == [("w", (5, 3), True), ("b", (3,), True)]


def test_parameters_are_called_as_the_program_can_call_them(recorded: Recorded) -> None:
    trace = opened(recorded, "mlp")
    names = run(trace.header.source)
    found = leaves(trace)
    assert found
    for leaf in found:
        assert tuple(eval(leaf.name, names).shape) == leaf.shape


def test_the_root_is_the_last_one_used(recorded: Recorded) -> None:
    root = default_root(opened(recorded, "accumulation"))
    assert root is not None and (root.name, root.shape, root.scalar) == ("out", (5, 5), False)
    root = default_root(opened(recorded, "one_layer"))
    assert root is not None and root.name == "loss" and root.scalar


def test_a_root_without_any_backward_is_the_newest_unused(record_text: Callable[[str], Trace]) -> None:
    trace = record_text("import torch\na = torch.ones(2, requires_grad=True)\nb = a * 2\nc = b.sum()\n")
    root = default_root(trace)
    assert root is not None and root.name == "c"


def test_nothing_to_begin_at(record_text: Callable[[str], Trace]) -> None:
    trace = record_text("import torch\na = torch.ones(2)\nb = a * 2\n")
    assert default_root(trace) is None and leaves(trace) == []
    assert forward_source(trace, trace.header.source) is None


def test_backward_line_has_only_what_differs_from_the_defaults() -> None:
    scalar, matrix = Root(0, "loss", (), True), Root(1, "out", (2, 2), False)
    assert backward_line(scalar, Seed(), retain_graph=False, create_graph=False) == "loss.backward()"
    both = backward_line(scalar, Seed(), retain_graph=True, create_graph=True)
    assert both == "loss.backward(retain_graph=True, create_graph=True)"
    line = backward_line(matrix, Seed(), retain_graph=True, create_graph=False)
    assert line == "out.backward(torch.ones_like(out), retain_graph=True)"


@pytest.mark.parametrize("seed", [Seed(), Seed("one_hot", index=(4, 4)), Seed("typed", typed="3")])
def test_a_sent_backward_runs_and_adds(recorded: Recorded, seed: Seed) -> None:
    trace = opened(recorded, "accumulation")
    names = run(trace.header.source)
    root = default_root(trace)
    assert root is not None
    before = names["inp"].grad.clone()
    exec(backward_line(root, seed, retain_graph=True, create_graph=False), names)
    expected = {"ones": 4.0, "one_hot": 4.0, "typed": 12.0}[seed.kind]
    assert (names["inp"].grad - before)[4, 4] == expected


def test_zero_and_none_touch_only_leaves_that_have_a_gradient() -> None:
    chosen = [Leaf(0, "w", (2,), True), Leaf(1, "b", (2,), False), Leaf(2, "v", (2,), True)]
    names = {name: torch.ones(2, requires_grad=True) for name in "wbv"}
    (names["w"] + names["v"]).sum().backward()
    exec(zero_line(chosen), dict(names))
    assert names["w"].grad is not None and names["w"].grad.tolist() == [0, 0] and names["b"].grad is None
    exec(none_line(chosen), dict(names))
    assert names["w"].grad is None and names["v"].grad is None


def test_forward_again_makes_a_new_graph_and_keeps_the_leaves(recorded: Recorded) -> None:
    trace = opened(recorded, "one_layer")
    source = forward_source(trace, trace.header.source)
    assert source is not None and "\n" not in source and "randn" not in source
    names = run(trace.header.source)
    loss, w, grad = names["loss"], names["w"], names["w"].grad.clone()
    exec(source, names)
    assert names["w"] is w and torch.equal(names["loss"], loss) and names["loss"] is not loss
    names["loss"].backward()
    assert torch.equal(names["w"].grad, 2 * grad)


@pytest.mark.parametrize("name", ["mlp", "training_loop", "lstm", "gpt", "resnet_block", "shared_weight"])
def test_lines_that_make_a_graph_are_in_an_index(recorded: Recorded, name: str) -> None:
    trace = opened(recorded, name)
    lines = {op.span[1] for op in trace.ops if op.nodes and op.span and trace.cell_of(op.span[0]) == 0}
    assert trace.graph_lines == lines and lines


@pytest.mark.parametrize("name", ["mlp", "training_loop", "lstm", "gpt", "resnet_block", "shared_weight"])
def test_forward_part_of_larger_programs_runs_alone(recorded: Recorded, name: str) -> None:
    trace = opened(recorded, name)
    source = forward_source(trace, trace.header.source)
    assert source is not None
    names = run(trace.header.source)
    exec(source, names)
    root = default_root(trace)
    assert root is not None and eval(root.name, names).grad_fn is not None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1", None),
        ("[1, 2.5]", None),
        ("[[1, 2], [3, 4]]", None),
        ("-1e-3", None),
        ("nan", None),
        ("[1, -inf]", None),
        ("float('nan')", None),
        ("['nan']", "numbers"),
        ("nano", "syntax"),
        ("float('7')", "syntax"),
        ("", "syntax"),
        ("one", "syntax"),
        ("__import__('os')", "syntax"),
        ("[1, 2", "syntax"),
        ("1.0 # one", "syntax"),
        ("['a']", "numbers"),
        ("[True]", "numbers"),
        ("[]", "numbers"),
        ("None", "numbers"),
        ("[[1], [1, 2]]", "ragged"),
    ],
)
def test_typed_gradients_are_read_and_never_run(text: str, error: str | None) -> None:
    assert typed_error(text) == error


def test_acts_are_the_program_s_backward_calls_in_order(recorded: Recorded) -> None:
    trace = opened(recorded, "accumulation")
    found = acts(trace)
    assert [act.text.startswith("out.backward(") for act in found] == [True] * 3
    assert [act.first for act in found] == [int(s) for s in trace.pass_step.view]
    assert all(a.last < b.first for a, b in itertools.pairwise(found))


def test_a_failed_call_says_so(recorded: Recorded) -> None:
    assert [act.failed for act in acts(opened(recorded, "second_backward"))] == [False, True]


def test_the_last_acts_of_a_long_recording_are_found_from_its_end() -> None:
    short, long = loop(300), loop(2500)
    whole = acts(long, limit=10**6)
    assert len(whole) == 2500 and acts(long) == whole[-200:] and acts(long, limit=1) == whole[-1:]
    assert work(lambda: acts(long)) == work(lambda: acts(short))

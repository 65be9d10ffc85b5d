"""PyTorch's own tables of modules and of custom Functions: plain and recorded, equal to the bit, with the same graph.

The default run takes a seeded choice of modules; `pytest -m slow tests/recorder/test_modules.py` takes all of them.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from gradviz.recorder import record
from gradviz.recorder.modules import called
from gradviz.trace.events import Scope
from tests.recorder.oracle import Outcome, Walk, agree, both, content, fresh, walk
from tests.recorder.test_opinfo import check

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.autograd_function_db import autograd_function_db
    from torch.testing._internal.common_modules import module_db

MODULES: list[tuple[Any, bool]] = [(m, training) for m in module_db for training in (True, False)]
CHOSEN = random.Random(7).sample(range(len(MODULES)), 16)


def _name(case: Any) -> str:
    return f"{case[0].name}-{'train' if case[1] else 'eval'}"


def _run(info: Any, training: bool, sample: Any) -> Outcome:
    torch.manual_seed(0)
    made = sample.constructor_input
    module = info.module_cls(*made.args, **made.kwargs).double()
    module.train(training)
    given = sample.forward_input
    arguments, keywords = pytree.tree_map(fresh, (given.args, given.kwargs))
    result = module(*arguments, **keywords)
    outputs = [o for o in pytree.tree_leaves(result) if isinstance(o, torch.Tensor)]
    with_grad = [o for o in outputs if o.requires_grad]
    inputs = [t for t in pytree.tree_leaves((arguments, keywords)) if isinstance(t, torch.Tensor) and t.requires_grad]
    graph: Walk = []
    if with_grad:
        graph = walk([o.grad_fn for o in with_grad if o.grad_fn is not None])
        torch.manual_seed(1)
        seeds = [torch.randn_like(o) for o in with_grad]
        torch.autograd.backward(with_grad, seeds)
    leaves = [*inputs, *module.parameters(), *module.buffers()]
    return (
        [content(o) for o in outputs],
        [content(t.grad) for t in leaves] + [content(b) for b in module.buffers()],
        graph,
    )


def sweep(info: Any, training: bool) -> int:
    """Compare all samples of one module; gives how many were compared."""
    compared = 0
    samples = info.module_inputs_func(info, torch.device("cpu"), torch.float64, True, training)
    for sample in samples[:24]:  # those of the Transformers differ little after these
        if sample.forward_input is None:
            continue
        try:
            plain, again = _run(info, training, sample), _run(info, training, sample)
        except Exception as error:
            with pytest.raises(type(error)), record(values="all"):
                _run(info, training, sample)
            continue
        with record(values="all") as recording:
            seen = _run(info, training, sample)
        assert recording.problems == [], info.name
        trace = recording.trace
        agree(trace, plain, again, seen, info.name)
        assert any(isinstance(e, Scope) and e.cls == info.module_cls.__name__ for e in trace.events), info.name
        compared += 1
    return compared


@pytest.mark.parametrize("index", CHOSEN, ids=lambda i: _name(MODULES[i]))
def test_some_modules(index: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sweep(*MODULES[index])


@pytest.mark.slow
@pytest.mark.parametrize("case", MODULES, ids=_name)
def test_all_modules(case: tuple[Any, bool]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sweep(*case)


@pytest.mark.parametrize("op", autograd_function_db, ids=lambda o: o.name)
def test_custom_functions(op: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert check(op) > 0


def test_a_lazy_module_is_converted_and_gets_its_shapes_while_it_is_recorded() -> None:
    def program() -> list[Any]:
        net = nn.Sequential(nn.LazyLinear(3), nn.Tanh(), nn.LazyLinear(1)).double()
        net(torch.ones(2, 4, dtype=torch.float64)).sum().backward()
        return [p.grad for p in net.parameters()]

    trace = both(program)
    first = next(op for op in trace.ops if op.name == "linear")
    assert [trace.name(t) for t in first.inputs[1:]] == ["net.0.weight", "net.0.bias"]


class Trainer:
    def __init__(self) -> None:
        self.model = nn.Linear(2, 2)

    def step(self, x: Any) -> Any:
        return self.model(x)


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = nn.ModuleDict({"inner": nn.Linear(2, 2)})

    def forward(self, x: Any) -> Any:
        return self.by["inner"](x)


def test_a_parameter_is_named_by_the_variable_of_its_module_where_its_own_name_says_too_little() -> None:
    def program() -> Any:
        cell_in, cell_h, pair = nn.Linear(2, 2), nn.Linear(2, 2), [nn.Linear(2, 2), Scale()]
        trainer, x, twin = Trainer(), torch.ones(2), Scale()
        hidden = cell_in(x) + cell_h(x) + pair[0](x) + trainer.step(x) + pair[1](x) + twin(x)
        (hidden + sum(map(nn.Linear(2, 2), [x]))).sum().backward()
        return [cell_in, cell_h, pair[0], trainer.model, pair[1].get_submodule("by.inner"), twin.by["inner"]]

    recording = record()
    with recording:
        layers = program()
    trace = recording.trace
    first = [trace.name(op.inputs[1]) for op in trace.ops if op.name == "linear"]
    assert first == [
        "cell_in.weight", "cell_h.weight", "pair.0.weight", "model.weight", "by.inner.weight", "twin.by.inner.weight",
        "weight",
    ]  # fmt: skip
    for name, layer in zip(first, layers, strict=False):
        assert torch.equal(torch.tensor(trace.at(trace.steps).grad(name)), layer.weight.grad)
    assert trace.named("weight") is not None, "the name that named_parameters has is known too"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("net(x)", "net"), ("self.a.b(x)", "self.a.b"), ("nets[0](x)", "nets.0"), ('d["k"](x)', "d.k"), ("f()(x)", ""),
        ("nets[i](x)", ""), ("x + y", ""), ("net.__call__(x)", ""), ("(", ""),
    ],
)  # fmt: skip
def test_what_a_call_calls(text: str, name: str) -> None:
    assert called(text) == name

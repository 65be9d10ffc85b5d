"""PyTorch's own table of operations: every sample, forward and backward, plain and recorded, equal to the bit.

`make test` runs a seeded choice of operations; `pytest -m slow tests/recorder/test_opinfo.py` runs all of them.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import types
import unittest
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from gradviz.recorder import record
from tests.recorder.oracle import Outcome, Walk, agree, content, fresh, walk

if importlib.util.find_spec("expecttest") is None:
    # PyTorch's table imports its own test base class, which wants this package for something else than the table
    stand_in: Any = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    sys.modules["expecttest"] = stand_in

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

OPS = [o for o in op_db if o.supports_autograd and o.supports_dtype(torch.float64, "cpu")]
CHOSEN = random.Random(20).sample(range(len(OPS)), 40)


def _dense(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value._is_zerotensor():
        return tuple(value.shape), "zero"
    return content(value)


def _run(op: Any, sample: Any) -> Outcome:
    torch.manual_seed(0)
    arguments = pytree.tree_map(fresh, (sample.input, *sample.args))
    keywords = pytree.tree_map(fresh, sample.kwargs)
    result = sample.output_process_fn_grad(op(*arguments, **keywords))
    outputs = [o for o in pytree.tree_leaves(result) if isinstance(o, torch.Tensor)]
    with_grad = [o for o in outputs if o.requires_grad]
    inputs = [t for t in pytree.tree_leaves((arguments, keywords)) if isinstance(t, torch.Tensor) and t.requires_grad]
    graph: Walk = []
    if with_grad:
        nodes = [o.grad_fn for o in with_grad if o.grad_fn is not None]
        graph = walk(nodes)
        torch.manual_seed(1)
        seeds = [torch.randn_like(o) if o.layout is torch.strided else torch.ones_like(o) for o in with_grad]
        torch.autograd.backward(with_grad, seeds)
    return [_dense(o) for o in outputs], [_dense(t.grad) for t in inputs], graph


def check(op: Any, limit: int | None = None) -> int:
    """Compare the samples of one operation; gives how many were compared."""
    compared = 0
    samples: Sequence[Any] = list(itertools.islice(op.sample_inputs("cpu", torch.float64, requires_grad=True), limit))
    for sample in samples:
        try:
            plain, again = _run(op, sample), _run(op, sample)
        except Exception:
            continue
        recording = record(values="all")
        with recording:
            seen = _run(op, sample)
        assert recording.problems == [], (op.full_name, recording.problems)
        trace = recording.trace
        agree(trace, plain, again, seen, op.full_name)
        compared += 1
    return compared


@pytest.mark.parametrize("index", CHOSEN, ids=lambda i: OPS[i].full_name)
def test_some_operations(index: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(OPS[index], 3)


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS, ids=lambda o: o.full_name)
def test_all_operations(op: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(op)

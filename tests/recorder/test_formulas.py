"""Every grad_fn name that PyTorch's table of operations yields has a rule of ours, a shipped formula, or a reason."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from gradviz.explain.rules import own_rule, reason_of
from gradviz.explain.words import LANGUAGES, Words
from gradviz.recorder.rules import rule
from tests.recorder.test_opinfo import op_db  # type: ignore[attr-defined]


def _names(op: Any) -> Iterator[str]:
    """Names of the nodes that samples of an operation leave behind, as a function, a method and in place."""
    for dtype in (torch.float64, torch.complex128):
        if not op.supports_dtype(dtype, "cpu"):
            continue
        for sample in op.sample_inputs("cpu", dtype, requires_grad=True):
            for call in (op.op, op.method_variant, op.inplace_variant):
                with contextlib.suppress(Exception):  # many samples are not for the variant, or not for this type
                    first = sample.input
                    if call is op.inplace_variant and isinstance(first, torch.Tensor):
                        first = first.clone()
                    yield from _walk(call(first, *sample.args, **sample.kwargs))


def _walk(result: Any) -> Iterator[str]:
    stack = [t.grad_fn for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    seen: set[Any] = set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node.name().rpartition("::")[2]
            stack += [below for below, _ in node.next_functions]


@pytest.mark.slow
def test_every_node_of_every_operation_is_explained() -> None:
    names: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if op.supports_autograd:
                names.update(_names(op))
    assert len(names) > 300
    ours = {name for name in names if own_rule(name) is not None}
    shipped = {name for name in names - ours if rule(name) is not None}
    without = names - ours - shipped
    unexplained = sorted(name for name in without if reason_of(name) == "none")
    assert unexplained == [], f"{len(ours)} ours, {len(shipped)} shipped, {len(without)} with a reason"
    assert len(ours) >= 80


def test_reasons_are_whole_sentences() -> None:
    for name in ("GeneratedBackwardFor_x_defaultBackward", "CompiledFunctionBackward", "NotImplemented", "Mystery"):
        for language in LANGUAGES:
            text = Words(language)(f"rule.{reason_of(name)}", name=name)
            assert name in text and text != f"rule.{reason_of(name)}"

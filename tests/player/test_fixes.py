"""Fixes are applied to real faults, and the mended program is run by plain Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from gradviz.explain import fault_card
from gradviz.player.fixes import Mended, repair, with_argument, with_ones
from gradviz.trace import Trace

TWICE = """import torch
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
print(w.grad.tolist())
"""
MATRIX = """import torch
w = torch.ones(2, requires_grad=True)
out = w * 3
out.backward()
print(w.grad.tolist())
"""
LEAF = """import torch
w = torch.ones(2, requires_grad=True)
w.add_(1)
print(w.tolist())
"""


def mended(trace: Trace, kind: str) -> Mended:
    card = fault_card(trace, 0)
    fix = next(fix for fix in card.fixes if fix.kind == kind)
    found = repair(fix, trace, 0, trace.header.source, ())
    assert found is not None
    return found


def output(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("program", "kind", "printed"),
    [
        (TWICE, "retain_graph", "[4.0, 4.0]"),
        (TWICE, "forward_again", "[4.0, 4.0]"),
        (MATRIX, "gradient_ones", "[3.0, 3.0]"),
        (LEAF, "detach", "[2.0, 2.0]"),
    ],
)
def test_the_mended_program_runs(record_text: Callable[[str], Trace], program: str, kind: str, printed: str) -> None:
    trace = record_text(program)
    assert trace.faults and trace.ended[0].status == "error"
    assert output(mended(trace, kind).text) == printed


def test_why_changes_nothing(record_text: Callable[[str], Trace]) -> None:
    trace = record_text(TWICE)
    fix = next(fix for fix in fault_card(trace, 0).fixes if fix.kind == "why")
    assert repair(fix, trace, 0, TWICE, ()) is None


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a.backward()", 1, "a.backward(retain_graph=True)"),
        ("a.backward(g)", 1, "a.backward(g, retain_graph=True)"),
        ("a.backward(g,)", 1, "a.backward(g, retain_graph=True)"),
        ("a.backward(retain_graph=False)", 1, "a.backward(retain_graph=True)"),
        ("ä = 1\nx(ä).backward(\n    g(1)\n)", 3, "ä = 1\nx(ä).backward(\n    g(1), retain_graph=True\n)"),
        ("é = b.backward(f())  # (", 1, "é = b.backward(f(), retain_graph=True)  # ("),
        ("a.forward()", 1, "a.forward()"),
        ("a.backward()\nb.backward()", 2, "a.backward()\nb.backward(retain_graph=True)"),
        ("not python (", 1, "not python ("),
    ],
)
def test_an_argument_is_put_into_the_call(text: str, line: int, expected: str) -> None:
    assert "".join(with_argument(text, line, "retain_graph=True").split()) == "".join(expected.split())


def test_ones_are_put_first() -> None:
    assert with_ones("a.b.backward(retain_graph=True)", 1) == "a.b.backward(torch.ones_like(a.b), retain_graph=True)"
    assert with_ones("a.backward(g)", 1) == "a.backward(g)"

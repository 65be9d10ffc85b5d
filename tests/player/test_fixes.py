"""Fixes are applied to real faults, and the mended program is run by plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.explain import fault_card
from gradviz.player.fixes import Mended, repair, with_argument, with_ones
from gradviz.trace import Trace, open_trace
from tests import forked

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
w{write}
print(w.tolist())
"""
SAVED = """import torch
w = torch.ones(2, requires_grad=True)
y = w.exp()
for _ in range(1):
    y{write}
y.sum().backward()
print([round(g, 3) for g in w.grad.tolist()])
"""
FLAG = """import torch
w = torch.ones(2, requires_grad=True)
y = w * 2
y{write}
(w * 3 + y).sum().backward()
print(w.grad.tolist())
"""
INFERENCE = """import torch
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    v = torch.ones(2) * 3
(w * v).sum().backward()
print(w.grad.tolist())
"""


def mended(trace: Trace, kind: str, actions: tuple[str, ...] = ()) -> Mended:
    card = fault_card(trace, 0)
    assert kind in [fix.kind for fix in card.fixes]
    found = repair(kind, trace, 0, trace.header.source, actions)
    assert found is not None
    return found


def output(text: str, path: Path) -> str:
    path.write_text(text, "utf-8")
    ran = forked.python(path)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("program", "kind", "printed"),
    [
        (TWICE, "retain_graph", "[4.0, 4.0]"),
        (TWICE, "forward_again", "[4.0, 4.0]"),
        (MATRIX, "gradient_ones", "[3.0, 3.0]"),
        (LEAF.replace("{write}", ".add_(1)"), "no_grad", "[2.0, 2.0]"),
        (LEAF.replace("{write}", " += 1"), "no_grad", "[2.0, 2.0]"),
        (LEAF.replace("{write}", "[0] = 2"), "no_grad", "[2.0, 1.0]"),
        (LEAF.replace("{write}", "[0].add_(1)"), "no_grad", "[2.0, 1.0]"),
        (SAVED.replace("{write}", ".add_(1)"), "clone", "[2.718, 2.718]"),
        (SAVED.replace("{write}", " *= 2"), "clone", "[5.437, 5.437]"),
        (SAVED.replace("{write}", "[0] = 1"), "clone", "[0.0, 2.718]"),
        (FLAG.replace("{write}", ".requires_grad_(False)"), "detach", "[3.0, 3.0]"),
        (FLAG.replace("{write}", ".requires_grad = False"), "detach", "[3.0, 3.0]"),
        (INFERENCE, "clone", "[3.0, 3.0]"),
    ],
)
def test_the_mended_program_runs(
    record_text: Callable[[str], Trace], tmp_path: Path, program: str, kind: str, printed: str
) -> None:
    trace = record_text(program)
    assert trace.faults and trace.ended[0].status == "error"
    assert output(mended(trace, kind).text, tmp_path / "mended.py") == printed


def test_why_changes_nothing(record_text: Callable[[str], Trace]) -> None:
    trace = record_text(TWICE)
    assert "why" in [fix.kind for fix in fault_card(trace, 0).fixes]
    assert repair("why", trace, 0, TWICE, ()) is None


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


def test_the_cure_stands_where_the_cause_is(tmp_path: Path) -> None:
    """A line that was sent freed the buffers: it is named as an action, and it is what the cure changes."""
    source = "\n".join(TWICE.split("\n")[:3])
    program, out = tmp_path / "program.py", tmp_path / "out.gradviz"
    program.write_text(source)
    actions = ("loss.backward()", "loss.backward()")
    sent = "".join(json.dumps({"cell": i, "source": s}) + "\n" for i, s in enumerate(actions, 1))
    assert forked.record("--live", "-o", out, program, sent=sent).returncode == 0
    trace = open_trace(out)
    assert "loss.backward() in action 1 freed them" in fault_card(trace, 0).fact
    assert mended(trace, "retain_graph", actions) == Mended(source, ("loss.backward(retain_graph=True)", actions[1]))

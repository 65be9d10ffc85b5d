"""Finite differences and Jacobians of real programs, run by real copies, against PyTorch itself."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
import pytest
import torch

from gradviz.explain.difference import Difference, Plan, judge, lens_of, lens_request, plan_of, requests
from gradviz.recorder import record
from gradviz.recorder.probing import Probe, Probing
from gradviz.trace import Trace
from tests.explain.case_programs import trace_of

ROOT = Path(__file__).resolve().parents[2]
SMOOTH = """
import torch
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 3, dtype=torch.float64)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
VECTOR = """
import torch
inp = torch.eye(2, 3, requires_grad=True)
out = (inp + 1).pow(2).t().sum(1)
v = torch.tensor([1.0, 10.0, 100.0])
out.backward(v)
"""
RANDOM = "import torch\nx = torch.ones(2, requires_grad=True)\n(x * torch.rand(2)).sum().backward()\n"
KINK = "import torch\nx = torch.zeros(2, requires_grad=True)\nx.abs().sum().backward()\n"
BRANCH = """
import torch
x = torch.ones(1, requires_grad=True)
y = x.sin() if x.item() > 0.9999 else x * 3
y.backward()
"""
HOOKED = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g * 5)
y.sum().backward()
"""


class _Measured(Exception):
    """Where a copy would leave its process."""


def _leave() -> NoReturn:
    raise _Measured


def _run(folder: Path, text: str, probe: Probe | None = None) -> Trace:
    """The program, recorded in this process; as a copy that measures where a probe is given."""
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    recording = record(values="all")
    with contextlib.suppress(_Measured), recording:
        recording._recorder.core.probe = probe
        exec(compile(text, str(program), "exec"), {})
    assert recording.problems == []
    trace: Trace = recording.trace
    return trace


def _answers(folder: Path, text: str, asked: list[str]) -> list[Any]:
    for spec in asked:
        _run(folder, text, Probe(msgspec.json.decode(spec, type=Probing), _leave))
    return [json.loads(Path(json.loads(spec)["report"]).read_text("utf-8")) for spec in asked]


def _measured(folder: Path, text: str, name: str, element: tuple[int, ...] | None = None) -> Difference:
    trace = _run(folder, text)
    tensor = trace.named(name)
    assert tensor is not None
    plan = plan_of(trace, tensor, element, trace.steps)
    assert isinstance(plan, Plan)
    return judge(plan, _answers(folder, text, requests(plan, [str(folder / f"{k}.json") for k in range(3)])))


def test_the_last_pass_of_a_training_loop(tmp_path: Path) -> None:
    """The weight has been changed twice before: the nudge comes behind the last change."""
    found = _measured(tmp_path, SMOOTH, "0.weight", (2, 1))
    space: dict[str, Any] = {}
    exec(compile(SMOOTH, "smooth", "exec"), space)
    gradient = space["net"][0].weight.grad[2, 1].item()
    assert found.kind == "agrees"
    assert found.plan.within == 2
    assert found.plan.gradient == gradient
    assert found.slope == pytest.approx(gradient, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "kind"), [(RANDOM, "random"), (KINK, "kink"), (BRANCH, "branch"), (HOOKED, "differs"), (VECTOR, "agrees")]
)
def test_what_the_difference_means_is_said(tmp_path: Path, text: str, kind: str) -> None:
    found = _measured(tmp_path, text, "inp" if text == VECTOR else "x")
    assert found.kind == kind
    if kind == "kink":
        assert (found.left, found.right) == (-1.0, 1.0)
    if kind == "differs":
        assert (found.plan.gradient, round(found.slope, 2)) == (10.0, 2.0)


def test_the_jacobian_of_a_small_root(tmp_path: Path) -> None:
    trace = _run(tmp_path, VECTOR)
    tensor = trace.named("inp")
    assert tensor is not None
    plan = plan_of(trace, tensor, None, trace.steps)
    assert isinstance(plan, Plan)
    (answer,) = _answers(tmp_path, VECTOR, [lens_request(plan, str(tmp_path / "lens.json"))])
    lens = lens_of(plan, answer)
    assert lens is not None
    space: dict[str, Any] = {}
    exec(compile(VECTOR, "vector", "exec"), space)
    inp = space["inp"].detach()
    real = torch.autograd.functional.jacobian(lambda t: (t + 1).pow(2).t().sum(1), inp).reshape(3, -1)
    assert np.array_equal(np.asarray(lens.rows), real.double().numpy())
    assert lens.product == tuple(space["inp"].grad.double().reshape(-1).tolist())
    assert lens.v == (1.0, 10.0, 100.0)


@pytest.mark.parametrize(
    ("row", "name", "reason"),
    [("A9", "x", "no_gradient"), ("A50", "z", "dtype"), ("A30", "a", "no_gradient"), ("A55", "x", "not_finite")],
)
def test_nothing_to_compare(row: str, name: str, reason: str) -> None:
    trace = trace_of(row)
    tensor = trace.named(name)
    assert tensor is not None
    assert plan_of(trace, tensor, None, trace.steps) == reason


def test_a_copy_that_failed_is_no_result() -> None:
    trace = trace_of("A3")
    tensor = trace.named("x")
    assert tensor is not None
    plan = plan_of(trace, tensor, None, trace.steps)
    assert isinstance(plan, Plan)
    good = {"objective": plan.objective, "nodes": list(plan.nodes), "nudged": [1.0, 1.1]}
    assert judge(plan, [good, None, good]).kind == "failed"
    assert judge(plan, [good, good, {"error": "ValueError: no"}]).detail == "ValueError: no"


@pytest.mark.slow
def test_a_copy_in_a_process_of_its_own_measures_and_ends(tmp_path: Path) -> None:
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(VECTOR + "print('never reached')\n", "utf-8")
    spec = json.dumps({"within": 0, "tensor": 0, "delta": 0.5, "report": str(report)})
    command = [sys.executable, "-m", "gradviz.recorder", "-o", str(tmp_path / "o"), "--probe", spec, str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, json.loads(report.read_text())["nudged"]) == ("", [1.0, 1.5])

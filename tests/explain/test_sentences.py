"""Words about one step beside the numbers of the same step: neither may contradict the other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gradviz.explain import narrate, numbers, why
from gradviz.explain.labels import tensor_label, value_text
from gradviz.explain.rules import fitted, own_rules, sentence, terms
from gradviz.trace import Trace, open_trace
from gradviz.trace.events import Data, Grad
from tests import forked

FACTORS = """
import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
v = torch.tensor([-1.0, 3.0])
torch.add(a, b, alpha=-2).backward(v)
torch.sub(a, b, alpha=3).backward(v)
(a + b).backward(v)
torch.addmm(b, c, torch.ones(2, 2), beta=2).backward(torch.ones(3, 2))
(c - b).backward(torch.ones(3, 2))
"""


CHANGES = """
import torch
w = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
(w * b).sum().backward()
torch._foreach_zero_([w.grad, b.grad])
w.grad.add_(1)
w.grad = torch.ones(2)
w.grad = None
"""


def made(folder: Path, source: str) -> Trace:
    (folder / "program.py").write_text(source, "utf-8")
    out = folder / "program.gradviz"
    assert forked.record("-o", out, folder / "program.py").returncode == 0
    return open_trace(out)


@pytest.fixture(scope="module")
def factors(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return made(tmp_path_factory.mktemp("factors"), FACTORS)


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return made(tmp_path_factory.mktemp("changes"), CHANGES)


def of(trace: Trace, name: str, language: str, number: int = 0) -> tuple[str, str, tuple[str, ...]]:
    """Title and body of the step of the `number`-th node of a name, and its rule with numbers."""
    node = [n.id for n in trace.nodes if n.name == name][number]
    step = trace.runs(node)[0]
    told = narrate(trace, step, language)
    return told.title, told.body, numbers(trace, step, node, language)


@pytest.mark.parametrize(
    ("name", "number", "en", "zh"),
    [
        ("AddBackward0", 0, "receives it times alpha = -2.", "梯度乘以 alpha = -2。"),
        ("SubBackward0", 0, "its negative times alpha = 3.", "其相反数乘以 alpha = 3。"),
        ("AddBackward0", 1, "The derivative of a sum is 1", "和的导数为 1"),
        ("AddmmBackward0", 0, "g times beta = 2, the matrices as in a matrix product, times alpha = 1.", "beta = 2"),
    ],
)
def test_a_factor_that_is_not_1_is_named(factors: Trace, name: str, number: int, en: str, zh: str) -> None:
    """`torch.add(a, b, alpha=-2)` does not hand its gradient on unchanged."""
    assert en in of(factors, name, "en", number)[1] and zh in of(factors, name, "zh", number)[1]
    plain = next(r for n, r in own_rules().items() if name.startswith(n))
    node = [n for n in factors.nodes if n.name == name][number]
    assert (sentence(node) == plain["en"]) == (number == 1)


def test_the_sum_over_what_was_broadcast_is_said(factors: Trace) -> None:
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    torch.addmm(b, torch.ones(3, 2), torch.ones(2, 2), beta=2).backward(torch.ones(3, 2))
    assert b.grad is not None
    right = of(factors, "AddmmBackward0", "en")[2][0].partition(" = ")[2]
    assert right == "[" + ", ".join(f"{v:g}" for v in b.grad.tolist()) + "]"
    assert "summed to (2,)" in of(factors, "AddmmBackward0", "en")[2][0]
    assert "求和为 (2,)" in of(factors, "AddmmBackward0", "zh")[2][0]
    assert "b was broadcast, so its gradient is summed to the shape (2,)." in of(factors, "SubBackward0", "en", 1)[1]
    assert "b 经过广播" in of(factors, "SubBackward0", "zh", 1)[1]
    node = [n for n in factors.nodes if n.name == "SubBackward0"][1]
    assert fitted(factors, node) == (None, (2,))
    assert terms(factors, factors.steps, node.id)[1][1][-1].text == ", summed to (2,)"


def test_nothing_is_said_of_a_sum_where_nothing_was_broadcast(factors: Trace) -> None:
    for number in (0, 1):
        _, body, lines = of(factors, "AddBackward0", "en", number)
        assert "summed" not in " ".join((body, *lines))
    mm = next(n for n in factors.nodes if n.name == "AddmmBackward0")
    assert fitted(factors, mm) == ((2,), None, None)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_change_of_grad_is_not_laid_to_the_program(changes: Trace, language: str) -> None:
    """The same words stand for a line of the program, a button and a line of the console."""
    told_of = [(changes.events[i], s) for h in changes.grads.values() for s, i in zip(h.steps, h.indexes, strict=True)]
    found = {event.cause: step for event, step in told_of if isinstance(event, Grad)}
    told = [narrate(changes, s, language) for c, s in found.items() if c != "accumulate"]
    assert len(told) == 4 and len({t.title for t in told}) == 4
    before = [narrate(changes, s - 1, language).next for c, s in found.items() if c != "accumulate"]
    said = " ".join([t.title + t.body for t in told] + before)
    assert "program" not in said and "程序" not in said and "w.grad" in said


STEPS = """
import torch
a = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(a.parameters(), lr=0.1)
a(torch.ones(4, 3)).sum().backward()
opt.step()
"""


def test_what_an_optimizer_reads_is_called_the_grad_of_its_parameter(tmp_path: Path) -> None:
    """Nothing else tells of it: the gradient that accumulated was no tensor of the program yet."""
    trace = made(tmp_path, STEPS)
    read = [op for op in trace.ops if op.name in ("add_", "_foreach_add_") and op.text == "opt.step()"]
    names = [tensor_label(trace, t) for op in read for t in op.inputs]
    assert {"a.weight.grad", "a.bias.grad"} <= set(names) and not any(n.startswith("#") for n in names)
    assert {n for n in names if not n.endswith(".grad")} == {"a.weight", "a.bias"}
    assert "a.bias was broadcast" in of(trace, "AddmmBackward0", "en")[1], "a leaf is called by its name"


def test_why_asks_of_a_node_what_is_true_of_it(factors: Trace) -> None:
    node = next(n.id for n in factors.nodes if n.name == "AddBackward0")
    ran = factors.runs(node)[0]
    asked = {s: why(factors, s, f"node:{node}").question for s in (1, ran - 1, ran, factors.steps)}
    assert list(asked.values()) == [
        "Why has AddBackward0 not run yet?",
        "Why has AddBackward0 not run yet?",
        "Why does AddBackward0 run now?",
        "When did AddBackward0 run?",
    ]
    zh = [why(factors, s, f"node:{node}", None, "zh").question for s in (1, ran, factors.steps)]
    assert len(set(zh)) == 3 and all("尚未运行或" not in text for text in zh)


def test_a_node_that_no_pass_comes_to_is_asked_why_it_does_not_run(tmp_path: Path) -> None:
    trace = made(tmp_path, "import torch\nz = torch.ones(2, requires_grad=True) * 2\n")
    node = next(n.id for n in trace.nodes if n.name == "MulBackward0")
    assert why(trace, trace.steps, f"node:{node}").question == "Why does MulBackward0 not run?"


def test_a_norm_is_not_broken_from_its_number() -> None:
    big = Data((5, 3), "float32", norm=0.65)
    assert value_text(big).endswith("‖·‖\u00a0=\u00a00.65]")


@pytest.mark.parametrize("held", [False, True])
def test_a_leaf_that_was_frozen_after_forward_receives_nothing(tmp_path: Path, held: bool) -> None:
    first = "(w * b).sum().backward()\n" if held else ""
    text = (
        "import torch\nw = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        f"{first}loss = (w * b).sum()\nb.requires_grad_(False)\nloss.backward()\n"
    )
    space: dict[str, torch.Tensor] = {}
    exec(text, space)
    trace = made(tmp_path, text)
    leaf = trace.named("b")
    assert leaf is not None
    last = trace.passes[-1].id
    assert [e for e in trace.events if isinstance(e, Grad) and e.tensor == leaf and e.within == last] == []
    grad = trace.at(trace.steps).grad("b")
    expected = space["b"].grad
    assert (grad is None) == (expected is None) == (not held)
    assert grad is None or expected is None or grad.tolist() == expected.tolist()
    node = [n.id for n in trace.nodes if n.leaf == leaf][-1]
    said = narrate(trace, trace.runs(node)[-1], "en")
    assert said.title.startswith("b does not require grad any more") and "receives its" not in said.title
    product = [n.id for n in trace.nodes if n.name.startswith("Mul")][-1]
    assert "AccumulateGrad adds it to b.grad" not in narrate(trace, trace.runs(product)[-1], "en").body

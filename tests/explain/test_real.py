"""Sentences, ledger, cards and answers on recordings that PyTorch really made."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from gradviz.explain import QUESTIONS, fault_card, ledger, narrate, numbers, rule, step_label, why
from gradviz.explain.rules import terms
from gradviz.trace import Trace, open_trace
from tests import forked

ROOT = Path(__file__).resolve().parents[2]
ONE_LAYER = """
import torch
torch.manual_seed(0)
x, y = torch.ones(5), torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward(retain_graph=True)
loss.backward(retain_graph=True)
b.grad.zero_()
w.grad = None
loss.backward()
"""
AGAIN = "loss.backward()\n"
CAUSES = """
import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
frozen = torch.tensor([1.0, 2.0])
cut = (a * 2).detach()
used = torch.ones(2, requires_grad=True)
out = (cut * used).sum()
out.backward()
late = torch.ones(2)
early = (late * used).sum()
late.requires_grad_()
early.backward()
shared = torch.tensor(3.0, requires_grad=True)
(shared * 3 + shared * shared).backward()
alone = torch.ones(2, requires_grad=True)
with torch.no_grad():
    hidden = a * 3
pick = a.argmax()
def attempt(run):
    try:
        run()
    except RuntimeError:
        pass
attempt(lambda: (a * 2).backward())
attempt(lambda: a.mul_(2))
attempt(lambda: cut.sum().backward())
e = (a * 1).exp()
e.add_(1)
attempt(lambda: e.sum().backward())
attempt(lambda: torch.autograd.grad(out, alone))
attempt(lambda: (a * 2).backward(torch.ones(3)))
attempt(lambda: setattr(e, "requires_grad", False))
zero = torch.zeros(2, requires_grad=True)
(zero * zero).sum().sqrt().backward()
"""
PROGRAMS = {"one_layer_again": ONE_LAYER + AGAIN, "causes": CAUSES}
SHIPPED = ("accumulation", "inplace_error", "second_backward", "training_loop")


@cache
def recording(name: str) -> Trace:
    """A program run by the recorder in a process of its own."""
    folder = ROOT / ".pytest_cache" / "explain"
    folder.mkdir(parents=True, exist_ok=True)
    program = ROOT / "resources" / "programs" / f"{name}.py"
    if name in PROGRAMS:
        program = folder / f"{name}.py"
        program.write_text(PROGRAMS[name], "utf-8")
    out = folder / f"{name}.gradviz"
    forked.record("-o", out, program)
    return open_trace(out)


def whole(text: str) -> None:
    """No field is left open, nothing is empty, no Python object shows through."""
    assert text.strip()
    assert not re.search(r"\{\w+\}|<[\w.]+ object|\bsay\.|\bwhy\.|\bfault\.[a-z]+\.", text), text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [*PROGRAMS, *SHIPPED])
def test_every_step_is_told_in_whole_sentences(name: str, language: str) -> None:
    trace = recording(name)
    assert trace.steps > 5
    for step in range(trace.steps + 1):
        told = narrate(trace, step, language)
        for text in (told.title, told.body, told.next):
            whole(text or "-")
        assert told.title[-1] in ".。!?？", told.title
        assert step == 0 or step_label(trace, step)
    for node in range(len(trace.nodes)):
        view = rule(trace, node, language)
        assert view.origin
        assert view.rows or view.note
        for line in numbers(trace, trace.steps, node, language):
            whole(line)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [*PROGRAMS, *SHIPPED])
def test_every_question_has_an_answer(name: str, language: str) -> None:
    trace = recording(name)
    targets = [f"{k}:{t}" for t in trace.tensors for k in ("tensor", "leaf", "grad")]
    targets += [f"node:{n.id}" for n in trace.nodes] + [f"op:{o.id}" for o in trace.ops]
    targets += [f"fault:{f.id}" for f in trace.faults]
    for target in targets:
        for question in (None, *QUESTIONS[target.partition(":")[0]]):
            for step in {0, trace.steps // 2, trace.steps}:
                answer = why(trace, step, target, question, language)
                whole(answer.question)
                assert answer.sentences
                for sentence in answer.sentences:
                    whole(sentence)
                assert all(0 < jump <= trace.steps for jump in answer.steps_to_jump)


def test_the_ledger_adds_up_to_pytorchs_gradient() -> None:
    trace = recording("one_layer_again")
    space: dict[str, torch.Tensor] = {}
    exec(compile(ONE_LAYER, "one_layer", "exec"), space)
    leaf = trace.named("b")
    assert leaf is not None
    rows = ledger(trace, leaf, (0,))
    assert [row.cause for row in rows] == ["accumulate", "accumulate", "zero", "accumulate", "unreached"]
    assert [row.pass_id for row in rows] == [0, 1, None, 2, 3]
    total = 0.0
    for row in rows:
        total = 0.0 if row.cause == "zero" else total + float(row.amount or 0)
        assert row.total == pytest.approx(total, rel=1e-6)
    grad = space["b"].grad
    assert grad is not None
    assert rows[-1].total == grad[0].item()
    assert rows[0].path.startswith("Bce → Add → ")
    assert ledger(trace, leaf, (0,), rows[0].step) == rows[:1]


def test_own_rule_with_this_steps_numbers() -> None:
    trace = recording("one_layer_again")
    node = next(n.id for n in trace.nodes if n.name.startswith("AddBackward"))
    run = trace.at(trace.steps).run(node)
    assert run is not None and run.gin[0] is not None and run.gin[0].raw is not None
    first = np.frombuffer(run.gin[0].raw, "<f4")[0]
    assert f"[{first:.4f}".rstrip("0") in numbers(trace, trace.steps, node)[0]


CARDS = {
    "non_scalar_root": "not a scalar",
    "leaf_inplace": "cannot be changed in place",
    "no_grad_path": "No path leads",
    "version_mismatch": "changed in place",
    "unused_input": "not used in the graph",
    "grad_shape": "wrong shape",
    "flag_change": "requires_grad",
}


@pytest.mark.parametrize("code", CARDS)
def test_the_card_says_the_cause(code: str) -> None:
    trace = recording("causes")
    fault = next(f for f in trace.faults if f.code == code)
    card = fault_card(trace, fault.id)
    assert CARDS[code] in card.title
    assert card.original == fault.message
    for text in (card.title, card.fact, card.cause):
        whole(text)


@pytest.mark.parametrize(
    ("name", "question", "says"),
    [
        ("frozen", "none", "requires_grad=False"),
        ("cut", "none", "requires_grad=False"),
        ("e", "none", "not a leaf"),
        ("late", "none", "after the forward pass"),
        ("a", "none", "detach"),
        ("alone", "none", "No recorded operation used alone"),
        ("shared", "twice", "3 edges end in it"),
        ("hidden", "not_requires", "no_grad"),
        ("pick", "not_requires", "int64"),
        ("out", "requires", "leaf used"),
        ("zero", "nan", "SqrtBackward0"),
    ],
)
def test_why_says_the_true_cause(name: str, question: str, says: str) -> None:
    trace = recording("causes")
    tensor = trace.named(name)
    assert tensor is not None
    step = trace.steps
    if name == "a":
        # the last pass of the program that could have reached it is that of `out`
        step = int(trace.pass_end[0]) if 0 in trace.pass_end else trace.steps
    if name == "late":
        step = int(trace.pass_end[1])
    answer = why(trace, step, f"tensor:{tensor}", question)
    assert says in " ".join(answer.sentences)


def test_a_square_says_that_its_two_gradients_are_added(tmp_path: Path) -> None:
    """`e * e` sends two gradients to one place: named once, and their sum is what PyTorch hands to the next node."""
    program = tmp_path / "square.py"
    program.write_text("import torch\ne = torch.tensor([2.0, 3.0], requires_grad=True)\n(e * e).sum().backward()\n")
    out = tmp_path / "square.gradviz"
    assert forked.record("-o", out, program).returncode == 0
    trace = open_trace(out)
    step = next(s for s in range(trace.steps + 1) if step_label(trace, s) == "Mul")
    body = narrate(trace, step, "en").body
    assert body.count("e receives [2, 3].") == 1
    assert body.count("e is a leaf") == 1
    assert "these 2 gradients are added together" in body
    e = torch.tensor([2.0, 3.0], requires_grad=True)
    (e * e).sum().backward()
    grad = trace.at(trace.steps).grad("e")
    assert grad is not None and e.grad is not None and np.array_equal(np.asarray(grad), e.grad.numpy())


def test_a_rule_in_pieces_names_the_tensors_of_this_run() -> None:
    trace = recording("causes")
    shared = trace.named("shared")
    node = next(n for n in trace.nodes if n.name == "MulBackward0" and len({e[0] for e in n.edges}) == 1)
    rows = terms(trace, trace.steps, node.id)
    assert [name for name, _ in rows] == ["self", "other"]
    for _, pieces in rows:
        gradient = next(p for p in pieces if p.role == "gradient")
        saved = next(p for p in pieces if p.role == "saved")
        made = trace.ops[node.op].outputs[0] if node.op is not None else None
        assert (gradient.key, gradient.shape, gradient.value) == (f"tensor:{made}", (), "1")
        assert (saved.key, saved.shape, saved.value) == (f"tensor:{shared}", (), "3")
        assert "".join(p.text for p in pieces).startswith("g")
    accumulate = next(n.id for n in trace.nodes if n.leaf is not None)
    assert terms(trace, trace.steps, accumulate) == ()


def test_numbers_stand_in_rules_that_leave_inputs_out_or_transpose() -> None:
    trace = recording("one_layer_again")
    said = {n.name: numbers(trace, trace.steps, n.id) for n in trace.nodes}
    z = trace.at(trace.steps).value("z")
    assert z is not None
    (loss,) = next(v for k, v in said.items() if k.startswith("BinaryCrossEntropy"))
    assert loss.startswith("self: 1 · (σ([") and f"{z[0]:.4f}".rstrip("0") in loss
    (product,) = next(v for k, v in said.items() if k.startswith("Mm"))
    assert product.startswith("mat2: [1, 1, 1, 1, 1]ᵀ @ [[")

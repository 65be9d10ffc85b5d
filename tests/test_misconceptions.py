"""Every row of docs/misconceptions.md: its checkpoint exists, what stands there is in the recording, and plain PyTorch
says the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradviz.app.shelf import shelf
from gradviz.player.lesson_steps import step_of
from gradviz.player.lesson_values import answered
from gradviz.player.lessons import Lesson
from gradviz.trace import Trace
from tests.plain_lessons import look, nodes, run, say

TEXT = (Path(__file__).parents[1] / "docs" / "misconceptions.md").read_text("utf-8")
ROW = re.compile(r"^\| (M\d+) \| (.+?) \| (.+?) \| `([\w-]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
ROWS = {found[1]: found for found in ROW.finditer(TEXT)}
LESSONS = {lesson.id: lesson for lesson in shelf()}


def shown(cell: str) -> list[tuple[str, str]]:
    """(template, answer) pairs of the last column."""
    return re.findall(r"`([^`]+)` = `([^`]+)`", cell)


def test_the_core_26_are_all_there() -> None:
    assert list(ROWS) == [f"M{k}" for k in range(1, 27)]
    assert set(ORACLE) == set(ROWS)
    assert all(shown(row[6]) for row in ROWS.values())


@pytest.mark.parametrize("ident", ROWS)
def test_what_stands_there_is_in_the_recording_and_is_what_pytorch_says(
    ident: str, lesson_run: Callable[[str], Trace]
) -> None:
    row = ROWS[ident]
    lesson, selector, pairs = LESSONS[row[4]], row[5], shown(row[6])
    assert selector in [point.selector for point in lesson.checkpoints]
    trace = lesson_run(lesson.id)
    step = step_of(trace, selector)
    recorded = [answered(trace, step, template) for template, _ in pairs]
    assert recorded == ORACLE[ident](lesson)
    if torch.__version__.startswith("2.13."):  # names, counts and texts are those of a version
        assert recorded == [answer for _, answer in pairs]


# ---- what plain PyTorch says


def asks(statement: str, *expressions: str, count: int = 1) -> Callable[[Lesson], list[str]]:
    """Python expressions, evaluated right after a statement of the lesson's program or actions."""

    def oracle(lesson: Lesson) -> list[str]:
        told = look(lesson, statement, count, lambda space: [say(eval(e, space)) for e in expressions])
        return list(told)

    return oracle


def both(*oracles: Callable[[Lesson], list[str]]) -> Callable[[Lesson], list[str]]:
    return lambda lesson: [answer for oracle in oracles for answer in oracle(lesson)]


def raises(number: int) -> Callable[[Lesson], list[str]]:
    """The first sentence of what the number-th failing action raises."""

    def oracle(lesson: Lesson) -> list[str]:
        return [str(run(lesson, {})[number]).split("\n")[0].split(". ")[0].rstrip(".")]

    return oracle


def saved_by_matmul(lesson: Lesson) -> list[str]:
    def at(space: dict[str, Any]) -> list[str]:
        squeeze = space["z"].grad_fn.next_functions[0][0]
        kept = squeeze.next_functions[0][0]._saved_self
        assert kept.data_ptr() == space["x"].data_ptr()
        return [say(space["x"].grad_fn), "x"]

    return list(look(lesson, "z = torch.matmul(x, w) + b", 1, at))


def nodes_over_iterations(lesson: Lesson) -> list[int]:
    return [look(lesson, "y.backward()", k, lambda space: len(nodes(space["y"]))) for k in (1, 2, 3)]


def accumulators(lesson: Lesson) -> int:
    """How many AccumulateGrad nodes there were: the first one is marked, and found again or not."""
    marks = 0

    def at(space: dict[str, Any]) -> int:
        nonlocal marks
        leaf = next(node for node in nodes(space["y"], leaves=True) if hasattr(node, "variable"))
        if "seen" not in leaf.metadata:
            leaf.metadata["seen"] = True
            marks += 1
        return marks

    def after(text: str) -> None:
        if text == "y = w * w":
            at(space)

    space: dict[str, Any] = {"_after": after}
    run(lesson, space)
    return marks


def bce_rule(lesson: Lesson) -> list[str]:
    gradient = look(lesson, "loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)", 1, gradient_of_z)
    return [say(gradient)]


def gradient_of_z(space: dict[str, Any]) -> torch.Tensor:
    """The formula, which autograd confirms."""
    z, y = space["z"], space["y"]
    formula = (torch.sigmoid(z) - y) / z.numel()
    gradient: torch.Tensor = torch.autograd.grad(space["loss"], z, retain_graph=True)[0]
    torch.testing.assert_close(gradient, formula)
    return gradient


def order(lesson: Lesson) -> list[str]:
    def at(space: dict[str, Any]) -> list[str]:
        ran: list[str] = []
        names = {id(space[name]): name for name in "ab"}
        for node in nodes(space["e"], leaves=True):
            name = f"({names[id(node.variable)]})" if hasattr(node, "variable") else ""
            called = node.name().rpartition("::")[2] + name
            node.register_hook(lambda *_, called=called: ran.append(called))
        space["e"].backward()
        return [", ".join(ran)]

    return list(look(lesson, "e = c * d", 1, at))


def held(lesson: Lesson) -> list[str]:
    """Bytes of what is saved and is no leaf's memory, each storage once: for `out`, and after `quick` as well."""

    def at(space: dict[str, Any]) -> list[str]:
        kept: dict[int, int] = {}
        leaves = {p.untyped_storage().data_ptr() for m in ("first", "last") for p in space[m].parameters()}
        leaves.add(space["x"].untyped_storage().data_ptr())

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in leaves:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        def forward() -> torch.Tensor:
            made: torch.Tensor = space["last"](torch.relu(space["first"](space["x"])))
            return made

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = forward()
            before = sum(kept.values())
            with torch.no_grad():
                forward()
        assert out.requires_grad
        return [str(before), str(sum(kept.values()))]

    return list(look(lesson, "x = torch.randn(2, 4)", 1, at))


def nodes_that_run(lesson: Lesson) -> list[str]:
    def at(space: dict[str, Any]) -> list[str]:
        ran: list[str] = []
        root = space["fixed"].sum()
        for node in nodes(root, leaves=True):
            node.register_hook(lambda *_: ran.append(""))
        root.backward()
        return [str(len(ran)), say(space["first"].weight.grad)]

    return list(look(lesson, "fixed = last(torch.relu(first(x)))", 1, at))


def added(lesson: Lesson, statement: str, name: str) -> list[str]:
    first, second = (look(lesson, statement, k, lambda space: space[name].grad.clone()) for k in (1, 2))
    return [say(second - first), say(second)]


def two_calls(lesson: Lesson) -> tuple[float, float]:
    """What the second call added to the first element, and what stands there then."""
    printed = ("print('First call\\n', inp.grad)", "print('\\nSecond call\\n', inp.grad)")
    first, second = (look(lesson, text, 1, lambda space: space["inp"].grad[0, 0].item()) for text in printed)
    return second - first, second


ORACLE: dict[str, Callable[[Lesson], list[str]]] = {
    "M1": asks("loss.backward()", "z.grad", "b.grad"),
    "M2": asks("y = torch.zeros(3)", "x.is_leaf", "x.requires_grad"),
    "M3": saved_by_matmul,
    "M4": asks("z = torch.matmul(x, w) + b", "z.grad_fn.name()", "z.grad_fn.name()"),
    "M5": lambda lesson: [str(n) for n in (nodes_over_iterations(lesson)[0], nodes_over_iterations(lesson)[0] + 1)],
    "M6": lambda lesson: added(lesson, "s.backward()", "b"),
    "M7": both(asks("loss.backward(retain_graph=True)", "b.grad"), asks("loss.backward()", "b.grad", count=2)),
    "M8": lambda lesson: [say(run_all(lesson)[name].grad) for name in ("p", "q")],
    "M9": lambda lesson: [say(call) for call in two_calls(lesson)],
    "M10": both(asks("optimizer.step()", "w.grad", count=4), asks("plain.step()", "w"),
                asks("optimizer.step()", "w", count=4)),
    "M11": both(asks("plain.step()", "w.grad"), asks("optimizer.step()", "w", count=3), asks("plain.step()", "w")),
    "M12": both(asks("loss.backward()", "w"), asks("optimizer.step()", "w")),
    "M13": raises(0),
    "M14": asks("out.backward(v, retain_graph=True)", "inp.grad[0]"),
    "M15": both(asks("tall = (torch.ones(4, 5, requires_grad=True) + 1).pow(2).t()", "tall.shape"), raises(1)),
    "M16": bce_rule,
    "M17": asks("e = c * d", "__import__('torch').autograd.grad(e, c)[0]"),
    "M18": order,
    "M19": asks("y = y.sin()", "__import__('torch').cos(w * w)"),
    "M20": lambda lesson: [str(sum(nodes_over_iterations(lesson))), str(accumulators(lesson))],
    "M21": asks("calm = last(torch.relu(first(x)))", "calm.requires_grad"),
    "M22": both(
        asks("quick = last(torch.relu(first(x)))", "quick.requires_grad"),
        asks("cut = h.detach()", "cut.requires_grad"),
        asks("first.requires_grad_(False)", "first.weight.requires_grad"),
        lambda lesson: [look(lesson, "pure = last(torch.relu(first(x)))", 1, lambda s: version(s["pure"]))],
    ),
    "M23": held,
    "M24": nodes_that_run,
    "M25": asks("step.step()", "frozen.grad", "frozen"),
    "M26": both(asks("late.requires_grad_(True)", "late.requires_grad", "twice.grad_fn"), raises(1)),
}  # fmt: skip


def run_all(lesson: Lesson) -> dict[str, Any]:
    space: dict[str, Any] = {}
    run(lesson, space)
    return space


def version(tensor: torch.Tensor) -> str:
    """PyTorch refuses to tell the version of an inference tensor: it has none."""
    try:
        return str(tensor._version)
    except RuntimeError:
        return "None"

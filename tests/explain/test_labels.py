"""How things are called in sentences."""

from __future__ import annotations

import pytest

from gradviz.explain.labels import place, tensor_label
from gradviz.trace import Trace
from gradviz.trace.events import Cell, File, Header, Named, Tensor


@pytest.mark.parametrize(
    ("file", "english", "chinese"),
    [
        (0, "on line 3", "第 3 行"),
        (1, "on line 3 of layers.py", "layers.py 第 3 行"),
        (2, "in action 1", "操作 1 中"),
        (3, "in action 2", "操作 2 中"),
    ],
)
def test_a_sent_line_is_named_as_an_action_and_another_file_by_its_name(file: int, english: str, chinese: str) -> None:
    """Line 1 of what a button sent is not line 1 of the program."""
    trace = Trace(
        [
            Header(),
            File(0, "prog.py"),
            Cell(0, 0),
            File(1, "/somewhere/layers.py"),
            File(2, "<action 1>"),
            Cell(1, 2, "action"),
            File(3, "<action 2>"),
            Cell(2, 3, "action"),
        ]
    )
    assert place(trace, (file, 3, 0, 3, 9), "en") == english
    assert place(trace, (file, 3, 0, 3, 9), "zh") == chinese


def test_a_span_that_is_not_known_is_said_to_be_so() -> None:
    assert place(Trace(), None, "en") == "on an unknown line"


def test_a_grad_of_a_grad_is_named_and_a_circle_of_them_ends() -> None:
    told = [
        Tensor(0),
        Named(0, "w"),
        Tensor(1, grad_of=0),
        Tensor(2, grad_of=1),
        Tensor(3, grad_of=4),
        Tensor(4, grad_of=3),
    ]
    trace = Trace([Header(), *told])
    assert [tensor_label(trace, t) for t in (1, 2)] == ["w.grad", "w.grad.grad"]
    assert tensor_label(trace, 3) == "#4.grad"

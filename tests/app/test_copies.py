"""Copies of a program answer, or are missed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.copies import Copies
from gradviz.player.program import Program

TEXT = "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\n"


@pytest.mark.slow
def test_lines_are_sent_and_a_copy_without_an_answer_is_none(qtbot: QtBot) -> None:
    copies, came = Copies(), []
    copies.done.connect(lambda _, answers: came.append(answers))

    def spec(paths: list[str]) -> list[str]:
        return [json.dumps({"within": k, "tensor": 0, "report": path}) for k, path in enumerate(paths)]

    copies.ask(Program(TEXT, "mine.py"), "cpu", ("y.backward()",), 2, spec)
    qtbot.waitUntil(lambda: bool(came), timeout=120_000)
    answers: list[Any] = came[0]
    assert answers[0]["objective"] == 2.0
    assert answers[1] is None, "there is no second pass"
    assert not copies.is_busy


def test_an_interpreter_that_is_not_there_gives_no_answer(qtbot: QtBot) -> None:
    from dataclasses import replace

    from gradviz.player.setup import Setup

    copies, came = Copies(), []
    copies.done.connect(lambda _, answers: came.append(answers))
    program = replace(Program(TEXT, "mine.py"), setup=Setup(python="/nowhere/python"))
    copies.ask(program, "cpu", (), 1, lambda paths: [json.dumps({"within": 0, "tensor": 0, "report": paths[0]})])
    qtbot.waitUntil(lambda: bool(came), timeout=5000)
    assert came == [[None]]

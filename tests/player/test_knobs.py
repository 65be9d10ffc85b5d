"""Numbers and switches in a text: found where Python has them, changed without touching anything else."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.player.knobs import Knob, knobs, span, turned, written

TEXT = '''import torch
"""text with 5 in it"""
é = "ü"; lr = 0.001; n = -4
w = torch.randn(
    5,
    requires_grad=True,
)
x = torch.ones(3, )
opt = torch.optim.SGD([w], lr=0.1)
y = f"{3}"
'''


def by_value(text: str) -> dict[object, Knob]:
    return {knob.value: knob for knob in knobs(text) if not knob.missing}


def test_numbers_and_switches_are_found_with_their_names() -> None:
    found = by_value(TEXT)
    assert {value: knob.name for value, knob in found.items()} == {
        1e-3: "lr", -4: "n", 5: "", True: "requires_grad", 3: "", 0.1: "lr",
    }  # fmt: skip
    assert [(k.line, k.name, k.value) for k in knobs(TEXT) if k.missing] == [(8, "requires_grad", False)]
    assert TEXT[found[-4].start : found[-4].end] == "-4" and found[1e-3].line == 3


@pytest.mark.parametrize("knob", knobs(TEXT), ids=lambda knob: f"{knob.line}-{knob.value}")
def test_turning_one_changes_that_one_alone(knob: Knob) -> None:
    value = (not knob.value) if knob.is_switch else 7
    after = turned(TEXT, knob, value)
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(TEXT))
    changed = [k for k in knobs(after) if (k.line, k.name) == (knob.line, knob.name) and k.value == value]
    assert changed and turned(after, changed[0], knob.value) == (
        TEXT if not knob.missing else turned(after, changed[0], 0)
    )


def test_a_missing_switch_is_added_and_off_is_nothing() -> None:
    (knob,) = [k for k in knobs("import torch\nx = torch.ones(3, )\n") if k.missing]
    assert turned("import torch\nx = torch.ones(3, )\n", knob, True).endswith("torch.ones(3, requires_grad=True)\n")
    assert turned("import torch\nx = torch.ones(3, )\n", knob, False).endswith("torch.ones(3, )\n")


@given(st.floats(-1e6, 1e6), st.sampled_from([1, 2.5]))
def test_numbers_are_written_as_their_kind(value: float, like: float) -> None:
    text = written(value, like=like)
    assert type(ast.literal_eval(text)) is type(like)
    assert ast.literal_eval(text) == pytest.approx(value, rel=1e-5, abs=0.5 if isinstance(like, int) else 1e-9)


@pytest.mark.parametrize("text", ["", "x = (", "\0", "x = 1" * 3])
def test_what_is_no_python_has_none(text: str) -> None:
    assert knobs(text) == []


def test_a_slider_has_room_on_both_sides() -> None:
    for knob in knobs(TEXT):
        low, high = span(knob)
        assert low <= float(knob.value) <= high and low < high


def test_a_form_feed_is_no_line_of_its_own() -> None:
    text = "a = 1\n\f\nb = 2\n"
    (_, second) = knobs(text)
    assert (second.line, text[second.start : second.end]) == (3, "2")

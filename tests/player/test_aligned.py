"""Two recordings on one clock: PyTorch runs both, and what differs between them is what differs in PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.player.aligned import Aligned, Key, _paired, agreed, step_key
from gradviz.trace import Trace

Record = Callable[[str], Trace]
TEXT = """import torch
torch.manual_seed(0)
x = torch.ones(3)
w = torch.randn(3, requires_grad=True)
y = (x * w).sum()
y.backward()
"""


def scanned(here: Trace, there: Trace) -> Aligned:
    aligned = Aligned(here, there)
    while not aligned.scan(0):
        pass
    return aligned


@pytest.fixture
def plain(record_text: Record) -> Trace:
    return record_text(TEXT)


def kinds(comparison: Aligned, moment: int) -> set[str]:
    return {difference.kind for difference in comparison.differences(moment)}


def test_a_run_does_not_differ_from_itself(plain: Trace, record_text: Record) -> None:
    again = scanned(record_text("\n" + TEXT), plain)
    assert again.pairs == [(step, step) for step in range(plain.steps + 1)]
    assert again.next(0) is None and again.rows(again.last) == [] and not any(again.marks(again.last))


def test_a_switch_is_found_where_it_is_and_in_what_follows(plain: Trace, record_text: Record) -> None:
    other = record_text(TEXT.replace("torch.ones(3)", "torch.ones(3, requires_grad=True)"))
    comparison = scanned(other, plain)
    first = comparison.next(0)
    assert first == 1 and kinds(comparison, 1) == {"call", "requires_grad"}
    only = [m for m, (here, there) in enumerate(comparison.pairs) if there is None]
    assert [step_key(other, comparison.pairs[m][0] or 0) for m in only] == [("leaf", "x")]
    rows = {(row.name, row.kind): (row.here, row.there) for row in comparison.rows(comparison.last)}
    assert rows["x", "requires_grad"] == ("True", "False")
    assert rows["x", "grad"][0] is not None and rows["x", "grad"][1] is None
    assert set(rows) == {("x", "requires_grad"), ("x", "grad")}, "w.grad is the same"
    here, there = comparison.marks(comparison.last)
    assert f"tensor:{other.named('x')}" in here and f"tensor:{plain.named('w')}" not in there


def test_a_number_differs_from_where_it_is_used(plain: Trace, record_text: Record) -> None:
    comparison = scanned(record_text(TEXT.replace("(0)", "(1)")), plain)
    first = comparison.next(0)
    assert first is not None and step_key(plain, comparison.steps(first)[1]) == ("op", "randn")
    assert kinds(comparison, first) == {"value"}
    rows = {row.name: row for row in comparison.rows(comparison.last) if row.kind == "value"}
    mine, other = comparison.here.at(99).value("w"), comparison.there.at(99).value("w")
    assert mine is not None and other is not None
    assert set(rows) == {"w", "y"} and rows["w"].largest == pytest.approx(abs(mine - other).max())


def test_another_operation_stands_beside_a_pause_on_one_clock(plain: Trace, record_text: Record) -> None:
    comparison = scanned(record_text(TEXT.replace("x * w", "x + w")), plain)
    alone = [m for m in range(comparison.last + 1) if None in comparison.pairs[m]]
    names = {
        (step_key(t, s))
        for m in alone
        for t, s in zip((comparison.here, comparison.there), comparison.pairs[m], strict=True)
        if s
    }
    assert ("op", "mul") in names and ("op", "add") in names
    for moment in range(1, comparison.last + 1):
        before, after = comparison.steps(moment - 1), comparison.steps(moment)
        assert 1 <= sum(after) - sum(before) <= 2, "each moment is a step of one run or of both"
    assert comparison.steps(comparison.last) == (comparison.here.steps, comparison.there.steps)
    for step in range(comparison.here.steps + 1):
        assert comparison.steps(comparison.moment(step))[0] == step
    walked, back = [0], [comparison.last + 1]
    while (following := comparison.next(walked[-1])) is not None:
        walked.append(following)
    while (earlier := comparison.previous(back[-1])) is not None:
        back.append(earlier)
    assert walked[1:] == back[:0:-1] and set(alone) <= set(walked)


def test_rounding_is_told_apart(record_text: Record) -> None:
    text = "import torch\nx = torch.tensor([1.0, 3.0])\ny = x * {} \n"
    exact = record_text(text.format("0.3"))
    near, far = (
        scanned(record_text(text.format("0.3000001")), exact),
        scanned(record_text(text.format("0.31")), exact),
    )
    (row,) = near.rows(near.last)
    assert row.name == "y" and row.rounding and row.largest is not None and 0 < row.largest < 1e-6
    assert {d.kind: d.rounding for d in near.differences(2)} == {"value": True} or "call" in kinds(near, 2)
    (row,) = far.rows(far.last)
    assert not row.rounding and far.next(1) == 2


def test_an_error_differs_from_none(plain: Trace, record_text: Record) -> None:
    comparison = scanned(record_text(TEXT + "y.backward()\n"), plain)
    assert kinds(comparison, comparison.last) == {"only_here"}
    assert step_key(comparison.here, comparison.here.steps) == ("fault", "RuntimeError")


def test_the_playhead_knows_how_far_two_runs_agree(plain: Trace, record_text: Record) -> None:
    other = record_text(TEXT.replace("x * w", "x + w"))
    same = agreed(plain, other, 99)
    assert same == next(s for s in range(1, 99) if step_key(plain, s) != step_key(other, s)) - 1 > 0
    assert agreed(plain, other, 1) == 1 and agreed(plain, plain, 99) == plain.steps


keys = st.lists(st.sampled_from("abcd").map(lambda name: ("op", name)), max_size=30)


@given(keys, keys)
def test_every_step_is_at_one_moment_in_order(here: list[Key], there: list[Key]) -> None:
    pairs = list(_paired(here, there))
    assert [a for a, _ in pairs if a is not None] == list(range(1, len(here) + 1))
    assert [b for _, b in pairs if b is not None] == list(range(1, len(there) + 1))
    assert all(here[a - 1] == there[b - 1] for a, b in pairs if a is not None and b is not None)


def test_long_runs_are_matched_in_linear_time() -> None:
    four: list[Key] = [("op", name) for name in ("linear", "relu", "add", "mul")]
    body = four * 5000
    changed = body[:9000] + [("op", "dropout")] + body[9000:]
    began = time.perf_counter()
    pairs = list(_paired(changed, body))
    assert time.perf_counter() - began < 5
    assert [pair for pair in pairs if None in pair] == [(9001, None)]

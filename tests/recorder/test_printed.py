"""What is printed is told in order and joined; of a flood the beginning and parts, the same ones in every run."""

from __future__ import annotations

import random

from gradviz.recorder.printed import BLOCK, PIECE, TAIL, WHOLE, Printed
from gradviz.trace.events import Output


def told(printed: Printed, text: str, sizes: random.Random) -> list[Output]:
    found, at = [], 0
    while at < len(text):
        size = sizes.choice((1, 10, 1000, 3 * PIECE))
        found += printed.add(text[at : at + size], "stdout")
        at += size
    return found + printed.finish()


def test_lines_are_joined_in_order() -> None:
    printed = Printed()
    assert not printed.add("one\n", "stdout") and not printed.add("two\n", "stdout") and printed.due
    assert printed.add("oh\n", "stderr") == [Output("one\ntwo\n")]
    assert printed.take() == [Output("oh\n", "stderr")] and not printed.due
    assert not printed.take() and not printed.finish()


def test_a_flood_is_thinned_by_its_characters_alone() -> None:
    text = "".join(f"line {k}\n" for k in range(400_000))
    assert len(text) > WHOLE + 3 * BLOCK
    runs = []
    for seed in range(3):
        printed = Printed()
        found = told(printed, text, random.Random(seed))
        assert sum(len(one.text) + one.skipped for one in found) == len(text)
        assert printed.left_out == sum(one.skipped for one in found) > len(text) / 2
        assert sum(len(one.text) for one in found) <= WHOLE + 10 * TAIL
        assert found[-1].text == text[-TAIL:]
        runs.append([one for one in found if one.skipped])
    assert runs[0] == runs[1] == runs[2]
    at = WHOLE
    for one in runs[0]:
        assert text[at + one.skipped : at + one.skipped + len(one.text)] == one.text
        at += one.skipped + len(one.text)


def test_one_stream_does_not_silence_the_other() -> None:
    printed = Printed()
    printed.add("x" * (WHOLE + 10), "stdout")
    assert not printed.add("warning\n", "stderr")
    assert printed.finish() == [Output("warning\n", "stderr"), Output("x" * 10, "stdout")]

"""Which question is asked when, from what was asked before."""

from __future__ import annotations

import pytest

from gradviz.player.quiz import APART, LEVELS, Asked, level_of, pick, score

KINDS = ("flags", "leaves", "shape")


def test_off_asks_nothing() -> None:
    assert pick(KINDS, 3, "off", ()) is None
    assert pick((), 3, "lecture", ()) is None


def test_never_two_of_one_kind_in_a_row() -> None:
    past: list[Asked] = []
    for step in range(1, 20):
        kind = pick(KINDS, step, "lecture", past)
        assert kind is not None and (not past or past[-1].kind != kind)
        past.append(Asked(step, kind, True))
    assert {past.count(Asked(a.step, a.kind, True)) for a in past} == {1}
    assert pick(("flags",), 21, "lecture", [Asked(20, "flags")]) is None


def test_light_keeps_its_distance() -> None:
    past = [Asked(10, "flags", True)]
    assert [pick(KINDS, 10 + k, "light", past) for k in range(1, APART)] == [None] * (APART - 1)
    assert pick(KINDS, 10 + APART, "light", past) == "leaves"


def test_no_question_twice_before_one_step() -> None:
    assert pick(KINDS, 4, "lecture", [Asked(4, "flags", False), Asked(9, "shape", True)]) is None


def test_what_was_wrong_comes_back_elsewhere() -> None:
    past = [Asked(1, "shape", False), Asked(2, "flags", True)]
    assert pick(KINDS, 3, "lecture", past) == "shape"
    past += [Asked(3, "shape", True), Asked(4, "leaves", True)]
    assert pick(KINDS, 5, "lecture", past) == "flags", "asked once, like leaves; shape twice"


@pytest.mark.parametrize("text", ["", "LIGHT", "loud", "off"])
def test_an_unknown_level_is_off(text: str) -> None:
    assert level_of(text) == "off"
    assert [level_of(name) for name in LEVELS] == list(LEVELS)


def test_the_score_counts_answers_only() -> None:
    assert score([Asked(1, "a", True), Asked(2, "b", False), Asked(3, "c")]) == (1, 2)

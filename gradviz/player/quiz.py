"""Predict, then reveal: where a person stands with the question that is asked before a step. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Level = Literal["off", "light", "lecture"]
LEVELS: tuple[Level, ...] = ("off", "light", "lecture")
APART = 5
"""At level "light" there is at most one question in so many steps."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is over. `right` is None where nobody answered."""

    step: int
    kind: str
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Quiz:
    """The question that stands: asked while `step - 1` is shown, and still there, with its answer, at `step`."""

    step: int
    kind: str
    chosen: int | None = None
    """Position of the choice that was made."""
    revealed: bool = False


def level_of(text: str) -> Level:
    """The level of that name; "off" for any other text."""
    return next((level for level in LEVELS if level == text), "off")


def pick(kinds: Sequence[str], step: int, level: Level, past: Sequence[Asked]) -> str | None:
    """Which of the kinds that are possible before a step is asked now; None: none.

    Never two of one kind in a row, and never the same question again. What was answered wrong comes before what was
    not, what was seldom asked before what was often asked.
    """
    if level == "off" or not kinds:
        return None
    last = past[-1] if past else None
    if level == "light" and last is not None and abs(step - last.step) < APART:
        return None
    before = {asked.kind for asked in past if asked.step == step}
    free = [kind for kind in kinds if kind not in before and (last is None or kind != last.kind)]
    if before or not free:
        return None
    latest = {asked.kind: asked.right for asked in past}
    times = {kind: sum(asked.kind == kind for asked in past) for kind in free}
    return min(free, key=lambda kind: (latest.get(kind) is not False, times[kind], kinds.index(kind)))


def score(past: Sequence[Asked]) -> tuple[int, int]:
    """How many were answered right, and how many were answered."""
    answered = [asked for asked in past if asked.right is not None]
    return sum(bool(asked.right) for asked in answered), len(answered)

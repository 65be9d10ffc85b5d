"""Questions about the step that comes next, made from the recording: what a person may predict before it is shown.

The truth is always read from the recorded events. The wrong choices are what people really believe (the numbers M1 to
M40 are those of `docs/misconceptions.md`), with the numbers of this run put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

from gradviz.explain import questions_backward as backward
from gradviz.explain import questions_forward as forward
from gradviz.explain.asking import Asker, Draft
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Fault, Grad, NodeRan, Op

MOST = 4
"""Choices of one question, the right one included."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that can be given; `note` says what is wrong with it, "" for the right one."""

    text: str
    note: str = ""
    misconception: str = ""
    """Its number in the table of misconceptions, "M9", or "" where it is in none."""


@dataclass(frozen=True, slots=True)
class Question:
    """Asked while `step - 1` is shown. `fact` is the truth as plain values, for whoever wants to check it."""

    kind: str
    step: int
    prompt: str
    choices: tuple[Choice, ...]
    truth: int
    """Position of the right one in `choices`."""
    why: str
    """Why it is so: whole sentences."""
    reveal: int
    """The step at which the truth can be seen on the canvas."""
    fact: dict[str, object] = field(default_factory=dict, hash=False, compare=False)


Maker = Callable[[Asker], Draft | None]

MAKERS: dict[type, dict[str, Maker]] = {
    Op: {
        "in_place": forward.in_place,
        "iteration": forward.iteration,
        "version": forward.version,
        "flags": forward.flags,
    },
    Backward: {
        "raises": backward.raises,
        "leaves": backward.leaves,
        "grad_after": backward.grad_after,
        "freed": backward.freed,
    },
    NodeRan: {
        "accumulate": backward.accumulate,
        "next_node": backward.next_node,
        "node_value": backward.node_value,
        "shape": backward.shape,
    },
    Grad: {"zeroed": forward.zeroed},
    Fault: {"refused": forward.refused},
}
KINDS: tuple[str, ...] = tuple(kind for makers in MAKERS.values() for kind in makers)


def kinds_at(trace: Trace, step: int) -> tuple[str, ...]:
    """Kinds of question that can be asked before a step, the most telling first."""
    if not 1 <= step <= trace.steps:
        return ()
    makers = MAKERS.get(type(trace.event_at(step)), {})
    return tuple(kind for kind, make in makers.items() if _draft(trace, step, make, "en") is not None)


def question(trace: Trace, step: int, kind: str, language: str = "en") -> Question | None:
    """The question of a kind before a step; None where it has none."""
    if not 1 <= step <= trace.steps:
        return None
    make = MAKERS.get(type(trace.event_at(step)), {}).get(kind)
    draft = _draft(trace, step, make, language) if make else None
    if draft is None:
        return None
    right = Choice(draft.truth)
    wrong = [Choice(w.text, w.note, w.misconception) for w in draft.wrong]
    order = sorted([right, *wrong], key=lambda c: crc32(f"{step} {kind} {_place(c, right, wrong)}".encode()))
    return Question(kind, step, draft.prompt, tuple(order), order.index(right), draft.why, draft.reveal, draft.fact)


def _place(choice: Choice, right: Choice, wrong: list[Choice]) -> int:
    """A number that is the same in each language, so that a live switch leaves the order alone."""
    return -1 if choice is right else wrong.index(choice)


def _draft(trace: Trace, step: int, make: Maker, language: str) -> Draft | None:
    """What a maker says, with the wrong choices that read like the right one or like each other left out."""
    draft = make(Asker(trace, step, language))
    if draft is None:
        return None
    seen, kept = {draft.truth}, []
    for wrong in draft.wrong:
        if wrong.text not in seen:
            seen.add(wrong.text)
            kept.append(wrong)
    draft.wrong = kept[: MOST - 1]
    return draft if draft.wrong else None

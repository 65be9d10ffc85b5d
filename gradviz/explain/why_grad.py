"""Why a `.grad` is None, holds a number, or holds more than one pass gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gradviz.explain.accounts import LedgerRow, ledger, way_to
from gradviz.explain.labels import joined, place, tensor_label, value_text
from gradviz.explain.words import Words
from gradviz.trace import Trace
from gradviz.trace import number as number_text
from gradviz.trace.events import Grad, Op, Tensor

MOST_ROWS = 6


@dataclass
class Story:
    """What is being told: sentences so far and the steps at which each can be seen."""

    trace: Trace
    step: int
    language: str
    sentences: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def say(self, key: str, *jumps: int, **fields: object) -> None:
        """Add a sentence of `why.*`, and the steps that show it."""
        self.sentences.append(Words(self.language)(f"why.{key}", **fields))
        self.steps += jumps

    def reason(self, untracked: str) -> str:
        """Why an operation left no node, as part of a sentence."""
        return Words(self.language)(f"say.reason.{untracked}")

    def join(self, items: list[str]) -> str:
        return joined(items, self.language)


def none(story: Story, tensor: int) -> None:
    """Causes in order: no leaf, flag off or on too late, no pass, set to None, not there yet, never reached."""
    trace, step, name = story.trace, story.step, tensor_label(story.trace, tensor)
    told = trace.tensor(tensor, step)
    held = trace.at(step).grad_data(tensor)
    if told is None:
        story.say("none.born", name=name)
    elif held is not None:
        story.say("none.held", name=name, value=value_text(held))
    elif not told.is_leaf and not told.retains_grad:
        op = trace.ops[told.op] if told.op is not None else None
        jumps = (int(trace.op_step.view[op.id]),) if op else ()
        story.say("none.not_leaf", *jumps, name=name, op=op.name if op else "grad_fn")
        story.say("none.not_leaf_cure", name=name)
    elif not told.requires_grad:
        story.say("none.flag", name=name)
    elif late := _late(trace, tensor, step):
        story.say("none.late", *late, step=late[0], used=late[1], name=name)
    else:
        _unreached(story, tensor, name)


def _late(trace: Trace, tensor: int, step: int) -> tuple[int, int] | None:
    """Step at which the flag was turned on and step of the last earlier use, where nothing used it after."""
    history = trace.tensors[tensor]
    flags = [(s, e.requires_grad) for s, i in zip(history.steps, history.indexes, strict=True)
             if isinstance(e := trace.events[i], Tensor)]  # fmt: skip
    if not flags or flags[0][1]:
        return None
    on = next((s for s, flag in flags if flag and s <= step), None)
    uses = [int(trace.op_step.view[op.id]) for op in trace.ops if tensor in op.inputs and not _flags(op)]
    before = [s for s in uses if on is not None and s <= on]
    after = [s for s in uses if on is not None and on < s <= step]
    return (on, before[-1]) if on is not None and before and not after else None


def _flags(op: Op) -> bool:
    return op.name in ("requires_grad_", "retain_grad")


def _unreached(story: Story, tensor: int, name: str) -> None:
    trace, step = story.trace, story.step
    event = trace.at(step).grad_event(tensor)
    passes = [p for p in trace.passes if trace.pass_step.view[p.id] <= step]
    history = trace.grads.get(tensor)
    if isinstance(event, Grad) and event.cause == "none" and history is not None:
        at = next(s for s, i in zip(history.steps, history.indexes, strict=True) if trace.events[i] is event)
        later = [p for p in passes if trace.pass_step.view[p.id] > at]
        if not later:
            story.say("none.zeroed", at, name=name, step=at)
            return
    if not passes:
        story.say("none.no_pass")
        return
    last = passes[-1]
    planned = any(trace.nodes[n].leaf == tensor for n in last.planned if n < len(trace.nodes))
    fault = next((f for f in trace.faults if f.within == last.id and trace.fault_step.view[f.id] <= step), None)
    if planned and fault is not None:
        at = int(trace.fault_step.view[fault.id])
        story.say("none.failed", at, name=name, step=at)
        return
    if planned and last.call == "backward":
        story.say("none.waiting", int(trace.pass_step.view[last.id]), name=name)
        return
    if last.call == "grad":
        story.say("none.grad_call", int(trace.pass_step.view[last.id]), name=name)
        return
    if last.inputs is not None and tensor not in last.inputs:
        story.say("none.inputs", int(trace.pass_step.view[last.id]))
        return
    _cut(story, tensor, name, int(trace.pass_step.view[last.id]))


def _cut(story: Story, tensor: int, name: str, began: int) -> None:
    """Follow the tensor forward to the operation where its way to the root ends."""
    trace, reached, used = story.trace, {tensor}, False
    for op in trace.ops:
        at = int(trace.op_step.view[op.id])
        if at > story.step:
            break
        if reached.isdisjoint(op.inputs) or tensor in op.writes:
            continue
        used = True
        if op.untracked in ("detached", "no_grad", "inference_mode", "not_differentiable"):
            where = place(trace, op.span, story.language)
            story.say("none.cut", at, name=name, op=op.name, where=where, reason=story.reason(op.untracked))
            return
        reached.update(op.outputs)
    story.say("none.unreached" if used else "none.unused", began, name=name)


def number(story: Story, tensor: int) -> None:
    """The writes that made it."""
    name = tensor_label(story.trace, tensor)
    rows = ledger(story.trace, tensor, None, story.step, story.language)
    if story.trace.at(story.step).grad_data(tensor) is None:
        story.say("number.none", name=name)
        return
    element = () if _scalar(story.trace, tensor, story.step) else None
    if element is not None:
        rows = ledger(story.trace, tensor, element, story.step, story.language)
    rows = _since_reset(rows)
    story.say("number.count", count=len(rows))
    for row in rows[-MOST_ROWS:]:
        kind = "added" if row.amount is not None else "set"
        story.say(f"number.{kind}", row.step, step=row.step, source=row.source, path=row.path or name,
                  amount=_text(row.amount), total=_text(row.total))  # fmt: skip
    if element is None:
        story.say("number.norms")


def _scalar(trace: Trace, tensor: int, step: int) -> bool:
    told = trace.tensor(tensor, step)
    return told is not None and told.shape == ()


def _text(value: float | None) -> str:
    return "None" if value is None else number_text(value)


def _since_reset(rows: list[LedgerRow]) -> list[LedgerRow]:
    """The rows from the last zeroing or assignment on; before it they no longer matter."""
    resets = [i for i, row in enumerate(rows) if row.cause in ("zero", "none", "assign")]
    kept = rows[resets[-1] :] if resets else rows
    return [row for row in kept if row.cause not in ("none", "unreached")]


def twice(story: Story, tensor: int) -> None:
    """Contributions since the last reset, and several edges of one pass that end there."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    rows = [r for r in _since_reset(ledger(trace, tensor, None, story.step, story.language)) if r.amount is not None]
    key = f"twice.{('zero', 'once', 'many')[min(len(rows), 2)]}"
    story.say(key, *(row.step for row in rows[-MOST_ROWS:]), name=name, count=len(rows))
    last = rows[-1].pass_id if rows else None
    arrivals = way_to(trace, trace.passes[last], tensor)[1] if last is not None else 0
    if arrivals > 1:
        story.say("twice.paths", name=name, arrivals=arrivals)
    if len(rows) > 1:
        story.say("twice.cure")


def sentence(text: str) -> str:
    """Source text on one line."""
    return re.sub(r"\s+", " ", text).strip()

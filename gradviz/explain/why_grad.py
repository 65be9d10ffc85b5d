"""Why a `.grad` is None, holds a number, or holds more than one pass gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from gradviz.explain.accounts import LedgerRow, ledger, way_to
from gradviz.explain.labels import joined, node_label, one_line, place, tensor_label, value_text
from gradviz.explain.readyqueue import plan_of
from gradviz.explain.words import Words
from gradviz.trace import Trace
from gradviz.trace import number as number_text
from gradviz.trace.events import Backward, Data, Grad, NodeRan, Tensor
from gradviz.trace.values import not_finite

MOST_ROWS = 6
FLAGS = frozenset(("requires_grad_", "retain_grad"))
"""Operations that are written as changes in place and change no value."""


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

    def name(self, tensor: int) -> str:
        """What a tensor is called."""
        return tensor_label(self.trace, tensor)

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
        _not_leaf(story, told, name)
    elif not told.requires_grad:
        story.say("none.flag", name=name)
    elif late := _late(trace, tensor, step):
        story.say("none.late", *late, step=late[0], used=late[1], name=name)
    else:
        _unreached(story, tensor, name)


def _not_leaf(story: Story, told: Tensor, name: str) -> None:
    """A result of an operation, of a node's run (`autograd.grad` with create_graph), or of a nameless leaf."""
    trace = story.trace
    if told.op is not None and told.op < len(trace.ops):
        op = trace.ops[told.op]
        story.say("none.not_leaf", int(trace.op_step.view[op.id]), name=name, op=op.name)
        leaf = next((t for t in op.inputs if _is_nameless_leaf(trace, t)), None)
        if leaf is not None:
            made = trace.tensor(leaf)
            maker = trace.op(made.op) if made is not None else None
            text = one_line(maker.text) if maker is not None else tensor_label(trace, leaf)
            story.say("none.nameless_leaf", name=name, made=text)
            return
    else:
        node = node_label(trace, told.node) if told.node is not None else "autograd"
        story.say("none.not_leaf_node", name=name, node=node)
    story.say("none.not_leaf_cure", name=name)


def _is_nameless_leaf(trace: Trace, tensor: int) -> bool:
    told = trace.tensor(tensor)
    return told is not None and told.is_leaf and told.requires_grad and trace.name(tensor) is None


def _late(trace: Trace, tensor: int, step: int) -> tuple[int, int] | None:
    """Step at which the flag was turned on and step of the last earlier use, where nothing used it after."""
    history = trace.tensors[tensor]
    flags = [(s, e.requires_grad) for s, i in zip(history.steps, history.indexes, strict=True)
             if isinstance(e := trace.events[i], Tensor)]  # fmt: skip
    if not flags or flags[0][1]:
        return None
    on = next((s for s, flag in flags if flag and s <= step), None)
    uses = [int(trace.op_step.view[op.id]) for op in trace.ops if tensor in op.inputs and op.name not in FLAGS]
    before = [s for s in uses if on is not None and s <= on]
    after = [s for s in uses if on is not None and on < s <= step]
    return (on, before[-1]) if on is not None and before and not after else None


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
        _after_grad_call(story, tensor, name, last)
        return
    if last.inputs is not None and tensor not in last.inputs:
        story.say("none.inputs", int(trace.pass_step.view[last.id]))
        return
    _cut(story, tensor, name, int(trace.pass_step.view[last.id]))


def _after_grad_call(story: Story, tensor: int, name: str, last: Backward) -> None:
    """`autograd.grad` writes no `.grad`; what it returns for a tensor without a path is None, or zeros if asked for."""
    trace, began = story.trace, int(story.trace.pass_step.view[last.id])
    story.say("none.grad_call", began, name=name)
    if tensor not in (last.inputs or ()) or _reaches(trace, last.roots, tensor):
        return
    zeros = re.search(r"materialize_grads\s*=\s*True", last.text) is not None
    raised = any(f.within == last.id for f in trace.faults)
    if not raised:
        story.say("none.grad_zeros" if zeros else "none.grad_none", name=name)


def _reaches(trace: Trace, roots: tuple[int, ...], tensor: int) -> bool:
    """Whether edges lead from the roots to the node of a tensor: its AccumulateGrad, or its grad_fn."""
    told = trace.tensor(tensor)
    goal = told.node if told is not None else None
    seen, queue = set(roots), list(roots)
    for node in queue:
        if trace.nodes[node].leaf == tensor or node == goal:
            return True
        for target, _ in trace.nodes[node].edges:
            if target is not None and target < len(trace.nodes) and target not in seen:
                seen.add(target)
                queue.append(target)
    return False


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
    rows = _since_reset(rows)
    story.say("number.one" if len(rows) == 1 else "number.count", count=len(rows))
    for row in rows[-MOST_ROWS:]:
        kind = "set" if row.added is None else "added"
        story.say(f"number.{kind}", row.step, step=row.step, source=row.source, path=row.path or name,
                  amount=_text(row.added, row.amount), total=_text(row.after, row.total))  # fmt: skip
    last = next((row for row in reversed(rows) if row.added is not None and row.pass_id is not None), None)
    if last is not None and last.pass_id is not None:
        _senders(story, tensor, last.pass_id)
        _hooks(story, tensor, last.pass_id)
        _zeroed(story, tensor, last.pass_id)
        _edited(story, tensor, last.pass_id)
    if any(_is_long(row.added) or _is_long(row.after) for row in rows):
        story.say("number.norms")
    told = story.trace.tensor(tensor, story.step)
    if told is not None and told.dtype.startswith("complex"):
        story.say("number.complex")


def _is_long(data: Data | None) -> bool:
    return data is not None and value_text(data).startswith("[…")


def _text(data: Data | None, norm: float | None) -> str:
    """A small content in full, of a larger one its norm."""
    if data is None:
        return "None"
    return value_text(data) if not _is_long(data) or norm is None else number_text(norm)


def _runs_of(trace: Trace, pass_id: int, nodes: list[int]) -> list[tuple[int, NodeRan]]:
    """Steps and runs of these nodes in a pass, in order."""
    mine = ((trace.run_pass.view == pass_id) & np.isin(trace.run_node.view, nodes)).nonzero()[0]
    runs = [(int(trace.run_step.view[i]), trace.events[int(trace.run_index.view[i])]) for i in mine]
    return [(step, run) for step, run in runs if isinstance(run, NodeRan)]


def _senders(story: Story, tensor: int, pass_id: int) -> None:
    """Where several gradients met in the leaf: what each node sent."""
    trace, sent = story.trace, []
    plan = plan_of(trace, trace.passes[pass_id])
    goal = next((n for n in plan.place if trace.nodes[n].leaf == tensor), None)
    senders = plan.arrivals(goal) if goal is not None else []
    for step, run in _runs_of(trace, pass_id, senders) if len(senders) > 1 else ():
        for (target, _), data in zip(trace.nodes[run.node].edges, run.gout, strict=False):
            if target is not None and data is not None and trace.nodes[target].leaf == tensor:
                sent.append((step, run.node, data))
    if len(sent) < 2:
        return
    for step, node, data in sent[:MOST_ROWS]:
        op = trace.nodes[node].op
        text = one_line(trace.ops[op].text) if op is not None and op < len(trace.ops) else ""
        key = "number.sent" if text else "number.sent_plain"
        story.say(key, step, node=node_label(trace, node), text=text, amount=value_text(data), name=story.name(tensor))


def _hooks(story: Story, tensor: int, pass_id: int) -> None:
    """Hooks that changed a gradient on the way to the leaf."""
    trace = story.trace
    for step, run in _runs_of(trace, pass_id, way_to(trace, trace.passes[pass_id], tensor)[0]):
        for before, after in ((run.gin_before, run.gin), (run.gout_before, run.gout)):
            for old, new in zip(before or (), after, strict=False):
                if old != new:
                    story.say("number.hook", step, node=node_label(trace, run.node), step=step,
                              before=value_text(old), after=value_text(new))  # fmt: skip


def _zeroed(story: Story, tensor: int, pass_id: int) -> None:
    """The node that first turned a gradient into nothing but zeros, where the leaf received nothing else."""
    trace = story.trace
    runs = _runs_of(trace, pass_id, way_to(trace, trace.passes[pass_id], tensor)[0])
    if not runs or any(_some(d) for _, run in runs if trace.nodes[run.node].leaf == tensor for d in run.gin):
        return
    for step, run in runs:
        out = [d for d in run.gout if d is not None]
        if out and any(_some(d) for d in run.gin) and not any(_some(d) for d in out):
            gin, gout = (story.join([value_text(d) for d in side if d is not None]) for side in (run.gin, out))
            story.say("number.zeroed", step, node=node_label(trace, run.node), step=step, gin=gin, gout=gout)
            return


def _some(data: Data | None) -> bool:
    """Not all zeros, or not known to be."""
    return data is not None and (data.norm is None or data.norm != 0 or not_finite(data))


def _edited(story: Story, tensor: int, pass_id: int) -> None:
    """Nodes on the way that computed with a saved tensor which was changed behind its version counter."""
    trace = story.trace
    way = way_to(trace, trace.passes[pass_id], tensor)[0]
    for warning, at in zip(trace.warnings, trace.warning_step.view.tolist(), strict=True):
        if warning.code == "data_edit" and warning.node in way and at <= story.step and warning.tensor is not None:
            story.say("number.edited", at, node=node_label(trace, warning.node), name=story.name(warning.tensor),
                      text=one_line(warning.text))  # fmt: skip


def _since_reset(rows: list[LedgerRow]) -> list[LedgerRow]:
    """The rows from the last zeroing or assignment on; before it they no longer matter."""
    resets = [i for i, row in enumerate(rows) if row.cause in ("zero", "none", "assign")]
    kept = rows[resets[-1] :] if resets else rows
    return [row for row in kept if row.cause not in ("none", "unreached")]


def twice(story: Story, tensor: int) -> None:
    """Contributions since the last reset, and several edges of one pass that end there."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    rows = [r for r in _since_reset(ledger(trace, tensor, None, story.step, story.language)) if r.added is not None]
    key = f"twice.{('zero', 'once', 'many')[min(len(rows), 2)]}"
    story.say(key, *(row.step for row in rows[-MOST_ROWS:]), name=name, count=len(rows))
    last = rows[-1].pass_id if rows else None
    arrivals = way_to(trace, trace.passes[last], tensor)[1] if last is not None else 0
    if arrivals > 1:
        story.say("twice.paths", name=name, arrivals=arrivals)
    if len(rows) > 1:
        story.say("twice.cure")

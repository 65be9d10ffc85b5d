"""Why a tensor requires grad or does not, why it is not finite, why it changed or did not."""

from __future__ import annotations

from gradviz.explain.labels import node_label, one_line, place, short_node, tensor_label, value_text
from gradviz.explain.why_grad import FLAGS, Story
from gradviz.trace import Trace
from gradviz.trace.events import Data, Grad, NodeRan, Op, Tensor
from gradviz.trace.values import not_finite

MOST_NAMES = 8


def requires(story: Story, tensor: int) -> None:
    """The shortest way from it to a leaf."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    told = trace.tensor(tensor, story.step) or trace.tensor(tensor)
    if told is None or not told.requires_grad:
        story.say("requires.no", name=name)
        not_requires(story, tensor)
        return
    if told.is_leaf or told.node is None:
        story.say("requires.leaf", *_made(trace, told.op), name=name)
        _flag_on(story, tensor, name)
        return
    chain, leaf = _chain(trace, told.node)
    if leaf is None or not chain:
        story.say("requires.unknown", node=node_label(trace, told.node))
        return
    names = [name, *(short_node(trace.nodes[n].name) for n in chain), tensor_label(trace, leaf)]
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES // 2], "…", *names[-MOST_NAMES // 2 :]]
    steps = [int(trace.node_step.view[n]) for n in (chain[0], chain[-1])]
    story.say("requires.chain", *steps, leaf=tensor_label(trace, leaf), chain=" ← ".join(names))


def _flag_on(story: Story, tensor: int, name: str) -> None:
    """The flag was set on a result: nothing before it is reached."""
    trace, history = story.trace, story.trace.tensors[tensor]
    flags = [(s, e) for s, i in zip(history.steps, history.indexes, strict=True)
             if isinstance(e := trace.events[i], Tensor) and s <= story.step]  # fmt: skip
    if not flags or flags[0][1].requires_grad or flags[0][1].op is None:
        return
    if flags[0][1].op >= len(trace.ops):
        return
    op = trace.ops[flags[0][1].op]
    on = next((s for s, e in flags if e.requires_grad), None)
    if op.inputs and on is not None:
        story.say("requires.late", on, name=name, step=on, op=op.name)


def _made(trace: Trace, op: int | None) -> tuple[int, ...]:
    return (int(trace.op_step.view[op]),) if op is not None and op < len(trace.ops) else ()


def _chain(trace: Trace, start: int) -> tuple[list[int], int | None]:
    parent: dict[int, int | None] = {start: None}
    queue = [start]
    for node in queue:
        if trace.nodes[node].leaf is not None:
            way, at = [], parent[node]
            while at is not None:
                way.append(at)
                at = parent[at]
            return way[::-1], trace.nodes[node].leaf
        for target, _ in trace.nodes[node].edges:
            if target is not None and target < len(trace.nodes) and target not in parent:
                parent[target] = node
                queue.append(target)
    return [start], None


def not_requires(story: Story, tensor: int) -> None:
    """The first cut: made without the flag, a type without gradients, an operation that left no node."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    told = trace.tensor(tensor, story.step) or trace.tensor(tensor)
    if told is not None and told.requires_grad:
        story.say("not_requires.yes", name=name)
        return
    if (off := _flag_off(story, tensor)) is not None:
        story.say("not_requires.off", off, name=name, step=off)
        return
    if told is None or told.op is None or told.op >= len(trace.ops):
        story.say("not_requires.there", name=name)
        return
    op, jumps = trace.ops[told.op], _made(trace, told.op)
    if not told.dtype.startswith(("float", "bfloat", "complex")):
        story.say("not_requires.dtype", *jumps, name=name, dtype=told.dtype)
        return
    if op.inputs and op.untracked is not None:
        where = place(trace, op.span, story.language)
        story.say("not_requires.cut", *jumps, name=name, op=op.name, where=where, reason=story.reason(op.untracked))
        if op.untracked == "no_input_requires_grad":
            _behind(story, op)
        return
    story.say("not_requires.made", *jumps, name=name, op=op.name)


def _flag_off(story: Story, tensor: int) -> int | None:
    """The step at which the flag of a tensor was last turned off."""
    trace, history, off, before = story.trace, story.trace.tensors.get(tensor), None, False
    for step, index in zip(history.steps, history.indexes, strict=True) if history else ():
        event = trace.events[index]
        if isinstance(event, Tensor) and step <= story.step:
            off = step if before and not event.requires_grad else off
            before = event.requires_grad
    return off


def _behind(story: Story, op: Op) -> None:
    """Back through the operations to where the way to every leaf was cut, else to the leaves that lack the flag."""
    trace, seen, queue, plain = story.trace, set(op.inputs), list(op.inputs), []
    for tensor in queue:
        told = trace.tensor(tensor, int(trace.op_step.view[op.id]))
        maker = trace.ops[told.op] if told is not None and told.op is not None and told.op < len(trace.ops) else None
        if maker is None or not maker.inputs:
            plain.append(tensor)
            continue
        if maker.untracked not in (None, "no_input_requires_grad"):
            at, where = int(trace.op_step.view[maker.id]), place(trace, maker.span, story.language)
            reason = story.reason(str(maker.untracked))
            story.say("not_requires.behind", at, op=maker.name, where=where, reason=reason)
            return
        fresh = [t for t in maker.inputs if t not in seen]
        seen.update(fresh)
        queue += fresh
    names = [tensor_label(trace, t) for t in plain[:4]]
    if names:
        story.say("not_requires.leaves", names=story.join(names))


# ---- NaN and infinity


def nan(story: Story, tensor: int, node: int | None = None) -> None:
    """The first operation or node whose result was not finite, with what it was given."""
    trace, frame = story.trace, story.trace.at(story.step)
    if node is None:
        name, data = told_of(story, tensor)
        found = [data] if data is not None and not_finite(data) else []
    else:
        name, run = node_label(trace, node), frame.run(node)
        found = [d for d in (run.gin + run.gout if run else ()) if d is not None and not_finite(d)]
    if not found:
        story.say("nan.clean", name=name)
        return
    story.say("nan.value", name=name, nan=f"{found[0].nan:,}", inf=f"{found[0].inf:,}")
    backward = node is not None or found[0] is not frame.value_data(tensor)
    _first(story, backward=backward)


def told_of(story: Story, tensor: int) -> tuple[str, Data | None]:
    """What a question about a tensor's NaN is about: its value, or its `.grad` where only that is not finite."""
    frame, name = story.trace.at(story.step), tensor_label(story.trace, tensor)
    value, grad = frame.value_data(tensor), frame.grad_data(tensor)
    return (f"{name}.grad", grad) if not_finite(grad) and not not_finite(value) else (name, value)


def _first(story: Story, *, backward: bool) -> None:
    """The first operation that made something not finite; where a gradient is asked about, the first node that did,
    and the first that made NaN of it. The recorder has warned of each of them. Operations that the pass does not go
    through have nothing to do with it."""
    trace, told, infinite = story.trace, False, False
    passes = [w.within for w in trace.warnings if w.code in ("nan", "inf") and w.within is not None]
    planned = set(trace.passes[passes[0]].planned) if backward and passes else None
    for warning, at in zip(trace.warnings, trace.warning_step.view.tolist(), strict=True):
        if at > story.step:
            return
        if warning.code not in ("nan", "inf"):
            continue
        if warning.op is not None and not told and (planned is None or planned & set(trace.ops[warning.op].nodes)):
            told = _told_of_op(story, int(trace.op_step.view[warning.op]))
            if told and not backward:
                return
        event = trace.event_at(at)
        if warning.node is None or not isinstance(event, NodeRan) or (infinite and warning.code == "inf"):
            continue
        gin = story.join([value_text(d) for d in event.gin])
        gout = story.join([value_text(d) for d in event.gout if d is not None])
        key = "nan.then_node" if infinite else "nan.first_node"
        story.say(key, at, node=trace.nodes[event.node].name, step=at, gin=gin, gout=gout)
        infinite = True
        if warning.code == "nan":
            story.say("nan.product")
            return


def _told_of_op(story: Story, step: int) -> bool:
    event, frame = story.trace.event_at(step), story.trace.at(step)
    if not isinstance(event, Op):
        return False
    if not_finite(*(frame.value_data(t) for t in event.inputs if t not in event.writes)):
        return False
    pairs = [f"{tensor_label(story.trace, t)} = {value_text(frame.value_data(t))}"
             for t in dict.fromkeys((*event.inputs[:3], *event.outputs[:1]))]  # fmt: skip
    story.say("nan.first_op", step, op=event.name, step=step, operands="; ".join(pairs))
    return True


# ---- the value of a leaf


def changed(story: Story, tensor: int) -> None:
    """Who wrote it last; if nobody, what keeps a parameter from moving."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    writers = [op for op in trace.ops
               if tensor in op.writes and op.name not in FLAGS and trace.op_step.view[op.id] <= story.step]  # fmt: skip
    if writers:
        last, at = writers[-1], int(trace.op_step.view[writers[-1].id])
        value = value_text(trace.at(at).value_data(tensor))
        story.say("changed.last", at, name=name, step=at, op=last.name, value=value)
        if len(writers) > 1:
            story.say("changed.times", count=len(writers))
        _by_what(story, tensor, name, at)
        return
    story.say("changed.never", name=name)
    refused = next((f for f in trace.faults if f.tensor == tensor and f.code.endswith("_inplace")
                    and trace.fault_step.view[f.id] <= story.step), None)  # fmt: skip
    if refused is not None:
        at = int(trace.fault_step.view[refused.id])
        story.say("changed.refused", at, step=at, text=one_line(refused.text))
        return
    first = trace.name(tensor)
    now = trace.named(first, story.step) if first is not None else None
    if first is not None and now is not None and now != tensor:
        story.say("changed.rebound", name=first)
    grad, event = trace.at(story.step).grad_data(tensor), trace.at(story.step).grad_event(tensor)
    told = trace.tensor(tensor, story.step)
    if grad is None and told is not None and told.is_leaf and told.requires_grad:
        story.say("changed.grad_none", name=name)
    elif grad is not None and isinstance(event, Grad) and grad.norm == 0 and not not_finite(grad):
        story.say("changed.grad_zero", name=name)
    story.say("changed.backward")


def _by_what(story: Story, tensor: int, name: str, at: int) -> None:
    """What is remarkable about the last write: the gradient was zero, or autograd was not told of it."""
    trace = story.trace
    grad = trace.at(at).grad_data(tensor)
    if grad is not None and grad.norm == 0 and not not_finite(grad):
        story.say("changed.moved", name=name)
    if any(w.tensor == tensor and w.code == "data_edit" and w.facts.get("mark_dirty") is False for w in trace.warnings):
        story.say("changed.not_dirty", name=name)

"""Why a tensor requires grad or does not, why it is not finite, why it changed or did not."""

from __future__ import annotations

from gradviz.explain.labels import node_label, place, short_node, tensor_label, value_text
from gradviz.explain.why_grad import Story
from gradviz.trace import Trace
from gradviz.trace.events import Data, Grad, NodeRan, Op, Value

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
        return
    chain, leaf = _chain(trace, told.node)
    if leaf is None:
        story.say("requires.unknown", node=node_label(trace, told.node))
        return
    names = [name, *(short_node(trace.nodes[n].name) for n in chain), tensor_label(trace, leaf)]
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES // 2], "…", *names[-MOST_NAMES // 2 :]]
    steps = [int(trace.node_step.view[n]) for n in (chain[0], chain[-1])]
    story.say("requires.chain", *steps, leaf=tensor_label(trace, leaf), chain=" ← ".join(names))


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
        return
    story.say("not_requires.made", *jumps, name=name, op=op.name)


# ---- NaN and infinity


def nan(story: Story, tensor: int, node: int | None = None) -> None:
    """The first operation or node whose result was not finite, with what it was given."""
    trace, frame = story.trace, story.trace.at(story.step)
    if node is None:
        name = tensor_label(trace, tensor)
        found = [d for d in (frame.value_data(tensor), frame.grad_data(tensor)) if d is not None and d.nan + d.inf]
    else:
        name, run = node_label(trace, node), frame.run(node)
        found = [d for d in (run.gin + run.gout if run else ()) if d is not None and d.nan + d.inf]
    if not found:
        story.say("nan.clean", name=name)
        return
    story.say("nan.value", name=name, nan=f"{found[0].nan:,}", inf=f"{found[0].inf:,}")
    _first(story)


def _first(story: Story) -> None:
    trace = story.trace
    for index, event in enumerate(trace.events):
        step = trace.step_of_event(index)
        if step > story.step:
            return
        if isinstance(event, NodeRan) and _bad(event.gout) and not _bad(event.gin):
            gin = story.join([value_text(d) for d in event.gin])
            gout = story.join([value_text(d) for d in event.gout if d is not None])
            story.say("nan.first_node", step, node=trace.nodes[event.node].name, step=step, gin=gin, gout=gout)
            if any(d is not None and d.nan for d in event.gout):
                story.say("nan.product")
            return
        if isinstance(event, Value) and _bad((event.data,)) and _told_of_op(story, step):
            return


def _told_of_op(story: Story, step: int) -> bool:
    event, frame = story.trace.event_at(step), story.trace.at(step)
    if not isinstance(event, Op):
        return False
    if _bad(tuple(frame.value_data(t) for t in event.inputs if t not in event.writes)):
        return False
    pairs = [f"{tensor_label(story.trace, t)} = {value_text(frame.value_data(t))}"
             for t in dict.fromkeys((*event.inputs[:3], *event.outputs[:1]))]  # fmt: skip
    story.say("nan.first_op", step, op=event.name, step=step, operands="; ".join(pairs))
    return True


def _bad(data: tuple[Data | None, ...]) -> bool:
    return any(d is not None and d.nan + d.inf for d in data)


# ---- the value of a leaf


def changed(story: Story, tensor: int) -> None:
    """Who wrote it last; if nobody, what keeps a parameter from moving."""
    trace, name = story.trace, tensor_label(story.trace, tensor)
    writers = [op for op in trace.ops if tensor in op.writes and trace.op_step.view[op.id] <= story.step]
    if writers:
        last, at = writers[-1], int(trace.op_step.view[writers[-1].id])
        value = value_text(trace.at(at).value_data(tensor))
        story.say("changed.last", at, name=name, step=at, op=last.name, value=value)
        story.say("changed.times", count=len(writers))
        return
    story.say("changed.never", name=name)
    grad, event = trace.at(story.step).grad_data(tensor), trace.at(story.step).grad_event(tensor)
    told = trace.tensor(tensor, story.step)
    if grad is None and told is not None and told.is_leaf and told.requires_grad:
        story.say("changed.grad_none", name=name)
    elif grad is not None and isinstance(event, Grad) and grad.norm == 0 and not grad.nan + grad.inf:
        story.say("changed.grad_zero", name=name)
    story.say("changed.backward")

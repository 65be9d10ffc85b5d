"""Why a node runs now, not yet or never, why it is there, and why it still holds memory."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gradviz.explain.labels import node_label, one_line, place, tensor_label
from gradviz.explain.readyqueue import ready_queue
from gradviz.explain.versions import keepers
from gradviz.explain.why_grad import Story
from gradviz.trace import Trace
from gradviz.trace.events import Backward, NodeRan

MOST_KEEPERS = 6


def when(story: Story, node: int) -> None:
    """Gradients that have arrived and those it waits for, or why no pass comes to it."""
    trace, step, name = story.trace, story.step, node_label(story.trace, node)
    born = int(trace.node_step.view[node])
    event, active = trace.event_at(step), trace.pass_at(step)
    runs = trace.runs(node)
    if born > step:
        story.say("when.unborn", born, name=name, step=born)
    elif isinstance(event, NodeRan) and event.node == node:
        _now(story, node, name, trace.passes[event.within])
    elif active is not None and node in active.planned and not _ran_in(trace, node, active, step):
        _waiting(story, node, name, active)
    elif past := [s for s in runs if s <= step]:
        story.say("when.ran", past[-1], name=name, step=past[-1])
    elif runs:
        story.say("when.later", runs[0], name=name, step=runs[0])
    else:
        _never(story, node, name)


def state(trace: Trace, step: int, node: int) -> str:
    """How a node stands at a step: it runs "now", has not run "yet", "ran", or no pass came to it: "never"."""
    event, active, runs = trace.event_at(step), trace.pass_at(step), trace.runs(node)
    if isinstance(event, NodeRan) and event.node == node:
        return "now"
    if active is not None and node in active.planned and not _ran_in(trace, node, active, step):
        return "yet"
    if any(s <= step for s in runs):
        return "ran"
    return "yet" if runs or int(trace.node_step.view[node]) > step else "never"


def _ran_in(trace: Trace, node: int, active: Backward, step: int) -> bool:
    began = int(trace.pass_step.view[active.id])
    return any(began <= s <= step for s in trace.runs(node))


def _senders(trace: Trace, node: int, active: Backward) -> list[int]:
    """Nodes of this pass that send a gradient to a node, one entry for each edge."""
    planned = [n for n in active.planned if n < len(trace.nodes)]
    return [n for n in planned for target, _ in trace.nodes[n].edges if target == node]


def _now(story: Story, node: int, name: str, active: Backward) -> None:
    senders = _senders(story.trace, node, active)
    steps = [s for n in dict.fromkeys(senders) for s in story.trace.runs(n)[-1:]]
    if node in active.roots and not senders:
        story.say("when.root", int(story.trace.pass_step.view[active.id]), name=name)
    else:
        story.say("when.now", *(s for s in steps if s < story.step), name=name, count=len(senders))
    story.say("when.order")


def _waiting(story: Story, node: int, name: str, active: Backward) -> None:
    trace, step = story.trace, story.step
    senders = _senders(trace, node, active)
    missing = [n for n in senders if not _ran_in(trace, n, active, step)]
    fault = next((f for f in trace.faults if f.within == active.id and trace.fault_step.view[f.id] <= step), None)
    if fault is not None:
        at = int(trace.fault_step.view[fault.id])
        story.say("when.failed" if fault.node == node else "when.stopped", at, name=name, step=at)
    if missing:
        names = [node_label(trace, n) for n in dict.fromkeys(missing)]
        shown = names if len(names) <= 4 else [*names[:3], "…"]
        story.say("when.waits", name=name, count=len(senders) - len(missing), total=len(senders),
                  missing=story.join(shown))  # fmt: skip
    elif fault is None:
        queue = ready_queue(trace, step)
        first = queue.ready[0] if queue is not None and queue.ready else node
        key = "when.next" if first == node else "when.behind"
        story.say(key, name=name, total=max(1, len(senders)), first=node_label(trace, first))
        story.say("when.order")


def _never(story: Story, node: int, name: str) -> None:
    trace = story.trace
    fault = next((f for f in trace.faults if f.node == node), None)
    stopped = next((f for f in trace.faults if f.within is not None and node in trace.passes[f.within].planned), None)
    if fault is not None or stopped is not None:
        told = fault or stopped
        at = int(trace.fault_step.view[told.id]) if told else 0
        story.say("when.failed" if fault else "when.stopped", at, name=name, step=at)
        return
    reached = next((p for p in reversed(trace.passes) if _is_below(trace, p, node)), None)
    if reached is None:
        story.say("when.never" if trace.passes else "when.no_pass", name=name)
    else:
        kind = "caught" if reached.call == "grad" else "inputs" if reached.inputs is not None else "never"
        story.say(f"when.{kind}", int(trace.pass_step.view[reached.id]), name=name)


def _is_below(trace: Trace, began: Backward, node: int) -> bool:
    """A node that a pass came past: some node of its plan sends to it."""
    return bool(_senders(trace, node, began))


def here(story: Story, node: int) -> None:
    """The source expression that left it behind, and its sisters."""
    trace, told = story.trace, story.trace.nodes[node]
    born = int(trace.node_step.view[node])
    if told.leaf is not None:
        story.say("here.leaf", born, leaf=tensor_label(trace, told.leaf))
        return
    if told.parent is not None:
        made = told.within is not None and trace.passes[told.within].create_graph
        key = "here.parent" if made else "here.again"
        story.say(key, born, parent=node_label(trace, told.parent))
    op = trace.op(told.op)
    if op is None:
        if told.parent is None:
            story.say("here.unseen")
        return
    where = place(trace, op.span, story.language)
    story.say("here.op", born, op=op.name, where=where, step=born, text=one_line(op.text) or op.func)
    if len(op.nodes) > 1:
        story.say("here.composite", op=op.name, nodes=story.join([trace.nodes[n].name for n in op.nodes[:6]]))
    story.say("here.tracked")


def memory(story: Story, node: int) -> None:
    """What it keeps, and what would have freed it."""
    trace, told, name = story.trace, story.trace.nodes[node], node_label(story.trace, node)
    kept = [s for s in told.saved if s.kind in ("tensor", "packed")]
    if not kept:
        story.say("memory.none", name=name)
        return
    freed = trace.freed_step.view[trace.freed_node.view == node]
    freed = freed[freed <= story.step]
    if len(freed):
        story.say("memory.freed", int(freed[-1]), name=name, step=int(freed[-1]))
        return
    gone = trace.gone_step.view[trace.gone_node.view == node]
    if len(gone) and gone[0] <= story.step:
        story.say("memory.gone", int(gone[0]), name=name, step=int(gone[0]))
        return
    total = sum(s.bytes for s in kept)
    key = "memory.held" if total else "memory.shared"
    story.say(key, name=name, saved=story.join([s.name for s in kept]), bytes=f"{total:,}")
    runs = [s for s in trace.runs(node) if s <= story.step]
    if runs:
        story.say("memory.retained", runs[-1], step=runs[-1])
    else:
        story.say("memory.no_pass")
    holders = [tensor_label(trace, t) for t in _holders(trace, node, story.step)]
    if holders:
        story.say("memory.holder", names=story.join(holders[:3]))
    gone = trace.gone_node.view[trace.gone_step.view <= story.step]
    alive = int((trace.node_step.view <= story.step).sum()) - len(gone)
    story.say("memory.alive", count=f"{alive:,}")


def keeps(story: Story, tensor: int) -> None:
    """Of the nodes that keep a tensor, the last to be born: it is the one that is let go first."""
    name = story.name(tensor)
    held = [k for k in keepers(story.trace, tensor, story.step, MOST_KEEPERS)[0] if k.until is None]
    if not held:
        story.say("memory.nobody", name=name)
        return
    names = list(dict.fromkeys(node_label(story.trace, k.node) for k in held))
    story.say("memory.kept_by", *(k.since for k in held[-1:]), name=name, nodes=story.join(names))
    memory(story, held[-1].node)


_ABOVE: WeakKeyDictionary[Trace, tuple[int, dict[int, list[int]]]] = WeakKeyDictionary()


def _above(trace: Trace) -> dict[int, list[int]]:
    """Node -> nodes with an edge to it; grows with the recording."""
    known, above = _ABOVE.get(trace, (0, {}))
    for told in trace.nodes[known:]:
        for target, _ in told.edges:
            if target is not None:
                above.setdefault(target, []).append(told.id)
    _ABOVE[trace] = len(trace.nodes), above
    return above


def _holders(trace: Trace, node: int, step: int) -> list[int]:
    """Tensors that a name still means at a step and from whose grad_fn edges lead to a node; the nearest first."""
    above = _above(trace)
    bound: dict[int, list[int]] = {}
    for name in trace.names:
        tensor = trace.named(name, step)
        held = trace.tensor(tensor, step) if tensor is not None else None
        if tensor is not None and held is not None and held.node is not None:
            bound.setdefault(held.node, []).append(tensor)
    seen, queue, found = {node}, [node], []
    for at in queue:
        found += bound.get(at, [])
        for higher in above.get(at, ()):
            if higher not in seen:
                seen.add(higher)
                queue.append(higher)
    return list(dict.fromkeys(found))

"""Questions about a backward pass: who runs next, what arrives, what changes, what is freed, whether it raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.explain.asking import Asker, Draft, Wrong, is_known, is_zero, outermost, producers
from gradviz.explain.labels import saved_data
from gradviz.trace import NotCaptured, number, shape_text, to_numpy
from gradviz.trace.events import Backward, Data, Fault, Freed, Grad, NodeRan

Array = npt.NDArray[Any]
SMALL = 4
"""Values of up to so many elements are asked for whole, of others one element."""
MANY = 5
"""Above so many leaves a choice would be a list that nobody reads."""
_MEANS = ("mean", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss")
"""Operations that divide by the number of elements unless told otherwise; and all that contain these words."""


# ---- who runs next


def next_node(ask: Asker) -> Draft | None:
    """Which node the engine runs now."""
    event = ask.event
    call = outermost(ask.trace, event) if isinstance(event, NodeRan) else None
    if call is None or not isinstance(event, NodeRan):
        return None
    plan, done = ask.plan(call), ask.done_before(call)
    left = [n for n in plan if n not in done and n != event.node]
    if event.node not in plan or not left:
        return None
    truth = ask.node(event.node)
    wrong = [_not_now(ask, plan, done, n) for n in _tempting(ask, left)]
    number_ = ask.trace.nodes[event.node].sequence
    why = ask.say("next_node.why_leaf" if number_ is None else "next_node.why", node=truth)
    return Draft(ask.say("next_node.ask"), truth, why, wrong, ask.step, {"node": event.node, "pass": call.id})


def _tempting(ask: Asker, left: list[int]) -> list[int]:
    """Nodes that have not run, the most believable first: the one written first, a leaf's, then the next ones."""
    nodes = ask.trace.nodes
    written = [n for n in left if nodes[n].op is not None]
    first = min(written, key=lambda n: nodes[n].id, default=None)
    leaf = next((n for n in reversed(left) if nodes[n].leaf is not None), None)
    order = [first, leaf, *left]
    return list(dict.fromkeys(n for n in order if n is not None))[:6]


def _not_now(ask: Asker, plan: list[int], done: set[int], node: int) -> Wrong:
    missing = [n for n in producers(ask.trace, plan, node) if n not in done]
    name = ask.node(node)
    if missing:
        waits = ask.join([ask.node(n) for n in missing[:3]])
        return ask.wrong(name, "next_node.waits", "M18", node=name, missing=waits)
    return ask.wrong(name, "next_node.ready", "M18", node=name)


# ---- what a node gives


def shape(ask: Asker) -> Draft | None:
    """The shape of the gradient that a node sends on."""
    event = ask.event
    sent = _only_result(ask, event) if isinstance(event, NodeRan) else None
    if sent is None or not isinstance(event, NodeRan):
        return None
    came = next((d for d in event.gin if d is not None), None)
    if came is None:
        return None
    sizes = sent.shape
    wrong = [
        ask.wrong(shape_text(came.shape), "shape.incoming", "M15"),
        ask.wrong(shape_text((*came.shape, *sizes)), "shape.jacobian", "M13"),
        ask.wrong(shape_text(sizes[::-1]), "shape.turned"),
        ask.wrong(shape_text(()), "shape.scalar"),
    ]
    node = ask.node(event.node)
    fact: dict[str, object] = {"node": event.node, "shape": sizes}
    prompt = ask.say("shape.ask", node=node, shape=shape_text(came.shape))
    return Draft(prompt, shape_text(sizes), ask.say("shape.why", shape=shape_text(sizes)), wrong, ask.step, fact)


def _only_result(ask: Asker, event: NodeRan) -> Data | None:
    """What a node sends, where it is one gradient and no leaf's."""
    if ask.trace.nodes[event.node].leaf is not None or outermost(ask.trace, event) is None:
        return None
    sent = [d for d in event.gout if d is not None]
    return sent[0] if len(sent) == 1 else None


def node_value(ask: Asker) -> Draft | None:
    """The numbers that a node sends on, where they are few and not simply those that came."""
    event = ask.event
    sent = _only_result(ask, event) if isinstance(event, NodeRan) else None
    if sent is None or not isinstance(event, NodeRan):
        return None
    came = event.gin[0] if len(event.gin) == 1 else None
    truth, arrived = _numbers(sent), _numbers(came)
    if truth is None or arrived is None or truth.size > SMALL or _same(truth.ravel(), arrived.ravel()):
        return None
    node = ask.trace.nodes[event.node]
    wrong = _Numbers(ask, truth)
    wrong.add(arrived, "node_value.passed")
    for saved in node.saved:
        wrong.add(_numbers(saved_data(ask.trace, event.node, saved, ask.step)), "node_value.saved", name=saved.name)
    if (count := _averaged(ask, event.node, sent)) > 1:
        wrong.add(truth * count, "node_value.mean", "M35", count=count)
    if _is_sum(ask, event.node):
        wrong.add(truth / truth.size, "node_value.split", count=truth.size)
    wrong.add(np.ones_like(truth), "node_value.ones", "M14")
    wrong.add(-truth, "node_value.sign")
    name = ask.node(event.node)
    prompt = ask.say("node_value.ask", node=name, gradient=_text(arrived))
    fact: dict[str, object] = {"node": event.node, "value": truth.tolist()}
    return Draft(prompt, _text(truth), ask.say("node_value.why", node=name), wrong.found, ask.step, fact)


def _is_sum(ask: Asker, node: int) -> bool:
    op = ask.trace.nodes[node].op
    return op is not None and op < len(ask.trace.ops) and ask.trace.ops[op].name == "sum"


def _averaged(ask: Asker, node: int, sent: Data) -> int:
    """By how many elements the operation of a node divides; 1 where it does not."""
    op = ask.trace.nodes[node].op
    if op is None or op >= len(ask.trace.ops):
        return 1
    told = ask.trace.ops[op]
    summed = any(value in ("'sum'", "sum", "'none'", "none") for _, value in told.arguments)
    if summed or not any(word in told.name for word in (*_MEANS, "binary_cross_entropy")):
        return 1
    return int(np.prod(sent.shape, dtype=np.int64))


# ---- what a leaf has afterwards


def accumulate(ask: Asker) -> Draft | None:
    """What `.grad` of a leaf holds after its AccumulateGrad has run."""
    event = ask.event
    if not isinstance(event, NodeRan) or outermost(ask.trace, event) is None:
        return None
    leaf = ask.trace.nodes[event.node].leaf
    writes = [e for e in ask.trace.events_of(ask.step) if isinstance(e, Grad) and e.tensor == leaf]
    written = writes[-1] if writes else None
    truth = _numbers(written.after) if written else None
    if leaf is None or written is None or truth is None:
        return None
    place = _telling_element(truth, _numbers(written.before)) if truth.size > SMALL else None
    name = f"{ask.tensor(leaf)}.grad" + (f"[{', '.join(map(str, place))}]" if place else "")
    wrong = _Numbers(ask, truth, place)
    old, added = _numbers(written.before), _numbers(written.added)
    if old is not None:
        wrong.add(added, "accumulate.overwritten", "M9")
        wrong.add(old, "accumulate.unchanged", "M9")
    for part in _parts(ask, event):
        wrong.add(part if old is None else old + part, "accumulate.one_path", "M17")
    wrong.add(_numbers(ask.before.value_data(leaf)), "accumulate.value", "M12", leaf=ask.tensor(leaf))
    wrong.add(-truth, "accumulate.sign", "M12")
    wrong.found.append(ask.wrong("None", "accumulate.none", "M1"))
    why = ask.say("accumulate.why_first" if old is None else "accumulate.why_again", name=name)
    fact: dict[str, object] = {"leaf": leaf, "place": place, "value": (truth[place] if place else truth).tolist()}
    prompt = ask.say("accumulate.ask", name=name)
    return Draft(prompt, _text(truth[place] if place else truth), why, wrong.found, ask.step, fact)


def _telling_element(truth: Array, old: Array | None) -> tuple[int, ...]:
    """The first element whose number tells something: it is not zero, and not what it was."""
    moved = truth != 0 if old is None else (truth != old) & (old != 0)
    flat = int(np.argmax(moved)) if moved.any() else 0
    return tuple(int(i) for i in np.unravel_index(flat, truth.shape))


def _parts(ask: Asker, event: NodeRan) -> list[Array]:
    """The single gradients that were summed before this node ran, where there are several."""
    frame, found = ask.before, []
    call = ask.trace.passes[event.within]
    for node in producers(ask.trace, ask.plan(call), event.node):
        run = frame.run(node)
        if run is None or run.within != event.within:
            continue
        for (target, _), data in zip(ask.trace.nodes[node].edges, run.gout, strict=False):
            if target == event.node and data is not None:
                found.append(_numbers(data))
    known = [part for part in found if part is not None]
    return known[::-1] if len(found) > 1 else []


class _Numbers:
    """Wrong numbers for a question whose right answer is a number: each differs from it and from the others."""

    def __init__(self, ask: Asker, truth: Array, place: tuple[int, ...] | None = None) -> None:
        self.found: list[Wrong] = []
        self._ask, self._place = ask, place
        self._taken = [self._of(truth)]

    def _of(self, value: Array) -> Array:
        return np.asarray(value[self._place]) if self._place else value

    def add(self, value: Array | None, key: str, misconception: str = "", **fields: object) -> None:
        """Take a number in, if it has the right shape and is none of those that are there."""
        if value is None or value.shape != self._shape(value):
            return
        shown = self._of(value)
        if shown.shape == self._taken[0].shape and not any(_same(shown, other) for other in self._taken):
            self._taken.append(shown)
            self.found.append(self._ask.wrong(_text(shown), key, misconception, **fields))

    def _shape(self, value: Array) -> tuple[int, ...]:
        if self._place is None:
            return self._taken[0].shape
        fits = value.ndim == len(self._place) and all(i < n for i, n in zip(self._place, value.shape, strict=True))
        return value.shape if fits else (-1,)


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def _numbers(data: Data | None) -> Array | None:
    if data is None:
        return None
    try:
        found = to_numpy(data)
    except NotCaptured:
        return None
    return found if found.dtype.kind in "fiu" else None


def _text(value: Array | np.generic) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return number(float(array))
    return "[" + ", ".join(_text(part) for part in array) + "]"


# ---- what the whole pass does


def _reached(ask: Asker, call: Backward) -> list[int]:
    """Leaves whose `.grad` the pass changes, in order."""
    trace, end = ask.trace, ask.pass_end(call.id)
    found = []
    for step in range(ask.step, (end if end is not None else ask.step) + 1):
        for event in trace.events_of(step):
            if isinstance(event, Grad) and event.within == call.id and event.cause == "accumulate":
                found.append(event.tensor)
    return list(dict.fromkeys(found))


def _named(ask: Asker) -> list[int]:
    """Floating tensors that have a name by now and still bear it, in order of birth."""
    trace, found = ask.trace, []
    for ident, names in trace.names_of.items():
        told = trace.tensor(ident, ask.step - 1)
        current = any(trace.names[n].steps and trace.named(n, ask.step - 1) == ident for n in names)
        if told and current and ident not in trace.grad_tensors and told.dtype.startswith(("float", "bfloat")):
            found.append(ident)
    return found


def leaves(ask: Asker) -> Draft | None:
    """Whose `.grad` changes in this call."""
    event = ask.event
    call = outermost(ask.trace, event) if isinstance(event, Backward) else None
    if call is None or call.call != "backward" or ask.pass_end(call.id) is None or ask.trace.damage:
        return None
    named = _named(ask)
    reached = sorted(_reached(ask, call), key=lambda t: (named.index(t) if t in named else len(named), t))
    told = {ident: ask.trace.tensor(ident, ask.step - 1) for ident in named}
    tracked = [i for i in named if (t := told[i]) and t.is_leaf and t.requires_grad]
    every_leaf = [i for i in named if (t := told[i]) and t.is_leaf]
    graph = [i for i in named if (t := told[i]) and (t.requires_grad or t.node is not None)]
    if not tracked or len(reached) > MANY or len(named) > 2 * MANY or not all(ask.trace.name(t) for t in reached):
        return None
    failed = ask.failed(call.id)
    options = [
        ask.wrong(_grads(ask, tracked), "leaves.all_tracked", "M8" if failed else "M33"),
        ask.wrong(_grads(ask, graph), "leaves.every_tensor", "M1"),
        ask.wrong(_grads(ask, every_leaf), "leaves.every_leaf", "M2"),
        ask.wrong(_grads(ask, []), "leaves.none", "M8" if failed else "M12"),
    ]
    why = ask.say("leaves.why_failed" if failed else "leaves.why")
    fact: dict[str, object] = {"leaves": reached, "names": [ask.tensor(t) for t in reached]}
    end = ask.pass_end(call.id) or ask.step
    return Draft(ask.say("leaves.ask", line=ask.line(call.span)), _grads(ask, reached), why, options, end, fact)


def _grads(ask: Asker, tensors: list[int]) -> str:
    names = list(dict.fromkeys(f"{ask.tensor(t)}.grad" for t in tensors))
    return ask.join(names) if names else ask.say("leaves.nobody")


def grad_after(ask: Asker) -> Draft | None:
    """What `.grad` of one tensor is after the call: a number, zeros or None."""
    event = ask.event
    call = outermost(ask.trace, event) if isinstance(event, Backward) else None
    end = ask.pass_end(call.id) if call else None
    if call is None or end is None or call.call != "backward" or ask.failed(call.id):
        return None
    tensor = _telling_tensor(ask, call)
    told = ask.trace.tensor(tensor, ask.step - 1) if tensor is not None else None
    if tensor is None or told is None:
        return None
    name, sizes = f"{ask.tensor(tensor)}.grad", shape_text(told.shape)
    data = ask.trace.at(end).grad_data(tensor)
    if data is not None and not is_known(data):
        return None
    texts = {kind: ask.say(f"grad_after.{kind}", shape=sizes) for kind in ("none", "zeros", "numbers", "error")}
    kind = "none" if data is None else "zeros" if is_zero(data) else "numbers"
    reason = "reached" if data is not None else "unflagged" if not told.requires_grad else (
        "unreached" if told.is_leaf else "between")  # fmt: skip
    belief = {"reached": "M9", "unflagged": "M2", "unreached": "M33", "between": "M1"}[reason]
    why = ask.say(f"grad_after.why_{reason}", name=ask.tensor(tensor))
    wrong = [
        ask.wrong(text, f"grad_after.not_{other}", belief, name=name) for other, text in texts.items() if other != kind
    ]
    fact: dict[str, object] = {"tensor": tensor, "name": ask.tensor(tensor), "grad": kind}
    prompt = ask.say("grad_after.ask", name=name, line=ask.line(call.span))
    return Draft(prompt, texts[kind], why, wrong, end, fact)


def _telling_tensor(ask: Asker, call: Backward) -> int | None:
    """The tensor to ask about: each pass asks about another kind of tensor."""
    reached = set(_reached(ask, call))
    groups: dict[str, list[int]] = {"between": [], "unflagged": [], "unreached": [], "reached": []}
    for ident in _named(ask):
        told = ask.trace.tensor(ident, ask.step - 1)
        if told is None or told.retains_grad or ident in call.tensors:
            continue
        flagged = "unflagged" if not told.requires_grad else "between" if not told.is_leaf else "unreached"
        groups["reached" if ident in reached else flagged].append(ident)
    some = [found for found in groups.values() if found]
    chosen = some[call.id % len(some)] if some else []
    return chosen[-1] if chosen else None


def freed(ask: Asker) -> Draft | None:
    """What the engine lets go during this call."""
    event = ask.event
    call = outermost(ask.trace, event) if isinstance(event, Backward) else None
    end = ask.pass_end(call.id) if call else None
    if call is None or end is None or ask.failed(call.id):
        return None
    keepers = [n for n in ask.plan(call) if any(s.kind in ("tensor", "packed") for s in ask.trace.nodes[n].saved)]
    if not keepers:
        return None
    let_go = [
        e.node
        for step in range(ask.step, end + 1)
        for e in ask.trace.events_of(step)
        if isinstance(e, Freed) and e.within == call.id
    ]
    if let_go and set(keepers) - set(let_go):
        return None
    names = ask.join([ask.trace.nodes[n].name for n in keepers]) if len(keepers) <= 4 else ""
    saved = ask.say("freed.saved", nodes=names) if names else ask.say("freed.saved_many", count=len(keepers))
    nothing, graph = ask.say("freed.nothing"), ask.say("freed.graph")
    why = ask.say("freed.why_freed" if let_go else "freed.why_kept")
    other = ask.wrong(nothing, "freed.not_nothing", "M6") if let_go else ask.wrong(saved, "freed.not_saved", "M38")
    wrong = [other, ask.wrong(graph, "freed.not_graph", "M6"), ask.wrong(ask.say("freed.grads"), "freed.not_grads")]
    fact: dict[str, object] = {"freed": sorted(let_go), "kept": [] if let_go else sorted(keepers)}
    prompt = ask.say("freed.ask", line=ask.line(call.span))
    return Draft(prompt, saved if let_go else nothing, why, wrong, end, fact)


def raises(ask: Asker) -> Draft | None:
    """Whether a call that goes through nodes for a second time, or that fails, raises, and where."""
    event = ask.event
    call = outermost(ask.trace, event) if isinstance(event, Backward) else None
    end = ask.pass_end(call.id) if call else None
    if call is None or end is None:
        return None
    plan = ask.plan(call)
    fault = next((f for f in ask.trace.faults if f.within == call.id), None)
    again = [n for n in plan if ask.before.last_run[n] >= 0 and ask.trace.nodes[n].leaf is None]
    if (fault is None and not again) or (fault is not None and fault.node is None):
        return None
    runs = ask.say("raises.runs")
    wrong = []
    for node in list(dict.fromkeys([*again, *plan]))[:3]:
        if fault is None or node != fault.node:
            wrong.append(ask.wrong(ask.say("raises.at", node=ask.node(node)), "raises.not_there", "M6"))
    early = ask.wrong(ask.say("raises.early"), "raises.not_early", "M8")
    fact: dict[str, object] = {"raises": fault is not None, "node": fault.node if fault else None}
    prompt = ask.say("raises.ask", line=ask.line(call.span))
    if fault is None or fault.node is None:
        return Draft(prompt, runs, ask.say("raises.why_runs"), [*wrong[:2], early], end, fact)
    found = ask.say("raises.at", node=ask.node(fault.node))
    wrong = [ask.wrong(runs, "raises.does", "M6"), early, *wrong]
    return Draft(prompt, found, _why_raises(ask, fault), wrong, int(ask.trace.fault_step.view[fault.id]), fact)


def _why_raises(ask: Asker, fault: Fault) -> str:
    known = fault.code in ("freed_graph", "version_mismatch")
    key = f"raises.why_{fault.code}" if known else "raises.why_other"
    return ask.say(key, node=ask.trace.nodes[fault.node].name if fault.node is not None else "")

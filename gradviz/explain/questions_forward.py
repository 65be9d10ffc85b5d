"""Questions about what runs outside a backward pass: results and their flags, in-place writes, zeroing, refusals."""

from __future__ import annotations

import numpy as np

from gradviz.explain.asking import Asker, Draft, is_known, is_zero
from gradviz.explain.labels import one_line
from gradviz.trace.events import Fault, Grad, Op

_BELIEFS = {"non_scalar_root": "M13", "no_grad_path": "M26", "leaf_inplace": "M28", "leaf_view_inplace": "M28"}


def flags(ask: Asker) -> Draft | None:
    """is_leaf, requires_grad and grad_fn of what an operation makes."""
    event = ask.event
    if not isinstance(event, Op) or event.writes or len(event.outputs) != 1 or event.within is not None:
        return None
    made, told = event.outputs[0], ask.trace.tensor(event.outputs[0], ask.step)
    if told is None or told.inference or not told.dtype.startswith(("float", "bfloat")):
        return None
    node = ask.trace.nodes[told.node].name if told.node is not None else "None"
    texts = {
        (True, False): ask.say("flags.plain"),
        (True, True): ask.say("flags.leaf"),
        (False, True): ask.say("flags.result"),
        (False, False): ask.say("flags.cut"),
    }
    truth = (told.is_leaf, told.requires_grad)
    if truth == (False, False):
        return None
    tracked = told.node is not None
    reason = "tracked" if tracked else "flagged" if told.requires_grad else _reason(event)
    beliefs = {(True, False): "M4", (True, True): "M2", (False, True): "M19", (False, False): "M2"}
    notes = {
        (True, False): "flags.not_plain",
        (True, True): "flags.not_leaf",
        (False, True): "flags.not_result",
        (False, False): "flags.not_cut",
    }
    wrong = [ask.wrong(text, notes[key], beliefs[key]) for key, text in texts.items() if key != truth]
    name = ask.tensor(made)
    fact: dict[str, object] = {
        "name": name, "tensor": made, "is_leaf": truth[0], "requires_grad": truth[1], "grad_fn": node,
    }  # fmt: skip
    why = ask.say(f"flags.why_{reason}", name=name, node=node)
    return Draft(ask.say("flags.ask", name=name, line=ask.line(event.span)), texts[truth], why, wrong, ask.step, fact)


def _reason(event: Op) -> str:
    known = ("no_grad", "inference_mode", "not_differentiable", "detached")
    return event.untracked if event.untracked in known else "unflagged"


def version(ask: Asker) -> Draft | None:
    """The version counter of a tensor after an in-place operation."""
    event = ask.event
    if not isinstance(event, Op) or len(event.writes) != 1 or not _written_here(ask, event):
        return None
    tensor = event.writes[0]
    old, new = ask.trace.tensor(tensor, ask.step - 1), ask.trace.tensor(tensor, ask.step)
    if old is None or new is None or old.version is None or new.version is None:
        return None
    name, was, now = ask.tensor(tensor), old.version, new.version
    wrong = [
        ask.wrong(str(was), "version.same", "M28", version=was),
        ask.wrong(str(now + 1), "version.more"),
        ask.wrong("0", "version.reset"),
    ]
    if now == was:
        wrong.insert(0, ask.wrong(str(was + 1), "version.silent", "M28"))
    why = ask.say("version.why" if now != was else "version.why_silent", name=name, old=was, new=now)
    prompt = ask.say("version.ask", name=name, old=was, line=ask.line(event.span))
    return Draft(prompt, str(now), why, wrong, ask.step, {"name": name, "tensor": tensor, "version": now})


def in_place(ask: Asker) -> Draft | None:
    """Whether an in-place operation that runs will be noticed by a later backward."""
    event = ask.event
    if not isinstance(event, Op) or not event.writes or event.span is None or not _written_here(ask, event):
        return None
    target = event.writes[0]
    told = ask.trace.tensor(target, ask.step - 1)
    if told is None or (not told.requires_grad and not _is_saved(ask, target)):
        return None
    later = [
        f
        for f in ask.trace.faults
        if f.code == "version_mismatch" and f.facts.get("changed_at") == list(event.span) and f.tensor == target
    ]
    runs, here, after = (ask.say(f"in_place.{key}") for key in ("runs", "here", "later"))
    line = ask.line(event.span)
    refused = ask.wrong(here, "in_place.not_here", "M28")
    fact: dict[str, object] = {"raises": bool(later), "here": False, "line": event.span[1]}
    if later:
        wrong = [ask.wrong(runs, "in_place.not_runs", "M28"), refused]
        reveal = int(ask.trace.fault_step.view[later[0].id])
        return Draft(ask.say("in_place.ask", line=line), after, ask.say("in_place.why_later"), wrong, reveal, fact)
    wrong = [refused, ask.wrong(after, "in_place.not_later", "M28")]
    return Draft(ask.say("in_place.ask", line=line), runs, ask.say("in_place.why_runs"), wrong, ask.step, fact)


def _written_here(ask: Asker, event: Op) -> bool:
    """The line itself says that something is changed in place: an initialiser or an optimizer inside it does not."""
    line = ask.line(event.span)
    signs = ("+=", "-=", "*=", "/=", "@=", "] =", "out=")
    return event.within is None and (f".{event.name}(" in line or any(sign in line for sign in signs))


def _is_saved(ask: Asker, tensor: int) -> bool:
    """Some living node keeps this tensor."""
    statuses = ask.before.statuses
    return any(
        s.tensor == tensor for node in ask.trace.nodes[: len(statuses)] if statuses[node.id] == 1 for s in node.saved
    )


def iteration(ask: Asker) -> Draft | None:
    """How many nodes the next forward pass leaves behind."""
    event, trace = ask.event, ask.trace
    if not isinstance(event, Op) or not event.nodes or event.within is not None:
        return None
    begun = int(np.searchsorted(trace.pass_step.view, ask.step))
    outer = (k for k in range(begun - 1, -1, -1) if trace.passes[k].parent is None)
    coming = (k for k in range(begun, len(trace.passes)) if trace.passes[k].parent is None)
    past, call = (trace.passes[k] if (k := next(ks, None)) is not None else None for ks in (outer, coming))
    if past is None or call is None or (end := trace.pass_end.get(past.id)) is None:
        return None
    if _born(ask, end + 1, ask.step):
        return None  # the first operation of the iteration is asked about, no other
    begins = int(trace.pass_step.view[call.id])
    count, last = _born(ask, ask.step, begins), _reachable(ask, past.roots)
    if not count or count != _reachable(ask, call.roots, ask.step):
        return None  # a graph of its own, and nothing beside it: else the number would need an explanation
    wrong = [
        ask.wrong("0", "iteration.reused", "M20"),
        ask.wrong(str(last + count), "iteration.grown", "M5", last=last, count=count),
        ask.wrong(str(last), "iteration.same", "M19"),
        ask.wrong(str(count - 1), "iteration.less", "M36"),
    ]
    fact: dict[str, object] = {"nodes": count, "pass": call.id}
    return Draft(ask.say("iteration.ask"), str(count), ask.say("iteration.why", count=count), wrong, begins, fact)


def _born(ask: Asker, first: int, end: int) -> int:
    """Nodes that forward operations left behind in the steps from `first` on and before `end`, leaves' not counted."""
    steps = ask.trace.node_step.view
    born = range(*np.searchsorted(steps, (first, end)).tolist())
    return sum(ask.trace.nodes[n].leaf is None and ask.trace.nodes[n].within is None for n in born)


def _reachable(ask: Asker, roots: tuple[int, ...], since: int = 0) -> int:
    """Nodes that can be reached from roots, leaves' not counted; 0 where one of them is older than `since`."""
    nodes, seen, queue = ask.trace.nodes, set(roots), list(roots)
    for node in queue:
        for target, _ in nodes[node].edges:
            if target is not None and target < len(nodes) and target not in seen:
                seen.add(target)
                queue.append(target)
    inner = [n for n in seen if nodes[n].leaf is None]
    return len(inner) if all(ask.trace.node_step.view[n] >= since for n in inner) else 0


def zeroed(ask: Asker) -> Draft | None:
    """What `.grad` is after it was zeroed."""
    event = ask.event
    if not isinstance(event, Grad) or event.within is not None or event.cause not in ("zero", "none"):
        return None
    if event.before is None or (event.after is not None and not is_known(event.after)):
        return None
    name = f"{ask.tensor(event.tensor)}.grad"
    texts = {key: ask.say(f"zeroed.{key}", name=name) for key in ("none", "zeros", "same", "gone")}
    kind = "none" if event.after is None else "zeros" if is_zero(event.after) else "same"
    beliefs = {"none": "M10", "zeros": "M10", "same": "M10", "gone": "M10"}
    wrong = [
        ask.wrong(text, f"zeroed.not_{key}", beliefs[key], name=name) for key, text in texts.items() if key != kind
    ]
    line = event.text or ask.line(event.span)
    fact: dict[str, object] = {"name": ask.tensor(event.tensor), "grad": kind}
    prompt = ask.say("zeroed.ask", name=name, line=one_line(line))
    return Draft(prompt, texts[kind], ask.say(f"zeroed.why_{kind}", name=name), wrong, ask.step, fact)


def refused(ask: Asker) -> Draft | None:
    """A line that autograd refuses at once: does it run?"""
    event = ask.event
    if not isinstance(event, Fault) or event.within is not None or event.span is None:
        return None
    line = ask.line(event.span)
    if event.code == "other" or not line:
        return None
    wrong = [
        ask.wrong(ask.say("refused.runs"), "refused.not_runs", _BELIEFS.get(event.code, "")),
        ask.wrong(ask.say("refused.warns"), "refused.not_warns"),
        ask.wrong(ask.say("refused.later"), "refused.not_later"),
    ]
    fact: dict[str, object] = {"raises": True, "line": event.span[1], "code": event.code}
    why = ask.words(f"fault.{event.code}.title", **dict.fromkeys(("name", "tensor"), ask.say("refused.it")))
    return Draft(ask.say("refused.ask", line=line), ask.say("refused.raises"), why, wrong, ask.step, fact)

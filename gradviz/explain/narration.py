"""One step in whole sentences, with the names and numbers of this run: what happens, what it means, what comes next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradviz.explain.faults import fault_card
from gradviz.explain.labels import joined, node_label, place, tensor_label, value_text
from gradviz.explain.rules import fitted, sentence
from gradviz.explain.why_grad import FLAGS
from gradviz.explain.words import Words
from gradviz.trace import Trace, shape_text
from gradviz.trace.events import Backward, Data, Fault, Freed, Grad, Node, NodeRan, Op, Warn


@dataclass(frozen=True, slots=True)
class Narration:
    """What is said about a step. Each field holds whole sentences; `body` may be empty."""

    title: str
    body: str
    next: str


def narrate(trace: Trace, step: int, language: str = "en") -> Narration:
    """The sentences of a step; steps outside the recording are taken as the nearest one inside it."""
    step = max(0, min(step, trace.steps))
    teller = _Teller(trace, step, language)
    event = trace.event_at(step)
    title, body = teller.start() if event is None else _TELL[type(event)](teller, event)
    return Narration(title, " ".join(s for s in body if s) if language != "zh" else "".join(s for s in body if s),
                     teller.following())  # fmt: skip


Told = tuple[str, list[str]]


class _Teller:
    def __init__(self, trace: Trace, step: int, language: str) -> None:
        self.trace, self.step, self.language = trace, step, language
        self.words = Words(language)

    def say(self, key: str, **fields: object) -> str:
        return self.words(f"say.{key}", **fields)

    def join(self, items: list[str]) -> str:
        return joined(items, self.language)

    # ---- start and what follows

    def start(self) -> Told:
        trace = self.trace
        if not trace.steps:
            return self.say("start.title"), [self.say("start.empty")]
        counts = {"ops": len(trace.ops), "nodes": len(trace.nodes), "passes": len(trace.passes)}
        return self.say("start.title"), [self.say("start.body", steps=trace.steps, **counts)]

    def following(self) -> str:
        if self.step >= self.trace.steps:
            return self.say("next.end") if self.trace.steps else ""
        event = self.trace.event_at(self.step + 1)
        if isinstance(event, Op):
            if event.span is None or event.span[1] <= 0:
                return self.say("next.op", name=event.name)
            return self.say("next.op_line", name=event.name, where=place(self.trace, event.span, self.language))
        if isinstance(event, Backward):
            return self.say("next.seed", root=self._roots(event))
        if isinstance(event, NodeRan):
            leaf = self.trace.nodes[event.node].leaf
            if leaf is not None:
                return self.say("next.accumulate", leaf=tensor_label(self.trace, leaf))
            return self.say("next.node", node=self.trace.nodes[event.node].name)
        if isinstance(event, Grad):
            return self.say("next.grad", leaf=tensor_label(self.trace, event.tensor))
        return self.say("next.fault")

    def _roots(self, event: Backward) -> str:
        return self.join([tensor_label(self.trace, t) for t in event.tensors]) or self.join(
            [node_label(self.trace, n) for n in event.roots]
        )

    # ---- operations

    def op(self, event: Op) -> Told:
        trace = self.trace
        if event.writes:
            return self._inplace(event)
        if not event.inputs and event.outputs and not event.nodes:
            return self._made(event)
        results, inside = self._results(event), self._inside(event)
        if event.nodes:
            names = self.join([trace.nodes[n].name for n in event.nodes])
            return self.say("op.title", op=event.name, nodes=names), [*inside, *results, *self._kept(event)]
        return self._unrecorded(event), [*inside, *results]

    def _unrecorded(self, event: Op) -> str:
        if event.untracked is None or f"say.reason.{event.untracked}" not in self.words:
            return self.say("op.untracked_plain", op=event.name)
        return self.say("op.untracked", op=event.name, reason=self.say(f"reason.{event.untracked}"))

    def _results(self, event: Op) -> list[str]:
        frame = self.trace.at(self.step)
        said = []
        for tensor in event.outputs[:2]:
            data = frame.value_data(tensor)
            if data is not None and not data.missing:
                name = tensor_label(self.trace, tensor)
                said.append(self.say("op.result", name=name, value=value_text(data)))
        return said

    def _made(self, event: Op) -> Told:
        tensor = event.outputs[0]
        told = self.trace.tensor(tensor, self.step)
        name = tensor_label(self.trace, tensor)
        if told is None:
            return self.say("op.untracked_plain", op=event.name), []
        title = self.say("made.title", name=name, shape=shape_text(told.shape))
        data = self.trace.at(self.step).value_data(tensor)
        value = [] if data is None or data.missing else [self.say("made.value", name=name, value=value_text(data))]
        return title, [*value, self.say("made.leaf" if told.requires_grad else "made.plain", name=name)]

    def _inplace(self, event: Op) -> Told:
        trace = self.trace
        names = self.join([tensor_label(trace, t) for t in event.writes[:4]])
        if event.name in FLAGS:
            return self._flagged(event, names), []
        body = self._warned()
        for tensor in event.writes[:2]:
            data, told = trace.at(self.step).value_data(tensor), trace.tensor(tensor, self.step)
            name = tensor_label(trace, tensor)
            if data is not None and not data.missing:
                body.append(self.say("op.result", name=name, value=value_text(data)))
            if told is not None and told.version is not None:
                body.append(self.say("op.version", name=name, version=told.version))
        if event.nodes:
            body += self._kept(event)
        elif event.untracked is not None:
            body.append(self._unrecorded(event))
        return self.say("op.inplace", op=event.name, names=names), body

    def _flagged(self, event: Op, names: str) -> str:
        if event.name == "retain_grad":
            return self.say("op.retain", names=names)
        told = self.trace.tensor(event.writes[0], self.step)
        return self.say("op.flag_on" if told is not None and told.requires_grad else "op.flag_off", names=names)

    def _warned(self) -> list[str]:
        """What gradviz has to say about this step where PyTorch is silent."""
        found = [e for e in self.trace.events_of(self.step) if isinstance(e, Warn)]
        return [self.say("op.not_dirty") for e in found if e.code == "data_edit" and e.facts.get("mark_dirty") is False]

    def _inside(self, event: Op) -> list[str]:
        """The operation ran while a node was running: a checkpoint computes again, a hook or custom backward works."""
        if event.within_node is None or event.within_node >= len(self.trace.nodes):
            return []
        return [self.say("op.within", node=node_label(self.trace, event.within_node))]

    def _kept(self, event: Op) -> list[str]:
        said = []
        for ident in event.nodes[:3]:
            node = self.trace.nodes[ident]
            kept = [s for s in node.saved if s.kind in ("tensor", "packed")]
            if not kept:
                said.append(self.say("op.saved_none", node=node.name))
                continue
            names = self.join([s.name for s in kept])
            needs = self._needs(node, [s.name for s in kept])
            key = "op.saved_for" if needs else "op.saved"
            said.append(self.say(key, node=node.name, saved=names, needs=self.join(needs)))
        return said

    def _needs(self, node: Node, kept: list[str]) -> list[str]:
        """The inputs whose formula reads something that is kept."""
        shipped = self.trace.rules.get(node.name)
        formulas = shipped.formulas if shipped else ()
        read = [
            (i, names) for i, (names, formula) in enumerate(formulas) if set(kept) & set(re.findall(r"\w+", formula))
        ]
        if len(formulas) == len(node.edges):
            read = [(i, names) for i, names in read if node.edges[i][0] is not None]
        return [names for _, names in read]

    # ---- backward

    def seed(self, event: Backward) -> Told:
        root = self._roots(event)
        implicit = bool(event.implicit) and all(event.implicit)
        kind = "implicit" if implicit else "explicit"
        seeds = self.join([value_text(seed) for seed in event.seeds])
        body = [self.say(f"seed.{kind}_body", root=root)]
        if event.planned:
            body.append(self.say("seed.plan", count=len(event.planned)))
        body.append(
            self.say("seed.create" if event.create_graph else "seed.retain" if event.retain_graph else "seed.free")
        )
        return self.say(f"seed.{kind}", root=root, seed=seeds), body

    def ran(self, event: NodeRan) -> Told:
        node = self.trace.nodes[event.node]
        if node.leaf is not None:
            return self._accumulate(event, node.leaf)
        outputs = [d for d in event.gout if d is not None]
        same = bool(outputs) and len(event.gin) == 1 and all(d == event.gin[0] for d in outputs)
        gin = self.join([_brief(d) for d in event.gin])
        gout = self.join([_brief(d) for d in outputs[:3]])
        key = "node.unchanged" if same else "node.title" if outputs else "node.nothing"
        title = self.say(key, node=node.name, gin=gin, gout=gout)
        body = [
            sentence(node, self.language),
            *self._fitted(node),
            *self._hooks(event),
            *self._undefined(event),
            *self._sent(event, node, same),
        ]
        if any(isinstance(e, Freed) and e.node == event.node for e in self.trace.events_of(self.step)):
            body.append(self.say("node.freed"))
        return title, body

    def _fitted(self, node: Node) -> list[str]:
        """Said of each input that was broadcast."""
        shapes = fitted(self.trace, node)
        said = [
            self.say("node.fitted", input=self._leaf(target) or self._input(node, i), shape=shape_text(shape))
            for i, ((target, _), shape) in enumerate(zip(node.edges, shapes, strict=True))
            if target is not None and shape is not None
        ]
        return list(dict.fromkeys(said))

    def _hooks(self, event: NodeRan) -> list[str]:
        said = []
        for key, before, after in (
            ("node.hook_in", event.gin_before, event.gin),
            ("node.hook_out", event.gout_before, event.gout),
        ):
            for old, new in zip(before or (), after, strict=False):
                if old != new:
                    said.append(self.say(key, before=value_text(old), after=value_text(new)))
        return said

    def _sent(self, event: NodeRan, node: Node, same: bool) -> list[str]:
        said = []
        if same and len(event.gout) > 1 and all(d is not None for d in event.gout):
            said.append(self.say("node.both", value=value_text(event.gin[0])))
        elif not same or len(event.gout) == 1:
            said += [
                self.say("node.to", target=self._target(target), value=value_text(data))
                for (target, _), data in zip(node.edges[:4], event.gout, strict=False)
                if target is not None and data is not None
            ]
        said = list(dict.fromkeys(said)) + self._summed(event, node)
        said += self._at_leaves(event, node)
        said += [
            self.say("node.no_one", input=self._input(node, i)) for i, (t, _) in enumerate(node.edges[:4]) if t is None
        ]
        return said

    def _at_leaves(self, event: NodeRan, node: Node) -> list[str]:
        """What becomes of the gradients that this node sends to leaves: added, caught by `autograd.grad`, dropped."""
        active = self.trace.passes[event.within]
        said = []
        for target in dict.fromkeys(t for t, _ in node.edges[:4] if t is not None and t < len(self.trace.nodes)):
            leaf = self.trace.nodes[target].leaf
            if leaf is None:
                continue
            wanted = target in active.planned or not active.planned
            caught = active.call == "grad" and leaf in (active.inputs or ())
            adds = "node.frozen" if self._frozen(leaf) else "node.leaf"
            key = "node.caught" if caught else adds if wanted else "node.unwanted"
            said.append(self.say(key, leaf=tensor_label(self.trace, leaf)))
        return said

    def _frozen(self, leaf: int) -> bool:
        """The leaf of an AccumulateGrad does not require grad any more."""
        told = self.trace.tensor(leaf, self.step)
        return told is not None and not told.requires_grad

    def _undefined(self, event: NodeRan) -> list[str]:
        """A node with several results, some of which got no gradient."""
        if len(event.gin) < 2 or all(d is not None for d in event.gin):
            return []
        missing = [str(i) for i, data in enumerate(event.gin) if data is None]
        return [self.say("node.undefined", numbers=self.join(missing))]

    def _summed(self, event: NodeRan, node: Node) -> list[str]:
        """Said when several gradients of this node meet at one input of the next, as those of `e * e` do."""
        arrived = Counter(e for e, d in zip(node.edges, event.gout, strict=False) if e[0] is not None and d is not None)
        return [
            self.say("node.summed", target=self._target(target), count=count)
            for (target, _), count in arrived.items()
            if target is not None and count > 1
        ]

    def _leaf(self, node: int) -> str:
        """The name of an AccumulateGrad's leaf; "" for any other node."""
        leaf = self.trace.nodes[node].leaf
        return "" if leaf is None else tensor_label(self.trace, leaf)

    def _target(self, node: int) -> str:
        leaf = self.trace.nodes[node].leaf
        return self.trace.nodes[node].name if leaf is None else tensor_label(self.trace, leaf)

    def _input(self, node: Node, edge: int) -> str:
        op = self.trace.op(node.op)
        if op is not None and len(op.nodes) == 1 and len(op.inputs) == len(node.edges):
            return tensor_label(self.trace, op.inputs[edge])
        shipped = self.trace.rules.get(node.name)
        names = [name for group, _ in shipped.formulas for name in group.split(", ")] if shipped else []
        return names[edge] if len(names) == len(node.edges) else str(edge)

    def _accumulate(self, event: NodeRan, leaf: int) -> Told:
        name = tensor_label(self.trace, leaf)
        writes = [e for e in self.trace.events_of(self.step) if isinstance(e, Grad) and e.tensor == leaf]
        if not writes:
            return self.say("accumulate.frozen" if self._frozen(leaf) else "accumulate.silent", leaf=name), []
        written = next((e for e in writes if e.cause == "accumulate"), writes[-1])
        texts = {"old": value_text(written.before), "new": value_text(written.added), "sum": value_text(written.after)}
        if written.added is None:
            texts["new"] = texts["sum"]
        kind = "first" if written.before is None else "again"
        body = [*self._hooks(event), self.say(f"accumulate.{kind}", leaf=name, **texts)]
        for hooked in (e for e in writes if e.cause == "hook"):
            values = _before_after(hooked.before, hooked.after)
            body += [
                self.say("grad.hook", names=f"{name}.grad"),
                self.say("grad.hook_body", name=f"{name}.grad", **values),
            ]
        if written.after is not None and written.after.dtype.startswith("complex"):
            body.append(self.say("accumulate.complex"))
        return self.say(f"accumulate.{kind}_title", leaf=name), body

    # ---- the rest

    def grad(self, event: Grad) -> Told:
        writes = [e for e in self.trace.events_of(self.step) if isinstance(e, Grad)]
        title, body = [], []
        for cause in dict.fromkeys(e.cause for e in writes):
            same = [e for e in writes if e.cause == cause]
            names = [f"{tensor_label(self.trace, e.tensor)}.grad" for e in same]
            shown = names if len(names) <= 4 else [*names[:3], "…"]
            title.append(self.say(f"grad.{cause}", names=self.join(shown)))
            body.append(self.say(f"grad.{cause}_body", name=names[0], **_before_after(same[0].before, same[0].after)))
        return ("" if self.language == "zh" else " ").join(title), body

    def fault(self, event: Fault) -> Told:
        card = fault_card(self.trace, event.id, self.language)
        return card.title, [card.fact, card.effect]


def _before_after(before: Data | None, after: Data | None) -> dict[str, str]:
    return {"old": value_text(before), "value": value_text(after)}


_TELL: dict[type, Callable[[_Teller, Any], Told]] = {
    Op: _Teller.op,
    Backward: _Teller.seed,
    NodeRan: _Teller.ran,
    Grad: _Teller.grad,
    Fault: _Teller.fault,
}


def _brief(data: Data | None) -> str:
    """For a title: a small value in full, of a larger one the shape alone; the sentence below has its norm."""
    text = value_text(data)
    return shape_text(data.shape) if data is not None and text.startswith("[…") else text

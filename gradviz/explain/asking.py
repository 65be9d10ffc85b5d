"""What the makers of questions share: the recording at one step, its words, and names that tell nodes apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from gradviz.explain.labels import joined, one_line, tensor_label
from gradviz.explain.words import Words
from gradviz.trace import Frame, Trace
from gradviz.trace.codec import AnyItem
from gradviz.trace.events import Backward, Data, Node, NodeRan, Span

LONGEST = 32
"""Characters of an expression in a choice."""


@dataclass(slots=True)
class Wrong:
    """A wrong choice, why it is wrong, and which misconception it is."""

    text: str
    note: str
    misconception: str = ""


@dataclass(slots=True)
class Draft:
    """A question before its choices are put in order."""

    prompt: str
    truth: str
    why: str
    wrong: list[Wrong]
    reveal: int
    fact: dict[str, object] = field(default_factory=dict)


class Asker:
    """One step that somebody is asked about before it is shown."""

    def __init__(self, trace: Trace, step: int, language: str) -> None:
        self.trace = trace
        self.step = step
        self.language = language
        self.words = Words(language)

    def say(self, key: str, **fields: object) -> str:
        """The sentence `quiz.KEY`."""
        return self.words(f"quiz.{key}", **fields)

    def wrong(self, text: str, key: str, misconception: str = "", **fields: object) -> Wrong:
        """A wrong choice whose note is the sentence `quiz.KEY`."""
        return Wrong(text, self.say(key, **fields), misconception)

    def join(self, names: list[str]) -> str:
        """A list as it is read out."""
        return joined(names, self.language)

    @property
    def event(self) -> AnyItem | None:
        """The event of the step."""
        return self.trace.event_at(self.step)

    @cached_property
    def before(self) -> Frame:
        """What is shown while the question stands."""
        return self.trace.at(self.step - 1)

    @cached_property
    def after(self) -> Frame:
        """What the step brings."""
        return self.trace.at(self.step)

    # ---- names

    def line(self, span: Span | None) -> str:
        """The program's line at a span, without what stands around it; "" where the text is not known."""
        if span is None or span[1] < 1:
            return ""
        file = self.trace.files.get(span[0])
        source = file.text if file and file.text else self.trace.header.source if span[0] == 0 else ""
        lines = source.split("\n")
        return lines[span[1] - 1].strip() if span[1] <= len(lines) else ""

    def node(self, ident: int) -> str:
        """A node's name with what tells it from its neighbours: its leaf, or the expression that left it behind."""
        told = self.trace.nodes[ident]
        if told.leaf is not None:
            return self.say("node.leaf", node=told.name, leaf=self.tensor(told.leaf))
        text = self._expression(told)
        return self.say("node.of", node=told.name, text=text) if text else told.name

    def _expression(self, node: Node) -> str:
        if node.op is None or node.op >= len(self.trace.ops):
            return ""
        text = one_line(self.trace.ops[node.op].text)
        return text if len(text) <= LONGEST else ""

    def tensor(self, ident: int) -> str:
        """A tensor's name."""
        return tensor_label(self.trace, ident)

    # ---- passes

    def pass_end(self, ident: int) -> int | None:
        """The last step of a pass; None where the recording does not hold its end."""
        return self.trace.pass_end.get(ident)

    def failed(self, ident: int) -> bool:
        """Whether a pass raised."""
        return any(fault.within == ident for fault in self.trace.faults)

    def plan(self, call: Backward) -> list[int]:
        """Nodes that a pass was going to run, in the engine's order."""
        return [n for n in call.planned if n < len(self.trace.nodes)]

    def done_before(self, call: Backward) -> set[int]:
        """Nodes that have run in a pass before this step."""
        trace = self.trace
        mine = (trace.run_pass.view == call.id) & (trace.run_step.view < self.step)
        return {int(n) for n in trace.run_node.view[mine]}


def producers(trace: Trace, plan: list[int], node: int) -> list[int]:
    """Nodes of a plan that send a gradient to a node."""
    return [n for n in plan if any(target == node for target, _ in trace.nodes[n].edges)]


def outermost(trace: Trace, event: NodeRan | Backward) -> Backward | None:
    """The pass of an event, where it runs inside no other; None else."""
    ident = event.within if isinstance(event, NodeRan) else event.id
    call = trace.passes[ident] if ident < len(trace.passes) else None
    return call if call is not None and call.parent is None else None


def is_zero(data: Data | None) -> bool:
    """All elements are known to be zero."""
    return data is not None and data.missing is None and data.norm == 0 and not data.nan and not data.inf


def is_known(data: Data | None) -> bool:
    """The content was read."""
    return data is not None and data.missing is None

"""Operations as a tree of groups: calls of modules, what repeats inside them, and what is left by source line.

The operations of every group follow one another in time, so that folding one makes no cycle. Only "setup" gathers
from anywhere: nothing is joined to what it holds.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from gradviz.graph.model import Card, FoldKind
from gradviz.graph.repeats import repeats
from gradviz.trace import Trace
from gradviz.trace.events import Op, Span

WORTH = 12
"""Fewer operations are not gathered as repeating: a stack would hide more than it tells."""
SETUP = 4
"""So many operations by one expression, none of them written there, are a library's preparations."""
DEEPEST = 64


@dataclass(slots=True)
class Group:
    """A node of the tree. `parts` are cards, by their number, and groups, in order of time."""

    key: str
    kind: FoldKind
    title: str = ""
    parts: list[int | Group] = field(default_factory=list)
    parent: Group | None = None
    lines: tuple[int, int] | None = None
    number: int = 0
    """Which of those alike it is, counted from 1; 0: there are none."""
    alike: int = 0
    """For a stack, and for one in it: how many there are."""
    looped: bool = False

    def add(self, part: int | Group) -> None:
        """Put a part in, at the end."""
        if isinstance(part, Group):
            part.parent = self
        self.parts.append(part)

    def cards(self) -> Iterator[int]:
        """All cards in it."""
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.cards()
            else:
                yield part

    def groups(self) -> Iterator[Group]:
        """All groups in it, outer ones first."""
        for part in self.parts:
            if isinstance(part, Group):
                yield part
                yield from part.groups()


def tree_of(trace: Trace, cards: list[Card]) -> Group:
    """The root, which stands for the whole recording."""
    return _Grower(trace, cards).grow()


class _Grower:
    def __init__(self, trace: Trace, cards: list[Card]) -> None:
        self.trace = trace
        self.cards = cards
        self._again: Counter[str] = Counter()
        self._names: dict[object, int] = {}
        self._chains: dict[int, tuple[int, ...]] = {}

    def grow(self) -> Group:
        root = Group("fold:", "module")
        order = [i for i, card in enumerate(self.cards) if card.op is not None and card.kind == "op"]
        order.sort(key=lambda i: (self.cards[i].born, self.cards[i].op))
        apart = self._setup(order)
        open_: list[tuple[int, Group]] = []
        for i in order:
            if i in apart:
                continue
            chain = self._chain(self._op(i).scope)
            same = 0
            while same < min(len(open_), len(chain)) and open_[same][0] == chain[same]:
                same += 1
            del open_[same:]
            for scope in chain[same:]:
                group = self._call(scope)
                (open_[-1][1] if open_ else root).add(group)
                open_.append((scope, group))
            (open_[-1][1] if open_ else root).add(i)
        self._arrange(root)
        if apart:
            setup = Group("fold:setup", "setup", parts=[*sorted(apart)], lines=self._lines(sorted(apart)), parent=root)
            root.parts.insert(0, setup)
        return root

    def _op(self, card: int) -> Op:
        op = self.cards[card].op
        assert op is not None
        return self.trace.ops[op]

    def _chain(self, scope: int | None) -> tuple[int, ...]:
        """The calls around an operation, outermost first."""
        if scope is None or scope not in self.trace.scopes:
            return ()
        known = self._chains.get(scope)
        if known is None:
            outer = self.trace.scopes[scope].parent
            before = self._chain(outer) if outer is not None and outer < scope else ()
            known = self._chains[scope] = (*before, scope)[:DEEPEST]
        return known

    def _call(self, scope: int) -> Group:
        told = self.trace.scopes[scope]
        name = told.path or told.cls
        self._again[name] += 1
        again = self._again[name]
        return Group(f"fold:{name}" if again == 1 else f"fold:{name}#{again}", "module", name)

    def _setup(self, order: list[int]) -> set[int]:
        """Cards of operations that a library ran for one expression outside of any module, and no grad_fn came of them
        or of what they are joined to: new modules filled, copied, moved."""
        alive = {card.generation for card in self.cards if card.nodes and card.kind != "leaf"}
        by: dict[Span, list[int]] = defaultdict(list)
        for i in order:
            op = self._op(i)
            if self.cards[i].generation not in alive and op.scope is None and op.span is not None:
                by[op.span].append(i)
        found = [m for m in by.values() if len(m) >= SETUP and len({self._op(i).name for i in m}) > 1]
        return {i for members in found for i in members}

    # ---- repeats and lines

    def _arrange(self, group: Group) -> int:
        """Gather what repeats, then what is of one line. Gives a number for the structure of the group."""
        signs = [self._arrange(p) if isinstance(p, Group) else self._name(self._op(p).name) for p in group.parts]
        parts, group.parts = group.parts, []
        self._gather(group, parts, signs)
        return self._name((re.sub(r"\d+", "#", group.title.rpartition(".")[2]), *signs))

    def _gather(self, group: Group, parts: list[int | Group], signs: list[int]) -> None:
        at = 0
        for start, period, count in repeats(signs) if self._count(parts) >= WORTH else ():
            if self._count(parts[start : start + period * count]) < WORTH:
                continue
            self._by_line(group, parts[at:start], whole=False)
            at = start + period * count
            members = [(parts[k : k + period], signs[k : k + period]) for k in range(start, at, period)]
            group.add(self._stack(members))
        self._by_line(group, parts[at:], whole=not at)
        group.lines = self._lines(list(group.cards()))

    def _count(self, parts: list[int | Group]) -> int:
        """How many operations, as far as it matters."""
        count = 0
        for part in parts:
            count += sum(1 for _ in islice(part.cards(), WORTH)) if isinstance(part, Group) else 1
            if count >= WORTH:
                break
        return count

    def _name(self, thing: object) -> int:
        return self._names.setdefault(thing, len(self._names))

    def _stack(self, members: list[tuple[list[int | Group], list[int]]]) -> Group:
        looped = len({self._site(parts) for parts, _ in members}) == 1
        made = [self._member(parts, signs) for parts, signs in members]
        stack = Group(f"{made[0].key}…", "stack", alike=len(made), looped=looped)
        for number, member in enumerate(made, 1):
            member.number, member.alike, member.looped = number, len(made), looped
            stack.add(member)
        stack.lines = self._lines(list(stack.cards()))
        return stack

    def _member(self, parts: list[int | Group], signs: list[int]) -> Group:
        """One of those alike: a module's call itself, or what belongs to one iteration."""
        if len(parts) == 1 and isinstance(parts[0], Group) and parts[0].kind == "module":
            return parts[0]
        first, last = parts[0], parts[-1]
        title = f"{first.title} – {last.title}" if isinstance(first, Group) and isinstance(last, Group) else ""
        lead = next(first.cards()) if isinstance(first, Group) else first
        member = Group(f"fold:loop@{self._op(lead).id}", "loop", title)
        self._gather(member, parts, signs)
        return member

    def _site(self, parts: list[int | Group]) -> tuple[object, ...]:
        """Where parts come from: the same for two iterations of a loop."""
        return tuple((part.title, part.lines) if isinstance(part, Group) else self._op(part).span for part in parts)

    def _by_line(self, group: Group, parts: list[int | Group], *, whole: bool) -> None:
        """Put parts into a group, neighbours of one line together, unless that is the whole group."""
        runs: list[tuple[tuple[int, int] | None, list[int | Group]]] = []
        for part in parts:
            span = None if isinstance(part, Group) else self._op(part).span
            line = span[:2] if span is not None else None
            if line is None or not runs or runs[-1][0] != line:
                runs.append((line, []))
            runs[-1][1].append(part)
        for line, run in runs:
            if line is None or len(run) < 2 or (whole and len(runs) == 1):
                for part in run:
                    group.add(part)
                continue
            first = run[0]
            assert isinstance(first, int)
            key = f"fold:line {line[1]}@{self._op(first).id}"
            made = Group(key, "line", lines=(line[1], line[1]))
            for part in run:
                made.add(part)
            group.add(made)

    def _lines(self, cards: list[int]) -> tuple[int, int] | None:
        """First and last line, where all are of one file."""
        spans = [span for i in cards if (span := self._op(i).span) is not None]
        if not spans or any(span[0] != spans[0][0] for span in spans):
            return None
        lines = [span[1] for span in spans]
        return min(lines), max(lines)

"""Fold groups of operations into one card each: modules, repeated structure, iterations, source lines.

What is shown is a cut through the tree of groups (`tree`): the person's choices first, and where there are many cards,
as many levels as can be read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradviz.graph import sizes
from gradviz.graph.model import Card, Fold, Opened, Wire
from gradviz.graph.tree import Group, tree_of
from gradviz.trace import Trace

MANY = 300
"""Above so many cards the first view is folded."""
READABLE = 24
"""The first view opens groups as long as no more cards than this come of it, leaves that they read alone counted."""
ENOUGH = 14
"""When a level shows so many, none deeper is opened."""
FEW = 8
"""...and so many where a person folds everything."""
EVERY = "fold:*"
"""In `folded` or `unfolded`: every group that is not named there itself."""
MOST = 0.6
"""A group that holds more of all operations gets no frame unasked."""
SPREAD = 16
"""A stack of up to so many opens into all of them, a larger one into the one where the step is, or its first."""


@dataclass(slots=True)
class Shown:
    """One thing that is shown in place of its cards: a folded group, or those of a stack that follow one another."""

    group: Group
    members: list[Group]
    """Of a stack: those that are in it; else empty."""

    def cards(self) -> list[int]:
        """The operations' cards folded in it."""
        return [i for member in self.members or [self.group] for i in member.cards()]


def fold(
    trace: Trace, cards: list[Card], wires: list[Wire], folded: frozenset[str], unfolded: frozenset[str]
) -> tuple[list[Card], list[Wire], tuple[Opened, ...]]:
    """The same graph with its groups folded, and the frames of those that were opened. Keys: "fold:" and the path of
    the module, "#2" and so on for its later calls, or the first operation."""
    root = tree_of(trace, cards)
    cut = _Cut(root, cards, wires, folded, unfolded)
    home = list(range(len(cards)))
    made: dict[int, Shown] = {}
    for item in cut.shown(root):
        if isinstance(item, Shown):
            members = item.cards()
            for i in members:
                home[i] = members[0]
            made[members[0]] = item
    _absorb(cards, wires, home, made)
    inside: dict[int, list[Card]] = defaultdict(list)
    for card, at in zip(cards, home, strict=True):
        if at in made:
            inside[at].append(card)
    homes: dict[int, set[int]] = defaultdict(set)
    for card, at in zip(cards, home, strict=True):
        for node in card.nodes if card.kind == "leaf" else ():
            homes[node].add(at)
    shared = {node for node, found in homes.items() if len(found) > 1}
    folds = {at: _folded(item, _told(item, cards), inside[at], shared) for at, item in made.items()}
    kept, reduced, place = _reduced(cards, wires, home, folds)
    return kept, reduced, cut.frames([place[at] for at in home], kept, reduced)


class _Cut:
    """Which groups are open."""

    def __init__(
        self, root: Group, cards: list[Card], wires: list[Wire], folded: frozenset[str], unfolded: frozenset[str]
    ) -> None:
        self.root = root
        self.cards = cards
        self.folded, self.unfolded = folded, unfolded
        self.automatic = len(cards) > MANY
        self._alone = _alone(cards, wires)
        self._ways: set[str] = set()
        """Groups around those that were unfolded."""
        by_key = {group.key: group for group in root.groups()} if unfolded - {EVERY} else {}
        for key in unfolded:
            group = by_key.get(key)
            while group is not None and group.parent is not None:
                group = group.parent
                self._ways.add(group.key)
        budget = READABLE if self.automatic and EVERY not in folded else FEW
        self._readable = self._opened(budget) if self.automatic or EVERY in folded else set()
        self._free = EVERY in unfolded or not (self.automatic or EVERY in folded)
        """What nobody spoke of is open."""

    def _opened(self, budget: int) -> set[str]:
        """Groups to open, level by level, as long as what is shown stays readable."""
        opened, count = {self.root.key}, self._size(self.root)
        level: list[Group] = [self.root]
        deeper: list[Group] = []
        while level and count < ENOUGH:
            for part in (part for group in level for part in group.parts):
                if not isinstance(part, Group) or _apart(part):
                    continue
                group = part.parts[0] if part.kind == "stack" else part
                assert isinstance(group, Group)
                more = self._size(group) - 1
                if count + more <= budget and not self._is_single(group):
                    count += more
                    opened.add(group.key)
                    deeper.append(group)
            level, deeper = deeper, []
        return opened

    def _size(self, group: Group) -> int:
        """Cards that an open group shows: of a stack, one and the rest."""
        return sum(
            1 + self._alone[part] if isinstance(part, int) else 2 if part.kind == "stack" else 1 for part in group.parts
        )

    def _is_single(self, group: Group) -> bool:
        cards = group.cards()
        return next(cards, None) is None or next(cards, None) is None

    def _is_fold(self, group: Group) -> bool:
        """Folding it takes something away: several operations, or one and leaves that only it reads."""
        return not self._is_single(group) or self._alone[next(group.cards())] > 0

    def is_open(self, group: Group) -> bool:
        """What was said of this group, else what was said of one in it or of all, else what the size asks for."""
        if group.key in self.folded or group.key in self.unfolded:
            return group.key in self.unfolded
        if group.key in self._ways:
            return True
        if group.kind == "setup":
            return EVERY in self.unfolded
        return self._free or group.key in self._readable

    def shown(self, group: Group) -> Iterable[int | Shown]:
        """What stands for an open group."""
        for part in group.parts:
            if not isinstance(part, Group):
                yield part
            elif part.kind == "stack":
                yield from self._stack(part)
            elif self.is_open(part) or not self._is_fold(part):
                yield from self.shown(part)
            else:
                yield Shown(part, [])

    def _stack(self, stack: Group) -> Iterable[int | Shown]:
        whole = stack.key in self.unfolded or (self._free and stack.key not in self.folded)
        waiting: list[Group] = []
        for number, member in enumerate(stack.parts):
            assert isinstance(member, Group)
            spoken = member.key in self.unfolded or member.key in self._ways
            first = number == 0 and stack.key not in self.folded and member.key not in self.folded
            if not (whole or spoken or first):
                waiting.append(member)
                continue
            yield from self._rest(stack, waiting)
            waiting = []
            if self.is_open(member) or not self._is_fold(member):
                yield from self.shown(member)
            else:
                yield Shown(member, [])
        yield from self._rest(stack, waiting)

    def _rest(self, stack: Group, waiting: list[Group]) -> Iterable[int | Shown]:
        if len(waiting) > 1:
            yield Shown(stack, waiting)
        elif waiting:
            yield Shown(waiting[0], []) if self._is_fold(waiting[0]) else next(waiting[0].cards())

    def frames(self, place: list[int], cards: list[Card], wires: list[Wire]) -> tuple[Opened, ...]:
        """The open groups that a person may want to fold again. `place`: of each card in `cards`, which are shown."""
        if self._free and not self.unfolded - {EVERY}:
            return ()
        readers: dict[int, set[int]] = defaultdict(set)
        for wire in wires:
            if cards[wire.source].kind == "leaf":
                readers[wire.source].add(wire.target)
        found = []
        everything = sum(len(list(p.cards())) if isinstance(p, Group) else 1 for p in self.root.parts if not _apart(p))
        for group in self._open_groups(self.root):
            inside = list(group.cards())
            if group.key not in self.unfolded and (
                self._free or group.kind not in ("module", "loop") or len(inside) > MOST * everything
            ):
                continue
            mine = {place[i] for i in inside}
            leaves = {leaf for leaf, targets in readers.items() if targets <= mine}
            if len(mine) + len(leaves) > 1:
                told = _told(Shown(group, []), self.cards)
                found.append(Opened(group.key, group.title, told, tuple(sorted(mine | leaves))))
        return tuple(found)

    def _open_groups(self, group: Group) -> Iterable[Group]:
        for part in group.parts:
            if isinstance(part, Group) and (part.kind == "stack" or (self.is_open(part) and self._is_fold(part))):
                yield part
                yield from self._open_groups(part)


def _apart(part: int | Group) -> bool:
    return isinstance(part, Group) and part.kind == "setup"


def _alone(cards: list[Card], wires: list[Wire]) -> Counter[int]:
    """How many leaves each card reads that nothing else reads."""
    readers: dict[int, set[int]] = defaultdict(set)
    for wire in wires:
        if cards[wire.source].kind == "leaf":
            readers[wire.source].add(wire.target)
    return Counter(next(iter(found)) for found in readers.values() if len(found) == 1)


# ---- cards of folds


def _told(item: Shown, cards: list[Card]) -> Fold:
    group, members = item.group, item.members
    if not members:
        numbers = (group.number, group.number, group.alike) if group.number else None
        return Fold(group.kind, group.lines, numbers, group.looped)
    lines = [m.lines for m in members if m.lines]
    return Fold(
        "stack",
        (min(a for a, _ in lines), max(b for _, b in lines)) if lines else None,
        (members[0].number, members[-1].number, group.alike),
        group.looped,
        group.key if len(members) <= SPREAD else "",
        tuple(m.key for m in members),
        tuple(cards[next(m.cards())].op or 0 for m in members),
    )


def _folded(item: Shown, told: Fold, inside: list[Card], shared: set[int]) -> Card:
    """The card of a fold, from the cards in it. `shared` AccumulateGrads say nothing of this one."""
    ops = [card for card in inside if card.kind == "op"]
    nodes = tuple(dict.fromkeys(n for card in inside for n in card.nodes if card.kind == "op" or n not in shared))
    key = f"{item.group.key}+{item.members[0].number}" if item.members else item.group.key
    title = _title(item.members) if item.members else item.group.title
    width, height = sizes.fold_size(title)
    return Card(
        key, "fold", title, "", None, None, nodes, ops[0].generation, ops=tuple(o for card in ops for o in card.ops),
        count=len(ops), born=min(card.born for card in ops), width=width, height=height, fold=told,
        tensors=tuple(dict.fromkeys(c.tensor for c in inside if c.kind != "op" and c.tensor is not None)),
    )  # fmt: skip


def _title(members: list[Group]) -> str:
    """Of modules that are alike: "blocks.3 – 7", or for calls of the same one "cell"."""
    first, last = members[0].title, members[-1].title
    if first == last:
        return first
    tail = last.rpartition(".")[2]
    return f"{first} – {tail if first.rpartition('.')[0] == last.rpartition('.')[0] else last}"


def _absorb(cards: list[Card], wires: list[Wire], home: list[int], made: dict[int, Shown]) -> None:
    """What only one fold reads goes into it: leaves, with their AccumulateGrad; and the results of iterations."""
    readers: dict[int, set[int]] = defaultdict(set)
    for wire in wires:
        readers[wire.source].add(home[wire.target])
        maker = made.get(home[wire.source])
        if cards[wire.target].kind == "result" and maker is not None and maker.group.kind in ("stack", "loop"):
            home[wire.target] = home[wire.source]
    for i, card in enumerate(cards):
        if card.kind == "leaf" and len(readers[i]) == 1:
            (reader,) = readers[i]
            if reader in made:
                home[i] = reader


def _reduced(
    cards: list[Card], wires: list[Wire], home: list[int], folds: dict[int, Card]
) -> tuple[list[Card], list[Wire], dict[int, int]]:
    """Cards and wires that are left, and where each card that is left stands in them."""
    place = {i: n for n, i in enumerate(i for i in range(len(cards)) if home[i] == i)}
    merged: dict[tuple[int, int], list[Wire]] = defaultdict(list)
    out: list[Wire] = []
    for wire in wires:
        source, target = home[wire.source], home[wire.target]
        if source == target:
            continue
        moved = replace(wire, source=place[source], target=place[target])
        if source in folds:
            moved = replace(moved, source_port=sizes.FOLD_PORTS[0], grad_to=sizes.FOLD_PORTS[1])
        if target in folds:
            moved = replace(moved, target_port=sizes.FOLD_PORTS[0], grad_from=sizes.FOLD_PORTS[1])
        if source in folds or target in folds:
            merged[moved.source, moved.target].append(moved)
        else:
            out.append(moved)
    for same in merged.values():
        edges = tuple(edge for wire in same for edge in wire.edges)
        forward = any(wire.forward for wire in same)
        out.append(replace(same[0], edges=edges, forward=forward, ghost=all(w.ghost for w in same), label=None))
    return [folds.get(i, cards[i]) for i in place], out, place

"""Fold runs of operations into groups: by module path, and by source line where there are no modules.

Only runs that are contiguous in time are folded, so that the folded graph has no cycle that the full one has not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from gradviz.graph.model import Card, Wire
from gradviz.trace import Trace

MANY = 300
"""Above so many cards the first view is folded."""
EVERY = "fold:*"
"""In `folded` or `unfolded`: every group that is not named there itself."""
WIDTH, HEIGHT = 168.0, 58.0


def fold(
    trace: Trace, cards: list[Card], wires: list[Wire], folded: frozenset[str], unfolded: frozenset[str]
) -> tuple[list[Card], list[Wire]]:
    """The same graph with its groups folded. Keys: "fold:" and the path or line, "#2" and so on for later runs."""
    if len(cards) <= MANY and not folded:
        return cards, wires
    paths = [_path(trace, card) for card in cards]
    runs = _runs(cards, paths, _depth(cards, paths))
    automatic = len(cards) > MANY
    home = list(range(len(cards)))
    made: dict[int, Card] = {}
    for key, members in runs.items():
        if len(members) < 2 or not _is_folded(key, folded, unfolded, automatic=automatic):
            continue
        for i in members:
            home[i] = members[0]
        made[members[0]] = _folded(key, [cards[i] for i in members])
    _absorb_leaves(cards, wires, home, made)
    return _reduced(cards, wires, home, made)


def _is_folded(key: str, folded: frozenset[str], unfolded: frozenset[str], *, automatic: bool) -> bool:
    """What was said of this group, else what was said of all, else what the size asks for."""
    if key in folded or key in unfolded:
        return key in folded
    return EVERY in folded or (automatic and EVERY not in unfolded)


def _path(trace: Trace, card: Card) -> tuple[str, ...]:
    if card.kind != "op" or card.op is None:
        return ()
    op = trace.ops[card.op]
    scope = trace.scopes.get(op.scope) if op.scope is not None else None
    seen = 0
    while scope is not None and not scope.path and scope.parent is not None and seen < 64:
        scope, seen = trace.scopes.get(scope.parent), seen + 1
    if scope is not None and scope.path:
        return tuple(scope.path.split("."))
    return (f"line {op.span[1]}",) if op.span else ("",)


def _depth(cards: list[Card], paths: list[tuple[str, ...]]) -> int:
    """The deepest level of module paths that still gives a readable number of groups."""
    best = 1
    for depth in range(1, 8):
        if len(_runs(cards, paths, depth)) > MANY // 2:
            break
        best = depth
    return best


def _runs(cards: list[Card], paths: list[tuple[str, ...]], depth: int) -> dict[str, list[int]]:
    """Members of each run of operations of one graph with the same path; key by path."""
    runs: dict[str, list[int]] = {}
    again: Counter[str] = Counter()
    last: tuple[int, tuple[str, ...]] | None = None
    key = ""
    for i, card in enumerate(cards):
        if card.kind != "op":
            continue
        here = card.generation, paths[i][:depth]
        if here != last:
            name = "fold:" + ".".join(here[1])
            again[name] += 1
            key = name if again[name] == 1 else f"{name}#{again[name]}"
            runs[key] = []
            last = here
        runs[key].append(i)
    return runs


def _folded(key: str, members: list[Card]) -> Card:
    nodes = tuple(n for card in members for n in card.nodes)
    ops = tuple(o for card in members for o in card.ops)
    title = key.removeprefix("fold:").split("#")[0] or "…"
    first = members[0]
    return Card(
        key, "fold", title, f"{len(ops)} ops · {len(nodes)} nodes", None, None, nodes, first.generation,
        ops=ops, count=len(members), born=min(c.born for c in members), width=WIDTH, height=HEIGHT,
    )  # fmt: skip


def _absorb_leaves(cards: list[Card], wires: list[Wire], home: list[int], made: dict[int, Card]) -> None:
    """A leaf that only one fold reads goes into it, with its AccumulateGrad."""
    readers: dict[int, set[int]] = defaultdict(set)
    for wire in wires:
        readers[wire.source].add(home[wire.target])
    for i, card in enumerate(cards):
        if card.kind == "leaf" and len(readers[i]) == 1:
            (reader,) = readers[i]
            if reader in made:
                home[i] = reader
                made[reader] = replace(made[reader], nodes=made[reader].nodes + card.nodes)


def _reduced(
    cards: list[Card], wires: list[Wire], home: list[int], made: dict[int, Card]
) -> tuple[list[Card], list[Wire]]:
    kept = [i for i in range(len(cards)) if home[i] == i]
    place = {i: n for n, i in enumerate(kept)}
    merged: dict[tuple[int, int], Wire] = {}
    out: list[Wire] = []
    for wire in wires:
        source, target = home[wire.source], home[wire.target]
        if source == target:
            continue
        moved = replace(wire, source=place[source], target=place[target])
        if source in made:
            moved = replace(moved, source_port=HEIGHT / 2 - 8, grad_to=HEIGHT / 2 + 10)
        if target in made:
            moved = replace(moved, target_port=HEIGHT / 2 - 8, grad_from=HEIGHT / 2 + 10)
        if source not in made and target not in made:
            out.append(moved)
            continue
        pair = moved.source, moved.target
        known = merged.get(pair)
        merged[pair] = (
            replace(known, edges=known.edges + moved.edges, ghost=known.ghost and moved.ghost) if known else moved
        )
    return [made.get(i, cards[i]) for i in kept], out + [replace(w, label=None) for w in merged.values()]

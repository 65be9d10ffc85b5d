"""What stands on a fold, in the language of the view."""

from __future__ import annotations

from gradviz.explain import Words
from gradviz.graph.model import Card, Fold


def card_title(card: Card, words: Words) -> str:
    """How a card is called."""
    return title_of(card.title, card.fold, words) if card.kind == "fold" else card.title


def title_of(title: str, fold: Fold | None, words: Words) -> str:
    """How a group is called: a module by its path or class, an iteration by its number, the rest by their lines."""
    if fold is None:
        return title
    if fold.kind == "setup":
        return words("ui.fold.setup")
    numbers = fold.numbers
    if fold.looped and numbers and not title:
        if fold.kind == "stack" and numbers[0] < numbers[1]:
            return words("ui.fold.iterations", first=numbers[0], last=numbers[1])
        return words("ui.fold.iteration", number=numbers[0], count=numbers[2])
    if title and fold.looped and numbers:
        return f"{title} {numbers[0]}" if numbers[0] == numbers[1] else f"{title} {numbers[0]} – {numbers[1]}"
    return title or lines_of(fold, words)


def lines_of(fold: Fold, words: Words) -> str:
    """The lines of the program that a group comes from; "" where they are of several files."""
    if fold.lines is None:
        return ""
    first, last = fold.lines
    return words("ui.fold.line", line=first) if first == last else words("ui.fold.lines", first=first, last=last)


def detail_of(card: Card, words: Words) -> str:
    """How much is in a fold: "12 ops · 61 nodes", of alike ones "11 × 61 nodes"."""
    fold, ops, nodes = card.fold, card.count, len(card.nodes)
    if fold is not None and fold.kind == "setup":
        return words("ui.fold.no_nodes", ops=ops)
    if fold is not None and fold.kind == "stack":
        count = len(fold.members)
        each = max(1, round((nodes or ops) / count))
        return words(f"ui.fold.each_{'node' if nodes else 'op'}{'' if each == 1 else 's'}", count=count, each=each)
    if not nodes:
        return words(f"ui.fold.op{'' if ops == 1 else 's'}", ops=ops)
    key = f"ui.fold.op{'' if ops == 1 else 's'}_node{'' if nodes == 1 else 's'}"
    return words(key, ops=ops, nodes=nodes)

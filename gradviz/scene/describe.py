"""A card in words: tooltips, and what a screen reader says."""

from __future__ import annotations

from gradviz.explain import Words
from gradviz.graph.model import Card
from gradviz.scene.captions import card_title, lines_of
from gradviz.scene.moment import DONE, FAILED, FREED, GONE, IDLE, PENDING, PLANNED, RUNNING, Moment
from gradviz.trace.values import number

_STATES = {
    IDLE: "idle",
    PENDING: "pending",
    PLANNED: "planned",
    RUNNING: "running",
    DONE: "done",
    FREED: "done",
    GONE: "gone",
    FAILED: "failed",
}


def told(moment: Moment, key: str) -> str:
    """Some lines about the card or node that a key means: name, shape, state, `.grad`, what it keeps. "" for none."""
    i = moment.card(key)
    if i is None:
        return ""
    words = Words(moment.view.language)
    card = moment.graph.cards[i]
    if key.startswith("node:") and key[5:].isdigit():
        return "\n".join(_node(moment, words, int(key[5:])))
    lines = [f"{card_title(card, words)}  {card.detail}".strip()]
    if card.kind == "fold":
        done, total = moment.shares(i)
        lines += [lines_of(card.fold, words)] if card.fold and card.fold.lines and card.title else []
        lines.append(words("ui.canvas.fold", count=card.count, done=done, total=total))
        lines.append(words("ui.fold.tip"))
    elif card.kind == "leaf":
        lines += _leaf(moment, words, card)
    else:
        lines += [line for node in card.nodes for line in _node(moment, words, node)]
        if not card.nodes and card.kind == "op":
            lines.append(words("ui.canvas.no_node"))
    return "\n".join(lines)


def _node(moment: Moment, words: Words, node: int) -> list[str]:
    born = moment.trace.nodes[node]
    state = words("ui.canvas.state." + _STATES.get(moment.node_code(node), "idle"))
    lines = [f"{born.name} · {state}"]
    kept = [saved.name for saved in born.saved if saved.kind in ("tensor", "packed")]
    if kept:
        what = "ui.canvas.freed" if moment.freed(node) else "ui.canvas.saved"
        lines.append(words(what, names=", ".join(kept)))
    return lines


def _leaf(moment: Moment, words: Words, card: Card) -> list[str]:
    if card.tensor is None:
        return []
    if not card.slot:
        return [words("ui.canvas.no_slot")]
    grad = moment.frame.grad_data(card.tensor)
    if grad is None:
        return [words("ui.canvas.grad_none")]
    return [words("ui.canvas.grad", norm=number(grad.norm) if grad.norm is not None else "?")]

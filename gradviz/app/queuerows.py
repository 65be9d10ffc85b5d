"""The rows of the inspector about the engine's ready queue."""

from __future__ import annotations

from gradviz.app.rows import Head, Note, Pair, Row
from gradviz.explain import Words, node_label
from gradviz.explain.readyqueue import ReadyQueue, Waits, ready_queue
from gradviz.trace import Frame, Trace

MOST = 6
"""Most nodes that are listed as ready, and as waiting."""


def queue_rows(frame: Frame, language: str) -> list[Row]:
    """Who runs, who is next, who is ready, who waits for how many gradients; nothing outside a backward pass."""
    queue = ready_queue(frame.trace, frame.step)
    if queue is None:
        return []
    words = Words(language)
    counts = words("ui.inspector.queue.count", done=f"{queue.done:,}", total=f"{queue.total:,}")
    rows: list[Row] = [Head(words("ui.inspector.queue.title"), counts)]
    if queue.running is not None:
        rows.append(_node(frame.trace, queue.running, words("ui.inspector.queue.ran")))
    if queue.failed is not None:
        return [*rows, Note(words("ui.inspector.queue.dropped"), "error", go=f"node:{queue.failed}")]
    return [*rows, *_ready(frame.trace, queue, words), *_waiting(frame.trace, queue.waiting, words, queue)]


def _node(trace: Trace, node: int, right: str, value: str = "") -> Pair:
    ink = "gradient" if trace.nodes[node].leaf is None else "leaf"
    return Pair(node_label(trace, node), value, right, ink, "text_dim", f"node:{node}")


def _ready(trace: Trace, queue: ReadyQueue, words: Words) -> list[Row]:
    if not queue.ready:
        return [Note(words("ui.inspector.queue.empty"), "text_faint")]
    rows: list[Row] = [_node(trace, queue.ready[0], words("ui.inspector.queue.next"))]
    rows += [_node(trace, n, words("ui.inspector.queue.ready")) for n in queue.ready[1:MOST]]
    return rows + _more(len(queue.ready), words)


def _waiting(trace: Trace, waiting: tuple[Waits, ...], words: Words, queue: ReadyQueue) -> list[Row]:
    rows: list[Row] = []
    for waits in waiting[:MOST]:
        right = words("ui.inspector.queue.waits", arrived=waits.arrived, total=waits.total)
        rows.append(_node(trace, waits.node, right))
    return rows + _more(queue.total - queue.done - len(queue.ready), words)


def _more(count: int, words: Words) -> list[Row]:
    return [Note(words("ui.inspector.more", count=f"{count - MOST:,}"), "text_faint")] if count > MOST else []

"""The rows of the inspector about time: the versions of a tensor, what a node keeps and for how long, who keeps it."""

from __future__ import annotations

from gradviz.app.rows import Entry, Head, Note, Pair, Row
from gradviz.explain import Words, node_label, tensor_label
from gradviz.explain.versions import Life, Version, keepers, life, versions
from gradviz.trace import Frame, Trace
from gradviz.trace.events import Saved
from gradviz.trace.values import NotCaptured, number, shape_text, to_numpy

MOST_VERSIONS = 24
MOST_KEEPERS = 12


# ---- versions


def version_rows(frame: Frame, tensor: int, language: str) -> list[Row]:
    """Who wrote each version of a tensor; nothing where it was made and never written to."""
    words, trace = Words(language), frame.trace
    found, before = versions(trace, tensor, frame.step, MOST_VERSIONS)
    if before + len(found) < 2:
        return []
    rows: list[Row] = [
        Head(words("ui.inspector.versions"), "‖·‖" if _is_long(found[-1]) else "", f"tensor:{tensor} changed")
    ]
    step, source, counter, value = (words(f"ui.inspector.{n}") for n in ("step", "written_by", "counter", "value"))
    rows.append(Entry(step, source, counter, value, heading=True))
    if before:
        rows.append(Note(words("ui.inspector.versions_before", count=f"{before:,}"), "text_faint"))
    rows += [_version_row(version, frame.step, words) for version in found]
    silent = [v for v in found if v.kind == "silent"]
    if silent:
        last = silent[-1]
        rows.append(Note(words("ui.inspector.silent", source=last.source, number=last.number), "error", go=last.step))
    if any(v.kind == "moved" for v in found):
        moved = next(v for v in reversed(found) if v.kind == "moved")
        rows.append(Note(words("ui.inspector.moved", source=moved.source), "error", go=moved.step))
    return rows


def _is_long(version: Version) -> bool:
    return version.data is not None and version.data.shape not in ((), (1,))


def _version_row(version: Version, step: int, words: Words) -> Entry:
    source = words("ui.inspector.was_there") if version.kind == "there" else version.source
    if version.through is not None:
        source = words("ui.inspector.through", source=source, name=version.through)
    counter = "–" if version.number is None else f"v{version.number}"
    flagged = version.kind in ("silent", "moved")
    if flagged:
        counter = words("ui.inspector.still", counter=counter)
    return Entry(f"{version.step:,}", source, counter, _brief(version), version.step,
                 marked=version.step == step, ink="error" if flagged else "forward")  # fmt: skip


def _brief(version: Version) -> str:
    data = version.data
    if data is None:
        return "–"
    if not _is_long(version):
        try:
            value = to_numpy(data).reshape(-1)[0].item()
            return str(value) if isinstance(value, bool | complex) else number(float(value))
        except NotCaptured:
            return "–"
    return "nan" if data.nan else "inf" if data.inf else number(data.norm) if data.norm is not None else "–"


# ---- what a node keeps


def saved_rows(frame: Frame, node: int, language: str) -> list[Row]:
    """What a node keeps for its backward: each tensor with its version and bytes, and from when to when."""
    words, trace = Words(language), frame.trace
    kept = [s for s in trace.nodes[node].saved if s.kind != "none"]
    total = sum(s.bytes for s in kept)
    rows: list[Row] = [Head(words("ui.inspector.saved"), f"{total:,} B" if total else "", f"node:{node} memory")]
    if not kept:
        return [*rows, Note(words("ui.inspector.nothing_saved"))]
    lives = [life(trace, frame.step, node, item) for item in kept]
    rows += [_saved_row(trace, one, words) for one in lives]
    first = lives[0]
    if total and first.until is None:
        rows.append(Note(words("ui.inspector.held_since", step=first.since), "text_faint", go=first.since))
    elif first.until is not None:
        key = {"born": first.since, "step": first.until}
        rows.append(Note(words("ui.inspector.freed_at", **key), "freed", go=first.until))
    rows += [_stale(trace, one, words) for one in lives if one.is_stale]
    return rows


def _saved_row(trace: Trace, one: Life, words: Words) -> Row:
    item, freed = one.item, one.until is not None
    if item.kind == "scalar":
        return Pair(item.name, item.text or "")
    what = words("ui.inspector.packed") if item.kind == "packed" else _what(trace, item)
    state = words("ui.inspector.freed") if freed else f"{item.bytes:,} B"
    go = f"tensor:{item.tensor}" if item.tensor is not None else None
    ink = "freed" if freed else "error" if one.is_stale else "saved"
    return Pair(item.name, what, state, ink, "freed" if freed else "text_dim", go, freed)


def _what(trace: Trace, item: Saved) -> str:
    name = tensor_label(trace, item.tensor) if item.tensor is not None else ""
    shape = shape_text(item.shape) if item.shape is not None else ""
    version = f"v{item.version}" if item.version else ""
    return " ".join(part for part in (name, shape, version) if part)


def _stale(trace: Trace, one: Life, words: Words) -> Note:
    name = tensor_label(trace, one.item.tensor) if one.item.tensor is not None else one.item.name
    return Note(words("ui.inspector.stale", name=name, saved=one.version, now=one.now), "error")


# ---- who keeps a tensor


def keeper_rows(frame: Frame, tensor: int, language: str) -> list[Row]:
    """The nodes that keep a tensor for their backward: version, bytes, from when to when."""
    words, trace = Words(language), frame.trace
    found, before = keepers(trace, tensor, frame.step, MOST_KEEPERS)
    if not found:
        return []
    rows: list[Row] = [Head(words("ui.inspector.kept_by"), "", f"tensor:{tensor} memory")]
    for one in found:
        over = one.until is not None
        key = "lifetime" if over else "lifetime_open"
        span = words(f"ui.inspector.{key}", born=one.since, step=one.until)
        label = one.item.name if one.version is None else f"{one.item.name} v{one.version}"
        size = f"{one.item.bytes:,} B"
        ink = "freed" if over else "error" if one.is_stale else "saved"
        rows.append(Pair(node_label(trace, one.node), f"{label} · {size}", span, ink, "freed" if over else "text_dim",
                         f"node:{one.node}", over))  # fmt: skip
    if before:
        rows.append(Note(words("ui.inspector.more", count=f"{before:,}"), "text_faint"))
    rows += [_stale(trace, one, words) for one in found if one.is_stale][:1]
    return rows

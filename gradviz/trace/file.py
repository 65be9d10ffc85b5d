"""Recordings on disk: read whole (a damaged one up to its last good frame) and write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gradviz.trace.codec import Decoder, TraceError, encode
from gradviz.trace.events import Event, Header
from gradviz.trace.trace import Trace

SUFFIX = ".gradviz"
_CHUNK = 1 << 20


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a recording. One that was cut short or damaged opens up to its last good frame and says so in `damage`.

    Raises:
        TraceError: the file is missing, is no recording, was made by a newer major version, or not even its first
            frame is whole. Nothing else is raised for any content.
    """
    trace, decoder = Trace(), Decoder(bounded=True)
    try:
        with Path(path).open("rb") as file:
            while decoder.damage is None and (chunk := file.read(_CHUNK)):
                trace.extend(decoder.feed(chunk))
    except OSError as error:
        raise TraceError(f"The file cannot be read: {error.strerror or error}. ({os.fspath(path)})") from error
    except TraceError as error:
        if not trace.events or not isinstance(trace.events[0], Header) or trace.header.format[0] != 1:
            raise TraceError(f"{error} ({os.fspath(path)})") from None
        decoder.damage = str(error)
    if not trace.events:
        raise TraceError(f"{why_empty(path, decoder)} ({os.fspath(path)})")
    trace.damage = damage_of(trace, decoder)
    return trace


def damage_of(trace: Trace, decoder: Decoder) -> str | None:
    """Why a recording that was read to its end is not whole, as a sentence; None where it is."""
    if decoder.damage:
        return decoder.damage
    if trace.unfinished:
        return "The recording stops in the middle of an operation."
    if decoder.torn:
        return f"The recording stops in the middle of frame {decoder.frames + 1}."
    return None if trace.complete else "The recording stops before its program ended."


def why_empty(path: str | os.PathLike[str], decoder: Decoder) -> str:
    """Why nothing at all could be read from a file, as a sentence."""
    if not Path(path).stat().st_size:
        return "The file is empty."
    if decoder.torn:
        return "The file ends before its first frame is whole."
    return "This is not a gradviz recording, or its very beginning is damaged."


def write_trace(path: str | os.PathLike[str], events: Iterable[Event]) -> None:
    """Write a recording; an existing file is replaced only once the new one is whole."""
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    partial.write_bytes(encode(events))
    partial.replace(target)

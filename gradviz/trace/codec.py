"""Events to bytes and back. A recording is a sequence of checksummed zstd frames, each one msgpack array of events.

Appending is the only way to write; whatever cut a stream short, the frames before the cut are whole. Nothing here
runs code from a file, and every size is checked before memory is taken for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec
import zstandard

from gradviz.trace.events import FORMAT, AnyEvent, Event, Header, Opaque

FRAME_BYTES = 64 * 1024
"""A frame is closed when its events reach this many bytes."""
FRAME_SECONDS = 0.05
"""...or when its first event is this old."""
FRAME_LIMIT = 16 * 1024 * 1024
"""A frame that claims to hold more than this is damage."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK_LIMIT = 128 * 1024

AnyItem = Event | Opaque


class TraceError(Exception):
    """A recording could not be read. The message is one sentence for a person."""


class Writer:
    """Packs events as they happen and hands whole frames to `sink`.

    Not thread-safe: the recorder holds its own lock. `write` never blocks on anything but the sink.
    """

    def __init__(self, sink: Callable[[bytes], object], *, level: int = 1) -> None:
        self._sink = sink
        self._encoder = msgspec.msgpack.Encoder()
        self._compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
        self._buffer = bytearray()
        self._count = 0
        self._first = 0.0
        self.bytes_written = 0

    def write(self, event: Event) -> None:
        """Append one event; closes the frame when it is full or old."""
        buffer = self._buffer
        if not buffer:
            self._first = time.monotonic()
        self._encoder.encode_into(event, buffer, -1)
        self._count += 1
        if len(buffer) >= FRAME_BYTES or time.monotonic() - self._first >= FRAME_SECONDS:
            self.flush()

    @property
    def pending(self) -> int:
        """Events that no frame holds yet."""
        return self._count

    def flush(self) -> None:
        """Close the frame. Does nothing where no event is pending."""
        if not self._count:
            return
        frame = self._compressor.compress(b"\xdd" + self._count.to_bytes(4, "big") + self._buffer)
        self._buffer.clear()
        self._count = 0
        self.bytes_written += len(frame)
        self._sink(frame)


def encode(events: Iterable[Event]) -> bytes:
    """All events as a stream of frames."""
    frames: list[bytes] = []
    writer = Writer(frames.append)
    for event in events:
        writer.write(event)
    writer.flush()
    return b"".join(frames)


class Decoder:
    """Turns a stream into events, piece by piece.

    After the first damage it gives nothing more: `damage` then holds a sentence. A stream that simply stops in the
    middle of a frame is `torn`.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._zstd = zstandard.ZstdDecompressor()
        self._typed = msgspec.msgpack.Decoder(list[AnyEvent])
        self.damage: str | None = None
        self.frames = 0

    @property
    def torn(self) -> bool:
        """The stream so far ends inside a frame."""
        return bool(self._pending) and self.damage is None

    def feed(self, data: bytes | bytearray | memoryview) -> list[AnyItem]:
        """Events of all frames that are now complete."""
        if self.damage is not None:
            return []
        self._pending += data
        events: list[AnyItem] = []
        start = 0
        view = bytes(self._pending)
        try:
            while (end := _frame_end(view, start)) is not None:
                events += self._decode(view[start:end])
                self.frames += 1
                start = end
        except _Damage as damage:
            self.damage = f"The recording is damaged after frame {self.frames}: {damage}."
            self._pending.clear()
            return events
        if start:
            del self._pending[:start]
        return events

    def _decode(self, frame: bytes) -> Sequence[AnyItem]:
        try:
            payload = self._zstd.decompress(frame, max_output_size=FRAME_LIMIT)
        except (zstandard.ZstdError, MemoryError) as error:
            raise _Damage("its bytes do not decompress or fail their checksum") from error
        _check_array(payload)
        try:
            return self._typed.decode(payload)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return [self._one(raw) for raw in _split(payload)]

    def _one(self, raw: msgspec.Raw) -> AnyItem:
        try:
            return msgspec.msgpack.decode(raw, type=AnyEvent)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            kind = _kind(raw)
            if kind is None or kind in _KINDS:
                raise _Damage("an event does not have its fields") from error
            return Opaque(kind, raw.copy())


class _Damage(Exception):
    pass


_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in AnyEvent.__args__)


def _split(payload: bytes) -> list[msgspec.Raw]:
    try:
        return msgspec.msgpack.decode(payload, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _Damage("it is not a list of events") from error


class _Kind(msgspec.Struct):
    kind: str


def _kind(raw: msgspec.Raw) -> str | None:
    try:
        return msgspec.msgpack.decode(raw, type=_Kind).kind
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _check_array(payload: bytes) -> None:
    """An array cannot have more items than it has bytes: said before anything is allocated for them."""
    head = payload[:1]
    if head == b"\xdd":
        count = int.from_bytes(payload[1:5], "big")
    elif head == b"\xdc":
        count = int.from_bytes(payload[1:3], "big")
    elif head and 0x90 <= head[0] <= 0x9F:
        count = head[0] & 0x0F
    else:
        raise _Damage("it is not a list of events")
    if count > len(payload):
        raise _Damage("it claims more events than it has bytes")


def _frame_end(data: bytes, start: int) -> int | None:
    """Where the zstd frame at `start` ends, or None while it is incomplete (RFC 8878, section 3.1.1)."""
    available = len(data) - start
    if available < 4:
        if data[start:] != _MAGIC[:available]:
            raise _Damage("what follows is no frame")
        return None
    if data[start : start + 4] != _MAGIC:
        raise _Damage("what follows is no frame")
    if available < 18:  # the longest header: magic 4, descriptor 1, window 1, dictionary 4, size 8
        head = data[start:] + bytes(18 - available)
        if available < _header_size(head):
            return None
    try:
        parameters = zstandard.get_frame_parameters(data[start : start + 18] + bytes(max(0, 18 - available)))
    except zstandard.ZstdError as error:
        raise _Damage("a frame header cannot be read") from error
    size = parameters.content_size
    if size not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR) and size > FRAME_LIMIT:
        raise _Damage(f"a frame claims {size} bytes")
    return _blocks_end(data, start + _header_size(data[start : start + 5]), parameters.has_checksum)


def _header_size(head: bytes) -> int:
    descriptor = head[4]
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    return 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + content


def _blocks_end(data: bytes, position: int, checksum: bool) -> int | None:
    claimed = 0
    while position + 3 <= len(data):
        header = int.from_bytes(data[position : position + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == 3 or size > _BLOCK_LIMIT:
            raise _Damage("a block has no known kind or size")
        claimed += size if kind != 2 else 0
        if claimed > FRAME_LIMIT:
            raise _Damage("a frame holds more than its limit")
        position += 3 + (1 if kind == 1 else size)
        if last:
            position += 4 if checksum else 0
            return position if position <= len(data) else None
    return None


def check_header(event: object) -> Header:
    """The first event of a recording, or a TraceError that says what is wrong with it."""
    if not isinstance(event, Header):
        raise TraceError("This file does not begin with a recording header, so it is not a gradviz recording.")
    if event.format[0] > FORMAT[0]:
        have, can = ".".join(map(str, event.format)), ".".join(map(str, FORMAT))
        raise TraceError(
            f"This recording has format {have} and this gradviz reads up to {can}: a newer gradviz made it."
        )
    return event

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

FRAME_EVENTS = 8192
"""A frame that claims more events than this is damage too: none takes less than 18 bytes, so those that were closed at
their size have fewer than half."""
FILE_BYTES, FILE_BYTES_EACH = 1 << 30, 256
"""What is read from a file may come to this many bytes, and this many more for each byte of the file..."""
FILE_EVENTS, FILE_EVENTS_EACH = 60_000, 1
"""...and to this many events: beyond, a small file would take all memory. A recorder's frames stay far below."""

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
        begin = len(buffer)
        try:
            self._encoder.encode_into(event, buffer, -1)
        except BaseException:
            del buffer[begin:]  # half an event would be damage
            raise
        self._count += 1
        if len(buffer) >= FRAME_BYTES or time.monotonic() - self._first >= FRAME_SECONDS:
            self.flush()

    def write_all(self, events: Iterable[Event]) -> None:
        """As `write` for each."""
        for event in events:
            self.write(event)

    def write_small(self, events: list[Event]) -> None:
        """As `write` for each, in one go: for at least 16 and less than 65,536 events that hold little."""
        packed = self._encoder.encode(events)
        if len(packed) > 16 * FRAME_BYTES:
            return self.write_all(events)
        if not self._buffer:
            self._first = time.monotonic()
        self._buffer += memoryview(packed)[3:]  # without the head of the array
        self._count += len(events)
        if len(self._buffer) >= FRAME_BYTES or time.monotonic() - self._first >= FRAME_SECONDS:
            self.flush()
        return None

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

    Args:
        bounded: also refuse what becomes far more than it was, as no recorder writes it. For files, which may be
            anybody's.
    """

    def __init__(self, *, bounded: bool = False) -> None:
        self._pending = bytearray()
        self._wanted = 0
        """The pending frame is incomplete below this many bytes."""
        self._bounded = bounded
        self._read = self._bytes = self._events = 0
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
        self._read += len(data)
        events: list[AnyItem] = []
        if len(self._pending) < self._wanted:
            return events
        start = 0
        try:
            with memoryview(self._pending) as view:
                while (end := _frame_end(view, start)) <= len(view):
                    events += self._decode(view[start:end])
                    self.frames += 1
                    start = end
        except _Damage as damage:
            self.damage = f"The recording is damaged after frame {self.frames}: {damage}."
            self._pending = bytearray()  # not cleared: the error still holds a view on the old one
            return events
        self._wanted = end - start
        if start:
            del self._pending[:start]
        return events

    def _decode(self, frame: memoryview) -> Sequence[AnyItem]:
        try:
            payload = self._zstd.decompress(frame, max_output_size=FRAME_LIMIT)
        except (zstandard.ZstdError, MemoryError) as error:
            raise _Damage("its bytes do not decompress or fail their checksum") from error
        self._bytes += len(payload)
        self._events += _count(payload)
        if self._bounded and self._bytes > FILE_BYTES + FILE_BYTES_EACH * self._read:
            raise _Damage("so few bytes do not make so many; the rest is not read")
        if self._bounded and self._events > FILE_EVENTS + FILE_EVENTS_EACH * self._read:
            raise _Damage("so few bytes do not make so many events; the rest is not read")
        try:
            return self._typed.decode(payload)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return [self._one(raw) for raw in _split(payload)]

    def _one(self, raw: msgspec.Raw) -> AnyItem:
        try:
            kind = _KIND.decode(raw).kind
            return _EVENT.decode(raw) if kind in _KINDS else Opaque(kind, raw.copy())
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise _Damage("an event does not have its fields") from error


class _Damage(Exception):
    pass


class _Kind(msgspec.Struct):
    kind: str


_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in AnyEvent.__args__)
_KIND = msgspec.msgpack.Decoder(_Kind)
_EVENT = msgspec.msgpack.Decoder(AnyEvent)


def _split(payload: bytes) -> list[msgspec.Raw]:
    try:
        return msgspec.msgpack.decode(payload, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _Damage("it is not a list of events") from error


def _count(payload: bytes) -> int:
    """How many events a frame claims: checked before anything is allocated for them."""
    head = payload[:1]
    if head == b"\xdd":
        count = int.from_bytes(payload[1:5], "big")
    elif head == b"\xdc":
        count = int.from_bytes(payload[1:3], "big")
    elif head and 0x90 <= head[0] <= 0x9F:
        count = head[0] & 0x0F
    else:
        raise _Damage("it is not a list of events")
    if count > len(payload) or count > FRAME_EVENTS:
        raise _Damage(f"it claims {count} events")
    return count


def _frame_end(data: memoryview, start: int) -> int:
    """Where the zstd frame at `start` ends; while it is incomplete, how far it goes at least, which is behind the end
    of `data` (RFC 8878, section 3.1.1)."""
    available = len(data) - start
    if available < 4:
        if data[start:] != _MAGIC[:available]:
            raise _Damage("what follows is no frame")
        return start + 5
    if data[start : start + 4] != _MAGIC:
        raise _Damage("what follows is no frame")
    if available < 5:
        return start + 6
    header = bytes(data[start : start + 18])  # the longest one: magic 4, descriptor 1, window 1, dictionary 4, size 8
    blocks = start + _header_size(header)
    if blocks > len(data):
        return blocks + 3
    try:
        parameters = zstandard.get_frame_parameters(header.ljust(18, b"\0"))
    except zstandard.ZstdError as error:
        raise _Damage("a frame header cannot be read") from error
    size = parameters.content_size
    if size not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR) and size > FRAME_LIMIT:
        raise _Damage(f"a frame claims {size} bytes")
    return _blocks_end(data, blocks, parameters.has_checksum)


def _header_size(head: bytes) -> int:
    descriptor = head[4]
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    return 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + content


def _blocks_end(data: memoryview, position: int, checksum: bool) -> int:
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
            return position + (4 if checksum else 0)
    return position + 3


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

"""Damaged and hostile recordings, made from whole ones. Each kind is a function (whole recordings, chance) -> bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

WHOLE = sorted((Path(__file__).parents[1] / "data" / "format-1").glob("*.gradviz"))
"""Recordings as format 1 writes them; never edited."""

MIB = 1 << 20
Plain = dict[str, Any]
Damage = Callable[[list[bytes], random.Random], bytes]
ODD_INTS = (-1, -2, 0, 1, 2, 7, 63, 64, 255, 10_000, 1 << 31, -(1 << 31), 1 << 53, (1 << 63) - 1, -(1 << 63), 1 << 63)
ODD_FLOATS = (float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 5e-324)
ODD_TEXTS = (
    "",
    "\0",
    "\x1b[31m",
    "</svg>&<!--",
    "\ufffe\uffff",
    "\u202e" * 9,
    "𝔘" * 40,
    "a\nb\r\n\tc",
    "x" * 5000,
    "%s{0}",
)
ODD_OTHERS: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    [[]],
    b"",
    b"\x80\x04N.",
    "float32",
    [-1],
    [1 << 62] * 3,
    {"kind": "op"},
)


def frames(stream: bytes) -> list[bytes]:
    """The decompressed frames of a recording."""
    found, rest = [], stream
    while rest:
        one = zstandard.ZstdDecompressor().decompressobj()
        found.append(one.decompress(rest))
        rest = one.unused_data
    return found


def packed(payload: bytes) -> bytes:
    """One frame that holds these bytes, with a right checksum."""
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(payload)


def events(stream: bytes) -> list[Plain]:
    """A recording as plain values."""
    return [event for frame in frames(stream) for event in msgspec.msgpack.decode(frame)]


def stream(made: list[Any], size: int = 60) -> bytes:
    """Plain values as a recording."""
    return b"".join(packed(msgspec.msgpack.encode(made[i : i + size])) for i in range(0, len(made), size))


# ---- bytes


def truncated(whole: list[bytes], chance: random.Random) -> bytes:
    one = chance.choice(whole)
    return one[: chance.randrange(len(one))]


def flipped(whole: list[bytes], chance: random.Random) -> bytes:
    broken = bytearray(chance.choice(whole))
    for _ in range(chance.choice((1, 1, 1, 2, 20))):
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
    return bytes(broken)


def spliced(whole: list[bytes], chance: random.Random) -> bytes:
    """Frames of one or several recordings, left out, repeated, exchanged, and sometimes cut in the middle."""
    parts = [packed(frame) for one in chance.sample(whole, 2) for frame in frames(one)]
    head, rest = parts[:1], parts[1:]
    chance.shuffle(rest)
    made = head + rest[: chance.randint(1, len(rest))] + chance.choices(parts, k=chance.randint(0, 2))
    if chance.random() < 0.3:
        made.insert(chance.randrange(len(made)), bytes(chance.randbytes(chance.randrange(1, 60))))
    return b"".join(made)


def shuffled(whole: list[bytes], chance: random.Random) -> bytes:
    """Events of one recording, some of them left out, repeated, or at another place."""
    made = events(chance.choice(whole))
    for _ in range(chance.randint(1, 6)):
        at, to = chance.randrange(1, len(made)), chance.randrange(1, len(made))
        event = made.pop(at) if chance.random() < 0.7 and len(made) > 3 else made[at]
        if chance.random() < 0.6:
            made.insert(min(to, len(made)), event)
    return stream(made)


def counted(whole: list[bytes], chance: random.Random) -> bytes:
    """Lengths inside the msgpack that claim too much, or too little, under a right checksum."""
    parts = frames(chance.choice(whole))
    frame = bytearray(chance.choice(parts))
    huge = b"\xff\xff\xff\xff"
    if chance.random() < 0.3:
        frame[1:5] = chance.choice((huge, b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\0\1\0\0"))
    else:
        at = chance.randrange(5, len(frame))
        mark = chance.choice((b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xdc", b"\xde", b"\xda", b"\xc9"))
        frame[at : at + 5] = mark + chance.choice((huge, b"\0\xff\xff\xff", b"\0\1\0\0"))
    return packed(parts[0]) * (chance.random() < 0.8) + packed(bytes(frame))


# ---- meaning


def _fields(event: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values inside an event but the event itself."""
    inner = event.items() if isinstance(event, dict) else enumerate(event) if isinstance(event, list) else ()
    for key, value in inner:
        if key != "kind":
            yield (*path, key)
            yield from _fields(value, (*path, key))


def _set(event: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> None:
    for key in path[:-1]:
        event = event[key]
    event[path[-1]] = change(event[path[-1]])


def _changed(whole: list[bytes], chance: random.Random, change: Callable[[Any], Any], wanted: type | None) -> bytes:
    made = events(chance.choice(whole))
    for _ in range(chance.choice((1, 1, 2, 5))):
        event = made[chance.randrange(1, len(made)) if chance.random() < 0.95 else 0]
        paths = [p for p in _fields(event) if wanted is None or _is(_get(event, p), wanted)]
        if paths:
            _set(event, chance.choice(paths), change)
    return stream(made)


def _is(value: Any, wanted: type) -> bool:
    return isinstance(value, wanted) and (wanted is not int or not isinstance(value, bool))


def _get(event: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        event = event[key]
    return event


def numbers(whole: list[bytes], chance: random.Random) -> bytes:
    """Ids, steps, lines and sizes that are negative, out of range, or a little wrong."""
    return _changed(
        whole, chance, lambda n: chance.choice((chance.choice(ODD_INTS), n + chance.choice((-1, 1)), n * 2)), int
    )


def texts(whole: list[bytes], chance: random.Random) -> bytes:
    return _changed(whole, chance, lambda _: chance.choice(ODD_TEXTS), str)


def others(whole: list[bytes], chance: random.Random) -> bytes:
    """Values of another type."""
    return _changed(whole, chance, lambda _: chance.choice((*ODD_OTHERS, *ODD_FLOATS, *ODD_INTS)), None)


def left_out(whole: list[bytes], chance: random.Random) -> bytes:
    """Fields that are missing."""
    made = events(chance.choice(whole))
    for _ in range(chance.choice((1, 3, 30))):
        event = made[chance.randrange(1, len(made))]
        names = [name for name in event if name != "kind"]
        if names:
            event.pop(chance.choice(names))
    return stream(made)


def values(whole: list[bytes], chance: random.Random) -> bytes:
    """Contents that fit neither their shape nor their type."""
    made = events(chance.choice(whole))
    found = [d for event in made for d in _datas(event)]
    for data in chance.sample(found, min(len(found), chance.choice((1, 3, 10)))):
        match chance.randrange(7):
            case 0:
                data["shape"] = chance.choice(([], [-1], [0, 1 << 40], [1 << 31] * 4, [3] * 70, [1 << 62]))
            case 1:
                data["dtype"] = chance.choice(("float64", "int8", "object", "O", "bfloat16", "complex128", "", "V9"))
            case 2:
                data["raw"] = chance.randbytes(chance.randrange(40))
            case 3:
                data.update(thumb=b"1234", thumb_shape=chance.choice(([1 << 31, 1 << 31], [-1, -1], [0, 9], [1, 1])))
            case 4:
                part = {"shape": [1, 3], "dtype": "int64", "raw": bytes(chance.choice((0, 8, 24)))}
                data["parts"] = [part] * chance.choice((1, 2, 3))
            case 5:
                data.update(
                    dict.fromkeys(("low", "high", "mean", "norm"), chance.choice(ODD_FLOATS)), nan=-5, inf=1 << 60
                )
            case _:
                data["layout"] = "sparse_coo"
    return stream(made)


def _datas(event: Any) -> Iterator[Plain]:
    if isinstance(event, dict):
        if "dtype" in event and "shape" in event and "id" not in event:
            yield event
        for value in event.values():
            yield from _datas(value)
    elif isinstance(event, list):
        for value in event:
            yield from _datas(value)


def cyclic(whole: list[bytes], chance: random.Random) -> bytes:
    """Nodes, operations, scopes, passes and views that are, by some way, their own parents."""
    made = events(chance.choice(whole))
    count = {kind: sum(e["kind"] == kind for e in made) for kind in ("op", "node", "scope", "tensor", "backward")}

    def any_of(kind: str) -> int:
        return chance.randrange(max(1, count[kind]))

    for event in made:
        if chance.random() > 0.3:
            continue
        match event["kind"]:
            case "node":
                event["edges"] = [[any_of("node"), chance.randrange(3)] for _ in range(3)]
                event["parent"] = any_of("node")
            case "op":
                event.update(parent=any_of("op"), inputs=event.get("outputs", []), scope=any_of("scope"))
            case "scope":
                event["parent"] = event["id"]
            case "tensor":
                event.update(base=any_of("tensor"), op=any_of("op"), node=any_of("node"))
            case "backward":
                event.update(parent=any_of("backward"), parent_node=any_of("node"), planned=[any_of("node")] * 50)
    return stream(made)


# ---- hostile and later


def nested(whole: list[bytes], chance: random.Random) -> bytes:
    """Arrays or maps inside one another, deep enough to exhaust a stack that does not count."""
    depth = chance.choice((500, 5000, 2_000_000))
    inner = chance.choice((b"\x91" * depth + b"\xc0", b"\x81\xa1a" * depth + b"\xc0"))
    kind = chance.choice((b"output", b"hologram", b"fault"))
    field = chance.choice((b"text", b"extra", b"facts"))
    event = b"\x82\xa4kind" + bytes([0xA0 + len(kind)]) + kind + bytes([0xA0 + len(field)]) + field + inner
    return packed(frames(whole[0])[0]) + packed(b"\xdd\0\0\0\1" + event) + packed(b"\x91" + inner)


def giant(whole: list[bytes], chance: random.Random) -> bytes:
    """Texts, bytes and lists of many megabytes."""
    size = chance.choice((1, 4, 15)) * MIB
    made = events(chance.choice(whole))
    made[1:1] = [
        chance.choice(
            (
                {"kind": "output", "text": "x" * size},
                {"kind": "output", "text": "\n" * size},
                {"kind": "name", "tensor": 0, "name": "n" * size},
                {"kind": "file", "id": 0, "path": "p" * 1000, "text": "y = 1\n" * (size // 6)},
                {"kind": "gone", "nodes": [0] * size},
                {"kind": "backward", "id": 0, "planned": [3] * size},
                {"kind": "value", "tensor": 0, "data": {"shape": [size], "dtype": "uint8", "raw": bytes(size)}},
                {"kind": "value", "tensor": 0, "data": {"shape": [1] * size, "dtype": "uint8", "raw": b"1"}},
                {"kind": "hologram", "text": "z" * size},
            )
        )
    ]
    return stream(made, 1)


def bomb(whole: list[bytes], chance: random.Random) -> bytes:
    """Little that becomes much: frames of repeated bytes, with and without a stated size."""
    head = packed(frames(whole[0])[0])
    size = chance.choice((16, 17, 64)) * MIB - 64
    unit = chance.choice((b"\xc0", b"\x81\xa4kind\xa1z", b"\x82\xa4kind\xa6output\xa4text\xa0", b"\x90"))
    count = size // len(unit)
    plain = b"\xdd" + count.to_bytes(4, "big") + unit * count
    if chance.random() < 0.5:
        tight = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(plain)
    else:
        writer = zstandard.ZstdCompressor(level=1, write_checksum=True, write_content_size=False).compressobj()
        tight = writer.compress(plain) + writer.flush()
    return head + tight * chance.choice((1, 3, 40))


def many(whole: list[bytes], chance: random.Random) -> bytes:
    """Many small frames that each repeat the smallest events there are."""
    head = packed(frames(whole[0])[0])
    unit = chance.choice(
        (
            [{"kind": "output", "text": ""}] * 3000,
            [{"kind": "z"}] * 6000,
            [{"kind": "freed", "node": 0}] * 3000,
            [{"kind": "fault", "id": 0, "type": "", "message": ""}] * 1500,
            [{"kind": "cell", "id": 0, "file": 0}] * 2500,
            [{"kind": "ended", "cell": 0}] * 2500,
        )
    )
    return head + packed(msgspec.msgpack.encode(unit)) * chance.choice((10, 1000))


def future(whole: list[bytes], chance: random.Random) -> bytes:
    """What a later version may write: other kinds, more fields, another minor or major version."""
    made = events(chance.choice(whole))
    if chance.random() < 0.3:
        made[0]["format"] = chance.choice(([2, 0], [1, 99], [0, 0], [1 << 40, 0], [-1, 0], [1]))
    for _ in range(chance.randint(0, 8)):
        made.insert(chance.randrange(1, len(made)), {"kind": "hologram", "depth": chance.randrange(9), "x": [{}]})
    for event in chance.sample(made, 5):
        event["surprise"] = {"a": [1, {"b": None}]}
    return stream(made)


def foreign(whole: list[bytes], chance: random.Random) -> bytes:
    """What is no recording at all, or has something else behind its first frame."""
    head = packed(frames(whole[0])[0]) if chance.random() < 0.5 else b""
    return head + chance.choice(
        (
            b"",
            b"\x80\x04cos\nsystem\n(S'touch /tmp/x'\ntR.",
            b"PK\x03\x04" + chance.randbytes(60),
            b"import os\n" * 40,
            chance.randbytes(chance.randrange(1, 4000)),
            b"\x28\xb5\x2f\xfd" + chance.randbytes(chance.randrange(30)),
            b"\x50\x2a\x4d\x18" + chance.choice((b"\xff\xff\xff\xff", b"\4\0\0\0")) + b"skip",
            packed(b"\xc1"),
            packed(b""),
            packed(msgspec.msgpack.encode({"kind": "header"})),
            packed(msgspec.msgpack.encode([1, None, "x"])),
        )
    )


KINDS: dict[str, Damage] = {
    one.__name__: one
    for one in (
        truncated, flipped, spliced, shuffled, counted, numbers, texts, others, left_out, values, cyclic, nested, giant,
        bomb, many, future, foreign,
    )
}  # fmt: skip
COSTLY = ("nested", "giant", "bomb", "many")
"""Kinds whose files take long to make: a smaller share of a sweep."""


def sweep(count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` damaged recordings, every kind among them; the same ones for the same seed."""
    whole = [path.read_bytes() for path in WHOLE]
    cheap = [kind for kind in KINDS if kind not in COSTLY]
    for i in range(count):
        chance = random.Random(seed * 1_000_003 + i)
        kind = COSTLY[i // 25 % len(COSTLY)] if i % 25 == 0 else cheap[i % len(cheap)]
        yield f"{kind} {i}", KINDS[kind](whole, chance)

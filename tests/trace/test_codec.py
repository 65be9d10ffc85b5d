"""The stream: what goes in comes out, cut or damaged streams give their good prefix, sizes are checked first."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.trace import Decoder, Trace, TraceError, Writer, encode, open_trace, write_trace
from gradviz.trace.codec import FRAME_BYTES, FRAME_LIMIT
from gradviz.trace.events import FORMAT, Data, Ended, Event, Header, Named, Op, Opaque, Output, Tensor, Value


def events(count: int = 200) -> list[Event]:
    made: list[Event] = [Header(program="p.py", source="x = 1\n")]
    for i in range(count):
        made += [
            Op(i, "ones", outputs=(i,), span=(0, i + 1, 0, i + 1, 5)),
            Tensor(i, (2, 3)),
            Value(i, Data((2, 3), "float32", raw=bytes(24), norm=0.0)),
            Named(i, f"x{i}"),
        ]
    return [*made, Ended(0)]


def frames(made: list[Event]) -> list[bytes]:
    out: list[bytes] = []
    writer = Writer(out.append)
    for i, event in enumerate(made):
        writer.write(event)
        if i % 50 == 0:
            writer.flush()
    writer.flush()
    return out


def test_what_goes_in_comes_out_whatever_the_pieces() -> None:
    made = events()
    stream = encode(made)
    for size in (1, 7, 1000, len(stream)):
        decoder = Decoder()
        got = [e for i in range(0, len(stream), size) for e in decoder.feed(stream[i : i + size])]
        assert got == made
        assert decoder.damage is None
        assert not decoder.torn


def test_zstd_gives_plain_msgpack() -> None:
    made = events(3)
    plain = b"".join(zstandard.ZstdDecompressor().decompress(frame) for frame in frames(made))
    first = msgspec.msgpack.decode(b"\x91" + plain[5 : 5 + len(msgspec.msgpack.encode(made[0]))])
    assert first[0]["kind"] == "header"
    assert first[0]["program"] == "p.py"


def test_a_frame_closes_at_its_size() -> None:
    out: list[bytes] = []
    writer = Writer(out.append)
    writer.write(Header())
    writer.write(Output("x" * FRAME_BYTES))
    assert out
    assert writer.pending == 0


def test_a_cut_stream_gives_its_whole_frames_and_says_it_is_torn() -> None:
    made = events()
    parts = frames(made)
    whole = len(b"".join(parts[:-1]))
    stream = b"".join(parts)
    for cut in (whole + 1, whole + 5, len(stream) - 1):
        decoder = Decoder()
        got = decoder.feed(stream[:cut])
        assert got == made[: len(got)]
        assert len(got) >= 50
        assert decoder.torn


def test_a_flipped_bit_gives_the_frames_before_it() -> None:
    made = events()
    stream = b"".join(frames(made))
    chance = random.Random(1)
    for _ in range(300):
        broken = bytearray(stream)
        broken[chance.randrange(len(stream))] ^= 1 << chance.randrange(8)
        decoder = Decoder()
        got = decoder.feed(bytes(broken))
        assert got == made[: len(got)]
        assert decoder.damage or decoder.torn or got == made


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_raise(data: bytes) -> None:
    for prefix in (b"", encode([Header()]), b"\x28\xb5\x2f\xfd"):
        decoder = Decoder()
        decoder.feed(prefix + data)
        assert isinstance(decoder.damage, str | None)


def test_a_frame_that_claims_too_much_is_refused_before_memory_is_taken() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=True).compress(bytes(FRAME_LIMIT + 1))
    decoder = Decoder()
    assert decoder.feed(encode([Header()]) + bomb) == [Header()]
    assert decoder.damage is not None


def test_an_array_that_claims_too_much_is_refused() -> None:
    for count in (b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff"):
        decoder = Decoder()
        assert not decoder.feed(zstandard.ZstdCompressor(write_checksum=True).compress(count + b"\x01"))
        assert decoder.damage is not None


def frame_of(*items: object) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(msgspec.msgpack.encode(list(items)))


def test_an_unknown_kind_is_kept_as_opaque_and_an_unknown_field_is_ignored() -> None:
    later = {"kind": "header", "format": [1, 9], "surprise": {"a": [1]}}
    decoder = Decoder()
    got = decoder.feed(
        frame_of(later, {"kind": "hologram", "depth": 3}, {"kind": "output", "text": "hi", "loud": True})
    )
    assert decoder.damage is None
    assert isinstance(got[0], Header)
    assert isinstance(got[1], Opaque)
    assert got[1].kind == "hologram"
    assert got[2] == Output("hi")
    assert Trace(got).steps == 0


def test_a_known_kind_with_wrong_fields_is_damage() -> None:
    decoder = Decoder()
    assert not decoder.feed(frame_of({"kind": "op", "id": "seven"}))
    assert decoder.damage is not None


def test_a_newer_major_version_is_refused_politely(tmp_path: Path) -> None:
    path = tmp_path / "later.gradviz"
    write_trace(path, [Header(format=(FORMAT[0] + 1, 0))])
    with pytest.raises(TraceError, match="newer gradviz"):
        open_trace(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x28\xb5\x2f\xfd", b"\x80\x04K\x01.", encode([Output("x")])])
def test_what_is_no_recording_raises_one_clear_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.gradviz"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        open_trace(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_raise_the_same_type(tmp_path: Path) -> None:
    for path in (tmp_path / "none.gradviz", tmp_path):
        with pytest.raises(TraceError):
            open_trace(path)


def test_a_torn_file_opens_up_to_its_last_whole_frame(tmp_path: Path) -> None:
    made = events()
    path = tmp_path / "torn.gradviz"
    path.write_bytes(b"".join(frames(made))[:-3])
    trace = open_trace(path)
    assert trace.damage is not None
    assert not trace.complete
    assert trace.events == made[: len(trace.events)]


def test_a_recording_that_contradicts_itself_opens_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "odd.gradviz"
    write_trace(path, [Header(), Op(0, "ones", outputs=(0,)), Op(7, "ones", outputs=(1,)), Ended(0)])
    trace = open_trace(path)
    assert trace.damage is not None
    assert "contradicts" in trace.damage


def test_writing_replaces_only_by_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a.gradviz"
    write_trace(path, events(2))
    write_trace(path, events(3))
    assert open_trace(path).events == events(3)
    assert [p.name for p in tmp_path.iterdir()] == ["a.gradviz"]


def test_an_event_that_cannot_be_packed_leaves_no_half() -> None:
    frames: list[bytes] = []
    writer = Writer(frames.append)
    writer.write(Output("before"))
    with pytest.raises(TypeError):
        writer.write(Output(["half", object()]))  # type: ignore[arg-type]
    writer.write(Output("after"))
    writer.flush()
    assert Decoder().feed(b"".join(frames)) == [Output("before"), Output("after")]

"""Damaged and hostile recordings: one error type, in time, within memory, the good prefix shown, and no code is run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradviz.trace import Trace, TraceError, open_trace
from gradviz.trace.events import Ended, Header, Op
from tests.trace.damage import KINDS, WHOLE, events, frames, packed, stream, sweep

SECONDS = 2.0
MEGABYTES = 100


def size(name: str) -> float:
    """A figure of this process's memory, in MB."""
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(found.split()[1]) / 1024


def opened(files: Iterator[tuple[str, bytes]], path: Path) -> Iterator[tuple[str, bytes, Trace | None]]:
    """Each file as a recording, or None where it is refused; with a look at the clock and at memory."""
    for name, data in files:
        path.write_bytes(data)
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
        before, began = size("VmRSS"), time.process_time()
        trace, refusal = None, ""
        try:
            trace = open_trace(path)
        except TraceError as error:
            refusal = str(error)
        assert trace is not None or (str(path) in refusal and len(refusal) < 1000), name
        assert time.process_time() - began < SECONDS, name
        held = 0 if trace is None else sum(len(frame) for frame in decoded(data))
        assert size("VmHWM") - before < 2 * held / 2**20 + MEGABYTES, name
        yield name, data, trace


def decoded(data: bytes) -> list[bytes]:
    """Frames as far as they can be decompressed."""
    try:
        return frames(data)
    except Exception:
        return []


def check_sweep(count: int, path: Path) -> None:
    seen = {"damaged": 0, "refused": 0, "whole": 0}
    for name, data, trace in opened(sweep(count), path):
        if trace is None:
            seen["refused"] += 1
            continue
        seen["damaged" if trace.damage else "whole"] += 1
        assert isinstance(trace.events[0], Header), name
        assert trace.damage is None or trace.damage.endswith("."), name
        if name.startswith(("truncated", "flipped")):
            # Checksums stand guard: what is shown is what was written, up to the damage.
            assert any(trace.events == open_trace(w).events[: len(trace.events)] for w in WHOLE), name
            assert len(data) in {w.stat().st_size for w in WHOLE} or trace.damage, name
    assert min(seen.values()) > count / 20, seen


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_two_hundred_damaged_files(tmp_path: Path) -> None:
    check_sweep(200, tmp_path / "damaged.gradviz")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_five_thousand_damaged_files(tmp_path: Path) -> None:
    check_sweep(5000, tmp_path / "damaged.gradviz")


def test_a_sweep_holds_every_kind_and_is_the_same_again() -> None:
    names = [name.split()[0] for name, _ in sweep(120)]
    assert set(names) == set(KINDS)
    assert [data for _, data in sweep(24)] == [data for _, data in sweep(24)]


@pytest.mark.parametrize("path", WHOLE, ids=lambda p: p.stem)
def test_recordings_of_this_format_open_whole(path: Path) -> None:
    trace = open_trace(path)
    assert trace.damage is None and trace.complete and trace.steps > 3 and trace.nodes
    assert events(path.read_bytes())[0]["format"] == [1, 0]


def test_cut_at_any_event_no_operation_is_seen_without_its_nodes(tmp_path: Path) -> None:
    made, path = events(WHOLE[0].read_bytes()), tmp_path / "cut.gradviz"
    halves = 0
    for end in range(1, len(made)):
        path.write_bytes(stream(made[:end], 1))
        trace = open_trace(path)
        assert trace.damage
        halves += "middle of an operation" in trace.damage
        assert all(node < len(trace.nodes) for op in trace.ops for node in op.nodes)
        assert all(t is None or t < len(trace.nodes) for node in trace.nodes for t, _ in node.edges)
    assert halves


def test_a_live_recording_takes_an_operation_once_its_nodes_have_come() -> None:
    whole = open_trace(WHOLE[0])
    growing = Trace()
    for event in whole.events:
        growing.append(event)
        assert all(node < len(growing.nodes) for op in growing.ops[-1:] for node in op.nodes)
        last = growing.event_at(growing.steps)
        assert not isinstance(last, Op) or all(node < len(growing.nodes) for node in last.nodes)
    assert growing.events == whole.events and not growing.unfinished


def test_what_waits_for_a_recorder_that_was_killed_is_left_out() -> None:
    trace = Trace([Header(), Op(0, "mul", outputs=(0,), nodes=(0,))])
    assert trace.unfinished and not trace.ops
    trace.append(Ended(0, "killed"))
    assert trace.ended[0].status == "killed" and not trace.ops and not trace.unfinished


def test_what_contradicts_itself_is_not_added() -> None:
    whole = open_trace(WHOLE[0])
    op = next(i for i, event in enumerate(whole.events) if isinstance(event, Op))
    trace = Trace(whole.events[:op])
    with pytest.raises(TraceError, match="numbered in order"):
        trace.append(Op(7, "ones", outputs=(0,)))
    assert trace.events == whole.events[:op]


HOOK = """
import sys
from gradviz.trace import TraceError, open_trace
open_trace(sys.argv[1])  # what is imported at first use is imported now

def heard(event, args):
    if event == "open":
        if set(str(args[1] or "")) & set("wax+"):
            print("WRITES", args[0])
    elif event.split(".")[0] in {"exec", "compile", "import", "marshal", "pickle", "os", "subprocess", "socket",
                                 "ctypes", "code", "function", "shutil", "sqlite3", "webbrowser"}:
        print(event, args)

sys.addaudithook(heard)
count = 0
for path in sys.argv[2:]:
    try:
        trace = open_trace(path)
        [trace.at(step).statuses for step in range(min(trace.steps, 20))]
    except TraceError:
        pass
    count += 1
print("opened", count)
"""


def test_opening_runs_no_code(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w')"
    pickle = f"c__builtin__\nexec\n(S{code!r}\ntR.".encode()
    made = events(WHOLE[0].read_bytes())
    made[0].update(program=code, source=code)
    for event in made:
        for name in ("name", "text", "func", "path", "cls", "dtype", "device"):
            if isinstance(event.get(name), str):
                event[name] = f"__import__('os').system({code!r})"
        for value in (event.get("data"), event.get("after")):
            if isinstance(value, dict):
                value.update(raw=pickle, dtype="object")
    hostile = [pickle, packed(pickle), packed(b"\xdd\0\0\0\1\xc7\x05\x01" + pickle), stream(made)]
    hostile += [data for name, data in sweep(60) if len(data) < 100_000]
    paths = []
    for i, data in enumerate(hostile):
        paths.append(str(tmp_path / f"{i}.gradviz"))
        Path(paths[-1]).write_bytes(data)
    command = [sys.executable, "-c", textwrap.dedent(HOOK), str(WHOLE[0]), *paths]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [f"opened {len(paths)}"]
    assert not mark.exists()

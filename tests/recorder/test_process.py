"""The recorder as a process: files, pipes, exit status, output, live lines, and how it ends."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import msgspec
import pytest

from gradviz.trace import Decoder, Trace, open_trace
from gradviz.trace.events import Ended, Fault, Header, Output

COMMAND = [sys.executable, "-m", "gradviz.recorder"]


def write(folder: Path, text: str, name: str = "prog.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def to_file(program: Path, *args: str, options: tuple[str, ...] = ()) -> tuple[subprocess.CompletedProcess[str], Trace]:
    out = program.with_suffix(".gradviz")
    done = subprocess.run(
        [*COMMAND, *options, "-o", str(out), str(program), *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, open_trace(out)


def live(program: Path, lines: list[str], options: tuple[str, ...] = ()) -> Trace:
    commands = "".join(json.dumps({"cell": i, "source": s, "origin": "action"}) + "\n" for i, s in enumerate(lines, 1))
    done = subprocess.run(
        [*COMMAND, "--live", *options, str(program)],
        input=commands.encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trace = Trace(Decoder().feed(done.stdout))
    assert trace.damage is None
    return trace


def test_program_runs_as_under_plain_python(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 7", "beside.py")
    program = write(
        tmp_path,
        """
        import sys, os, beside, __main__, torch
        print(__name__, os.path.basename(__file__), sys.argv[1:], beside.VALUE, __main__.__dict__ is globals())
        print("to stderr", file=sys.stderr)
        os.system("echo from a child")
        os.write(1, b"raw bytes\\n")
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        print(x.grad)
        sys.exit(3)
        """,
    )
    plain = subprocess.run(
        [sys.executable, str(program), "a", "--b"], capture_output=True, text=True, timeout=120, check=False
    )
    done, trace = to_file(program, "a", "--b")
    assert done.returncode == plain.returncode == 3
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    assert done.stderr == plain.stderr
    assert trace.header.argv == (str(program), "a", "--b")
    assert trace.header.source == program.read_text()
    told = {s: "".join(e.text for e in trace.outputs if e.stream == s) for s in ("stdout", "stderr")}
    assert sorted(told["stdout"].splitlines()) == sorted(plain.stdout.splitlines())
    assert told["stderr"] == plain.stderr
    ended = [e for e in trace.events if isinstance(e, Ended)]
    assert [(e.status, e.exit_code, e.final) for e in ended] == [("exit", 3, True)]


def test_unhandled_error_prints_the_same_and_is_one_fault(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        y.backward()
        """,
    )
    plain = run([sys.executable, str(program)])
    done, trace = to_file(program)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    (fault,) = trace.faults
    assert (fault.code, fault.caught, fault.span and fault.span[1]) == ("freed_graph", False, 6)


def test_faults_outside_pytorch_and_in_the_syntax(tmp_path: Path) -> None:
    _, trace = to_file(write(tmp_path, "import torch\nx = torch.ones(2)\nx.nothing\n"))
    (fault,) = trace.faults
    assert (fault.type, fault.code, fault.span and fault.span[1]) == ("AttributeError", "other", 3)
    done, trace = to_file(write(tmp_path, "import torch\nx = (\n", "broken.py"))
    assert done.returncode == 1
    assert trace.faults[0].type == "SyntaxError"


def test_live_lines_run_in_the_programs_namespace(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        print("ready")
        """,
    )
    trace = live(program, ["y.backward()", "y.backward()", "x.grad = None", "print(input())", "z = x * 3"])
    assert isinstance(trace.events[0], Header)
    assert trace.header.devices[0].type == "cpu"
    assert [c.origin for c in trace.cells] == ["program", "action", "action", "action", "action", "action"]
    assert [trace.ended[i].status for i in range(6)] == ["ok", "ok", "error", "ok", "error", "ok"]
    assert [f.code for f in trace.faults] == ["freed_graph", "other"]
    assert trace.faults[1].type == "EOFError"
    assert trace.faults[0].span is not None
    assert trace.files[trace.faults[0].span[0]].text == "y.backward()"
    assert trace.named("z") is not None
    assert trace.at(trace.steps).grad("x") is None


def test_shown_under_another_path(tmp_path: Path) -> None:
    program = write(tmp_path, "import torch\nx = torch.ones(2)\nx.none\n", "hidden.py")
    trace = live(program, [], ("--display-path", "shown.py", "--seed", "5", "--values", "none"))
    assert trace.header.program == "shown.py"
    assert (trace.header.seed, trace.header.values) == (5, "none")
    assert [f.path for f in trace.files.values()] == ["shown.py"]
    assert 'File "shown.py", line 3' in "".join(o.text for o in trace.outputs)
    assert "hidden" not in "".join(o.text for o in trace.outputs)


def test_two_recordings_of_one_program_are_equal(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import torch
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for i in range(3):
            optimizer.zero_grad()
            loss = net(torch.randn(5, 3)).pow(2).mean()
            loss.backward(create_graph=False)
            optimizer.step()
            print(i, loss.item())
        """,
    )
    first = _compared(to_file(program)[1])
    assert first == _compared(to_file(program)[1])


def _compared(trace: Trace) -> list[object]:
    events: list[object] = []
    printed = "".join(e.text for e in trace.events if isinstance(e, Output))
    for event in trace.events:
        if isinstance(event, Header):
            event = msgspec.structs.replace(event, time=0.0, pid=0)
        elif isinstance(event, Ended):
            event = msgspec.structs.replace(event, seconds=0.0)
        if not isinstance(event, Output):
            events.append(event)
    return [*events, printed]


def test_killed_at_any_moment_leaves_a_valid_shorter_file(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        while True:
            (x * x).sum().backward()
        """,
    )
    out = tmp_path / "out.gradviz"
    process = subprocess.Popen([*COMMAND, "-o", str(out), str(program)])
    deadline = time.monotonic() + 60
    while (not out.exists() or out.stat().st_size < 20_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    trace = open_trace(out)
    assert trace.steps > 100
    assert not trace.complete
    assert trace.at(trace.steps // 2).statuses is not None


@pytest.mark.parametrize(
    ("end", "status"), [("os._exit(3)", 3), ("os.abort()", -signal.SIGABRT), ("ctypes.string_at(0)", -signal.SIGSEGV)]
)
def test_a_program_that_ends_itself_loses_nothing_before(tmp_path: Path, end: str, status: int) -> None:
    program = write(
        tmp_path,
        f"""
        import ctypes, os, time, torch
        w = torch.ones(3, requires_grad=True)
        if os.fork() == 0:
            w * 4
            os._exit(0)
        for k in range(3):
            time.sleep(0.02)
            (w * 2).sum().backward()
        print("last words")
        {end}
        """,
    )
    done, trace = to_file(program)
    assert done.returncode == status and trace.damage == "The recording stops before its program ended."
    assert len(trace.passes) == 3 and len(trace.ops) == 6 + 1, "nothing of the child"
    if status != -signal.SIGSEGV:
        assert [out.text for out in trace.outputs] == ["last words\n"]


@pytest.mark.parametrize("text", ["while True: pass", "import time; time.sleep(600)"])
def test_ends_by_itself_when_its_reader_is_gone(tmp_path: Path, text: str) -> None:
    program = write(tmp_path, f"import torch\nprint('up', flush=True)\n{text}\n")
    process = subprocess.Popen([*COMMAND, "--live", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    decoder, seen = Decoder(), False
    while not seen:
        seen = any(isinstance(e, Output) for e in decoder.feed(os.read(process.stdout.fileno(), 1 << 16)))
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=10) != 0


def test_interrupt_ends_the_cell_and_not_the_process(tmp_path: Path) -> None:
    program = write(tmp_path, "import torch, time\nx = torch.ones(1)\nprint('up', flush=True)\ntime.sleep(600)\n")
    process = subprocess.Popen([*COMMAND, "--live", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    decoder, trace = Decoder(), Trace()
    while not trace.outputs:
        trace.extend(decoder.feed(os.read(process.stdout.fileno(), 1 << 16)))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(json.dumps({"cell": 1, "source": "y = x + 1"}).encode() + b"\n", timeout=60)
    trace.extend(decoder.feed(out))
    assert [trace.ended[i].status for i in (0, 1)] == ["interrupted", "ok"]
    assert trace.named("y") is not None


def test_a_fault_that_the_program_handles_is_caught(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        try:
            x.add_(1)
        except RuntimeError as error:
            print("handled")
        y = x + 1
        """,
    )
    _, trace = to_file(program)
    faults = [e for e in trace.events if isinstance(e, Fault)]
    assert [(f.code, f.caught) for f in faults] == [("leaf_inplace", True)]


def test_data_loader_workers_record_nothing_and_harm_nothing(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
        import sys, torch
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == "__main__":
            data = TensorDataset(torch.arange(8.0).reshape(4, 2))
            for method in ("fork", "spawn"):
                loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=method)
                w = torch.ones(2, requires_grad=True)
                for (batch,) in loader:
                    (batch * w).sum().backward()
                print(method, w.grad.tolist())
        """,
    )
    done, trace = to_file(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["fork [12.0, 16.0]", "spawn [12.0, 16.0]"]
    assert len(trace.passes) == 4
    assert trace.damage is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such file")
def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    program = write(tmp_path, "import torch\nprint(torch.ones(2).sum().item())\nraise SystemExit(5)\n")
    done = run([*COMMAND, "-o", "/dev/full", str(program)])
    assert (done.returncode, done.stdout) == (5, "2.0\n")
    assert done.stderr == (
        "gradviz: the recording stopped early: writing the recording: OSError: [Errno 28] No space left on device\n"
    )


def test_form_feeds_and_separators_inside_lines_do_not_shift_the_lines(tmp_path: Path) -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\n\f\ny = (x * 2).sum()  # a\u2028b\x85c\ny.backward()\n"
    program = tmp_path / "prog.py"
    program.write_text(text, "utf-8")
    done, trace = to_file(program)
    assert done.returncode == 0, done.stderr
    (run,) = trace.passes
    assert run.text == "y.backward()" and run.span is not None and run.span[1] == 5


@pytest.mark.parametrize("raised", ["Mute()", 'RuntimeError("\\ud800")'])
def test_an_exception_that_cannot_be_written_is_told_all_the_same(tmp_path: Path, raised: str) -> None:
    text = f"class Mute(Exception):\n    def __str__(self):\n        raise ValueError('no')\nraise {raised}\n"
    done, trace = to_file(write(tmp_path, text))
    assert done.returncode == 1 and "stopped early" not in done.stderr
    (fault,) = trace.faults
    assert fault.message == ("<exception str() failed>" if "Mute" in raised else "\\ud800")
    assert fault.span is not None and fault.span[1] == 4

"""Accelerators, on a device made of numpy: found, named, its nodes run in another thread, values copied."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradviz.recorder.devices import devices
from gradviz.trace import open_trace

PROGRAM = """
import threading
import tests.recorder.numpy_device
import torch

a = torch.arange(4.0).reshape(2, 2).to("npy")
a.requires_grad_(True)
b = torch.ones(2, 2).to("npy")
b.requires_grad_(True)
threads = set()
c = a * b
c.register_hook(lambda g: threads.add(threading.current_thread() is threading.main_thread()))
((c.sin() + c)).sum().backward()
print(threads, a.grad.raw.tolist(), b.grad.raw.tolist())
"""


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[str, str, Path]:
    program, out = tmp_path / "prog.py", tmp_path / "out.gradviz"
    program.write_text(PROGRAM)
    root = str(Path(__file__).parents[2])
    environment = {"PYTHONPATH": root, "PATH": ""}
    printed = []
    for command in ([sys.executable], [sys.executable, "-m", "gradviz.recorder", "--values", "all", "-o", str(out)]):
        done = subprocess.run(
            [*command, str(program)], capture_output=True, text=True, timeout=120, check=False, env=environment
        )
        # device threads are never joined: with kernels in Python a process may abort as it leaves, plain too
        assert done.returncode in (0, -6), done.stderr
        printed.append(done.stdout)
    return printed[0], printed[1], out


def test_nodes_that_run_in_a_device_thread(recorded: tuple[str, str, Path]) -> None:
    plain, seen, out = recorded
    assert plain == seen
    assert plain.startswith("{False}")  # the hook ran in another thread
    trace = open_trace(out)
    assert trace.damage is None
    (run,) = trace.passes
    assert trace.order(run.id) == list(run.planned)
    assert len(run.planned) >= 6
    frame = trace.at(trace.steps)
    for name, text in (("a", plain.split(" [[")[1]), ("b", plain.split(" [[")[2])):
        grad = frame.grad(name)
        assert grad is not None
        assert str(grad.tolist()).removeprefix("[[") == text.strip()
        number = trace.named(name)
        assert number is not None
        told = trace.tensor(number)
        assert told is not None
        assert told.device.startswith("npy")


def test_devices_have_names_or_reasons() -> None:
    found = devices()
    assert (found[0].type, found[0].available) == ("cpu", True)
    assert found[0].name
    for device in found[1:]:
        assert device.available or device.reason
    assert "cuda" in {device.type for device in found}


def test_a_new_accelerator_is_found() -> None:
    code = (
        "import tests.recorder.numpy_device; from gradviz.recorder.devices import devices\n"
        "print([(d.type, d.index, d.available) for d in devices()])"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert "('npy', 0, True)" in done.stdout

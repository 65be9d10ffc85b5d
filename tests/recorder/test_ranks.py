"""Processes of one program write recordings of their own, with their ranks, and the gradient all agreed on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradviz.recorder.ranks import ranked
from gradviz.trace import open_trace
from gradviz.trace.events import Grad
from gradviz.trace.values import to_numpy
from tests.forked import ROOT, Forked

TRAIN = """
import os, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=size)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
model = DistributedDataParallel(net)
model(torch.ones(2, 3) * (rank + 1)).sum().backward()
print("gradient", net.weight.grad.tolist(), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("rank", "size", "name"),
    [
        (None, None, "a.b.gradviz"),
        ("0", "1", "a.b.gradviz"),
        ("0", "2", "a.b.rank0.gradviz"),
        ("11", "16", "a.b.rank11.gradviz"),
    ],
)
def test_names(rank: str | None, size: str | None, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key, value in (("RANK", rank), ("WORLD_SIZE", size)):
        if value is None:
            monkeypatch.delenv(key, raising=False)
        else:
            monkeypatch.setenv(key, value)
    assert ranked(tmp_path / "a.b.gradviz") == tmp_path / name


def check(folder: Path) -> None:
    for rank in range(2):
        trace = open_trace(folder / f"run.rank{rank}.gradviz")
        assert (trace.header.rank, trace.header.world_size) == (rank, 2)
        assert trace.complete and not trace.faults and len(trace.passes) == 1
        weight = trace.names["net.weight"].indexes[-1]
        told = [
            e for e in trace.events if isinstance(e, Grad) and e.tensor == getattr(trace.events[weight], "tensor", None)
        ]
        assert [(e.cause, e.within) for e in told] == [("accumulate", 0), ("edit", None)]
        assert told[0].after is not None and np.array_equal(to_numpy(told[0].after), [[2.0 * (rank + 1)] * 3]), (
            "its own"
        )
        gradient = trace.at(trace.steps).grad("net.weight")
        assert gradient is not None and np.array_equal(gradient, [[3.0, 3.0, 3.0]]), "the mean of 2 and 4"
        assert "gradient [[3.0, 3.0, 3.0]]" in "".join(one.text for one in trace.outputs)
    assert not (folder / "run.gradviz").exists()


def test_two_ranks_are_recorded_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    words = ["-o", str(tmp_path / "run.gradviz"), str(tmp_path / "train.py"), str(tmp_path / "meeting")]
    monkeypatch.setenv("WORLD_SIZE", "2")
    ranks = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        with (tmp_path / f"said{rank}").open("wb") as said:
            all_to = said.fileno()
            ranks.append(Forked(words, stdin=all_to, stdout=all_to, stderr=all_to, cwd=str(tmp_path)))
    assert [one.wait(60) for one in ranks] == [0, 0], (tmp_path / "said0").read_text()
    check(tmp_path)


@pytest.mark.slow
def test_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "gradviz", "record", "train.py", str(tmp_path / "meeting"), "-o", "run.gradviz"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120)
    check(tmp_path)

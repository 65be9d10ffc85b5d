"""What recording costs: a step of each model plain and recorded, in turn and in one process, as multiples of plain.

Run with `python -m tests.bench.bench_recorder [NAME…] [--repeat N]`. Times are CPU time of one thread, the least of N.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradviz.recorder import Recorder

Step = Callable[[], Any]


class Bottleneck(nn.Module):
    """The block of ResNet-50 (He et al., 2015), with the stride in the 3x3 convolution."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip
        project = stride != 1 or inside != 4 * width
        self.skip = (
            nn.Sequential(nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
            if project
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.skip(x))


def resnet() -> Step:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(inside, width, stride if i == 0 else 1))
            inside = 4 * width
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))
    x, y = torch.randn(1, 3, 224, 224), torch.tensor([3])

    def step() -> None:
        net.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()

    return step


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, -1, 64).transpose(1, 2) for t in self.qkv(self.norm_1(x)).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        out: Tensor = x + self.mlp(self.norm_2(x))
        return out


def gpt() -> Step:
    width, words, length = 768, 8192, 128
    embed = nn.Embedding(words, width)
    net = nn.Sequential(*(Block(width) for _ in range(12)), nn.LayerNorm(width), nn.Linear(width, words, bias=False))
    tokens = torch.randint(0, words, (1, length + 1))

    def step() -> None:
        net.zero_grad()
        embed.zero_grad()
        logits = net(embed(tokens[:, :-1]))
        nn.functional.cross_entropy(logits.view(-1, words), tokens[:, 1:].reshape(-1)).backward()

    return step


def rnn() -> Step:
    cell_in, cell_h = nn.Linear(8, 32), nn.Linear(32, 32)
    xs = torch.randn(500, 4, 8)

    def step() -> None:
        cell_in.zero_grad()
        cell_h.zero_grad()
        h = torch.zeros(4, 32)
        for x in xs:
            h = torch.tanh(cell_in(x) + cell_h(h))
        h.sum().backward()

    return step


def chain() -> Step:
    def step() -> None:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = y + 1
        y.backward()

    return step


MODELS: dict[str, Callable[[], Step]] = {"resnet": resnet, "gpt": gpt, "rnn": rnn, "chain": chain}


def measure(make: Callable[[], Step], repeat: int) -> dict[str, float]:
    """Least CPU seconds of a step: plain, and with each way of recording values."""
    torch.manual_seed(0)
    step = make()
    step()
    best: dict[str, float] = {}
    for _ in range(repeat):
        for mode in ("plain", "none", "auto"):
            best[mode] = min(best.get(mode, float("inf")), _timed(step, mode))
    return best


def _timed(step: Step, mode: str) -> float:
    recorder = None if mode == "plain" else Recorder(lambda frame: None, mode)
    if recorder is not None:
        recorder.header()
        recorder.start()
        step()  # sites, names and formulas are looked up once
    gc.collect()
    began = time.process_time()
    step()
    took = time.process_time() - began
    if recorder is not None:
        recorder.stop()
        recorder.close()
        if recorder.core.problems:
            raise RuntimeError(recorder.core.problems[0])
    return took


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in options.models:
        best = measure(MODELS[name], options.repeat)
        print(
            f"{name:8s} plain {best['plain'] * 1e3:8.1f} ms   "
            f"values=none x{best['none'] / best['plain']:.2f}   values=auto x{best['auto'] / best['plain']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

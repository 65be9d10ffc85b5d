"""The programs whose pictures are kept: from five nodes to thousands. Small numbers, real structure."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


def mlp() -> None:
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    functional.cross_entropy(net(torch.ones(4, 3)), torch.tensor([0, 1, 0, 1])).backward()


class Bottleneck(nn.Module):
    """The block of ResNet-50 (He et al., 2015)."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu, self.downsample = nn.ReLU(inplace=True), nn.Sequential()
        if stride != 1 or inside != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        result: Tensor = self.relu(self.bn3(self.conv3(out)) + self.downsample(x))
        return result


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inside, layers = 4, []
        for width, count, stride in ((4, 3, 1), (8, 4, 2), (16, 6, 2), (32, 3, 2)):
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(inside, width, stride if i == 0 else 1))
                inside = 4 * width
            layers.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = layers
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inside, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        out: Tensor = self.fc(torch.flatten(self.avgpool(x), 1))
        return out


def resnet50() -> None:
    functional.cross_entropy(ResNet50()(torch.ones(2, 3, 32, 32)), torch.tensor([1, 2])).backward()


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = (s.view(b, t, self.heads, -1).transpose(1, 2) for s in self.qkv(x).chunk(3, -1))
        mask = torch.ones(t, t).triu(1).bool()
        seen = ((q @ k.transpose(-2, -1)) / 2.0).masked_fill(mask, float("-inf")).softmax(-1)
        out: Tensor = self.proj((seen @ v).transpose(1, 2).reshape(b, t, c))
        return out


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(width), Attention(width, 2), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        out: Tensor = x + self.mlp(self.ln2(x))
        return out


class GPT(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(16, 8), nn.Embedding(4, 8)
        self.blocks = nn.ModuleList(Block(8) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(8), nn.Linear(8, 16, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.head(self.ln(x))
        return out


def gpt12() -> None:
    tokens = torch.zeros(1, 5, dtype=torch.long)
    functional.cross_entropy(GPT(12)(tokens[:, :-1]).reshape(-1, 16), tokens[:, 1:].reshape(-1)).backward()


def lstm200() -> None:
    cell, head = nn.LSTMCell(2, 3), nn.Linear(3, 1)
    h, c = torch.zeros(1, 3), torch.zeros(1, 3)
    for x in torch.ones(200, 1, 2):
        h, c = cell(x, (h, c))
    head(h).pow(2).mean().backward()


def gan() -> None:
    maker = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    judge = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
    of_maker, of_judge = torch.optim.SGD(maker.parameters(), 0.1), torch.optim.SGD(judge.parameters(), 0.1)
    bce, yes, no = nn.BCEWithLogitsLoss(), torch.ones(3, 1), torch.zeros(3, 1)
    fake = maker(torch.ones(3, 2))
    of_judge.zero_grad()
    loss_judge = bce(judge(torch.ones(3, 2)), yes) + bce(judge(fake.detach()), no)
    loss_judge.backward()
    of_judge.step()
    of_maker.zero_grad()
    loss_maker = bce(judge(fake), yes)
    loss_maker.backward()
    of_maker.step()


def double_backward() -> None:
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.ones(3, 2, requires_grad=True)
    (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    penalty = (g.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()


def siamese() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    a, b = net(torch.ones(2, 3)), net(torch.zeros(2, 3))
    loss = torch.relu(1 - (a - b).pow(2).sum(1)).mean()
    loss.backward()


def diamond() -> None:
    a = torch.ones(3, requires_grad=True)
    for _ in range(60):
        a = a + a
    a.sum().backward()


def encoder() -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 4), 8, enable_nested_tensor=False)
    net(torch.ones(2, 1, 4)).pow(2).mean().backward()


def training() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(50):
        optimizer.zero_grad()
        net(torch.ones(2, 3)).pow(2).mean().backward()
        optimizer.step()


MODELS: dict[str, Callable[[], None]] = {
    f.__name__: f for f in (mlp, resnet50, gpt12, lstm200, gan, double_backward, siamese, diamond, encoder, training)
}

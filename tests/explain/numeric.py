"""What the formulas of `resources/rules` may use, in plain numpy, and the cases that they are proved on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

Array = Any
erf = np.vectorize(math.erf)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def fit(x: Array, shape: Sequence[int]) -> Array:
    """Summed over what was broadcast."""
    x = np.asarray(x)
    while x.ndim > len(shape):
        x = x.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and x.shape[axis] != 1:
            x = x.sum(axis, keepdims=True)
    return np.broadcast_to(x, shape)


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    dims = range(ndim) if dim is None or (isinstance(dim, tuple) and not dim) else np.atleast_1d(dim)
    return tuple(int(d) % ndim for d in dims)


def spread(g: Array, shape: Sequence[int], dim: Any, keepdim: Any) -> Array:
    """A reduced array at each element that went into it."""
    dims = dims_of(dim, len(shape))
    kept = [1 if axis in dims else size for axis, size in enumerate(shape)]
    return np.broadcast_to(np.reshape(g, kept), shape)


def mean_of(x: Array, dim: Any) -> Array:
    return x.mean(dims_of(dim, x.ndim), keepdims=True)


def put(g: Array, shape: Sequence[int], dim: int, where: slice) -> Array:
    out = np.zeros(shape)
    index: list[Any] = [slice(None)] * len(shape)
    index[dim] = where
    out[tuple(index)] = g
    return out


def add_at(g: Array, shape: Sequence[int], dim: int, index: Array) -> Array:
    out = np.zeros(shape)
    np.add.at(np.moveaxis(out, dim, 0), index, np.moveaxis(g, dim, 0))
    return out


def scatter(g: Array, shape: Sequence[int], dim: int, index: Array) -> Array:
    out = np.zeros(shape)
    where = list(np.indices(index.shape))
    where[dim] = index
    np.add.at(out, tuple(where), g[tuple(slice(0, n) for n in index.shape)])
    return out


def parts(g: Array, shapes: list[tuple[int, ...]], dim: int) -> list[Array]:
    return np.split(g, np.cumsum([s[dim] for s in shapes])[:-1], dim)


def unrepeat(g: Array, repeats: Sequence[int], shape: Sequence[int]) -> Array:
    sizes = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return g.reshape(sizes).sum(tuple(range(0, len(sizes), 2)))


def unpad(g: Array, pad: Sequence[int]) -> Array:
    index = [slice(None)] * g.ndim
    for k in range(len(pad) // 2):
        axis = g.ndim - 1 - k
        index[axis] = slice(pad[2 * k], g.shape[axis] - pad[2 * k + 1])
    return g[tuple(index)]


def count(x: Array, reduction: int) -> int:
    """What a mean divides by; 1 for "none" (0) and "sum" (2)."""
    return x.size if reduction == 1 else 1


def one_hot(target: Array, classes: int) -> Array:
    return np.eye(classes)[target]


def others(g: Array) -> tuple[int, ...]:
    return tuple(a for a in range(g.ndim) if a != 1)


def chan(x: Array, like: Array) -> Array:
    return x.reshape((1, -1) + (1,) * (like.ndim - 2))


def batch_norm(g: Array, x: Array, weight: Array, mean: Array, invstd: Array) -> Array:
    hat, scaled = (x - chan(mean, g)) * chan(invstd, g), g * chan(weight, g)
    over = {"axis": others(g), "keepdims": True}
    return (scaled - scaled.mean(**over) - hat * (scaled * hat).mean(**over)) * chan(invstd, g)


def _windows(g: Array, weight: Array, stride: Sequence[int]) -> Any:
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            top, left = i * stride[0], j * stride[1]
            yield i, j, slice(top, top + weight.shape[2]), slice(left, left + weight.shape[3])


def conv_input(g: Array, x: Array, weight: Array, stride: Any, padding: Any) -> Array:
    p, q = padding
    out = np.zeros((x.shape[0], x.shape[1], x.shape[2] + 2 * p, x.shape[3] + 2 * q))
    for i, j, rows, columns in _windows(g, weight, stride):
        out[:, :, rows, columns] += np.einsum("no,ocij->ncij", g[:, :, i, j], weight)
    return out[:, :, p : p + x.shape[2], q : q + x.shape[3]]


def conv_weight(g: Array, x: Array, weight: Array, stride: Any, padding: Any) -> Array:
    p, q = padding
    padded, out = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q))), np.zeros(weight.shape)
    for i, j, rows, columns in _windows(g, weight, stride):
        out += np.einsum("no,ncij->ocij", g[:, :, i, j], padded[:, :, rows, columns])
    return out


def unpool(g: Array, shape: Sequence[int], index: Array) -> Array:
    out = np.zeros((shape[0] * shape[1], shape[2] * shape[3]))
    flat = index.reshape(out.shape[0], -1)
    np.add.at(out, (np.arange(out.shape[0])[:, None], flat), g.reshape(flat.shape))
    return out.reshape(shape)


def unaverage(g: Array, shape: Sequence[int], kernel: Sequence[int]) -> Array:
    return (np.repeat(np.repeat(g, kernel[0], 2), kernel[-1], 3) / (kernel[0] * kernel[-1])).reshape(shape)


def fold_copies(g: Array, shape: Sequence[int]) -> Array:
    n, c, h, w = shape
    return g.reshape(n, c, h, g.shape[2] // h, w, g.shape[3] // w).sum((3, 5))


HELPERS: dict[str, Any] = {
    f.__name__: f
    for f in (
        sigmoid, fit, spread, mean_of, put, add_at, scatter, parts, unrepeat, unpad, count, one_hot, others, chan,
        batch_norm, conv_input, conv_weight, unpool, unaverage, fold_copies,
    )
} | {"np": np, "erf": erf, "min": min, "slice": slice, "tuple": tuple}  # fmt: skip

# ---- cases: node name, what to run, shapes of the inputs ("+": positive, "u": inside (-1, 1))

Case = tuple[str, Callable[..., Any], tuple[Any, ...]]
UNARY = (
    "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "erf", "abs", "sign", "round",
    "floor", "ceil", "relu", "atan",
)  # fmt: skip
POSITIVE = ["log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal"]
NAMES = {"log1p": "Log1P"}
index = torch.tensor([0, 2, 2, 1])
mask = torch.tensor([[True, False, True], [False, False, True]])
binary = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
CASES: list[Case] = [
    *((f"{NAMES.get(n, n.capitalize())}Backward0", getattr(torch, n), ((2, 3),)) for n in UNARY),
    *((f"{NAMES.get(n, n.capitalize())}Backward0", getattr(torch, n), ("+23",)) for n in POSITIVE),
    ("AsinBackward0", torch.asin, ("u23",)),
    ("AcosBackward0", torch.acos, ("u23",)),
    ("AddBackward0", lambda a, b: torch.add(a, b, alpha=2), ((2, 3), (3,))),
    ("SubBackward0", lambda a, b: a - b, ((2, 1), (4, 1, 3))),
    ("RsubBackward1", lambda a: torch.rsub(a, 3), ((2, 3),)),
    ("MulBackward0", lambda a, b: a * b, ((2, 3), (3,))),
    ("MulBackward0", lambda a, b: a * b, ((2, 3), ())),
    ("DivBackward0", lambda a, b: a / b, ((2, 1), "+3")),
    ("NegBackward0", lambda a: -a, ((2, 3),)),
    ("PowBackward0", lambda a: a**3, ((2, 3),)),
    ("PowBackward1", lambda a, b: a**b, ("+23", (3,))),
    ("MaximumBackward0", torch.maximum, ((2, 3), (3,))),
    ("MaximumBackward0", lambda a: torch.maximum(a, a * 1), ((2, 3),)),
    ("MinimumBackward0", torch.minimum, ((2, 3), (2, 1))),
    ("Atan2Backward0", torch.atan2, ((2, 3), (3,))),
    ("HypotBackward0", torch.hypot, ((2, 3), (3,))),
    ("LerpBackward0", lambda a, b: torch.lerp(a, b, 0.3), ((2, 3), (3,))),
    ("AddcmulBackward0", lambda a, b, c: torch.addcmul(a, b, c, value=2), ((2, 3), (3,), (2, 1))),
    ("AddcdivBackward0", lambda a, b, c: torch.addcdiv(a, b, c, value=2), ((2, 3), (3,), "+3")),
    ("WhereBackward0", lambda a, b: torch.where(mask, a, b), ((2, 3), (3,))),
    ("MaskedFillBackward0", lambda a: a.masked_fill(mask, 5.0), ((2, 3),)),
    ("ClampBackward1", lambda a: a.clamp(-0.5, 0.5), ((2, 3),)),
    ("ClampMinBackward0", lambda a: a.clamp_min(0.1), ((2, 3),)),
    ("LeakyReluBackward0", lambda a: F.leaky_relu(a, 0.1), ((2, 3),)),
    ("EluBackward0", lambda a: F.elu(a, 1.5), ((2, 3),)),
    ("EluBackward0", F.selu, ((2, 3),)),
    ("GeluBackward0", F.gelu, ((2, 3),)),
    ("SiluBackward0", F.silu, ((2, 3),)),
    ("MishBackward0", F.mish, ((2, 3),)),
    ("SoftplusBackward0", lambda a: F.softplus(a, 2.0), ((2, 3),)),
    ("LogSigmoidBackward0", F.logsigmoid, ((2, 3),)),
    ("HardtanhBackward0", F.hardtanh, ((3, 4),)),
    ("HardswishBackward0", lambda a: F.hardswish(a * 1), ((3, 4),)),
    ("ThresholdBackward0", lambda a: F.threshold(a, 0.2, 0.0), ((2, 3),)),
    ("SoftmaxBackward0", lambda a: a.softmax(-1), ((2, 3),)),
    ("LogSoftmaxBackward0", lambda a: a.log_softmax(0), ((2, 3),)),
    ("PreluKernelBackward0", torch._prelu_kernel, ((2, 3), (1, 3))),
    ("MmBackward0", torch.mm, ((2, 3), (3, 4))),
    ("AddmmBackward0", lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), ((4,), (2, 3), (3, 4))),
    ("BmmBackward0", torch.bmm, ((2, 2, 3), (2, 3, 4))),
    ("BaddbmmBackward0", torch.baddbmm, ((2, 4), (2, 2, 3), (2, 3, 4))),
    ("MvBackward0", torch.mv, ((2, 3), (3,))),
    ("DotBackward0", torch.dot, ((3,), (3,))),
    ("TBackward0", lambda a: a.t(), ((2, 3),)),
    ("TransposeBackward0", lambda a: a.transpose(0, -1), ((2, 3, 4),)),
    ("PermuteBackward0", lambda a: a.permute(2, 0, -2), ((2, 3, 4),)),
    ("ViewBackward0", lambda a: a.view(6), ((2, 3),)),
    ("UnsafeViewBackward0", lambda a: torch.ops.aten._unsafe_view(a, [6]), ((2, 3),)),
    ("SqueezeBackward0", lambda a: a.squeeze(), ((2, 1, 3),)),
    ("SqueezeBackward1", lambda a: a.squeeze(1), ((2, 1, 3),)),
    ("UnsqueezeBackward0", lambda a: a.unsqueeze(0), ((2, 3),)),
    ("CloneBackward0", lambda a: a.clone(), ((2, 3),)),
    ("ToCopyBackward0", lambda a: a.to(torch.float32), ((2, 3),)),
    ("ExpandBackward0", lambda a: a.expand(4, 2, 3), ((2, 1),)),
    ("RepeatBackward0", lambda a: a.repeat(2, 3), ((2, 3),)),
    ("SelectBackward0", lambda a: a[:, -1], ((2, 3),)),
    ("SliceBackward0", lambda a: a[:, 1:5:2], ((2, 6),)),
    ("DiagonalBackward0", lambda a: a.diagonal(), ((3, 3),)),
    ("TrilBackward0", lambda a: a.tril(1), ((3, 3),)),
    ("TriuBackward0", lambda a: a.triu(), ((3, 3),)),
    ("FlipBackward0", lambda a: a.flip(0, 1), ((2, 3),)),
    ("RollBackward0", lambda a: a.roll(2, 1), ((2, 3),)),
    ("ConstantPadNdBackward0", lambda a: F.pad(a, (1, 2, 0, 1)), ((2, 3),)),
    ("CatBackward0", lambda a, b: torch.cat((a, b), -1), ((2, 3), (2, 1))),
    ("StackBackward0", lambda a, b: torch.stack((a, b), 1), ((2, 3), (2, 3))),
    ("SplitBackward0", lambda a: a.split(2, 1), ((2, 6),)),
    ("UnsafeSplitBackward0", lambda a: a.unsafe_split(2, 1), ((2, 6),)),
    ("UnbindBackward0", lambda a: a.unbind(1), ((2, 3),)),
    ("IndexSelectBackward0", lambda a: a.index_select(1, index), ((2, 3),)),
    ("GatherBackward0", lambda a: a.gather(1, torch.tensor([[0, 0], [2, 1]])), ((2, 3),)),
    ("EmbeddingBackward0", lambda w: F.embedding(index, w), ((5, 3),)),
    ("SumBackward0", lambda a: a.sum(), ((2, 3),)),
    ("SumBackward1", lambda a: a.sum(-1), ((2, 3),)),
    ("MeanBackward0", lambda a: a.mean(), ((2, 3),)),
    ("MeanBackward1", lambda a: a.mean(0, keepdim=True), ((2, 3),)),
    ("VarBackward0", lambda a: a.var(1), ((2, 3),)),
    ("StdBackward0", lambda a: a.std(), ((2, 3),)),
    ("ProdBackward0", lambda a: a.prod(), ((2, 3),)),
    ("MaxBackward1", lambda a: a.max(), ((2, 3),)),
    ("MinBackward1", lambda a: a.expand(2, 3).min(), ((1, 3),)),
    ("MaxBackward0", lambda a: a.max(1)[0], ((2, 3),)),
    ("MinBackward0", lambda a: a.min(0, keepdim=True)[0], ((2, 3),)),
    ("AmaxBackward0", lambda a: a.amax(1), ((2, 3),)),
    ("AminBackward0", lambda a: a.amin((0, 1)), ((2, 3),)),
    ("LogsumexpBackward0", lambda a: a.logsumexp(1), ((2, 3),)),
    ("CumsumBackward0", lambda a: a.cumsum(1), ((2, 3),)),
    ("LinalgVectorNormBackward0", torch.linalg.vector_norm, ((2, 3),)),
    ("MseLossBackward0", F.mse_loss, ((2, 3), (2, 3))),
    ("MseLossBackward0", lambda a, b: F.mse_loss(a, b, reduction="none"), ((2, 3), (2, 3))),
    ("BinaryCrossEntropyWithLogitsBackward0", lambda a: F.binary_cross_entropy_with_logits(a, binary), ((2, 3),)),
    ("BinaryCrossEntropyBackward0", lambda a: F.binary_cross_entropy(a, binary), ("p23",)),
    ("SmoothL1LossBackward0", lambda a, b: F.smooth_l1_loss(a, b, beta=0.5), ((2, 3), (2, 3))),
    ("HuberLossBackward0", lambda a, b: F.huber_loss(a, b, delta=0.5, reduction="sum"), ((2, 3), (2, 3))),
    ("SoftMarginLossBackward0", lambda a: F.soft_margin_loss(a, 2 * binary - 1), ((2, 3),)),
    ("NllLossBackward0", lambda a: F.nll_loss(a, index), ((4, 3),)),
    ("NativeLayerNormBackward0", lambda a, w, b: F.layer_norm(a, (3,), w, b), ((2, 3), (3,), (3,))),
    (
        "NativeBatchNormBackward0",
        lambda a, w, b: F.batch_norm(a, None, None, w, b, training=True),
        ((4, 3, 2), (3,), (3,)),
    ),
    ("ConvolutionBackward0", lambda x, w, b: F.conv2d(x, w, b, 2, 1), ((2, 2, 5, 4), (3, 2, 3, 2), (3,))),
    ("MaxPool2DWithIndicesBackward0", lambda a: F.max_pool2d(a, 2), ((2, 1, 4, 6),)),
    ("AvgPool2DBackward0", lambda a: F.avg_pool2d(a, (2, 3)), ((2, 1, 4, 6),)),
    ("UpsampleNearest2DBackward0", lambda a: F.interpolate(a, scale_factor=2), ((2, 1, 2, 3),)),
]  # fmt: skip


def inputs(spec: tuple[Any, ...]) -> list[torch.Tensor]:
    """Random float64 leaves of the given shapes and ranges."""
    random = torch.Generator().manual_seed(7)
    made = []
    for item in spec:
        shape = tuple(int(c) for c in item[1:]) if isinstance(item, str) else item
        x = torch.randn(shape, dtype=torch.float64, generator=random)
        kind = item[0] if isinstance(item, str) else ""
        x = x.abs() + 0.5 if kind == "+" else x.tanh() if kind == "u" else x.sigmoid() if kind == "p" else x
        made.append(x.requires_grad_())
    return made

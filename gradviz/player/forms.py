"""The two examples as forms: a few values in, the text of a program out. Every text runs under plain python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Literal

Activation = Literal["none", "relu", "sigmoid", "tanh", "gelu"]
Loss = Literal["binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "sum"]
ACTIVATIONS: tuple[Activation, ...] = ("none", "relu", "sigmoid", "tanh", "gelu")
LOSSES: tuple[Loss, ...] = ("binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "sum")
DTYPES: tuple[str, ...] = ("float32", "float64", "bfloat16", "float16")
LARGEST = 64
"""Largest number of inputs, outputs or rows that the forms offer."""
_SPELLED = 64
"""A one-hot gradient of at most so many elements is written out: what a reader sees, and one operation fewer."""
_NO_LITERAL = re.compile(r"(?<![\w\"'.])(nan|inf)(?!\w)")


@dataclass(frozen=True, slots=True)
class Seed:
    """The gradient argument of a backward call on a root that is no scalar (the v of vᵀJ)."""

    kind: Literal["ones", "one_hot", "typed"] = "ones"
    index: tuple[int, ...] = ()
    """Position of the 1 of a one-hot gradient."""
    typed: str = ""
    """Numbers as typed: a Python literal, one number or nested lists; nan and inf are numbers."""


@dataclass(frozen=True, slots=True)
class OneLayer:
    """One linear layer with a loss on it."""

    inputs: int = 5
    outputs: int = 3
    bias: bool = True
    activation: Activation = "none"
    loss: Loss = "binary_cross_entropy_with_logits"
    seed: int = 0
    dtype: str = "float32"
    device: str = "cpu"
    key = "one_layer"
    file_name = "one_layer.py"

    def source(self) -> str:
        """The program's text."""
        made = _keywords(self.dtype, self.device)
        lines = [
            "import torch",
            f"torch.manual_seed({self.seed})",
            f"x = torch.ones({self.inputs}{made})",
            *([f"y = torch.zeros({self.outputs}{made})"] if self.loss != "sum" else []),
            f"w = torch.randn({self.inputs}, {self.outputs}{made}, requires_grad=True)",
            *([f"b = torch.randn({self.outputs}{made}, requires_grad=True)"] if self.bias else []),
            f"z = torch.matmul(x, w){' + b' if self.bias else ''}",
        ]
        out = "z"
        if self.activation != "none":
            space = "torch.nn.functional" if self.activation == "gelu" else "torch"
            lines.append(f"h = {space}.{self.activation}(z)")
            out = "h"
        lines.append(
            f"loss = {out}.sum()" if self.loss == "sum" else f"loss = torch.nn.functional.{self.loss}({out}, y)"
        )
        lines.append("loss.backward(retain_graph=True)")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Accumulation:
    """Several backward passes through one graph: gradients add up until somebody zeroes them."""

    size: int = 5
    offset: float = 1
    power: float = 2
    gradient: Seed = Seed()
    calls: int = 3
    """Backward calls; before the last of several the gradient is zeroed."""
    dtype: str = "float32"
    device: str = "cpu"
    key = "accumulation"
    file_name = "accumulation.py"

    def source(self) -> str:
        """The program's text."""
        made = _keywords(self.dtype, self.device)
        argument = seed_text(self.gradient, "inp", (self.size, self.size))
        call = f"out.backward({argument}, retain_graph=True)"
        lines = [
            "import torch",
            f"inp = torch.eye({self.size}{made}, requires_grad=True)",
            f"out = (inp + {_number(self.offset)}).pow({_number(self.power)})",
        ]
        for k in range(self.calls):
            if k and k == self.calls - 1:
                lines.append("inp.grad.zero_()")
            lines += [call, f'print("call {k + 1}:", inp.grad, sep="\\n")']
        return "\n".join(lines) + "\n"


Form = OneLayer | Accumulation
FORMS: tuple[type[OneLayer] | type[Accumulation], ...] = (OneLayer, Accumulation)


def seed_text(seed: Seed, like: str, shape: tuple[int, ...]) -> str:
    """The gradient argument as Python, shaped and typed like the variable `like` of that shape."""
    if seed.kind == "one_hot":
        count, flat = 1, 0
        for size in shape:
            count *= size
        for size, index in zip(shape, seed.index or (0,) * len(shape), strict=False):
            flat = flat * size + min(max(index, 0), size - 1)
        if 0 < count <= _SPELLED:
            return f"{like}.new_tensor({_nested(shape, flat)})"
        return f"torch.nn.functional.one_hot(torch.tensor({flat}), {count}).view_as({like}).to({like})"
    if seed.kind == "typed":
        text = spelled(seed.typed.strip() or "1.0")
        if text.startswith(("[", "(")):
            return f"{like}.new_tensor({text})"
        return f"torch.full_like({like}, {text})"
    return f"torch.ones_like({like})"


def spelled(text: str) -> str:
    """Typed numbers as Python: nan and inf, which have no literal, become calls of float."""
    return _NO_LITERAL.sub(r'float("\1")', text)


def _nested(shape: tuple[int, ...], flat: int) -> str:
    """A 1 at position `flat` and 0 elsewhere, as nested lists of that shape."""
    items = ["1" if at == flat else "0" for at in range(prod(shape))]
    for size in reversed(shape):
        items = [f"[{', '.join(items[at : at + size])}]" for at in range(0, len(items), size)]
    return items[0]


def _keywords(dtype: str, device: str) -> str:
    made = f", dtype=torch.{dtype}" if dtype != "float32" else ""
    return made + (f', device="{device}"' if device != "cpu" else "")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))

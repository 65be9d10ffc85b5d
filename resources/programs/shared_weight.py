"""Shared weight: one leaf used three times gets three contributions."""

import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
h = torch.ones(3)
for _ in range(3):
    h = torch.tanh(w @ h)
h.sum().backward()
print(w.grad)

"""In-place error: a saved tensor is changed before backward reads it."""

import torch

x = torch.tensor([0.5, 1.0, 1.5], requires_grad=True)
y = x.exp()
loss = y.sum()
y.add_(1)
loss.backward()

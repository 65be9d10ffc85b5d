"""Second backward: without retain_graph the saved tensors are gone."""

import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()

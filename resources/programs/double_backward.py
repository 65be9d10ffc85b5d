"""Double backward: create_graph makes the gradient itself differentiable."""

import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x**3).sum()
(first,) = torch.autograd.grad(y, x, create_graph=True)
penalty = first.pow(2).sum()
penalty.backward()
print("dy/dx", first)
print("d|dy/dx|^2/dx", x.grad)

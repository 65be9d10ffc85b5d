"""Two-layer perceptron: modules, a ReLU and a mean squared error."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(6, 4)
target = torch.randn(6, 2)
prediction = model(x)
loss = nn.functional.mse_loss(prediction, target)
loss.backward()

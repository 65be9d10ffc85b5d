"""LSTM cell unrolled: gradients travel back through time."""

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.LSTMCell(3, 4)
sequence = torch.randn(4, 2, 3)
h = torch.zeros(2, 4)
c = torch.zeros(2, 4)
for x in sequence:
    h, c = cell(x, (h, c))
h.pow(2).mean().backward()

"""Certify a Captum method on a model of your own; here input x gradient of a small tabular classifier."""

import captum.attr
import torch
from torch import nn

import attribound as ab

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
field = ab.Unit(ab.Captum(captum.attr.InputXGradient(model)))

for cert in ab.certify_batch(field, torch.rand(2, 8) + 1, noise=ab.Gaussian(0.2), samples=4096):
    print(cert)

# Stop as soon as the question is decided: is the cosine at least 0.9 for every change up to 0.02?
print(ab.certify(field, torch.ones(8), noise=ab.Gaussian(0.2), samples=20_000, until=(0.9, 0.02)))

"""A Grad-CAM draw in bfloat16 against one in float32, EfficientNet-Lite0 and ResNet-50 at ImageNet's size.

Wanted on processors with bfloat16 instructions: 3.0 for EfficientNet-Lite0. Without them the products are emulated, the
ratio is below 1, and the unit says so. Weights are random: they do not change the time. One thread, 16 rows a call, and
freed memory is kept, as in workers. Both make float32 about half as fast again, and bfloat16 hardly any faster: with
fewer than 16 rows and one thread torch takes slower convolutions, in float32 only.
"""

import torch

import attribound as ab
from attribound.fields.precision import in_precision, slow_here
from attribound.memory import keep_freed
from attribound.models import efficientnet_lite0, resnet50
from attribound.threads import limited
from attribound.training import fresh
from benchmarks.figure import Figure, race

ROWS, ROUNDS = 16, 2


def measure() -> list[Figure]:
    keep_freed()
    points = torch.rand(ROWS, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    unit = "s (emulated: no bfloat16 instructions here)" if slow_here("bfloat16", "cpu") else "s"
    figures = []
    with limited(1):
        for name, make in (("efficientnet_lite0", efficientnet_lite0), ("resnet50", resnet50)):
            field = ab.GradCAM(fresh(make, 0).eval().requires_grad_(False))
            half = in_precision(field, "bfloat16")
            ours, peer, ratio = race(
                lambda field=half: field.attribute(points, 0),
                lambda field=field: field.attribute(points, 0),
                rounds=ROUNDS,
            )
            figures.append(Figure(f"half_precision_{name}", ours / ROWS, peer / ROWS, ratio, unit))
    return figures

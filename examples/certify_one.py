"""Certify one explanation of the shipped model, in a few lines."""

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped

model, (images, labels) = load_shipped("mnist-cnn-noise"), mnist_sample()
field = ab.Unit(ab.Saliency(model))
cert = ab.certify(field, images[0], target=7, noise=ab.Gaussian(sigma=0.5), samples=4096, alpha=1e-3, seed=0)

print(cert.explain(cosine=0.8, epsilon=0.5))
print("no change up to epsilon", cert.max_epsilon(0.8), "can bring the cosine below 0.8, by the", cert.rule, "rule")
print("of the 100 largest features", cert.top_k(100, 0.1), "stay among the 100 largest at epsilon 0.1")

"""Certificates that several tests look at."""

import pytest

from attribound.certificates.certificate import Certificate
from attribound.certification.certifier import certify
from attribound.fields import Saliency, Unit
from attribound.noise import Gaussian


@pytest.fixture(scope="session")
def certificate(noise_model, sample) -> Certificate:
    return certify(Unit(Saliency(noise_model)), sample[0][0], noise=Gaussian(0.5), samples=1024, seed=7)

"""Certificates that several tests look at."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate


@pytest.fixture(scope="session")
def certificate(noise_model, sample) -> "Certificate":
    from attribound.certification.certifier import certify
    from attribound.fields import Saliency, Unit
    from attribound.noise import Gaussian

    return certify(Unit(Saliency(noise_model)), sample[0][0], noise=Gaussian(0.5), samples=1024, seed=7)

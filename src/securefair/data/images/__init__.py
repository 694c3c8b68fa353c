"""Images: read from the folder of data sets, decoded once, normalised by public constants.

Place in the flow: the start of **a batch of samples**, for experiments with networks. A loader
returns an `ImageSet` of bytes; `Images.samples` turns what a participant holds into float32.
"""

from securefair.data.images.cifar import load_cifar10
from securefair.data.images.dataset import Images, ImageSet, Normalisation
from securefair.data.images.digits import load_femnist, load_mnist
from securefair.data.images.ham10000 import load_ham10000

__all__ = [
    "ImageSet",
    "Images",
    "Normalisation",
    "load_cifar10",
    "load_femnist",
    "load_ham10000",
    "load_mnist",
]

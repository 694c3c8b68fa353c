"""Images: read from the folder of data sets, decoded once, normalised by public constants.

Place in the flow: the start of **a batch of samples**, for experiments with networks. A loader
returns an `ImageSet` of bytes; `ImageSet.data_set` makes it ready to be divided, and only what a
participant gets becomes float32.
"""

from securefair_lab.data.images.cifar import load_cifar10, load_cifar100
from securefair_lab.data.images.cinic import load_cinic10
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.data.images.digits import load_femnist, load_mnist
from securefair_lab.data.images.fashion import load_fashion_mnist
from securefair_lab.data.images.ham10000 import load_ham10000

__all__ = [
    "ImageSet",
    "Images",
    "Normalisation",
    "load_cifar10",
    "load_cifar100",
    "load_cinic10",
    "load_fashion_mnist",
    "load_femnist",
    "load_ham10000",
    "load_mnist",
]

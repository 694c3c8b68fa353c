"""Every data set by name: what it is, what its loader reads, and how to get it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from securefair.data import HEART_SPEC, encode, heart_rows
from securefair.errors import ConfigError
from securefair_lab.data.folder import DataFile, data_folder
from securefair_lab.data.images.cifar import (
    CIFAR10_FILE,
    CIFAR100_FILES,
    load_cifar10,
    load_cifar100,
)
from securefair_lab.data.images.cinic import CINIC10_FILES, load_cinic10
from securefair_lab.data.images.dataset import ImageSet
from securefair_lab.data.images.digits import FEMNIST_FILE, MNIST_FILE, load_femnist, load_mnist
from securefair_lab.data.images.fashion import FASHION_FILES, load_fashion_mnist
from securefair_lab.data.images.ham10000 import HAM10000_FILE, load_ham10000
from securefair_lab.data.pool import DataSet, pool_of
from securefair_lab.data.reuters import REUTERS_FILE, load_reuters
from securefair_lab.data.sklearn_sets import breast_cancer, digits
from securefair_lab.data.tables.adult import ADULT_FILE, load_adult
from securefair_lab.data.tables.forests import (
    AUCTION_FILE,
    COIMBRA_FILE,
    MATERNAL_FILE,
    NATICUS_FILE,
    STUDENTS_FILE,
    load_auction,
    load_coimbra,
    load_maternal,
    load_naticus,
    load_students,
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One data set.

    Args:
        about: what it holds, in a line.
        file: what its loader reads below the folder of data sets; None if it is packaged.
        load: (folder, cache) -> the data set; packaged ones look at neither.
        sites: whether it has participants of its own.
    """

    about: str
    file: DataFile | None
    load: Callable[[Path, Path | None], DataSet]
    sites: bool = False


@dataclass(frozen=True, kw_only=True)
class ImageEntry(Entry):
    """One data set of images, whose bytes feature views start from.

    Args:
        load_images: (folder, cache) -> the images.
    """

    load_images: Callable[[Path, Path | None], ImageSet]


def _images(
    about: str,
    file: DataFile,
    load: Callable[[Path, Path | None], ImageSet],
    *,
    sites: bool = False,
) -> ImageEntry:
    return ImageEntry(
        about=about,
        file=file,
        load=lambda folder, cache: load(folder, cache).data_set(),
        sites=sites,
        load_images=load,
    )


def _heart(_folder: Path, _cache: Path | None) -> DataSet:
    rows = heart_rows()
    sites = tuple(row.fields["hospital"] for row in rows)
    return DataSet(name="heart", train=pool_of(encode(rows, HEART_SPEC), sites))


IMAGES: Mapping[str, ImageEntry] = MappingProxyType(
    {
        "mnist": _images(
            "70,000 hand-written digits", MNIST_FILE, lambda folder, _: load_mnist(folder)
        ),
        "fashion-mnist": _images(
            "70,000 pieces of clothing", FASHION_FILES, lambda folder, _: load_fashion_mnist(folder)
        ),
        "femnist": _images(
            "5,997 digits of 12 clients",
            FEMNIST_FILE,
            lambda folder, _: load_femnist(folder),
            sites=True,
        ),
        "cifar10": _images(
            "60,000 photographs, 10 classes",
            CIFAR10_FILE,
            lambda folder, cache: load_cifar10(folder, cache=cache),
        ),
        "cifar100": _images(
            "60,000 photographs, 100 classes",
            CIFAR100_FILES,
            lambda folder, _: load_cifar100(folder),
        ),
        "cinic10": _images(
            "270,000 photographs, 10 classes",
            CINIC10_FILES,
            lambda folder, cache: load_cinic10(folder, cache=cache),
        ),
        "ham10000": _images(
            "10,015 skin lesions of 4 sources, 8 classes",
            HAM10000_FILE,
            lambda folder, cache: load_ham10000(folder, cache=cache),
            sites=True,
        ),
    }
)
"""The data sets of images."""

CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        **IMAGES,
        "reuters": Entry(
            about="9,100 news stories, 52 topics",
            file=REUTERS_FILE,
            load=lambda folder, _: load_reuters(folder),
        ),
        "adult": Entry(
            about="48,842 people, income above 50,000 dollars",
            file=ADULT_FILE,
            load=lambda folder, cache: load_adult(folder, cache=cache),
        ),
        "coimbra": Entry(
            about="116 women, breast cancer",
            file=COIMBRA_FILE,
            load=lambda folder, _: load_coimbra(folder),
        ),
        "maternal": Entry(
            about="1,014 records, 3 levels of maternal risk",
            file=MATERNAL_FILE,
            load=lambda folder, _: load_maternal(folder),
        ),
        "auction": Entry(
            about="2,043 runs, auction verified or not",
            file=AUCTION_FILE,
            load=lambda folder, _: load_auction(folder),
        ),
        "students": Entry(
            about="4,423 students, dropout, enrolled or graduate",
            file=STUDENTS_FILE,
            load=lambda folder, _: load_students(folder),
        ),
        "naticus": Entry(
            about="20,531 Android apps, malware or not",
            file=NATICUS_FILE,
            load=lambda folder, _: load_naticus(folder),
        ),
        "heart": Entry(about="920 patients of 4 hospitals", file=None, load=_heart, sites=True),
        "breast-cancer": Entry(
            about="569 tumours, malignant or benign",
            file=None,
            load=lambda *_: DataSet(name="breast-cancer", train=pool_of(breast_cancer())),
        ),
        "digits": Entry(
            about="1,797 hand-written digits of 8 x 8 pixels",
            file=None,
            load=lambda *_: DataSet(name="digits", train=pool_of(digits())),
        ),
    }
)
"""The data sets of the papers' experiments, or what stands in for them, and the packaged ones."""


def load_data_set(name: str, folder: Path | None = None, cache: Path | None = None) -> DataSet:
    """A data set by its name in `CATALOGUE`, with its loader's defaults.

    Args:
        name: of the data set.
        folder: of data sets; None for the environment's (`folder.data_folder`).
        cache: folder to keep decoded pixels and tables in; None keeps nothing.

    Raises:
        ConfigError: no such data set, or no folder where one is needed.
        DataError: its file is not there, or is damaged.
    """
    entry = _entry(name)
    return entry.load(Path() if entry.file is None else data_folder(folder), cache)


def load_image_set(name: str, folder: Path | None = None, cache: Path | None = None) -> ImageSet:
    """The bytes of a data set of images; arguments and errors as `load_data_set`.

    It looks at `IMAGES` alone, so that what is computed from images does not follow, in its digest
    of code, the readers of tables.

    Raises:
        ConfigError: also where the data set holds no images.
    """
    if name not in IMAGES:
        raise ConfigError(
            "not a data set of images", where="name", found=name, expected=", ".join(IMAGES)
        )
    return IMAGES[name].load_images(data_folder(folder), cache)


def _entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise ConfigError(
            "no such data set", where="name", found=name, expected=", ".join(CATALOGUE)
        )
    return CATALOGUE[name]

"""Skin lesions from four sources: the part of Fed-ISIC2019 that HAM10000 is."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, DataError
from securefair_lab.data.folder import DataFile, read_arrays
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.data.images.decoding import decode_images

HAM10000_FILE = DataFile(
    name="ham10000.npz",
    origin="WebP copies of HAM10000 (Tschandl et al. 2018, CC BY-NC 4.0) with the centres, targets"
    " and split of Fed-ISIC2019: arrays webp, offsets, lesion_id, dx, source, fed_isic_target,"
    " fed_isic_train",
)
HAM10000_NORMALISATION = Normalisation(mean=(0.763, 0.546, 0.570), deviation=(0.141, 0.153, 0.170))
"""Of HAM10000's pixels, as customary."""

ISIC_CLASSES = ("MEL", "NV", "BCC", "AK", "BKL", "DF", "VASC", "SCC")
"""The eight targets of Fed-ISIC2019, by their numbers."""

HAM_CLASSES = ("mel", "nv", "bcc", "akiec", "bkl", "df", "vasc")
"""The seven diagnoses of HAM10000, in the order of Fed-ISIC2019; `akiec` is its AK and SCC."""

LESION_TEST_PERCENT = 20
"""Share of lesions in the test part of split="lesion"."""


def load_ham10000(
    folder: Path,
    *,
    cache: Path | None = None,
    side: int = 64,
    target: Literal["isic", "diagnosis"] = "isic",
    split: Literal["published", "lesion"] = "published",
) -> ImageSet:
    """HAM10000: 10,015 colour images of skin lesions; the sites are its four sources.

    The sources are centres 1, 2, 3 and 5 of the six of Fed-ISIC2019: vidir_molemax (3,954
    images), vidir_modern (3,363), rosendahl (2,259), vienna_dias (439). Licence CC BY-NC 4.0:
    non-commercial use only.

    Args:
        folder: where ham10000.npz is.
        cache: folder to keep the decoded pixels in; None decodes every time.
        side: of the images, in pixels; the middle square of each is scaled to it.
        target: "isic" are the eight classes of Fed-ISIC2019, "diagnosis" the seven of HAM10000.
        split: "published" is Fed-ISIC2019's, by image: 760 of its 2,003 test images show a lesion
            that is in the training part too. "lesion" keeps all images of a lesion on one side,
            about a fifth of the lesions for testing, chosen by a hash of the lesion's name.

    Raises:
        ConfigError: an argument is out of range.
        DataError: ham10000.npz is not in the folder, or is damaged.
    """
    for name, value, accepted in (
        ("target", target, ("isic", "diagnosis")),
        ("split", split, ("published", "lesion")),
    ):
        if value not in accepted:
            raise ConfigError(
                "unknown choice", where=name, found=value, expected=", ".join(accepted)
            )
    if side < 1:
        raise ConfigError("out of range", where="side", found=side, expected="1 or more")
    path = HAM10000_FILE.find(folder)
    encoded, offsets, source = read_arrays(path, "webp", "offsets", "source")
    names: tuple[str, ...] = ISIC_CLASSES if target == "isic" else HAM_CLASSES
    if target == "isic":
        (labels,) = read_arrays(path, "fed_isic_target")
    else:
        (diagnosis,) = read_arrays(path, "dx")
        labels = np.array([_diagnosis(str(one)) for one in diagnosis])
    if split == "published":
        (in_train,) = read_arrays(path, "fed_isic_train")
    else:
        (lesions,) = read_arrays(path, "lesion_id")
        in_train = ~_tested(lesions)
    everything = Images(
        pixels=decode_images(encoded, offsets, name="ham10000", cache=cache, side=side),
        labels=labels.astype(np.int64),
        classes=len(names),
        sites=tuple(str(site) for site in source),
    )
    return ImageSet(
        name="ham10000",
        class_names=names,
        train=everything.take(np.flatnonzero(in_train)),
        test=everything.take(np.flatnonzero(~in_train)),
        normalisation=HAM10000_NORMALISATION,
    )


def _diagnosis(name: str) -> int:
    if name not in HAM_CLASSES:
        raise DataError(
            "unknown diagnosis",
            where=f"{HAM10000_FILE.name}, dx",
            found=name,
            expected=", ".join(HAM_CLASSES),
        )
    return HAM_CLASSES.index(name)


def _tested(lesions: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Whether each lesion's images are for testing: the same for one name, wherever it occurs."""

    def percentile(lesion: str) -> int:
        digest = blake2b(lesion.encode(), digest_size=8, person=b"sf-lesion-split").digest()
        return int.from_bytes(digest, "big") % 100

    return np.array([percentile(str(lesion)) < LESION_TEST_PERCENT for lesion in lesions])

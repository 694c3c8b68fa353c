"""Compressed images (JPEG, WebP) in one array of bytes, decoded once and kept."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data import cache_array, content_key
from securefair.errors import BackendUnavailableError, DataError


def decode_images(
    encoded: NDArray[np.uint8],
    offsets: NDArray[np.integer],
    *,
    name: str,
    cache: Path | None,
    side: int | None = None,
) -> NDArray[np.uint8]:
    """RGB pixels (B, H, W, 3) of B images, image i in the bytes offsets[i] to offsets[i + 1].

    Args:
        encoded: all files one after the other.
        offsets: B + 1 of them, rising.
        name: of the data set, for error messages and file names.
        cache: folder to keep the pixels in; None decodes every time.
        side: cut the middle square out and scale it to this many pixels a side; None leaves the
            images as they are, which must then be of one size.

    Raises:
        DataError: an image is damaged or of another size than the first; names it.
        BackendUnavailableError: Pillow is not installed.
    """
    key = content_key(encoded, np.asarray(offsets, dtype=np.int64), str(side))
    return cache_array(cache, name, key, lambda: _decode_all(encoded, offsets, name, side))


def _decode_all(
    encoded: NDArray[np.uint8], offsets: NDArray[np.integer], name: str, side: int | None
) -> NDArray[np.uint8]:
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(encoded):
        raise DataError(
            "offsets do not fit the bytes",
            where=name,
            found=f"{len(offsets)} offsets, {len(encoded)} bytes",
        )
    pixels: NDArray[np.uint8] | None = None
    for i, (start, end) in enumerate(pairwise(offsets.tolist())):
        image = _decode(encoded[start:end].tobytes(), f"{name}, image {i}", side)
        if pixels is None:
            pixels = np.empty((len(offsets) - 1, *image.shape), dtype=np.uint8)
        if image.shape != pixels.shape[1:]:
            raise DataError(
                "images of different sizes",
                where=f"{name}, image {i}",
                found=image.shape,
                expected=pixels.shape[1:],
            )
        pixels[i] = image
    assert pixels is not None  # two offsets or more: at least one image
    return pixels


def _decode(content: bytes, where: str, side: int | None) -> NDArray[np.uint8]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise BackendUnavailableError(
            "images need Pillow", hint="pip install 'securefair[vision]'"
        ) from error
    try:
        with Image.open(io.BytesIO(content)) as opened:
            image = opened.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise DataError("an image cannot be decoded", where=where, found=str(error)) from error
    if side is not None:
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        box = (left, top, left + short, top + short)
        image = image.resize((side, side), Image.Resampling.LANCZOS, box=box)
    return np.asarray(image, dtype=np.uint8)

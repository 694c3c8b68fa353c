"""One image file -> pixels, as frozen extractors take them: the middle square, scaled."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from securefair.data.warned import filtered
from securefair.errors import BackendUnavailableError, DataError

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp")

_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


def image_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The images in a folder, by name, and the names of what else lies there.

    Raises:
        DataError: the folder cannot be read, or there is no image in it.
    """
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(
            "the folder cannot be read", where=str(folder), found=error.strerror
        ) from error
    images = [path for path in found if path.suffix.lower() in ENDINGS and path.is_file()]
    if not images:
        raise DataError(
            "there is no image in the folder",
            where=str(folder),
            found=", ".join(path.name for path in found[:5]) or "nothing",
            expected=f"files that end in {', '.join(ENDINGS)}",
        )
    return images, [path.name for path in found if path not in set(images)]


def read_image(path: Path, side: int, *, where: str) -> NDArray[np.uint8]:
    """The middle square of an image as RGB, (side, side, 3); turned as its camera noted.

    Args:
        path: of a file of 8 bits a colour; grey becomes RGB.
        side: pixels that the square is scaled to (Lanczos).
        where: the place that names the file, for messages.

    Raises:
        DataError: it is not there, no such image, damaged, has 16 bits or several pages.
        BackendUnavailableError: Pillow is not installed.
    """
    with _opened(path, where) as image:
        from PIL import Image, ImageOps

        upright = ImageOps.exif_transpose(image).convert("RGB")
    short = min(upright.size)
    left, top = (upright.width - short) // 2, (upright.height - short) // 2
    box = (left, top, left + short, top + short)
    square = upright.resize((side, side), Image.Resampling.LANCZOS, box=box)
    return np.asarray(square, dtype=np.uint8)


def check_image(path: Path, *, where: str, whole: bool = False) -> None:
    """See that a file is such an image.

    Args:
        path: of the file.
        where: the place that names it, for messages.
        whole: whether every pixel is decoded, which takes milliseconds; otherwise the beginning.

    Raises:
        DataError, BackendUnavailableError: as `read_image`; of the beginning only, but for damage
            further on.
    """
    with _opened(path, where) as image:
        if whole:
            image.load()


@contextmanager
def _opened(path: Path, where: str) -> Iterator[Image]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise BackendUnavailableError(
            "images need Pillow", where=where, hint="pip install 'securefair[vision]'"
        ) from error
    # Pillow warns of images so large that they may be meant to fill the memory.
    harmful = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        with filtered("error", Image.DecompressionBombWarning):
            opened = Image.open(io.BytesIO(path.read_bytes()))
        with opened as image:
            _check_kind(image, path, where)
            yield image
    except FileNotFoundError as error:
        raise DataError(
            "the image is not there",
            where=where,
            found=str(path),
            hint="Paths are relative to the table's folder",
        ) from error
    except UnidentifiedImageError as error:
        empty = path.stat().st_size == 0
        raise DataError(
            "the file of the image is empty" if empty else "this is no image",
            where=where,
            found=path.name,
            expected=None if empty else f"an image such as {', '.join(ENDINGS)}",
            hint="Copy it again, or leave it out"
            if empty
            else "Export DICOM and other formats to PNG first, alike at every hospital",
        ) from error
    except (OSError, ValueError, SyntaxError, *harmful) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataError(
            "the image cannot be read",
            where=where,
            found=f"{path.name}: {why}",
            hint="Scale it down first, alike at every hospital"
            if isinstance(error, harmful)
            else "Copy it again, or leave it out",
        ) from error


def _check_kind(image: Image, path: Path, where: str) -> None:
    """Refuse what would lose most of itself without a word."""
    pages = getattr(image, "n_frames", 1)
    if image.mode not in _EIGHT_BITS or pages > 1:
        raise DataError(
            "not one image of 8 bits a colour",
            where=where,
            found=f"{path.name}: {f'{pages} pages' if pages > 1 else f'mode {image.mode}'}",
            expected="one image of 8 bits a colour",
            hint="Window or scale it to 8 bits, one page, alike at every hospital",
        )

"""Small files in the formats of the real data sets, and the real ones where they are."""

import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data sets; tests that need it skip where it is not."""
    named = os.environ.get("SECUREFAIR_DATA")
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no folder of data sets at {folder}: set SECUREFAIR_DATA")
    return folder


def encode_images(pixels, kind):
    """Bytes (uint8) and offsets of images (B, H, W, 3), as the real files hold them."""
    files = []
    for image in pixels:
        with io.BytesIO() as stream:
            options = {"lossless": True} if kind == "WEBP" else {"quality": 95}
            Image.fromarray(image).save(stream, kind, **options)
            files.append(np.frombuffer(stream.getvalue(), np.uint8))
    return np.concatenate(files), np.cumsum([0, *map(len, files)])


@pytest.fixture
def smooth_images():
    """Images that JPEG hardly changes: (count, height, width, 3), each of one colour gradient."""

    def make(count, height, width, seed=0):
        rng = np.random.default_rng(seed)
        corner = rng.integers(40, 200, size=(count, 1, 1, 3))
        slope = np.linspace(0, 40, height)[None, :, None, None] * np.ones((1, 1, width, 1))
        return (corner + slope).astype(np.uint8)

    return make


def write_idx(path, array):
    """An array of bytes in the IDX format of MNIST."""
    header = np.array([2048 + array.ndim, *array.shape], dtype=">u4")
    path.write_bytes(gzip.compress(header.tobytes() + array.tobytes()))


@pytest.fixture
def small_folder(tmp_path, smooth_images):
    """A folder with every image data set, of a few images each."""
    rng = np.random.default_rng(7)

    def grey(count):
        return rng.integers(0, 256, size=(count, 28, 28), dtype=np.uint8)

    np.savez(
        tmp_path / "mnist.npz",
        x_train=grey(20),
        y_train=np.repeat(np.arange(10, dtype=np.uint8), 2),
        x_test=grey(10),
        y_test=np.arange(10, dtype=np.uint8),
    )
    np.savez(
        tmp_path / "femnist12.npz",
        x=grey(48),
        y=np.tile(np.arange(2, dtype=np.uint8), 24),
        client=np.repeat(np.arange(12, dtype=np.uint8), 4),
    )
    arrays = {"classes": np.array([f"kind {c}" for c in range(10)])}
    for part, count in (("train", 20), ("test", 10)):
        encoded, offsets = encode_images(smooth_images(count, 32, 32), "JPEG")
        arrays |= {f"{part}_jpeg": encoded, f"{part}_offsets": offsets}
        arrays[f"{part}_y"] = (np.arange(count) % 10).astype(np.uint8)
    np.savez(tmp_path / "cifar10.npz", **arrays)
    encoded, offsets = encode_images(smooth_images(40, 72, 96), "WEBP")
    np.savez(
        tmp_path / "ham10000.npz",
        webp=encoded,
        offsets=offsets.astype(np.int32),
        lesion_id=np.array([f"HAM_{i // 2:07d}" for i in range(40)]),
        dx=np.array(["nv", "mel", "bcc", "akiec"] * 10),
        source=np.array(["vidir_modern"] * 25 + ["rosendahl"] * 15),
        fed_isic_target=np.array([1, 0, 2, 7] * 10, dtype=np.int8),
        fed_isic_train=np.arange(40) % 5 > 0,
    )
    clothes = tmp_path / "fashion-mnist"
    clothes.mkdir()
    for part, count in (("train", 20), ("t10k", 10)):
        write_idx(clothes / f"{part}-images-idx3-ubyte.gz", grey(count))
        labels = (np.arange(count) % 10).astype(np.uint8)
        write_idx(clothes / f"{part}-labels-idx1-ubyte.gz", labels)
    hundred = tmp_path / "cifar-100-binary"
    hundred.mkdir()
    (hundred / "fine_label_names.txt").write_text("".join(f"kind_{c}\n" for c in range(100)))
    for part, count in (("train", 20), ("test", 10)):
        planes = smooth_images(count, 32, 32).transpose(0, 3, 1, 2).reshape(count, -1)
        labels = np.column_stack([np.zeros(count), np.arange(count) * 4]).astype(np.uint8)
        (hundred / f"{part}.bin").write_bytes(np.hstack([labels, planes]).tobytes())
    for part in ("train", "valid", "test"):
        for label, kind in enumerate(("airplane", "ship")):
            place = tmp_path / "CINIC-10" / part / kind
            place.mkdir(parents=True)
            for i, image in enumerate(smooth_images(3, 32, 32, seed=label)):
                Image.fromarray(image).save(place / f"{i}.png")
    return tmp_path

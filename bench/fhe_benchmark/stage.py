"""How a stage begins: where it finds the others' files. It loads nothing but the standard library,
so that a stage can read while it starts.

The layout of folders and text files is that of the ml-inference workload of the FHE benchmarking
suite: io/SIZE/... between client and server, datasets/SIZE/... for the images, one image a line.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from pathlib import Path

IMAGES = {"single": 1, "small": 100, "medium": 1_000, "large": 10_000}
"""The four sizes of the workload, in its order: arguments 0 to 3."""


class Files:
    """Where a run of one size keeps everything: below SECUREFAIR_BENCHMARK, or here."""

    def __init__(self, size: str) -> None:
        root = Path(os.environ.get("SECUREFAIR_BENCHMARK", "."))
        self.size, self.images = size, IMAGES[size]
        data, io = root / "datasets" / size, root / "io" / size
        self.pixels, self.labels = data / "test_pixels.txt", data / "test_labels.txt"
        self.secret, self.server = io / "secret_key", io / "server"
        self.public = io / "public_keys"
        self.upload, self.download = io / "ciphertexts_upload", io / "ciphertexts_download"
        self.features, self.logits = io / "features.npy", io / "logits.npy"
        self.predictions = io / "encrypted_model_predictions.txt"

    @property
    def folders(self) -> list[Path]:
        """All that must exist before a run."""
        own = [self.secret, self.server, self.public, self.upload, self.download]
        return [self.pixels.parent, *own]


def new_key(folder: Path) -> Path:
    """A file with 256 random bits that its owner alone may read: the passphrase of a keystore."""
    path = key_file(folder)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(os.urandom(32).hex())
    return path


def key_file(folder: Path) -> Path:
    """Where `new_key` puts it."""
    return folder / "key"


def files() -> Files:
    """Those of the size that the command line names: 0 to 3, or its name.

    A stage lives for a second. Nothing of it is worth collecting, nor looking through when it ends.
    """
    gc.disable()
    atexit.register(gc.freeze)
    asked = sys.argv[1]
    return Files(list(IMAGES)[int(asked)] if asked.isdigit() else asked)

"""Weights in a file, small enough to ship: arrays by name, matrices and kernels in half precision.

A network is rounded to what the file holds before anything is measured, so that figures belong
to the stored weights.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch

from securefair.errors import DataError, ModelError
from securefair.model.networks import EncryptableNetwork
from securefair_lab.networks.reference import ReferenceName, reference_network


def save_weights(network: EncryptableNetwork, path: Path) -> None:
    """Write parameters and statistics as .npz, and round the network to what was written.

    Tensors of two and more axes become float16, vectors float32.

    Raises:
        ModelError: a weight does not fit half precision, or is not finite.
    """
    state = network.state_dict()
    with np.errstate(over="ignore"):  # refused below, by name
        arrays = {
            name: tensor.cpu().numpy().astype(np.float16 if tensor.dim() > 1 else np.float32)
            for name, tensor in state.items()
            if tensor.is_floating_point()
        }
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelError("a weight cannot be stored", where=name, found="an infinite or NaN")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    load_weights(network, path)


def load_weights(network: EncryptableNetwork, path: Path) -> None:
    """Read what `save_weights` wrote into a network of the same modules.

    Raises:
        DataError: the file is missing or not of this network.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (OSError, EOFError, TypeError, ValueError, BadZipFile) as error:
        raise DataError("weights cannot be read", where=str(path), found=str(error)) from error
    state = network.state_dict()
    expected = {n: tuple(t.shape) for n, t in state.items() if t.is_floating_point()}
    found = {name: array.shape for name, array in arrays.items()}
    if found != expected:
        wrong = sorted(n for n in found.keys() | expected.keys() if found.get(n) != expected.get(n))
        raise DataError(
            "these are another network's weights",
            where=str(path),
            found=f"{wrong[0]} of {found.get(wrong[0])}",
            expected=f"{expected.get(wrong[0])}",
        )
    with torch.no_grad():
        for name, array in arrays.items():
            state[name].copy_(torch.from_numpy(array))


def trained_network(name: ReferenceName, weights: Path | None = None) -> EncryptableNetwork:
    """A reference network with trained weights, in evaluation mode.

    Args:
        name: which one.
        weights: file of `save_weights`; None takes those that ship with the package, which are
            there for all but "derma".

    Raises:
        ConfigError: there is no such network.
        DataError: no weights ship with this network, or the file is not of it.
    """
    network = reference_network(name, seed=0)
    if weights is not None:
        load_weights(network, weights)
    else:
        shipped = files("securefair_lab").joinpath("weights", f"{name}.npz")
        if not shipped.is_file():
            raise DataError(
                "no weights ship with this network",
                where=name,
                hint=f"Train it: python lab/examples/train_network.py {name} --data FOLDER",
            )
        with as_file(shipped) as path:
            load_weights(network, path)
    return network.eval()

"""A teacher on disk: its model's numbers and what it agreed to, encrypted in a keystore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from securefair.circuit.planner import verified_plan
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.errors import ModelError, PlanError, StorageError
from securefair.exchange.saved import decoded
from securefair.model.foldable import Calibrated, Foldable
from securefair.model.folded import FoldedNetwork, Square, dense_network
from securefair.model.linear_maps import DenseMap
from securefair.storage import Keystore, KeystoreCost, Secret

SAVED_FORMAT = 5
ENTRY = "teacher"


@dataclass(frozen=True, eq=False)
class LoadedHead:
    """A head that was saved: it answers as the one it came from, and cannot be trained."""

    network: FoldedNetwork

    def folded(self) -> FoldedNetwork:
        """Its dense maps."""
        return self.network


class SavedMap(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One dense map: (out, in), then weights and bias as float64."""

    shape: tuple[int, int]
    weights: bytes
    bias: bytes

    def __repr__(self) -> str:
        """Weights are private and never print."""
        return f"SavedMap({self.shape}, redacted)"


class SavedTeacher(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a teacher is made from.

    Its schedule is of the own plan of what was agreed, which takes longer to find than to check.
    """

    format: int
    layers: tuple[SavedMap, ...]
    agreed: ExchangeSpec | None
    schedule: Schedule | None
    seed: bytes
    backend: str
    min_flooding_bits: int
    min_samples: int | None
    store: str | None
    max_numbers: float | None
    max_bits: float | None
    total_numbers: float | None

    def checked(self) -> Schedule | None:
        """The schedule.

        Raises:
            StorageError: it is no plan of what was agreed.
        """
        if self.agreed is not None and self.schedule is not None:
            try:
                verified_plan(self.agreed, self.schedule)
            except PlanError as error:
                raise StorageError(
                    "a saved plan is none of what was agreed",
                    found=str(error),
                    hint="Make the teacher anew, and save it",
                ) from error
        return self.schedule

    def model(self) -> LoadedHead:
        """The model.

        Raises:
            ModelError: its numbers do not fit each other.
        """
        try:
            layers = [
                DenseMap(
                    np.frombuffer(layer.weights, dtype="<f8").reshape(layer.shape),
                    np.frombuffer(layer.bias, dtype="<f8"),
                )
                for layer in self.layers
            ]
        except ValueError as error:
            raise ModelError("a saved model is damaged", found=str(error)) from error
        return LoadedHead(dense_network(*layers))


def saved_layers(model: Foldable) -> tuple[SavedMap, ...]:
    """A head's maps as bytes.

    Raises:
        ModelError: it is a network.
    """
    saved = []
    for layer in model.folded().layers:
        if isinstance(layer, Square):
            continue  # between any two maps of a head
        if not isinstance(layer, DenseMap) or isinstance(model, Calibrated):
            raise ModelError(
                "only heads can be saved with their teacher",
                found=type(model).__name__,
                hint="Save the network by its own means, and make a Teacher from it",
            )
        weights, bias = layer.weights.astype("<f8"), layer.bias.astype("<f8")
        saved.append(SavedMap((len(weights), weights.shape[1]), weights.tobytes(), bias.tobytes()))
    return tuple(saved)


def write_teacher(
    path: Path, passphrase: Secret, state: SavedTeacher, cost: KeystoreCost | None
) -> None:
    """A new keystore that holds the teacher."""
    secrets = {ENTRY: Secret(bytearray(msgspec.msgpack.encode(state)))}
    Keystore.create(path, passphrase, cost=cost, secrets=secrets).close()


def read_teacher(path: Path, passphrase: Secret) -> SavedTeacher:
    """The teacher in a keystore.

    Raises:
        StorageError: it holds none, or one of another version.
    """
    keystore = Keystore.open(path, passphrase)
    try:
        return decoded(keystore, SavedTeacher, SAVED_FORMAT, party=ENTRY)
    finally:
        keystore.close()

"""What a participant trains, by the words of a configuration: a head on features, or a network."""

from __future__ import annotations

from typing import Literal

from securefair.config import defaults
from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.heads import Head, build_head
from securefair.model.networks.head import NetworkHead
from securefair.model.networks.small import small_network
from securefair.model.plain_heads import HeadKind

ModelKind = HeadKind | Literal["network"]


def build_model(
    kind: ModelKind,
    own: Samples,
    *,
    hidden: int,
    network: str | None,
    seed: int,
    range_penalty: float = defaults.RANGE_PENALTY,
) -> Head:
    """A freshly initialised model for samples like these; equal arguments give equal parameters.

    Args:
        kind: "linear", "quadratic" or "network".
        own: the owner's training samples: width, classes, and the ranges inside a network.
        hidden: units of a quadratic head; ignored by others.
        network: name of a small network; ignored by heads.
        seed: of the parameters.
        range_penalty: of a network's activations in training; ignored by heads.

    Raises:
        ModelError: unknown kind, or the samples do not fit the network.
        ConfigError: no such network, or no such penalty.
    """
    width = int(own.features.shape[1])
    if kind == "network":
        if network is None:
            raise ModelError("a network needs a name", where="network", found=network)
        return NetworkHead(
            small_network(network, own.classes, seed=seed),
            own.classes,
            own.features,
            range_penalty=range_penalty,
        )
    return build_head(kind, width, hidden, own.classes, seed)

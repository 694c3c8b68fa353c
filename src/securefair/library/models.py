"""What everyone trains: modules and kinds of heads -> heads of one shape, before any training."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from securefair.circuit.spec import ExchangeSpec
from securefair.data import ParticipantData
from securefair.errors import ConfigError, ModelError
from securefair.model.plain_heads import HeadKind
from securefair.model.seeds import derive_seed

if TYPE_CHECKING:
    from torch import nn

    from securefair.model.heads import Head

    Model = HeadKind | nn.Module

LINEAR: HeadKind = "linear"
KINDS: tuple[HeadKind, ...] = ("quadratic", LINEAR)


@dataclass(frozen=True, eq=False)
class Models:
    """Everyone's model as it was given.

    Attributes:
        given: by hospital.
    """

    given: Mapping[str, Model]

    @classmethod
    def of(cls, model: Model | Mapping[str, Model], names: Sequence[str]) -> Models:
        """One model for everyone, or one each.

        Raises:
            ConfigError: a hospital has no model, or a model no hospital.
            ModelError: something is neither a module nor a kind of head.
        """
        given = model if isinstance(model, Mapping) else dict.fromkeys(names, model)
        if set(given) != set(names):
            raise ConfigError(
                "models and hospitals do not go together",
                where="model",
                found=", ".join(map(str, given)) or "no model",
                expected=", ".join(names),
            )
        for one in given.values():
            if is_module(one) and _is_network(one):
                raise ModelError(
                    "a network of one's own is not trained here",
                    where="model",
                    found=type(one).__name__,
                    expected="quadratic, linear, or a module of their shape",
                    hint="Train it, and let Teacher answer with it; or give what comes before its "
                    "last layer as extractor",
                )
            _check_model(one)
        return cls(given)

    @property
    def classes(self) -> int:
        """Most classes that a module tells apart; 0 without modules."""
        if not self.are_modules:
            return 0
        from securefair.model.modules import head_of

        return max(head_of(one).classes for one in self.given.values() if is_module(one))

    def heads(
        self, data: Sequence[ParticipantData], hidden: int, seed: int
    ) -> dict[str, Head] | None:
        """Everyone's head before any training; None where nobody gives a module, and a seed says
        where everyone starts.

        Raises:
            ModelError: encryption cannot evaluate a module, or one does not fit the data.
        """
        if not self.are_modules:
            return None
        return {own.name: _head(self.given[own.name], own, hidden, seed) for own in data}

    def hidden(self, heads: Mapping[str, Head] | None, hidden: int) -> int:
        """Width of everyone's hidden layer; 0 for linear heads.

        Args:
            heads: as `heads` gave them.
            hidden: units of a quadratic head whose owner gives a name.

        Raises:
            ModelError: shapes differ: one plan is for one shape.
        """
        if heads is None:
            units = {name: 0 if one == LINEAR else hidden for name, one in self.given.items()}
        else:
            units = {name: _hidden_units(head) for name, head in heads.items()}
        if len(set(units.values())) > 1:
            raise ModelError(
                "everyone's model must have the same shape",
                where="model",
                found=", ".join(f"{name}: {_words(count)}" for name, count in units.items()),
                hint="Give everyone the same layers; parameters may differ",
            )
        return next(iter(units.values()))

    @property
    def are_modules(self) -> bool:
        """Whether anyone has given a module, from whose parameters training starts."""
        return any(map(is_module, self.given.values()))

    def trained(self, found: Mapping[str, object]) -> dict[str, Any]:
        """Trained models as modules of the types that were given, or as the algorithm made them."""
        if not self.are_modules:
            return dict(found)
        from securefair.model.heads import Head
        from securefair.model.modules import module_of

        models: dict[str, Any] = {}
        for name, model in found.items():
            like = self.given[name]
            if is_module(like) and isinstance(model, Head):
                models[name] = module_of(model, like)
            else:
                models[name] = model
        return models


def is_module(given: object) -> TypeGuard[nn.Module]:
    """Whether it is a module of torch, which nothing is before somebody has loaded torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.nn.Module)


def _is_network(module: nn.Module) -> bool:
    from securefair.model.networks import NetworkHead
    from securefair.model.networks.builder import EncryptableNetwork

    return isinstance(module, EncryptableNetwork | NetworkHead)


def _check_model(given: object) -> None:
    if not (is_module(given) or (isinstance(given, str) and given in KINDS)):
        raise ModelError(
            "this is no model",
            where="model",
            found=str(given),
            expected="quadratic, linear, or a torch module (an object, not its class)",
        )


def kind_of_model(model: Model | Mapping[str, Model] | None) -> HeadKind | None:
    """The name of the kind of model that everyone is given; None where there is not one name."""
    given = list(model.values()) if isinstance(model, Mapping) else [model]
    for kind in KINDS:
        if given and all(isinstance(one, str) and one == kind for one in given):
            return kind
    return None


def gives_modules(model: Model | Mapping[str, Model] | None) -> bool:
    """Whether anyone gives a module, rather than the name of a kind of model.

    Raises:
        ModelError: somebody gives what is neither.
    """
    given = list(model.values() if isinstance(model, Mapping) else [model])
    for one in given:
        if one is not None:
            _check_model(one)
    return any(map(is_module, given))


def _hidden_units(head: Head) -> int:
    """Width of the hidden layer; 0 for a linear head.

    Raises:
        ModelError: it is a head of another kind.
    """
    from securefair.model.heads import LinearHead, QuadraticHead

    match head:
        case QuadraticHead():
            return head.hidden
        case LinearHead():
            return 0
    raise ModelError("unknown kind of head", where="model", found=type(head).__name__)


def suitable_q(data: Sequence[ParticipantData], hidden: int) -> int:
    """Numbers a class for the fewest samples and for heads with so many hidden units."""
    first = data[0].train
    features, samples = int(first.features.shape[1]), min(len(own.train) for own in data)
    return ExchangeSpec(
        features=features, classes=first.classes, samples=samples, hidden=hidden
    ).suitable_q


def _head(model: Model, own: ParticipantData, hidden: int, seed: int) -> Head:
    from securefair.model.heads import build_head
    from securefair.model.modules import head_of

    features, classes = int(own.train.features.shape[1]), own.train.classes
    if isinstance(model, str):
        return build_head(model, features, hidden, classes, derive_seed(seed, "head", own.name))
    head = head_of(model)
    if (head.features, head.classes) != (features, classes):
        raise ModelError(
            "the model does not fit the data",
            where=own.name,
            found=f"{head.features} features, {head.classes} classes",
            expected=f"{features} features, {classes} classes",
        )
    return head


def _words(hidden: int) -> str:
    return f"{hidden} hidden units" if hidden else "linear"

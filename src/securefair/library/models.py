"""What everyone trains: modules and kinds of heads -> heads of one shape, before any training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from securefair.circuit.spec import ExchangeSpec
from securefair.data import ParticipantData
from securefair.errors import ConfigError, ModelError
from securefair.model.heads import Head, HeadKind, LinearHead, QuadraticHead, build_head
from securefair.model.modules import head_of, module_of
from securefair.model.networks import NetworkHead
from securefair.model.networks.builder import EncryptableNetwork
from securefair.model.seeds import derive_seed

Model = HeadKind | nn.Module

KINDS: tuple[HeadKind, ...] = ("quadratic", "linear")


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
            if isinstance(one, EncryptableNetwork | NetworkHead):
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
        modules = [one for one in self.given.values() if isinstance(one, nn.Module)]
        return max((head_of(module).classes for module in modules), default=0)

    def heads(self, data: Sequence[ParticipantData], hidden: int, seed: int) -> dict[str, Head]:
        """Everyone's head before any training.

        Raises:
            ModelError: encryption cannot evaluate a module, one does not fit the data, or shapes
                differ: one plan is for one shape.
        """
        heads = {own.name: _head(self.given[own.name], own, hidden, seed) for own in data}
        units = {name: hidden_units(head) for name, head in heads.items()}
        if len(set(units.values())) > 1:
            raise ModelError(
                "everyone's model must have the same shape",
                where="model",
                found=", ".join(f"{name}: {_words(count)}" for name, count in units.items()),
                hint="Give everyone the same layers; parameters may differ",
            )
        return heads

    @property
    def are_modules(self) -> bool:
        """Whether anyone has given a module, from whose parameters training starts."""
        return any(isinstance(one, nn.Module) for one in self.given.values())

    def trained(self, found: Mapping[str, object]) -> dict[str, Any]:
        """Trained models as modules of the types that were given, or as the algorithm made them."""
        models: dict[str, Any] = {}
        for name, model in found.items():
            like = self.given[name]
            if isinstance(like, nn.Module) and isinstance(model, Head):
                models[name] = module_of(model, like)
            else:
                models[name] = model
        return models


def _check_model(given: object) -> None:
    if not (isinstance(given, nn.Module) or (isinstance(given, str) and given in KINDS)):
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
    return any(isinstance(one, nn.Module) for one in given)


def hidden_units(head: Head) -> int:
    """Width of the hidden layer; 0 for a linear head.

    Raises:
        ModelError: it is a head of another kind.
    """
    match head:
        case QuadraticHead():
            return head.hidden
        case LinearHead():
            return 0
    raise ModelError("unknown kind of head", where="model", found=type(head).__name__)


def suitable_q(data: Sequence[ParticipantData], heads: Mapping[str, Head]) -> int:
    """Numbers a class for the fewest samples and for heads of one shape."""
    head = heads[data[0].name]
    samples = min(len(own.train) for own in data)
    return ExchangeSpec(
        features=head.features, classes=head.classes, samples=samples, hidden=hidden_units(head)
    ).suitable_q


def _head(model: Model, own: ParticipantData, hidden: int, seed: int) -> Head:
    features, classes = int(own.train.features.shape[1]), own.train.classes
    if not isinstance(model, nn.Module):
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

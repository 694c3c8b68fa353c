"""What two sides agree on before any parameter exists: the public constants of an exchange."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral, Real

import msgspec

from securefair.config import defaults
from securefair.errors import PlanError
from securefair.releases import Release, exchanged_releases, release_of

MAX_WEIGHT_BITS = 14
"""Integer weights fit the signed 16-bit digit of the kernels."""

MAX_EXACT_BITS = 53 - 31
"""Bits left for weights and the number of inputs when a float64 sum of residues is exact."""


MAX_SIZE = 1 << 20
"""Most samples, features, units, classes or numbers: planning takes time in proportion."""

MAX_MAPS = 32
MAX_LOG2_WEIGHT = 40

MAX_BOUND = 2.0**20
"""Bounds beyond this or below its inverse cannot be meant."""


class HeadBounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Public bounds about features and models; nothing here may depend on private weights.

    Attributes:
        feature: largest |feature|.
        feature_norm: largest Euclidean norm of a sample's features; None for what `feature`
            implies, feature * sqrt(d).
        row_norm: Euclidean norm of every hidden unit's weights with its bias. Heads are balanced
            to it: what a unit loses in the first layer its square gains in the second.
        output_weight: largest |output weight| after balancing.
        output_l1, output_l2: largest norms of a row of output weights after balancing.
        logit: largest |logit|.
    """

    feature: float = 1.0
    feature_norm: float | None = None
    row_norm: float = 1.0
    output_weight: float = 16.0
    output_l1: float = 128.0
    output_l2: float = 32.0
    logit: float = 32.0


class LayerBounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Public bounds about one map of a model, and the squares that follow it.

    Attributes:
        outputs: values that the map computes.
        summed: how many of their squares make one value of the next map: 0 where they are not
            squared, 1 for plain squares, 4 for squares under a 2x2 pool.
        log2_scale: weights are integers, value = integer / 2^log2_scale.
        max_integer: largest |integer weight|.
        l1, l2: largest norms of a row of weights.
        bound: largest |output|, before squares.
        multiply_adds: products for one sample. It only tells the cost.
    """

    outputs: int
    summed: int = 0
    log2_scale: int
    max_integer: int
    l1: float
    l2: float
    bound: float
    multiply_adds: int = 0

    @property
    def values(self) -> int:
        """What the next map reads."""
        return self.outputs // max(1, self.summed)


_WHOLE = (
    *("features", "classes", "samples", "hidden", "q"),
    *("flooding_bits", "weight_bits", "answers"),
)
"""Fields of a spec that are whole numbers."""


class ExchangeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An exchange in words a user knows; the planner turns it into parameters.

    Attributes:
        features: d, width of the student's features.
        hidden: units of the quadratic layer, 0 for a linear head.
        classes: M, width of the logits; one logit may stand for two classes.
        samples: B, the student's samples; they fill ceil(B / (N/2)) blocks.
        release: what leaves the encryption (protocol.md section 2).
        basis: basis of a projection: coefficients of the message polynomial, or the student's rows.
        q: released numbers per class of a projection.
        flooding_bits: s, statistical hiding of all noise that depends on the teacher.
        precision: largest error of a logit over the range of logits, of encryption alone: against
            the head with weights of `weight_bits`, whose rounding comes on top.
        weight_bits: bits of the largest integer weight.
        bounds: public bounds about features and models; of a network, features and logits.
        network: the maps of a whole network instead of a head, `hidden` being 0.
        answers: to one upload. Seconds and bytes count so often when a plan is chosen; more or
            fewer may be given. Both sides name the same number, as of everything here.
    """

    features: int
    classes: int
    samples: int
    hidden: int = defaults.HIDDEN
    release: str = defaults.RELEASE
    basis: str = defaults.BASIS
    q: int = defaults.Q
    flooding_bits: int = defaults.FLOODING_BITS
    precision: float = defaults.PRECISION
    weight_bits: int = defaults.WEIGHT_BITS
    bounds: HeadBounds = HeadBounds()
    network: tuple[LayerBounds, ...] = ()
    answers: int = defaults.ANSWERS

    def __post_init__(self) -> None:
        """Make int of other whole numbers, such as numpy's; what is none stays (`check_spec`)."""
        for field in _WHOLE:
            value = getattr(self, field)
            if type(value) is not int and isinstance(value, Integral):
                msgspec.structs.force_setattr(self, field, operator.index(value))

    @property
    def feature_norm(self) -> float:
        """Largest Euclidean norm of a sample's features."""
        given = self.bounds.feature_norm
        return self.bounds.feature * math.sqrt(self.features) if given is None else given

    @property
    def hidden_bound(self) -> float:
        """Largest |hidden value| before the square: Cauchy-Schwarz on features and a one."""
        return self.bounds.row_norm * math.sqrt(self.feature_norm**2 + 1)

    @property
    def parameters(self) -> int | None:
        """Numbers that training changes in a head of that shape; None for a network."""
        if self.network:
            return None
        if not self.hidden:
            return self.classes * (self.features + 1)
        first, second = self.hidden * (self.features + 1), self.classes * (self.hidden + 1)
        return first + second + 2  # the square's gain and slope

    @property
    def suitable_q(self) -> int:
        """Numbers per class that leave samples and head undetermined, and so get answers at all."""
        most = min(defaults.Q, self.samples // 2)
        if self.parameters is not None:
            most = min(most, self.parameters // self.classes)
        return max(1, most)

    @property
    def layers(self) -> tuple[LayerBounds, ...]:
        """Public bounds about every map: a network's, or those of a head of one or two."""
        return self.network or _head_layers(self)

    @property
    def leaves(self) -> Release:
        """What leaves the encryption."""
        return release_of(self.release)

    @property
    def sends_predictions(self) -> bool:
        """The student encrypts its predictions for every answer."""
        return self.leaves.predictions

    @property
    def multiplies(self) -> bool:
        """The logits are multiplied with something else that is encrypted."""
        return self.leaves.factors(self) > 0

    @property
    def student_basis(self) -> bool:
        """Features travel with the student's encrypted basis."""
        return self.multiplies and not self.sends_predictions


@lru_cache(maxsize=256)
def _head_layers(spec: ExchangeSpec) -> tuple[LayerBounds, ...]:
    bounds, bits = spec.bounds, spec.weight_bits
    output = LayerBounds(
        outputs=spec.classes,
        log2_scale=bits - math.ceil(math.log2(bounds.output_weight)),
        max_integer=1 << bits,
        l1=bounds.output_l1,
        l2=bounds.output_l2,
        bound=bounds.logit,
        multiply_adds=spec.classes * (spec.hidden or spec.features),
    )
    if not spec.hidden:
        return (output,)
    log2_scale = bits - math.ceil(math.log2(bounds.row_norm))
    # Rounding d weights by up to half a unit each lengthens a row by at most sqrt(d) / 2 units.
    l2 = bounds.row_norm + math.sqrt(spec.features) * 2.0 ** (-log2_scale - 1)
    hidden = LayerBounds(
        outputs=spec.hidden,
        summed=1,
        log2_scale=log2_scale,
        max_integer=1 << bits,
        l1=l2 * math.sqrt(spec.features),
        l2=l2,
        bound=spec.hidden_bound,
        multiply_adds=spec.hidden * spec.features,
    )
    return hidden, output


def check_spec(spec: ExchangeSpec) -> None:
    """Refuse what no parameters could grant.

    Raises:
        PlanError: names the field, and the nearest possible value where there is one.
    """
    if not isinstance(spec, ExchangeSpec):
        raise PlanError(
            "this is no spec", found=type(spec).__name__, expected="securefair.ExchangeSpec(...)"
        )
    if isinstance(spec.hidden, Sequence):
        raise PlanError(
            "a head has one hidden layer; a model of more layers is a network",
            where="hidden",
            found=spec.hidden,
            expected="one width, or 0",
            hint="Give bounds of every layer as `network`, and a NetworkHead as the model",
        )
    _check_types(spec)
    _one_of("release", spec.release, exchanged_releases())
    fewest = spec.leaves.fewest
    sizes = {"features": 1, "classes": 1, "samples": fewest, "hidden": 0, "q": 1, "answers": 1}
    for field, least in sizes.items():
        if not isinstance(getattr(spec, field), Integral):
            raise PlanError(
                "this is not a whole number",
                where=field,
                found=repr(getattr(spec, field)),
                expected=f"{least} to {MAX_SIZE}",
            )
        _within(field, getattr(spec, field), least, MAX_SIZE)
    _within("flooding_bits", spec.flooding_bits, 0, 60)
    _within("weight_bits", spec.weight_bits, 2, MAX_WEIGHT_BITS)
    _within("precision", spec.precision, 2.0**-40, 0.5)
    for field in HeadBounds.__struct_fields__:
        bound = getattr(spec.bounds, field)
        if bound is not None:
            _within(f"bounds.{field}", bound, 1 / MAX_BOUND, MAX_BOUND)
    spec.leaves.check(spec)
    if spec.network:
        _check_network(spec)
        return
    widest = max(spec.features, spec.hidden)
    if widest.bit_length() + spec.weight_bits > MAX_EXACT_BITS:
        raise PlanError(
            "sums over that many inputs are not exact with weights of that many bits",
            where="weight_bits",
            found=f"{spec.weight_bits} bits for {widest} inputs",
            expected=f"at most {MAX_EXACT_BITS - widest.bit_length()} bits",
            hint="Lower weight_bits, or reduce the features",
        )


def _check_types(spec: ExchangeSpec) -> None:
    """What msgspec checks of a spec that arrives, and not of one that is made here."""
    if not isinstance(spec.bounds, HeadBounds):
        raise PlanError(
            "these are no bounds",
            where="bounds",
            found=type(spec.bounds).__name__,
            expected="securefair.HeadBounds(...)",
        )
    if not all(isinstance(one, LayerBounds) for one in spec.network):
        raise PlanError("these are no bounds of layers", where="network", expected="LayerBounds")
    names = [f"bounds.{one}" for one in HeadBounds.__struct_fields__]
    values = [getattr(spec.bounds, one) for one in HeadBounds.__struct_fields__]
    for name, value in zip(("precision", *names), (spec.precision, *values), strict=True):
        if not (isinstance(value, Real) or (value is None and name == "bounds.feature_norm")):
            raise PlanError("this is not a number", where=name, found=repr(value))
    for name in ("flooding_bits", "weight_bits"):
        if not isinstance(getattr(spec, name), Integral):
            raise PlanError(
                "this is not a whole number", where=name, found=repr(getattr(spec, name))
            )


def _check_network(spec: ExchangeSpec) -> None:
    _within("hidden", spec.hidden, 0, 0)
    _within("network", len(spec.network), 1, MAX_MAPS)
    for index, bounds in enumerate(spec.network):
        at = f"network[{index}]"
        _within(f"{at}.outputs", bounds.outputs, 1, MAX_SIZE)
        _within(f"{at}.summed", bounds.summed, 0, bounds.outputs)
        _within(f"{at}.log2_scale", bounds.log2_scale, 0, MAX_LOG2_WEIGHT)
        _within(f"{at}.max_integer", bounds.max_integer, 1, (1 << (MAX_WEIGHT_BITS + 1)) - 1)
        _within(f"{at}.multiply_adds", bounds.multiply_adds, 0, MAX_SIZE**2)
        for field in ("l1", "l2", "bound"):
            _within(f"{at}.{field}", getattr(bounds, field), 1 / MAX_BOUND, MAX_BOUND)
        if bounds.outputs % max(1, bounds.summed):
            raise PlanError(
                "squares do not divide into equal sums",
                where=f"{at}.summed",
                found=bounds.summed,
                expected=f"a divisor of {bounds.outputs}",
            )
    last = spec.network[-1]
    if (last.values, last.summed, last.bound) != (spec.classes, 0, spec.bounds.logit):
        raise PlanError(
            "a network ends with the logits, unsquared and within their bound",
            where=f"network[{len(spec.network) - 1}]",
            found=f"{last.values} values of sums of {last.summed} squares within {last.bound:g}",
            expected=f"{spec.classes} values within {spec.bounds.logit:g}",
        )


def _within(field: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:  # NaN is not within
        raise PlanError("out of range", where=field, found=value, expected=f"{least} to {most}")


def _one_of(field: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise PlanError("unknown choice", where=field, found=value, expected=", ".join(choices))

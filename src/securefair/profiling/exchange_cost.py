"""One exchange as both sides would hold it, measured: what a head costs under encryption."""

from __future__ import annotations

import math
from statistics import median
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from torch import nn

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.backends import kernels
from securefair.config import defaults
from securefair.config.keys import closest
from securefair.errors import ConfigError, ModelError
from securefair.exchange.compile import bounds_by_shape
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.exchange.upload import ReceivedUpload
from securefair.model.foldable import Foldable
from securefair.model.heads import Head
from securefair.model.modules import head_of
from securefair.model.networks import EncryptableNetwork, NetworkHead
from securefair.model.networks.head import CALIBRATION_SAMPLES
from securefair.profiling.dry_exchange import Material, rounding_error, synthetic
from securefair.profiling.measure import Stopwatch, peak_memory, reset_peak_memory

CLEARTEXT_BYTES = 8
"""A float64 feature as the student holds it."""


class ExchangeCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one exchange costs; everything that a benchmark should say about it.

    Attributes:
        release: what leaves the encryption.
        backend, threads: who computed, and on how many threads.
        ring_degree, modulus_bits, limbs: parameters; bits of all primes, fresh limbs.
        level: level of the answer that travels; 0 is the last.
        slots_used, slots_available: samples, and how many the blocks have room for.
        key_bytes, feature_bytes, query_bytes, answer_bytes: on the wire.
        expansion: encrypted features over float64 features.
        key_seconds, encrypt_seconds, open_seconds: the student's, once; encryption with preparing
            the reconstruction, opening with reconstructing.
        receive_seconds, answer_seconds: the teacher's, medians.
        error: largest difference of a released number from the clear backend's.
        error_bound: what the plan promises for it.
        rounding_error: how far rounding the head's weights to integers moves a logit of the
            synthetic samples at most; neither error nor its bound contain it.
        peak_bytes: largest memory of this process and its children meanwhile, both sides
            together; 0 where the system does not tell.
    """

    release: str
    backend: str
    threads: int
    ring_degree: int
    modulus_bits: float
    limbs: int
    level: int
    slots_used: int
    slots_available: int
    key_bytes: int
    feature_bytes: int
    query_bytes: int
    answer_bytes: int
    expansion: float
    key_seconds: float
    encrypt_seconds: float
    open_seconds: float
    receive_seconds: float
    answer_seconds: float
    error: float
    error_bound: float
    rounding_error: float
    peak_bytes: int

    @property
    def bytes(self) -> int:
        """Everything that one exchange sends, keys and features included."""
        return self.key_bytes + self.feature_bytes + self.query_bytes + self.answer_bytes

    @property
    def seconds(self) -> float:
        """The teacher's: from uploaded bytes to the answer's bytes."""
        return self.receive_seconds + self.answer_seconds


class PreparedExchange:
    """A student that has encrypted synthetic samples, and a teacher ready to receive them.

    Args:
        spec: the exchange.
        head: the teacher's model; None for random weights.
        backend: engine of both sides.

    Raises:
        PlanError: the spec cannot be granted.
        ModelError: the head does not fit the spec, or its bounds.
    """

    def __init__(
        self, spec: ExchangeSpec, head: Foldable | None = None, *, backend: str = defaults.BACKEND
    ) -> None:
        reset_peak_memory()
        self.plan: ExchangePlan = plan_exchange(spec)
        self._backend = backend
        material: Material = synthetic(self.plan)
        self._head: Foldable = material.model if head is None else head
        self._samples = material.samples
        self._seconds = Stopwatch()
        with self._seconds.stage("keys"):
            self._student = Student(spec, backend=backend, max_openings=None)
        with self._seconds.stage("encrypt"):
            self._features, self._basis = self._student.encrypt_features(material.samples)
        self._query = b""
        if material.predictions is not None:
            self._query = self._student.encrypt_predictions(material.predictions)
        self._teacher = Teacher(self._head, spec, backend=backend, max_numbers=math.inf)

    @property
    def feature_bytes(self) -> int:
        """Of the upload, with the basis where there is one."""
        return len(self._features) + len(self._basis)

    def receive(self) -> ReceivedUpload:
        """The teacher's half that happens once a data epoch."""
        plan = self.plan
        return self._teacher.receive(
            plan.spec, b"", self._student.public_keys, self._features, self._basis
        )

    def evaluate(self, upload: ReceivedUpload) -> bytes:
        """The teacher's half that every answer costs."""
        try:
            return self._teacher.evaluate(upload, self._query)
        except ModelError as error:  # whoever measures owns the model
            raise (error.__cause__ or error) from None

    def serve(self) -> bytes:
        """All that the teacher does, from uploaded bytes to the answer's bytes."""
        return self.evaluate(self.receive())

    def open(self, answer: bytes) -> NDArray[np.float64]:
        """What the student learns: the released numbers."""
        return self._student.open_evaluated(answer).released

    def cost(self, *, repeats: int = 3) -> ExchangeCost:
        """Measure; medians over so many answers, after one that does not count."""
        self.serve()
        receive, answer, data = [], [], b""
        for _ in range(repeats):
            started = perf_counter()
            upload = self.receive()
            received = perf_counter()
            data = self.evaluate(upload)
            receive.append(received - started)
            answer.append(perf_counter() - received)
        with self._seconds.stage("open"):
            released = self.open(data)
        return self._describe(data, released, median(receive), median(answer))

    def _describe(
        self, data: bytes, released: NDArray[np.float64], receive: float, answer: float
    ) -> ExchangeCost:
        peak = peak_memory()  # before the clear twin adds its own
        plan, public, seconds = self.plan, self._student.public_keys, self._seconds.seconds
        spec, params = plan.spec, plan.params
        return ExchangeCost(
            release=spec.release,
            backend=self._backend,
            threads=kernels.describe().threads,
            ring_degree=params.ring_degree,
            modulus_bits=round(params.log_qp, 1),
            limbs=params.limbs,
            level=plan.answer.level,
            slots_used=spec.samples,
            slots_available=plan.places,
            key_bytes=len(public.encryption) + len(public.evaluation),
            feature_bytes=self.feature_bytes,
            query_bytes=len(self._query),
            answer_bytes=len(data),
            expansion=len(self._features) / (spec.samples * spec.features * CLEARTEXT_BYTES),
            key_seconds=seconds["keys"],
            encrypt_seconds=seconds["encrypt"],
            open_seconds=seconds["open"],
            receive_seconds=receive,
            answer_seconds=answer,
            error=float(np.abs(released - self._clear()).max()),
            error_bound=plan.error_bound,
            rounding_error=rounding_error(plan, self._head, self._samples),
            peak_bytes=peak,
        )

    def _clear(self) -> NDArray[np.float64]:
        twin = PreparedExchange(self.plan.spec, self._head, backend="clear")
        return twin.open(twin.serve())


def measurable(model: Head | nn.Module) -> Head:
    """A head or a module of a shape that encryption evaluates, as a head.

    A network of `he_network` is balanced on samples drawn at random, as its owner's are not known.

    Raises:
        ModelError: encryption evaluates no such module.
    """
    if not isinstance(model, EncryptableNetwork):
        return head_of(model)
    width = math.prod(model.input_shape)
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (CALIBRATION_SAMPLES, width))
    return NetworkHead(model, model.logits(drawn[:1]).shape[1], drawn)


CHOSEN = tuple(
    name
    for name in ExchangeSpec.__struct_fields__
    if name not in ("features", "classes", "samples", "hidden", "release")
)
"""Fields of a spec that neither a head nor another argument says."""


def spec_for(head: Head, samples: int, release: str, **settings: Any) -> ExchangeSpec:
    """The spec for a student of that many samples and a given head.

    Args:
        head: its sizes are asked for.
        samples: the student's.
        release: what leaves the encryption.
        settings: any other field of `ExchangeSpec`, such as q, precision or bounds. Of a network
            bounds of its layers follow from its shape, with room for training.

    Raises:
        ConfigError: another name, or one that the head says itself.
    """
    for name in settings:
        if name not in CHOSEN:
            near = closest(name, CHOSEN)
            raise ConfigError(
                "an exchange has no such field to choose",
                where=name,
                expected=", ".join(CHOSEN),
                hint=f"Did you mean {near}" if near else None,
            )
    if isinstance(head, NetworkHead):
        bits = settings.setdefault("weight_bits", defaults.WEIGHT_BITS)
        network = bounds_by_shape(head.folded(), weight_bits=bits)
        settings.setdefault("network", network)
        settings.setdefault("bounds", HeadBounds(logit=network[-1].bound))
        return ExchangeSpec(
            features=head.features,
            hidden=0,
            classes=head.classes,
            samples=samples,
            release=release,
            **settings,
        )
    layers = head.folded().weighted
    return ExchangeSpec(
        features=head.features,
        hidden=len(layers[0].bias) if len(layers) > 1 else 0,
        classes=head.classes,
        samples=samples,
        release=release,
        **settings,
    )

"""The student of one exchange: data and the secret key.

A student may be saved and go on in another process: one asks, another opens what comes back. What
it saves holds its secret key and lies encrypted in a keystore; patients' data are not in it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import ExchangePlan, plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.config import defaults
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError, LedgerError
from securefair.exchange import steps
from securefair.exchange.binding import BOUND_BYTES, CHECK_BYTES, unbind
from securefair.exchange.given import (
    check_classes,
    check_temperature,
    probabilities,
    unlabelled_features,
)
from securefair.exchange.opened import Opened
from securefair.exchange.request import (
    REQUEST_FORMAT,
    Carried,
    Request,
    check_bytes,
    decode_request,
    encode_request,
)
from securefair.exchange.saved import (
    MAX_OPENINGS,
    SAVED_FORMAT,
    CountedOpenings,
    LogitMap,
    NeverPickled,
    Openings,
    SavedStudent,
    StoredOpenings,
    exported_keys,
    path_of,
    read_student,
    unlocked,
    write_student,
)
from securefair.model.kernel import EXACT_SAMPLES, SampleKernel
from securefair.model.plausibility import SmoothPrior
from securefair.model.projection import public_rows, student_basis
from securefair.model.reconstruction import Reconstructor
from securefair.storage import KeystoreCost, Secret

Array = NDArray[np.float64]
Floats = NDArray[np.floating]


class Student(NeverPickled):
    """Owns data and the secret key. Nothing it returns as bytes reveals a sample.

    Args:
        spec: what both sides agreed on; `spec.samples` is this student's number of samples.
        backend: which encryption engine to use ("rns", "seal", "clear").
        seed: public seed of a projection's basis; fixed for a data epoch.
        max_openings: answers that one key may open, then `rotate`; None for any number. What is
            opened tells a dishonest teacher of the key, a little each time
            (docs/threat-model.md).
        keys: of an earlier student of this spec (`export_keys`); None makes new ones. Only with
            `max_openings=None`: whoever brings keys counts their openings itself.

    Raises:
        PlanError: the spec cannot be granted.
        EncryptionError: the keys are not of this spec.
        LedgerError: no limit that one can count to, or keys whose count would begin again.
    """

    def __init__(
        self,
        spec: ExchangeSpec,
        *,
        backend: str = defaults.BACKEND,
        seed: bytes = b"",
        max_openings: int | None = MAX_OPENINGS,
        keys: Secret | None = None,
    ) -> None:
        counts = (
            isinstance(max_openings, int | np.integer)
            and not isinstance(max_openings, bool)
            and max_openings >= 1
        )
        if max_openings is not None and (keys is not None or not counts):
            raise LedgerError(
                "not a limit of openings" if keys is None else "these keys come without a count",
                where="max_openings",
                found=max_openings,
                expected="1 or more, or None" if keys is None else "None",
                hint=None if keys is None else "Student.save and Student.load keep the count",
            )
        plan = plan_exchange(spec, coefficients=get_backend(backend).packs_coefficients)
        self._start(plan, backend, seed, None if max_openings is None else int(max_openings))
        if keys is None:
            self.rotate()
            return
        public, secret = exported_keys(keys)
        self._keys = get_backend(backend).restore_keys(self.plan.params, public, secret)

    def export_keys(self) -> Secret:
        """All keys, for the keystore of a host that counts what they open itself.

        Raises:
            LedgerError: this student counts openings; `save` keeps keys and count together.
            BackendUnavailableError: the engine keeps its keys to itself.
        """
        if self._openings.most is not None:
            raise LedgerError(
                "the openings of these keys are counted here", hint="Student.save keeps the count"
            )
        public = self.public_keys
        parts = (public.encryption, public.evaluation, self._keys.export().reveal())
        return Secret(bytearray(msgspec.msgpack.encode(parts)))

    def _start(
        self, plan: ExchangePlan, backend: str, seed: bytes, max_openings: int | None
    ) -> None:
        self.plan: ExchangePlan = plan
        self.seed = seed
        self._backend = backend
        self._basis = steps.public_basis(self.plan, seed)
        self._openings: Openings = CountedOpenings(max_openings)
        self._reconstruction: LogitMap | None = None
        self._prior: SmoothPrior | None = None
        self._asked: bytes | None = None

    def rotate(self) -> None:
        """New keys, which have opened nothing yet: request again; old answers no longer open."""
        self._keys = get_backend(self._backend).generate_keys(
            self.plan.params,
            relinearization=self.plan.relinearization_limbs,
            galois=self.plan.galois_limbs,
            element=self.plan.galois_element,
        )
        self._openings = CountedOpenings(self._openings.most)
        self._reconstruction = None
        self._asked = None

    def save(
        self,
        path: str | Path,
        passphrase: str | Secret | None = None,
        *,
        passphrase_file: str | Path | None = None,
        cost: KeystoreCost | None = None,
    ) -> None:
        """Keep keys and what opening needs in a new keystore file, encrypted, of mode 0600.

        Args:
            path: of the file, which must not exist.
            passphrase: that opens it; or give `passphrase_file`, or have systemd give the
                credential `securefair-passphrase` (`storage.unlock`).
            passphrase_file: a file that only its owner may read.
            cost: of a guess at the passphrase.

        This object and every loaded one count their openings apart: use one of them.

        Raises:
            StorageError: the file exists or cannot be written, or there is no passphrase, or one of
                fewer than 8 characters.
            BackendUnavailableError: the engine keeps its keys to itself.
        """
        state = SavedStudent(
            format=SAVED_FORMAT,
            spec=self.plan.spec,
            schedule=self.plan.schedule,
            backend=self._backend,
            seed=self.seed,
            secret=self._keys.export().reveal(),
            public_key=self.public_keys.encryption,
            evaluation_keys=self.public_keys.evaluation,
            reconstruction=self._reconstruction,
            asked=self._asked,
        )
        opens = unlocked(passphrase, passphrase_file, new=True)
        write_student(path_of(path), opens, state, self._openings.left, cost)

    @classmethod
    def load(
        cls,
        path: str | Path,
        passphrase: str | Secret | None = None,
        *,
        passphrase_file: str | Path | None = None,
    ) -> Student:
        """The student that was saved; answers that it opens are counted in the file.

        Raises:
            StorageError: the file is missing, damaged, of another version or open to others, or
                the passphrase is wrong.
            PlanError: this version plans differently.
        """
        keystore, state = read_student(path_of(path), unlocked(passphrase, passphrase_file))
        student = cls.__new__(cls)
        student._start(verified_plan(state.spec, state.schedule), state.backend, state.seed, None)
        student._openings = StoredOpenings(keystore)
        public = PublicKeys.read(state.public_key, state.evaluation_keys)
        secret = Secret(state.secret)
        student._keys = get_backend(state.backend).restore_keys(student.plan.params, public, secret)
        student._reconstruction, student._asked = state.reconstruction, state.asked
        return student

    @property
    def public_keys(self) -> PublicKeys:
        """What the teacher needs of this student's keys."""
        return self._keys.public

    def encrypt_features(self, samples: Samples | Floats) -> tuple[bytes, bytes]:
        """Encrypted features and, for a student basis, the encrypted basis (else empty).

        Also prepares the reconstruction of logits, which depends on the samples only.

        Args:
            samples: with labels; or features (B, d) alone, where no projection has to be
                reconstructed. Then nothing says how plausible an answer is.

        Raises:
            DataError: the samples do not fit the plan's shape, classes or bounds, or lack labels.
        """
        plan, self._asked = self.plan, None
        if isinstance(samples, Samples):
            check_classes(plan.spec, samples)
            slots, rows = steps.pack(plan, samples.features), self.prepare(samples)
        else:
            slots, rows = steps.pack(plan, unlabelled_features(plan, samples)), None
        features = steps.encrypt(self._keys.encryptor, plan.features, slots)
        if rows is None or plan.factors is None:
            return features, b""
        packed = steps.pack_factors(plan, rows.T * _row_scale(rows))
        return features, steps.encrypt(self._keys.encryptor, plan.factors, packed)

    def prepare(self, samples: Samples) -> Array | None:
        """Prepare the reconstruction of logits, which depends on the samples only.

        For a student that goes on after its process ended, with features that teachers have.

        Returns:
            The rows (q, B) of the projection; None where nothing is projected.
        """
        plan = self.plan
        rows = None
        if plan.spec.student_basis:
            rows = student_basis(samples, plan.spec.q)
        elif plan.spec.leaves.rows:
            signs = self._basis.signs.astype(np.float64)
            n = plan.ring_degree
            rows = public_rows(n, self._basis.coefficients, plan.spec.samples, signs)
        if rows is not None:
            # A student basis travels scaled to a peak of 1, and what is opened is scaled back.
            scale = float(np.abs(rows).max()) if plan.spec.student_basis else 1.0
            kernel = SampleKernel(samples)
            found = Reconstructor(samples, rows, plan.noise_std * scale, kernel=kernel)
            row_scale = None if plan.factors is None else _row_scale(rows)
            self._reconstruction = LogitMap.of(found, row_scale)
            self._prior = SmoothPrior(samples, rows, plan.grid * scale, kernel=kernel)
        elif plan.spec.leaves.whole and len(samples) <= EXACT_SAMPLES:
            self._prior = SmoothPrior(samples, None, plan.grid)
        return rows

    def encrypt_predictions(self, predictions: Array) -> bytes:
        """Encrypted softmax outputs (B, M), which `loss` and `class_sums` weigh logits with.

        Raises:
            DataError: not probabilities of this many samples and classes.
        """
        spec, factors = self.plan.spec, self.plan.factors
        if not spec.sends_predictions or factors is None:
            raise DataError("this release sends no predictions", found=spec.release)
        packed = steps.pack_factors(self.plan, probabilities(spec, predictions))
        return steps.encrypt(self._keys.encryptor, factors, packed)

    def request(self, samples: Samples | Floats, *, predictions: Array | None = None) -> bytes:
        """Everything in one message; `predictions` only for `loss` and `class_sums`.

        Features without labels will do unless the release is a projection (`encrypt_features`).
        Answers to earlier requests are not opened any more.
        """
        features, basis = self.encrypt_features(samples)
        question = b"" if predictions is None else self.encrypt_predictions(predictions)
        if self.plan.spec.sends_predictions and not question:
            raise DataError(
                "this release needs the student's predictions", where=self.plan.spec.release
            )
        request = encode_request(
            Request(
                format=REQUEST_FORMAT,
                spec=self.plan.spec,
                schedule=self.plan.schedule,
                digest=self.plan.digest,
                seed=self.seed,
                public_key=memoryview(self.public_keys.encryption),
                evaluation_keys=memoryview(self.public_keys.evaluation),
                features=memoryview(features),
                basis=memoryview(basis),
                predictions=memoryview(question),
            )
        )
        self._asked = request[-CHECK_BYTES:]  # the last field
        return request

    def open(
        self, answer: Carried, *, temperature: float = 1.0, request: Carried | None = None
    ) -> Opened:
        """Decrypt an answer and, where the release allows, reconstruct the logits.

        An answer that another request got, or that changed on its way by accident, is refused.
        That is no authentication: whoever chooses the bytes chooses what they open as.

        Args:
            answer: what `Teacher.answer` gave.
            temperature: T, by which `loss` and `class_sums` are divided, above 0.
            request: that it answers, where another process made it with these keys; None: the
                last that this student made.

        Raises:
            DataError: T is not above 0, or the answer or request is none; nothing was opened.
            EncryptionError: nothing was asked, or the answer's length or content does not fit:
                nothing was opened, unless the content is out of range, which counts.
            LedgerError: the key has opened as many answers as it may; nothing was opened.
        """
        check_temperature(temperature)
        check_bytes(answer, "an answer")
        asked = self._asked if request is None else decode_request(request).check
        if asked is None:
            raise EncryptionError(
                "an answer was opened before a request was made",
                hint="Opening needs what a request leaves: save after it, ask anew after rotate",
            )
        if self.plan.spec.leaves.rows and self._asked is not None and asked != self._asked:
            raise EncryptionError(
                "this student has asked about other samples since",
                hint="Open an answer before you ask again, or have a student for each",
            )
        self._check_length(max(0, len(answer) - BOUND_BYTES))
        return self.open_evaluated(unbind(asked, answer), temperature=temperature)

    def open_evaluated(self, answer: Carried, *, temperature: float = 1.0) -> Opened:
        """What `Teacher.evaluate` gave; the host sees to it that it is of this upload and whole.

        Arguments and errors are those of `open`.
        """
        plan, reconstruction = self.plan, self._reconstruction
        check_temperature(temperature)
        check_bytes(answer, "an answer")
        if plan.spec.leaves.rows and reconstruction is None:
            raise EncryptionError(
                "an answer was opened before the features were encrypted",
                hint="Opening needs what a request leaves: save after it, ask anew after rotate",
            )
        self._check_length(len(answer))
        self._openings.count()
        released = steps.open_answer(self._keys.decryptor, plan, self._basis, bytes(answer))
        if not plan.spec.leaves.trains:
            return Opened(released / temperature, None, None)
        if plan.spec.leaves.whole:
            return Opened(released, released, 0.0, self._plausibility(released))
        assert reconstruction is not None
        numbers, logits, unexplained = reconstruction.apply(released)
        return Opened(numbers, logits, unexplained, self._plausibility(numbers))

    def _check_length(self, evaluated: int) -> None:
        expected = self.plan.answer_bytes
        if get_backend(self._backend).planned_bytes and evaluated != expected:
            raise EncryptionError(
                "an answer has the wrong length",
                found=f"{evaluated} bytes",
                expected=f"{expected} bytes",
                hint="Both sides must use the same plan and backend",
            )

    def _plausibility(self, numbers: Array) -> float | None:
        return None if self._prior is None else self._prior.log_ratio(numbers)

    def __repr__(self) -> str:
        """What it is, without keys or data."""
        spec = self.plan.spec
        return f"Student({spec.samples} samples, release {spec.release}, {self._backend})"


def _row_scale(rows: Array) -> Array:
    """Factors (q,) that make all of the encoding's precision useful."""
    scale: Array = 1.0 / np.abs(rows).max(axis=1)
    return scale

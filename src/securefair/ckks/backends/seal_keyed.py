"""What backends share whose keys are SEAL's: `seal` and `rns` differ in how they use them."""

from __future__ import annotations

from abc import abstractmethod

from securefair.ckks.backends import seal_keys
from securefair.ckks.backends.answers import WireBackend
from securefair.ckks.backends.seal_context import SealContext, SealObject, seal_context
from securefair.ckks.keys import Decryptor, Encryptor, PublicKeys, StudentKeys
from securefair.ckks.parameters import CkksParameters
from securefair.storage.secret import Secret


class SealKeyedBackend(WireBackend):
    """A backend with SEAL's keys."""

    def generate_keys(
        self, params: CkksParameters, *, relinearization: int = 0, galois: int = 0, element: int = 0
    ) -> StudentKeys:
        """SEAL's keys."""
        context = seal_context(params)
        secret, public = seal_keys.generate(
            context, relinearization=relinearization, galois=galois, element=element
        )
        return self._ring(context, secret, public)

    def restore_keys(
        self, params: CkksParameters, public: PublicKeys, secret: Secret
    ) -> StudentKeys:
        """SEAL's keys, as they were."""
        context = seal_context(params)
        return self._ring(context, seal_keys.import_secret_key(context, secret.reveal()), public)

    def _ring(self, context: SealContext, secret: SealObject, public: PublicKeys) -> StudentKeys:
        return StudentKeys(
            public,
            *self._ends(context, secret),
            lambda: Secret(seal_keys.export_secret_key(context, secret)),
        )

    @abstractmethod
    def _ends(self, context: SealContext, secret: SealObject) -> tuple[Encryptor, Decryptor]:
        """What encrypts and decrypts with a secret key."""

"""Secrets that two senders share, and one mask key for every pair and gathering.

Every participant has an X25519 key pair. Two senders of a gathering derive a key with HKDF
(SHA-256) from their shared secret; salt and info hold everything that the mask must be bound to:
the gathering (session, round, attempt, receiver and all senders), the plan, both names and both
public keys. So a changed set of senders, round or receiver changes every mask.

The earlier name of a pair adds the mask, the later one subtracts it: over all senders they cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from securefair.averaging.gathering import Gathering
from securefair.errors import EncryptionError, LocalProtocolError, RemoteProtocolError
from securefair.storage import Secret

PUBLIC_BYTES = 32
MASK_KEY_BYTES = 32
_MASK = "securefair pair mask"


@dataclass(frozen=True)
class PairMask:
    """What a sender does with one peer's mask.

    Attributes:
        peer: the other sender.
        key: of the stream that both expand.
        sign: +1 to add it, -1 to subtract it.
    """

    peer: str
    key: bytes = field(repr=False)
    sign: int


def generate_private() -> X25519PrivateKey:
    """A fresh key, from the operating system's generator."""
    return X25519PrivateKey.generate()


def export_private(private: X25519PrivateKey) -> Secret:
    """The key, for a keystore and nobody else.

    Whoever takes it up again must have kept every message that was masked under it: a second
    message under one mask shows the difference of the two (`shares`).
    """
    return Secret(bytearray(private.private_bytes_raw()))


def restore_private(secret: Secret) -> X25519PrivateKey:
    """The key that was exported.

    Raises:
        EncryptionError: it is none.
    """
    try:
        return X25519PrivateKey.from_private_bytes(secret.reveal())
    except ValueError as error:
        raise EncryptionError("this is no key for masks", found=str(error)) from error


def public_bytes(private: X25519PrivateKey) -> bytes:
    """32 bytes for every peer."""
    return private.public_key().public_bytes_raw()


def check_public(private: X25519PrivateKey, peer: str, public: bytes) -> None:
    """Refuse a peer's key with which nobody can share a secret.

    Raises:
        RemoteProtocolError: the culprit is the peer.
    """
    _shared_secret(private, peer, public)


def pair_masks(
    private: X25519PrivateKey,
    publics: Mapping[str, bytes],
    gathering: Gathering,
    sender: str,
    context: bytes,
) -> list[PairMask]:
    """One mask for every other sender of the gathering.

    Args:
        private: the sender's key.
        publics: X25519 keys of the other senders, by name.
        gathering: the sum.
        sender: the sender's own name.
        context: what else the masks must be bound to; all senders must pass the same.

    Raises:
        LocalProtocolError: a key is missing, or the sender is none of the gathering.
        RemoteProtocolError: a peer's key is none.
    """
    if sender not in gathering.senders:
        raise LocalProtocolError(
            "only a sender of a sum masks", found=sender, expected=", ".join(gathering.senders)
        )
    masks = []
    for peer in gathering.senders:
        if peer != sender:
            key = derived(private, publics, gathering, sender, peer, _MASK, context, MASK_KEY_BYTES)
            masks.append(PairMask(peer, key, 1 if sender < peer else -1))
    return masks


def derived(
    private: X25519PrivateKey,
    publics: Mapping[str, bytes],
    gathering: Gathering,
    sender: str,
    peer: str,
    purpose: str,
    context: bytes,
    size: int,
) -> bytes:
    """So many bytes that two senders of a gathering, and nobody else, can compute.

    Args:
        private: the own key.
        publics: X25519 keys of the other senders, by name.
        gathering: the sum.
        sender: the own name.
        peer: that of the other one.
        purpose: what they are for.
        context: what else they are bound to; both must pass the same.
        size: how many.

    Raises:
        LocalProtocolError: the peer's key is missing.
        RemoteProtocolError: it is none.
    """
    if peer not in publics:
        raise LocalProtocolError("a sender's public key is missing", where=peer)
    own = public_bytes(private)
    first, second = sorted([(sender, own), (peer, publics[peer])])
    info = msgspec.msgpack.encode((purpose, first, second, context))
    derivation = HKDF(SHA256(), length=size, salt=gathering.digest, info=info)
    return derivation.derive(_shared_secret(private, peer, publics[peer]))


def _shared_secret(private: X25519PrivateKey, peer: str, public: bytes) -> bytes:
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:  # wrong length, or a point of low order
        raise RemoteProtocolError(
            "its public key cannot be used", culprit=peer, found=str(error), expected="X25519"
        ) from error

"""The certificate of a startup kit of FLARE, looked at before FLARE does.

FLARE 2.9 neither admits a client whose certificate is wrong or has expired, nor says so anywhere.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from securefair.errors import ConfigError
from securefair.sites.project.card import utc

NAMES = ("client", "server")
AUTHORITY = "rootCA.pem"


def check_certificate(kit: Path, now: float) -> datetime | None:
    """See that a kit's certificate is the relay's, of today, and of the kit's key.

    Args:
        kit: folder of the startup kit.
        now: seconds since 1970.

    Returns:
        When it expires; None where the kit has no certificate yet.

    Raises:
        ConfigError: the relay would not admit it, or a file cannot be read.
    """
    startup = kit / "startup"
    file = next(
        (startup / f"{one}.crt" for one in NAMES if (startup / f"{one}.crt").exists()), None
    )
    if file is None:
        return None
    try:
        own = x509.load_pem_x509_certificate(file.read_bytes())
        authority = x509.load_pem_x509_certificate((startup / AUTHORITY).read_bytes())
        key = load_pem_private_key(file.with_suffix(".key").read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise _refused("a certificate of the startup kit cannot be read", file, error) from error
    start, end = own.not_valid_before_utc, own.not_valid_after_utc
    today = datetime.fromtimestamp(now, UTC)
    if today > end:
        raise _refused("the certificate of the startup kit has expired", file, _day(end))
    if today < start:
        raise _refused("the certificate of the startup kit is not valid yet", file, _day(start))
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise _refused(
            "the certificate of the startup kit is not the relay's",
            file,
            own.issuer.rfc4514_string(),
        ) from error
    if own.public_key() != key.public_key():
        raise _refused("the certificate of the startup kit is of another key", file, file.stem)
    return end


def _refused(problem: str, file: Path, found: object) -> ConfigError:
    return ConfigError(
        problem,
        where=str(file),
        found=found,
        hint="Ask whoever runs the relay for a new one (`nvflare cert request`)",
    )


def _day(when: datetime) -> str:
    return utc(when.timestamp())

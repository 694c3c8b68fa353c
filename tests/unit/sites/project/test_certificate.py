"""A startup kit's certificate that the relay would not admit is refused with one sentence."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from securefair.errors import ConfigError
from securefair.sites.project.certificate import check_certificate
from support.certificates import certificate

NOW = datetime(2026, 11, 22, tzinfo=UTC)
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "relay")])
KEY, STRANGER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


@pytest.fixture
def kit(tmp_path):
    startup = tmp_path / "startup"
    startup.mkdir()
    root = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=30))
        .not_valid_after(NOW + timedelta(days=300))
        .sign(KEY, hashes.SHA256())
    )
    (startup / "rootCA.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))

    def put(signer=KEY, days=20):
        pair = certificate("north", NAME, signer, NOW + timedelta(days=days))
        for file, data in zip(("client.crt", "client.key"), pair, strict=True):
            (startup / file).write_bytes(data)
        return tmp_path

    return put


def test_a_good_one_says_until_when(kit):
    assert check_certificate(kit(), NOW.timestamp()) == NOW + timedelta(days=20)


def test_a_kit_without_one_has_nothing_to_check(tmp_path):
    assert check_certificate(tmp_path, NOW.timestamp()) is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"days": -1}, "has expired"),
        ({"days": 60}, "not valid yet"),
        ({"signer": STRANGER}, "not the relay's"),
    ],
)
def test_others_are_refused(kit, options, problem):
    with pytest.raises(ConfigError, match=problem):
        check_certificate(kit(**options), NOW.timestamp())


def test_a_certificate_of_another_key_and_a_torn_file_are_refused(kit):
    place = kit()
    key = (place / "startup" / "client.key").read_bytes()
    kit()
    (place / "startup" / "client.key").write_bytes(key)
    with pytest.raises(ConfigError, match="another key"):
        check_certificate(place, NOW.timestamp())
    (place / "startup" / "client.crt").write_bytes(b"torn")
    with pytest.raises(ConfigError, match="cannot be read"):
        check_certificate(place, NOW.timestamp())

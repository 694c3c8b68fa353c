"""Certificates as FLARE's provisioning makes them."""

from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


def certificate(name, authority, key, until):
    """A client's certificate, as FLARE's provisioning makes them, and its key."""
    own = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(until - timedelta(days=30))
        .not_valid_after(until)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, no_secret = serialization.Encoding.PEM, serialization.NoEncryption()
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return built.public_bytes(encoding), own.private_bytes(encoding, form, no_secret)

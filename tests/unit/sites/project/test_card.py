import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, DataError
from securefair.sites.project.card import bytes_of, card_of, spoken, text_of
from securefair.sites.project.identity import VALID_SECONDS, Identity

NOW = 1_800_000_000


@pytest.fixture(scope="module")
def identity() -> Identity:
    return Identity.generate("north", now=NOW)


def test_a_card_survives_its_file(identity):
    assert card_of(identity.card.table(), where="north.card") == identity.card


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "south"),
        ("valid_until", NOW * 2),
        ("valid_from", 0),
        ("sealing", bytes(31) + b"\x01"),
        ("signing", bytes(31) + b"\x01"),
    ],
)
def test_an_altered_card_is_refused(identity, field, value):
    altered = msgspec.structs.replace(identity.card, **{field: value})
    with pytest.raises(DataError, match="altered"):
        card_of(altered.table(), where="north.card")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("signing", "no base64!"),
        ("signing", text_of(bytes(31))),
        ("name", "../etc"),
        ("name", "a" * 65),
        ("name", "ward\x1b[31m"),
        ("format", 2),
        ("valid_until", 0),
        ("valid_from", "today"),
        ("more", 1),
    ],
)
def test_what_is_no_card_is_refused(identity, key, value):
    with pytest.raises(DataError, match="not a card"):
        card_of(identity.card.table() | {key: value}, where="north.card")


def test_every_field_changes_the_fingerprint(identity):
    card = identity.card
    others = [
        msgspec.structs.replace(card, name="south"),
        msgspec.structs.replace(card, signing=card.sealing),
        msgspec.structs.replace(card, sealing=card.signing),
        msgspec.structs.replace(card, valid_from=card.valid_from + 1),
        msgspec.structs.replace(card, valid_until=card.valid_until + 1),
    ]
    assert len({card.fingerprint, *(other.fingerprint for other in others)}) == 6


def test_a_card_is_valid_for_its_time_only(identity):
    identity.card.check_time(NOW)
    identity.card.check_time(NOW + VALID_SECONDS - 1)
    with pytest.raises(DataError, match="expired"):
        identity.card.check_time(NOW + VALID_SECONDS)
    with pytest.raises(DataError, match="not valid yet"):
        identity.card.check_time(NOW - 365 * 86_400)


def test_a_spoken_fingerprint_has_sixty_digits(identity):
    groups = identity.card.spoken.split(" ")
    assert [len(group) for group in groups] == [5] * 12
    assert "".join(groups).isdigit()


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_spoken_fingerprints_differ_where_fingerprints_do(one, other):
    assert (spoken(one) == spoken(other)) == (
        int.from_bytes(one, "big") % 10**60 == int.from_bytes(other, "big") % 10**60
    )


@given(st.binary(max_size=100))
def test_bytes_survive_their_text(data):
    assert bytes_of(text_of(data)) == data


def test_an_identity_is_restored_from_its_secrets(identity):
    again = Identity.restore(identity.card, identity.secrets())
    assert again.secrets() == identity.secrets()
    assert again.sign(b"x") == identity.sign(b"x")


def test_secrets_of_another_card_are_refused(identity):
    other = Identity.generate("north", now=NOW)
    with pytest.raises(DataError, match="another card"):
        Identity.restore(identity.card, other.secrets())
    with pytest.raises(DataError, match="no private keys"):
        Identity.restore(identity.card, b"short")


def test_an_identity_prints_no_secret(identity):
    secrets = identity.secrets()
    for text in (repr(identity), str(identity), f"{identity}"):
        assert secrets[:8].hex() not in text
        assert text == "Identity(north, redacted)"


@pytest.mark.parametrize("name", ["", "a b", "-x", "ä", "a/b", "x" * 65])
def test_a_name_must_be_fit_for_files_and_logs(name):
    with pytest.raises(ConfigError, match="name cannot be used"):
        Identity.generate(name, now=NOW)

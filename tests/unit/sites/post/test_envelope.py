import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.sites.post.envelope import (
    HEADER_BYTES,
    LARGEST_COUNT,
    OVERHEAD,
    accept,
    content_digest,
    digest_of,
    frame_of,
    read_header,
    seal,
    statement,
)
from securefair.sites.post.refusals import Reason, RefusedError
from securefair.sites.project.identity import Identity

NOW = 1_800_000_000
PROJECT = bytes(range(32))
LIMIT = 1 << 16
NORTH, SOUTH = (Identity.generate(name, now=NOW) for name in ("north", "south"))
CARDS = {NORTH.card.fingerprint: NORTH.card}


def sealed(frame=b"frame", sender=NORTH, recipient=SOUTH, **changes):
    fields = {
        "project": PROJECT,
        "epoch": 0,
        "sequence": 0,
        "round": 3,
        "sent": NOW,
        "expires": NOW + 100,
        "audit_count": 4,
        "audit_head": bytes(32),
    } | changes
    return seal(sender, recipient.card, frame, **fields)


def accepted(envelope, own=SOUTH, cards=CARDS, limit=LIMIT, now=NOW):
    return accept(
        envelope,
        own=own.card.fingerprint,
        project=PROJECT,
        cards=cards,
        now=now,
        last=NOW + 100,
        limit=limit,
    )


def refusal(envelope, **changes):
    with pytest.raises(RefusedError) as caught:
        accepted(envelope, **changes)
    return caught.value.reason


@given(st.binary(max_size=2000), st.integers(0, LARGEST_COUNT), st.integers(0, 2**32 - 1))
def test_what_was_sealed_is_opened(frame, sequence, round_number):
    envelope = sealed(frame, sequence=sequence, round=round_number)
    header = accepted(envelope)
    assert frame_of(SOUTH, header, envelope) == frame
    assert (header.sequence, header.round, header.audit_count) == (sequence, round_number, 4)
    assert len(envelope) == len(frame) + OVERHEAD


def test_two_sealings_of_one_frame_have_nothing_in_common():
    one, other = sealed(), sealed()
    assert one[:HEADER_BYTES] == other[:HEADER_BYTES]
    assert one[HEADER_BYTES : HEADER_BYTES + 32] != other[HEADER_BYTES : HEADER_BYTES + 32]
    assert digest_of(one) != digest_of(other)


def test_the_frame_cannot_be_read_on_the_way():
    canary = b"patient 4711 has a broken heart"
    assert canary not in sealed(canary * 10)


def test_an_envelope_for_somebody_else_is_refused():
    west = Identity.generate("west", now=NOW)
    assert refusal(sealed(recipient=west)) is Reason.WRONG_RECIPIENT


def test_a_reflected_envelope_is_refused():
    own = sealed(sender=SOUTH, recipient=NORTH)
    assert refusal(own) is Reason.REFLECTED


def test_an_unknown_key_is_refused():
    stranger = Identity.generate("north", now=NOW)
    assert refusal(sealed(sender=stranger)) is Reason.UNKNOWN_SENDER


def test_another_project_is_refused():
    assert refusal(sealed(project=bytes(32))) is Reason.OTHER_PROJECT


def test_a_forged_caller_is_refused():
    """Mallory writes north's fingerprint and signs with its own key."""
    mallory = Identity.generate("mallory", now=NOW)
    envelope = bytearray(sealed(sender=mallory))
    at = envelope.index(mallory.card.fingerprint)
    envelope[at : at + 32] = NORTH.card.fingerprint
    assert refusal(bytes(envelope)) is Reason.FORGED


def test_a_signature_cannot_be_put_on_another_content():
    one, other = sealed(b"first"), sealed(b"other")
    assert refusal(one[:-64] + other[-64:]) is Reason.FORGED


def test_who_signs_what_another_sealed_gains_nothing():
    """South's friend west puts its own name and signature on north's envelope: it stays shut."""
    west = Identity.generate("west", now=NOW)
    theirs, own = sealed(b"secret"), sealed(b"secret", sender=west)
    stolen = theirs[HEADER_BYTES:-64]
    start = own[:HEADER_BYTES]
    envelope = start + stolen + west.sign(statement(start, content_digest(stolen)))
    header = accepted(envelope, cards={west.card.fingerprint: west.card})
    with pytest.raises(RefusedError) as caught:
        frame_of(SOUTH, header, envelope)
    assert caught.value.reason is Reason.NOT_OPENABLE


def test_what_has_expired_is_told_from_an_attack():
    assert refusal(sealed(), now=NOW + 365 * 86_400) is Reason.EXPIRED


def test_when_it_was_sent_is_not_judged():
    """Its clock may be wrong, or this one: replays are told by sequence."""
    assert accepted(sealed(sent=NOW + 365 * 86_400)).sent > NOW
    assert accepted(sealed(), now=NOW - 365 * 86_400).sent == NOW


@pytest.mark.parametrize(
    "lie",
    [
        {"sent": 2**63},
        {"sent": 2**64 - 1},
        {"expires": NOW + 101},
        {"expires": 2**64 - 1},
        {"epoch": 2**64 - 1},
        {"sequence": 2**64 - 1},
        {"audit_count": 2**64 - 1},
    ],
)
def test_what_cannot_be_is_refused_and_names_its_sender(lie):
    with pytest.raises(RefusedError) as caught:
        accepted(sealed(**lie))
    assert caught.value.reason is Reason.IMPOSSIBLE
    assert caught.value.sender == NORTH.card.fingerprint


def test_an_oversized_envelope_is_refused_by_its_first_bytes():
    start = sealed(bytes(LIMIT))[:HEADER_BYTES]
    with pytest.raises(RefusedError) as caught:
        read_header(start, limit=LIMIT)
    assert caught.value.reason is Reason.TOO_LARGE
    claim = start[:-8] + (2**64 - 1).to_bytes(8, "big")
    with pytest.raises(RefusedError):
        read_header(claim, limit=LIMIT)


def test_another_version_says_so():
    envelope = bytearray(sealed())
    envelope[4] = 1
    assert refusal(bytes(envelope)) is Reason.OTHER_VERSION


@given(st.binary(max_size=400))
def test_noise_is_refused(noise):
    refusal(noise)

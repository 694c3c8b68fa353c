"""Every field of every message is in the table of flows, and the page shows that table."""

import math
from pathlib import Path

import pytest

from securefair.protocol.flows import OPENED_REASONS, QUERY_BITS, REPLY_BITS, alignment_bits
from securefair.protocol.messages import (
    MESSAGE_TYPES,
    Ask,
    Decline,
    DeclineReason,
    Offer,
    name_of,
)
from support.flows import FLOWS, MISSING, Dependence

PAGE = Path(__file__).parents[3] / "docs" / "threat-model.md"


@pytest.mark.parametrize("message", MESSAGE_TYPES, ids=lambda m: m.__name__)
def test_every_field_of_a_message_is_in_the_table(message):
    listed = {flow.field for flow in FLOWS if flow.message is message}
    assert listed == set(message.__struct_fields__)
    assert len({flow.role for flow in FLOWS if flow.message is message}) == 1


def test_nothing_else_is_in_it():
    assert {flow.message for flow in FLOWS} == set(MESSAGE_TYPES)


def test_it_says_of_every_message_what_its_absence_tells():
    assert tuple(MISSING) == MESSAGE_TYPES


@pytest.mark.parametrize("flow", FLOWS, ids=lambda f: f"{f.message.__name__}.{f.field}")
def test_a_flow_says_what_it_tells(flow):
    if flow.dependence is Dependence.INDEPENDENT:
        assert (flow.opened, flow.bits) == ("", 0.0)
    if flow.dependence is Dependence.CONTROL:
        assert flow.opened
        assert flow.per_level or 0 < flow.bits < 2.4
    if flow.dependence is Dependence.LEARNT:
        assert flow.bits is None
        assert flow.opened


def test_plain_numbers_and_booleans_are_never_called_encrypted():
    for flow in FLOWS:
        if flow.dependence is Dependence.ENCRYPTED:
            assert flow.field in ("payload", "basis")


def test_control_bits_are_those_of_the_table():
    bits = {(flow.message, flow.field): flow.bits for flow in FLOWS}
    assert bits[Ask, "round"] == QUERY_BITS == 1
    # An answer, or one of three reasons for none: a decline is one of the levels. The fourth reason
    # is that the round is over, whatever was opened.
    assert set(DeclineReason) - OPENED_REASONS == {DeclineReason.STALE}
    assert bits[Decline, "reason"] == REPLY_BITS == 2
    # An alignment is one of the levels, or cannot be opened.
    assert alignment_bits(5) == math.log2(6)
    (offer,) = (one for one in FLOWS if (one.message, one.field) == (Offer, "shares"))
    assert offer.dependence is Dependence.CONTROL
    # What is asked is a ciphertext, or, in a sum of models, a weight.
    asked = [one for one in FLOWS if (one.message, one.field) == (Ask, "payload")]
    assert [one.dependence for one in asked] == [Dependence.ENCRYPTED, Dependence.CONTROL]
    assert asked[1].per_level


def test_the_page_shows_the_table():
    """Generated: after a change print(flows_table()) goes between the headings of the page."""
    assert flows_table() in PAGE.read_text(encoding="utf-8")


def flows_table():
    """The table in Markdown, one row a message: what the threat model shows."""
    lines = [
        "| message | sent by | may depend on | in the field | bits a message | that none is sent |",
        "|---|---|---|---|---|---|",
    ]
    for message in MESSAGE_TYPES:
        flows = [flow for flow in FLOWS if flow.message is message]
        missing = MISSING[message]
        telling = [flow for flow in flows if flow.dependence is not Dependence.INDEPENDENT]
        for flow in telling:
            opened = flow.opened or "nothing opened"
            kind = "" if flow.dependence is Dependence.CONTROL else f" ({flow.dependence.value})"
            lines.append(
                f"| `{name_of(message)}` | {flow.role} | {opened}{kind} | `{flow.field}` "
                f"| {_bits(flow)} | {missing} |"
            )
        if not telling:
            role = flows[0].role
            lines.append(
                f"| `{name_of(message)}` | {role} | nothing opened | all | 0 | {missing} |"
            )
    return "\n".join(lines)


def _bits(flow):
    if flow.per_level:
        return "log2(`gossip.levels` + 1) an alignment, charged when it is opened"
    if flow.bits is None:
        return "not counted in bits: see below"
    return f"{flow.bits:.3g}"

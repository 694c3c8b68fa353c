"""Every field of every message is in the table of flows, and the page shows that table."""

import math
from pathlib import Path

import pytest

from securefair.protocol.flows import FLOWS, Dependence, control_bits, flows_table
from securefair.protocol.messages import (
    MESSAGE_TYPES,
    Decline,
    DeclineReason,
    Hello,
    Offer,
    Query,
    ShareRequest,
)

PAGE = Path(__file__).parents[3] / "docs" / "threat-model.md"


@pytest.mark.parametrize("message", MESSAGE_TYPES, ids=lambda m: m.__name__)
def test_every_field_of_a_message_is_in_the_table(message):
    listed = [flow.field for flow in FLOWS if flow.message is message]
    assert sorted(listed) == sorted(message.__struct_fields__)
    assert len({flow.role for flow in FLOWS if flow.message is message}) == 1


def test_nothing_else_is_in_it():
    assert {flow.message for flow in FLOWS} == set(MESSAGE_TYPES)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda f: f"{f.message.__name__}.{f.field}")
def test_a_flow_says_what_it_tells(flow):
    if flow.dependence is Dependence.INDEPENDENT:
        assert (flow.opened, flow.bits) == ("", 0.0)
    if flow.dependence is Dependence.CONTROL:
        assert flow.opened
        assert flow.per_level or 0 < flow.bits <= 2
    if flow.dependence is Dependence.LEARNT:
        assert flow.bits is None
        assert flow.opened


def test_plain_numbers_and_booleans_are_never_called_encrypted():
    for flow in FLOWS:
        if flow.dependence is Dependence.ENCRYPTED:
            assert flow.field in ("payload", "basis", "predictions")


def test_control_messages_are_charged_what_they_can_tell():
    assert control_bits(Hello(1, bytes(32))) == 0
    assert control_bits(Query(0, 0, b"")) == 1
    assert control_bits(Offer(3, True)) == control_bits(Offer(3, False)) == 1
    decline = Decline(0, 0, DeclineReason.STALE)
    assert control_bits(decline) == math.log2(len(DeclineReason)) == 2
    request = ShareRequest(0, 0, ("ann", "bob"), b"")
    assert control_bits(request, levels=5) == pytest.approx(2 * math.log2(5))


def test_the_page_shows_the_table():
    """Generated: after a change print(flows_table()) goes between the headings of the page."""
    assert flows_table() in PAGE.read_text(encoding="utf-8")

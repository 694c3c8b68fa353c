import enum
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import LocalProtocolError
from securefair.protocol import states
from securefair.protocol.states import (
    ADMISSION,
    ASKING,
    PREPARATION,
    ROUND,
    SERVING,
    AskingState,
    Event,
    ServingState,
    TransitionTable,
)

TABLES: list[TransitionTable] = [
    ROUND,
    PREPARATION,
    ADMISSION,
    ASKING,
    SERVING,
]
DOCUMENT = Path(__file__).parents[3] / "docs" / "development" / "protocol-states.md"


def test_the_document_shows_exactly_the_tables():
    diagrams = re.findall(r"```mermaid\n(.*?)\n```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    assert diagrams == [mermaid(table) for table in TABLES]


def test_every_table_of_the_module_is_checked_here():
    assert [
        value for value in vars(states).values() if isinstance(value, TransitionTable)
    ] == TABLES


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_state_can_be_reached(table):
    reached = {table.initial}
    while True:
        more = {following for state, _, following in table.transitions() if state in reached}
        if more <= reached:
            break
        reached |= more
    assert reached == set(type(table.initial))


@pytest.mark.parametrize("table", [ROUND, ASKING], ids=lambda table: table.name)
def test_a_deadline_leaves_nothing_open(table):
    """From every state, an expired deadline leads to one that nothing is awaited in."""
    awaiting = {states.RoundState.EXCHANGING, *(AskingState.WAITING,), AskingState.ASKED}
    awaiting.add(AskingState.OPENING)
    for state in set(type(table.initial)) & awaiting:
        assert table.next(state, Event.EXPIRED) not in awaiting


def test_every_event_moves_some_table():
    used = {event for table in TABLES for _, event, _ in table.transitions()}
    assert used == set(Event)


@given(st.data())
def test_next_is_the_table_and_nothing_else(data):
    table = data.draw(st.sampled_from(TABLES))
    state = data.draw(st.sampled_from(list(type(table.initial))))
    event = data.draw(st.sampled_from(list(Event)))
    expected = {(s, e): f for s, e, f in table.transitions()}.get((state, event))
    if expected is None:
        with pytest.raises(LocalProtocolError, match=re.escape(event.value)):
            table.next(state, event)
    else:
        assert table.next(state, event) is expected


def test_an_answer_whose_key_has_left_is_never_recomputed():
    """Only a later attempt at a sum leads back to COMPUTING, and none once its key has left."""
    into = {state for state, _, following in SERVING.transitions() if following.name == "COMPUTING"}
    assert into == set(ServingState) - {ServingState.REVEALED}
    assert ServingState.REVEALED not in SERVING.rows


def test_mermaid_draws_start_transitions_and_ends():
    class Lamp(enum.Enum):
        OFF = "off"
        BROKEN = "broken"

    table = TransitionTable("lamp", Lamp.OFF, {Lamp.OFF: {Event.FAILED: Lamp.BROKEN}})
    assert mermaid(table).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> off",
        "    off --> broken: job failed",
        "    broken --> [*]",
    ]


def mermaid(table):
    """The table as a Mermaid state diagram, one line a transition.

    docs/development/protocol-states.md holds these texts, and a test compares them with the tables.
    """
    names = {state: state.name.lower() for state in type(table.initial)}
    lines = ["stateDiagram-v2", f"    [*] --> {names[table.initial]}"]
    lines += [
        f"    {names[state]} --> {names[following]}: {event.value}"
        for state, event, following in table.transitions()
    ]
    lines += [f"    {names[state]} --> [*]" for state in names if state not in table.rows]
    return "\n".join(lines)

"""How one machine gets to know its peers: greetings, keys, features, absence."""

import dataclasses

import pytest

from securefair.errors import LocalProtocolError
from securefair.protocol.effects import (
    Blame,
    Presence,
    Received,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    Imported,
    ImportPeer,
    OpenedAnswer,
    PrepareKeysAndFeatures,
    Step,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    OLDEST_PROTOCOL,
    PROTOCOL_VERSION,
    Answer,
    Ask,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
)
from securefair.protocol.states import (
    AdmissionState,
    AskingState,
    PreparationState,
    RoundState,
)
from support.stage import (
    FEATURES,
    HELLO,
    KEYS,
    OWN,
    SETTINGS,
    Stage,
    sends,
)


def test_a_peer_that_never_says_hello_is_absent_this_round():
    stage = Stage()
    stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.introduce("bea")
    stage.replied(0, bea=0.5)
    assert stage.state is RoundState.EXCHANGING
    assert stage.expire(0) == [Run(Step(0, ("bea",), (0.5,)))]
    assert stage.stepped(0).summary.missed == ("cem",)


# --- setup -----------------------------------------------------------------------------------


def test_keys_and_features_go_to_whoever_agrees_once_they_are_made():
    stage = Stage()
    stage.hear("bea", HELLO)  # before the own first round
    stage.begin(0)
    assert stage.done(PrepareKeysAndFeatures(), OWN) == [
        Send("bea", OWN.keys),
        Send("bea", OWN.features),
        Send("bea", Ask(0, 0, b"")),
    ]
    assert stage.hear("cem", HELLO) == [
        Send("cem", OWN.keys),
        Send("cem", OWN.features),
        Send("cem", Ask(0, 0, b"")),
    ]


def test_an_upload_is_imported_when_both_halves_are_there_in_either_order():
    for halves in ((KEYS, FEATURES), (FEATURES, KEYS)):
        stage = Stage()
        assert stage.hear("bea", HELLO) == []
        assert stage.hear("bea", halves[0]) == []
        assert stage.admission("bea") is AdmissionState.GREETED
        assert stage.hear("bea", halves[1]) == [Run(ImportPeer("bea", KEYS, FEATURES))]
        assert stage.admission("bea") is AdmissionState.IMPORTING
        assert stage.done(ImportPeer("bea", KEYS, FEATURES), Imported()) == []
        assert stage.admission("bea") is AdmissionState.ADMITTED


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (Hello(PROTOCOL_VERSION, b"\x01" * 32), "its public constants differ"),
        (Hello(PROTOCOL_VERSION + 1, bytes(32)), "speaks another protocol version"),
        (Hello(PROTOCOL_VERSION - 1, bytes(32)), "speaks another protocol version"),
    ],
)
def test_a_hello_that_differs_refuses_its_sender_for_good(hello, reason):
    stage = Stage()
    stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    [blame] = stage.hear("bea", hello)
    assert blame.peer == "bea"
    assert reason in blame.reason
    assert "bea" in blame.reason
    assert stage.admission("bea") is AdmissionState.REFUSED
    assert stage.asking("bea").state is AskingState.FAILED
    for message in (HELLO, KEYS, Ask(0, 0, b""), Answer(0, 0, b"")):
        stage.blamed("bea", message, "has been refused")
    stage.introduce("cem")
    stage.replied(0, cem=0.5)
    assert stage.stepped(0).summary.failed == ("bea",)
    for number in (1, 2):
        stage.begin(number)
        stage.replied(number, cem=0.5)
        stage.stepped(number)
    assert [e.peer for e in stage.begin(3) if isinstance(e, Send)] == ["cem"]


def test_a_machine_speaks_the_version_that_its_project_was_founded_with():
    """So sites need not be upgraded together."""
    stage = Stage(protocol=OLDEST_PROTOCOL)
    said = [e.message for e in stage.begin(0) if isinstance(e, Send)]
    assert {one.protocol_version for one in said if isinstance(one, Hello)} == {OLDEST_PROTOCOL}
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.hear("bea", Hello(OLDEST_PROTOCOL, bytes(32)))
    assert stage.admission("bea") is AdmissionState.GREETED
    [blame] = stage.hear("cem", Hello(PROTOCOL_VERSION, bytes(32)))
    assert "speaks another protocol version" in blame.reason


@pytest.mark.parametrize(
    ("guarantee", "enough"),
    [
        (None, False),
        (StatedGuarantee(2.0, 1e-3), True),
        (StatedGuarantee(1.0, 1e-4), True),
        (StatedGuarantee(2.1, 1e-3), False),
        (StatedGuarantee(1.0, 2e-3), False),
    ],
)
def test_a_peer_that_promises_its_patients_too_little_is_refused(guarantee, enough):
    stage = Stage(required=StatedGuarantee(2.0, 1e-3))
    stage.begin(0)
    effects = stage.hear("bea", Hello(PROTOCOL_VERSION, bytes(32), guarantee))
    blames = [effect for effect in effects if isinstance(effect, Blame)]
    if enough:
        assert blames == []
        assert stage.admission("bea") is not AdmissionState.REFUSED
        return
    assert "promises its patients less" in blames[0].reason
    assert stage.admission("bea") is AdmissionState.REFUSED


def test_the_own_guarantee_is_told_to_every_peer():
    guarantee = StatedGuarantee(2.0, 1e-3)
    effects = Stage(guarantee=guarantee).begin(0)
    said = [effect.message for effect in effects if isinstance(effect, Send)]
    assert said == [Hello(PROTOCOL_VERSION, bytes(32), guarantee)] * 2


def test_an_unusable_upload_refuses_its_sender():
    stage = Stage()
    stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.hear("bea", HELLO)
    stage.hear("bea", KEYS)
    stage.hear("bea", FEATURES)
    assert stage.hear("bea", Ask(0, 0, b"")) == []
    effects = stage.fail(ImportPeer("bea", KEYS, FEATURES), "three limbs, not four")
    assert sends(effects, "bea") == [Decline(0, 0, DeclineReason.FAILED)]
    [blame] = [effect for effect in effects if isinstance(effect, Blame)]
    assert "three limbs, not four" in blame.reason
    assert stage.admission("bea") is AdmissionState.REFUSED
    assert stage.asking("bea").state is AskingState.FAILED


def test_repeated_setup_messages_are_harmless_and_other_content_is_blamed():
    stage = Stage().started()
    for message in (KEYS, FEATURES):
        stage.ignored("bea", message)
    stage.blamed("bea", Keys(0, b"another", b"peer's evk"), "keys")
    stage.blamed("bea", Features(0, 31, b"peer's x", b""), "features")
    stage.ignored("bea", Features(1, 30, b"peer's x", b""))  # of keys that are not there yet
    stage.blamed("bea", Hello(PROTOCOL_VERSION, b"\x01" * 32), "other constants")


def test_a_repeated_hello_gets_everything_again_once_a_round():
    stage = Stage().started()
    assert stage.hear("bea", HELLO) == [
        Send("bea", HELLO),
        Send("bea", OWN.keys),
        Send("bea", OWN.features),
        Send("bea", Ask(0, 0, b"")),  # the first may have been lost, too
    ]
    assert stage.hear("bea", HELLO) == []
    stage.replied(0, bea=None, cem=None)
    stage.stepped(0)
    stage.begin(1)
    assert sends(stage.hear("bea", HELLO), "bea") == [HELLO, OWN.keys, OWN.features]


NEW_KEYS, NEW_FEATURES = Keys(4, b"new", b"evk"), Features(0, 30, b"new", b"")


def test_a_peer_that_lost_its_keys_is_imported_again_and_charged_anew():
    stage = Stage(forced_every=1).started()
    [run] = stage.hear("bea", Ask(0, 0, b""))
    stage.done(run.job, Answered(b"numbers"))
    assert stage.hear("bea", NEW_KEYS) == []
    assert stage.admission("bea") is AdmissionState.GREETED
    # This round has had its answer; only it is repeated.
    assert sends(stage.hear("bea", Ask(0, 0, b"")), "bea") == [Answer(0, 0, b"numbers")]
    stage.replied(0, bea=0.5, cem=0.5)
    stage.stepped(0)
    stage.begin(1)
    assert stage.hear("bea", Ask(1, 0, b"")) == []  # waits for the import
    [run] = stage.hear("bea", NEW_FEATURES)
    assert run.job == ImportPeer("bea", NEW_KEYS, NEW_FEATURES)
    [run] = stage.done(run.job, Imported())
    assert run.job == AnswerAsk("bea", 1, 0, b"")
    released = stage.machine.ledger.accounts["bea"].released
    assert released == {0: {"features 0, keys 0": 60}, 1: {"features 0, keys 4": 60}}


def test_new_keys_that_come_during_an_import_are_imported_after_it():
    stage = Stage()
    stage.begin(0)
    for message in (HELLO, KEYS, FEATURES, NEW_KEYS, NEW_FEATURES):
        effects = stage.hear("bea", message)
    assert effects == []
    [run] = stage.done(ImportPeer("bea", KEYS, FEATURES), Imported())
    assert run.job == ImportPeer("bea", NEW_KEYS, NEW_FEATURES)
    stage.done(run.job, Imported())
    assert stage.admission("bea") is AdmissionState.ADMITTED


def test_keys_of_an_older_epoch_are_late_and_others_of_the_same_are_blamed():
    stage = Stage().started()
    stage.hear("bea", NEW_KEYS)
    stage.ignored("bea", KEYS)
    stage.blamed("bea", Keys(4, b"other", b"evk"), "sent other content")


def test_nobody_waits_for_a_peer_that_is_away():
    stage = Stage().started()
    [run] = stage.hear("cem", Answer(0, 0, b"numbers"))
    stage.done(run.job, OpenedAnswer(0.5))
    assert stage.machine.handle(Presence("bea", False)) == [Run(Step(0, ("cem",), (0.5,)))]
    over = stage.stepped(0)
    assert over.summary.missed == ("bea",)
    stage.begin(3)
    assert stage.asking("bea").state is AskingState.NOT_ASKED
    assert stage.asking("cem").state is AskingState.ASKED
    [asked] = stage.machine.handle(Presence("bea", True))  # while others are waited for
    assert (asked.peer, asked.message.round) == ("bea", 3)
    assert stage.machine.handle(Presence("bea", True)) == []
    stage.replied(3, bea=0.5, cem=0.5)
    stage.stepped(3)
    assert stage.machine.handle(Presence("bea", False)) == []
    assert stage.machine.handle(Presence("bea", True)) == []  # in no round nobody is asked
    stage.begin(6)
    assert stage.asking("bea").state is AskingState.ASKED


def test_an_answer_that_is_here_is_used_although_its_teacher_went_away():
    stage = Stage(peers=("bea",)).started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert stage.machine.handle(Presence("bea", False)) == []
    assert stage.done(run.job, OpenedAnswer(0.5)) == [Run(Step(0, ("bea",), (0.5,)))]


def test_who_was_away_skips_rounds_but_never_goes_back():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(7)
    assert stage.machine.memory.round == 7
    stage.replied(7, bea=0.5, cem=0.5)
    stage.stepped(7)
    with pytest.raises(LocalProtocolError, match="follow"):
        stage.begin(7)


def test_presence_is_of_peers_only():
    with pytest.raises(LocalProtocolError, match="no such peer"):
        Stage().machine.handle(Presence("eve", True))


def test_a_memory_of_other_peers_is_refused():
    memory = Stage().started().machine.memory
    with pytest.raises(LocalProtocolError, match="other peers"):
        ParticipantMachine("ann", ("bea", "dan"), SETTINGS, memory=memory)


def test_a_stored_ledger_is_kept_to_the_limits_of_today():
    memory = Stage().started().machine.memory
    tight = dataclasses.replace(SETTINGS.disclosure, student_total=1)
    machine = ParticipantMachine(
        "ann", ("bea", "cem"), dataclasses.replace(SETTINGS, disclosure=tight), memory=memory
    )
    [decline] = machine.handle(Received("bea", Ask(0, 0, b"")))
    assert decline.message.reason is DeclineReason.DISCLOSURE_LIMIT


def test_a_repeated_hello_before_the_upload_was_sent_gets_nothing():
    stage = Stage()
    stage.hear("bea", HELLO)
    stage.ignored("bea", HELLO)
    stage.begin(0)
    stage.ignored("bea", HELLO)


def test_the_next_round_reminds_those_whose_upload_is_missing():
    stage = Stage(peers=("bea", "cem", "dan", "eva"))
    stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.introduce("bea")
    stage.hear("cem", HELLO)
    stage.hear("cem", KEYS)
    for message in (HELLO, KEYS, FEATURES):
        stage.hear("eva", message)  # the import takes its time
    stage.expire(0)
    stage.stepped(0)
    effects = stage.begin(1)
    assert [(e.peer, e.message) for e in effects if isinstance(e, Send)] == [
        ("cem", HELLO),
        ("dan", HELLO),
    ]


def test_keys_that_cannot_be_made_cost_a_round_and_are_tried_again():
    stage = Stage()
    stage.begin(0)
    stage.introduce()
    assert stage.fail(PrepareKeysAndFeatures(), "no entropy") == [Run(Step(0, (), ()))]
    assert stage.stepped(0).summary.failed == ("bea", "cem")
    assert stage.machine.memory.upload.state is PreparationState.ABSENT
    assert Run(PrepareKeysAndFeatures()) in stage.begin(1)


def test_keys_that_come_after_the_deadline_are_used_in_the_next_round():
    stage = Stage()
    stage.begin(0)
    stage.introduce()
    stage.expire(0)
    assert sends(stage.done(PrepareKeysAndFeatures(), OWN), "bea") == [OWN.keys, OWN.features]
    stage.stepped(0)
    for number in (1, 2):
        assert stage.begin(number) == [SetDeadline(number, 10.0), Run(Step(number, (), ()))]
        stage.stepped(number)
    assert sends(stage.begin(3), "bea") == [Ask(3, 0, b"")]


# --- predictions -----------------------------------------------------------------------------

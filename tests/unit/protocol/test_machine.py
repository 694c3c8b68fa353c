"""Every transition of one machine, with its peers played by hand."""

import dataclasses

import pytest

from securefair.errors import LocalProtocolError
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Effect,
    Expired,
    Failed,
    Presence,
    Received,
    RoundOver,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import (
    Answered,
    AnswerQuery,
    Imported,
    ImportPeer,
    OpenAnswer,
    Opened,
    Predictions,
    Prepared,
    PrepareKeysAndFeatures,
    PrepareQuery,
    Step,
    Stepped,
)
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    Answer,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
    Query,
)
from securefair.protocol.promise import Promise
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    AdmissionState,
    AskingState,
    PreparationState,
    RoundState,
    ServingState,
)

HELLO = Hello(PROTOCOL_VERSION, bytes(32))
OWN = Prepared(Keys(0, b"own key", b"own evk"), Features(0, 40, b"own x", b""))
KEYS = Keys(0, b"peer's key", b"peer's evk")
FEATURES = Features(0, 30, b"peer's x", b"")
NOT_SHARING = DeclineReason.NOT_SHARING
STALE = DeclineReason.STALE

DISCLOSURE = DisclosurePolicy(
    release=Release.LOGITS, classes=2, rows=1, teacher_parameters=100, fraction_per_version=None
)
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=3,
    always_share=False,
    disclosure=DISCLOSURE,
    round_seconds=10.0,
    setup_seconds=5.0,
)


class Stage:
    """One machine and a short way to play its peers and its jobs."""

    def __init__(self, peers=("bea", "cem"), **changes) -> None:
        self.machine = ParticipantMachine("ann", peers, dataclasses.replace(SETTINGS, **changes))
        self.peers = peers

    def begin(self, number: int, version: int | None = None, **coins: float) -> list[Effect]:
        coins = {**dict.fromkeys(self.peers, 0.5), **coins}
        return self.machine.handle(Begin(number, coins, number if version is None else version))

    def hear(self, sender: str, message) -> list[Effect]:
        return self.machine.handle(Received(sender, message))

    def done(self, job, result) -> list[Effect]:
        return self.machine.handle(Done(job, result))

    def fail(self, job, error: str = "out of luck") -> list[Effect]:
        return self.machine.handle(Failed(job, error))

    def expire(self, number: int) -> list[Effect]:
        return self.machine.handle(Expired(number))

    def introduce(self, *peers: str) -> None:
        """The peers say Hello, upload, and are imported."""
        for peer in peers or self.peers:
            self.hear(peer, HELLO)
            self.hear(peer, KEYS)
            self.hear(peer, FEATURES)
            self.done(ImportPeer(peer, KEYS, FEATURES), Imported())

    def started(self) -> "Stage":
        """Round 0 has begun, everybody is introduced and has been asked."""
        self.begin(0)
        self.done(PrepareKeysAndFeatures(), OWN)
        self.introduce()
        return self

    def replied(self, number: int, **reputations: float | None) -> list[Effect]:
        """The named peers answer the query of a round (None: decline); the last effects."""
        effects: list[Effect] = []
        for peer, reputation in reputations.items():
            exchange = self.asking(peer).exchange
            if reputation is None:
                effects = self.hear(peer, Decline(number, exchange, NOT_SHARING))
                continue
            [run] = self.hear(peer, Answer(number, exchange, b"numbers"))
            effects = self.done(run.job, Opened(reputation if run.job.score else None))
        return effects

    def stepped(self, number: int) -> RoundOver:
        memory = self.machine.memory
        [over] = self.done(memory.running["Step", "", number], Stepped())
        return over

    def after_round_0(self, **reputations: float | None) -> "Stage":
        self.started().replied(0, **reputations)
        self.stepped(0)
        return self

    def asking(self, peer: str):
        return self.machine.memory.peers[peer].asking

    def serving(self, peer: str, number: int):
        return self.machine.memory.peers[peer].serving[number]

    def admission(self, peer: str) -> AdmissionState:
        return self.machine.memory.peers[peer].introduction.state

    @property
    def state(self) -> RoundState:
        return self.machine.memory.state

    def blamed(self, sender: str, message, reason: str) -> None:
        """The message is blamed on its sender, for this reason, and nothing has changed."""
        before = self.machine.memory
        [blame] = self.hear(sender, message)
        assert isinstance(blame, Blame)
        assert blame.peer == sender
        assert reason in blame.reason
        assert self.machine.memory is before

    def ignored(self, sender: str, message) -> None:
        before = self.machine.memory
        assert self.hear(sender, message) == []
        assert self.machine.memory == before


def sends(effects: list[Effect], peer: str) -> list:
    return [
        effect.message for effect in effects if isinstance(effect, Send) and effect.peer == peer
    ]


# --- beginning and ending a round ------------------------------------------------------------


def test_the_first_round_greets_everybody_and_makes_the_keys():
    assert Stage().begin(0) == [
        SetDeadline(0, 15.0),
        Send("bea", HELLO),
        Send("cem", HELLO),
        Run(PrepareKeysAndFeatures()),
    ]


def test_later_rounds_have_the_plain_deadline_and_no_setup():
    stage = Stage().after_round_0(bea=1.0, cem=0.0)
    assert stage.begin(1) == [SetDeadline(1, 10.0), Send("bea", Query(1, 1, b""))]


def test_a_forced_round_asks_everybody_and_scores():
    stage = Stage().started()
    assert stage.asking("bea").state is AskingState.ASKED
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert run == Run(OpenAnswer("bea", 0, 0, b"numbers", score=True, reputation=None))
    assert stage.asking("bea").state is AskingState.OPENING
    assert stage.done(run.job, Opened(0.25)) == []
    assert stage.machine.reputations == {"bea": 0.25, "cem": None}


def test_the_step_waits_for_the_last_reply_and_the_last_opening():
    stage = Stage().started()
    [run_bea] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert stage.hear("cem", Decline(0, 0, NOT_SHARING)) == []
    assert stage.state is RoundState.EXCHANGING
    assert stage.done(run_bea.job, Opened(0.75)) == [Run(Step(0, ("bea",), (0.75,)))]
    assert stage.state is RoundState.STEPPING
    [over] = stage.done(Step(0, ("bea",), (0.75,)), Stepped())
    assert stage.state is RoundState.IDLE
    assert over.round == 0
    assert over.summary.forced
    assert over.summary.asked == ("bea", "cem")
    assert over.summary.opened == ("bea",)
    assert over.summary.declined == {"cem": NOT_SHARING}
    assert over.summary.failed == over.summary.missed == ()
    assert over.summary.reputations == {"bea": 0.75, "cem": None}
    assert over.summary.step_error is None


def test_a_round_left_to_chance_asks_those_with_reputation_and_does_not_score():
    stage = Stage(peers=("bea", "cem", "dan")).after_round_0(bea=0.4, cem=0.0, dan=None)
    effects = stage.begin(1)
    assert [e.peer for e in effects if isinstance(e, Send)] == ["bea"]
    [run] = stage.hear("bea", Answer(1, 1, b"numbers"))
    assert run.job == OpenAnswer("bea", 1, 1, b"numbers", score=False, reputation=0.4)
    assert stage.done(run.job, Opened(None)) == [Run(Step(1, ("bea",), (0.4,)))]
    assert stage.machine.reputations == {"bea": 0.4, "cem": 0.0, "dan": None}
    over = stage.stepped(1)
    assert not over.summary.forced
    assert over.summary.asked == ("bea",)


def test_the_next_forced_round_smooths_the_reputation_it_has():
    stage = Stage().after_round_0(bea=0.4, cem=0.0)
    for number in (1, 2):
        stage.begin(number)
        stage.replied(number, bea=0.9)
        stage.stepped(number)
    stage.begin(3)
    [run] = stage.hear("bea", Answer(3, 3, b"numbers"))
    assert run.job == OpenAnswer("bea", 3, 3, b"numbers", score=True, reputation=0.4)


def test_without_anybody_to_ask_the_step_comes_at_once():
    stage = Stage().after_round_0(bea=0.0, cem=None)
    assert stage.begin(1) == [SetDeadline(1, 10.0), Run(Step(1, (), ()))]
    assert Stage(peers=()).begin(0) == [
        SetDeadline(0, 15.0),
        Run(PrepareKeysAndFeatures()),
        Run(Step(0, (), ())),
    ]


def test_vpdl_trusts_everybody_for_ever():
    stage = Stage(always_share=True)
    assert stage.machine.reputations == {"bea": 1.0, "cem": 1.0}
    stage.started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert not run.job.score
    stage.done(run.job, Opened(None))
    stage.replied(0, cem=None)
    stage.stepped(0)
    effects = stage.machine.handle(Begin(1, {}, 1))  # no coins are needed
    assert [e.peer for e in effects if isinstance(e, Send)] == ["bea", "cem"]
    assert stage.hear("cem", Query(1, 0, b"")) == [Run(AnswerQuery("cem", 1, 0, b""))]


def test_a_step_that_fails_ends_the_round_and_says_why():
    stage = Stage().started()
    stage.replied(0, bea=None, cem=None)
    [over] = stage.fail(Step(0, (), ()), "diverged")
    assert over.summary.step_error == "diverged"
    assert stage.state is RoundState.IDLE


# --- deadlines -------------------------------------------------------------------------------


def test_a_deadline_misses_what_is_not_settled_and_steps_with_the_rest():
    stage = Stage(peers=("bea", "cem", "dan")).started()
    stage.replied(0, bea=0.5)
    stage.hear("cem", Answer(0, 0, b"slow to open"))
    assert stage.expire(0) == [Run(Step(0, ("bea",), (0.5,)))]
    over = stage.stepped(0)
    assert over.summary.missed == ("cem", "dan")
    assert over.summary.reputations == {"bea": 0.5, "cem": None, "dan": None}


def test_late_replies_and_openings_change_nothing_and_blame_nobody():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    stage.ignored("cem", Answer(0, 0, b"late"))
    stage.ignored("bea", Answer(0, 0, b"numbers"))
    assert stage.done(run.job, Opened(0.9)) == []
    assert stage.machine.reputations == {"bea": None, "cem": None}
    assert stage.asking("bea").state is AskingState.MISSED
    stage.stepped(0)
    stage.begin(1)
    stage.ignored("cem", Answer(0, 0, b"very late"))


def test_an_opening_that_ends_in_a_later_round_is_dropped():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    stage.stepped(0)
    stage.begin(1)
    assert stage.done(run.job, Opened(0.9)) == []
    assert stage.machine.reputations["bea"] is None


def test_an_opening_that_fails_late_still_blames():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    [blame] = stage.fail(run.job, "wrong scale")
    assert blame.peer == "bea"
    assert stage.asking("bea").state is AskingState.MISSED


def test_a_deadline_while_stepping_or_after_the_round_does_nothing():
    stage = Stage().started()
    stage.replied(0, bea=None, cem=None)
    assert stage.expire(0) == []
    stage.stepped(0)
    assert stage.expire(0) == []
    stage.begin(1)
    assert stage.expire(0) == []
    assert stage.state is RoundState.STEPPING


def test_the_deadline_of_an_earlier_round_does_not_end_this_one():
    stage = Stage().after_round_0(bea=0.5, cem=0.0)
    stage.begin(1)
    assert stage.expire(0) == []
    assert stage.state is RoundState.EXCHANGING
    assert stage.asking("bea").state is AskingState.ASKED


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
        Send("bea", Query(0, 0, b"")),
    ]
    assert stage.hear("cem", HELLO) == [
        Send("cem", OWN.keys),
        Send("cem", OWN.features),
        Send("cem", Query(0, 0, b"")),
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
    for message in (HELLO, KEYS, Query(0, 0, b""), Answer(0, 0, b"")):
        stage.blamed("bea", message, "has been refused")
    stage.introduce("cem")
    stage.replied(0, cem=0.5)
    assert stage.stepped(0).summary.failed == ("bea",)
    for number in (1, 2):
        stage.begin(number)
        stage.replied(number, cem=0.5)
        stage.stepped(number)
    assert [e.peer for e in stage.begin(3) if isinstance(e, Send)] == ["cem"]


@pytest.mark.parametrize(
    ("promise", "enough"),
    [
        (None, False),
        (Promise(2.0, 1e-3), True),
        (Promise(1.0, 1e-4), True),
        (Promise(2.1, 1e-3), False),
        (Promise(1.0, 2e-3), False),
    ],
)
def test_a_peer_that_promises_its_patients_too_little_is_refused(promise, enough):
    stage = Stage(required=Promise(2.0, 1e-3))
    stage.begin(0)
    effects = stage.hear("bea", Hello(PROTOCOL_VERSION, bytes(32), promise))
    blames = [effect for effect in effects if isinstance(effect, Blame)]
    if enough:
        assert blames == []
        assert stage.admission("bea") is not AdmissionState.REFUSED
        return
    assert "promises its patients less" in blames[0].reason
    assert stage.admission("bea") is AdmissionState.REFUSED


def test_the_own_promise_is_told_to_every_peer():
    promise = Promise(2.0, 1e-3)
    effects = Stage(promise=promise).begin(0)
    said = [effect.message for effect in effects if isinstance(effect, Send)]
    assert said == [Hello(PROTOCOL_VERSION, bytes(32), promise)] * 2


def test_an_unusable_upload_refuses_its_sender():
    stage = Stage()
    stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.hear("bea", HELLO)
    stage.hear("bea", KEYS)
    stage.hear("bea", FEATURES)
    assert stage.hear("bea", Query(0, 0, b"")) == []
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
    stage.blamed("bea", Features(1, 30, b"peer's x", b""), "features")
    stage.blamed("bea", Hello(PROTOCOL_VERSION, b"\x01" * 32), "other constants")


def test_a_repeated_hello_gets_everything_again_once_a_round():
    stage = Stage().started()
    assert stage.hear("bea", HELLO) == [
        Send("bea", HELLO),
        Send("bea", OWN.keys),
        Send("bea", OWN.features),
        Send("bea", Query(0, 0, b"")),  # the first may have been lost, too
    ]
    assert stage.hear("bea", HELLO) == []
    stage.replied(0, bea=None, cem=None)
    stage.stepped(0)
    stage.begin(1)
    assert sends(stage.hear("bea", HELLO), "bea") == [HELLO, OWN.keys, OWN.features]


NEW_KEYS, NEW_FEATURES = Keys(4, b"new", b"evk"), Features(0, 30, b"new", b"")


def test_a_peer_that_lost_its_keys_is_imported_again_and_charged_anew():
    stage = Stage(forced_every=1).started()
    [run] = stage.hear("bea", Query(0, 0, b""))
    stage.done(run.job, Answered(b"numbers"))
    assert stage.hear("bea", NEW_KEYS) == []
    assert stage.admission("bea") is AdmissionState.GREETED
    assert stage.hear("bea", Query(0, 0, b"")) == []  # waits for the import
    [run] = stage.hear("bea", NEW_FEATURES)
    assert run.job == ImportPeer("bea", NEW_KEYS, NEW_FEATURES)
    [run] = stage.done(run.job, Imported())
    assert run.job == AnswerQuery("bea", 0, 0, b"")
    released = stage.machine.ledger.accounts["bea"].released
    assert released == {0: {"features 0, keys 0": 60, "features 0, keys 4": 60}}


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


def test_keys_of_an_older_epoch_or_others_of_the_same_are_blamed():
    stage = Stage().started()
    stage.hear("bea", NEW_KEYS)
    stage.blamed("bea", KEYS, "sent other content")
    stage.blamed("bea", Keys(4, b"other", b"evk"), "sent other content")


def test_nobody_waits_for_a_peer_that_is_away():
    stage = Stage().started()
    [run] = stage.hear("cem", Answer(0, 0, b"numbers"))
    stage.done(run.job, Opened(0.5))
    assert stage.machine.handle(Presence("bea", False)) == [Run(Step(0, ("cem",), (0.5,)))]
    over = stage.stepped(0)
    assert over.summary.missed == ("bea",)
    stage.begin(3)
    assert stage.asking("bea").state is AskingState.NOT_ASKED
    assert stage.asking("cem").state is AskingState.ASKED
    assert stage.machine.handle(Presence("bea", True)) == []
    stage.replied(3, cem=0.5)
    stage.stepped(3)
    stage.begin(6)
    assert stage.asking("bea").state is AskingState.ASKED


def test_an_answer_that_is_here_is_used_although_its_teacher_went_away():
    stage = Stage(peers=("bea",)).started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert stage.machine.handle(Presence("bea", False)) == []
    assert stage.done(run.job, Opened(0.5)) == [Run(Step(0, ("bea",), (0.5,)))]


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
    [decline] = machine.handle(Received("bea", Query(0, 0, b"")))
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
    assert sends(stage.begin(3), "bea") == [Query(3, 0, b"")]


# --- predictions -----------------------------------------------------------------------------


def with_predictions() -> Stage:
    return Stage(disclosure=dataclasses.replace(DISCLOSURE, release=Release.CLASS_SUMS))


def test_queries_wait_for_the_predictions_that_they_carry():
    stage = with_predictions()
    assert Run(PrepareQuery(0)) in stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.introduce()
    assert stage.asking("bea").state is AskingState.WAITING
    assert stage.done(PrepareQuery(0), Predictions(b"E(p)")) == [
        Send("bea", Query(0, 0, b"E(p)")),
        Send("cem", Query(0, 0, b"E(p)")),
    ]


def test_predictions_are_made_anew_each_round_and_only_if_somebody_is_asked():
    stage = with_predictions().started()
    stage.done(PrepareQuery(0), Predictions(b"E(p)"))
    stage.replied(0, bea=0.5, cem=0.0)
    stage.stepped(0)
    assert stage.begin(1) == [SetDeadline(1, 10.0), Run(PrepareQuery(1))]
    assert stage.done(PrepareQuery(1), Predictions(b"E(p')")) == [
        Send("bea", Query(1, 1, b"E(p')"))
    ]
    nobody = with_predictions().started()
    nobody.done(PrepareQuery(0), Predictions(b"E(p)"))
    nobody.replied(0, bea=None, cem=None)
    nobody.stepped(0)
    assert nobody.begin(1) == [SetDeadline(1, 10.0), Run(Step(1, (), ()))]


def test_predictions_that_fail_cost_the_round():
    stage = with_predictions().started()
    assert stage.fail(PrepareQuery(0)) == [Run(Step(0, (), ()))]
    assert stage.stepped(0).summary.failed == ("bea", "cem")


def test_predictions_of_an_earlier_round_are_dropped():
    for end in ("done", "fail"):
        stage = with_predictions().started()
        stage.expire(0)
        stage.stepped(0)
        stage.begin(1)
        if end == "done":
            assert stage.done(PrepareQuery(0), Predictions(b"E(p)")) == []
        else:
            assert stage.fail(PrepareQuery(0)) == []


def test_a_query_must_fit_the_release():
    Stage().started().blamed("bea", Query(0, 0, b"E(p)"), "does not fit the release")
    with_predictions().started().blamed("bea", Query(0, 0, b""), "does not fit the release")


# --- as teacher ------------------------------------------------------------------------------


def test_a_forced_round_answers_everybody():
    stage = Stage().started()
    job = AnswerQuery("bea", 0, 0, b"")
    assert stage.hear("bea", Query(0, 0, b"")) == [Run(job)]
    assert stage.serving("bea", 0).state is ServingState.COMPUTING
    assert stage.done(job, Answered(b"numbers")) == [Send("bea", Answer(0, 0, b"numbers"))]
    assert stage.serving("bea", 0).state is ServingState.ANSWERED


@pytest.mark.parametrize(
    ("reputation", "coin", "answers"),
    [
        (0.5, 0.5, True),
        (0.5, 0.51, False),
        (0.0, 0.01, False),
        (1.0, 0.99, True),
        (None, 0.0, False),
    ],
)
def test_a_round_left_to_chance_answers_iff_the_coin_is_within_the_reputation(
    reputation, coin, answers
):
    stage = Stage().after_round_0(bea=reputation, cem=None)
    stage.begin(1, bea=coin)
    expected = (
        Run(AnswerQuery("bea", 1, 0, b"")) if answers else Send("bea", Decline(1, 0, NOT_SHARING))
    )
    assert stage.hear("bea", Query(1, 0, b"")) == [expected]


def test_a_repeated_query_gets_the_same_bytes_and_no_second_job():
    stage = Stage().started()
    [run] = stage.hear("bea", Query(0, 0, b""))
    stage.ignored("bea", Query(0, 0, b""))  # still computing
    [answer] = stage.done(run.job, Answered(b"numbers"))
    ledger = stage.machine.ledger
    assert stage.hear("bea", Query(0, 0, b"")) == [answer]
    assert stage.machine.ledger is ledger


def test_a_repeated_query_that_was_declined_is_declined_again():
    stage = Stage().after_round_0(bea=0.5, cem=None)
    stage.begin(1, bea=0.9)
    decline = [Send("bea", Decline(1, 0, NOT_SHARING))]
    assert stage.hear("bea", Query(1, 0, b"")) == decline
    assert stage.hear("bea", Query(1, 0, b"")) == decline


def test_two_different_queries_for_one_round_are_blamed():
    stage = Stage().started()
    stage.hear("bea", Query(0, 0, b""))
    stage.blamed("bea", Query(0, 1, b""), "two different queries")


def test_an_answer_that_fails_is_declined_and_stays_so():
    stage = Stage().started()
    [run] = stage.hear("bea", Query(0, 0, b""))
    failed = [Send("bea", Decline(0, 0, DeclineReason.FAILED))]
    assert stage.fail(run.job) == failed
    assert stage.hear("bea", Query(0, 0, b"")) == failed


def test_queries_are_answered_while_stepping_and_after_the_round():
    stage = Stage().started()
    stage.replied(0, bea=0.5, cem=0.5)
    assert stage.hear("bea", Query(0, 0, b"")) == [Run(AnswerQuery("bea", 0, 0, b""))]
    stage.stepped(0)
    assert stage.hear("cem", Query(0, 0, b"")) == [Run(AnswerQuery("cem", 0, 0, b""))]


def test_a_query_of_the_next_round_is_kept_until_it_begins():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    assert stage.hear("bea", Query(1, 1, b"")) == []
    stage.ignored("bea", Query(1, 1, b""))
    stage.blamed("bea", Query(1, 2, b""), "two different queries")
    assert stage.serving("bea", 1).state is ServingState.KEPT
    assert Run(AnswerQuery("bea", 1, 1, b"")) in stage.begin(1, bea=0.2)


def test_a_kept_query_is_decided_with_the_coin_of_its_round():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.hear("bea", Query(1, 1, b""))
    assert Decline(1, 1, NOT_SHARING) in sends(stage.begin(1, bea=0.9), "bea")


def test_a_query_of_round_0_before_the_own_beginning_is_kept():
    stage = Stage()
    stage.introduce("bea")
    assert stage.hear("bea", Query(0, 0, b"")) == []
    assert Run(AnswerQuery("bea", 0, 0, b"")) in stage.begin(0)


def test_a_query_before_the_import_is_done_is_kept_until_then():
    stage = Stage()
    stage.begin(0)
    stage.hear("bea", HELLO)
    assert stage.hear("bea", Query(0, 0, b"")) == []
    stage.hear("bea", KEYS)
    stage.hear("bea", FEATURES)
    assert stage.done(ImportPeer("bea", KEYS, FEATURES), Imported()) == [
        Run(AnswerQuery("bea", 0, 0, b""))
    ]


def test_a_query_whose_import_outlasts_the_round_is_declined_as_stale():
    stage = Stage()
    stage.begin(0)
    stage.hear("bea", HELLO)
    stage.hear("bea", Query(0, 0, b""))
    stage.expire(0)
    stage.stepped(0)
    assert Send("bea", Decline(0, 0, STALE)) in stage.begin(1)


def test_queries_of_older_rounds_are_stale_and_of_far_rounds_kept():
    """Whoever was away is behind all others, and none of them is at fault."""
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(1)
    assert stage.hear("bea", Query(0, 0, b"")) == [Send("bea", Decline(0, 0, STALE))]
    assert stage.hear("bea", Query(4, 1, b"")) == []
    assert stage.hear("bea", Query(500, 2, b"")) == []
    assert sorted(stage.machine.memory.peers["bea"].serving) == [500]


def test_only_the_latest_query_is_kept_ahead():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.hear("bea", Query(1, 0, b""))
    stage.hear("bea", Query(3, 2, b""))
    stage.ignored("bea", Query(2, 1, b""))
    assert list(stage.machine.memory.peers["bea"].serving) == [3]
    for number in (1, 2):
        effects = stage.begin(number, bea=0.1)
        assert not any(isinstance(e, Run) and isinstance(e.job, AnswerQuery) for e in effects)
        stage.replied(number, bea=0.5, cem=0.5)
        stage.stepped(number)
    assert Run(AnswerQuery("bea", 3, 2, b"")) in stage.begin(3)


def test_answers_are_repeated_for_the_rounds_that_are_kept():
    stage = Stage(keep_rounds=1).started()
    [run] = stage.hear("bea", Query(0, 0, b""))
    [answer] = stage.done(run.job, Answered(b"numbers"))
    stage.replied(0, bea=0.5, cem=0.5)
    stage.stepped(0)
    stage.begin(1)
    assert stage.hear("bea", Query(0, 0, b"")) == [answer]
    stage.replied(1, bea=0.5, cem=0.5)
    stage.stepped(1)
    stage.begin(2)
    assert stage.hear("bea", Query(0, 0, b"")) == [Send("bea", Decline(0, 0, STALE))]


def test_an_answer_that_outlasts_its_round_is_sent_all_the_same():
    stage = Stage(keep_rounds=0).started()
    [run] = stage.hear("bea", Query(0, 0, b""))
    stage.replied(0, bea=0.5, cem=0.5)
    stage.stepped(0)
    stage.begin(1)
    stage.ignored("bea", Query(0, 0, b""))  # not computed twice
    assert stage.done(run.job, Answered(b"late")) == [Send("bea", Answer(0, 0, b"late"))]


# --- the ledger ------------------------------------------------------------------------------


def test_every_answer_is_charged_to_the_student_under_the_version_that_gave_it():
    stage = Stage()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Query(0, 0, b""))
    account = stage.machine.ledger.accounts["bea"]
    assert account.released == {7: {"features 0, keys 0": 60}}  # 30 samples, 2 classes
    assert account.samples == 30
    assert "cem" not in stage.machine.ledger.accounts


def test_an_unchanged_teacher_discloses_nothing_more():
    stage = Stage()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Query(0, 0, b""))
    stage.expire(0)
    stage.stepped(0)
    for number in (1, 2, 3):
        stage.begin(number, version=7)
        if stage.state is RoundState.EXCHANGING:
            stage.expire(number)
        stage.stepped(number)
    assert stage.hear("bea", Query(3, 1, b"")) == [Run(AnswerQuery("bea", 3, 1, b""))]
    assert stage.machine.ledger.accounts["bea"].total == 60


def test_new_predictions_are_new_numbers_even_from_an_unchanged_teacher():
    stage = with_predictions()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Query(0, 0, b"E(p)"))
    released = stage.machine.ledger.accounts["bea"].released
    assert released == {7: {"features 0, keys 0, predictions 0": 2}}


def test_beyond_the_limit_the_teacher_declines_even_when_forced():
    strict = dataclasses.replace(DISCLOSURE, fraction_per_version=0.9)
    stage = Stage(disclosure=strict).started()
    decline = [Send("bea", Decline(0, 0, DeclineReason.DISCLOSURE_LIMIT))]
    assert stage.hear("bea", Query(0, 0, b"")) == decline
    assert stage.machine.ledger.total == 0
    assert stage.machine.memory.running == {}


# --- unexpected messages ---------------------------------------------------------------------


def test_strangers_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.blamed("eve", HELLO, "does not belong")
    for message in (KEYS, FEATURES, Query(0, 0, b""), Answer(0, 0, b""), Decline(0, 0, STALE)):
        stage.blamed("bea", message, "has not said Hello yet")


def test_replies_that_nobody_asked_for_are_blamed():
    stage = Stage().after_round_0(bea=0.5, cem=0.0)
    stage.blamed("cem", Answer(0, 1, b""), "never sent")  # idle, exchange 1 was never asked
    stage.begin(1)
    stage.blamed("cem", Answer(1, 1, b""), "it was not asked this round")
    stage.blamed("bea", Answer(1, 0, b""), "expected 'round 1, exchange 1'")
    stage.blamed("bea", Answer(1, 2, b""), "never sent")
    stage.blamed("bea", Answer(2, 1, b""), "never sent")
    stage.blamed("bea", Answer(0, 1, b""), "never sent")  # that exchange is of round 1
    stage.blamed("bea", Decline(5, 9, NOT_SHARING), "never sent")


def test_replies_before_the_query_was_sent_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.introduce("bea")
    stage.blamed("bea", Answer(0, 0, b""), "it was not asked this round")


def test_a_second_reply_that_differs_is_blamed():
    stage = Stage().started()
    stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.ignored("bea", Answer(0, 0, b"numbers"))
    stage.blamed("bea", Answer(0, 0, b"other"), "two different replies")
    stage.blamed("bea", Decline(0, 0, NOT_SHARING), "two different replies")
    stage.hear("cem", Decline(0, 0, NOT_SHARING))
    stage.ignored("cem", Decline(0, 0, NOT_SHARING))
    stage.blamed("cem", Answer(0, 0, b"after all"), "two different replies")


def test_a_teacher_that_has_gone_on_may_call_a_repeated_query_stale():
    """Its answer and "stale" (for a copy of the query) arrive in either order."""
    stage = Stage().started()
    stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.ignored("bea", Decline(0, 0, STALE))
    stage.hear("cem", Decline(0, 0, STALE))
    stage.ignored("cem", Answer(0, 0, b"numbers"))
    assert stage.asking("cem").state is AskingState.DECLINED


def test_an_answer_that_cannot_be_opened_blames_and_goes_on_without():
    stage = Stage().started()
    stage.replied(0, cem=0.5)
    [run] = stage.hear("bea", Answer(0, 0, b"rubbish"))
    blame, step = stage.fail(run.job, "wrong scale")
    assert blame.peer == "bea"
    assert "wrong scale" in blame.reason
    assert step == Run(Step(0, ("cem",), (0.5,)))
    assert stage.stepped(0).summary.failed == ("bea",)


# --- faults of the host ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        Begin(0, {}, 0),  # the round before
        Begin(2, {}, 1),  # a gap
        Expired(1),
        Done(Step(0, (), ()), Stepped()),  # has ended already
        Failed(PrepareQuery(0), "never started"),
    ],
    ids=repr,
)
def test_a_host_that_breaks_the_rules_is_told_and_nothing_changes(event):
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    before = stage.machine.memory
    with pytest.raises(LocalProtocolError):
        stage.machine.handle(event)
    assert stage.machine.memory is before


def test_a_round_cannot_begin_inside_another():
    stage = Stage().started()
    with pytest.raises(LocalProtocolError, match="exchanging"):
        stage.begin(1)


def test_a_job_ends_as_the_job_that_was_run():
    stage = Stage().started()
    stage.hear("bea", Query(0, 0, b""))
    with pytest.raises(LocalProtocolError, match="not under way"):
        stage.done(AnswerQuery("bea", 0, 7, b""), Answered(b"numbers"))


def test_results_must_be_of_the_right_kind():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    with pytest.raises(LocalProtocolError, match="wrong kind of result"):
        stage.done(run.job, Stepped())
    for reputation in (None, -0.1, 1.1, float("nan")):
        with pytest.raises(LocalProtocolError, match="no reputation"):
            stage.done(run.job, Opened(reputation))
    assert stage.done(run.job, Opened(0.5)) == []  # still under way after all that


@pytest.mark.parametrize(
    "coins", [{}, {"bea": 0.5}, {"bea": 0.5, "cem": 1.0}, {"bea": -1, "cem": 0}]
)
def test_coins_must_be_complete_where_they_decide(coins):
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    with pytest.raises(LocalProtocolError, match="coin"):
        stage.machine.handle(Begin(1, coins, 1))


def test_teacher_versions_never_fall():
    stage = Stage()
    stage.begin(0, version=3)
    stage.introduce()
    stage.expire(0)
    stage.stepped(0)
    with pytest.raises(LocalProtocolError, match="version"):
        stage.begin(1, version=2)


@pytest.mark.parametrize("peers", [("ann",), ("bea", "bea"), ("",)])
def test_participants_need_different_names(peers):
    with pytest.raises(LocalProtocolError, match="different names"):
        ParticipantMachine("ann", peers, SETTINGS)

import msgspec
import pytest

from securefair.collaboration.gossip import telling
from securefair.config import parse_config
from securefair.records import AveragingResult, EncryptionResult, LedgerRow, RoundRecord
from securefair.report import averages, sentences
from securefair.report.facts import SenderDisclosure, sender_disclosures
from securefair.words import words_of
from support.concluded import concluded

AVERAGING = AveragingResult(
    averaging="masked",
    hides_weights=False,
    hides_parameters=True,
    parameters=20_000,
    average_error_bound=2e-8,
    cosine_error_bound=0.06,
    min_senders=2,
    kept_own=0,
    lost=0,
)
RESULT = EncryptionResult(
    backend="rns",
    ring_degree=4096,
    log_qp=105.0,
    security_bits=128,
    release="alignment",
    flooding_bits=30,
    max_abs_error=1.5e-8,
    error_over_range=1e-9,
    bytes_up=2_000_000,
    bytes_down=1_000_000,
    answers=70,
    declines=3,
    seconds=12.0,
    averaging=AVERAGING,
)
WORDS = words_of().about("hospitals")
CONFIG = """
[run]
name = "x"
algorithms = ["standalone", "cycle-gossip"]
[data]
source = "heart"
"""


def config(gossip=""):
    return parse_config(f"{CONFIG}[gossip]\n{gossip}\n", source="test")


def changed(**changes):
    return msgspec.structs.replace(AVERAGING, **changes)


def told(averaging, asked=None):
    encryption = msgspec.structs.replace(RESULT, averaging=averaging)
    result = concluded("cycle-gossip", ["Cleveland", "Hungary"], encryption)
    return telling.tell(asked or config(), result, WORDS)


def test_steps_say_what_was_sent_of_a_gradient():
    long = " ".join(told(AVERAGING, config()).steps)
    assert "random projection" in long
    for short in (
        told(changed(parameters=500), config()).steps,
        told(AVERAGING, config("sketch = 0")).steps,
    ):
        assert "random projection" not in " ".join(short)
    edges = 'edges = [["Cleveland", "Hungary"], ["Hungary", "Switzerland"]]'
    assert "edges in the configuration" in " ".join(told(AVERAGING, config(edges)).steps)


@pytest.mark.parametrize(
    ("result", "averaging", "said", "unsaid"),
    [
        (RESULT, AVERAGING, ["128-bit", "2 models or more", "knew the weight"], ["open"]),
        (
            RESULT,
            changed(hides_weights=True, min_senders=3),
            ["hidden from senders", "3 models"],
            [],
        ),
        (
            msgspec.structs.replace(RESULT, backend="clear"),
            AVERAGING,
            ["without encryption", "tests only"],
            ["128-bit"],
        ),
        (
            msgspec.structs.replace(RESULT, backend="clear"),
            changed(averaging="clear", hides_parameters=False),
            ["not protected", "in the open"],
            ["128-bit"],
        ),
        (
            msgspec.structs.replace(RESULT, backend="clear"),
            changed(averaging="crypten", hides_parameters=False),
            ["not protected", "one computer"],
            ["128-bit"],
        ),
    ],
    ids=["masked", "ckks", "clear alignment", "clear", "crypten"],
)
def test_protection_bounds_what_is_so(result, averaging, said, unsaid):
    text = averages.protection(result, averaging, WORDS)
    for words in said:
        assert words in text
    for words in unsaid:
        assert words not in text
    assert sentences.encryption(msgspec.structs.replace(result, averaging=averaging), WORDS) == text


def test_costs_name_what_was_skipped_and_both_errors():
    text = averages.cost(RESULT, AVERAGING, 1, WORDS)
    assert "1.5\u00a0\u00d7\u00a010\u207b\u2078" in text
    assert "2.0\u00a0\u00d7\u00a010\u207b\u2078" in text
    assert "kept its own" not in text
    text = averages.cost(RESULT, changed(kept_own=1, lost=4), 3, WORDS)
    assert "Once a participant kept its own model" in text
    assert "4 times a sender was lost" in text
    assert "over all 3 repetitions" in text


def test_the_bound_of_a_sum_is_not_read_as_that_of_an_average():
    """Results that state it, under its own name, are of an earlier version."""
    earlier = msgspec.to_builtins(AVERAGING)
    earlier["sum_error_bound"] = earlier.pop("average_error_bound")
    with pytest.raises(msgspec.ValidationError, match="average_error_bound"):
        msgspec.convert(earlier, AveragingResult)


def test_how_many_must_side_with_a_receiver_follows_the_configuration():
    for least in (2, 4):
        limits = dict(told(changed(min_senders=least)).limits)
        assert f"{least - 1} of the senders" in limits["Receivers with a sender on their side"]
    assert "without breaking any rule" in limits["What sums imply"]
    assert "nearly that sender's model" in limits["What sums imply"]
    assert "two models" not in limits["Dishonest receivers"]
    hidden = dict(told(changed(hides_weights=True)).limits)
    assert "two models apart in one sum" in hidden["Dishonest receivers"]


def test_a_largest_share_is_told_with_what_it_costs_and_who_checks_it():
    result = msgspec.structs.replace(RESULT, averaging=changed(max_share=0.6))
    assert "all senders of a sum knew its weights" in averages.protection(
        result, result.averaging, WORDS
    )
    limits = dict(told(changed(max_share=0.6)).limits)
    assert "No sender had more than 60\u00a0% of the weight" in limits["What sums imply"]
    assert "up to the largest share" in limits["Dishonest receivers"]
    for share, helpers in ((0.6, "1 sender"), (1 / 3, "2 senders"), (0.3, "3 senders")):
        limits = dict(told(changed(max_share=share)).limits)
        assert f"with {helpers} on its side" in limits["Dishonest receivers"]
    unchecked = changed(max_share=0.6, averaging="clear", hides_parameters=False)
    assert (
        "Senders know the weight that" in dict(told(unchecked).limits)["Decisions, sizes and times"]
    )  # nobody shows them all


@pytest.mark.parametrize("averaging", ["clear", "crypten"])
def test_models_that_were_handed_out_in_the_open_are_called_known(averaging):
    """docs/threat-model.md: either protects nothing between participants."""
    account = told(changed(averaging=averaging, hides_parameters=False))
    limits = dict(account.limits)
    assert "treat it as known to each receiver" in limits["Models in the open"]
    assert "own model in the open" in account.counted
    everything = str([account.counted, account.limits])
    for hiding in ("mixture", "model that is left", "several models together", "nearly that"):
        assert hiding not in everything
    hidden = told(AVERAGING)
    assert "Models in the open" not in dict(hidden.limits)
    assert "several models together" in hidden.counted


@pytest.mark.parametrize(
    ("backend", "compared"), [("rns", "under encryption"), ("clear", "in the open")]
)
def test_how_gradients_were_compared_is_said_beside_open_models(backend, compared):
    clear = changed(averaging="clear", hides_parameters=False)
    said = averages.protection(msgspec.structs.replace(RESULT, backend=backend), clear, WORDS)
    assert "The models in this run were not protected" in said
    assert said.endswith(f"Gradients were compared {compared}.")


def test_weights_name_the_preferred_neighbour():
    record = RoundRecord(
        algorithm="cycle-gossip",
        round=0,
        forced=True,
        accuracy=[0.5] * 3,
        cross_entropy=[0.5] * 3,
        reputation=[[None, 0.25, 0.5], [0.1, None, None], [None, None, None]],
        alignment=[[None] * 3] * 3,
        distillation_loss=[[None] * 3] * 3,
        asked=[[False] * 3] * 3,
        answered=[[False] * 3] * 3,
    )
    assert averages.weights(record, ["a", "b", "c"], WORDS) == [
        "a gives c most weight (0.50), and itself 0.25.",
        "b gives a most weight (0.10), and itself 0.90.",
        "c has no neighbours.",
    ]


def row(teacher, student, release, answers, numbers):
    return LedgerRow(
        algorithm="cycle-gossip",
        student=student,
        teacher=teacher,
        release=release,
        answers=answers,
        numbers_per_answer=1,
        numbers_total=numbers,
        teacher_parameters=66,
        student_logits=0,
    )


def test_sums_and_cosines_are_counted_apart():
    ledger = [
        row("a", "b", "alignment", 4, 4),
        row("a", "c", "alignment", 4, 4),
        row("a", "b", "weighted_sum", 7, 462),
        row("b", "a", "alignment", 4, 4),
    ]
    first, second = sender_disclosures(ledger, "cycle-gossip")
    assert first == SenderDisclosure(
        sender="a", receivers=1, cosines=8, sums=7, parameters=66, bits=0
    )
    assert (second.sender, second.sums, second.receivers) == ("b", 0, 0)
    assert "8 cosines" in averages.disclosure(first, WORDS)
    assert "7 sums for 1 receiver." in averages.disclosure(first, WORDS)
    nothing = SenderDisclosure("z", 0, 0, 0, 66, 0.0)
    assert averages.disclosure(nothing, WORDS) == "z let out nothing."

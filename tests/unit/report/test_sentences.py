"""Sentences say what the records say, and never promise more."""

from dataclasses import replace

import msgspec
import pytest

from securefair.collaboration.distillation.telling import released
from securefair.collaboration.kinds import REGISTERED, kind_of
from securefair.collaboration.wording import encrypts
from securefair.config import override
from securefair.config.user_data import TableSection
from securefair.report import sentences
from securefair.words import words_of

WORDS = words_of().about("hospitals")


def account_of(config, result, words):
    """What the page's account is of: the kind's, and what holds in every one."""
    tell = kind_of(result.algorithm).tell if result.algorithm in REGISTERED else None
    account = sentences.alone(result, words) if tell is None else tell(config, result, words)
    everywhere = sentences.everywhere(words, ranges_told=config.tells_ranges)
    return replace(account, limits=[*everywhere, *account.limits])


def test_alone_has_one_step(make_run):
    run = make_run(algorithms=("standalone",), backend=None)
    assert len(account_of(run.config, run.result, WORDS).steps) == 1


@pytest.mark.parametrize("origin", ["public", "participants"])
def test_ranges_that_come_from_tables_are_told(run, origin):
    given = {"label": "sick", "classes": [["0"], ["1"]], "origin": origin}
    config = run.config.model_copy(update={"table": TableSection.model_validate(given)})
    titles = [title for title, _ in account_of(config, run.result, WORDS).limits]
    assert ("Ranges from tables" in titles) == (origin == "participants")


def test_the_weight_of_one_patient_is_told(run, make_run):
    first, *_, second = sentences.cautions(run.result, WORDS)
    assert "Switzerland: 41 patients" in first
    assert "2.4 points" in first
    assert "one repetition" in second
    assert (
        "means over 2 repetitions" in sentences.cautions(make_run(seeds=(3, 4)).result, WORDS)[-1]
    )


def test_an_accuracy_that_a_constant_reaches_is_told(run):
    (_, told, _) = sentences.cautions(run.result, WORDS)
    assert "Switzerland (93.5\u00a0%) and VA Long Beach (74.5\u00a0%)" in told
    better = msgspec.structs.replace(
        run.result,
        participants=[
            msgspec.structs.replace(one, majority_accuracy=0.5) for one in run.result.participants
        ],
    )
    assert "most common" not in " ".join(sentences.cautions(better, WORDS))


def test_the_mean_gain_is_told_over_every_control(run, make_run):
    (text,) = sentences.control_note(run.result, WORDS)
    assert "+3.1 over Alone and +1.4 over Stopped early" in text
    assert sentences.control_note(make_run(algorithms=("standalone", "cycle")).result, WORDS) == []


def test_the_cost_is_told_where_there_was_encryption(run, make_run):
    text = sentences.cost(run.result, WORDS)
    for part in (
        "CYCle took 1\u00a0min 34\u00a0s,",
        "4.2\u00a0\u00d7\u00a010\u207b\u2075 of the spread of these values",
        "answers",
    ):
        assert part in text
    assert "over all 2 repetitions" in sentences.cost(make_run(seeds=(0, 1)).result, WORDS)
    assert sentences.cost(make_run(backend="clear").result, WORDS) == ""


@pytest.mark.parametrize("backend", ["clear", None])
def test_no_encryption_is_claimed_where_there_was_none(make_run, backend):
    run = make_run(backend=backend)
    assert not encrypts(run.result.encryption)
    assert "Nothing in this run was encrypted" in sentences.encryption(run.result.encryption, WORDS)
    steps = " ".join(account_of(run.config, run.result, WORDS).steps)
    assert "without encryption" in steps
    assert "encrypted under a key" not in steps
    assert "No readable record" not in steps


def test_encryption_is_told_where_there_was_some(run):
    assert "128-bit" in sentences.encryption(run.result.encryption, WORDS)
    steps = " ".join(account_of(run.config, run.result, WORDS).steps)
    assert "encrypted under a key that only it holds" in steps
    assert "Every 5 rounds" in steps


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("projection", "64 weighted sums per class"),
        ("logits", "every single patient"),
        ("class_sums", "cannot train"),
        ("loss", "one number, which"),
    ],
)
def test_each_release_is_described(run, release, text):
    changed = override(
        run.config,
        {"distillation.release": release, "run.algorithms": ["standalone"]},
    )
    assert text in released(changed.distillation, WORDS)


def test_logits_are_admitted_to_be_a_public_service(run):
    open_ = override(run.config, {"distillation.release": "logits"})
    assert "public prediction service" in str(account_of(open_, run.result, WORDS).limits)
    assert "more of them than its samples need" in str(account_of(open_, run.result, WORDS).limits)
    plain = str(account_of(run.config, run.result, WORDS).limits)
    assert "public prediction service" not in plain
    assert "It gets no more of them" in plain


def test_what_is_not_protected_names_malicious_teachers_and_the_exact_number_of_samples(run):
    told = dict(account_of(run.config, run.result, WORDS).limits)
    assert "student's secret key" in told["Malicious teachers"]
    assert "checked and rounded" in told["Malicious teachers"]
    open_ = override(run.config, {"distillation.release": "logits"})
    assert "checked" not in dict(account_of(open_, run.result, WORDS).limits)["Malicious teachers"]
    assert "exactly how many patients" in told["Sizes and times"]


def test_no_record_is_said_to_have_stayed_in_a_house_that_a_simulation_read(run):
    steps = " ".join(account_of(run.config, run.result, WORDS).steps)
    assert "passed from one hospital to another" in steps
    assert "left a hospital" not in steps


def test_reputations_name_best_and_least(run):
    last = run.rounds[-1]
    names = [one.name for one in run.result.participants]
    text = sentences.reputations(last, names, WORDS)[0]
    row = {n: r for n, r in zip(names, last.reputation[0], strict=True) if r is not None}
    assert f"most of {max(row, key=row.get)}" in text
    assert f"least of {min(row, key=row.get)}" in text
    alike = msgspec.structs.replace(last, reputation=[[None, 0.011, 0.012, 0.009]] * 4)
    assert "alike of everyone it has heard (0.01)" in sentences.reputations(alike, names, WORDS)[0]
    unknown = msgspec.structs.replace(last, reputation=[[None] * 4] * 4)
    assert "no reputation" in sentences.reputations(unknown, names, WORDS)[0]


@pytest.mark.parametrize(("every", "text"), [(1, "every single round"), (2, "Every 2 rounds")])
def test_how_often_everyone_answers_is_told(run, every, text):
    changed = override(run.config, {"fairness.forced_every": every})
    assert text in account_of(changed, run.result, WORDS).steps[-1]


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_what_is_not_protected_is_that_of_the_kind_that_ran(name, make_run):
    run = make_run(algorithms=("standalone", name))
    told = account_of(run.config, run.result, WORDS).limits
    assert told[0] == sentences.simulated(WORDS)
    assert told[1:] == kind_of(name).tell(run.config, run.result, WORDS).limits


def test_where_nothing_flows_back_no_report_says_that_it_does(make_run):
    run = make_run(algorithms=("standalone", "transfer"))
    logits = override(run.config, {"distillation.release": "logits"})
    told = account_of(run.config, run.result, WORDS).limits
    assert account_of(logits, run.result, WORDS).limits == told
    text = str(told)
    for untrue in ("carry it back", "public prediction service", "eputation"):
        assert untrue not in text
    assert "It reads nothing by that" in text
    assert "nothing that was opened flows back" in str(
        account_of(run.config, run.result, WORDS).steps
    )


def test_of_a_kind_that_is_gone_nothing_is_said(run):
    gone = msgspec.structs.replace(run.result, algorithm="mean-logits")
    assert account_of(run.config, gone, WORDS).steps == []
    assert account_of(run.config, gone, WORDS).limits == [sentences.simulated(WORDS)]
    assert "counts numbers" in account_of(run.config, gone, WORDS).counted

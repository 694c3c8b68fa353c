"""One call trains everyone's own modules together."""

import copy

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn
from torch.utils.data import Subset

import securefair as sf
from securefair.ckks.backends import get_backend
from securefair.errors import BackendUnavailableError, ConfigError, DataError
from securefair.exchange import answerer
from securefair.library.settings import ENTRY, settings
from securefair.report.progress import PlainProgress
from securefair.user.participants import load_participants
from support.experiments import run_experiment
from support.own_modules import QUICK as SLOWER
from support.own_modules import Classifier, own_modules

QUICK = SLOWER | {"rounds": 3, "local_epochs": 2}


def test_without_a_word_hospitals_transfer(hospitals):
    """One sum each, under masks, and models that tell probabilities."""
    result = sf.collaborate(hospitals)
    figure = result.outcome.result.algorithms["transfer"]
    assert result.config.run.collaborative == ("transfer",)
    assert sum(row.answers for row in result.ledger) == 6
    assert figure.metrics["log_loss"].mean < 0.6
    assert figure.sums == "gradient"
    assert figure.trust["North"].weights == {}
    x = np.zeros((3, 4))
    for model in result.models.values():
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_a_module_is_trained_by_rounds(two):
    result = sf.collaborate(two, nn.Linear(4, 2), rounds=1, local_epochs=1, backend="clear")
    assert result.config.run.collaborative == ("cycle",)


class Hears:
    def __init__(self):
        self.records = []

    def on_round(self, record):
        self.records.append(record)


@pytest.fixture
def two(hospitals):
    """Where a third hospital would show nothing more."""
    return {name: hospitals[name] for name in ("North", "South")}


@pytest.mark.slow
class TestOwnModules:
    def test_everyone_gets_its_own_type_back_trained(self, hospitals):
        models = own_modules(hospitals)
        before = {name: copy.deepcopy(model.state_dict()) for name, model in models.items()}
        result = sf.collaborate(hospitals, models, **QUICK)
        for name, (_, test) in hospitals.items():
            trained = result.models[name]
            assert type(trained) is Classifier
            assert trained is not models[name]
            x, y = test.tensors
            hits = (trained(x).argmax(dim=1) == y).double().mean().item()
            assert hits == pytest.approx(result.accuracy[name], abs=1 / len(y))
            assert not torch.equal(trained.inner.weight, before[name]["inner.weight"])
            for key, value in models[name].state_dict().items():
                assert torch.equal(value, before[name][key])

    def test_one_module_serves_as_everyones_start(self, two):
        result = sf.collaborate(two, nn.Linear(4, 2), **QUICK)
        weights = [model.weight for model in result.models.values()]
        assert {type(model) for model in result.models.values()} == {nn.Linear}
        assert not torch.equal(weights[0], weights[1])

    def test_encryption_changes_next_to_nothing(self, two):
        models = own_modules(two)
        clear, encrypted = (
            sf.collaborate(two, models, **QUICK | {"backend": backend})
            for backend in ("clear", "rns")
        )
        for name in two:
            a, b = (result.models[name].inner.weight for result in (clear, encrypted))
            assert (a - b).abs().max() < 0.02
        assert clear.ledger == encrypted.ledger

    def test_a_module_may_know_more_classes_than_the_labels(self, two):
        result = sf.collaborate(two, nn.Linear(4, 3), **QUICK)
        assert result.plan.spec.classes == 3

    def test_nothing_but_the_peers_makes_the_difference(self, hospitals):
        """Whoever follows nobody ends in the same place whoever the others are."""
        models = own_modules(hospitals)
        others = hospitals | {"South": hospitals["East"], "East": hospitals["South"]}
        for weight, same in ((0.0, True), (5.0, False)):
            one, other = (
                sf.collaborate(people, models, **QUICK | {"lambda_0": weight})
                for people in (hospitals, others)
            )
            weights = [result.models["North"].inner.weight for result in (one, other)]
            assert torch.equal(*weights) == same

    def test_a_public_extractor_comes_before_in_the_clear(self, two):
        torch.manual_seed(0)
        extractor = nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Dropout(0.9)).train()
        result = sf.collaborate(two, "linear", extractor=extractor, **QUICK)
        assert result.plan.spec.features == 7
        assert extractor.training
        again = sf.collaborate(two, "linear", extractor=extractor, **QUICK)
        assert again.accuracy == result.accuracy  # dropout is off


@pytest.mark.slow
class TestRun:
    def test_callbacks_hear_every_round_in_order(self, two):
        one, other = Hears(), Hears()
        result = sf.collaborate(two, callbacks=[one, other], **QUICK | {"rounds": 6})
        assert [record.round for record in one.records] == list(range(6))
        assert one.records == other.records == result.rounds
        assert [record.forced for record in one.records] == [True, *[False] * 4, True]

    def test_a_callback_ends_the_run_with_what_it_raises(self, two):
        class Impatient(Hears):
            def on_round(self, record):
                super().on_round(record)
                if record.round == 1:
                    raise KeyboardInterrupt

        hears = Impatient()
        with pytest.raises(KeyboardInterrupt):
            sf.collaborate(two, callbacks=[hears], **QUICK)
        assert len(hears.records) == 2

    def test_threads_are_the_callers_again_afterwards(self, two):
        class Counts(Hears):
            def on_round(self, record):
                super().on_round((record.round, torch.get_num_threads()))

        before, counts = torch.get_num_threads(), Counts()
        torch.set_num_threads(2)
        try:
            sf.collaborate(two, callbacks=[counts], **QUICK)
            assert {threads for _, threads in counts.records} == {1}
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)

    def test_vpdl_answers_always(self, hospitals):
        result = sf.collaborate(hospitals, **QUICK | {"algorithm": "vpdl"})
        assert len(result.exchanges) == 3 * 3 * 2
        assert {exchange.answered for exchange in result.exchanges} == {True}

    def test_equal_seeds_repeat_and_others_do_not(self, two):
        one, same, other = (sf.collaborate(two, seed=s, **QUICK) for s in (4, 4, 5))
        assert one.outcome.result.participants == same.outcome.result.participants
        assert one.rounds == same.rounds
        assert one.rounds != other.rounds

    def test_a_configuration_file_comes_to_the_same(self, make_arrays, tmp_path):
        """The same settings and samples, once from code and once from a file."""
        module = tmp_path / "own_call_data.py"
        module.write_text(
            "import numpy as np\n"
            "def load():\n"
            f"    with np.load({str(tmp_path / 'x.npz')!r}) as f:\n"
            "        return {n: (f[n + 'x'], f[n + 'y']) for n in ('a', 'b')}\n"
        )
        own = {"a": make_arrays(30, 1), "b": make_arrays(60, 2)}
        np.savez(
            tmp_path / "x.npz", **{n + k: v for n in own for k, v in zip("xy", own[n], strict=True)}
        )
        result = sf.collaborate(own, release="logits", hidden=3, seed=7, **QUICK)
        data = {"source": "python", "entry": "own_call_data:load", "module_folder": tmp_path}
        config = result.config.model_copy(
            update={"data": result.config.data.model_copy(update=data)}
        )
        assert len(load_participants(config, 7)[0].train) == 20
        outcome = run_experiment(config, PlainProgress(Console(quiet=True)))
        assert outcome.rounds == result.outcome.rounds
        assert outcome.ledger == result.ledger
        assert outcome.result.participants == result.outcome.result.participants
        assert outcome.result.algorithms == result.outcome.result.algorithms

    def test_limits_of_disclosure_hold(self, two):
        result = sf.collaborate(two, disclosure={"student_total": 13}, q=5, **QUICK)
        assert max(row.numbers_total for row in result.ledger) == 10

    def test_q_fits_the_hospital_with_the_fewest_samples(self, hospitals):
        result = sf.collaborate(hospitals, **QUICK)
        assert result.plan.spec.q == 6  # half of North's samples
        assert all(exchange.answered for exchange in result.exchanges if exchange.round == 0)


def test_what_a_caller_gives_stands_in_the_configuration(two):
    config = sf.collaborate(
        two,
        own_modules(two),
        training={"learning_rate": 0.01},
        tau_opt=0.1,
        metric="auc",
        **QUICK,
    ).config
    assert (config.model.kind, config.model.hidden) == ("quadratic", 5)
    assert config.training.learning_rate == 0.01
    assert config.run.metric == "auc"
    assert config.fairness.tau_opt == 0.1
    assert config.data.entry == ENTRY


def test_whole_numbers_of_numpy_are_whole_numbers(two):
    def found(whole):
        return sf.collaborate(
            two,
            "linear",
            algorithm="cycle",
            seed=whole(3),
            threads=whole(1),
            rounds=whole(1),
            distillation={"q": whole(2)},
            backend="clear",
            progress=False,
        )

    numpy, plain = found(np.int64), found(int)
    assert numpy.outcome.config == plain.outcome.config
    assert type(numpy.outcome.config.run.seeds[0]) is int
    assert numpy.accuracy == plain.accuracy


def test_what_a_call_leaves_out_is_what_a_file_leaves_out():
    from securefair.collaboration.kinds import refuse_unread
    from securefair.config import check_settings

    given = settings({"rounds": None}, algorithm="transfer", model=None, seed=0)
    table = {"run": given.run.model_dump(), "data": given.data.model_dump(exclude_none=True)}
    default = check_settings(table, source="t")
    assert given == default
    refuse_unread(given)


def test_a_transfer_follows_the_model_and_the_numbers_that_are_asked_for(two):
    result = sf.collaborate(two, "quadratic", q=3, backend="clear")
    assert (result.config.transfer.fit, result.config.transfer.q) == ("quadratic", 3)
    assert result.plan.spec.hidden > 0
    assert {row.numbers_per_answer for row in result.ledger} == {3}


def test_a_call_names_a_device(two, monkeypatch):
    named = []

    def noted(name, device):
        named.append(device)
        return get_backend(name)

    monkeypatch.setattr(answerer, "get_backend", noted)
    result = sf.collaborate(two, sums="none", device="cpu-kernels")
    assert result.config.encryption.device == "cpu-kernels"
    assert set(named) == {"cpu-kernels"}
    with pytest.raises(ConfigError, match=r"encryption\.device"):
        sf.collaborate(two, sums="none", device="gpu")
    with pytest.raises(ConfigError, match="device"):
        sf.collaborate(two, algorithm="cycle-gossip", device="cpu-kernels")


@pytest.mark.parametrize("settings", [{"sums": "none"}, {"algorithm": "vpdl", "rounds": 1}])
def test_a_card_that_is_not_there_ends_a_call(hospitals, monkeypatch, settings):
    """It is no reason for teachers to decline, which would look like a result."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BackendUnavailableError, match="no such card"):
        sf.collaborate(hospitals, device="cuda", **settings)


class Stops:
    """Interrupts a call after its first round, as Ctrl-C would."""

    def on_round(self, _record):
        raise KeyboardInterrupt


def test_a_checkpoint_of_an_interrupted_call_is_not_replaced(two, tmp_path):
    call = {**QUICK, "q": 2, "checkpoint": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        sf.collaborate(two, "linear", callbacks=[Stops()], **call)
    kept = sorted(path.name for path in (tmp_path / "unfinished").iterdir())
    with pytest.raises(ConfigError, match=r"checkpoint: an unfinished run is there.*resume=True"):
        sf.collaborate(two, "linear", **call)
    for other in ({"seed": 5}, {"rounds": 7}):
        with pytest.raises(ConfigError, match="has other settings") as caught:
            sf.collaborate(two, "linear", resume=True, **call | other)
        assert "--restart" not in str(caught.value)
    changed = {name: (Subset(train, range(9)), test) for name, (train, test) in two.items()}
    with pytest.raises(DataError, match="the data changed") as caught:
        sf.collaborate(changed, "linear", resume=True, **call)
    assert "--restart" not in str(caught.value)
    assert sorted(path.name for path in (tmp_path / "unfinished").iterdir()) == kept
    resumed = sf.collaborate(two, "linear", resume=True, **call)
    again = sf.collaborate(two, "linear", **call)  # what came to its end may be replaced
    assert resumed.accuracy == again.accuracy
    again.write(tmp_path)
    assert sf.collaborate(two, "linear", **call).accuracy == again.accuracy

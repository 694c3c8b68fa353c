"""An interrupted run goes on and gives what it would have given."""

import json
import os
import stat

import pytest

from securefair.config import demo_config, override
from securefair.errors import ConfigError, DataError
from securefair.run.checkpoint import FOLDER, unfinished_config
from securefair.run.folder import read_run, write_outcome
from support.alike import SCORES, assert_runs_alike
from support.experiments import run_experiment
from support.few import only_two

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]  # whole runs

SMALL = {
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "run.smaller": None,
    "model.kind": "linear",
    "distillation.q": 4,
    "training.rounds": 3,
    "training.local_epochs": 1,
    "fairness.forced_every": 2,
    "run.seeds": [0],
    "report.html": False,
}
VPDL = {"run.algorithms": ["standalone", "vpdl"]}
"""Where it does not matter how many algorithms follow; of two hospitals."""

REPEATED = ("config.toml", "metrics.json", "rounds.jsonl", "ledger.json", "traffic.json")


def small(backend="clear", **changes):
    return override(demo_config(), SMALL | {"encryption.backend": backend} | changes, source="test")


class Listener:
    """Stops the run after so many rounds, as Ctrl-C would."""

    def __init__(self, stop_after=None):
        self.heard, self.started, self.stop_after = 0, [], stop_after

    def start(self, algorithm, _rounds, seed=None, *, done=0, small=False):
        del small
        self.started.append((algorithm, seed, done))
        return self

    def advance(self, _record):
        self.heard += 1
        if self.heard == self.stop_after:
            raise KeyboardInterrupt

    def finish(self):
        pass


def interrupt(config, out, after, *, resume=False):
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Listener(after), out=out, resume=resume)


def finish(config, out, *, resume):
    listener = Listener()
    write_outcome(run_experiment(config, listener, out=out, resume=resume), out)
    return listener


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without interruption."""
    out = tmp_path_factory.mktemp("whole")
    finish(small(), out, resume=False)
    return out


@pytest.fixture(scope="module")
def whole_of_vpdl(tmp_path_factory):
    """The same of one algorithm and two hospitals."""
    out = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        only_two(patch)
        finish(small(**VPDL), out, resume=False)
    return out


CONTROLS = 6
"""Rounds before those of collaborations: one for each control."""


def files(out):
    return {name: (out / name).read_bytes() for name in REPEATED}


# Of 12 rounds: after a control, before VPDL, in VPDL, before a forced round of CYCle.
@pytest.mark.parametrize("after", [1, CONTROLS, 8, 11])
def test_a_clear_run_goes_on_byte_for_byte(whole, tmp_path, after):
    interrupt(small(), tmp_path, after)
    assert [path.name for path in tmp_path.iterdir()] == [FOLDER]
    listener = finish(unfinished_config(tmp_path), tmp_path, resume=True)
    again = 1 if after <= CONTROLS else 0  # a control that was not finished; no other round
    assert listener.heard == CONTROLS + 6 - after + again
    assert files(tmp_path) == files(whole)
    assert not (tmp_path / FOLDER).exists()


def test_a_later_seed_goes_on_too(two, tmp_path):
    config = small(**VPDL | {"run.seeds": [0, 1]})
    finish(config, tmp_path / "whole", resume=False)
    interrupt(config, tmp_path / "broken", 2 * (CONTROLS + 3) - 1)
    assert finish(config, tmp_path / "broken", resume=True).heard == 1
    assert files(tmp_path / "broken") == files(tmp_path / "whole")


def test_a_checkpoint_of_0_2_0_goes_on_too(two, whole_of_vpdl, tmp_path):
    """It has one default more, which says what is meant without it, and knows no device."""
    config = small(**VPDL)
    interrupt(config, tmp_path, 3)
    path = tmp_path / FOLDER / "config.toml"
    text = path.read_text()
    assert "[gossip]" not in text
    assert "metric" not in text
    assert 'device = "cpu"\n' in text
    text = text.replace('device = "cpu"\n', "")
    path.write_text(text.replace("[run]\n", '[run]\nmetric = "log_loss"\n'))
    finish(config, tmp_path, resume=True)
    assert files(tmp_path) == files(whole_of_vpdl)


def test_twice_interrupted_is_as_good(two, whole_of_vpdl, tmp_path):
    config = small(**VPDL)
    interrupt(config, tmp_path, CONTROLS + 1)
    interrupt(config, tmp_path, 1, resume=True)
    finish(config, tmp_path, resume=True)
    assert files(tmp_path) == files(whole_of_vpdl)
    stored = read_run(tmp_path)
    assert stored.interrupted == 2
    assert stored.repeated_bytes == 0  # participants have kept their keys


@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_an_encrypted_run_goes_on_with_its_keys(two, tmp_path, backend):
    """What nothing encrypted reaches equals to the bit, the rest but for the noise of answers.

    Interrupted after the first encrypted round.
    """
    changes = {"training.rounds": 2, "run.algorithms": ["standalone", "cycle"]}
    fine = {"encryption.precision": 2.0**-18}  # so that no noise decides who answers
    config = small(backend, **changes | fine)
    finish(config, tmp_path / "whole", resume=False)
    interrupt(config, tmp_path / "broken", CONTROLS + 1)
    assert finish(config, tmp_path / "broken", resume=True).heard == 1
    whole, broken = (read_run(tmp_path / name) for name in ("whole", "broken"))
    assert_runs_alike(
        *(
            json.loads((tmp_path / name / "metrics.json").read_text())
            for name in ("whole", "broken")
        )
    )
    assert whole.ledger == broken.ledger
    for a, b in zip(whole.rounds, broken.rounds, strict=True):
        assert (a.asked, a.answered) == (b.asked, b.answered)
        if a.algorithm == "cycle":
            assert a.cross_entropy == pytest.approx(b.cross_entropy, abs=SCORES)
        else:
            assert (a.accuracy, a.cross_entropy) == (b.accuracy, b.cross_entropy)
    assert any(map(any, broken.rounds[-1].answered))
    assert broken.traffic == whole.traffic


AVERAGING = {
    "run.algorithms": ["standalone", "cycle-gossip"],
    "fairness.forced_every": 3,
    "training.rounds": 4,
}


@pytest.fixture(scope="module")
def whole_of_averages(tmp_path_factory):
    """A run of averages without interruption."""
    out = tmp_path_factory.mktemp("whole")
    finish(small(**AVERAGING), out, resume=False)
    return read_run(out)


@pytest.mark.parametrize("after", [CONTROLS + 1, CONTROLS + 2, CONTROLS + 3])
def test_averages_go_on(whole_of_averages, tmp_path, after):
    """Interrupted after the first, second or third round of cycle-gossip: two do not align."""
    config = small(**AVERAGING)
    interrupt(config, tmp_path, after)
    listener = finish(config, tmp_path, resume=True)
    assert listener.started[-1] == ("cycle-gossip", None, after - CONTROLS)
    whole, again = whole_of_averages, read_run(tmp_path)
    assert again.rounds == whole.rounds
    assert again.ledger == whole.ledger
    assert again.traffic == whole.traffic
    assert again.result.participants == whole.result.participants


def test_what_participants_keep_is_for_its_owner_only_and_goes_with_the_run(two, tmp_path):
    """Their stores hold models and secret keys."""
    config = small(**VPDL)
    interrupt(config, tmp_path, CONTROLS + 2)
    stores = tmp_path / FOLDER / "seed-0.vpdl.sites"
    assert len(list(stores.glob("*/store.sqlite"))) == 2
    for path in stores.glob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (tmp_path / FOLDER).glob("*.state"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finish(config, tmp_path, resume=True)
    assert list(tmp_path.rglob("*.sqlite")) == []


def test_stores_of_an_algorithm_that_is_over_are_gone(two, tmp_path):
    interrupt(small(), tmp_path, CONTROLS + 4)  # in CYCle
    assert [path.name for path in tmp_path.rglob("*.sites")] == ["seed-0.cycle.sites"]


def test_lines_that_no_state_counts_are_dropped(two, whole_of_vpdl, tmp_path):
    """A crash between the lines of a round and its state."""
    config = small(**VPDL)
    interrupt(config, tmp_path, CONTROLS + 2)
    for path in (tmp_path / FOLDER).glob("seed-0.vpdl.*.jsonl"):
        line = path.read_bytes().splitlines(keepends=True)[0]
        path.write_bytes(path.read_bytes() + line + line[: len(line) // 2])
    finish(config, tmp_path, resume=True)
    assert files(tmp_path) == files(whole_of_vpdl)


def test_an_algorithm_without_a_state_begins_anew(two, whole_of_vpdl, tmp_path):
    """A crash after its first lines."""
    config = small(**VPDL)
    interrupt(config, tmp_path, CONTROLS + 1)
    (tmp_path / FOLDER / "seed-0.vpdl.state").unlink()
    listener = finish(config, tmp_path, resume=True)
    assert listener.started[CONTROLS - 1 : CONTROLS + 1] == [
        ("most_common", None, 1),
        ("vpdl", None, 0),
    ]
    assert files(tmp_path) == files(whole_of_vpdl)


@pytest.mark.usefixtures("two")
class TestRefusals:
    def test_data_that_changed(self, tmp_path):
        interrupt(small(), tmp_path, 3)
        path = tmp_path / FOLDER / "checkpoint.json"
        path.write_text(path.read_text().replace('"0": "', '"0": "f'))
        with pytest.raises(DataError, match=r"data changed.*in another folder"):
            run_experiment(small(), Listener(), out=tmp_path, resume=True)
        assert (tmp_path / FOLDER).exists()

    @pytest.mark.parametrize(
        ("key", "now"), [("data.test_fraction", 0.5), ("run.seeds", [1]), ("training.rounds", 4)]
    )
    def test_other_settings_are_named_and_no_other_data(self, tmp_path, key, now):
        interrupt(small(), tmp_path, 3)
        with pytest.raises(ConfigError, match="has other settings") as caught:
            run_experiment(small(**{key: now}), Listener(), out=tmp_path, resume=True)
        assert caught.value.found == f"{key} {now}"
        assert caught.value.expected.startswith(f"{key} ")
        assert (tmp_path / FOLDER).exists()

    @pytest.mark.parametrize("name", ["seed-0.vpdl.state", "seed-0.vpdl.rounds.jsonl"])
    def test_a_damaged_file_is_named(self, tmp_path, name):
        interrupt(small(), tmp_path, CONTROLS + 1)
        path = tmp_path / FOLDER / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(DataError, match="damaged") as caught:
            finish(small(), tmp_path, resume=True)
        assert name in str(caught.value)

    def test_another_version(self, tmp_path):
        interrupt(small(), tmp_path, 3)
        path = tmp_path / FOLDER / "checkpoint.json"
        path.write_text(path.read_text().replace('"format": 7', '"format": 6'))
        with pytest.raises(DataError, match=r"another version.*format 6.*format 7"):
            finish(small(), tmp_path, resume=True)

    def test_nothing_to_go_on_with(self, whole_of_vpdl, tmp_path):
        with pytest.raises(ConfigError, match="nothing to go on with"):
            unfinished_config(tmp_path)
        with pytest.raises(ConfigError, match="a finished run") as caught:
            unfinished_config(whole_of_vpdl)
        assert f"securefair report {whole_of_vpdl}" in str(caught.value)


def test_a_run_that_fails_leaves_nothing(tmp_path):
    config = small(**{"training.learning_rate": 1e300, "training.clip_norm": 1e300})
    with pytest.raises(Exception, match="diverged"):
        run_experiment(config, Listener(), out=tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_what_no_checkpoint_wrote_stays(tmp_path):
    """Neither a run that begins nor one that fails knows whose it is."""
    notes = tmp_path / "out" / FOLDER / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    config = small(**{"training.learning_rate": 1e300, "training.clip_norm": 1e300})
    with pytest.raises(Exception, match="diverged"):
        run_experiment(config, Listener(), out=tmp_path / "out")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [notes]


def test_a_new_run_drops_an_older_checkpoint(two, whole_of_vpdl, tmp_path):
    interrupt(small(**VPDL | {"training.rounds": 2}), tmp_path, 2)
    finish(small(**VPDL), tmp_path, resume=False)
    assert files(tmp_path) == files(whole_of_vpdl)

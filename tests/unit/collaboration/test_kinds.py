"""The register asks the kinds that a configuration is about, and loads no others."""

import subprocess
import sys
import tomllib

import pytest

from securefair.collaboration.kinds import (
    REGISTERED,
    kind_of,
    kinds_of,
    refuse_unread,
    unread_keys,
    wording_of,
)
from securefair.collaboration.wording import CONTROL_WORDINGS
from securefair.config import (
    RunConfig,
    defaults,
    keys_of,
    kinds_keys,
    override,
    parse_config,
    to_toml,
)
from securefair.errors import ConfigError


def test_only_the_kinds_of_a_run_are_loaded():
    """In one new process: first of one run, then of another."""
    code = (
        "import sys\n"
        "from securefair.collaboration.kinds import REGISTERED, kinds_of\n"
        "from securefair.config import RunConfig\n"
        "data = {'source': 'heart', 'test_fraction': 0.25}\n"
        "for name in sys.argv[1:]:\n"
        "    run = {'name': 'x', 'algorithms': ['standalone', name]}\n"
        "    kinds_of(RunConfig.model_validate({'data': data, 'run': run}))\n"
        "    print([n for n, at in REGISTERED.items() if at.partition(':')[0] in sys.modules])\n"
    )
    names = ["transfer", "cycle-gossip"]
    shown = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=True
    )
    expected, folders = [], set()
    for name in names:
        folders.add(REGISTERED[name].partition(":")[0])
        loaded = [one for one, at in REGISTERED.items() if at.partition(":")[0] in folders]
        assert loaded != list(REGISTERED)
        expected.append(str(loaded))
    assert shown.stdout.splitlines() == expected


def test_a_section_of_a_kind_that_is_not_run_is_checked():
    config = {
        "data": {"source": "heart", "test_fraction": 0.25},
        "run": {"name": "x", "algorithms": ["standalone", "vpdl"]},
    }
    kinds_of(RunConfig.model_validate(config))
    gossip = {"network": "mlp-32"}
    with pytest.raises(ConfigError, match=r"gossip\.network"):
        kinds_of(RunConfig.model_validate(config | {"gossip": gossip}))


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_the_folder_of_a_kind_is_called_as_its_section(name):
    assert REGISTERED[name].split(".")[2] in RunConfig.model_fields


def test_wordings_of_kinds_controls_and_strangers():
    assert wording_of("cycle") is kind_of("cycle").wording
    assert wording_of("standalone") is CONTROL_WORDINGS["standalone"]
    assert wording_of("nobody").title == "nobody"


def asking(*algorithms, **sections):
    table = {
        "data": {"source": "heart"},
        "run": {"name": "x", "algorithms": ["standalone", *algorithms]},
    }
    return RunConfig.model_validate(table | sections)


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_a_kind_reads_keys_that_there_are_and_its_own_section(name):
    reads = kind_of(name).reads
    assert reads <= kinds_keys()
    assert keys_of(REGISTERED[name].split(".")[2]) <= reads
    assert "encryption.backend" in reads


@pytest.mark.parametrize(
    ("algorithms", "sections", "keys"),
    [
        (("transfer",), {"training": {"rounds": 77}}, "training.rounds"),
        (("vpdl",), {"fairness": {"alpha": 0.1}}, "fairness.alpha"),
        (("cycle",), {"gossip": {"beta": 2.0}}, "gossip.beta"),
        (("cycle-gossip",), {"encryption": {"precision": 0.01}}, "encryption.precision"),
        (("vpdl", "transfer"), {"gossip": {"beta": 2.0}}, "gossip.beta"),
    ],
)
def test_a_key_that_no_algorithm_of_a_run_reads_is_refused(algorithms, sections, keys):
    with pytest.raises(ConfigError, match="no algorithm of this run learns by this key") as caught:
        refuse_unread(asking(*algorithms, **sections))
    assert caught.value.where == keys
    others = [name for name in REGISTERED if keys in kind_of(name).reads]
    assert f"{keys}: {' and '.join(others)}" in caught.value.hint


@pytest.mark.parametrize(
    ("algorithms", "sections"),
    [
        (("vpdl", "transfer"), {"training": {"rounds": 3}, "transfer": {"q": 3}}),
        (("transfer", "cycle"), {"fairness": {"alpha": 0.1}}),
        (("cycle",), {"transfer": {"fit": "quadratic"}}),  # of the controls
        ((), {"training": {"rounds": 3}, "encryption": {"backend": "clear"}}),
        (("transfer",), {"report": {"html": False}}),
        (("transfer",), {"training": {"rounds": defaults.ROUNDS}}),  # says what holds anyway
    ],
)
def test_a_key_that_one_of_them_reads_is_taken(algorithms, sections):
    refuse_unread(asking(*algorithms, **sections))


def test_what_is_written_can_be_asked_for_again():
    """Also after an option of the command line, which gives no other key."""
    config = override(asking("transfer"), {"encryption.backend": "clear"})
    refuse_unread(config)
    text = to_toml(config, unread=unread_keys(config.run.collaborative))
    refuse_unread(parse_config(text, source="t"))
    assert parse_config(text, source="t") == config
    refuse_unread(parse_config(to_toml(config), source="t"))  # as earlier versions wrote it


def test_what_a_control_may_read_stays_in_what_is_written():
    """Configurations of earlier versions hold keys that are refused now: their figures repeat."""
    config = asking("transfer", training={"rounds": 1, "local_steps": defaults.LOCAL_STEPS})
    text = to_toml(config, unread=unread_keys(config.run.collaborative))
    training = tomllib.loads(text)["training"]
    assert training["rounds"] == 1
    assert "local_steps" not in training
    assert parse_config(text, source="t") == config


def test_an_unknown_name_is_answered_with_those_of_collaborations():
    with pytest.raises(ConfigError, match="no such algorithm") as caught:
        kind_of("standalone")
    assert caught.value.expected == ", ".join(REGISTERED)


def test_of_a_kind_that_is_gone_everything_is_kept():
    assert unread_keys(asking("mean-logits").run.collaborative) == frozenset()

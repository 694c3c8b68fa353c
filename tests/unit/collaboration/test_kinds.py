"""The register asks the kinds that a configuration is about, and loads no others."""

import subprocess
import sys

import pytest

from securefair.collaboration.kinds import REGISTERED, kind_of, kinds_of, wording_of
from securefair.collaboration.wording import CONTROL_WORDINGS
from securefair.config import RunConfig
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

"""The register asks the kinds that a configuration is about, and loads no others."""

import subprocess
import sys

import pytest

from securefair.collaboration.kinds import REGISTERED, kind_of, kinds_of, wording_of
from securefair.collaboration.wording import CONTROL_WORDINGS
from securefair.config import RunConfig
from securefair.errors import ConfigError


@pytest.mark.parametrize("name", ["transfer", "cycle-gossip"])
def test_only_the_kinds_of_a_run_are_loaded(name):
    code = (
        "import sys\n"
        "from securefair.collaboration.kinds import REGISTERED, kinds_of\n"
        "from securefair.config import RunConfig\n"
        "data = {'source': 'heart', 'test_fraction': 0.25}\n"
        "run = {'name': 'x', 'algorithms': ['standalone', sys.argv[1]]}\n"
        "kinds_of(RunConfig.model_validate({'data': data, 'run': run}))\n"
        "print([n for n, at in REGISTERED.items() if at.partition(':')[0] in sys.modules])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, name], capture_output=True, text=True, check=True
    )
    folder = REGISTERED[name].partition(":")[0]
    expected = [one for one, at in REGISTERED.items() if at.partition(":")[0] == folder]
    assert shown.stdout.strip() == str(expected)


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

import subprocess
import sys

import pytest
import torch

from securefair.ckks.backends import BACKENDS, get_backend
from securefair.errors import BackendUnavailableError, ConfigError


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_every_backend_is_found_by_its_own_name(name):
    try:
        found = get_backend(name)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    assert found.name == name


def test_an_unknown_backend_is_refused_with_those_there_are():
    with pytest.raises(BackendUnavailableError) as error:
        get_backend("sael")
    assert error.value.found == "sael"
    for name in BACKENDS:
        assert name in str(error.value)


@pytest.mark.parametrize("device", [torch.device("cpu"), None, 0])
def test_a_device_is_named_by_a_text(device):
    with pytest.raises(ConfigError, match=r"device: a device is named by a text"):
        get_backend("rns", device)


def test_a_backend_whose_library_is_missing_says_so(monkeypatch):
    monkeypatch.setitem(BACKENDS, "absent", "securefair.ckks.backends.absent:AbsentBackend")
    with pytest.raises(BackendUnavailableError, match="absent cannot be imported") as error:
        get_backend("absent")
    assert error.value.hint


def test_the_registry_imports_no_library_by_itself():
    # Backends load when asked for: planning must not need an encryption library.
    code = (
        "import sys, securefair.ckks.backends, securefair.circuit.planner;"
        "print(sorted({'_sealapi_cpp', 'torch', 'openfhe'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

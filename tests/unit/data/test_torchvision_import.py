import importlib
import sys
import types
from importlib.util import find_spec

import pytest
import torch

from securefair.data import torchvision_import
from securefair.data.torchvision_import import import_torchvision
from securefair.errors import BackendUnavailableError

needs_torchvision = pytest.mark.skipif(
    find_spec("torchvision") is None, reason="torchvision is not installed: extra `vision`"
)


@pytest.mark.slow
@needs_torchvision
def test_models_and_transforms_work_after_the_import():
    torchvision = import_torchvision()
    model = torchvision.models.resnet18(num_classes=7).eval()
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    v2 = importlib.import_module("torchvision.transforms.v2")
    assert v2.functional.horizontal_flip(torch.arange(3.0)[None, None]).flatten().tolist() == [
        2,
        1,
        0,
    ]


@pytest.mark.slow
@needs_torchvision
def test_importing_again_changes_nothing():
    first, declared = import_torchvision(), list(torchvision_import._declared)
    assert import_torchvision() is first
    assert importlib.import_module("torchvision") is first
    assert torchvision_import._declared == declared


@pytest.fixture
def pretended(monkeypatch):
    """An import of torchvision that does as told, one step after the other; nothing is declared."""
    monkeypatch.setattr(torchvision_import, "_declared", [])
    # what other tests imported is put back afterwards
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)

    def pretend(*steps):
        left = iter(steps)

        def import_module(name):
            assert name == "torchvision"
            step = next(left)
            if isinstance(step, Exception):
                raise step
            return step

        monkeypatch.setattr(
            torchvision_import, "importlib", types.SimpleNamespace(import_module=import_module)
        )

    return pretend


def test_where_the_import_works_nothing_is_declared(pretended, monkeypatch):
    module = types.ModuleType("torchvision")
    pretended(module)
    monkeypatch.setattr(torchvision_import, "_declare_operators", lambda: pytest.fail("declared"))
    assert import_torchvision() is module


def test_half_imported_modules_are_cleared_before_the_second_try(pretended, monkeypatch):
    module, declared = types.ModuleType("torchvision"), []
    pretended(RuntimeError("operator torchvision::nms does not exist"), module)
    monkeypatch.setattr(torchvision_import, "_declare_operators", lambda: declared.append(1))
    monkeypatch.setitem(sys.modules, "torchvision.half", types.ModuleType("torchvision.half"))
    monkeypatch.setitem(sys.modules, "torchvisionary", types.ModuleType("torchvisionary"))
    assert import_torchvision() is module
    assert declared == [1]
    assert "torchvision.half" not in sys.modules
    assert "torchvisionary" in sys.modules


def test_not_installed_says_what_to_install(pretended):
    pretended(ModuleNotFoundError("No module named 'torchvision'"))
    with pytest.raises(BackendUnavailableError, match=r"pip install 'securefair\[vision\]'"):
        import_torchvision()


def test_other_failures_are_not_cured(pretended, monkeypatch):
    monkeypatch.setattr(torchvision_import, "_declare_operators", lambda: pytest.fail("declared"))
    pretended(RuntimeError("compiled with CUDA 12.1"))
    with pytest.raises(BackendUnavailableError, match=r"does not fit this torch .*CUDA 12\.1"):
        import_torchvision()

"""Weights out of PyTorch's older files: the same tensors, and nothing that runs."""

import os
import pickle
from collections import OrderedDict

import pytest
import torch

from securefair.errors import ModelError
from securefair.model.torch_file import read_tensors


def saved(path, value):
    torch.save(value, path, _use_new_zipfile_serialization=False)
    return path


def weights():
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(6, 8, generator=generator)
    return {
        "plain": base,
        "transposed": base.t(),
        "part": base[2:4, ::2],
        "double": torch.randn(3, generator=generator, dtype=torch.float64),
        "count": torch.tensor(5),
        "empty": torch.zeros(0, 3),
    }


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_tensors_are_those_that_were_saved(tmp_path, kind):
    expected = kind(weights())
    found = read_tensors(saved(tmp_path / "w", expected))
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_a_state_of_a_module_is_read(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    found = read_tensors(saved(tmp_path / "w", module.state_dict()))
    assert all(torch.equal(found[name], value) for name, value in module.state_dict().items())


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("was-here",)


@pytest.mark.parametrize("value", [Hostile(), {"a": Hostile()}, {"a": [1.5]}, [torch.ones(2)], 5])
def test_whatever_else_is_refused_and_never_run(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path / "w", value)
    with pytest.raises(ModelError, match="not a file of tensors"):
        read_tensors(path)
    assert not (tmp_path / "was-here").exists()
    torch.load(saved(tmp_path / "v", Hostile()), weights_only=False)
    assert (tmp_path / "was-here").exists()  # what the refused file would have done


def test_damaged_files_are_refused(tmp_path):
    content = saved(tmp_path / "w", weights()).read_bytes()
    damaged = tmp_path / "damaged"
    for size in range(0, len(content), 37):
        damaged.write_bytes(content[:size])
        with pytest.raises(ModelError):
            read_tensors(damaged)
    damaged.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelError):
        read_tensors(damaged)

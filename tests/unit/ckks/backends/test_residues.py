"""Arrays and tensors: the same operations, the same bits of every kernel, never both at once."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from securefair.ckks.backends import get_backend, kernel_choice, kernels, packing, pairs, residues
from securefair.ckks.backends.basis import Basis
from securefair.ckks.interleaving import places_under
from securefair.errors import BackendUnavailableError, ConfigError, EncryptionError
from unit.ckks.backends.residues import BASIS, SPECIAL, N, random_residues

CPU = torch.device("cpu")
WHOLE = Basis(N, (*BASIS.primes, SPECIAL))
X, Y, THREE = random_residues(1, 4, 2), random_residues(2, 4, 2), random_residues(3, 4, 3)
KEY = random_residues(4, len(BASIS), 2, basis=WHOLE)
BIAS = np.ascontiguousarray(random_residues(5, 6)[..., 9])
WEIGHTS = np.random.default_rng(6).integers(-99, 100, (6, 4))
ROWS = np.stack([[0, 1, 1, 0], [3, 2, 0, 1]], axis=1)
PATCH = WEIGHTS, np.arange(4)[None], np.arange(6)[None]
GROUPS = np.array([[0, 1, 2], [5, 4, 3]])

KERNELS = {
    "add": lambda a: kernels.add(a.x, a.y, BASIS),
    "subtract": lambda a: kernels.subtract(a.x, a.y, BASIS),
    "multiply_plain": lambda a: kernels.multiply_plain(a.x, residues.contiguous(a.y[:, 1]), BASIS),
    "linear": lambda a: kernels.linear(WEIGHTS, a.x, BASIS, a.bias),
    "linear_patches": lambda a: kernels.linear_patches([a.x, a.y], ROWS, [PATCH], BASIS, a.bias),
    "square_patches": lambda a: kernels.square_patches(
        [a.x, a.y], ROWS, [PATCH], BASIS, a.bias, GROUPS
    ),
    "square": lambda a: kernels.square(a.x, BASIS),
    "multiply": lambda a: kernels.multiply(a.x, a.y, BASIS),
    "inner": lambda a: kernels.inner(a.x, a.y, BASIS, groups=2),
    "outer": lambda a: kernels.outer(a.x, a.y, BASIS),
    "rescale": lambda a: kernels.rescale(a.x, 2, BASIS),
    "relinearize": lambda a: kernels.relinearize(a.three, a.key, SPECIAL, BASIS),
    "coefficients": lambda a: kernels.coefficients(a.x, [3, 700], BASIS),
    "conjugates": lambda a: pairs.add_conjugates(a.x, a.key, SPECIAL, BASIS),
    "join": lambda a: pairs.join(a.x, a.y, BASIS),
}


def tensor(x):
    return residues.placed(x, CPU)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_give_tensors_the_bits_that_they_give_arrays(kernel):
    arrays = {"x": X, "y": Y, "three": THREE, "key": KEY, "bias": BIAS}
    tensors = {name: tensor(value) for name, value in arrays.items()}
    found = kernel(SimpleNamespace(**tensors))
    assert isinstance(found, torch.Tensor)
    assert np.array_equal(found.numpy(), kernel(SimpleNamespace(**arrays)))


def test_what_arrives_is_wanted_on_a_device_or_not():
    first, seeds = packing.pack(X[:, 0].view(np.uint32), BASIS.primes), np.ones((4, 64), np.uint8)
    there = kernels.receive(first, seeds, BASIS, CPU)
    assert np.array_equal(there.numpy(), kernels.receive(first, seeds, BASIS, None))


def test_kernels_in_place_write_into_tensors():
    x = tensor(X.copy())
    kernels.ntt_inverse_(x, BASIS)
    kernels.ntt_forward_(x, BASIS)
    kernels.add_(x, tensor(Y), BASIS)
    assert np.array_equal(x.numpy(), kernels.add(X, Y, BASIS))


def test_arrays_and_tensors_are_not_mixed():
    with pytest.raises(EncryptionError, match="different devices") as caught:
        kernels.add(X, tensor(Y), BASIS)
    assert (caught.value.found, caught.value.expected) == ("cpu", "a numpy array")


def overwritten(x):
    residues.overwrite_(x[:2], x[2:])
    return x


OPERATIONS = {
    "contiguous": lambda x: residues.contiguous(x[:, 1:]),
    "copied": residues.copied,
    "concatenate": lambda x: residues.concatenate([x, x]),
    "stack": lambda x: residues.stack([x, x], 1),
    "zeros_like": residues.zeros_like,
    "backwards": residues.backwards,
    "gathered": lambda x: residues.gathered(x, places_under(N, 5)),
    "repeated": lambda x: residues.repeated(x[:1], 3),
    "spread": lambda x: residues.spread(x, np.array([4, 0, 1, 6]), 8),
    "overwritten": lambda x: overwritten(residues.copied(x)),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_keep_the_kind_and_agree(operation):
    array, found = operation(X), operation(tensor(X))
    assert isinstance(array, np.ndarray)
    assert isinstance(found, torch.Tensor)
    assert np.array_equal(residues.in_memory(found), array)


@pytest.mark.parametrize("operation", [residues.copied, lambda x: residues.repeated(x[:1], 1)])
def test_copies_can_be_written(operation):
    for x in (X.copy(), tensor(X.copy())):
        operation(x)[:] = 0
        assert np.array_equal(residues.in_memory(x), X)


def test_rows_are_spread_among_zeros_and_overwritten():
    found = residues.spread(X[:2], np.array([2, 0]), 4)
    assert np.array_equal(found, np.stack([X[1], 0 * X[0], X[0], 0 * X[0]]))
    assert np.array_equal(overwritten(X.copy()), X[[2, 3, 2, 3]])


def test_devices_have_names():
    assert residues.named_device("cpu") is None is residues.device_of(X)
    assert residues.named_device("cpu-kernels") == CPU == residues.device_of(tensor(X))


def test_a_card_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert residues.named_device("cuda") == torch.device("cuda", 0)
    assert residues.named_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(BackendUnavailableError, match="no such card") as refused:
        residues.named_device("cuda:2")
    assert refused.value.expected == "one of 2"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BackendUnavailableError, match="no such card"):
        residues.named_device("cuda")
    for name in ("gpu", "cuda:x", "cuda:-1", "mps", "", "cpu\n"):
        with pytest.raises(ConfigError, match="unknown device"):
            residues.named_device(name)


def test_what_compiles_kernels_must_be_there(monkeypatch):
    monkeypatch.setattr(residues, "find_spec", lambda _: None)
    with pytest.raises(BackendUnavailableError, match="not installed") as refused:
        get_backend("rns", "cpu-kernels")
    assert "securefair[gpu]" in refused.value.hint
    assert get_backend("rns").name == "rns"
    monkeypatch.setattr(kernel_choice, "_native", None)  # as where no compiler was
    with pytest.raises(BackendUnavailableError, match="not installed"):
        get_backend("rns")


@pytest.mark.parametrize("name", ["seal", "clear"])
def test_other_backends_know_the_processor_only(name):
    with pytest.raises(ConfigError, match="processor only"):
        get_backend(name, "cpu-kernels")

"""A tiny experiment on scikit-learn's digits, the papers' tables, and a pretended device."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

from securefair.records import RoundRecord
from securefair.report import Progress
from securefair_lab.papers.cffl_tables import TABLE_1
from securefair_lab.papers.experiment import Experiment
from securefair_lab.papers.reference import PAPERS_VARIABLE

PAPERS = tuple(f"{paper}.json" for paper in ("cffl", "cycle", "dpfl", "fairsl"))


class Silent:
    """Progress that can stop a run after so many rounds, as Ctrl-C would."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.rounds, self.stop_after = 0, stop_after

    def start(self, *_: object, **__: object) -> Silent:
        """Nothing to show."""
        return self

    def advance(self, record: object) -> None:  # noqa: ARG002  # the protocol has it
        """Count, and stop when it is time."""
        self.rounds += 1
        if self.rounds == self.stop_after:
            raise KeyboardInterrupt

    def finish(self) -> None:
        """Nothing to clear up."""


@pytest.fixture(scope="session")
def papers() -> Path:
    """The folder of the papers' tables and settings; tests that need it skip where it is not."""
    named = os.environ.get(PAPERS_VARIABLE)
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "papers"
    missing = [name for name in PAPERS if not (folder / name).is_file()]
    if missing:
        pytest.skip(
            f"compares with the papers: no {', '.join(missing)} at {folder}. Put these files, as "
            f"docs/reproduction.md describes them, into a folder that {PAPERS_VARIABLE} names"
        )
    return folder


@pytest.fixture
def record() -> Callable[..., RoundRecord]:
    """Makes a round in which participants have these accuracies, and all or some are present."""

    def made(accuracy: list[float], present: list[bool] | None = None) -> RoundRecord:
        count = len(accuracy)
        empty: list[list[float | None]] = [[None] * count for _ in range(count)]
        nobody = [[False] * count for _ in range(count)]
        return RoundRecord(
            algorithm="any",
            round=0,
            forced=False,
            accuracy=accuracy,
            cross_entropy=[0.0] * count,
            reputation=empty,
            alignment=empty,
            distillation_loss=empty,
            asked=nobody,
            answered=nobody,
            present=present,
        )

    return made


@pytest.fixture
def mean_features() -> type:
    """A class of extractors: every channel's mean; `seen` counts the images of all of them."""

    class Mean:
        name = key = "mean"
        seen = 0

        def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
            Mean.seen += len(pixels)
            return pixels.mean(axis=(1, 2)).astype(np.float32)

    return Mean


@pytest.fixture
def silent() -> Callable[..., Progress]:
    """Makes a progress that shows nothing."""
    return Silent


@pytest.fixture
def tiny() -> Experiment:
    """The smoke size of a table, with three of its contenders."""
    full = TABLE_1
    return Experiment(
        name="tiny",
        paper="cffl",
        item="Table 1",
        shows="nothing",
        needs=(),
        unit="100 x Pearson correlation",
        reference="cffl.table1",
        contenders=lambda size, data: [
            contender
            for index, contender in enumerate(full.contenders(size, data))
            if index in (0, 1, 7)
        ],
        metrics=full.metrics,
        claims=full.claims,
    )


ELSEWHERE = torch.device("lazy")  # a device type that torch knows, and starts nothing for


class Remote(torch.Tensor):
    """A tensor that says it is elsewhere."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Remote:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=ELSEWHERE,
        )

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    __torch_function__ = torch._C._disabled_torch_function_impl

    def tolist(self) -> Any:
        return self.inner.tolist()  # as CUDA's, which copies first

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_positions(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_positions(key), value)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


def _positions(key: Any) -> Any:
    """Lists as tensors: torch would make them where it cannot."""
    return torch.tensor(key, dtype=torch.long) if isinstance(key, list) else key


class Pretended(TorchDispatchMode):
    """Lets tensors be created elsewhere, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = list(_tensors((args, tuple(kwargs.values()))))
    remote = [t for t in tensors if isinstance(t, Remote)]
    near = [t for t in tensors if not isinstance(t, Remote) and t.dim() > 0]
    if remote and near and not _may_mix(func, args):
        raise RuntimeError(f"{func}: expected all tensors to be on the same device")
    device = kwargs.get("device")
    result_is_remote = bool(remote) if device is None else torch.device(device) == ELSEWHERE
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    inner = {name: _mapped(_inner, value) for name, value in kwargs.items()}
    result = func(*_mapped(_inner, args), **inner)
    for tensor in remote:  # in place: the same tensor, and not another one around it
        if isinstance(result, torch.Tensor) and tensor.inner is result:
            return tensor
    return _mapped(_remote, result) if result_is_remote else result


# torch's own `tree_map` takes longer than the operations.
def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_mapped(function, one) for one in value)
    return function(value)


def _may_mix(func: Any, args: Any) -> bool:
    """Copies, and positions of elements, which CUDA takes from the processor as well."""
    name = func.overloadpacket.__name__
    if name in ("index", "index_put", "index_put_"):
        values = args[2:3]
        return isinstance(args[0], Remote) and all(isinstance(v, Remote) for v in values)
    return name == "copy_"


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, Remote) else value


def _remote(value: Any) -> Any:
    return Remote(value) if isinstance(value, torch.Tensor) else value


@pytest.fixture
def pretended_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """A device where tensors can do what they can on a GPU, and no more.

    They are wrappers around ordinary ones that refuse what CUDA refuses: operations with tensors
    elsewhere, and `numpy()`.
    """
    # There is no mixed precision on this device, even switched off.
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    make = torch.tensor
    monkeypatch.setattr(  # from a list torch would ask the device for memory
        torch, "tensor", lambda data, dtype=None, device="cpu": make(data, dtype=dtype).to(device)
    )
    with Pretended():
        yield ELSEWHERE

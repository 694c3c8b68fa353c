"""Importing torchvision where its compiled part does not load.

Its wheels are built against a torch with CUDA. Beside a torch without CUDA the compiled operators
do not load, and torchvision fails while it registers how two of them behave: `operator
torchvision::nms does not exist`. Transforms, models and datasets need none of them, so a
declaration without an implementation is enough.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from securefair.errors import BackendUnavailableError

if TYPE_CHECKING:
    from torch.library import Library

_OPERATORS = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_declared: list[Library] = []  # operators exist only as long as the library that declared them


def import_torchvision() -> ModuleType:
    """The package torchvision, with its operators declared where they did not load.

    Where the import works, nothing but the import happens. Where it is cured, `torchvision.ops.nms`
    and `torchvision.io` still do not work; the rest does.

    Raises:
        BackendUnavailableError: torchvision is not installed, or fails for another reason.
    """
    try:
        return importlib.import_module("torchvision")
    except ImportError as error:
        raise BackendUnavailableError(
            "torchvision cannot be imported",
            found=str(error),
            hint="pip install 'securefair[vision]'",
        ) from error
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise BackendUnavailableError(
                "torchvision does not fit this torch",
                found=str(error),
                hint="Install the torchvision that was built for it (README of torchvision)",
            ) from error
    _declare_operators()
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # half imported
    return importlib.import_module("torchvision")


def _declare_operators() -> None:
    from torch import library as operators

    declare: Any = operators.Library  # torch leaves it untyped
    library = declare("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(operator + _SCHEMA)
    _declared.append(library)

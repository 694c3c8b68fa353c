"""An algorithm's state as one file, so that an interrupted run goes on where it stopped.

States are frozen dataclasses of numbers, tensors and collections of them. They are written as
arrays and a JSON description, never pickled: reading a file runs nothing that it names except the
constructors of this package's own dataclasses.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from securefair.errors import DataError

PACKAGE = "securefair."


def save_state(path: Path, state: object) -> None:
    """Write a state so that a reader finds the old file or the new one, never a part.

    Raises:
        TypeError: the state holds something that has no place in a state.
        OSError: the folder cannot be written.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    described = _describe(state, arrays)
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
    np.savez(content, description=text, **arrays)  # type: ignore[arg-type]  # numpy's own stub
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content.getvalue())
    temporary.replace(path)


def load_state(path: Path, device: str = "cpu") -> Any:
    """The state that `save_state` wrote.

    Args:
        device: for tensors that were not on the processor; others are on it again.

    Raises:
        DataError: the file is damaged, or of another version of the package.
    """
    try:
        # From memory: numpy forgets to close a file that turns out to be damaged.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return _restore(json.loads(arrays["description"].tobytes()), dict(arrays), device)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        zipfile.BadZipFile,
    ) as error:
        raise DataError(
            "this checkpoint cannot be read",
            where=str(path),
            found=str(error),
            hint="Delete it, or start again without --resume",
        ) from error


def _describe(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    if isinstance(value, torch.Tensor | np.ndarray):
        name = f"array{len(arrays)}"
        if not isinstance(value, torch.Tensor):
            arrays[name] = value
            return {"array": name}
        arrays[name] = value.detach().cpu().numpy()
        return {"tensor": name} if value.device.type == "cpu" else {"tensor_on_device": name}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_describe(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[_describe(k, arrays), _describe(v, arrays)] for k, v in value.items()]}
    cls = type(value)
    if dataclasses.is_dataclass(cls) and cls.__module__.startswith(PACKAGE):
        return {
            "class": [cls.__module__, cls.__qualname__],
            "fields": {
                field.name: _describe(getattr(value, field.name), arrays)
                for field in dataclasses.fields(cls)
            },
        }
    raise TypeError(f"a state cannot hold {cls.__module__}.{cls.__qualname__}")


def _restore(node: Any, arrays: dict[str, np.ndarray[Any, Any]], device: str) -> Any:
    def restored(inner: Any) -> Any:
        return _restore(inner, arrays, device)

    match node:
        case {"value": value}:
            return value
        case {"tensor": name}:
            return torch.from_numpy(arrays[name].copy())
        case {"tensor_on_device": name}:
            return torch.from_numpy(arrays[name].copy()).to(device)
        case {"array": name}:
            return arrays[name]
        case {"tuple": items}:
            return tuple(restored(item) for item in items)
        case {"list": items}:
            return [restored(item) for item in items]
        case {"pairs": pairs}:
            return {restored(k): restored(v) for k, v in pairs}
        case {"class": [str(module), str(name)], "fields": fields} if module.startswith(PACKAGE):
            kind = getattr(importlib.import_module(module), name)
            if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
                raise ValueError(f"{name} is no state")
            return kind(**{key: restored(value) for key, value in fields.items()})
    raise ValueError("an unknown description")

"""Which models may answer, by name or by the ending of their file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from securefair.data.dataset import TeacherModel
from securefair.errors import ConfigError
from securefair.model.teachers.named import UsualTeacher
from securefair.model.teachers.onnx_file import OnnxTeacher
from securefair.model.teachers.stored_file import StoredTeacher
from securefair.model.usual import USUAL

FILES: Mapping[str, Callable[[Path], TeacherModel]] = MappingProxyType(
    {".onnx": OnnxTeacher, ".safetensors": StoredTeacher}
)
"""By the ending of a file. None of them can hold code: pickles are refused."""


def teacher_of(told: str, *, where: str) -> TeacherModel:
    """The model that a text names: one of `usual.USUAL`, which is fitted here, or a file.

    Args:
        told: the name, or the path of a file.
        where: the text stands, for errors.

    Raises:
        ConfigError: there is no such model or file, or a file of its kind may hold code.
    """
    if told in USUAL:
        return UsualTeacher(told)
    path = Path(told)
    if path.suffix not in FILES:
        raise ConfigError(
            "no such model may teach",
            where=where,
            found=told,
            expected=f"{', '.join(USUAL)}, or a file that ends in {' or '.join(FILES)}",
            hint="A pickle may hold code and is not read: write it as ONNX, or hand the estimator "
            "to sf.collaborate(..., teachers=...)",
        )
    if not path.is_file():
        raise ConfigError("there is no such file", where=where, found=told)
    return FILES[path.suffix](path)

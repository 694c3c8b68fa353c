"""A model as an ONNX file, such as a vendor's, to teach."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Probabilities, Samples
from securefair.errors import ConfigError, DataError, ModelError


@dataclass(frozen=True)
class OnnxTeacher:
    """See `TeacherModel`.

    It takes features (B, d) as numbers of single precision, by the rules of the table and in the
    order of its features, and gives probabilities (B, M), or of class 1 alone, (B,) or (B, 1); in
    an output of that name, or in the first that is of floats. It is read as bytes: a file that
    points to other files is refused.

    Args:
        path: of the file.
    """

    path: Path

    @property
    def name(self) -> str:
        """See `TeacherModel`."""
        return self.path.name

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """See `TeacherModel`.

        Raises:
            ConfigError: onnxruntime is not installed.
            DataError: the file cannot be read.
        """
        del seed
        session = self._session()
        (given,) = session.get_inputs()[:1]
        output = _output(session, self.path)

        def said(features: NDArray[np.float64]) -> NDArray[np.float64]:
            try:
                found = session.run([output], {given.name: features.astype(np.float32)})[0]
            except Exception as error:
                raise ModelError(
                    "the model does not take these features",
                    where=str(self.path),
                    found=f"{features.shape[1]} features: {str(error).splitlines()[0]}",
                    expected=f"an input of {given.shape}",
                ) from error
            array = np.asarray(found, dtype=np.float64)
            positive = array.reshape(len(features), -1)
            if positive.shape[1] == 1 and train.classes == 2:
                return np.concatenate([1 - positive, positive], axis=1)
            return positive

        return said

    def _session(self) -> Any:
        try:
            runtime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise ConfigError(
                "onnxruntime is not installed",
                where=str(self.path),
                hint="pip install 'securefair[onnx]'",
            ) from error
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        try:
            return runtime.InferenceSession(
                self.path.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise DataError(
                "this is no ONNX model that can be read",
                where=str(self.path),
                found=str(error).splitlines()[0],
            ) from error


def _output(session: Any, path: Path) -> str:
    """The name of the output with probabilities."""
    floats = [one.name for one in session.get_outputs() if one.type.startswith("tensor(float")]
    named = [name for name in floats if "prob" in name]
    if not floats:
        raise DataError(
            "the model gives no probabilities as an array",
            where=str(path),
            found=", ".join(f"{one.name}: {one.type}" for one in session.get_outputs()),
            hint="skl2onnx writes an array with options={'zipmap': False}",
        )
    return str((named or floats)[0])

"""Where results come from: the code that made them, the machine, and the threads.

Equal seeds repeat to the bit where all of it is equal. Another processor sums in another order;
training makes of a last digit that differs an image or two that are recognised or not.
"""

from __future__ import annotations

import platform

import msgspec
import torch

from securefair import __version__
from securefair.profiling import describe_machine
from securefair_lab.papers.code import libraries


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What made a result.

    Attributes:
        version: of securefair.
        code: digest of the code that decides the result, see `code.code_of`.
        libraries: versions of those that compute.
        python: its version.
        processor: its name.
        kernels: the widest instructions that torch uses, such as AVX512.
        threads: of torch.
        device: where networks train; of a GPU with its name.
    """

    version: str
    code: str
    libraries: dict[str, str]
    python: str
    processor: str
    kernels: str
    threads: int
    device: str


def origin(code: str, device: str = "cpu") -> Origin:
    """Of what is computed here and now with some code."""
    named = device
    if device.startswith("cuda"):
        named = f"{device}: {torch.cuda.get_device_name(device)}"
    return Origin(
        version=__version__,
        code=code,
        libraries=libraries(),
        python=platform.python_version(),
        processor=describe_machine().processor,
        kernels=torch.backends.cpu.get_cpu_capability(),
        threads=torch.get_num_threads(),
        device=named,
    )

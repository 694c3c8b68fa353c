"""[encryption] and [disclosure]: how precisely ciphertexts compute, and when teachers stop."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from securefair.config import defaults
from securefair.config.base import Ratio, Section
from securefair.config.registers import BACKENDS, Named


class EncryptionSection(Section):
    """[encryption]: who computes on ciphertexts, and how precisely; the planner does the rest."""

    own_matter = frozenset({"backend", "device"})  # their ciphertexts are the same
    later = frozenset({"device"})

    backend: Annotated[str, Named(BACKENDS)] = Field(
        default=defaults.BACKEND,
        description="seal: products by SEAL; rns: by our kernels; clear: NO encryption, for tests",
    )
    device: str = Field(
        default=defaults.PROCESSOR,
        pattern=f"^({defaults.DEVICE_PATTERN})$",
        description="What computes on ciphertexts: this processor, or a card (rns only); "
        "cpu-kernels runs what is compiled for cards on the processor, slowly, to check it",
        json_schema_extra={"expected": "cpu, cpu-kernels, cuda or cuda:NUMBER"},
    )
    flooding_bits: int = Field(
        default=defaults.FLOODING_BITS,
        ge=defaults.MIN_FLOODING_BITS,
        le=defaults.MAX_FLOODING_BITS,
        description="Noise in an answer over its evaluation noise, log2",
    )
    precision: Ratio = Field(
        default=defaults.PRECISION,
        gt=0,
        le=0.1,
        description="Largest error by encryption of a released value, over its range",
    )
    key_bits: float = Field(
        default=defaults.KEY_BITS,
        ge=16,
        description="Most bits of opened values that queries, declines and weights may tell one "
        "peer under one key; everybody has new ones after as many rounds as keep to it",
    )
    key_openings: int = Field(
        default=defaults.KEY_OPENINGS,
        ge=1,
        description="Most answers of one peer that are opened under one key, one a round; then "
        "there are new ones",
    )


class DisclosureSection(Section):
    """[disclosure]: when a teacher stops answering; each decides for itself."""

    fraction: float | None = Field(
        default=defaults.DISCLOSURE_FRACTION,
        gt=0,
        description="Most numbers one student may receive of one version of a teacher's model, as "
        "a fraction of that model's parameters or of the student's samples times classes, "
        "whichever is smaller",
    )
    student_total: int | None = Field(
        default=None, ge=1, description="Most numbers to one student over all versions"
    )
    teacher_total: int | None = Field(
        default=None, ge=1, description="Most numbers to all students over all versions"
    )

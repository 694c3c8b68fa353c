"""The figures and the tests that docs/threat-model.md and SECURITY.md cite.

What is claimed about bits a number and about flooding over a run follows from plans; whatever
changes plans must change the documents.
"""

import math
import re
from pathlib import Path

import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import masking

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("SECURITY.md", "docs/threat-model.md")
FINE = 2.0**-18
WIDE = {"features": 512, "hidden": 64, "classes": 10, "samples": 4096}
BLOCK = {"release": "logits", "samples": 4096}
"""Samples in slots; of fewer ones fewer numbers leave."""

ANSWERS = 40


def plan_of(**changes):
    return plan_exchange(ExchangeSpec(**{"features": 32, "classes": 2, "samples": 202, **changes}))


@pytest.mark.parametrize(
    ("spec", "bits"),
    [
        ({"hidden": 16, "q": 64}, 18),
        ({"hidden": 16, **BLOCK}, 18),
        ({"hidden": 16, "q": 16, "basis": "student"}, 18),
        ({"hidden": 0, "q": 64}, 18),
        ({"hidden": 16, "q": 64, "precision": FINE}, 26),
        ({"hidden": 0, "q": 64, "precision": FINE}, 26),
        ({"features": 256, "hidden": 32, "classes": 10, "samples": 1000, "q": 64}, 20),
        (WIDE, 20),
        ({"hidden": 16, "release": "class_sums", "samples": 4096}, 13),
        ({"hidden": 16, "release": "class_sums", "samples": 300}, 17),
        ({"hidden": 16, "release": "class_sums", "samples": 20}, 21),
    ],
)
def test_bits_that_one_number_carries(spec, bits):
    (answer,) = plan_of(**spec).released
    assert masking.number_bits(answer) == pytest.approx(bits, abs=0.5)


@pytest.mark.parametrize(
    ("spec", "bits"),
    [({"q": 64, "precision": FINE}, 18), ({"q": 64}, 20), (BLOCK, 11)],
)
def test_flooding_that_is_left_over_a_run(spec, bits):
    plan = plan_of(hidden=16, **spec)
    left = plan.schedule.flooding_bits - math.log2(plan.numbers * ANSWERS)
    assert left == pytest.approx(bits, abs=0.5)


@pytest.mark.parametrize(
    ("spec", "one_in"),
    [
        ({"q": 64}, 1.54e10),
        ({"q": 20, "samples": 40, "hidden": 0}, 4.38e8),
        (BLOCK, 280),
        ({"q": 16, "basis": "student"}, 197),
        (WIDE, 2.6),
        ({**WIDE, "precision": 2.0**-11}, 1.79e8),
    ],
)
def test_values_that_rounding_leaves_to_noise_of_the_key(spec, one_in):
    """Rounding errors of masks times the key against the grid: E|e| / step values change."""
    plan = plan_of(**{"hidden": 16, **spec})
    (answer,) = plan.released
    n, units = plan.params.ring_degree, 2.0**answer.log2_scale
    # Without the tail factors of noise.rounding, which bound and do not measure.
    deviation = math.sqrt((2 * n / 3 + (8 * n * n / 9 if answer.polys == 3 else 0)) / 12)
    unit = plan.params.slots if plan.spec.multiplies else 1.0
    if plan.spec.release == "logits":
        unit = math.sqrt(n)  # a slot is a sum over all coefficients
    changed = math.sqrt(2 / math.pi) * deviation * unit / (plan.grid * units)
    assert 1 / changed == pytest.approx(one_in, rel=0.1)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_cited_file_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    cited = re.findall(r"`(tests/[\w/.]+\.py)`", text)
    assert cited
    for path in cited:
        assert (ROOT / path).is_file(), path
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert ((ROOT / document).parent / target).is_file(), target


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_cited_test_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in sources, name

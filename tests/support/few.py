"""A part of the heart table, for runs whose subject is not who learns how much.

Hospitals ask each other in pairs, and controls fit every hospital's patients anew for every seed:
three hospitals of some sixty patients keep all of that, at a fraction of its price.
"""

import pytest

from securefair.data.encoding import encode
from securefair.data.heart import HEART_SPEC, heart_rows
from securefair.data.split import hold_out
from securefair.user import participants

PATIENTS = {"Cleveland": 60, "Hungary": 60, "VA Long Beach": 48}
"""Of each, at regular intervals: the table sorts some by their disease."""


def few_patients(seed, test_fraction):
    """In place of `load_heart`; real patients, divided by the same rules."""
    found = []
    for name, most in PATIENTS.items():
        rows = [row for row in heart_rows() if row.fields["hospital"] == name]
        few = rows[:: len(rows) // most][:most]
        found.append(hold_out(name, encode(few, HEART_SPEC), test_fraction, seed))
    return found


def thin_tables(folder, most=60):
    """Keep so many patients of every table of a project that `securefair new` has made."""
    for table in folder.glob("*.csv"):
        head, *rows = table.read_text("utf-8").splitlines(keepends=True)
        few = rows[:: max(1, len(rows) // most)][:most]
        table.write_text("".join([head, *few]), "utf-8")


@pytest.fixture(scope="module")
def few():
    """For modules that use it: the source `heart` is these three hospitals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(participants.PACKAGED, "heart", few_patients)
        yield


def only_two(patch):
    """The source `heart` is the first two of them: a third of the exchanges of three."""
    patch.setitem(participants.PACKAGED, "heart", lambda *given: few_patients(*given)[:2])


@pytest.fixture
def two(monkeypatch):
    """For tests to which a third hospital would show nothing more."""
    only_two(monkeypatch)

"""What becomes of a job that fails: whose fault it is, and whether that is sure."""

import types

import pytest

from securefair.errors import ImplausibleError, ModelError, OtherSumError, RemoteProtocolError
from securefair.protocol.effects import Done, Failed
from securefair.protocol.jobs import OpenAnswer, OpenedAnswer
from securefair.sites.site.working import worked

JOB = OpenAnswer("south", 0, b"", score=False, reputation=None)


def work(outcome):
    def run(_job):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return worked(types.SimpleNamespace(run=run), JOB)


@pytest.mark.parametrize(
    ("error", "culprit", "senders", "doubtful"),
    [
        (ModelError("broken"), None, (), False),
        (RemoteProtocolError("lied", culprit="south"), "south", (), False),
        (ImplausibleError("is no smooth function", culprit="south"), "south", (), True),
        (OtherSumError("too much", senders=("a", "b")), None, ("a", "b"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_says_whose_fault_it_is_and_whether_chance_may_be_it(
    error, culprit, senders, doubtful
):
    assert work(error) == Failed(JOB, str(error), culprit, senders, doubtful)


def test_a_result_is_handed_on():
    assert work(OpenedAnswer(None)) == Done(JOB, OpenedAnswer(None))

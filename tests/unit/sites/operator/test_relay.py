"""The watch over FLARE's job: nobody who is missing stops the others, and nothing stays stuck."""

from types import SimpleNamespace

import pytest

from securefair.sites.operator.relay import COMPLETED, RUNNING, STUCK_AFTER, RelayWatch

SITES = ("east", "north", "south")


class Session:
    """A relay: who is connected, and what it says of its jobs."""

    def __init__(self):
        self.here, self.status, self.jobs, self.aborted = set(), RUNNING, 0, []

    def get_system_info(self):
        return SimpleNamespace(client_info=[SimpleNamespace(name=name) for name in self.here])

    def submit_job(self, _):
        self.jobs += 1
        return f"job {self.jobs}"

    def get_job_meta(self, _):
        return {"status": self.status}

    def abort_job(self, job):
        self.aborted.append(job)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    errors = dict.fromkeys(
        ("InternalError", "JobNotFound", "JobNotRunning", "CommandError"), OSError
    )
    monkeypatch.setattr(
        "securefair.sites.operator.relay._api_spec", lambda: SimpleNamespace(**errors)
    )
    said = []
    return RelayWatch(tmp_path, SITES, said.append), Session(), said


def test_a_client_that_is_missing_stops_nobody_and_is_taken_in_when_it_comes(watched):
    watch, relay, said = watched
    relay.here = {"north"}
    assert not watch.look(relay, 0.0)
    assert said == ["waiting for east, south"]
    relay.here = {"north", "south", "stranger"}
    watch.look(relay, 1.0)
    assert said[-1] == "job job 1 was submitted, without east"
    watch.look(relay, 2.0)
    relay.here.add("east")
    watch.look(relay, 3.0)
    assert relay.aborted == ["job 1"]
    assert said[-2:] == ["east came: the job is submitted again", "job job 2 was submitted"]
    relay.status = COMPLETED
    assert watch.look(relay, 4.0)


def test_those_who_are_through_wait_for_who_was_not_there(watched):
    watch, relay, said = watched
    relay.here = {"north", "south"}
    watch.look(relay, 0.0)
    relay.status = COMPLETED
    assert not watch.look(relay, 1.0)
    assert said[-1] == "waiting for east"
    assert relay.jobs == 1
    relay.here, relay.status = {*SITES}, RUNNING
    watch.look(relay, 2.0)
    relay.status = COMPLETED
    assert watch.look(relay, 3.0)


def test_a_job_that_is_never_scheduled_is_told_and_submitted_again(watched):
    watch, relay, said = watched
    relay.here, relay.status = {*SITES}, "SUBMITTED"
    watch.look(relay, 0.0)
    watch.look(relay, STUCK_AFTER)
    assert relay.jobs == 1
    watch.look(relay, STUCK_AFTER + 1)
    assert relay.jobs == 2
    assert "THE RELAY IS STUCK: job job 1 is SUBMITTED" in said
    relay.status = "FINISHED:EXECUTION_EXCEPTION"
    watch.look(relay, STUCK_AFTER + 2)
    assert relay.jobs == 3


def test_a_relay_that_comes_back_is_not_believed(watched):
    watch, relay, _ = watched
    relay.here = {*SITES}
    watch.look(relay, 0.0)
    watch.begin(relay)
    watch.look(relay, 1.0)
    assert (relay.aborted, relay.jobs) == (["job 1"], 2)

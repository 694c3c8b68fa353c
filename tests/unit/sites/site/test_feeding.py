"""What a site remembers of an input: that it could not answer, until it can."""

from securefair.errors import ModelError
from securefair.protocol.jobs import AnswerAsk
from securefair.sites.site.records import state_in


def test_an_answer_that_cannot_be_made_is_remembered_until_one_can(make_town, monkeypatch):
    """Peers hear only that there is none, so nobody else would tell the own operator."""
    town = make_town(2, algorithm="vpdl", rounds=3)
    north, south = town.names
    run, broken = town.hosts[north].run, [True]

    def answering(job):
        if broken and isinstance(job, AnswerAsk):
            raise ModelError("a quantised weight exceeds the plan")
        return run(job)

    monkeypatch.setattr(town.hosts[north], "run", answering)
    town.until(south, 1)
    with town.stores[north].view() as tx:
        assert "a quantised weight exceeds the plan" in state_in(tx).unanswered
    assert town.records(south)[0].declined == {north: "failed"}
    assert town.sites[south].state.unanswered == ""
    broken.clear()
    town.until(south, 2)
    assert town.sites[north].state.unanswered == ""

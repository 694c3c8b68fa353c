"""What a store must count before anything leaves: above all what was disclosed."""

from securefair.collaboration.host import Stored
from securefair.collaboration.transfer.host import TransferHost
from securefair.protocol.jobs import AnswerAsk, PrepareAsk
from securefair.sites.site.keeping import Keeper
from securefair.storage import Store
from securefair.storage.generation import Generation
from support.simulated import on_backend
from support.transfers import agree, make_hospitals

__all__ = ["agree", "make_hospitals"]


def test_an_answer_counts_although_no_piece_of_its_host_changes(make_hospitals, agree):
    hospitals = make_hospitals()
    agreed = on_backend(agree(hospitals), "clear")
    a, b = (TransferHost(own, agreed, seed=0, stored=Stored()) for own in hospitals[:2])
    question = a.run(PrepareAsk(0, 0, ("b",))).payloads["b"]
    with Store.in_memory() as store, store.transaction() as tx:
        keeper = Keeper(tx, b, Generation())
        assert not keeper.keep(tx, sends=True)
        b.run(AnswerAsk("a", 0, 0, question))
        assert not b.changed()
        assert not keeper.keep(tx, sends=False)
        assert keeper.keep(tx, sends=True)
        assert not keeper.keep(tx, sends=True)

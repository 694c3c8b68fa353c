"""Two posts over stores, and envelopes that nobody's post would make."""

from securefair.sites.post.envelope import seal
from securefair.sites.post.peers import PeerState, refusals, write_peer
from securefair.sites.post.post import Post
from securefair.sites.post.settling import Correspondence
from securefair.sites.project.identity import Identity
from securefair.storage.store import Store

NOW = 1_800_000_000
PROJECT = bytes(range(32))
WHO = {name: Identity.generate(name, now=NOW) for name in ("north", "south", "west")}
NONCE = bytes(16)


class End:
    """A site's post over a store of its own, and its folder."""

    def __init__(self, folder, name, peers, project=PROJECT):
        self.folder, self.name = folder / name, name
        self.about = Correspondence(
            identity=WHO[name],
            project=project,
            cards={peer: WHO[peer].card for peer in peers},
            expires=NOW + 1000,
            largest_frame=1 << 16,
        )
        self.now = NOW
        self.open()

    def open(self, tick=0):
        self.store = Store.open(self.folder)
        self.post = Post(self.about, self.store, lambda: self.now, tick=tick)

    def say(self, peer, *frames):
        with self.store.transaction() as tx:
            for frame in frames:
                self.post.send(tx, peer, frame, round=0)

    def deliver(self, other):
        """Carry one parcel to `other`; whether it was taken. Returns the parcel, too."""
        parcel = self.post.pending(other.name, 0)
        receipt = other.post.receive(parcel)
        return self.post.settle(other.name, receipt), parcel

    def heard(self):
        with self.store.view() as tx:
            return [item.payload for item in tx.inbox.pending()]

    def refused(self):
        with self.store.view() as tx:
            return refusals(tx)

    def audited(self):
        with self.store.view() as tx:
            tx.audit.verify()
            return [(row.kind, row.facts) for row in tx.audit.rows()]

    def content(self):
        """Everything but counts of refusals and the audit log."""
        with self.store.view() as tx:
            names = [name for name in tx.memory.names() if name != "post refused"]
            return (
                {name: tx.memory.get(name) for name in names},
                list(tx.inbox.pending()),
                list(tx.outbox.pending()),
                tx.inbox.streams(),
                tx.outbox.streams(),
            )

    def recover(self, epoch):
        with self.store.transaction() as tx:
            for peer in self.about.cards:
                write_peer(tx, peer, PeerState(epoch=epoch))


def envelope_of(sender, recipient, *, frame=b"attack", **changes):
    facts = {
        "project": PROJECT,
        "epoch": 0,
        "sequence": 0,
        "round": 0,
        "sent": NOW,
        "expires": NOW + 1000,
        "audit_count": 0,
        "audit_head": bytes(32),
    }
    return NONCE + seal(sender, recipient.card, frame, **(facts | changes))

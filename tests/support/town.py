"""Sites in one process, over real stores and envelopes, that can be killed at any commit."""

import contextlib
from pathlib import Path

import msgspec

from securefair.collaboration import PublicFacts
from securefair.collaboration.kinds import kind_of
from securefair.config import override, parse_config
from securefair.model.stored import to_bytes
from securefair.protocol.states import AskingState
from securefair.sites.post.peers import refusals
from securefair.sites.post.post import Post
from securefair.sites.post.settling import Correspondence
from securefair.sites.project.identity import Identity
from securefair.sites.simulation.starting import simulated
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.notes import Notes, told_in
from securefair.sites.site.records import stored_records
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.site import Site
from securefair.storage import Store
from securefair.storage.generation import Generation, advance
from securefair.worth.sharing import coin
from support.populations import overlapping

NOW = 1_800_000_000
SEED = 3
NAMES = ("north", "south", "west", "east", "hill", "lake", "coast", "plain")
CONFIG = """
[run]
name = "town"
algorithms = ["standalone", "{algorithm}"]
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
[model]
hidden = 3
[training]
rounds = {rounds}
local_epochs = 3
local_steps = 2
[distillation]
q = 8
lambda_0 = 5.0
[fairness]
forced_every = {forced_every}
[encryption]
backend = "{backend}"
[disclosure]
student_total = 100000
teacher_total = 1000000
"""


class KilledError(Exception):
    """The process has ended."""


class FragileStore:
    """A store whose process is killed before or after chosen commits; then its keystore does not
    hear of them."""

    lasts = True

    def __init__(self, store, kills):
        self.store, self.kills = store, kills

    def view(self):
        return self.store.view()

    @contextlib.contextmanager
    def transaction(self, committed=lambda: None):
        when = self.kills()
        with self.store.transaction(_killed if when == "after" else committed) as tx:
            yield tx
            if when == "before":
                raise KilledError


def _killed():
    raise KilledError


def noted(facts):
    """What the facts of a row say that was noted for it."""
    return msgspec.json.decode(facts.get("notes", "[]"), type=Notes)


def never():
    return ""


class Town:
    """Some sites, their folders, and a postman who walks from door to door."""

    def __init__(self, folder: Path, data, *, config, round_seconds, roles=None, fewest=0):
        self.fewest = fewest
        self.folder, self.config, self.roles = folder, config, roles or {}
        self.data = {own.name: own for own in data}
        self.names = tuple(self.data)
        self.kind = kind_of(config.run.collaborative[0])
        self.rounds = self.kind.rounds(config.training.rounds)
        facts = PublicFacts(
            participants=self.names,
            shape=(4,),
            classes=2,
            samples=24,
            round_seconds=round_seconds,
            setup_seconds=3600.0,
        )
        self.collaboration = self.kind.agree(config, facts, seed=0)
        self.identities = {name: Identity.generate(name, now=NOW) for name in self.names}
        self.now = 0.0
        self.pause = 1.0  # seconds that pass where nothing else happens
        self.kills = dict.fromkeys(self.names, never)
        self.restarts = 0
        self.keystores = {}  # of those that a test gives one
        self.keys = {}
        self.hosts = {}
        self.stores = {}
        self.sites = {}
        self.posts = {}
        self.offered = {}  # what posts had for a peer, and how often they had changed by then
        for name in self.names:
            self.start(name)

    def start(self, name):
        self.stores[name] = store = Store.open(self.folder / name)
        keystore = self.keystores.get(name)
        if keystore is not None:
            advance(store, keystore, hint="site recover")
        fragile = FragileStore(store, self.kills[name])
        about = Correspondence(
            identity=self.identities[name],
            project=self.collaboration.digest,
            cards={peer: self.identities[peer].card for peer in self.names if peer != name},
            expires=NOW + 10**6,
            largest_frame=1 << 24,
        )
        host = self.kind.host(
            self.collaboration,
            self.data[name],
            seed=SEED,
            stored=stored_host(
                store,
                tuple(about.cards),
                self.keys.get(name),
                keep=lambda renewed: self.keys.update({name: renewed}),
            ),
            role=self.roles.get(name, "both"),
        )
        self.hosts[name] = host
        if name not in self.keys:
            self.keys[name] = host.export_keys()
        self.posts[name] = Post(about, fragile, lambda: NOW + self.now)
        schedule = Timetable(
            rounds=self.rounds,
            coins=lambda number, peer: coin(SEED, number, name, peer),
            wall=lambda: NOW + self.now,
            monotonic=lambda: self.now,
            fewest=self.fewest,
        )
        self.sites[name] = Site(
            host,
            self.posts[name],
            fragile,
            self.collaboration.limits,
            schedule,
            generation=Generation(keystore),
        )

    def kill(self, name):
        """SIGKILL and a new process."""
        self.stores[name].close()
        self.restarts += 1
        self.start(name)

    def stop(self, name):
        self.stores.pop(name).close()
        del self.sites[name], self.posts[name]

    @contextlib.contextmanager
    def surviving(self, name):
        try:
            yield
        except KilledError:
            self.kill(name)

    def live(self, hand_over=None, *, turns=200_000):
        """Until every site is over; time passes only where nothing else does."""
        for _ in range(turns):
            if all(site.over for site in self.sites.values()):
                return self.close_logs()
            moved = False
            for name in list(self.sites):
                with self.surviving(name):
                    moved |= self.sites[name].turn()
                moved |= self.walk(name, hand_over)
            if not moved:
                self.now += self.pause
        raise AssertionError("the sites do not come to an end")

    def close_logs(self):
        """As every site does when it leaves."""
        for name in self.names:
            while name in self.sites and not self.sites[name].state.closed:
                with self.surviving(name):
                    self.sites[name].close()

    def until(self, name, rounds, hand_over=None):
        """Until a site has ended so many rounds."""
        while len(self.records(name)) < rounds:
            self.step(hand_over)

    def step(self, hand_over=None):
        """Every site takes a turn and says what it has to; time passes if none had anything."""
        moved = False
        for each in list(self.sites):
            moved |= self.sites[each].turn()
            moved |= self.walk(each, hand_over)
        if not moved:
            self.now += self.pause

    def until_asked_for_keys(self, student, teacher):
        """Until a student asks for keys, of which that teacher's does not come."""
        while True:
            moved = False
            for each in list(self.sites):
                moved |= self.sites[each].turn()
                total = self.sites[student].machine.memory.averaging.sum
                asked = {} if total is None else total.teachers
                if teacher in asked and asked[teacher].state is AskingState.REVEALING:
                    return
                moved |= self.walk(each)
            if not moved:
                self.now += self.pause

    def within_round(self, name, number):
        """Until a site's questions of a round are out, and none is answered."""
        machine = self.sites[name].machine
        while machine.memory.round < number or not machine.awaited:
            moved = self.sites[name].turn()
            if machine.memory.round == number and machine.awaited:
                return
            for each in set(self.sites) - {name}:
                moved |= self.sites[each].turn() | self.walk(each)
            self.now += 0.0 if moved | self.walk(name) else self.pause

    def goes_on_without(self, name, peer):
        """A peer goes after two rounds; until the site asks the others alone."""
        self.until(peer, 2)
        self.stop(peer)
        while peer not in self.sites[name].state.peers.away or not self.sites[name].machine.awaited:
            self.step()

    def walk(self, name, hand_over=None):
        """One parcel from a site to each peer; whether any was taken."""
        moved = False
        for peer in self.names:
            if peer == name or name not in self.posts:
                continue
            post = self.posts[name]
            since = (post, post.changes)  # as a courier, which waits until something was committed
            asked, parcel = self.offered.get((name, peer), (None, None))
            if asked != since:
                with self.surviving(name):
                    parcel = post.pending(peer, 0)
                self.offered[name, peer] = since, parcel
            if parcel is None:
                continue
            receipt = (hand_over or self.deliver)(peer, parcel)
            if receipt:
                with self.surviving(name):
                    moved |= self.posts[name].settle(peer, receipt)
        return moved

    def deliver(self, peer, parcel):
        if peer not in self.posts:
            return None
        with self.surviving(peer):
            return self.posts[peer].receive(parcel)
        return None

    def records(self, name):
        with self.stores[name].view() as tx:
            return stored_records(tx)

    def audited(self, name):
        """What happened, with what the rows of rounds and of the end say besides."""
        with self.stores[name].view() as tx:
            tx.audit.verify()
            rows = [(row.kind, row.facts) for row in tx.audit.rows()]
        return rows + [one for _, facts in rows for one in noted(facts)]

    def answered(self, name):
        """Numbers that its audit log says it answered, of all peers."""
        return sum(facts["numbers"] for kind, facts in self.audited(name) if kind == "answer")

    def numbers(self, name):
        """That it let out, by its notes: after a recovery its ledger counts as full."""
        with self.stores[name].view() as tx:
            return told_in(tx).total()

    def refused(self, name):
        with self.stores[name].view() as tx:
            return refusals(tx)

    def close(self):
        for store in self.stores.values():
            store.close()

    def in_one_process(self):
        """Decisions of the same run as a simulation, by site and round."""
        data = list(self.data.values())
        run = simulated(self.kind, self.collaboration, data, seed=SEED)
        return list(run.rounds(self.rounds)), run


@contextlib.contextmanager
def towns(where: Path):
    """A function that makes a town of so many sites; their stores are closed at the end."""
    made = []

    def make(
        count=3,
        *,
        algorithm="cycle",
        rounds=4,
        backend="clear",
        folder="town",
        round_seconds=50.0,
        settings="",
        changes=None,
        roles=None,
        fewest=0,
    ):
        names = NAMES[:count]
        data = [overlapping(name, at) for at, name in enumerate(names)]
        text = CONFIG.format(algorithm=algorithm, rounds=rounds, backend=backend, forced_every=3)
        config = override(parse_config(text + settings, source="town"), changes or {})
        place = where / folder
        place.mkdir()
        town = Town(
            place, data, config=config, round_seconds=round_seconds, roles=roles, fewest=fewest
        )
        made.append(town)
        return town

    yield make
    for town in made:
        town.close()


def same_as_one_process(town):
    """What every site did in every round, and its model, are those of a simulation."""
    records, run = town.in_one_process()
    for at, name in enumerate(town.names):
        own = town.records(name)
        assert [record.round for record in own] == list(range(town.rounds))
        for record, theirs in zip(own, records, strict=True):
            asked = {n for n, yes in zip(town.names, theirs.asked[at], strict=True) if yes}
            opened = {n for n, yes in zip(town.names, theirs.answered[at], strict=True) if yes}
            distils = town.kind.name in ("cycle", "vpdl")
            transfers = town.kind.name in ("transfer", "validation")
            willing = (*record.asked, *record.offered) if transfers else record.offered
            there = (*record.opened, *record.combined) if transfers else record.combined
            assert set(record.asked if distils else willing) == asked
            assert set(record.opened if distils else there) == opened
            assert record.measured["cross_entropy"] == theirs.cross_entropy[at]
            if town.kind.name in ("cycle", "vpdl", "cycle-gossip"):
                found = [record.reputations.get(peer) for peer in town.names]
                assert found == theirs.reputation[at]
        if town.kind.name == "transfer":
            known = {peer: one for peer, one in own[-1].reputations.items() if one is not None}
            assert known == dict(run.hosts[name].transferred.trust.weights)
        assert to_bytes(town.hosts[name].model()) == to_bytes(run.models()[name])
    return run

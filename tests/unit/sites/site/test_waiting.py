"""What a site does while nothing comes."""

from types import SimpleNamespace

from securefair.sites.site.site import Site


class Waiting(Site):
    """A site to which nothing comes, until it is over."""

    def __init__(self, until, pieces):
        self.until, self.pieces, self.waited = until, pieces, 0
        self._post = self._host = self
        self._feeder = SimpleNamespace(schedule=SimpleNamespace(monotonic=lambda: 0.0, leave=0.0))
        self.changes, self.ending = 0, False

    def turn(self):
        return False

    @property
    def machine(self):
        return SimpleNamespace(memory=None)

    @property
    def finished(self):
        return self.ending

    @property
    def over(self):
        self.until -= 1
        return self.until < 0

    def idle(self):
        self.pieces -= 1
        return self.pieces >= 0

    def wait(self, *_):
        self.waited += 1

    @property
    def left(self):
        return 1.0

    def _settle(self):
        pass

    def close(self):
        self.closed = True


def test_a_site_that_waits_prepares_first_and_looks_at_its_post_between_pieces():
    site = Waiting(until=5, pieces=3)
    site.run()
    assert (site.pieces, site.waited) == (-2, 2)
    assert site.closed  # its audit log, at the very end
    ending = Waiting(until=5, pieces=3)
    ending.ending = True
    ending.run()
    assert (ending.pieces, ending.waited) == (3, 5)

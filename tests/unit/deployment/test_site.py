import random

import pytest


def test_sites_decide_as_one_process_does(make_town, check_same):
    town = make_town(4, rounds=7)
    town.live()
    check_same(town)
    for name in town.names:
        kinds = [kind for kind, _ in town.audited(name)]
        assert kinds.count("round over") == 7
        assert "blame" not in kinds
        assert town.refused(name) == {}


def test_a_kill_before_and_after_every_commit_changes_nothing(make_town, check_same):
    """In turns: killed before a commit, killed after one, and one that is not."""
    town = make_town(3, rounds=4)

    def killer():
        done = {"left": ["before", "after", ""]}

        def kills():
            when = done["left"].pop(0)
            if not done["left"]:
                done["left"] = ["before", "after", ""]
            return when

        return kills

    for name in town.names:
        town.kills[name] = killer()
        town.kill(name)
    town.live()
    assert town.restarts > 300
    check_same(town)
    assert all(kind != "blame" for name in town.names for kind, _ in town.audited(name))


@pytest.mark.parametrize("seed", range(3))
def test_kills_at_random_commits_change_nothing(make_town, check_same, seed):
    town = make_town(3, rounds=6)
    rng = random.Random(seed)
    for name in town.names:
        town.kills[name] = lambda: rng.choice(["before", "after"]) if rng.random() < 0.05 else ""
        town.kill(name)
    town.live()
    assert town.restarts > 20
    check_same(town)

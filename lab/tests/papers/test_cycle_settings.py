"""CYCle's settings and methods become contenders."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from securefair_lab.papers.cycle_data import CIFAR10, FED_ISIC
from securefair_lab.papers.cycle_methods import (
    ALONE,
    CYCLE,
    CYCLE_PLAIN,
    FEDAVG,
    GOSSIP_ALONE,
    contenders,
    cycle_gossip,
    gossip,
)
from securefair_lab.papers.cycle_settings import SCALES, Setting


def test_federated_methods_make_up_for_the_epochs_alone() -> None:
    setting = Setting(size="paper", data=Path(), dataset=CIFAR10, split="homogeneous", n=5)
    rounds = [c.rounds for c in contenders([setting], [ALONE, FEDAVG, CYCLE])]
    assert rounds == [75, 100, 75]
    assert SCALES["paper"].pretraining == 25


def test_fewer_centres_are_told_but_compared_with_the_papers_row() -> None:
    setting = Setting(size="cpu", data=Path(), dataset=FED_ISIC, split="natural", n=6)
    (contender,) = contenders([setting], [CYCLE])
    assert (contender.fields["n"], contender.printed_as["n"]) == (4, 6)


def test_averaged_models_have_no_epochs_alone() -> None:
    setting = Setting(
        size="paper", data=Path(), dataset=FED_ISIC, split="natural", n=6, model=None, averaged=True
    )
    methods = (GOSSIP_ALONE, gossip(), *cycle_gossip())
    made = contenders([setting], methods)
    assert [c.rounds for c in made] == [100] * 4  # App. G.3
    assert [c.algorithm.pretraining_epochs for c in made[1:]] == [0] * 3
    assert setting.scale.batch_size == 32


def test_both_rules_for_links_are_told_apart_but_compared_with_one_row() -> None:
    setting = Setting(size="cpu", data=Path(), dataset=CIFAR10, split="homogeneous", n=5)
    printed, relative = contenders([setting], cycle_gossip())
    assert printed.label != relative.label
    assert printed.printed_as == relative.printed_as
    assert [c.algorithm.relative for c in (printed, relative)] == [False, True]


def test_both_readings_of_alignment_differ_in_nothing_else() -> None:
    setting = Setting(size="smoke", data=None, dataset=CIFAR10, split="homogeneous", n=5)
    softened, plain = contenders([setting], (CYCLE, CYCLE_PLAIN))
    one, other = softened.members(0), plain.members(0)
    assert (one.alignment_temperature, other.alignment_temperature) == (one.temperature, 1.0)
    apart = [f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)]
    assert apart == ["alignment_temperature"]
    assert softened.printed_as == plain.printed_as
    assert softened.label != plain.label

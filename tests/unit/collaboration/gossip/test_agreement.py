import dataclasses

import msgspec
import numpy as np
import pytest

from securefair.ckks.parameters import CkksParameters
from securefair.collaboration.kinds import kind_of
from securefair.config import DisclosureSection
from securefair.errors import ConfigError, PlanError
from support.agreements import agree

NAMES = ("ann", "bea", "cem", "dan")
AGREED = agree("cycle-gossip", NAMES, shape=8, kind="linear")


def changed(participants=NAMES, **changes):
    return agree("cycle-gossip", participants, **({"shape": 8, "kind": "linear"} | changes))


def test_sizes_are_those_of_the_network_and_the_graph():
    assert AGREED.sum_plan.spec.parameters == AGREED.stacked.length == 2 * (8 + 1)
    assert AGREED.sum_plan.spec.senders == 3
    assert changed(topology="ring").sum_plan.spec.senders == 2
    assert AGREED.alignment.spec.dimension == AGREED.stacked.trained
    np.testing.assert_array_equal(AGREED.weights, np.full((4, 4), 0.25))


def test_edges_are_between_names():
    edges = (("ann", "bea"), ("bea", "cem"), ("cem", "dan"))
    graph = changed(edges=edges).graph
    assert graph.sum() == 4 + 2 * 3
    assert graph[0, 1]
    assert not graph[0, 2]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"edges": (("ann", "zoe"),)}, "edges"),
        ({"edges": (("ann", "bea"), ("cem", "dan"))}, "gossip.topology"),
        ({"participants": ("ann", "bea")}, "participants"),
        ({"participants": ("ann", "bea", "bea")}, "participants"),
        ({"participants": ("ann", "bea", "\u00e4" * 126)}, "participants"),
        ({"min_senders": 4}, "participants"),
        ({"min_senders": 3, "topology": "ring"}, "gossip.topology"),
    ],
    ids=str,
)
def test_impossible_agreements_name_what_is_wrong(changes, where):
    with pytest.raises(ConfigError) as error:
        changed(**changes)
    assert error.value.where == where


def test_an_unknown_network_or_a_precision_out_of_reach_is_refused():
    with pytest.raises(ConfigError, match="no such network"):
        changed(network="transformer").stacked  # noqa: B018 (computed when asked for)
    with pytest.raises(PlanError, match="precis"):
        changed(averaging="ckks", precision=2.0**-45).sum_plan  # noqa: B018


@pytest.mark.parametrize(
    "changes",
    [
        {"participants": ("ann", "bea", "cem", "eve")},
        {"shape": (9,)},
        {"classes": 3},
        {"kind": "quadratic"},
        {"averaging": "clear"},
        {"topology": "ring"},
        {"weighting": "metropolis"},
        {"beta": 1.0},
        {"alpha": 0.25},
        {"forced_every": 4},
        {"relative": False},
        {"local_steps": 2},
        {"bound": 8.0},
        {"precision": 2.0**-18},
        {"min_senders": 3},
        {"max_share": 0.5},
        {"max_sums": 5},
        {"key_bits": 32.0},
        {"key_openings": 32},
        {"sketch": 16},
        {"flooding_bits": 31},
        {"seed": 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whoever_disagrees_about_anything_has_another_digest(changes):
    assert changed(**changes).digest != AGREED.digest
    assert changed().digest == AGREED.digest


def test_whoever_plans_alignments_or_sums_in_another_format_has_another_digest():
    other = changed()
    inner = AGREED.alignment.inner
    schedule = msgspec.structs.replace(inner.schedule, factor_scale=inner.schedule.factor_scale + 1)
    vars(other)["alignment"] = dataclasses.replace(
        AGREED.alignment, inner=dataclasses.replace(inner, schedule=schedule)
    )
    assert other.digest != AGREED.digest
    first, *others = inner.params.spec.limb_bits
    spec = msgspec.structs.replace(inner.params.spec, limb_bits=(first - 1, *others))
    other = changed()
    vars(other)["alignment"] = dataclasses.replace(
        AGREED.alignment, inner=dataclasses.replace(inner, params=CkksParameters(spec))
    )
    assert other.digest != AGREED.digest
    other, plan = changed(), AGREED.sum_plan
    fixed = dataclasses.replace(plan.fixed, log2_scale=plan.fixed.log2_scale - 1)
    vars(other)["sum_plan"] = dataclasses.replace(plan, fixed=fixed)
    assert other.digest != AGREED.digest


def test_sketches_of_different_rounds_and_runs_use_different_seeds():
    seeds = {changed(seed=seed).sketch_seed(round) for seed in range(3) for round in range(3)}
    assert len(seeds) == 9


def test_sums_under_encryption_are_flooded_for_all_of_their_coefficients():
    small, large = (changed(averaging="ckks", shape=(size,)) for size in (8, 8000))
    assert small.sum_plan.spec.flooding_bits == 30 + (18).bit_length()
    assert large.sum_plan.spec.flooding_bits == 30 + (16002).bit_length()
    assert changed(flooding_bits=58).sum_plan.spec.flooding_bits == 60


def test_the_largest_share_reaches_the_plan_of_sums():
    assert changed(max_share=0.5).sum_plan.spec.max_share == 0.5
    assert AGREED.sum_plan.spec.max_share is None


def test_a_machine_knows_its_neighbours_and_how_many_make_a_sum():
    limits = DisclosureSection(student_total=5)
    agreed = dataclasses.replace(changed(topology="ring"), disclosure=limits)
    settings = agreed.machine_settings("bea")
    assert settings.sums.neighbours == ("ann", "cem")
    assert settings.sums.min_senders == 2
    assert settings.disclosure.student_total == 5
    assert settings.collaboration == agreed.digest


def test_who_signs_reads_what_is_in_the_open():
    assert AGREED.summary.startswith("ring degree 4096 for alignments, masked sums of 18 ")
    assert kind_of("cycle-gossip").cautions(changed(rounds=6)) == []
    clear = changed(backend="clear", rounds=6)
    assert clear.summary.startswith("NOTHING IS ENCRYPTED (encryption.backend = clear) for align")
    (said,) = kind_of("cycle-gossip").cautions(clear)
    assert "can read gradients of whoever asks. For tests only" in said
    opened = changed(averaging="clear", rounds=6)
    assert "MODELS IN THE OPEN (gossip.averaging = clear): sums of 18" in opened.summary
    (said,) = kind_of("cycle-gossip").cautions(opened)
    assert "Averaging clear hides no model" in said

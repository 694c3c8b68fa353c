from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model import block_signs, public_indices, public_rows, student_basis
from securefair_lab.algorithms import Cycle, LogitsRelease, ProjectionRelease


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 0),
        ("range_penalty", -1.0),
        ("local_epochs", -1),
        ("local_steps", 0),
        ("temperature", 0.0),
        ("temperature", float("nan")),
        ("alignment_temperature", 0.0),
        ("lambda_0", -1.0),
        ("forced_every", 0),
    ],
)
def test_settings_out_of_range_are_refused_by_name(make_population, name, value):
    with pytest.raises(ConfigError) as error:
        make_population(**{name: value})
    assert error.value.where == name


def test_participants_must_be_distinct_and_alike(make_population):
    first, second, third = make_population().participants
    wide = Samples(np.zeros((4, 5)), np.zeros(4, dtype=np.int64), 2)
    for participants, problem in (
        ((), "out of range"),
        ((first, second, replace(third, name="a")), "one name"),
        ((first, ParticipantData("b", wide, wide)), "disagree"),
        ((first, replace(second, test=wide)), "disagree"),
    ):
        with pytest.raises(ConfigError, match=problem):
            make_population(participants=participants)


def test_a_population_tells_its_sizes(make_population):
    population = make_population()
    assert population.names == ("a", "b", "c")
    assert (population.features, population.classes) == (4, 2)


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"q": 0}, "q"),
        ({"q": 4097}, "q"),
        ({"ring_degree": 1000}, "ring_degree"),
        ({"basis": "secret"}, "basis"),
        ({"noise_std": -1.0}, "noise_std"),
    ],
)
def test_releases_out_of_range_are_refused_by_name(settings, where):
    with pytest.raises(ConfigError) as error:
        ProjectionRelease(**settings)
    assert error.value.where == where


def test_rows_of_both_bases(make_population):
    samples = make_population().participants[0].train
    public = ProjectionRelease(q=8, ring_degree=32, public_seed=b"x")  # three blocks of 16
    expected = public_rows(32, public_indices(32, 8, b"x"), 40, block_signs(3, b"x"))
    np.testing.assert_array_equal(public.rows(samples), expected)
    student = ProjectionRelease(q=8, basis="student")
    np.testing.assert_array_equal(student.rows(samples), student_basis(samples, 8))


def seen_by_alignments(make_population, prevalence):
    """By (student, peer), the answer that an alignment is formed of."""
    given = {}

    def alignment_of(name):
        def form(peer, answer):
            given[name, peer] = answer
            return 0.5

        return form

    three = make_population(
        prevalence=prevalence,
        release=LogitsRelease(),
        private_alignments={name: alignment_of(name) for name in "abc"},
    )
    state = Cycle().init(three, seed=0)
    everyone = {n: [k for k in "abc" if k != n] for n in "abc"}
    three.alignments(state, three.answers(state, everyone))
    return given


def test_alignments_see_answers_as_they_were_opened(make_population):
    """Moved to the student's own prevalence an answer depends on all of its labels."""
    moved, unmoved = (seen_by_alignments(make_population, one) for one in ("own", "teacher"))
    assert set(moved) == {(n, k) for n in "abc" for k in "abc" if n != k}
    for pair, answer in moved.items():
        np.testing.assert_array_equal(answer, unmoved[pair])

"""A partition in a configuration fits the partitioner of the same name."""

import pytest

from securefair.config import parse_config
from securefair_lab.data.partition import PARTITIONERS

EXAMPLES = {
    "homogeneous": "participants = 3",
    "imbalanced": "participants = 3\nkappa = 0.6\nlarge = 1",
    "ratio": "ratios = [0.1, 0.3, 0.6]",
    "power-law": "participants = 3\nexponent = 2",
    "dirichlet": 'participants = 3\ndelta = 0.3\nby = "quantity"',
    "pathological": "participants = 3\nclasses_each = 4",
    "class-ladder": "participants = 3\nsamples_each = 50",
}


def test_every_partitioner_can_be_asked_for():
    assert set(EXAMPLES) == set(PARTITIONERS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_keys_are_the_partitioners_arguments(kind):
    text = f'[run]\nname = "t"\n[data]\nsource = "digits"\n[data.partition]\nkind = "{kind}"\n'
    partition = parse_config(text + EXAMPLES[kind], source="t").data.partition
    arguments = partition.model_dump(exclude={"kind"})
    partitioner = PARTITIONERS[kind](**arguments)
    assert {name: getattr(partitioner, name) for name in arguments} == arguments

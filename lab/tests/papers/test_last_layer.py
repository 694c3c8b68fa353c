import pytest
import torch

from securefair.errors import ModelError
from securefair.model.architectures import architecture
from securefair.model.stacked import Stacked
from securefair_lab.papers.last_layer import head_mask, representations


def test_the_head_is_the_last_layer_of_a_network():
    stacked = Stacked(architecture("mlp-128-64", (4,), 3), dtype=torch.float64)
    mask = head_mask(stacked)
    names = {s.name for s in stacked.slots if mask[s.start : s.stop].all()}
    assert names == {"5.weight", "5.bias"}
    assert mask.sum() == 64 * 3 + 3


def test_logits_are_the_head_on_the_representation():
    stacked = Stacked(architecture("small-cnn", (1, 8, 8), 3), dtype=torch.float64)
    vector = stacked.initial([1])[0]
    features = torch.randn(300, 1, 8, 8, dtype=torch.float64)  # more than a chunk
    seen = representations(stacked, vector, features)
    last = stacked.network(vector)[-1]
    expected = stacked.logits(vector[None], features, shared=True)[0]
    torch.testing.assert_close(last(seen), expected)


def test_softmax_regression_represents_samples_by_themselves():
    stacked = Stacked(architecture("logistic", (4,), 2), dtype=torch.float64)
    features = torch.randn(5, 4, dtype=torch.float64)
    assert torch.equal(representations(stacked, stacked.initial([0])[0], features), features)
    with pytest.raises(ModelError, match="no body"):
        head_mask(stacked)


def test_networks_without_such_a_layer_are_refused():
    stacked = Stacked(architecture("linear-head", (4,), 2), dtype=torch.float64)
    with pytest.raises(ModelError, match="fully connected"):
        head_mask(stacked)

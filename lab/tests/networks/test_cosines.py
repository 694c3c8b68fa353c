import numpy as np
import pytest
import torch

from securefair.errors import ModelError
from securefair_lab.data.dead_leaves import dead_leaves
from securefair_lab.networks import cosines
from securefair_lab.networks.cosines import CHANNELS, CLIP, cosine_responses


@pytest.fixture(scope="module")
def pictures():
    found = dead_leaves(20, 32, np.random.default_rng(1))
    return torch.from_numpy(np.ascontiguousarray(found.transpose(0, 3, 1, 2)))


@pytest.mark.slow
def test_values_are_centred_scaled_and_bounded(pictures):
    values = cosine_responses(pictures)
    assert values.shape == (20, CHANNELS, 16, 16)
    assert values.dtype == torch.float32
    assert values.abs().max() <= CLIP
    assert cosine_responses(100 * pictures).abs().max() == CLIP
    # Other leaves than those that statistics were taken of.
    assert values.mean((0, 2, 3)).abs().max() < 0.2
    assert (values.std((0, 2, 3)) - 1).abs().max() < 0.3


@pytest.mark.slow
def test_the_layer_is_the_one_that_stored_weights_were_trained_behind():
    """Its constants follow from generated pictures: another generator would be another layer."""
    filters, mean, deviation = cosines._constants()
    figures = [mean.flatten()[:6], deviation.flatten()[:6], filters.abs().amax((1, 2, 3))[:6]]
    expected = [
        [0.7253, 0.6780, 0.6606, 0.6781, 0.6595, 0.6601],
        [0.3050, 0.2581, 0.1967, 0.2571, 0.2136, 0.1973],
        [0.0473, 0.1561, 0.3373, 0.1564, 0.3094, 0.3378],
    ]
    torch.testing.assert_close(torch.stack(figures), torch.tensor(expected), atol=1e-4, rtol=0)


def test_an_image_is_treated_as_if_it_were_alone(pictures):
    together = cosine_responses(pictures)
    alone = cosine_responses(pictures[3:4])
    torch.testing.assert_close(together[3:4], alone, atol=1e-5, rtol=0)


def test_opposite_images_exchange_the_signs_of_their_responses(pictures):
    one, other = cosine_responses(pictures), cosine_responses(-pictures)
    half = CHANNELS // 2
    # Before centring; both signs of a direction have nearly the same statistics.
    torch.testing.assert_close(one[:, :half], other[:, half:], atol=0.2, rtol=0)
    assert (one[:, :half] - one[:, half:]).abs().max() > 2


def test_a_flat_grey_image_has_but_its_brightness():
    flat = cosine_responses(torch.full((1, 3, 8, 8), 0.7))
    zero = cosine_responses(torch.zeros((1, 3, 8, 8)))
    changed = (flat - zero).abs().amax((0, 2, 3)) > 1e-4
    # The first filter is the mean of the patch; rectified, one of its signs sees it.
    assert changed.nonzero().flatten().tolist() == [0]


def test_responses_move_with_the_image(pictures):
    moved = torch.roll(pictures, 4, dims=3)
    there, here = cosine_responses(moved)[..., 4:14], cosine_responses(pictures)[..., 2:12]
    torch.testing.assert_close(there, here, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", [(1, 1, 8, 8), (1, 3, 7, 8), (3, 8, 8)])
def test_other_images_are_refused(shape):
    with pytest.raises(ModelError, match="colour images"):
        cosine_responses(torch.zeros(shape))

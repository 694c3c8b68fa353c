import numpy as np

from securefair_lab.data.dead_leaves import dead_leaves


def test_seeded_and_of_mean_zero_and_variance_one():
    pictures = dead_leaves(60, 32, np.random.default_rng(0))
    assert pictures.shape == (60, 32, 32, 3)
    assert pictures.dtype == np.float32
    assert (pictures == dead_leaves(60, 32, np.random.default_rng(0))).all()
    assert abs(pictures.mean()) < 0.15
    assert 0.8 < pictures.std() < 1.4


def test_neighbours_and_colours_are_alike():
    pictures = dead_leaves(60, 32, np.random.default_rng(1))

    def correlation(a, b):
        return np.corrcoef(a.ravel(), b.ravel())[0, 1]

    near = correlation(pictures[:, :, 1:], pictures[:, :, :-1])
    far = correlation(pictures[:, :, 8:], pictures[:, :, :-8])
    assert near > 0.65
    assert 0.1 < far < near - 0.2
    assert correlation(pictures[..., 0], pictures[..., 2]) > 0.8


def test_power_falls_with_frequency_as_in_photographs():
    # the power spectrum of photographs falls about as 1/f^2
    grey = dead_leaves(200, 32, np.random.default_rng(2)).mean(axis=3)
    window = np.hanning(32)[:, None] * np.hanning(32)
    power = (np.abs(np.fft.fft2((grey - grey.mean()) * window)) ** 2).mean(axis=0)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(32), np.fft.fftfreq(32)))
    middle = (frequency > 2 / 32) & (frequency < 12 / 32)
    slope = np.polyfit(np.log(frequency[middle]), np.log(power[middle]), 1)[0]
    assert -3.2 < slope < -1.5


def test_few_leaves_leave_nothing_behind():
    pictures = dead_leaves(5, 16, np.random.default_rng(0), leaves=1)
    assert (pictures == 0).any()

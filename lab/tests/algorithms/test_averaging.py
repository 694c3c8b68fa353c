"""Weights of averages, by hand."""

import numpy as np
import torch

from securefair_lab.algorithms.averaging import through_server, weights_of


def test_mixing_rows_sum_to_one():
    links = np.array([[False, True, False], [False, False, False], [True, True, False]])
    weights = weights_of(links, torch.tensor([10.0, 30.0, 60.0]))
    np.testing.assert_allclose(weights, [[0.25, 0.75, 0], [0, 1, 0], [0.1, 0.3, 0.6]])


def test_through_a_server_everyone_gets_all_others():
    assert through_server(3).tolist() == [[n != k for k in range(3)] for n in range(3)]

"""Graphs of participants that are linked both ways, for properties."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

counts = st.integers(2, 12)


@st.composite
def graphs(draw):
    n = draw(counts)
    upper = np.triu(draw(arrays(np.bool_, (n, n))), 1)
    return upper | upper.T | np.eye(n, dtype=np.bool_)

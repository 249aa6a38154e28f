"""One low-pass for both sides: its gain, its blocks, and rows at ends and gaps."""

import numpy as np
import pytest

from kinetree.identify import Recording
from kinetree.identify.band import in_band


def recording(t, cutoff=None):
    zeros = np.zeros((len(t), 1))
    return Recording(t, zeros, zeros, zeros, zeros, cutoff=cutoff)


@pytest.mark.parametrize("f, least, most", [(0.1, 0.99, 1.0), (0.5, 0.9, 1.0), (1.6, 0.0, 1e-3)])
def test_the_gain_falls_from_one_to_zero_around_the_cutoff(f, least, most):
    t = np.arange(4000) * 0.001
    data = recording(t)
    inner = in_band(data, np.sin(2 * np.pi * 8 * f * t)[:, None], 8.0)[20:-20, 0]
    assert least <= np.abs(inner).max() <= most + 1e-4  # ripple of the kernel

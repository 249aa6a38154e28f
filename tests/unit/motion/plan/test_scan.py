"""Scans in machine code, against a loop in Python."""

import numpy as np
import pytest

from kinetree.motion.plan.profile import LINES, scan


def by_hand(P, Q, cap, floor, start):
    x = [start]
    for k in range(len(P)):
        x.append(max(floor[k], min(cap[k], np.min(P[k] + Q[k] * x[-1]))))
    return np.array(x)


@pytest.mark.parametrize("lines", [1, 2, LINES, LINES + 3])
def test_scans_are_loops(lines):
    rng = np.random.default_rng(lines)
    n = 200
    P, Q = rng.uniform(0, 1, (n, lines)), rng.uniform(-0.5, 1.2, (n, lines))
    none = rng.random((n, lines)) < 0.2
    P[none], Q[none] = np.inf, 0
    cap, floor = rng.uniform(0.5, 2, n), np.where(rng.random(n) < 0.2, 0.7, -np.inf)
    found = scan(P, Q, cap, floor, 0.3)
    assert found[0] == 0.3 and np.allclose(found, by_hand(P, Q, cap, floor, 0.3), atol=1e-14)
    assert np.array_equal(scan(P[::-1], Q[::-1], cap, floor, 0.3)[:1], found[:1])


def test_floors_count_before_caps():
    assert list(scan(np.full((2, 1), np.inf), np.zeros((2, 1)), [1.0, 2.0], [3.0, 0.0], 0.5)) == [
        0.5, 3.0, 2.0,
    ]  # fmt: skip

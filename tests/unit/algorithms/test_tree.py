"""The Tree: steps carry vectors, matrices and bodies as rotation matrices do, in either frames."""

import numpy as np
import pytest

from kinetree import algorithms
from kinetree.algorithms.book import book_tree
from kinetree.model import WORLD
from kinetree.spatial import exp_so3
from robot_states import EPS, any_robot, random_state, size

RNG = np.random.default_rng(4)
R, P = exp_so3(RNG.normal(size=3)), RNG.normal(size=3)


@pytest.mark.parametrize("seed", range(5))
def test_twists_are_those_of_the_jacobians(seed):
    model = any_robot(seed, 10)
    x = random_state(model, seed)
    twists = book_tree(model, x.q).twists(x.dq)
    assert all(size(half) == 0 for half in twists[WORLD])
    for i, J in enumerate(algorithms.link_jacobians(model, x.q)):
        assert size(np.concatenate(twists[i]) - J @ x.dq) <= 200 * EPS * size(J) * size(x.dq)

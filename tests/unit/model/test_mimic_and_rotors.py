"""Mimic joints share degrees of freedom; circles and impossible pairs are refused by name.

A mimic joint is the constraint q = G q_own: M = G^T M_free G and tau = G^T tau_free exactly, and
to the rounding of these sums here, 1e-12 as the issue grants to formulations that agree.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Builder, dynamics
from kinetree.friction import Friction
from kinetree.joints import Mimic, Rotor
from random_robots import random_body, random_direction, random_pose

SAME = 1e-12
seeds = st.integers(0, 10**6)
# joint3 follows joint1, joint2 follows joint3 (a forward reference), joint4 moves by itself
FOLLOWS = {2: ("joint3", -1.5, 0.2), 3: ("joint1", 0.7, -0.1)}
G = np.array([[1, 0], [-1.5 * 0.7, 0], [0.7, 0], [0, 1]])
OFFSET = np.array([0, 0.2 - 1.5 * -0.1, -0.1, 0])


def arm(seed, *, mimic):
    """Four joints with friction and rotors, two of which follow others when `mimic`."""
    rng = np.random.default_rng(seed)
    builder = Builder(gravity=(1, 2, -9)).link("link0")
    for k in range(1, 5):
        data = {
            "at": random_pose(rng),
            "axis": random_direction(rng),
            "pitch": 0.2,
            "friction": Friction((0.3, 0.4), 0, lambda dq: 0.1 * dq * dq * dq),
            "armature": rng.uniform(0, 0.1),
            "rotor": Rotor(rng.uniform(0, 1e-2), rng.uniform(-9, 9), None, "link1"),
        }
        follows = Mimic(*FOLLOWS[k]) if mimic and k in FOLLOWS else None
        builder.link(f"link{k}", *random_body(rng)).joint(
            f"joint{k}", "helical", f"link{k - 1}", f"link{k}", mimic=follows, **data
        )
    return builder.build_model()


@settings(max_examples=25)
@given(seeds)
def test_a_mimic_joint_is_the_constraint_that_it_states(seed):
    tied, free = arm(seed, mimic=True), arm(seed, mimic=False)
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, 2))
    whole = G @ q + OFFSET
    M, expected = dynamics.mass_matrix(tied, q), G.T @ dynamics.mass_matrix(free, whole) @ G
    assert np.linalg.norm(M - expected) <= SAME * np.linalg.norm(expected)
    tau = dynamics.inverse_dynamics(tied, q, dq, ddq)
    expected = G.T @ dynamics.inverse_dynamics(free, whole, G @ dq, G @ ddq)
    assert np.linalg.norm(tau - expected) <= SAME * np.linalg.norm(expected)
    a, b = dynamics.pose(tied, q), dynamics.pose(free, whole)
    assert np.linalg.norm(a - b) <= SAME * np.linalg.norm(b)


def test_a_chain_of_mimic_joints_ends_at_the_joint_that_moves():
    model = arm(0, mimic=True)
    assert model.joint_names == ("joint1", "joint4") and model.n == model.nq == 2
    assert [joint.follows for joint in model.joints] == [None, "joint1", "joint1", None]
    assert model.joints[1].scale == pytest.approx(-1.05, rel=1e-15)
    assert model.joints[1].offset == pytest.approx(0.35, rel=1e-15)

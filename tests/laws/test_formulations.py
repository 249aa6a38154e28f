"""The four formulations, the three ways of M and of forward dynamics are one and the same thing."""

import numpy as np
import pytest

from kinetree import algorithms as kt
from robot_states import EPS, any_robot, random_state, relative

AGREEMENT = 1e-12  # norm-wise relative, as the project specifies; rounding leaves about 6e-15
SOLVE = 100 * EPS  # a stable solve of n < 100 unknowns errs by n eps times the condition of M
BLOCK = 25
# 50 robots of 1 to 30 joints, 125 with --many
BLOCKS = [0, 1, *(pytest.param(k, marks=pytest.mark.many) for k in (2, 3, 4))]


@pytest.mark.parametrize("block", BLOCKS)
def test_four_formulations_agree_in_every_intermediate(block):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        model = any_robot(seed)
        x = random_state(model, seed)
        records = {
            name: kt.newton_euler(model, *x.motion, **x.all, formulation=name)
            for name in kt.FORMULATIONS
        }
        screw = records.pop("screw")
        for name, record in records.items():
            for part in ("T_si", "V", "dV", "F", "tau", "tau_rotor", "tau_friction"):
                error = relative(getattr(record, part), getattr(screw, part))
                assert error < AGREEMENT, (seed, name, part)


@pytest.mark.parametrize("block", BLOCKS)
def test_three_ways_of_the_mass_matrix_agree(block):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        model = any_robot(seed)
        q = random_state(model, seed).q
        M = kt.mass_matrix(model, q)
        assert relative(kt.mass_matrix_by_jacobians(model, q), M) < AGREEMENT, seed
        if seed % 5 == 0:  # n calls of inverse dynamics each
            assert relative(kt.mass_matrix_by_inverse_dynamics(model, q), M) < AGREEMENT, seed


@pytest.mark.parametrize("block", BLOCKS)
def test_ways_of_forward_dynamics_agree_within_the_condition_of_M(block):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        model = any_robot(seed)
        x = random_state(model, seed)
        q, dq, tau = x.motion
        ddq = kt.forward_dynamics(model, q, dq, tau, **x.wrenches)
        slack = SOLVE * np.linalg.cond(kt.mass_matrix(model, q))
        if not any(joint.follows for joint in model.joints):  # which articulated bodies refuse
            bodies = kt.forward_dynamics_by_articulated_bodies(model, q, dq, tau, **x.wrenches)
            assert relative(bodies, ddq) < slack, seed
        if seed % 5 == 0:
            book = kt.forward_dynamics_by_inverse_dynamics(model, q, dq, tau, **x.wrenches)
            assert relative(book, ddq) < slack, seed

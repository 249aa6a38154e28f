"""Friction that grows with the load, in adaptive steps: it holds, or slides as in fixed steps."""

import numpy as np
import pytest

import kinetree as kt

PLAIN = kt.robots.planar_2r()
Q0 = np.array([0.4, -0.7])
WEIGHT = PLAIN.gravity_forces(Q0)


def rubbing(coulomb, load):
    return PLAIN.with_friction({x: kt.Friction(0.1, coulomb, load=load) for x in PLAIN.joint_names})


@pytest.mark.parametrize("share", [0.93, 1.0, 1.07])
def test_a_load_is_held_within_its_own_friction(share):
    """Friction of 0.2 of the load carries 7 % of the weight, of either sign."""
    held = rubbing(1e-3, 0.2).simulate(Q0, tau=share * WEIGHT, duration=0.2)
    assert np.array_equal(held.q, np.tile(Q0, (len(held), 1))) and not held.dq.any()
    free = rubbing(1e-3, 0.01).simulate(Q0, tau=share * WEIGHT, duration=0.2)
    assert free.dq.any() == (share != 1.0)


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.6])
def test_adaptive_and_fixed_steps_slide_alike_and_lose_energy(tau):
    robot = rubbing(0.2, 0.15)
    options = {"tau": tau * WEIGHT, "duration": 0.5}
    adaptive = robot.simulate(Q0, **options, dt=0.01)
    fixed = robot.simulate(Q0, **options, dt=1e-4, method="rk4", every=100)
    assert np.abs(adaptive.q - fixed.q).max() < 2e-4 and adaptive.dq.any()
    energy = robot.kinetic_energy(adaptive.q, adaptive.dq) + robot.potential_energy(adaptive.q)
    work = (adaptive.q - Q0) @ (tau * WEIGHT)
    assert np.all(np.diff(energy - work) <= 1e-9)

"""Derivatives of a step with compliant contacts, against differences of fifty digits."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.contacts import ContactPoint, Plane
from kinetree.errors import InputError

Q, DQ, TAU, DT = np.array([-0.6, 0.9]), np.array([-0.3, -0.5]), np.array([1.0, -4.0]), 0.002
STEP = "step_semi_implicit_euler"


def arm(friction, depth, compliance=1e-4):
    """A planar arm whose tip is so deep in soft ground."""
    robot = kt.robots.planar_2r()
    tip = robot.pose(Q)[:3, 3]
    ground = Plane(normal=(0, 1, 0), point=(0, float(tip[1]) + depth, 0))
    return robot.with_contacts(
        [ContactPoint("tip", "tool")], ground, friction=friction, compliance=compliance
    )


@pytest.mark.parametrize(
    ("friction", "depth", "mode"), [(0.1, 1e-4, 2), (9.0, 1e-4, 1), (0.5, -1e-2, 0)]
)
def test_slopes_of_a_step_are_those_of_fifty_digits(friction, depth, mode):
    robot = arm(friction, depth)
    motion = robot.simulate(Q, DQ, tau=TAU, dt=DT, duration=DT, limits="ignore")
    assert int(np.ravel(motion.meta["contact_modes"]["tip"])[0]) == mode
    slopes = robot.derivative(STEP, ["q", "dq", "tau"])(Q, DQ, TAU, DT)
    model = robot.model.astype(mpmath.mpf)
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -15
        base = [np.array([mpmath.mpf(x) for x in values.tolist()]) for values in (Q, DQ, TAU)]
        for i in range(3):
            for j in range(2):
                ends = []
                for sign in (1, -1):
                    moved = [x.copy() for x in base]
                    moved[i][j] += sign * h
                    end = algorithms.step(model, *moved, mpmath.mpf(DT))
                    ends.append(np.concatenate(end))
                exact = ((ends[0] - ends[1]) / (2 * h)).astype(float)
                found = np.concatenate([slopes[i][:, j], slopes[3 + i][:, j]])
                assert np.abs(found - exact).max() < 1e-10 * max(1, np.abs(exact).max())


def test_rigid_contacts_say_what_derivatives_need():
    with pytest.raises(InputError, match=r"rigid contacts.*compliance=1e-6"):
        arm(0.5, 0.0, compliance=None).derivative(STEP, "q")
    with pytest.raises(InputError, match=r"rigid contacts.*compliance=1e-6"):
        arm(0.5, 0.0, compliance=None).sensitivities(Q, dt=DT, duration=DT)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "implicitfast"])
def test_the_slopes_of_a_step_are_the_first_of_a_motion(method):
    robot = arm(0.1, 1e-4)
    found = robot.sensitivities(Q, DQ, tau=TAU, dt=DT, duration=DT, method=method, limits="ignore")
    slopes = robot.derivative(f"step_{method}", ["q", "dq"])(Q, DQ, TAU, DT)
    step = np.block([[slopes[0], slopes[1]], [slopes[2], slopes[3]]])
    assert np.abs(found.A[0] - step).max() < 1e-11 * np.abs(step).max()

"""Identification of a coupled wrist: inertia and friction of a motor that turns with two joints."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.identify import identify, simulated_recording
from kinetree.motion import excitation

ROBOT = kt.robots.spatial_3r()
COUPLED = {"joint2": 1, "joint3": 1}


def test_a_coupled_wrist_is_found_and_needs_its_motor():
    motor = kt.Motor(COUPLED, 0.6, kt.Friction(0.8, 1.5))
    real = ROBOT.with_friction(kt.Friction(0.5, 0.8)).with_motors({"motor3": motor})
    plan = excitation(ROBOT, 10, 0.01, reach=1.0)
    data = simulated_recording(real, plan, encoder_noise=1e-5, torque_noise=0.05)
    described = ROBOT.with_motors({"motor3": kt.Motor(COUPLED)})
    found = identify(described, data, friction="symmetric")
    motor = found.robot.model.motors[0]
    assert motor.inertia == pytest.approx(0.6, rel=0.1)
    assert motor.friction.viscous[0] == pytest.approx(0.8, rel=0.1)
    assert motor.friction.coulomb[0] == pytest.approx(1.5, rel=0.02)
    blind = identify(ROBOT, data, friction="symmetric")
    errors = [
        np.sqrt(np.mean((x.robot.inverse_dynamics(data.q, data.dq, data.ddq) - data.tau) ** 2, 0))
        for x in (found, blind)
    ]
    assert errors[0].max() < 0.06  # the noise is 0.05
    assert (errors[1][1:] > 10 * errors[0][1:]).all()

"""Robots on a free base: their bodies are found from wrenches on the base and joint forces."""

import numpy as np
import pytest
from identified_robots import covered, exists, misjudged

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import identify, make_recording
from kinetree.scalars import sin

NOISE = 0.05
SIZES = (3, 3, 3, 40, 40, 40, 2, 2)  # N m, N


def satellite():
    """A hull that is pushed about, with an arm of two joints."""
    builder = kt.Builder("satellite").link("world")
    builder.link("hull", 20.0, (0.02, -0.01, 0.03), np.diag([1.0, 1.2, 0.8]))
    builder.link("upper", 3.0, (0.2, 0.01, 0.02), np.diag([0.01, 0.05, 0.05]))
    builder.link("lower", 2.0, (0.15, 0.02, -0.01), np.diag([0.01, 0.03, 0.03]))
    builder.joint("base", "free", "world", "hull")
    drive = {"armature": 0.02, "friction": kt.friction.Friction(0.3)}
    builder.joint("a", "revolute", "hull", "upper", at=(0.3, 0, 0), axis=(0, 1, 0), **drive)
    builder.joint("b", "revolute", "upper", "lower", at=(0.4, 0, 0), axis=(0, 0, 1), **drive)
    return builder.build()


def push(t, q, dq):
    """Sines of two frequencies on every degree of freedom, damped."""
    waves = [
        a * (sin((0.9 + 0.37 * k) * t + k) + sin((2.1 + 0.21 * k) * t) / 2)
        for k, a in enumerate(SIZES)
    ]
    return np.array(waves) - dq * np.array(SIZES) / 2


@pytest.fixture(scope="module")
def motion():
    robot = satellite()
    return robot.simulate(robot.neutral(), duration=12.0, dt=0.01, method="rk4", tau=push)


def measured(motion, seed=0, **changes):
    noise = NOISE * np.random.default_rng(seed).normal(size=motion.tau.shape)
    given = {"q": motion.q, "dq": motion.dq, "ddq": motion.ddq} | changes
    return make_recording(satellite(), motion.t, tau=motion.tau + noise, **given)


def test_a_floating_robot_is_found_to_its_noise(motion, experiments):
    """300 held-out samples give the noise to 4%; 2 deviations of 8 joints, and parameters."""
    true, shares = satellite(), []
    for seed in range(experiments(1, 4)):
        found = identify(misjudged(true), measured(motion, seed), friction="symmetric")
        assert np.all(found.error() < 1.2 * NOISE) and exists(found.robot.model)
        shares.append(covered(found, true))
    assert found.base.r == 30 and np.mean(shares) > 0.85
    hull = found.params.names.index("m[hull]")
    assert found.estimate.x[hull] == pytest.approx(20.0, abs=0.5)


def test_accelerations_may_be_missing_and_quaternions_turn_their_sign(motion):
    q = motion.q.copy()
    q[400:, :4] *= -1  # the same rotations
    found = identify(misjudged(satellite()), measured(motion, q=q, ddq=None))
    assert np.all(found.error() < 1.2 * NOISE)


def test_few_digits_of_a_quaternion_are_forgiven_and_no_rotation_is_refused(motion):
    q = motion.q.copy()
    q[:, :4] = q[:, :4].round(3)
    assert np.allclose(np.linalg.norm(measured(motion, q=q).q[:, :4], axis=1), 1, atol=1e-15)
    q[7, :4] *= 1.5
    with pytest.raises(InputError, match=r"joint 'base' in the samples\[7\]"):
        measured(motion, q=q)


def test_orders_of_other_programs_are_refused(motion):
    """Quaternions with w last, twists with the linear part first, rates in {s}."""
    last = motion.q[:, [1, 2, 3, 0, *range(4, 9)]]
    with pytest.raises(InputError):
        measured(motion, q=last)
    first = [3, 4, 5, 0, 1, 2, 6, 7]
    with pytest.raises(InputError):
        measured(motion, dq=motion.dq[:, first], ddq=motion.ddq[:, first])
    with pytest.raises(InputError):
        measured(motion, dq=motion.dq * [1, 1, 1, 1, 1, 1, 57.3, 1])


def test_wrenches_with_the_force_first_are_not_good(motion):
    tau = motion.tau[:, [3, 4, 5, 0, 1, 2, 6, 7]]
    data = make_recording(satellite(), motion.t, motion.q, tau, motion.dq, motion.ddq)
    assert identify(satellite(), data).verdict.word == "not usable"


def test_what_cannot_be_filtered_is_refused(motion):
    with pytest.raises(InputError):
        measured(motion, dq=None, ddq=None)
    uneven = motion.t + 0.003 * np.sin(np.arange(len(motion.t)))
    with pytest.raises(InputError):
        make_recording(satellite(), uneven, motion.q, motion.tau, motion.dq)

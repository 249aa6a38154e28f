"""Between samples: quintics reproduce smooth motions to the order promised."""

import numpy as np
import pytest

from kinetree.errors import KinetreeWarning
from kinetree.motion import Trajectory, resample, sinusoid
from kinetree.robots import quadruped


@pytest.mark.parametrize(("name", "order"), [("q", 6), ("dq", 5), ("ddq", 4)])
def test_a_sine_is_reproduced_to_the_order_promised(name, order):
    wanted = sinusoid(0, 1, 0.5, 2, 0.001)
    worst = []
    for dt in (0.1, 0.05):
        found = resample(sinusoid(0, 1, 0.5, 2, dt), wanted.t)
        worst.append(np.abs(getattr(found, name) - getattr(wanted, name)).max())
    assert np.log2(worst[0] / worst[1]) == pytest.approx(order, abs=0.15)


def test_batches_and_forces_come_along():
    t, q = np.array([0.0, 1.0, 3.0]), np.random.default_rng(1).normal(size=(3, 4, 2))
    tau = np.arange(24.0).reshape(3, 4, 2)
    motion = Trajectory(t=t, q=q, dq=0 * q, ddq=0 * q, tau=tau)
    with pytest.warns(KinetreeWarning, match="need accelerations"):  # ddq = 0 is not that of q
        found = resample(motion, [0.0, 2.0, 3.0])
    assert np.allclose(found.q[[0, 2]], q[[0, 2]])
    assert found.tau is not None and np.allclose(found.tau[1], (tau[1] + tau[2]) / 2)


def test_quaternions_stay_of_length_one_and_pass_the_samples():
    robot = quadruped()
    q = np.stack([robot.random(rng=k) for k in range(3)])
    zero = np.zeros((3, robot.n))
    motion = Trajectory(t=[0, 1, 2], q=q, dq=zero, ddq=zero, model=robot.model)
    with pytest.warns(KinetreeWarning, match="'front_left_knee' need accelerations"):
        found = resample(motion, np.linspace(0, 2, 9))
    assert np.allclose(np.linalg.norm(found.q[:, :4], axis=1), 1, rtol=1e-14)
    turned = np.abs(np.sum(found.q[::4, :4] * q[:, :4], axis=1))  # q and -q are one rotation
    assert np.allclose(turned, 1, rtol=1e-12) and np.allclose(found.q[::4, 4:], q[:, 4:])

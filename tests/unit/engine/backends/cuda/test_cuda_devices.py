"""Arrays on several GPUs: refused by name, without a GPU and with two of them."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError


def test_two_gpus(cp):
    if cp.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU; two are needed")
    robot = kt.robots.planar_2r()
    kernel = robot.compile("mass_matrix", target="cuda")
    with cp.cuda.Device(1):
        q = cp.ones((40, 2))
    found = kernel(q)  # while the first GPU is the current one
    assert found.device.id == 1
    np.testing.assert_allclose(found.get(), robot.mass_matrix(q.get()), rtol=1e-14)
    motion = robot.simulate(q, duration=0.01, dt=1e-3, method="rk4", target="cuda")
    assert motion.q.device.id == 1
    with pytest.raises(InputError, match="lie on different GPUs: q is on 1, dq is on 0"):
        robot.compile("bias_forces", target="cuda")(q, cp.ones((40, 2)))

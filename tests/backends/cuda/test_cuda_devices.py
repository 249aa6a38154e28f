"""Arrays on several GPUs: refused by name, without a GPU and with two of them."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.cuda.arguments import check_devices
from kinetree.errors import InputError


def lying_on(device):
    return SimpleNamespace(data=SimpleNamespace(device_id=device))


def test_arrays_on_different_gpus_are_named():
    check_devices("mass_matrix", ["q", "dq"], [lying_on(1), lying_on(1)])
    with pytest.raises(InputError, match="q is on 0, dq is on 1; expected one"):
        check_devices("mass_matrix", ["q", "dq"], [lying_on(0), lying_on(1)])


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

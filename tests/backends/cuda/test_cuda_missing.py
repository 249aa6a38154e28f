"""Without CuPy: kernels can be made and read, and a call says what to install."""

import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.errors import InputError, MissingPackageError, NameLookupError


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)


def test_a_call_names_the_extra(no_cupy):
    kernel = compile_kernel(kt.robots.planar_2r().model, "gravity_forces", target="cuda")
    with pytest.raises(MissingPackageError, match=r"kinetree\[cuda\]"):
        kernel(np.zeros(2))


def test_a_kernel_says_what_it_is(no_cupy):
    kernel = compile_kernel(kt.robots.planar_2r().model, "inverse_dynamics", target="cuda")
    assert kernel.signature == "(n),(n),(n)->(n)"
    assert "inverse_dynamics(n),(n),(n)->(n)" in repr(kernel)
    assert "M ddq" in (kernel.__doc__ or "")
    assert "__launch_bounds__" in kernel.source("float32")


def test_an_unknown_quantity_is_named(no_cupy):
    with pytest.raises(NameLookupError, match="torque"):
        compile_kernel(kt.robots.planar_2r().model, "torque", target="cuda")


def test_robots_name_their_target(no_cupy):
    robot = kt.robots.planar_2r()
    kernel = robot.compile("inverse_dynamics", target="cuda")
    with pytest.raises(MissingPackageError, match=r"kinetree\[cuda\]"):
        kernel(np.zeros(2), np.zeros(2), np.zeros(2))
    slope = robot.derivative("gravity_forces", target="cuda")
    assert "kt_derivative_of_gravity_forces" in slope.source()
    with pytest.raises(InputError, match="'cpu' or 'cuda'"):
        robot.compile("inverse_dynamics", target="tpu")


def test_a_simulation_on_a_gpu_names_the_extra_and_what_it_cannot(no_cupy):
    robot = kt.robots.planar_2r()
    with pytest.raises(MissingPackageError, match=r"kinetree\[cuda\]"):
        robot.simulate(np.zeros(2), duration=1, dt=0.1, method="rk4", target="cuda")
    with pytest.raises(InputError, match="semi_implicit_euler"):
        robot.simulate(np.zeros(2), duration=1, target="cuda")
    with pytest.raises(InputError, match="'cpu' or 'cuda'"):
        robot.simulate(np.zeros(2), duration=1, method="rk4", target="tpu")

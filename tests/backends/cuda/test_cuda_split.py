"""One batch on several GPUs, without a GPU: three of them are memory of the CPU."""

import sys

import numpy as np
import pytest
from cuda_stand_in import Device, HostArray, HostGpu, HostKernel, on_host

import kinetree as kt
from kinetree.engine import interpret
from kinetree.engine.cuda.split import on_devices
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, ShapeError

RNG = np.random.default_rng(6)


@pytest.fixture
def cp(monkeypatch):
    made = HostGpu(devices=3)
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


@pytest.fixture
def kernel(cp):
    """Inverse dynamics that notes where it computes how many states."""

    class Noted(HostKernel):
        def __call__(self, *arrays):
            assert all(x.lies_on == Device.current for x in arrays)
            self.calls.append((Device.current, max(len(x) for x in arrays if x.ndim > 1)))
            return super().__call__(*arrays)

    found = Noted(trace_quantity(kt.robots.planar_2r().model, "inverse_dynamics"), "forces")
    found.calls = []
    return found


@pytest.mark.parametrize("where", ["host", 0, 2])
@pytest.mark.parametrize("devices", [None, [1], [2, 0]])
def test_every_state_is_computed_once_where_it_should(kernel, cp, where, devices):
    given = [RNG.normal(size=(200, 2)), RNG.normal(size=2), RNG.normal(size=(200, 2))]
    expected = interpret(kernel.graph, *given)[0]
    if where != "host":
        with Device(where):
            given = [on_host(x) for x in given]
    found = on_devices(kernel, given, devices)
    np.testing.assert_array_equal(found, expected)
    assert isinstance(found, HostArray) == (where != "host")
    assert [x for x, _ in kernel.calls] == ([0, 1, 2] if devices is None else devices)
    assert sum(n for _, n in kernel.calls) == 200 and Device.current == 0
    if where != "host":
        assert found.lies_on == where
        waited = {event for kind, *rest in cp.events if kind == "wait" for event in rest[1:]}
        recorded = {k for k, event in enumerate(cp.events) if event[0] == "record"}
        assert waited == recorded, "every event is waited for"


def test_strides_and_several_results(cp):
    graph = trace_quantity(kt.robots.planar_2r().model, "inverse_dynamics_derivatives")
    kernel = HostKernel(graph, "slopes")
    wide = on_host(RNG.normal(size=(70, 4)))
    given = [wide[:, ::2]] * 3
    found = on_devices(kernel, given)
    for x, y in zip(found, interpret(graph, *[np.asarray(z) for z in given]), strict=True):
        np.testing.assert_array_equal(x, y)


def test_mistakes_are_named(kernel):
    q = np.zeros((5, 2))
    for devices in ([3], [-1], [0, 0], []):
        with pytest.raises(InputError, match="from 0 to 2"):
            on_devices(kernel, [q, q, q], devices)
    with pytest.raises(ShapeError, match="takes 3 arrays"):
        on_devices(kernel, [q, q])
    with pytest.raises(ShapeError, match=r"q \(5,\), dq \(4,\)"):
        on_devices(kernel, [q, q[:4], q])
    with pytest.raises(ShapeError, match="one axis of states"):
        on_devices(kernel, [q[None]] * 3)

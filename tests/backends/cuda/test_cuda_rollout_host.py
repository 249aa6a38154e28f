"""simulate(target="cuda") with the emitted loop run on the CPU: the bits of the CPU's own loop."""

import numpy as np
import pytest
from cuda_harness import compile_for_gpu
from cuda_host_rollout import OnGpu, moved, pretend

import kinetree as kt
from kinetree import controllers
from kinetree.engine.cuda.rollout import CudaRollout, emit_rollout
from kinetree.errors import CompileError, InputError, ShapeError
from kinetree.simulate import SimulationError, signal, simulate
from kinetree.simulate.core.fixed_steps import fixed_steps
from kinetree.simulate.core.run import Run, checked
from kinetree.simulate.core.setup import read_setup
from tensor_robots import sprung

RNG = np.random.default_rng(3)
BATCH = 37  # a warp and a few


@pytest.fixture
def cp(monkeypatch, tmp_path):
    return pretend(monkeypatch, tmp_path)


def both(model, q0, dq0=None, **options):
    """The motion on the "GPU", from arrays that are there, and on the CPU."""
    found = simulate(
        model, moved(q0), None if dq0 is None else moved(dq0), target="cuda", **options
    )
    assert isinstance(found.q, OnGpu)
    return found, simulate(model, q0, dq0, **options)


def same(found, expected):
    found = found.cpu()
    np.testing.assert_array_equal(found.t, expected.t)
    for name in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for key in ("violations", "controller_state", "method", "controller", "steps"):
        if key in expected.meta:
            np.testing.assert_array_equal(found.meta[key], expected.meta[key])


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_constant_forces_of_every_rollout(cp, method):
    model = kt.robots.spatial_3r().model
    q0, dq0, tau = RNG.normal(size=(3, BATCH, 3))
    found, expected = both(
        model, q0, dq0, tau=tau, method=method, duration=0.02, dt=2e-3, every=3, limits="ignore"
    )
    same(found, expected)
    assert found.q.shape == (5, BATCH, 3) and found.batch_shape == (BATCH,)


def test_forces_over_time_and_a_shorter_last_step(cp):
    model = kt.robots.planar_2r().model
    times = np.linspace(0, 0.1, 6)
    shared = signal(times, RNG.normal(size=(6, 2)), "linear")
    own = signal(times, RNG.normal(size=(6, BATCH, 2)))
    for tau in (shared, own):
        options = {"method": "rk4", "duration": 0.095, "dt": 0.01, "limits": "ignore"}
        same(*both(model, RNG.normal(size=(BATCH, 2)), tau=tau, **options))


@pytest.mark.parametrize("kind", ["hold", "linear"])
@pytest.mark.parametrize("batch", [(), (BATCH,)])
def test_forces_over_time_that_lie_on_the_gpu_stay_there(cp, kind, batch, monkeypatch):
    model = kt.robots.planar_2r().model
    t, values = np.linspace(0, 0.1, 6), RNG.normal(size=(6, *batch, 2))
    loads = signal(t, RNG.normal(size=(6, len(model.links), 6)))  # NumPy's beside it
    law = controllers.PD(lambda t: (np.array([t, 1 - t]),) * 2, kp=9, kd=3)  # and a reference
    tau = signal(moved(t), moved(values), kind)
    assert isinstance(tau.values, OnGpu)
    q0 = RNG.normal(size=(BATCH, 2))
    options = {"method": "rk4", "duration": 0.095, "dt": 0.01, "limits": "ignore"}
    options |= {"F_ext": loads, "controller": law}
    expected = simulate(model, q0, tau=signal(t, values, kind), **options)
    copied, asnumpy = [], cp.asnumpy
    monkeypatch.setattr(cp, "asnumpy", lambda x: copied.append(x.size) or asnumpy(x))
    same(simulate(model, moved(q0), tau=tau, target="cuda", **options), expected)
    assert sum(copied) <= 16 * 4  # states at which the reference is compared with its graph


def test_values_on_a_gpu_are_checked_and_refused_by_the_cpu(cp):
    model = kt.robots.planar_2r().model
    with pytest.raises(InputError, match=r"values\[1, 0\] of the signal, at t = 1 s, is nan"):
        signal([0, 1], moved([[0, 0], [np.nan, 0]]))
    with pytest.raises(InputError, match="hold complex128; expected real numbers"):
        signal([0, 1], moved([[0, 0], [1j, 0]]))
    tau = signal([0, 1], moved(np.zeros((2, 2))))
    for method in ("rk4", "dop853"):
        with pytest.raises(InputError, match=r"tau over time are on the GPU.*cupy\.asnumpy"):
            simulate(model, np.zeros(2), tau=tau, duration=0.1, dt=0.1, method=method)


@pytest.mark.parametrize(
    "law",
    [
        controllers.ComputedTorque(lambda t: (np.array([t, 1 - t]),) * 3, kp=100, kd=20),
        controllers.PID(np.array([0.3, -0.2]), kp=50, kd=5, ki=10, bound=0.1, gravity=True),
        lambda t, q, dq: -3 * dq - q * t,
    ],
)
def test_controllers_in_the_loop(cp, law):
    model = kt.robots.planar_2r().model
    q0 = RNG.normal(size=(2, 3, 2))
    options = {"method": "semi_implicit_euler", "duration": 0.05, "dt": 5e-3, "limits": "ignore"}
    found, expected = both(model, q0, controller=law, **options)
    same(found, expected)
    assert found.q.shape == (11, 2, 3, 2)


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
def test_springs_and_stiff_laws_in_implicit_steps(cp, method):
    law = controllers.ComputedTorque(lambda t: (np.array([t, 1 - t]),) * 3, kp=1e4, kd=200)
    options = {"method": method, "duration": 0.05, "dt": 5e-3, "limits": "ignore"}
    q0 = RNG.normal(size=(5, 2))
    model = sprung().model.replace(name="on the host")  # not the one that a real GPU may have run
    same(*both(model, q0, **options))
    same(*both(model, q0, controller=law, **options))


def test_turning_bodies_wrenches_and_varied_masses(cp):
    model = kt.robots.quadruped().model
    q0 = np.array([model_position(model, k) for k in range(5)])
    loads = RNG.normal(size=(len(model.links), 6))
    mass = model.m * RNG.uniform(0.9, 1.1, (5, len(model.links)))
    options = {"method": "rk4", "duration": 0.004, "dt": 1e-3, "limits": "ignore"}
    found = simulate(
        model, moved(q0), F_ext=moved(loads), parameters={"mass": moved(mass)}, target="cuda",
        **options,
    )  # fmt: skip
    same(found, simulate(model, q0, F_ext=loads, parameters={"mass": mass}, **options))


def model_position(model, seed):
    return kt.algorithms.random(model, np.random.default_rng(seed))


def test_dry_friction_stops_and_holds(cp):
    robot = kt.robots.planar_2r()
    rough = {name: kt.Friction(coulomb=2.0) for name in robot.model.joint_names}
    robot = robot.with_friction(rough)
    options = {"method": "semi_implicit_euler", "duration": 0.1, "dt": 5e-3, "limits": "ignore"}
    same(*both(robot.model, RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2)), **options))


def test_float32_follows_the_type_of_q0(cp):
    model = kt.robots.planar_2r().model
    q0 = RNG.normal(size=(3, 2)).astype("float32")
    options = {"method": "rk4", "duration": 0.01, "dt": 1e-3, "limits": "ignore"}
    found, expected = both(model, q0, **options)
    assert found.q.dtype == found.tau.dtype == np.float32
    # ten steps of a few roundings each
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=40 * 2.0**-24)


def test_limits_stop_are_recorded_or_ignored(cp):
    model = kt.robots.panda().model
    q0 = np.tile(np.array([0, 0.3, 0, -1.5, 0, 1.9, 0.0]), (3, 1))
    tau = np.zeros((3, 7))
    tau[1, 3] = 40
    options = {"method": "rk4", "duration": 0.6, "dt": 5e-3, "tau": tau}
    same(*both(model, q0, limits="record", **options))
    with pytest.raises(SimulationError, match="panda_joint6") as found:
        simulate(model, moved(q0), target="cuda", **options)
    with pytest.raises(SimulationError) as expected:
        simulate(model, q0, **options)
    assert str(found.value) == str(expected.value)
    same(found.value.trajectory, expected.value.trajectory)


def test_rollouts_that_run_away_stand_where_they_were(cp):
    model = kt.robots.planar_2r().model
    q0, tau = np.zeros((40, 2)), np.zeros((40, 2))
    tau[33] = 1e200, 0
    options = {"method": "euler", "duration": 0.5, "dt": 0.05, "tau": tau, "limits": "record"}
    with np.errstate(all="ignore"):
        found, expected = both(model, q0, **options)
    assert any(v.by is None for v in expected.meta["violations"])
    finite = [v for v in expected.meta["violations"] if v.by is None]
    assert {v.rollout for v in finite} == {(33,)}
    assert np.isfinite(np.asarray(found.q)).all()
    np.testing.assert_array_equal(found.q, expected.q)


def test_wrong_input_is_named_as_on_the_cpu(cp):
    model = kt.robots.planar_2r().model
    options = {"method": "rk4", "duration": 0.1, "target": "cuda"}
    with pytest.raises(ShapeError, match="q0"):
        simulate(model, moved(np.zeros((5, 3))), **options)
    with pytest.raises(InputError, match=r"tau\[1, 0\] is nan"):
        simulate(model, np.zeros(2), tau=moved([[0, 0], [np.nan, 0]]), **options)
    with pytest.raises(ShapeError, match="broadcast"):
        simulate(model, moved(np.zeros((5, 2))), tau=moved(np.zeros((4, 2))), **options)
    with pytest.raises(CompileError, match="scalars"):
        simulate(model, np.zeros(2), controller=lambda t, q, dq: [float(q[0]), 0], **options)
    turning = kt.robots.quadruped().model
    bent = np.array(kt.algorithms.neutral(turning), float)
    bent[0] = 2
    with pytest.raises(InputError, match="quaternion"):
        simulate(turning, moved(bent), **options)


@pytest.mark.parametrize(("name", "dtype"), [("quadruped", "float32"), ("four_bar", "float64")])
def test_nvcc_accepts_a_loop_without_a_warning(name, dtype, tmp_path):
    robot = getattr(kt.robots, name)()
    options = {"duration": 0.1, "method": "semi_implicit_euler", "limits": "ignore"}
    run = checked(Run(model=robot.model, q0=robot.neutral(), dt=1e-3, **options))
    steps = fixed_steps(run, read_setup(run))
    compile_for_gpu(emit_rollout(CudaRollout(steps.stepping).stepping, dtype), tmp_path)


@pytest.mark.parametrize("method", ["implicit", "rk4"])
def test_controls_activations_and_drives(cp, method):
    servo = kt.Actuator.position("joint2", 50, 5, time_constant=0.1, force_range=(-30, 30))
    robot = kt.robots.planar_2r().with_actuators(
        {"elbow": servo, "m": kt.Actuator.motor("joint1", delay=4e-3)}
    )
    model = robot.with_drives({"joint1": kt.Drive(peak=2, lag=0.01, delay=2e-3)}).model
    q0, u = RNG.normal(size=(BATCH, 2)), RNG.normal(size=(BATCH, 2))
    options = {"method": method, "duration": 0.02, "dt": 2e-3, "limits": "ignore"}
    found = simulate(model, moved(q0), target="cuda", controls=moved(u), **options)
    expected = simulate(model, q0, controls=u, **options)
    same(found, expected)
    meta = found.cpu().meta
    for key in ("controls", "activation"):
        for name, values in expected.meta[key].items():
            np.testing.assert_array_equal(meta[key][name], values)
    for key in ("command", "drive_state"):
        np.testing.assert_array_equal(meta[key], expected.meta[key])


def test_laws_are_held_to_their_contract_on_a_gpu_too(cp):
    model = kt.robots.planar_2r().model
    options = {"method": "rk4", "duration": 0.02, "dt": 0.01, "limits": "ignore", "target": "cuda"}
    calls = []

    def counting(t, q, dq):
        calls.append(1)
        return -q * len(calls)

    with pytest.raises(InputError, match="different results for the same arguments"):
        simulate(model, moved(np.ones((BATCH, 2))), tau=counting, **options)
    with pytest.raises(CompileError, match=r"called in Python, every 0\.01 s.*target='cpu'"):
        law = controllers.Sampled(lambda t, q, dq: -q, 0.01)
        simulate(model, np.ones((BATCH, 2)), controller=law, **options)
    law = kt.law(lambda t, q, dq: -q - dq, kt.Robot(model))
    found = simulate(model, np.ones((BATCH, 2)), controller=law, **options)
    same(
        found, simulate(model, np.ones((BATCH, 2)), controller=law, **{**options, "target": "cpu"})
    )


RUBBING = {
    "LuGre": kt.Friction(0.3, 1, stribeck=kt.Stribeck(1.4, 0.2), presliding=kt.LuGre(300, 5)),
    "Dahl": kt.Friction(0, 0.5, presliding=kt.Dahl(100, 1.5)),
}


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "implicit"])
@pytest.mark.parametrize("law", RUBBING)
def test_friction_with_a_memory(cp, law, method):
    model = kt.robots.planar_2r().with_friction({"joint1": RUBBING[law]}).model
    q0, dq0 = RNG.normal(size=(2, BATCH, 2))
    bent = RNG.normal(size=(BATCH, 1)) * 1e-3
    options = {"method": method, "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    found, expected = both(model, q0, dq0, tau=[1.0, 0.5], friction_state=bent, **options)
    same(found, expected)
    deflections = [x.meta["friction_state"]["joint1"] for x in (found.cpu(), expected)]
    np.testing.assert_array_equal(*deflections)
    assert np.ptp(deflections[0], axis=0).min() > 0


def test_mean_contact_forces_between_records(cp):
    leg = kt.robots.planar_2r()
    tip = kt.contacts.ContactPoint("tip", "tool")
    ground = kt.contacts.Plane((0, 1, 0), (0, -0.5, 0))
    robot = leg.with_contacts([tip], ground, friction=0.5, restitution=0.5)
    q0 = np.array([[-0.3, 0.1], [-0.2, -0.1], [0.0, 0.0]])
    found, expected = both(robot.model, q0, duration=0.503, dt=1e-3, every=10, limits="ignore")
    same(found, expected)
    forces = expected.meta["contact_forces"]["tip"]
    assert (forces.max((0, 2)) > 1).all()
    np.testing.assert_array_equal(found.cpu().meta["contact_forces"]["tip"], forces)

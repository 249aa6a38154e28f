"""Friction laws take energy out, are undone by forward dynamics, and the same in every form."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms, controllers, export
from kinetree.algorithms.joints.friction import friction_force, frictionless
from kinetree.model import ALL_TYPES, joint_friction, random_model
from kinetree.motion import energy_balance
from precise_robots import numbers
from robot_states import EPS, size

mpmath = pytest.importorskip("mpmath")

FULL = kt.Friction(
    (0.1, 0.2), (0.5, 0.3), stribeck=kt.Stribeck((0.9, 0.7), 0.2), sigmoid=kt.Sigmoid(0.4, 6, 0.05)
)


def plain_force(dq):
    """`FULL` at one rate as the documentation writes it."""
    v, c, s = (0.1, 0.5, 0.9) if dq > 0 else (0.2, 0.3, 0.7)
    level = c + (s - c) * math.exp(-((abs(dq) / 0.2) ** 2))
    curve = 0.4 / (1 + math.exp(-6 * (dq + 0.05))) - 0.4 / (1 + math.exp(-6 * 0.05))
    return v * dq + math.copysign(level, dq) * (dq != 0) + curve


@pytest.mark.parametrize("dq", [-3.0, -0.2, -1e-3, 0.0, 1e-3, 0.1, 2.0])
def test_forces_are_those_of_the_documented_formulas(dq):
    found = friction_force(joint_friction(FULL, "joint"), dq)
    assert found == pytest.approx(plain_force(dq), rel=1e-14, abs=1e-16)


def test_no_rate_overflows_and_small_rates_keep_their_digits():
    curve = joint_friction(kt.Friction(sigmoid=kt.Sigmoid(2.0, 50.0, 0.1)), "joint")
    bend = joint_friction(kt.Friction(coulomb=1.0, stribeck=kt.Stribeck(2.0, 1e-3, 1.5)), "joint")
    for way in (1, -1):
        far = 2.0 * (way > 0) - 2.0 / (1 + math.exp(-5.0))
        assert friction_force(curve, way * 1e300) == pytest.approx(far, rel=1e-12)
        assert friction_force(bend, way * 1e300) == way
    e = math.exp(-5.0)
    slope = 2.0 * 50.0 * e / (1 + e) ** 2
    assert friction_force(curve, 1e-200) == pytest.approx(slope * 1e-200, rel=1e-12)


def random_state(model, seed):
    rng = np.random.default_rng(seed)
    return algorithms.random(model, rng), *rng.normal(size=(2, model.n))


@pytest.mark.parametrize("seed", range(6))
def test_friction_takes_energy_out_and_forward_dynamics_undoes_it(seed):
    model = random_model(seed, 5, types=ALL_TYPES, laws=True, mimic=True, springs=True)
    robot, (q, dq, ddq) = kt.Robot(model), random_state(model, seed)
    tau = robot.inverse_dynamics(q, dq, ddq)
    lost = tau - kt.Robot(frictionless(model)).inverse_dynamics(q, dq, ddq)
    assert (lost * dq >= 0).all() and (lost * dq > 0).any()
    assert robot.forward_dynamics(q, dq, tau) == pytest.approx(ddq, rel=1e-9, abs=1e-9)


def test_a_gear_of_efficiency_eta_passes_on_that_share_of_the_power():
    """Driving: the load gets eta of the power of tau. Driven: tau gets eta of that of the load."""
    eta = 0.8
    robot = kt.robots.planar_2r()
    names = robot.model.joint_names
    gear = robot.with_friction({name: kt.Friction(load=(1 / eta - 1, 1 - eta)) for name in names})
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 50, 2))
    load, tau = robot.inverse_dynamics(q, dq, ddq), gear.inverse_dynamics(q, dq, ddq)
    driving = load * dq > 0
    assert 10 < driving.sum() < 90
    np.testing.assert_allclose(load[driving], eta * tau[driving], rtol=1e-14)
    np.testing.assert_allclose(tau[~driving], eta * load[~driving], rtol=1e-14)
    moving = gear.mass_matrix(q) @ ddq[..., None]
    h = gear.bias_forces(q, dq)
    np.testing.assert_allclose(moving[..., 0] + h, load, rtol=1e-12)  # not tau


@pytest.fixture(scope="module")
def panda():
    return kt.robots.panda(friction=True)


def laws_robot():
    """Three joints with every law; rates away from rest, where dry friction jumps."""
    laws = [
        kt.Friction(0.1, 0.4, stribeck=kt.Stribeck(0.9, 0.3), load=(0.2, 0.1)),
        kt.Friction(0.0, (0.3, 0.2), stribeck=kt.Stribeck((0.5, 0.4), 0.5, 1.5)),
        kt.Friction(0.2, sigmoid=kt.Sigmoid(0.6, 9.0, -0.04), load=0.15),
    ]
    robot = kt.robots.spatial_3r()
    return robot.with_friction(dict(zip(robot.model.joint_names, laws, strict=True)))


@pytest.mark.parametrize("name", ["panda", "laws"])
def test_kernels_agree_with_fifty_digits(name, panda, fifty_digits):
    robot = panda if name == "panda" else laws_robot()
    model, precise = robot.model, robot.model.astype(mpmath.mpf)
    for seed in range(20):
        q, dq, ddq = random_state(model, seed)
        expected = algorithms.inverse_dynamics(precise, *map(numbers, (q, dq, ddq)))
        found = robot.inverse_dynamics(q, dq, ddq)
        terms = size(robot.mass_matrix(q) @ ddq) + size(robot.coriolis_forces(q, dq))
        terms += size(robot.gravity_forces(q)) + size(robot.friction_forces(dq))
        assert size(numbers(found) - expected) < 4 * EPS * terms
        b = algorithms.friction_forces(precise, numbers(dq))
        assert size(numbers(robot.friction_forces(dq)) - b) < 4 * EPS * size(b)


@pytest.mark.parametrize("name", ["panda", "laws"])
def test_derivatives_agree_with_fifty_digits(name, panda, fifty_digits):
    robot = panda if name == "panda" else laws_robot()
    n, precise = robot.model.n, robot.model.astype(mpmath.mpf)
    q, dq, ddq = random_state(robot.model, 4)
    exact = [numbers(x) for x in (q, dq, ddq)]
    h = mpmath.mpf(10) ** -18
    for k, found in enumerate(robot.inverse_dynamics_derivatives(q, dq, ddq)):
        columns = []
        for e in np.eye(n, dtype=int):
            ends = []
            for way in (1, -1):
                state = list(exact)
                state[k] = state[k] + e * (way * h)
                ends.append(algorithms.inverse_dynamics(precise, *state))
            columns.append((ends[0] - ends[1]) / (2 * h))
        expected = np.array(columns).T.astype(float)
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    by = robot.derivative("inverse_dynamics", "dq")(q, dq, ddq)
    np.testing.assert_allclose(by, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_second_derivatives_are_those_of_the_first():
    robot = laws_robot()
    q, dq, ddq = random_state(robot.model, 2)
    slope = kt.derivative(robot.inverse_dynamics, "dq")
    second = kt.derivative(slope, "dq")(q, dq, ddq)
    h = 1e-6
    for k, e in enumerate(np.eye(3)):
        expected = (slope(q, dq + h * e, ddq) - slope(q, dq - h * e, ddq)) / (2 * h)
        np.testing.assert_allclose(second[..., k], expected, atol=1e-7 * np.abs(second).max())


def test_symbols_have_the_laws(panda):
    sympy = pytest.importorskip("sympy")
    robot = laws_robot()
    s = kt.symbolic(robot)
    q, dq, ddq = random_state(robot.model, 3)
    given = zip((*s.q, *s.dq, *s.ddq), (*q, *dq, *ddq), strict=True)
    tau = s.tau.subs([(x, sympy.Float(float(v), 30)) for x, v in given])
    found = np.array([float(x) for x in tau.flat()])
    np.testing.assert_allclose(found, robot.inverse_dynamics(q, dq, ddq), rtol=1e-12)
    named = kt.symbolic(robot, parameters="friction")
    names = {x.name for x in named.tau.free_symbols}
    assert {"fs1", "vs1", "mu1p", "mu1n", "fs2p", "fs2n", "fa3", "fk3", "fo3", "mu3"} <= names
    friction = kt.symbolic(panda).friction
    assert friction[0].has(sympy.tanh)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", ["panda", "laws"])
def test_exported_c_gives_the_same_numbers(name, panda, tmp_path):
    robot = panda if name == "panda" else laws_robot()
    n = robot.model.n
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        (tmp_path / f"{quantity}.c").write_text(export(robot, quantity, "c", name="f"))
        library = tmp_path / f"{quantity}.so"
        command = ["gcc", "-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
        subprocess.run([*command, f"{quantity}.c", "-o", library, "-lm"], cwd=tmp_path, check=True)
        f = ctypes.CDLL(str(library)).f
        state = [np.ascontiguousarray(x) for x in random_state(robot.model, 7)]
        out = np.zeros(n)
        f(*(ctypes.c_void_p(x.ctypes.data) for x in (*state, out)))
        expected = getattr(robot, quantity)(*state)
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13 * size(expected))


def test_the_law_is_named_and_its_share_counted():
    robot = laws_robot()
    q, dq, ddq = random_state(robot.model, 5)
    found = robot.explain(q, dq, ddq)
    shares = sum(np.asarray(x, float) for x in found.torque.shares.values())
    np.testing.assert_allclose(shares, robot.inverse_dynamics(q, dq, ddq), rtol=1e-12)
    laws = [link.terms["tau"].parts[-1].equation for link in found.links]
    assert all(("exp(-(|dq|/v_s)^e)" in law) == (k != 2) for k, law in enumerate(laws))
    assert all(("c |load| sign(dq)" in law) == (k != 1) for k, law in enumerate(laws))
    assert "a/(1 + exp(-k (dq + o)))" in laws[2]
    for link, value in zip(found.links, found.tau, strict=True):
        parts = {part.name: part.value for part in link.terms["tau"].parts}
        assert sum(float(x[0]) for x in parts.values()) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", ["computed torque", "operational space", "impedance", "adaptive"])
def test_laws_of_control_cancel_every_friction(name):
    """With and without friction, the robot and its controller accelerate alike."""
    rubbing, smooth = laws_robot(), kt.robots.spatial_3r()
    q, dq, _ = random_state(smooth.model, 8)
    T = smooth.pose(q + 0.1)
    law = {
        "computed torque": controllers.ComputedTorque(q + 0.1, 20.0, 5.0),
        "operational space": controllers.OperationalSpace(T, 20.0, 5.0, rows=(3, 4, 5)),
        "impedance": controllers.Impedance(T, 50.0, 5.0, rows=(3, 4, 5)),
        "adaptive": controllers.Adaptive(q + 0.1, 3.0, 5.0, 0.1, guess=smooth),
    }[name]
    found = []
    for robot in (rubbing, smooth):
        step = controllers.step_by_step(law, robot)
        tau, _ = step(0.0, q, dq, step.start) if name == "adaptive" else step(0.0, q, dq)
        found.append(robot.forward_dynamics(q, dq, tau))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)


def test_the_energy_lost_in_friction_is_counted():
    robot = laws_robot()
    motion = robot.simulate(
        [0.3, -0.4, 0.5], [1.2, -1.0, 3.0], duration=0.05, dt=1e-3, tau=[5.0, -30.0, 8.0],
        limits="ignore",
    )  # fmt: skip
    found = energy_balance(motion, robot)
    assert found.losses[-1] > 0.1
    assert np.abs(found.defect).max() < 1e-5 * found.losses[-1]


def test_files_name_the_laws_that_they_cannot_have(panda):
    robot = laws_robot()
    with pytest.warns(kt.KinetreeWarning, match="Stribeck friction of joint 'joint1': static 0.9"):
        urdf = robot.to_urdf()
    assert "sigmoid friction of joint 'joint3': size 0.6, steepness 9, offset -0.04" in urdf
    assert "load friction of joint 'joint1': driving 0.2, braking 0.1" in urdf
    with pytest.warns(kt.KinetreeWarning, match="sigmoid friction of joint 'panda_joint7'"):
        panda.to_mjcf()


def test_free_coefficients_leave_the_other_laws():
    robot = laws_robot()
    free = robot.compile("inverse_dynamics", free=["friction"])
    own = np.array([(*x.friction.viscous, *x.friction.coulomb) for x in robot.model.joints], float)
    q, dq, ddq = random_state(robot.model, 6)
    np.testing.assert_allclose(
        free(q, dq, ddq, own), robot.inverse_dynamics(q, dq, ddq), rtol=1e-13
    )
    more = own + np.array([0.0, 0.0, 0.25, 0.25])
    moved = (free(q, dq, ddq, more) - free(q, dq, ddq, own)) * np.sign(dq)
    np.testing.assert_allclose(moved, 0.25, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_linear_in_the_parameters_beside_the_other_laws(seed):
    model = random_model(seed, 4, laws=True, springs=True)
    bare = [x.friction for x in model.joints]
    model = model.with_friction(
        {
            x.name: kt.Friction(
                f.viscous, f.coulomb, f.function, sigmoid=f.sigmoid,
                stribeck=f.stribeck and kt.Stribeck(f.stribeck.static, f.stribeck.speed),
            )
            for x, f in zip(model.joints, bare, strict=True)
        }
    )  # fmt: skip
    q, dq, ddq = random_state(model, seed)
    rng = np.random.default_rng(seed)
    pi = algorithms.parameters(model).astype(float)
    other = algorithms.with_parameters(model, pi * rng.uniform(0.9, 1.1, len(pi)))
    Y = algorithms.regressor(model, q, dq, ddq)
    change = algorithms.inverse_dynamics(other, q, dq, ddq)
    change = change - algorithms.inverse_dynamics(model, q, dq, ddq)
    expected = Y @ (algorithms.parameters(other).astype(float) - pi)
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-11)

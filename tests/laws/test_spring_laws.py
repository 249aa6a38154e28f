"""Springs in the dynamics: gradient of their energy, derivatives, regressor, kernels, motion."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.springs import without_springs
from kinetree.algorithms.quantities import DERIVED
from kinetree.model import ALL_TYPES, random_model

SEEDS = range(6)


def sprung(seed, n=5, **options):
    model = random_model(seed, n, types=(*ALL_TYPES, "revolute"), springs=True, **options)
    return model if model.springs else sprung(seed + 100, n, **options)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return algorithms.random(model, rng), *rng.normal(size=(2, model.n))


def close(found, expected, size=1.0, tolerance=1e-12):
    expected = np.asarray(expected, float)
    error = np.abs(np.asarray(found, float) - expected).max(initial=0)
    assert error <= tolerance * max(np.abs(expected).max(initial=0), size)


@pytest.mark.parametrize("seed", SEEDS)
def test_springs_are_the_only_difference_in_every_form_of_inverse_dynamics(seed):
    model = sprung(seed, mimic=True)
    q, dq, ddq = state(model)
    springs = algorithms.spring_forces(model, q)
    assert np.abs(springs).max() > 0
    for form in (None, *algorithms.FORMULATIONS):
        tau = algorithms.inverse_dynamics(model, q, dq, ddq, formulation=form)
        bare = algorithms.inverse_dynamics(without_springs(model), q, dq, ddq, formulation=form)
        close(tau - bare, springs, np.abs(tau).max())
    h = algorithms.bias_forces(model, q, dq)
    parts = algorithms.coriolis_forces(model, q, dq) + algorithms.gravity_forces(model, q)
    close(h, parts + springs + algorithms.friction_forces(model, dq), np.abs(h).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_undoes_inverse_dynamics_with_springs(seed):
    model = sprung(seed)
    q, dq, ddq = state(model)
    tau = algorithms.inverse_dynamics(model, q, dq, ddq)
    for name in ("", "_by_articulated_bodies", "_by_inverse_dynamics"):
        found = getattr(algorithms, f"forward_dynamics{name}")(model, q, dq, tau)
        close(found, ddq, tolerance=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_the_potential_energy_is_gravity_and_springs(seed):
    model = sprung(seed, mimic=True)
    with mpmath.workdps(50):
        exact = model.astype(mpmath.mpf)
        q = np.array([mpmath.mpf(x) for x in state(model)[0]])
        h = mpmath.mpf(10) ** -15
        for d, unit in enumerate(np.eye(model.n, dtype=int)):
            ahead, back = (algorithms.integrate(exact, q, unit * h * s) for s in (1, -1))
            rise = algorithms.potential_energy(exact, ahead)
            slope = (rise - algorithms.potential_energy(exact, back)) / (2 * h)
            springs = algorithms.spring_forces(exact, q)[d]
            own = algorithms.gravity_forces(exact, q)[d] + springs
            # rotations of the robot are rounded to double precision
            assert abs(slope - own) < 1e-13 * (1 + abs(own))
            rise = algorithms.spring_energy(exact, ahead) - algorithms.spring_energy(exact, back)
            assert abs(rise / (2 * h) - springs) < 1e-30 * (1 + abs(springs))


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_the_rate_of_energy(seed):
    model = sprung(seed, drives=False)
    q, dq, ddq = state(model)
    with mpmath.workdps(50):
        exact = model.astype(mpmath.mpf)
        q, dq, ddq = (np.array([mpmath.mpf(x) for x in v]) for v in (q, dq, ddq))
        h = mpmath.mpf(10) ** -12

        def energy(t):
            at, rate = algorithms.integrate(exact, q, dq * t + ddq * (t * t / 2)), dq + ddq * t
            kinetic = algorithms.kinetic_energy(exact, at, rate)
            return kinetic + algorithms.potential_energy(exact, at)

        power = algorithms.inverse_dynamics(exact, q, dq, ddq) @ dq
        assert abs((energy(h) - energy(-h)) / (2 * h) - power) < 1e-13 * (1 + abs(power))


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_fifty_digit_differences(seed):
    model = sprung(seed, mimic=True, drives=False)
    q, dq, ddq = state(model)
    by_q, by_dq = algorithms.inverse_dynamics_derivatives(model, q, dq, ddq)
    bare = algorithms.inverse_dynamics_derivatives(without_springs(model), q, dq, ddq)
    close(by_q - bare[0], algorithms.spring_stiffness(model), np.abs(by_q).max())
    assert np.array_equal(by_dq, bare[1])
    with mpmath.workdps(50):
        exact = model.astype(mpmath.mpf)
        q, dq, ddq = (np.array([mpmath.mpf(x) for x in v]) for v in (q, dq, ddq))
        h = mpmath.mpf(10) ** -15
        for d, unit in enumerate(np.eye(model.n, dtype=int)):
            ahead, back = (
                algorithms.inverse_dynamics(
                    exact, algorithms.integrate(exact, q, unit * h * s), dq, ddq
                )
                for s in (1, -1)
            )
            close(by_q[:, d], (ahead - back) / (2 * h), float(np.abs(by_q).max()))


def test_the_stiffness_matrix_is_symmetric_and_not_negative():
    for seed in SEEDS:
        K = algorithms.spring_stiffness(sprung(seed, mimic=True))
        assert np.array_equal(K, K.T)
        assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.abs(K).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_forces_and_energy_are_linear_in_stiffness_and_preload(seed):
    model = sprung(seed, mimic=True)
    joints = [kt.Friction(x.friction.viscous, x.friction.coulomb) for x in model.joints]
    names = [x.name for x in model.joints]
    model = model.with_friction(dict(zip(names, joints, strict=True)))
    q, dq, ddq = state(model)
    pi = algorithms.parameters(model)
    tau = algorithms.inverse_dynamics(model, q, dq, ddq)
    close(algorithms.regressor(model, q, dq, ddq) @ pi, tau, np.abs(tau).max(), 1e-10)
    listed = [str(x) for x in algorithms.parameter_list(model)]
    assert len(listed) == len(pi) and listed[-2:] == [
        f"stiffness[{model.springs[-1].name}]",
        f"preload[{model.springs[-1].name}]",
    ]
    y_T, y_U = algorithms.energy_regressor(model, q, dq)
    constant = sum(x.stiffness * x.rest**2 / 2 for x in model.springs)
    constant -= model.base[0] * (model.gravity[3:] @ model.base[1])
    U = algorithms.potential_energy(model, q)
    close(y_U @ pi + constant, U, abs(U), 1e-10)
    close(y_T @ pi, algorithms.kinetic_energy(model, q, dq), tolerance=1e-10)
    assert algorithms.momentum_regressor(model, q, dq).shape == (6, len(pi))
    again = algorithms.with_parameters(model, pi)
    close(algorithms.spring_forces(again, q), algorithms.spring_forces(model, q))


def test_base_parameters_give_the_joint_forces_with_springs():
    model = sprung(2, drives=False)
    base = algorithms.base_parameters(model)
    q, dq, ddq = state(model, 7)
    Y = algorithms.regressor(model, q, dq, ddq)[:, list(base.columns)]
    pi = np.asarray(algorithms.parameters(model), float)
    tau = algorithms.inverse_dynamics(model, q, dq, ddq)
    close(Y[:, list(base.kept)] @ base.values(pi), tau, np.abs(tau).max(), 1e-8)
    kept = {str(base.parameters[k]) for k in base.kept}
    assert {f"stiffness[{x.name}]" for x in model.springs} <= kept


def test_kernels_of_derived_quantities_are_the_textbook_functions():
    """The others are compared in tests/backends/test_robot_agreement.py."""
    robot = kt.Robot(sprung(1, mimic=True))
    model = robot.model
    q, dq, ddq = state(model)
    given = {"q": q, "dq": dq, "ddq": ddq, "tau": ddq}
    for name, quantity in DERIVED.items():
        arguments = [given[x] for x in quantity.inputs]
        found = getattr(robot, name)(*arguments)
        expected = getattr(algorithms, name)(model, *arguments)
        several = (
            zip(found, expected, strict=True) if len(quantity.results) > 1 else [(found, expected)]
        )
        for one, other in several:
            close(one, other, tolerance=1e-9)


def test_a_robot_without_springs_has_the_graph_that_it_had():
    """Springs of stiffness 0 and no springs at all need no operations."""
    robot = kt.robots.planar_2r()
    idle = robot.with_springs({"joint1": kt.Spring(0, 0.3)})
    for name in ("inverse_dynamics", "forward_dynamics", "potential_energy"):
        assert getattr(idle, name).operations == getattr(robot, name).operations
    assert not robot.spring_forces([0.1, 0.2]).any()


def pendulum(k, rest=0.0, gravity=(0, 0, 0)):
    """A flywheel of 0.5 kg m^2 on a torsion spring."""
    builder = (
        kt.Builder("wheel", gravity=gravity).link("base").link("wheel", 1, I_com=np.eye(3) / 2)
    )
    builder.joint("axle", "revolute", "base", "wheel", spring=kt.Spring(k, rest))
    return builder.build()


def test_a_spring_pendulum_swings_at_its_closed_form():
    k, rest, t = 8.0, 0.4, 1.7
    run = pendulum(k, rest).simulate([1.0], [0.2], duration=t, rtol=1e-11, atol=1e-12)
    w = np.sqrt(k / 0.5)
    expected = rest + 0.6 * np.cos(w * t) + 0.2 / w * np.sin(w * t)
    assert run.q[-1, 0] == pytest.approx(expected, abs=1e-9)


def test_the_frequencies_of_two_coupled_wheels():
    """Two wheels with a spring to the ground each and one between them: k and k + 2 c over I."""
    k, c, inertia = 8.0, 3.0, 0.5
    builder = kt.Builder("pair", gravity=(0, 0, 0)).link("base")
    for name in "ab":
        builder.link(name, 1, I_com=np.eye(3) * inertia)
        builder.joint(f"axle_{name}", "revolute", "base", name, spring=kt.Spring(k))
    builder.spring("tie", kt.Spring(c, joints={"axle_a": 1, "axle_b": -1}))
    A = builder.build().linearize([0, 0], [0, 0], [0, 0]).A
    found = np.unique(np.abs(np.linalg.eigvals(A).imag).round(12))
    assert found == pytest.approx(np.sqrt([k / inertia, (k + 2 * c) / inertia]), rel=1e-12)


def test_energy_is_kept_with_springs_as_without():
    model = sprung(3, drives=False)
    q, dq, _ = state(model)
    drifts = []
    for own in (model, without_springs(model)):
        run = kt.Robot(own).simulate(q, dq, duration=0.5, limits="ignore")
        balance = run.energy(kt.Robot(own))
        total = balance.total
        drifts.append(np.abs(total - total[0]).max() / np.abs(balance.kinetic).max())
        assert np.abs(balance.defect).max() <= 1e-6 * np.abs(balance.kinetic).max()
    assert max(drifts) < 1e-6


def test_time_scaling_counts_springs_as_forces_that_speed_does_not_change():
    robot = pendulum(8.0)
    motion = kt.motion.quintic([0.0], [1.0], 1.0, 0.002, robot=robot)
    report = robot.check(motion, effort=9.0)
    faster = kt.motion.scale_time(motion, report.scaling.fastest, robot)
    assert np.abs(faster.tau).max() == pytest.approx(9.0, rel=1e-4)  # peaks lie between samples
    held = robot.check(motion, effort=7.0)
    (load,) = held.scaling.overloads
    assert (load.torque, load.springs) == (pytest.approx(8.0, rel=1e-6), True)
    assert "gravity and springs need 8 N m on 'axle'" in str(held)


def test_the_fastest_motion_has_the_force_of_springs_at_its_limit():
    robot = pendulum(8.0)
    motion = kt.motion.quintic([0.0], [1.0], 1.0, 0.002, robot=robot)
    found = kt.motion.time_optimal(robot, motion, effort=9.0, velocity=20.0).trajectory
    tau = robot.inverse_dynamics(found.q, found.dq, found.ddq)
    assert 8.5 < np.abs(tau).max() < 9.0 * (1 + 1e-3)
    with pytest.raises(kt.KinetreeError, match="gravity and springs need 8"):
        kt.motion.time_optimal(robot, motion, effort=7.0, velocity=20.0)


def test_gravity_compensation_holds_a_robot_on_springs():
    robot = kt.robots.planar_2r().with_springs({"joint1": kt.Spring(300, 0.8)})
    run = robot.simulate([0.3, 0.2], controller=kt.controllers.GravityCompensation(), duration=0.5)
    assert run.q[-1] == pytest.approx([0.3, 0.2], abs=1e-9)


def test_the_closed_form_has_the_same_numbers():
    robot = kt.robots.planar_2r().with_springs(
        {"joint1": kt.Spring(2, 0.1), "tie": kt.Spring(3, 0.25, {"joint1": 1, "joint2": -2})}
    )
    closed = kt.symbolic(robot, "springs")
    q, dq, ddq = state(robot.model)
    assert {str(x) for x in closed.values} == {"k1", "rest1", "k2", "rest2"}
    assert closed.evaluate("tau", q, dq, ddq) == pytest.approx(robot.inverse_dynamics(q, dq, ddq))
    assert closed.evaluate("springs", q) == pytest.approx(robot.spring_forces(q))
    assert closed.evaluate("U", q) == pytest.approx(robot.potential_energy(q))
    gradient = [closed.U.expr.diff(x) for x in closed.q]
    for row, (g, k) in enumerate(zip(closed.g, closed.springs, strict=True)):
        assert (gradient[row] - g - k).simplify() == 0

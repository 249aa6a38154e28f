"""Laws of simulated motions of random mechanisms."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import (
    SCREWS,
    SEEDS,
    Mechanism,
    Units,
    build,
    close,
    differences,
    mechanisms,
    number,
    slides,
    state,
    wrenches,
)

import kinetree as kt
from kinetree.scalars import sin, where
from spacing import by

SMOOTH = ("armature", "rotor", "spring", "offset", "mimic")
METHODS = ("euler", "semi_implicit_euler", "implicit", "implicitfast", "rk4", "DOP853")
FREE = {"limits": "ignore"}
EXACT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, **FREE}

pytestmark = pytest.mark.filterwarnings("ignore:the motion of")  # coarse steps, on purpose


def freely(method, spacing, **tolerances):
    """Options of a method, without limits."""
    return {**by(method, spacing, **tolerances), **FREE}


def calm(robot, q, dq, tau=0.0):
    """Whether nothing fast happens at the start, so that short steps resolve the motion."""
    found = kt.dynamics.forward_dynamics(robot.model, q, dq, tau + np.zeros(robot.n))
    return np.abs(found).max() < 200


@st.composite
def starts(draw, most=3, types=(*SCREWS, "spherical"), drives=SMOOTH, **options):
    """A robot with a state and constant joint forces."""
    mechanism = draw(mechanisms(most, types=types, drives=drives, **options))
    robot = build(mechanism)
    q, dq, tau = state(robot, draw(SEEDS))
    assume(calm(robot, q, dq, tau))
    return robot, q, dq, tau


def waves(n, seed, strength=1.0):
    """A law of control: a wave in every joint, and damping."""
    a, w, p = np.random.default_rng(seed).uniform((-1, 1, 0), (1, 6, 6), (n, 3)).T
    return lambda t, q, dq: np.array(
        [strength * a[i] * sin(w[i] * t + p[i]) - 0.1 * dq[i] for i in range(n)]
    )


def apart(robot, q0, q1):
    """Largest entry of the tangent vector between two positions."""
    return np.abs(kt.dynamics.difference(robot.model, q0, q1)).max()


@settings(max_examples=20)
@given(starts())
def test_the_energy_changes_by_the_work_of_the_forces(case):
    robot, q, dq, tau = case
    motion = robot.simulate(q, dq, duration=0.2, record=0.01, tau=tau, **EXACT)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    power = (motion.tau * motion.dq).sum(-1)
    work = (power[0:-2:2] + 4 * power[1:-1:2] + power[2::2]).cumsum() * 0.01 / 3
    close(energy[2::2] - energy[0], work, 1e-3, 1e-3 * np.abs(energy).max())
    still = robot.simulate(q, dq, duration=0.2, record=0.01, **EXACT)
    energy = robot.kinetic_energy(still.q, still.dq) + robot.potential_energy(still.q)
    close(energy - energy[0], 0 * energy, 1e-9, 1 + np.abs(energy).max())


@settings(max_examples=15)
@given(mechanisms(3, types=(*SCREWS, "spherical"), drives=("friction",)), SEEDS)
def test_friction_takes_what_the_energy_loses(mechanism, seed):
    robot = build(mechanism)
    q, dq, tau = state(robot, seed)
    assume(calm(robot, q, dq, tau))
    motion = robot.simulate(q, dq, duration=0.2, tau=tau, **freely("DOP853", 0.002, rtol=1e-10))
    balance = kt.motion.energy_balance(motion)
    size = 1 + np.abs(balance.kinetic + balance.potential).max() + np.abs(balance.work).max()
    close(balance.defect, 0 * balance.defect, 1e-4, size)
    assert (np.diff(balance.losses) >= -1e-9 * size).all()
    smooth = robot.with_friction({x: kt.friction.Friction() for x in robot.joint_names}).model
    for k in range(0, len(motion.t), 20):
        moving = np.abs(motion.dq[k]) > 1e-6
        needed = kt.dynamics.inverse_dynamics(smooth, motion.q[k], motion.dq[k], motion.ddq[k])
        rubbing = kt.dynamics.friction_forces(robot.model, motion.dq[k])
        found = motion.tau[k] - needed
        close(found[moving], rubbing[moving], 1e-6, 1 + np.abs(motion.tau[k]).max())


@settings(max_examples=15)
@given(st.data())
def test_a_thrown_robot_keeps_its_momentum(data):
    mechanism = data.draw(mechanisms(3, types=(*SCREWS, "spherical"), drives=("spring",)))
    robot = build(free_base(mechanism))
    q, dq, _ = state(robot, data.draw(SEEDS))
    assume(calm(robot, q, dq))
    motion = robot.simulate(q, dq, duration=0.3, **freely("DOP853", 0.1, rtol=1e-11, atol=1e-12))
    momentum = robot.momentum(motion.q, motion.dq)
    weight = robot.model.m.sum() * np.array(mechanism.gravity)
    size = 1 + np.abs(momentum).max()
    t = motion.t[:, None]
    close(momentum[:, 3:], momentum[0, 3:] + weight * t, 1e-8, size)
    com = robot.center_of_mass(motion.q)
    # the moment of the weight, integrated: the centre of mass follows a parabola
    m, g = robot.model.m.sum(), np.array(mechanism.gravity)
    parabola = com[0] + momentum[0, 3:] / m * t + g * t**2 / 2
    close(com, parabola, 1e-8, 1 + np.abs(com).max())
    swept = com[0] * t + momentum[0, 3:] / m * t**2 / 2 + g * t**3 / 6
    close(momentum[:, :3], momentum[0, :3] + np.cross(swept, weight), 1e-8, size)


def free_base(mechanism):
    """The mechanism with its first link free to move."""
    first, *others = mechanism.parts
    others = [replace(x, parent=max(x.parent, 0)) for x in others]
    return Mechanism((replace(first, type="free", drive={}), *others), mechanism.gravity)


@settings(max_examples=15)
@given(starts(), SEEDS, st.integers(1, 19), st.sampled_from(["DOP853", "rk4", "implicit"]))
def test_splitting_a_run_changes_nothing(case, seed, cut, method):
    robot, q, dq, _ = case
    tau, shift = waves(robot.n, seed), cut / 256
    options = freely(method, 1 / 256, rtol=1e-11, atol=1e-13)
    whole = robot.simulate(q, dq, duration=20 / 256, tau=tau, **options)
    rest = robot.simulate(
        whole.q[cut],
        whole.dq[cut],
        duration=(20 - cut) / 256,
        tau=lambda t, q, dq: tau(t + shift, q, dq),
        **options,
    )
    size = 10 * (1 + np.abs(whole.dq).max())
    close(rest.q, whole.q[cut:], 1e-8, size)
    close(rest.dq, whole.dq[cut:], 1e-8, size * 10)


@settings(max_examples=15)
@given(starts(), SEEDS, st.sampled_from(METHODS))
def test_rollouts_of_a_batch_are_single_runs(case, seed, method):
    robot, q, dq, _ = case
    law = waves(robot.n, seed)
    starts = dq * np.array([[1.0], [0.5], [-1.0]])
    options = {"duration": 0.02, "tau": law, **freely(method, 0.002)}
    batch = robot.simulate(q, starts, **options)
    for k in range(3):
        single = robot.simulate(q, starts[k], **options)
        for part in ("q", "dq", "ddq", "tau"):
            np.testing.assert_array_equal(getattr(batch, part)[:, k], getattr(single, part))


ORDERS = {"euler": 1, "semi_implicit_euler": 1, "implicit": 1, "implicitfast": 1, "rk4": 4}


@pytest.mark.parametrize("method", ORDERS)
@settings(max_examples=8)
@given(starts(3, types=("revolute", "spherical", "planar"), drives=("armature", "rotor")))
def test_errors_fall_with_the_order_of_the_method(method, case):
    robot, q, dq, tau = case
    dq = dq / (1 + np.abs(dq).max())
    options = {"duration": 0.064, "tau": tau, **FREE}
    exact = robot.simulate(q, dq, **options, method="DOP853", rtol=1e-13, atol=1e-14).q[-1]
    steps = np.array([4, 8, 16]) if ORDERS[method] == 4 else np.array([32, 64, 128])
    errors = [
        apart(robot, exact, robot.simulate(q, dq, dt=0.064 / k, method=method, **options).q[-1])
        for k in steps
    ]
    if errors[-1] < 1e-11:  # rounding
        return
    order = np.log2(errors[-2] / errors[-1])
    assert order > ORDERS[method] - 0.5, (order, errors)
    if ORDERS[method] == 1:  # no better by chance, unless nothing is left of the first order
        assert errors[-1] < 0.1


@settings(max_examples=12)
@given(mechanisms(3, types=SCREWS, drives=SMOOTH, floating=False), SEEDS, SEEDS)
def test_a_motion_is_the_same_in_other_units(mechanism, seed, waves_seed):
    units = Units(1e3, 1e3, 1e3)
    plain, scaled = build(mechanism), build(mechanism, units)
    q, dq, tau = state(plain, seed)
    assume(calm(plain, q, dq, tau))
    way, force = units.way(slides(mechanism)), units.force(slides(mechanism))
    for method in ("rk4", "implicit", "semi_implicit_euler"):
        a = plain.simulate(q, dq, duration=0.02, dt=0.001, tau=tau, method=method, **FREE)
        b = scaled.simulate(
            q * way, dq * way / 1e3, duration=20, dt=1, tau=tau * force, method=method, **FREE
        )
        close(b.q / way, a.q, 1e-9, 1.0)
        close(b.dq / way * 1e3, a.dq, 1e-8, 1.0)


@settings(max_examples=15)
@given(starts(drives=(*SMOOTH, "friction")), SEEDS)
def test_recorded_forces_and_accelerations_satisfy_the_equation_of_motion(case, seed):
    robot, q, dq, _ = case
    robot = robot.with_friction({x: kt.friction.Friction() for x in robot.joint_names})
    law, F = waves(robot.n, seed), wrenches(robot, seed)
    motion = robot.simulate(q, dq, duration=0.05, tau=law, F_ext=F, **freely("DOP853", 0.01))
    for k, t in enumerate(motion.t):
        tau = np.array(law(t, motion.q[k], motion.dq[k]), float)
        close(motion.tau[k], tau, 1e-10, 1.0)
        found = kt.dynamics.inverse_dynamics(
            robot.model, motion.q[k], motion.dq[k], motion.ddq[k], F
        )
        close(found, tau, 1e-8, 100.0)


@settings(max_examples=10)
@given(starts(), SEEDS, st.sampled_from([2, 5]))
def test_finer_output_and_events_change_no_sample(case, seed, finer):
    robot, q, dq, _ = case
    tau = waves(robot.n, seed)
    options = {"duration": 1 / 16, "tau": tau, "method": "DOP853", **FREE}
    coarse = robot.simulate(q, dq, record=1 / 128, **options)
    dq_0 = float(coarse.dq[4, 0])
    watch = kt.simulate.event(lambda t, q, dq: dq[0] - dq_0, name="rate")
    fine = robot.simulate(q, dq, record=1 / 128 / finer, events=[watch], **options)
    for part in ("t", "q", "dq", "tau"):
        close(getattr(fine, part)[::finer], getattr(coarse, part), 1e-9, 1.0)
    before, after = coarse.dq[3, 0] - dq_0, coarse.dq[5, 0] - dq_0
    if before * after < 0 and abs(before - after) > 1e-3:
        assert np.abs(np.array([x.t for x in fine.meta["events"]]) - 4 / 128).min() < 1e-5


@settings(max_examples=10)
@given(starts(drives=("armature", "rotor", "spring")), SEEDS)
def test_sensitivities_are_differences_of_motions(case, seed):
    robot, q, dq, tau = case
    options = {"duration": 0.03, "dt": 0.003, "method": "rk4", **FREE}
    found = kt.simulate.sensitivities(
        robot, q, dq, tau=tau, wrt=("q0", "dq0", "tau", "mass"), **options
    )
    rng, m = np.random.default_rng(seed), robot.model.m
    for name in ("q0", "dq0", "tau", "mass"):
        v = rng.normal(size=len(m) if name == "mass" else robot.n)

        def end(h, name=name, v=v):
            start = kt.dynamics.integrate(robot.model, q, h * v) if name == "q0" else q
            rates = dq + h * v if name == "dq0" else dq
            forces = tau + h * v if name == "tau" else tau
            mass = {"mass": m * (1 + h * v)} if name == "mass" else None
            run = robot.simulate(start, rates, tau=forces, parameters=mass, **options)
            moved = kt.dynamics.difference(robot.model, found.motion.q[-1], run.q[-1])
            return np.concatenate([moved, run.dq[-1]])

        slope = found.by(name)[-1] @ (v * m if name == "mass" else v)
        close(slope, differences(end, 2e-3), 1e-6, 1e-2)
    cost, slopes = found.cost(final=lambda q, dq: q @ q + dq[0])  # backward, by coordinates
    close(cost, found.motion.q[-1] @ found.motion.q[-1] + found.motion.dq[-1, 0], 1e-10)
    if len(q) == robot.n:
        of_end = np.array([*2 * found.motion.q[-1], 1, *np.zeros(robot.n - 1)])
        for name, slope in slopes.items():
            close(slope, of_end @ found.by(name)[-1], 1e-8, 1e-2)


@settings(max_examples=10)
@given(starts(), st.sampled_from(sorted(ORDERS)))
def test_steps_by_hand_are_the_simulation(case, method):
    robot, q, dq, tau = case
    motion = robot.simulate(q, dq, duration=0.005, dt=0.001, tau=tau, method=method, **FREE)
    for k in range(5):
        q, dq = robot.step(q, dq, tau, 0.001, method=method)
        close(q, motion.q[k + 1], 1e-12, 1.0)
        close(dq, motion.dq[k + 1], 1e-12, 10.0)


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
@settings(max_examples=20)
@given(mechanisms(3, types=SCREWS, drives=SMOOTH, floating=False), SEEDS, st.integers(1, 1000))
def test_implicit_steps_have_the_friction_and_springs_of_their_end(method, mechanism, seed, b):
    robot, h = build(mechanism), 0.01
    robot = robot.with_friction({x: kt.friction.Friction(b / 10) for x in robot.joint_names})
    q, dq, tau = state(robot, seed)
    _, after = robot.step(q, dq, tau, h, method=method)
    stiff = robot.model.springs
    smooth = robot.with_friction({x: kt.friction.Friction() for x in robot.joint_names})
    smooth = smooth.with_springs({x.name: None for x in stiff}) if stiff else smooth
    needed = kt.dynamics.inverse_dynamics(smooth.model, q, dq, (after - dq) / h)
    at = q + h * after if method == "implicit" else q
    needed = needed + kt.dynamics.spring_forces(robot.model, at)
    needed = needed + kt.dynamics.friction_forces(robot.model, after)
    close(needed, tau, 1e-8, 1 + np.abs(needed).max() + b * np.abs(dq).max())


# ------------------------------------------------------------- events, switches, dry friction


def slider(mass, **options):
    """One mass on a level rail."""
    builder = kt.Builder("rail").link("base").link("block", mass)
    return builder.joint("rail", "prismatic", "base", "block", axis=(1, 0, 0), **options).build()


@settings(max_examples=10)
@given(number(0.5, 5), number(1, 80), number(-0.9, 0.9), st.sampled_from([-1, 0, 1]))
def test_every_crossing_of_an_oscillation_is_an_event(mass, stiffness, level, way):
    """q = cos(w t): each time of a crossing, in its direction; the terminal one ends the run."""
    robot, w = slider(mass, spring=kt.joints.Spring(stiffness)), np.sqrt(stiffness / mass)
    phase = np.arccos(level) + 2 * np.pi * np.arange(4)
    falling, rising = phase / w, (2 * np.pi * np.arange(1, 5) - np.arccos(level)) / w
    expected = np.sort([*(falling if way < 1 else []), *(rising if way > -1 else [])])
    options = {"duration": 8 * np.pi / w, **freely("DOP853", np.pi / w, rtol=1e-10)}

    def ends(terminal):
        watch = kt.simulate.event(lambda t, q, dq: q[0] - level, direction=way, terminal=terminal)
        return robot.simulate([1.0], events=[watch], **options)

    close([x.t for x in ends(False).meta["events"]], expected, 1e-6)
    close(ends(True).t[-1], expected[0], 1e-6)


@settings(max_examples=10)
@given(number(0.2, 5), number(0.1, 9), st.integers(1, 50), number(-9, 9))
def test_a_short_pulse_after_a_long_rest_is_felt(mass, begin, width, force):
    """The rate afterwards is its impulse over the mass, whatever the steps are."""
    end = begin + width / 1000

    def pulse(t):
        return np.array([force * where(t - begin, where(end - t, 1, 0), 0)])

    motion = slider(mass).simulate([0.0], duration=10, tau=pulse, **freely("DOP853", 0.5))
    close(motion.dq[-1, 0], force * (end - begin) / mass, 1e-6, 1e-6)


@st.composite
def rails(draw):
    """One to three sliders, each on the one before, with dry friction; gravity across them."""
    return draw(mechanisms(3, types=("prismatic",), drives=("friction",), floating=False))


@settings(max_examples=15)
@given(mechanisms(3, types=SCREWS, drives=(), floating=False), SEEDS, st.sampled_from(METHODS))
def test_a_push_below_coulomb_friction_moves_nothing(mechanism, seed, method):
    robot = build(Mechanism(mechanism.parts, (0, 0, 0)))
    level = 2.0
    robot = robot.with_friction({x: kt.friction.Friction(0.1, level) for x in robot.joint_names})
    q, push, phase = state(robot, seed)
    push = 0.99 * level * push / np.abs(push).max()

    def law(t, q, dq):
        return np.array([p * sin(9 * t + x) for p, x in zip(push, phase, strict=True)])

    motion = robot.simulate(q, duration=0.1, tau=law, **freely(method, 0.01))
    assert (motion.q == q).all() and not motion.dq.any() and not motion.ddq.any()


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit"])
@settings(max_examples=30)
@given(mechanisms(3, types=SCREWS, drives=("armature",), floating=False), SEEDS)
def test_joints_at_rest_are_held_or_slide_against_their_friction(method, mechanism, seed):
    """Coulomb: |friction| is at most its level, which it has where a joint begins to move."""
    smooth, level, h = build(mechanism), 2.0, 1e-3
    robot = smooth.with_friction({x: kt.friction.Friction(0, level) for x in smooth.joint_names})
    q, rest = state(smooth, seed)[0], np.zeros(robot.n)
    push = np.random.default_rng(seed).normal(size=(50, robot.n)) * 1.2 * level
    tau = kt.dynamics.gravity_forces(smooth.model, q) + push
    _, after = robot.step(q, rest, tau, h, method=method)
    friction = tau - smooth.inverse_dynamics(q, rest, after / h)
    moves = np.abs(after) > 1e-12
    close(friction[moves], level * np.sign(after[moves]), 1e-6, level)
    assert (np.abs(friction) <= level * (1 + 1e-6)).all()


@settings(max_examples=10)
@given(st.integers(10, 500), st.integers(10, 500), st.integers(-300, 300).filter(bool))
def test_a_sliding_mass_stops_where_it_must_and_stays(mass, level, rate):
    """v^2 = 2 a s."""
    m, f, v = mass / 100, level / 100, rate / 100
    stop = abs(v) * m / f
    motion = slider(m, friction=kt.friction.Friction(0, f)).simulate(
        [0], [v], duration=2 * stop, **freely("DOP853", stop / 10)
    )
    t = np.minimum(motion.t, stop)
    close(motion.q[:, 0], v * t - np.sign(v) * f / m * t**2 / 2, 1e-9)
    assert not motion.dq[motion.t > stop * 1.001].any()


@settings(max_examples=8)
@given(rails(), SEEDS)
def test_fixed_steps_with_friction_approach_the_adaptive_method(mechanism, seed):
    robot = build(Mechanism(mechanism.parts, (0, 0, -1.0)))
    q, dq, tau = state(robot, seed)
    assume(calm(robot, q, 0 * dq, tau))
    options = {"duration": 0.2, "tau": waves(robot.n, seed, 3.0), **FREE}
    exact = robot.simulate(
        q, dq / 5, record=0.02, method="DOP853", rtol=1e-10, atol=1e-12, **options
    )
    for method in ("rk4", "semi_implicit_euler"):
        found = robot.simulate(q, dq / 5, dt=2e-4, method=method, every=100, **options)
        close(found.q, exact.q, 2e-2, 0.05)
        assert np.abs(found.q - exact.q).max() < 200 * 2e-4 * 0.2 * (1 + np.abs(exact.ddq).max())

"""The momentum observer: external forces behind an exact low-pass, for any robot and step."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from closed_loops import four_bar
from kinetree import algorithms
from kinetree.algorithms.joints.springs import without_passive_forces
from kinetree.controllers import MomentumObserver
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description import Friction
from kinetree.model import ALL_TYPES, random_model
from kinetree.robot import Robot

GAIN = 20.0
STEP = 0.4  # s: when the external force begins


def pushed_motion(robot, F_ext, dt, duration=0.8, tau=None, seed=0):
    """A motion under constant forces of drives, and under external wrenches from STEP on."""
    model = robot.model
    rng = np.random.default_rng(seed)
    q0, dq0 = algorithms.random(model, rng), 0.3 * rng.normal(size=model.n)
    tau = robot.gravity_forces(q0) if tau is None else tau
    parts = []
    for duration_of, wrenches in ((STEP, 0 * F_ext), (duration - STEP, F_ext)):
        motion = robot.simulate(
            q0, dq0, duration=duration_of, dt=dt, tau=tau, F_ext=wrenches, rtol=1e-11, atol=1e-12,
            limits="ignore",
        )  # fmt: skip
        q0, dq0 = motion.q[-1], motion.dq[-1]
        parts.append(motion)
    q, dq = (np.concatenate([getattr(parts[0], x)[:-1], getattr(parts[1], x)]) for x in ("q", "dq"))
    t = np.arange(len(q)) * dt
    return t, q, dq, np.broadcast_to(tau, dq.shape)


def external_forces(robot, t, q, F_ext):
    """J^T F_ext of the motion: what inverse dynamics at rest is less for it."""
    smooth = Robot(without_passive_forces(robot.model))
    rest = np.zeros((len(q), robot.n))
    less = smooth.inverse_dynamics(q, rest, rest) - smooth.inverse_dynamics(q, rest, rest, F_ext)
    return np.where((t >= STEP - 1e-12)[:, None], less, 0.0)


def exact_low_pass(t, x, gain):
    """r of dr/dt = K (x - r) with x zero up to STEP, then linear between samples: closed form."""
    r, dt = np.zeros(x.shape), t[1] - t[0]
    a = np.exp(-gain * dt)
    for k in range(round(STEP / dt), len(t) - 1):
        slope = (x[k + 1] - x[k]) / dt
        r[k + 1] = a * r[k] + (1 - a) * (x[k] - slope / gain) + slope * dt
    return r


@pytest.mark.parametrize("seed", range(4))
def test_the_output_is_the_external_force_behind_a_first_order_low_pass(seed):
    """Trees of all joint types with springs, rotors and smooth friction, some at 80 rad/s.

    The error is that of the trapezoidal rule: a quarter at half the step, so that a third of the
    difference of two outputs removes it.
    """
    model = random_model(seed, 4, types=ALL_TYPES, springs=True)
    joints = [x.name for x in model.joints]
    robot = Robot(model).with_friction(dict.fromkeys(joints, Friction(viscous=0.4)))
    F_ext = np.random.default_rng(seed).normal(size=(len(model.links), 6))
    off = []
    for dt, every in ((1e-3, 1), (5e-4, 2)):
        t, q, dq, tau = pushed_motion(robot, F_ext, dt, seed=seed)
        true = external_forces(robot, t, q, F_ext)
        r = MomentumObserver(robot, GAIN).run(t, q, dq, tau)
        assert np.abs(true).max() > 0.5
        off.append(((r - exact_low_pass(t, true, GAIN)) / np.abs(true).max())[::every])
    assert np.abs(off[0]).max() < 0.02
    assert np.abs(off[1] + (off[1] - off[0]) / 3).max() < 1e-5


def test_a_floating_robot_has_the_wrench_on_its_base():
    robot = kt.robots.quadruped()
    F_ext = np.zeros((len(robot.model.links), 6))
    F_ext[0] = 0.3, -0.2, 0.5, 4, -3, 6
    t, q, dq, tau = pushed_motion(robot, F_ext, 1e-3, tau=np.zeros(robot.n))
    r = MomentumObserver(robot, 50.0).run(t, q, dq, tau)
    assert r[-1, :6] == pytest.approx(F_ext[0], abs=0.02)
    assert np.abs(r[-1, 6:]).max() < 0.02


def motion_of(robot, samples=700, seed=0):
    """Samples of a smooth motion with forces of another, so that all outputs are large."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.5e-3, 1.5e-3, samples))
    phase, size = rng.uniform(0, 6, robot.n), rng.uniform(0.2, 1, robot.n)
    q = size * np.sin(3 * t[:, None] + phase)
    dq = 3 * size * np.cos(3 * t[:, None] + phase)
    return t, q, dq, rng.normal(size=q.shape)


def test_steps_give_what_a_run_gives():
    robot = kt.robots.panda(friction=True)
    t, q, dq, tau = motion_of(robot)
    observer = MomentumObserver(robot, np.linspace(5, 80, 7), offset=0.3)
    whole = observer.run(t, q, dq, tau)
    state = observer.start(q[0], dq[0], tau[0])
    found = [state.external]
    for k in range(1, len(t)):
        state = observer.step(state, q[k], dq[k], tau[k], t[k] - t[k - 1])
        found.append(state.external)
    assert np.abs(np.array(found) - whole).max() < 1e-12 * np.abs(whole).max()


def test_batches_and_longer_recordings_have_the_same_bits():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot)
    observer = MomentumObserver(robot)
    whole = observer.run(t, q, dq, tau)
    turns = np.random.default_rng(1).normal(size=(5, 1, 6))
    batch = observer.run(t, q + turns, dq, tau)
    assert batch.shape == (5, 700, 6)
    for k in range(5):
        assert np.array_equal(batch[k], observer.run(t, q + turns[k], dq, tau))
    for part in (2, 100, 257, 300):
        assert np.array_equal(observer.run(t[:part], q[:part], dq[:part], tau[:part]), whole[:part])
    rest = observer.start(q, dq, tau)
    state = observer.step(rest, q + 0.01, dq, tau, 1e-3)
    for k in (0, 7, 699):
        one = observer.start(q[k], dq[k], tau[k])
        one = observer.step(one, q[k] + 0.01, dq[k], tau[k], 1e-3)
        assert np.array_equal(one.external, state.external[k])


def test_any_gain_and_step_is_stable():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot)
    for gain in (1e-3, 1e3, 1e7):
        r = MomentumObserver(robot, gain).run(t, q, dq, tau)
        assert np.isfinite(r).all() and np.abs(r).max() < 1e3
    p, f = robot.compile("momentum_balance")(q, dq, tau)
    mean = np.diff(p, axis=0) / np.diff(t)[:, None] - (f[1:] + f[:-1]) / 2
    assert r[1:] == pytest.approx(mean, rel=1e-9, abs=1e-9)  # nothing is left of the low-pass


def test_an_offset_of_sensors_is_taken_off():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot)
    wrong = np.linspace(-2, 3, 6)
    true = MomentumObserver(robot).run(t, q, dq, tau)
    found = MomentumObserver(robot, offset=wrong).run(t, q, dq, tau + wrong)
    assert found == pytest.approx(true, abs=1e-11)
    assert MomentumObserver(robot).run(t, q, dq, tau + wrong)[-1] - true[-1] == pytest.approx(
        -wrong * (1 - np.exp(-30 * (t[-1] - t[0]))), abs=1e-9
    )


def test_names_in_any_order_give_the_same():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot, 40)
    names = list(robot.model.dof_names)
    other = names[::-1]

    def named(x):
        return {name: x[..., names.index(name)] for name in other}

    observer = MomentumObserver(robot, dict(zip(other, range(6, 0, -1), strict=True)))
    plain = MomentumObserver(robot, np.arange(1, 7)).run(t, q, dq, tau)
    found = observer.run(t, named(q), named(dq), named(tau))
    assert all(np.array_equal(found[name], plain[:, k]) for k, name in enumerate(names))
    state = observer.start(named(q[0]), named(dq[0]), named(tau[0]))
    state = observer.step(state, named(q[1]), named(dq[1]), named(tau[1]), t[1] - t[0])
    assert [state.external[x] for x in names] == pytest.approx(plain[1], rel=1e-12)


def test_the_observer_starts_anew_after_a_gap():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot)
    observer = MomentumObserver(robot)
    later = t + np.where(np.arange(700) >= 300, 2.0, 0.0)
    r = observer.run(later, q, dq, tau)
    assert np.array_equal(r[:300], observer.run(t, q, dq, tau)[:300]) and not r[300].any()
    alone = observer.run(t[300:], q[300:], dq[300:], tau[300:])
    assert r[300:] == pytest.approx(alone, abs=1e-9)


def test_wrong_input_is_named():
    robot = kt.robots.ur5e()
    t, q, dq, tau = motion_of(robot, 40)
    with pytest.raises(ModelError, match=r"MomentumObserver does not honour constraints"):
        MomentumObserver(four_bar())
    for gain, problem, text in (
        (0, InputError, r"gain is \[0.0, .*; expected numbers above 0, 1/s"),
        ([1, 2], ShapeError, r"gain has shape \(2,\).*shoulder_pan"),
        ("fast", InputError, "gain is 'fast'; expected a number, 1/s"),
        (np.inf, InputError, "expected finite numbers"),
    ):
        with pytest.raises(problem, match=text):
            MomentumObserver(robot, gain)
    observer = MomentumObserver(robot)
    state = observer.start(q[0], dq[0], tau[0])
    with pytest.raises(InputError, match=r"dt is 0; expected the time since the last sample"):
        observer.step(state, q[1], dq[1], tau[1], 0)
    with pytest.raises(ShapeError, match=r"tau has shape \(39, 6\); expected \(..., 40, joints\)"):
        observer.run(t, q, dq, tau[1:])
    broken = tau.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match=r"tau is not finite at t = .* \(row 7\)"):
        observer.run(t, q, dq, broken)
    with pytest.raises(InputError, match=r"\(row 3\); expected finite times that increase"):
        observer.run(np.where(np.arange(40) == 3, 0, t), q, dq, tau)
    with pytest.raises(InputError, match="the motion has no joint forces"):
        observer.output(SimpleNamespace(t=t, q=q, dq=dq, tau=None))
    with pytest.raises(ShapeError, match="expected a single motion"):
        observer.output(SimpleNamespace(t=t, q=q[None], dq=dq[None], tau=tau[None]))

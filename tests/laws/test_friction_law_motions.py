"""Friction laws in simulations: stick-slip, loads on an incline, fixed and adaptive steps alike."""

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import random_model

G = 9.81
ALL = [
    {"method": "rk4", "dt": 1e-3},
    {"method": "semi_implicit_euler", "dt": 1e-3},
    {"method": "implicit", "dt": 1e-3},
    {"rtol": 1e-10, "atol": 1e-12},
]
NAMES = ["rk4", "semi_implicit", "implicit", "dop853"]


def block(friction, angle=0.0, mass=2.0):
    """A block on a rail that rises at an angle."""
    robot = (
        kt.Builder("block")
        .link("base")
        .link("body", m=mass, I_com=np.eye(3) * 0.01)
        .joint("rail", "prismatic", "base", "body", axis=(1, 0, 0), friction=friction)
        .build()
    )
    return robot.with_gravity([-G * math.sin(angle), 0, -G * math.cos(angle)])


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_load_friction_holds_a_block_up_to_the_right_angle(options):
    """Without a drive the load is the weight along the rail, W: it is held if W (1 - c) <= F."""
    mass, F, c = 2.0, 6.0, 0.3
    friction = kt.Friction(coulomb=1.0, stribeck=kt.Stribeck(F, 0.2), load=(0.5, c))
    steepest = math.asin(F / (mass * G * (1 - c)))
    held = block(friction, steepest - 1e-6).simulate([0.0], duration=0.2, **options)
    slips = block(friction, steepest + 1e-6).simulate([0.0], duration=0.2, **options)
    assert (held.q == 0).all() and (held.dq == 0).all()
    assert slips.dq[-1, 0] < 0


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_load_friction_raises_and_lowers_a_weight_with_its_own_efficiencies(options):
    """Up: tau = (1 + driving) load. Down: tau = (1 - braking) load. In between: at rest."""
    driving, braking, mass = 0.25, 0.4, 2.0
    W = mass * G * 0.5
    robot = block(kt.Friction(load=(driving, braking)), math.pi / 6, mass)
    for share, load in ((1.30, 1.30 / 1.25), (0.55, 0.55 / 0.6)):
        motion = robot.simulate([0.0], duration=0.5, tau=[share * W], **options)
        expected = (load - 1) * W / mass
        assert motion.dq[-1, 0] == pytest.approx(expected * 0.5, rel=1e-9)
    for share in (1.249, 0.9, 0.601):
        still = robot.simulate([0.0], duration=0.3, tau=[share * W], **options)
        assert (still.q == 0).all()


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_a_force_that_changes_its_sign_changes_the_load(options):
    """A sliding block under -tau: the load brakes it with 1 - braking, then it rests."""
    driving, braking, mass, v = 0.25, 0.4, 2.0, 1.0
    motion = block(kt.Friction(load=(driving, braking)), 0.0, mass).simulate(
        [0.0], [v], duration=0.5, tau=[-3.0], **options
    )
    slows = -3.0 / (1 - braking) / mass  # load = tau / (1 - c): friction helps to brake
    until = motion.t < -v / slows - 2e-3
    assert motion.dq[until, 0] == pytest.approx(v + slows * motion.t[until], abs=1e-9)
    # at rest nothing but the force acts on it, which then drives it backward
    back = -3.0 / (1 + driving) / mass
    assert motion.dq[-1, 0] == pytest.approx(back * (0.5 + v / slows), abs=3e-3)


def stick_slip(friction, mass, k, v, duration, h=1e-5):
    """A block pulled by a spring at the speed v: the plainest integration there is."""
    (static,), (coulomb,) = {*np.atleast_1d(friction.stribeck.static)}, (friction.coulomb,)
    speed, q, dq, stuck, slips = friction.stribeck.speed, 0.0, 0.0, True, 0
    for i in range(round(duration / h)):
        pull = k * (v * i * h - q)
        if stuck and abs(pull) <= static:
            continue
        slips += int(stuck)
        way = math.copysign(1, pull if stuck else dq)
        level = coulomb + (static - coulomb) * math.exp(-((dq / speed) ** 2))
        after = dq + h * (pull - level * way) / mass
        stuck = not stuck and after * dq <= 0
        dq = 0.0 if stuck else after
        q += h * dq
    return q, slips


@pytest.mark.parametrize(
    ("options", "allowed"), [(ALL[0], 2e-3), (ALL[1], 2e-3), (ALL[3], 1e-4)],
    ids=["rk4", "semi_implicit", "dop853"],
)  # fmt: skip
def test_stick_slip_is_that_of_tiny_steps(options, allowed):
    friction = kt.Friction(coulomb=1.0, stribeck=kt.Stribeck(2.0, 0.05))
    mass, k, v, duration = 0.5, 100.0, 0.05, 1.5

    def pulled(t, q, dq):
        return k * (v * t - q)

    motion = block(friction, 0.0, mass).simulate(
        [0.0], duration=duration, controller=pulled, **options
    )
    q, slips = stick_slip(friction, mass, k, v, duration)
    begins = (motion.dq[1:, 0] != 0) & (motion.dq[:-1, 0] == 0)
    assert slips >= 2 and int(begins.sum()) == slips
    assert motion.q[-1, 0] == pytest.approx(q, abs=allowed)


@pytest.mark.parametrize("exponent", [0.5, 1, 2])
def test_adaptive_and_fixed_steps_agree(exponent):
    laws = {
        "joint1": kt.Friction(
            0.05, (0.3, 0.2), stribeck=kt.Stribeck((0.6, 0.5), 0.3, exponent), load=(0.1, 0.2)
        ),
        "joint2": kt.Friction(0.1, sigmoid=kt.Sigmoid(0.5, 8.0, 0.05), load=0.1),
    }
    robot = kt.robots.double_pendulum()
    robot = robot.with_friction(dict(zip(robot.model.joint_names, laws.values(), strict=True)))
    fine = robot.simulate([1.0, 0.5], [0.0, -0.5], duration=1.5, limits="ignore")
    coarse = robot.simulate(
        [1.0, 0.5], [0.0, -0.5], duration=1.5, limits="ignore", method="rk4", dt=2e-4
    )
    assert coarse.q[-1] == pytest.approx(fine.q[-1], abs=2e-3)
    assert np.abs(fine.q[-1] - fine.q[0]).max() > 0.1


@pytest.mark.parametrize("seed", [4, 7])
def test_joints_that_stop_and_start_together_agree(seed):
    """Random robots with springs and all laws, some joints at rest in the beginning."""
    model = random_model(seed, 3, types=("revolute", "prismatic"), laws=True, springs=True)
    robot, rng = kt.Robot(model), np.random.default_rng(seed)
    q = kt.algorithms.random(model, rng)
    dq = rng.normal(size=model.n) * (rng.random(model.n) < 0.6)
    fine = robot.simulate(q, dq, duration=1.0, limits="ignore")
    coarse = robot.simulate(q, dq, duration=1.0, limits="ignore", method="rk4", dt=2e-4)
    assert ((fine.dq[1:] == 0) != (fine.dq[:-1] == 0)).any()
    assert coarse.q[-1] == pytest.approx(fine.q[-1], abs=2e-4)


def sliding_arm(**last):
    """Three joints that slide for a while, with a Stribeck effect and a sigmoid."""
    laws = [
        kt.Friction(0.1, 0.3, stribeck=kt.Stribeck(0.8, 0.5)),
        kt.Friction(sigmoid=kt.Sigmoid(0.5, 6, 0.1)),
        kt.Friction(0.2, **last),
    ]
    robot = kt.robots.spatial_3r()
    return robot.with_friction(dict(zip(robot.model.joint_names, laws, strict=True)))


@pytest.mark.parametrize(
    ("last", "options"),
    [
        ({"coulomb": 0.1, "stribeck": kt.Stribeck(0.3, 0.4, 1)}, {"method": "rk4", "dt": 1e-3}),
        ({"coulomb": 0.1, "stribeck": kt.Stribeck(0.3, 0.4, 1)}, {"method": "dop853"}),
        ({"load": (0.2, 0.1)}, {"method": "dop853"}),
    ],
    ids=["rk4", "dop853", "load"],
)
def test_derivatives_of_motions_are_their_differences(last, options):
    robot, h = sliding_arm(**last), 1e-5
    q, dq = np.array([0.3, -0.4, 0.5]), np.array([1.2, -1.0, 3.0])
    options = {"duration": 0.03, "limits": "ignore", **options}
    found = robot.sensitivities(q, dq, **options).by("dq0")[-1]
    for k, e in enumerate(np.eye(3) * h):
        ends = [robot.simulate(q, dq + way * e, **options) for way in (1, -1)]
        change = [np.concatenate([x.q[-1], x.dq[-1]]) for x in ends]
        assert found[:, k] == pytest.approx((change[0] - change[1]) / (2 * h), abs=2e-7)


def test_derivatives_of_fixed_steps_refuse_load_friction_by_name():
    with pytest.raises(InputError, match="'joint3' of 'spatial 3R' has friction that grows with"):
        sliding_arm(load=0.1).sensitivities([0, 0, 0], [1, 1, 1], duration=0.01, dt=1e-3)


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
def test_implicit_steps_stay_stable_where_a_load_amplifies_damping(method):
    """A load that brakes with 0.9 makes viscous friction act tenfold; dt is 50 time constants."""
    d, tau = 1000.0, 10.0
    robot = block(kt.Friction(d, load=(0.5, 0.9)), mass=1.0)
    motion = robot.simulate([0.0], [2.0], duration=1.0, dt=0.05, method=method, tau=[tau])
    rates = motion.dq[:, 0]
    assert (np.diff(rates) <= 1e-15).all() and rates[-1] == pytest.approx(tau / d, rel=1e-9)

"""Identification of simulated recordings with known truth: parameters, intervals, named faults.

Joint forces of the planar robot are those of NumPy; those of the spatial one come from inverse
dynamics, which the tests of quantities compare with other packages.
"""

from functools import cache

import numpy as np
import pytest
from reference_robots import G, double_bias, double_mass_matrix, double_pendulum

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.friction import Friction, LuGre, Sigmoid, Stribeck
from kinetree.identify import (
    KnownLoad,
    excite,
    find_base,
    identify,
    identify_payload,
    identify_presliding,
    make_recording,
    simulated_recording,
    unknowns,
)
from kinetree.joints import Limits, Spring
from kinetree.scalars import cos, sin

FAST = {"friction": "symmetric"}


def waves(n, duration=16.0, dt=0.02, seed=1, size=0.9):
    """Times, and q, dq, ddq (T, n) of sums of five sines for each joint."""
    rng, t = np.random.default_rng(seed), np.arange(0, duration, dt)
    w = 2 * np.pi * rng.uniform(0.1, 0.9, (5, n))
    a, phase = size * rng.uniform(0.3, 0.8, (5, n)) / w * 2, rng.uniform(0, 6, (5, n))
    turn = t[:, None, None] * w + phase
    q, dq, ddq = (a * np.sin(turn)).sum(1), (a * w * np.cos(turn)).sum(1), 0
    ddq = -(a * w * w * np.sin(turn)).sum(1)
    return t, (q, dq, ddq)


# the planar robot


RUBBING = {"hip": Friction(0.5, 0.8), "knee": Friction(0.3, 0.4)}
PLANAR = double_pendulum({"friction": RUBBING["hip"]}, {"friction": RUBBING["knee"]})


def planar_forces(state):
    viscous, coulomb = np.array([0.5, 0.3]), np.array([0.8, 0.4])
    rows = [double_mass_matrix(q) @ a + double_bias(q, v)
            for q, v, a in zip(*state, strict=True)]  # fmt: skip
    return np.array(rows) + viscous * state[1] + coulomb * np.sign(state[1])


def described_planar():
    """The planar robot with masses and inertias that are off, and without friction."""
    built = kt.Builder("double").link("base")
    built.link("upper", m=1.8, com=(0, 0, -0.2), I_com=np.eye(3) * 0.06)
    built.link("lower", m=0.6, com=(0, 0, -0.35), I_com=np.eye(3) * 0.02)
    built.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0))
    built.joint("knee", "revolute", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.6))
    return built.build()


@cache
def planar(seed=0, noise=0.05):
    t, state = waves(2)
    tau = planar_forces(state)
    tau = tau + np.random.default_rng(seed).normal(0, noise, tau.shape)
    robot = described_planar()
    return identify(robot, make_recording(robot, t, state[0], tau, *state[1:]), armature=False,
                    **FAST)  # fmt: skip


def test_the_equations_of_a_planar_robot_are_found():
    found = planar()
    assert not found.verdict.reasons
    for q in np.random.default_rng(5).uniform(-2, 2, (5, 2)):
        np.testing.assert_allclose(found.robot.mass_matrix(q), double_mass_matrix(q), atol=0.02)
        np.testing.assert_allclose(found.robot.gravity_forces(q), double_bias(q, [0, 0]),
                                   atol=0.05)  # fmt: skip
    for name, law in RUBBING.items():
        friction = found.friction[name]
        assert np.mean(friction.viscous) == pytest.approx(np.mean(law.viscous), abs=0.03)
        assert np.mean(friction.coulomb) == pytest.approx(np.mean(law.coulomb), abs=0.03)
    np.testing.assert_allclose(found.error(), 0.05, rtol=0.15)
    np.testing.assert_allclose(found.fit.sigma, 0.05, rtol=0.1)
    assert (found.described_error() > 5 * found.error()).all()


def test_ordinary_least_squares_are_those_of_numpy():
    """Without a filter and without held-out rows: K x of the stacked regressor."""
    t, state = waves(2)
    tau = planar_forces(state) + np.random.default_rng(3).normal(0, 0.05, state[0].shape)
    robot = described_planar()
    data = make_recording(robot, t, state[0], tau, *state[1:])
    found = identify(robot, data, method="ordinary", armature=False, hold_out=0, lag=0.0, **FAST)
    sought = unknowns(robot, "symmetric", armature=False)
    Y = sought.regressor(*state)[..., list(found.base.kept)]
    expected = np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.ravel(), rcond=None)[0]
    # rows at which a joint hardly moves are left out of the fit
    assert np.abs((found.fit.beta - expected) / found.fit.standard_error).max() < 0.3


def test_intervals_cover_the_truth_over_seeds():
    inside = []
    for seed in range(12):
        found = planar(seed)
        truth = found.base.K @ found.params.values(PLANAR.model)
        low, high = found.interval(0.95).T
        inside.append((low <= truth) & (truth <= high))
    assert 0.88 <= np.mean(inside) <= 0.995
    assert np.mean(inside, axis=0).min() >= 0.6
    widths = [np.ptp(planar(0).interval(level), axis=1) for level in (0.5, 0.95)]
    np.testing.assert_allclose(widths[1] / widths[0], 1.96 / 0.6745, rtol=0.05)


def test_intervals_grow_with_the_noise():
    widths = [np.ptp(planar(0, noise).interval(), axis=1) for noise in (0.05, 0.2)]
    assert np.median(widths[1] / widths[0]) == pytest.approx(4, rel=0.1)


# the spatial robot


def arm(scale=(1, 1, 1), drives=True, com=1.0):
    """Three joints about different axes; bodies of general shape; masses times a scale."""
    built = kt.Builder("arm").link("base")
    bodies = (
        ("turret", 3.0, (0.02, 0.01, 0.1), (0.03, 0.025, 0.02)),
        ("upper", 2.0, (0.2, 0.01, -0.02), (0.004, 0.02, 0.022)),
        ("lower", 1.2, (0.15, -0.02 * com, 0.01), (0.002, 0.011, 0.01)),
    )
    for s, (name, m, c, inertia) in zip(scale, bodies, strict=True):
        built.link(name, s * m, c, s * np.diag(inertia))
    places = {"turn": ("base", "turret", (0, 0, 0), (0, 0, 1)),
              "lift": ("turret", "upper", (0, 0, 0.3), (0, 1, 0)),
              "bend": ("upper", "lower", (0.4, 0, 0), (0, 1, 0))}  # fmt: skip
    for k, (name, (parent, child, at, axis)) in enumerate(places.items()):
        own = {"friction": Friction(0.5 + 0.1 * k, 0.8 - 0.05 * k), "armature": 0.05 + 0.01 * k}
        built.joint(name, "revolute", parent, child, at=at, axis=axis,
                    limits=Limits(-2.5, 2.5, 4.0, 80.0), **(own if drives else {}))  # fmt: skip
    return built.build()


TRUE, DESCRIBED, BARE = arm(), arm((1.3, 0.75, 1.2)), arm((1.3, 0.75, 1.2), drives=False)
T, STATE = waves(3)
FORCES = TRUE.inverse_dynamics(*STATE)
LIFT = np.array([0, 1, 0])


def noise(seed, size=0.1):
    return np.random.default_rng(seed).normal(0, size, FORCES.shape)


def found_of(tau, state=STATE, robot=DESCRIBED, seed=0, **options):
    data = make_recording(robot, T, state[0], tau + noise(seed), *state[1:])
    return identify(robot, data, **FAST | options)


def covered(found, true=TRUE):
    truth = found.base.K @ found.params.values(true.model)
    low, high = found.interval().T
    return (low <= truth) & (truth <= high)


@cache
def clean():
    return found_of(FORCES)


def test_a_clean_recording_gives_a_robot_that_exists_and_intervals_that_hold():
    found = clean()
    assert found.verdict.word == "good"
    assert covered(found).mean() > 0.85
    test = waves(3, seed=9)[1]
    expected = TRUE.inverse_dynamics(*test)
    predicted = found.robot.inverse_dynamics(*test)
    moving = np.abs(test[1]) > 0.05
    assert np.abs(predicted - expected)[moving].max() < 0.15
    model = found.robot.model
    for m, I_com in zip(model.m, model.I_com, strict=True):
        p = np.linalg.eigvalsh(I_com)
        assert m > 0 and p[0] > 0 and p[2] < p[0] + p[1]
    assert all(min(*x.friction.viscous, *x.friction.coulomb, x.armature) >= 0
               for x in model.joints)  # fmt: skip


def test_positions_alone_of_noisy_encoders_are_enough():
    inside = []
    for seed in range(4):
        q = STATE[0] + np.random.default_rng(seed).normal(0, 2e-5, STATE[0].shape)
        data = make_recording(BARE, T, q, FORCES + noise(seed + 50))
        found = identify(BARE, data, **FAST)
        assert not found.verdict.reasons
        inside.append(covered(found))
    assert np.concatenate(inside).mean() > 0.87
    motion = kt.motion.excitation(TRUE, 10, 0.02, seed=1)
    data = simulated_recording(TRUE, motion, encoder_noise=2e-5, torque_noise=0.1, seed=3)
    assert covered(identify(BARE, data, **FAST)).mean() > 0.8
    plain, again = (simulated_recording(TRUE, motion, torque_noise=0.1, seed=3) for _ in range(2))
    np.testing.assert_array_equal(plain.tau, again.tau)
    spread = (plain.tau - TRUE.inverse_dynamics(plain.q, plain.dq, plain.ddq)).std()
    assert spread == pytest.approx(0.1, rel=0.07)


def test_outliers_move_a_robust_fit_less_than_an_ordinary_one():
    rng, tau = np.random.default_rng(0), FORCES + noise(0)
    wild = rng.random(tau.shape) < 0.06  # too many for single wild samples, which are replaced
    tau = tau + 20.0 * wild
    errors = []
    for method in ("robust", "ordinary"):
        data = make_recording(DESCRIBED, T, STATE[0], tau, *STATE[1:])
        found = identify(DESCRIBED, data, method=method, **FAST)
        truth = found.base.K @ found.params.values(TRUE.model)
        scale = np.ptp(clean().interval(), axis=1)
        errors.append(np.sqrt(np.mean(((found.fit.beta - truth) / scale) ** 2)))
    assert errors[0] < 0.5 * errors[1]


# friction laws, springs, payloads, gains


@pytest.mark.parametrize("law", ["directional", "stribeck", "sigmoid"])
def test_the_law_of_friction_is_found(law):
    friction = {
        "directional": Friction((0.5, 0.9), (1.5, 2.5)),
        "stribeck": Friction(0.5, 1.5, stribeck=Stribeck(3.0, 0.3)),
        "sigmoid": Friction(0.5, sigmoid=Sigmoid(3.0, 6.0, 0.0)),
    }[law]
    true = TRUE.with_friction({"lift": friction})
    found = found_of(true.inverse_dynamics(*STATE), friction={"lift": law} | {
        x: "symmetric" for x in ("turn", "bend")})  # fmt: skip
    own, rates = found.friction["lift"], np.array([-1.5, -0.8, -0.3, 0.2, 0.5, 1.2])
    state = np.zeros((6, 3))
    state[:, 1] = rates
    expected = true.friction_forces(state)[:, 1]
    np.testing.assert_allclose(found.robot.friction_forces(state)[:, 1], expected, atol=0.15)
    if law == "directional":
        np.testing.assert_allclose(own.coulomb, (1.5, 2.5), atol=0.1)
        np.testing.assert_allclose(own.viscous, (0.5, 0.9), atol=0.1)
    assert covered(found, true).mean() > 0.8


def test_the_simplest_law_that_suffices_is_chosen():
    true = TRUE.with_friction({"lift": Friction(0.5, 1.5, stribeck=Stribeck(4.0, 0.4))})
    found = found_of(true.inverse_dynamics(*STATE), friction="auto")
    chosen = {x.joint: x.friction for x in found.choices}
    assert chosen["lift"] == "stribeck" and chosen["bend"] == "symmetric"


@pytest.mark.parametrize("rest", [-0.5, 0.3])
def test_a_spring_is_found_with_its_rest(rest):
    true = TRUE.with_springs({"lift": Spring(40, rest)})
    described = DESCRIBED.with_springs({"lift": Spring(0)})
    found = found_of(true.inverse_dynamics(*STATE), robot=described)
    spring = found.springs["lift"]
    assert spring.stiffness == pytest.approx(40, rel=0.03)
    assert spring.rest == pytest.approx(rest, abs=0.05)


def test_payloads_lie_within_their_errors():
    m, com, inertia = 2.0, np.array([0.02, -0.03, 0.08]), np.diag([0.01, 0.012, 0.006])
    panda = kt.robots.panda()
    motion = kt.motion.excitation(panda, 8, 0.02, seed=1)
    true = panda.with_payload(m, com, inertia)
    exact = identify_payload(panda, simulated_recording(true, motion))
    assert exact.m == pytest.approx(m, rel=1e-7)
    np.testing.assert_allclose(exact.com, com, atol=1e-7)
    np.testing.assert_allclose(exact.I_com, inertia, atol=1e-6)
    z = []
    for seed in range(5):
        data = simulated_recording(true, motion, torque_noise=0.3, seed=seed)
        found = identify_payload(panda, data)
        z.append((found.parameters[:4] - [m, *(m * com)]) / found.standard_error[:4])
        assert np.linalg.eigvalsh(found.I_com)[0] > 0
    assert 0.5 < np.std(z) < 1.6
    q = panda.random(rng=0)
    np.testing.assert_allclose(exact.robot.gravity_forces(q), true.gravity_forces(q), atol=1e-6)
    still = motion.replace(dq=0 * motion.dq, ddq=0 * motion.ddq)
    held = identify_payload(panda, simulated_recording(true, still, torque_noise=0.05))
    assert held.m == pytest.approx(m, abs=0.02) and np.isnan(held.parameters[4:]).all()
    with pytest.raises(KinetreeError):
        identify_payload(panda, data, "panda_link0")


def test_gains_of_drives_are_found_by_a_known_payload():
    gains, load = np.array([0.08, -25.0, 1.7]), KnownLoad(1.5, (0.1, 0.05, 0.02), frame="lower")
    records = []
    for seed, body in enumerate((None, load)):
        true = TRUE if body is None else TRUE.with_payload(body.m, body.com, frame="lower")
        t, state = waves(3, seed=seed + 1)
        tau = true.inverse_dynamics(*state) + noise(seed, 0.05)
        records.append(make_recording(DESCRIBED, t, state[0], tau * gains, *state[1:]))
    found = identify(DESCRIBED, records, payloads=[None, load], gains=True, **FAST)
    np.testing.assert_allclose(found.gains.values, gains, rtol=0.02)
    z = (found.gains.values - gains) / found.gains.standard_error
    assert np.abs(z).max() < 4.5
    friction = [np.mean(found.friction[x].coulomb) for x in ("turn", "lift", "bend")]
    np.testing.assert_allclose(friction, [0.8, 0.75, 0.7], rtol=0.1)


def test_gains_are_scaled_by_the_described_masses():
    gains = np.array([0.08, -25.0, 1.7])
    data = make_recording(TRUE, T, STATE[0], (FORCES + noise(0)) * gains, *STATE[1:])
    found = identify(TRUE, data, gains="description", **FAST)
    np.testing.assert_allclose(found.gains.values, gains, rtol=0.03)
    assert found.gains.origin == "description"


def test_friction_with_a_memory_is_found_by_slow_reversals():
    def hinge(law):
        built = kt.Builder("hinge").link("base")
        built.link("upper", 1, (0, 0, -0.3), np.diag([0.02, 0.02, 0.01]))
        return built.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0),
                           friction=law).build()  # fmt: skip

    def reference(t):
        w = np.pi / 2
        return (np.array([0.3 * sin(w * t)]), np.array([0.3 * w * cos(w * t)]),
                np.array([-0.3 * w * w * sin(w * t)]))  # fmt: skip

    law = kt.controllers.ComputedTorque(reference, kp=400, kd=40)
    true = hinge(Friction(0.1, 1.0, presliding=LuGre(500.0, 2.0)))
    run = true.simulate([0.0], [0.15 * np.pi], duration=8, dt=2e-3, method="rk4", controller=law)
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = run.replace(tau=run.tau + rng.normal(0, 0.03, run.tau.shape))
        fit = identify_presliding(hinge(Friction(0.1)), data, "hip")
        for name, value in {"stiffness": 500.0, "damping": 2.0, "level": 1.0}.items():
            low, high = fit.intervals[name]
            inside.append(low <= value <= high)
    assert np.mean(inside) >= 0.75
    assert fit.values["stiffness"] == pytest.approx(500, rel=0.05)
    assert fit.friction.presliding.stiffness == fit.values["stiffness"]


def test_a_closed_loop_is_found_from_its_motors():
    true = kt.robots.five_bar().with_friction({x: Friction(0.2, 0.3) for x in ("left", "right")})
    robot, t = kt.robots.five_bar(), np.arange(0, 12, 0.02)
    q0 = robot.neutral()
    motors = [robot.dof_names.index(x) for x in ("left", "right")]
    w = 2 * np.pi * np.array([[0.31, 0.47], [0.83, 0.71]])
    a = np.array([[0.1, 0.12], [0.05, 0.04]])
    turn = t[:, None, None] * w
    rows, q = [], q0
    for k in range(len(t)):
        wanted = np.zeros(robot.n)
        wanted[motors] = q0[motors] + (a * np.sin(turn[k])).sum(0)
        q = kt.constraints.project(robot, np.where(np.isin(np.arange(robot.n), motors), wanted, q),
                          keep=["left", "right"])  # fmt: skip
        v, ddv = np.zeros(robot.n), np.zeros(robot.n)
        v[motors] = (a * w * np.cos(turn[k])).sum(0)
        ddv[motors] = -(a * w * w * np.sin(turn[k])).sum(0)
        dq = kt.constraints.project_rates(robot, q, v, keep=["left", "right"])
        rows.append(
            (q, dq, kt.constraints.project_accelerations(robot, q, dq, ddv, keep=["left", "right"]))
        )
    state = [np.array(x) for x in zip(*rows, strict=True)]
    tau = true.inverse_dynamics(*state)
    tau[:, motors] += np.random.default_rng(0).normal(0, 0.01, (len(t), 2))
    found = identify(robot, make_recording(robot, t, state[0], tau, *state[1:]), **FAST)
    assert covered(found, true).mean() > 0.8
    error = found.robot.inverse_dynamics(*state) - true.inverse_dynamics(*state)
    assert np.sqrt((error[:, motors] ** 2).mean()) < 0.02


# faults of recordings, which the verdict names


def tilted(angle):
    gravity = G * np.array([0, -np.sin(angle), -np.cos(angle)])
    return TRUE.with_gravity(gravity).inverse_dynamics(*STATE)


def shifted_forces():
    """The true robot at positions whose 'lift' is recorded with a wrong zero."""
    return TRUE.inverse_dynamics(STATE[0] + 0.1 * LIFT, *STATE[1:])


FAULTS = {
    "sign": (lambda: FORCES * [1, -1, 1], "lift"),
    "order": (lambda: FORCES[:, [0, 2, 1]], "lift"),
    "unit": (lambda: FORCES * (1 + 0.3 * LIFT), "lift"),
    "encoder zero": (shifted_forces, "lift"),
    "gravity direction": (lambda: tilted(0.08), None),
    "compensated gravity": (lambda: FORCES - TRUE.gravity_forces(STATE[0]), None),
    "coupled joint": (
        lambda: FORCES + np.stack([0 * T, 0.8 * STATE[1][:, 2] + 0.6 * np.sign(STATE[1][:, 2]),
                                   0 * T], 1), "lift",
    ),
    "offset": (lambda: FORCES + 1.5 * LIFT, "lift"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_of_errors_is_named(fault):
    forces, joint = FAULTS[fault]
    found = found_of(forces())
    cause = found.causes[0]
    assert cause.kind == fault, str(found.verdict)
    assert joint is None or joint in cause.joints
    assert found.verdict.word == "not usable" and cause.effect > 0.01


def test_where_no_robot_fits_the_base_parameters_predict():
    """Drives that add 1.6 times their friction, without reporting it."""
    found = found_of(FORCES - 1.6 * TRUE.friction_forces(STATE[1]))
    assert not found.physical and found.verdict.word == "not usable"
    base = found.predict(found.test, physical=False)
    np.testing.assert_array_equal(found.predict(found.test), base)
    assert found.error().sum() < 0.9 * found.error(physical=True).sum()
    assert covered(found, TRUE).mean() < 0.9 < clean().physical


def test_an_offset_that_is_stated_is_found():
    found = found_of(FORCES + 1.5 * LIFT, offsets={"lift": True})
    row = found.base.kept.index(found.params.names.index("tau_offset[lift]"))
    assert found.fit.beta[row] == pytest.approx(1.5, abs=0.06)
    assert not found.verdict.reasons


def test_late_joint_forces_are_moved():
    t, fine = waves(3, dt=0.002)
    state = [np.stack([np.interp(T - 0.03, t, x) for x in part.T], axis=1) for part in fine]
    found = found_of(TRUE.inverse_dynamics(*state))
    assert found.lag == pytest.approx(0.03, abs=0.002)
    assert covered(found).mean() > 0.75


def test_a_joint_that_sticks_is_named():
    q, dq, ddq = (x * np.array([1, 1, 0]) for x in STATE)
    q = q + np.outer(T > 5, [0, 0, 0.1])
    held = TRUE.inverse_dynamics(q, dq, ddq) + np.outer(0.5 * np.sin(3 * T), [0, 0, 1])
    stuck = found_of(held, (q, dq, ddq))
    assert ("sticking", ("bend",)) in [(x.kind, x.joints) for x in stuck.causes]


# base parameters, excitation, input


ROBOTS = {"planar_2r": 6, "puma_560": 36, "panda": 43}


@pytest.mark.parametrize("name", ROBOTS)
def test_base_parameters_are_as_many_as_known_and_give_the_same_forces(name):
    robot = getattr(kt.robots, name)()
    base = find_base(unknowns(robot, "known", armature=False))
    assert base.r == ROBOTS[name]
    sought = unknowns(robot, "directional")
    less = find_base(sought)
    state = np.random.default_rng(3).normal(size=(3, 30, robot.n))
    Y = sought.regressor(*state)
    x = np.random.default_rng(0).normal(size=len(sought.names))
    whole = Y @ x
    np.testing.assert_allclose(Y[..., list(less.kept)] @ (less.K @ x), whole,
                               atol=1e-8 * np.abs(whole).max())  # fmt: skip
    assert np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-7) == less.r
    tau = Y @ sought.values(robot.model) + sought.known(*state)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(*state), atol=1e-9 * np.abs(tau).max())


def test_parameters_that_no_force_shows_are_not_determined():
    found = clean()
    names = [found.params.names[k] for k in found.base.kept]
    assert "m[turret]" not in names  # it only turns about the vertical
    base = find_base(unknowns(kt.robots.planar_2r(), "known", armature=False))
    status = dict(zip(base.names, base.status(), strict=True))
    assert len({status["Izz[link2]"], status["m[link2]"], status["m[link1]"]}) == 3


def test_a_search_finds_a_better_motion_within_the_limits():
    found = excite(TRUE, 8, 0.02, rounds=60)
    assert found.condition < 0.9 * found.before
    plan = found.motion
    assert np.abs(plan.q).max() <= 2.5 and np.abs(plan.dq).max() <= 0.8001 * 4
    assert np.abs(TRUE.inverse_dynamics(plan.q, plan.dq, plan.ddq)).max() <= 80
    assert np.abs(plan.dq[[0, -1]]).max() < 1e-9
    sought = unknowns(TRUE)
    base = find_base(sought)

    def condition(motion):
        Y = sought.regressor(motion.q, motion.dq, motion.ddq)[..., list(base.kept)]
        Y = Y.reshape(-1, Y.shape[-1])
        return np.linalg.cond(Y / np.linalg.norm(Y, axis=0))

    poor = kt.motion.sinusoid(np.zeros(3), 0.2, 0.3, 8, 0.02, robot=TRUE)
    assert condition(plan) < 0.5 * condition(poor)


def test_positions_are_filtered_to_their_rates():
    rng = np.random.default_rng(0)
    q = STATE[0] + rng.normal(0, 1e-5, STATE[0].shape)
    data = make_recording(TRUE, T, q, FORCES)
    for own, true in zip((data.q, data.dq, data.ddq), STATE, strict=True):
        true = np.array([np.interp(data.t, T, x) for x in true.T]).T
        assert np.abs(own - true).max() < 1e-3 * np.abs(true).max()
    assert data.cutoff is not None


@pytest.mark.parametrize(("frequency", "gain"), [(2.5, 1.0), (5.0, 0.5), (10.0, 0.0)])
def test_the_filter_passes_what_is_below_its_cutoff_and_shifts_no_phase(frequency, gain):
    t = np.arange(0, 16, 0.01)
    slow = np.sin(0.6 * np.pi * t)[:, None] * np.ones(3)
    tone = 0.01 * np.sin(2 * np.pi * frequency * t)[:, None] * np.ones(3)
    data = [make_recording(TRUE, t, q, 0 * q + slow, cutoff=5.0) for q in (slow + tone, slow)]
    left = (data[0].q - data[1].q)[300:-300]
    expected = np.array([np.interp(data[0].t, t, x) for x in tone.T]).T[300:-300]
    np.testing.assert_allclose(left, gain * expected, atol=2e-4)


@pytest.mark.parametrize("fault", ["NaN", "order", "shape", "degrees", "rates", "joints"])
def test_recordings_that_cannot_be_are_refused(fault):
    t, (q, dq, ddq), tau = T.copy(), STATE, FORCES
    rates = (dq, ddq)
    if fault == "NaN":
        tau = np.where(np.arange(len(T))[:, None] % 2 == 0, np.nan, tau)
    elif fault == "order":
        t[10] = t[300]
    elif fault == "shape":
        tau = tau[:-5]
    elif fault == "degrees":
        q, rates = np.degrees(q), ()
    elif fault == "rates":
        rates = (3 * dq, 3 * ddq)
    else:
        q = q[:, :2]
    with pytest.raises(KinetreeError):
        make_recording(DESCRIBED, t, q, tau, *rates)

"""Laws of contacts on random bodies and random planes."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import (
    ANGLES,
    SCREWS,
    SEEDS,
    Mechanism,
    build,
    close,
    mechanisms,
    number,
    rotation,
    state,
    vector,
)

import kinetree as kt
from kinetree import dynamics
from kinetree.contacts import ContactPoint, Plane

DT = 1e-4
TURNED = 1e-2  # relative: the step solves contacts where the robot is about to be, not where it was


class Grounded(NamedTuple):
    """A robot with contacts, the one without, its start close to the ground, and the normal."""

    robot: Any
    free: Any
    q: Any
    dq: Any
    mu: float
    normal: Any


@st.composite
def grounded(draw, restitution=0.0):
    """A free body, perhaps with a limb, over a plane; two to five points or spheres on it."""
    kinds = draw(mechanisms(2, types=SCREWS, drives=("armature",), floating=False))
    limb = [replace(x, parent=0) for x in kinds.parts[1:]]
    home = {"turn": (0.0, 0.0, 0.0), "place": (0.0, 0.0, 0.0)}
    first = replace(kinds.parts[0], type="free", drive={}, **home)
    free = build(Mechanism((first, *limb), (0, 0, -9.81)))
    rng = np.random.default_rng(draw(SEEDS))
    count = draw(st.integers(1, 4))
    radius = draw(st.sampled_from([0.0, 0.05]))
    links = [free.model.link_names[-1] if k == 0 else "l0" for k in range(count)]
    points = [
        ContactPoint(f"p{k}", links[k], tuple(rng.normal(size=3) * 0.3), radius)
        for k in range(count)
    ]
    tilt = np.array([*draw(vector(0.3))[:2], 1.0])
    mu = draw(number(0, 1.2))
    normal = tilt / np.linalg.norm(tilt)
    robot = free.with_contacts(points, Plane(tuple(tilt)), friction=mu, restitution=restitution)
    q, dq, _ = state(free, draw(SEEDS))
    q = kt.contacts.on_ground(robot, q, draw(st.sampled_from([0.0, 0.003])))
    return Grounded(robot, free, q, dq, mu, normal)


class Step(NamedTuple):
    """What a step did at each contact: its Jacobian (3, n), gap, velocity after, and force."""

    J: Any
    gap: Any
    v: Any
    f: Any


def contact_jacobians(robot, q):
    """Jacobian (3, n) of each point of contact in {s}, by name."""
    model = robot.model
    T = dict(zip(model.link_names, dynamics.forward_kinematics(model, q), strict=True))
    J = dict(zip(model.link_names, dynamics.link_jacobians(model, q), strict=True))
    points, found = robot.compile("contact_points")(q)[0], {}
    for x, point in zip(model.contacts.points, points, strict=True):
        R = T[x.link][:3, :3]
        arm = R.T @ (point - T[x.link][:3, 3])
        found[x.name] = R @ (J[x.link][3:] - kt.spatial.skew(arm) @ J[x.link][:3])
    return found


def steps(case, motion, k):
    """The contacts of step k of a motion; forces are means over the step that begins at k."""
    found = []
    for name, J in contact_jacobians(case.robot, motion.q[k]).items():
        gap, f = (motion.meta[f"contact_{part}"][name][k] for part in ("gaps", "forces"))
        found.append(Step(J, gap, J @ motion.dq[k + 1], f))
    return found


@settings(max_examples=20)
@given(grounded(), st.sampled_from(["semi_implicit_euler", "implicitfast"]))
def test_contact_forces_obey_coulomb_and_signorini(case, method):
    """No pull, no penetration, friction within the cone and against what slides."""
    options = {"method": method, "limits": "ignore"}
    motion = case.robot.simulate(case.q, case.dq, duration=80 * DT, dt=DT, **options)
    n, mu = case.normal, case.mu
    for k in range(80):
        for _, gap, v, f in steps(case, motion, k):
            push, slide = f @ n, v - (v @ n) * n
            rub, size = f - push * n, 1e-6 + np.linalg.norm(f)
            assert push >= -1e-9 * size
            assert np.linalg.norm(rub) <= mu * push + 1e-7 * size
            if push > 1e-3 * size and push > 1e-6:
                reach = TURNED * (1 + np.abs(motion.dq[k]).max())
                assert v @ n >= min(0, -gap / DT) - reach
                assert v @ n <= max(0.1, 0) + reach + max(0, -gap / DT)
                if np.linalg.norm(slide) > 10 * reach:
                    close(rub, -mu * push * slide / np.linalg.norm(slide), 0.2, size)
            elif gap > 0.01:
                assert size <= 2e-6
    gaps = np.array(list(motion.meta["contact_gaps"].values()))
    assert gaps.min() > -5 * DT


@settings(max_examples=20)
@given(grounded())
def test_contact_forces_are_what_changes_the_motion(case):
    """M (dq_after - dq_free) = dt J^T f."""
    motion = case.robot.simulate(case.q, case.dq, duration=60 * DT, dt=DT, limits="ignore")
    for k in range(0, 60, 3):
        q, dq = motion.q[k], motion.dq[k]
        free = case.free.step(q, dq, np.zeros(case.free.n), DT)[1]
        M = dynamics.mass_matrix(case.robot.model, q)
        impulse = DT * sum(x.J.T @ x.f for x in steps(case, motion, k))
        close(M @ (motion.dq[k + 1] - free), impulse, TURNED, 1e-3)


@settings(max_examples=12)
@given(grounded(), number(0, 1))
def test_impacts_gain_no_energy(case, restitution):
    robot = case.robot.with_contacts(
        list(case.robot.model.contacts.points),
        case.robot.model.contacts.ground,
        friction=case.mu,
        restitution=restitution,
    )
    q, dq, zero = case.q, case.dq, np.zeros(robot.n)
    for _ in range(20):
        ends = [x.step(q, dq, zero, 1e-3) for x in (robot, case.free)]
        energies = [dynamics.kinetic_energy(robot.model, q, end[1]) for end in ends]
        assert energies[0] <= energies[1] * (1 + 1e-2) + 1e-6
        q, dq = ends[0]


@settings(max_examples=20)
@given(grounded(), number(0, 1))
def test_a_smooth_impact_rebounds_with_its_restitution(case, restitution):
    """v_n after = -e v_n before, of one point without friction that hits fast enough."""
    given = case.robot.model.contacts
    robot = case.robot.with_contacts(
        list(given.points)[:1], given.ground, friction=0, restitution=restitution
    )
    q = kt.contacts.on_ground(robot, case.q)
    J = next(iter(contact_jacobians(robot, q).values()))
    before = case.normal @ J @ case.dq
    assume(before < -0.3)
    after = case.normal @ J @ robot.step(q, case.dq, np.zeros(robot.n), DT)[1]
    close(after, -restitution * before, TURNED, abs(before))


@settings(max_examples=10)
@given(grounded(), ANGLES, vector(1))
def test_turning_the_world_changes_no_motion(case, turn, place):
    """Gravity, ground and the base turned together; contacts too are the same."""
    R, place = rotation(turn), np.array(place)
    ground = Plane(tuple(R @ case.normal), tuple(place))
    other = case.robot.with_contacts(
        list(case.robot.model.contacts.points), ground, friction=case.mu
    ).with_gravity(R @ (0, 0, -9.81))
    q = case.q.copy()
    q[:4] = kt.spatial.quaternion(R @ kt.spatial.from_quaternion(case.q[:4]))
    q[4:7] = R @ case.q[4:7] + place
    options = {"duration": 0.01, "dt": 1e-3, "limits": "ignore"}
    a, b = case.robot.simulate(case.q, case.dq, **options), other.simulate(q, case.dq, **options)
    for name, f in a.meta["contact_forces"].items():
        close(b.meta["contact_forces"][name], f @ R.T, 1e-4, 1.0)
    close(b.dq, a.dq, 1e-5, 1.0)


@settings(max_examples=15)
@given(grounded(), SEEDS, st.booleans())
def test_forces_of_a_motion_in_contact_make_this_motion(case, seed, feasible):
    """M ddq + h = tau + J^T f - residual, which is zero if forces within the cones exist."""
    J = contact_jacobians(case.robot, case.q).values()
    rng = np.random.default_rng(seed)
    made = np.zeros(case.free.n)
    for x in J:  # random forces well within the cones
        side = np.cross(case.normal, rng.normal(size=3))
        f = rng.uniform(0, 9) * (case.normal + 0.99 * case.mu * side / np.linalg.norm(side))
        made += x.T @ f
    still = 0 * case.dq
    ddq = dynamics.forward_dynamics(case.free.model, case.q, still, made)
    ddq = ddq if feasible else 0.1 * ddq
    found = kt.contacts.inverse_dynamics(
        case.robot, *(np.array([x, x]) for x in (case.q, still, ddq))
    )
    f, needed = found.forces[0], dynamics.inverse_dynamics(case.free.model, case.q, still, ddq)
    push = f @ case.normal
    size = 1 + np.abs(f).max() + np.abs(needed).max()
    assert (push >= -1e-7 * size).all()
    rub = np.linalg.norm(f - push[:, None] * case.normal, axis=1)
    assert (rub <= case.mu * push + 1e-6 * size).all()
    carried = sum(x.T @ force for x, force in zip(J, f, strict=True))
    close(found.tau[0] + carried + found.residual[0], needed, 1e-6, size)
    assert not found.tau[0, :6].any()
    if feasible:
        assert np.abs(found.residual).max() < 1e-5 * size


@settings(max_examples=5)
@given(grounded(), st.sampled_from(["dq", "tau"]))
def test_derivatives_of_a_soft_step_are_its_differences(case, name):
    """Where both one-sided differences agree: no contact changes its mode."""
    model = case.robot.model.contacts
    robot = case.robot.with_contacts(
        list(model.points), model.ground, friction=case.mu, compliance=1e-5
    )
    v, zero = np.linspace(1, 2, robot.n), np.zeros(robot.n)
    kernel = robot.derivative("step_semi_implicit_euler", [name])
    found = kernel(case.q, case.dq, zero, 1e-3)
    by_end = [np.asarray(x) @ v for x in (found if isinstance(found, tuple) else (found,))]

    def after(h):
        dq, tau = case.dq + h * v * (name == "dq"), h * v * (name == "tau")
        return robot.step(case.q, dq, tau, 1e-3)[1]

    ahead, back = ((after(h) - after(0)) / h for h in (1e-6, -1e-6))
    assume(np.abs(ahead - back).max() < 1e-4)
    close(by_end[-1], (ahead + back) / 2, 1e-4, 1e-2)

"""Laws of the equations of motion on random mechanisms."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import (
    ANGLES,
    EVERYTHING,
    SCREWS,
    SEEDS,
    SIZES,
    Mechanism,
    Units,
    build,
    close,
    differences,
    mechanisms,
    rotation,
    slides,
    state,
    vector,
    wrenches,
)

import kinetree as kt
from kinetree import dynamics

KERNELS = sorted(kt.testing.laws.KERNELS)
UNITS = st.builds(Units, *3 * [st.sampled_from([1.0, 1e3, 1e-2])])


@settings(max_examples=100)
@given(mechanisms(drives=EVERYTHING), SEEDS)
def test_all_laws_of_check_robot_hold(mechanism, seed):
    report = kt.testing.check_robot(build(mechanism), states=1, seed=seed, kernel_names=())
    report.raise_if_failed()


@settings(max_examples=30)
@given(mechanisms(4, drives=EVERYTHING), SEEDS, st.sampled_from(KERNELS))
def test_kernels_are_the_plain_functions(mechanism, seed, name):
    report = kt.testing.check_robot(build(mechanism), states=2, seed=seed, kernel_names=(name,))
    report.raise_if_failed()


# ----------------------------------------------------- Newton and Euler, from the data alone


def link_poses(mechanism: Mechanism, q) -> list:
    """Pose of every link in {s}, by rotations and translations, (4, 4)."""
    poses = []
    for x, values in zip(mechanism.parts, joint_positions(mechanism, q), strict=True):
        T = np.eye(4) if x.parent < 0 else poses[x.parent]
        poses.append(T @ x.at @ joint_motion(x, values + x.drive.get("offset", 0)))
    return poses


def joint_positions(mechanism, q) -> list:
    """The coordinates of every joint; those of followers are their leaders', scaled and shifted."""
    found, k = [], 0
    for x in mechanism.parts:
        size = {"spherical": 4, "free": 7}.get(x.type, SIZES[x.type])
        if "mimic" in x.drive:
            source, factor, offset = x.drive["mimic"]
            found.append(found[source] * factor + offset)
        else:
            found.append(q[k : k + size])
            k += size
    return found


def joint_motion(x, q):
    """Pose of the joint's child at q in its own pose at q = 0."""
    T = np.eye(4)
    if x.type in ("spherical", "free"):
        w, x_, y, z = q[:4]
        T[:3, :3] = rotation_of_quaternion(np.array([x_, y, z]), w)
        T[:3, 3] = q[4:] if x.type == "free" else 0
    elif x.type == "planar":
        T[:3, :3], T[:2, 3] = rotation((0, 0, q[0])), q[1:]
    elif x.type == "prismatic":
        T[:3, 3] = np.array(x.axis) * q
    elif x.type != "fixed":
        axis, point = np.array(x.axis, float), np.array(x.point)
        R = rotation_of_quaternion(axis * np.sin(q / 2), np.cos(q[0] / 2))
        T[:3, :3], T[:3, 3] = R, point - R @ point + axis * x.pitch * q
    return T


def rotation_of_quaternion(v, w):
    """R = 1 + 2 w [v] + 2 [v]^2, with w^2 + |v|^2 = 1."""
    K = np.cross(np.eye(3), v)
    return np.eye(3) + 2 * w * K + 2 * K @ K


class Motion:
    """Velocities and momenta of all links in {s} by differences of their poses."""

    def __init__(self, mechanism, model, q, dq):
        self.mechanism, self.q, self.dq = mechanism, q, dq

        def poses(t, e):
            return np.array(link_poses(mechanism, dynamics.integrate(model, q, e * t)))

        self.T = np.array(link_poses(mechanism, q))
        slopes = [differences(partial(poses, e=e)) for e in np.eye(model.n)]
        self.w = np.zeros((model.n, len(self.T), 3))  # of each link for each rate of 1
        self.v = np.zeros_like(self.w)  # of each centre of mass
        for k, dT in enumerate(slopes):
            for i, x in enumerate(mechanism.parts):
                W = dT[i, :3, :3] @ self.T[i, :3, :3].T
                self.w[k, i] = W[2, 1], W[0, 2], W[1, 0]
                self.v[k, i] = dT[i, :3] @ [*x.com, 1]

    def momenta(self):
        """Linear and angular momentum of each link, and of each rotor against its carrier."""
        p, L, spins = [], [], []
        for i, x in enumerate(self.mechanism.parts):
            R, w = self.T[i, :3, :3], self.dq @ self.w[:, i]
            p.append(x.m * (self.dq @ self.v[:, i]))
            L.append(R @ x.I_com @ R.T @ w)
            spins.append(np.zeros(4))
            if "rotor" in x.drive:
                spins[-1] = self.spin(i)
        return np.array(p), np.array(L), np.array(spins)

    def spin(self, i):
        """Extra angular momentum of rotor i in {s}, and its whole one about its own axis."""
        inertia, ratio, axis, carrier = self.mechanism.parts[i].drive["rotor"]
        rate = ratio * self.mechanism.factor(i) * self.dq[self.mechanism.dofs[i][0]]
        s = np.array(axis, float) if carrier < 0 else self.T[carrier, :3, :3] @ axis
        turn = 0 if carrier < 0 else s @ (self.dq @ self.w[:, carrier])
        return inertia * np.array([*(rate * s), rate + turn])


def newton_euler(mechanism, model, q, dq, ddq):
    """Joint forces by the powers of all inertia forces, drives and springs (d'Alembert)."""
    now = Motion(mechanism, model, q, dq)

    def momenta(t):
        q_t = dynamics.integrate(model, q, dq * t)
        return np.hstack(Motion(mechanism, model, q_t, dq + ddq * t).momenta())

    rates = differences(momenta)
    tau = np.zeros(model.n)
    g = np.array(mechanism.gravity)
    for i, x in enumerate(mechanism.parts):
        force, moment, spin = np.split(rates[i, :9], 3)
        tau += now.v[:, i] @ (force - x.m * g) + now.w[:, i] @ moment
        if "rotor" in x.drive:
            _, ratio, _, carrier = x.drive["rotor"]
            if carrier >= 0:
                tau += now.w[:, carrier] @ spin
            tau[mechanism.dofs[i][0]] += ratio * mechanism.factor(i) * rates[i, 9]
        if SIZES[x.type] == 1:
            tau[mechanism.dofs[i][0]] += drive_force(mechanism, i, q, ddq)
        elif SIZES[x.type]:
            at = mechanism.dofs[i]
            tau[at] += x.drive.get("armature", 0) * seen_rate(x.type, dq[at], ddq[at])
    tau += tie_forces(mechanism, model, q)
    return tau + friction(mechanism, dq)


def drive_force(mechanism, i, q, ddq):
    """Armature and spring of a joint, times its rate per rate of its leader."""
    x, dof, factor = mechanism.parts[i], mechanism.dofs[i][0], mechanism.factor(i)
    force = x.drive.get("armature", 0) * factor * ddq[dof]
    stiffness, rest = x.drive.get("spring", (0, 0))
    at = joint_positions(mechanism, q)[i][0]
    if "mimic" in x.drive:  # of a follower the position counts at which it stands
        at += x.drive.get("offset", 0)
    return factor * (force + stiffness * (at - rest))


def seen_rate(type, dq, ddq):
    """Rate of the joint's rates with their linear part in fixed axes, in those of the link."""
    if type == "free":
        return ddq + np.array([0, 0, 0, *np.cross(dq[:3], dq[3:])])
    return ddq + np.array([0, -dq[0] * dq[2], dq[0] * dq[1]]) if type == "planar" else ddq


def tie_forces(mechanism, model, q):
    """Gradient of the energy of the springs between points."""

    def energy(t, e):
        T = [*link_poses(mechanism, dynamics.integrate(model, q, e * t)), np.eye(4)]
        lengths = [np.linalg.norm(T[i] @ [*p, 1] - T[k] @ [*r, 1]) for _, _, i, p, k, r in ties]
        return sum(x[0] / 2 * (l - x[1]) ** 2 for x, l in zip(ties, lengths, strict=True))

    ties = mechanism.ties
    return np.array([differences(partial(energy, e=e)) if ties else 0 for e in np.eye(model.n)])


def friction(mechanism, dq):
    """Friction as its documentation writes it."""
    forces = np.zeros(len(dq))
    for i, x in enumerate(mechanism.parts):
        if SIZES[x.type] != 1:
            continue
        dof, factor = mechanism.dofs[i][0], mechanism.factor(i)
        rate = factor * dq[dof]
        way = int(rate < 0)
        viscous, coulomb = np.array(x.drive.get("friction", np.zeros((2, 2))))[:, way]
        more, speed = x.drive.get("stribeck", (0, 1))
        level = coulomb + more * np.exp(-((rate / speed) ** 2))
        size, steepness, shift = x.drive.get("sigmoid", (0, 1, 0))
        curve = 1 / (1 + np.exp(-steepness * (rate + shift))) - 1 / (1 + np.exp(-steepness * shift))
        forces[dof] += factor * (viscous * rate + np.sign(rate) * level + size * curve)
    return forces


@settings(max_examples=60)
@given(mechanisms(drives=EVERYTHING), SEEDS)
def test_joint_forces_are_those_of_newton_and_euler(mechanism, seed):
    """Nothing but the mechanism's data takes part: this also checks what the Builder makes."""
    model = build(mechanism).model
    q, dq, ddq = state(build(mechanism), seed)
    tau = newton_euler(mechanism, model, q, dq, ddq)
    close(dynamics.inverse_dynamics(model, q, dq, ddq), tau, 1e-8, 1.0)


@settings(max_examples=30)
@given(mechanisms(), SEEDS)
def test_poses_and_energies_are_those_of_the_data(mechanism, seed):
    robot = build(mechanism)
    model = robot.model
    q, dq, _ = state(robot, seed)
    own = Motion(mechanism, model, q, dq)
    moving = [int(name[1:]) for name in model.link_names]  # others are merged into these
    close(dynamics.forward_kinematics(model, q), own.T[moving], 1e-12, 1.0)
    p, L, _ = own.momenta()
    m = np.array([x.m for x in mechanism.parts])
    places = np.array([T @ [*x.com, 1] for T, x in zip(own.T, mechanism.parts, strict=True)])[:, :3]
    close(dynamics.center_of_mass(model, q), m @ places / m.sum(), 1e-12, 1.0)
    if not any("rotor" in x.drive for x in mechanism.parts):
        total = np.concatenate([(L + np.cross(places, p)).sum(axis=0), p.sum(axis=0)])
        close(dynamics.momentum(model, q, dq), total, 1e-9, 1.0)


# --------------------------------------------------------------------- invariance


@settings(max_examples=40)
@given(mechanisms(drives=EVERYTHING), SEEDS, st.randoms(use_true_random=False))
def test_names_and_order_change_nothing(mechanism, seed, random):
    parts = range(len(mechanism.parts))
    order, letters = random.sample(parts, len(parts)), random.sample("abcdefgh", len(parts))
    plain = build(mechanism)
    other = build(mechanism, order=order, names=[f"l{x}" for x in letters])
    q, dq, ddq = state(plain, seed)
    renamed = {f"j{i}": f"j{letters[i]}" for i in parts}

    def moved(names, others, values):
        out = np.empty_like(values)
        for name, x in zip(names, values, strict=True):
            head, dot, tail = name.partition(".")
            out[others.index(renamed[head] + dot + tail)] = x
        return out

    q2 = moved(plain.coordinate_names, other.coordinate_names, q)
    dq2, ddq2 = (moved(plain.dof_names, other.dof_names, x) for x in (dq, ddq))
    tau = dynamics.inverse_dynamics(plain.model, q, dq, ddq)
    found = dynamics.inverse_dynamics(other.model, q2, dq2, ddq2)
    close(found, moved(plain.dof_names, other.dof_names, tau), 1e-11, 1.0)


@settings(max_examples=40)
@given(mechanisms(drives={*EVERYTHING} - {"armature"}), SEEDS, UNITS)
def test_units_scale_forces_and_accelerations(mechanism, seed, units):
    """The armature of a free or planar joint is one number for turns and slides: it has no unit."""
    plain, scaled = build(mechanism), build(mechanism, units)
    q, dq, ddq = state(plain, seed)
    way = units.way(slides(mechanism))
    coordinates = np.where([s for s in coordinate_slides(mechanism)], units.length, 1.0)
    rest = (dq * way / units.time, ddq * way / units.time**2)
    tau = dynamics.inverse_dynamics(plain.model, q, dq, ddq)
    force = units.force(slides(mechanism))
    found = dynamics.inverse_dynamics(scaled.model, q * coordinates, *rest)
    close(found / force, tau, 1e-11, np.abs(tau).max(initial=0))
    M = dynamics.mass_matrix(scaled.model, q * coordinates) / np.outer(force, units.time**2 / way)
    close(M, dynamics.mass_matrix(plain.model, q), 1e-11)


def coordinate_slides(mechanism):
    """Which entries of q are m, (nq,)."""
    rows = {"prismatic": [1], "free": 4 * [0] + 3 * [1], "planar": [0, 1, 1], "spherical": 4 * [0]}
    parts = [x for x in mechanism.parts if "mimic" not in x.drive]
    return [s for x in parts for s in rows.get(x.type, SIZES[x.type] * [0])]


@settings(max_examples=40)
@given(mechanisms(), SEEDS, ANGLES, vector(1))
def test_turning_the_base_with_gravity_changes_no_joint_force(mechanism, seed, turn, place):
    """The parts on the base are moved and turned, and so is gravity."""
    R = rotation(turn)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, place
    moved = replace(
        mechanism,
        gravity=tuple(R @ mechanism.gravity),
        parts=tuple(seen_from(x, T) if x.parent < 0 else x for x in mechanism.parts),
    )  # axes of rotors on the base do not count
    plain, other = build(mechanism).model, build(moved).model
    q, dq, ddq = state(build(mechanism), seed)
    tau = dynamics.inverse_dynamics(plain, q, dq, ddq)
    close(dynamics.inverse_dynamics(other, q, dq, ddq), tau, 1e-11, 1.0)
    poses = T @ dynamics.forward_kinematics(plain, q)
    close(dynamics.forward_kinematics(other, q), poses, 1e-12, 1.0)


def seen_from(x, T):
    """The part with its place multiplied by T from the left."""
    at = T @ x.at
    return replace(x, turn=at[:3, :3], place=at[:3, 3])


@settings(max_examples=30)
@given(mechanisms(types=("revolute", "prismatic", "helical", "spherical")), SEEDS, st.data())
def test_locked_joints_stay(mechanism, seed, data):
    """The rest of a robot moves as the whole robot does while some joints stand still."""
    robot = build(mechanism)
    q, dq, ddq = state(robot, seed)
    names = [f"j{i}" for i, x in enumerate(mechanism.parts) if SIZES[x.type] == 1]
    leaders = {x.drive["mimic"][0] for x in mechanism.parts if "mimic" in x.drive}
    names = [x for x in names if x in robot.dof_names and int(x[1:]) not in leaders]
    held = data.draw(st.lists(st.sampled_from(names), unique=True) if names else st.just([]))
    if len(held) == robot.n:
        return
    values = {x: float(q[robot.coordinate_names.index(x)]) for x in held}
    locked = robot.lock(values)
    free = [i for i, x in enumerate(robot.dof_names) if x not in held]
    coords = [i for i, x in enumerate(robot.coordinate_names) if x not in held]
    dq, ddq = (np.isin(np.arange(robot.n), free) * x for x in (dq, ddq))
    tau = dynamics.inverse_dynamics(robot.model, q, dq, ddq)[free]
    found = dynamics.inverse_dynamics(locked.model, q[coords], dq[free], ddq[free])
    close(found, tau, 1e-11, 1.0)


@settings(max_examples=30)
@given(mechanisms(drives=("friction", "armature", "spring", "offset")), SEEDS)
def test_the_wrench_on_a_free_base_changes_the_momentum(mechanism, seed):
    parts = [replace(mechanism.parts[0], type="free", drive={})]
    parts += [replace(x, parent=max(x.parent, 0)) for x in mechanism.parts[1:]]
    robot = build(Mechanism(tuple(parts), (0, 0, 0)))
    model, (q, dq, ddq) = robot.model, state(robot, seed)

    def momentum(t):
        q_t = dynamics.integrate(model, q, dq * t)
        return dynamics.momentum(model, q_t, dq + ddq * t)

    T = dynamics.forward_kinematics(model, q)[0]
    wrench = dynamics.inverse_dynamics(model, q, dq, ddq)[:6]
    close(differences(momentum), kt.spatial.Ad(kt.spatial.inverse(T)).T @ wrench, 1e-8, 10.0)


# --------------------------------------------------------------------- derivatives


QUANTITIES = {
    "inverse_dynamics": ("inverse_dynamics_derivatives", 1e-8),
    "forward_dynamics": ("forward_dynamics_derivatives", 1e-6),
}


@pytest.mark.parametrize("name", QUANTITIES)
@settings(max_examples=40)
@given(mechanisms(4, drives=EVERYTHING), SEEDS)
def test_derivatives_are_differences(name, mechanism, seed):
    robot = build(mechanism)
    model, (q, dq, u) = robot.model, state(robot, seed)
    F = wrenches(robot, seed)
    derivatives, tolerance = QUANTITIES[name]
    found = getattr(dynamics, derivatives)(model, q, dq, u, F)
    f = partial(getattr(dynamics, name), model)
    axes = np.eye(model.n)
    by_q = [
        differences(lambda t, e=e: f(dynamics.integrate(model, q, e * t), dq, u, F)) for e in axes
    ]
    slow = [differences(lambda t, e=e: f(q, dq + e * t, u, F), 1e-3) for e in axes]
    scale = 1 + np.abs(f(q, dq, u, F)).max()
    close(found[0], np.transpose(by_q), tolerance, scale)
    close(found[1], np.transpose(slow), tolerance, scale)


@settings(max_examples=30)
@given(mechanisms(4), SEEDS)
def test_rates_are_derivatives_along_the_motion(mechanism, seed):
    """Of Jacobians, momentum matrix, bias forces; friction is smooth away from rest."""
    robot = build(mechanism)
    model, (q, dq, ddq) = robot.model, state(robot, seed)

    def along(f):
        return differences(lambda t: f(dynamics.integrate(model, q, dq * t), dq + ddq * t), 2e-3)

    a = dynamics
    close(
        a.body_jacobian_rate(model, q, dq),
        along(lambda q, dq: a.body_jacobian(model, q)),
        1e-8,
        1,
    )
    close(
        a.space_jacobian_rate(model, q, dq),
        along(lambda q, dq: a.space_jacobian(model, q)),
        1e-8,
        1,
    )
    matrix = along(lambda q, dq: a.centroidal_momentum_matrix(model, q))
    close(a.centroidal_momentum_matrix_rate(model, q, dq), matrix, 1e-8, 1)
    bias = along(lambda q, dq: a.bias_forces(model, q, dq))
    close(a.bias_forces_rate(model, q, dq, ddq), bias, 1e-7, 10)
    velocity = a.frame_velocity(model, q, dq)
    close(velocity, a.body_jacobian(model, q) @ dq, 1e-12, 1)
    twist = along(lambda q, dq: a.frame_velocity(model, q, dq))
    close(a.frame_acceleration(model, q, dq, ddq), twist, 1e-8, 10)


@settings(max_examples=8)
@given(mechanisms(2, types=SCREWS, drives=("armature", "rotor"), floating=False), SEEDS)
def test_second_derivatives_are_differences_of_the_first(mechanism, seed):
    robot = build(mechanism)
    model, (q, dq, ddq) = robot.model, state(robot, seed)
    y, v = np.random.default_rng(seed).normal(size=(2, model.n))
    found = robot.derivative("inverse_dynamics", ["q", "dq"], order=2)(q, dq, ddq, y)

    def slopes(a, b):
        first = dynamics.inverse_dynamics_derivatives(model, q + a * v, dq + b * v, ddq)
        return np.array([y @ x for x in first])

    (by_qq, by_q_dq), (_, by_dq_dq) = (
        differences(lambda t: slopes(t, 0)),
        differences(lambda t: slopes(0, t)),
    )
    scale = 1 + np.abs(slopes(0, 0)).max()
    close(found[0] @ v, by_qq, 1e-7, scale)
    close(v @ found[1], by_q_dq, 1e-7, scale)
    close(found[2] @ v, by_dq_dq, 1e-7, scale)


@settings(max_examples=15)
@given(mechanisms(4, drives=("armature", "rotor")), SEEDS)
def test_derivatives_of_the_task_space_are_differences(mechanism, seed):
    robot = build(mechanism)
    model, (q, dq, v) = robot.model, state(robot, seed)
    rows = range(3, 6)
    J = dynamics.body_jacobian(model, q)[3:]
    assume(model.n >= 3 and np.linalg.svd(J)[1].min() > 0.1)
    names = ["dLambda_dq", "deta_dq", "deta_ddq"]
    slopes_of = robot.derivative("task_space", ["q", "dq"], rows=rows)
    found = dict(zip((x.name for x in slopes_of.graph.outputs), slopes_of(q, dq), strict=True))
    dLambda_dq, deta_dq, deta_dv = map(found.get, names)
    at = partial(dynamics.task_space, model, rows=rows)

    def moved(t):
        x = at(dynamics.integrate(model, q, v * t), dq)
        return np.concatenate([x.Lambda.ravel(), x.eta])

    slopes = differences(moved, 1e-3)
    scale = np.abs(moved(0)).max()
    close((dLambda_dq @ v).ravel(), slopes[:9], 1e-5, scale)
    close(deta_dq @ v, slopes[9:], 1e-5, scale)
    close(deta_dv @ v, differences(lambda t: at(q, dq + v * t).eta, 1e-3), 1e-5, scale)


@settings(max_examples=30)
@given(mechanisms(4), SEEDS)
def test_the_coriolis_matrix_is_that_of_christoffel(mechanism, seed):
    model, (q, dq, _) = build(mechanism).model, state(build(mechanism), seed)
    symbols = dynamics.christoffel_symbols(model, q)
    close(symbols @ dq, dynamics.coriolis_matrix(model, q, dq), 1e-11, 1)
    C = dynamics.coriolis_matrix(model, q, dq)
    close(dynamics.coriolis_forces(model, q, dq), C @ dq, 1e-11, 1)


@settings(max_examples=30)
@given(mechanisms(drives=("armature", "rotor"), floating=True), SEEDS, st.sampled_from([3, 6]))
def test_task_space_dynamics_are_those_of_the_joints(mechanism, seed, rows):
    """F = Lambda dV + eta for the motion that the wrench F on the tool makes."""
    robot = build(mechanism)
    model, (q, dq, _) = robot.model, state(robot, seed)
    J = dynamics.body_jacobian(model, q)[6 - rows :]
    assume(np.linalg.svd(J)[1].min() > 1e-2 and model.n >= rows)
    F = np.arange(1.0, rows + 1)
    ddq = dynamics.forward_dynamics(model, q, dq, J.T @ F)
    dV = J @ ddq + dynamics.body_jacobian_rate(model, q, dq)[6 - rows :] @ dq
    found = dynamics.task_space(model, q, dq, rows=range(6 - rows, 6))
    close(found.Lambda @ dV + found.eta, F, 1e-8, np.abs(found.eta).max())

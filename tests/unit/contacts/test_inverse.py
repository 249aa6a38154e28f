"""Inverse dynamics with contacts: laws, and cone programs solved another way."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls, root

import kinetree as kt
from kinetree.errors import InputError, KinetreeWarning, ModelError

LEGS = ("front_left", "front_right", "rear_left", "rear_right")
MU = 0.6


@pytest.fixture(scope="module")
def dog() -> kt.Robot:
    feet = [kt.contacts.ContactPoint(leg, f"{leg}_foot", radius=0.02) for leg in LEGS]
    return kt.robots.quadruped().with_contacts(feet, kt.contacts.Plane((0.1, 0, 1)), friction=MU)


def motions(robot: kt.Robot, count: int, size: float) -> tuple[np.ndarray, ...]:
    """Random motions around a stance."""
    rng = np.random.default_rng(3)
    q = np.tile(robot.neutral(), (count, 1))
    names = robot.coordinate_names
    for leg in LEGS:
        q[:, names.index(f"{leg}_swing")] = 0.7
        q[:, names.index(f"{leg}_knee")] = -1.4
    q[:, 7:] += 0.1 * rng.normal(size=(count, 12))
    dq = 0.3 * rng.normal(size=(count, robot.n))
    return q, dq, size * rng.normal(size=(count, robot.n))


def equations(robot: kt.Robot, q, dq, ddq) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G and s of G f = s, weighted by M_u^-1, and the axes of a contact, from other kernels."""
    normal = np.array([0.1, 0, 1]) / np.hypot(0.1, 1)
    across = np.array([0.0, 1, 0])
    axes = np.array([normal, np.cross(across, normal), across])
    J = []
    for leg in LEGS:
        T = robot.pose(q, f"{leg}_foot")
        point = T[:3, 3] - 0.02 * normal
        space = robot.space_jacobian(q, f"{leg}_foot")
        J.append(axes @ (space[3:] + np.cross(space[:3].T, point).T))
    W = np.linalg.inv(np.linalg.cholesky(robot.mass_matrix(q)[:6, :6]))
    r = robot.inverse_dynamics(q, dq, ddq)
    return W @ np.concatenate(J)[:, :6].T, W @ r[:6], axes


def test_forces_balance_the_motion_within_the_cones(dog: kt.Robot) -> None:
    q, dq, ddq = motions(dog, 64, 0.4)
    forces = dog.contact_inverse_dynamics(q, dq, ddq)
    assert forces.feasible.all() and forces.converged.all()
    r = dog.inverse_dynamics(q, dq, ddq)
    for k in range(0, 64, 16):
        G, s, axes = equations(dog, q[k], dq[k], ddq[k])
        f = forces.forces[k] @ axes.T
        np.testing.assert_allclose(G @ f.ravel(), s, atol=1e-9)
        assert (np.hypot(f[:, 1], f[:, 2]) <= MU * f[:, 0] + 1e-12).all()
    assert (forces.tau[:, :6] == 0).all() and (forces.residual[:, 6:] == 0).all()
    assert abs(forces.residual).max() < 1e-9 * abs(r).max()


def test_forces_are_the_least_ones(dog: kt.Robot) -> None:
    """The least f with G f = s is the point of the cones nearest to G^T y, with six unknowns y."""
    q, dq, ddq = motions(dog, 40, 1.5)
    forces = dog.contact_inverse_dynamics(q, dq, ddq)
    at_limit = 0
    for k in np.flatnonzero(forces.feasible):
        G, s, axes = equations(dog, q[k], dq[k], ddq[k])
        start = np.linalg.solve(G @ G.T, s)
        found = root(lambda y, G=G, s=s: G @ nearest(G.T @ y) - s, start, tol=1e-13)
        f = nearest(G.T @ found.x)
        if abs(G @ f - s).max() < 1e-9:
            ours = (forces.forces[k] @ axes.T).ravel()
            assert ours @ ours == pytest.approx(f @ f, rel=1e-11)
            np.testing.assert_allclose(ours, f, atol=5e-5)  # the optimum is flat
            at_limit += bool((abs(f - G.T @ found.x) > 1e-3).any())
    assert at_limit > 5


def nearest(f: np.ndarray) -> np.ndarray:
    """Nearest points of the friction cones."""
    normal, across = f[::3], np.hypot(f[1::3], f[2::3])
    on_edge = (normal + MU * across) / (1 + MU * MU)
    on_edge = np.where(MU * normal >= across, normal, np.maximum(on_edge, 0))
    scale = np.where(across > MU * on_edge, MU * on_edge / np.maximum(across, 1e-300), 1)
    return np.stack([on_edge, f[1::3] * scale, f[2::3] * scale], 1).ravel()


def test_a_motion_without_solution_has_the_least_residual(dog: kt.Robot) -> None:
    q, dq, ddq = motions(dog, 6, 6.0)
    forces = dog.contact_inverse_dynamics(q, dq, ddq)
    assert not forces.feasible.all() and forces.converged.all()
    angles = np.linspace(0, 2 * np.pi, 256, endpoint=False)
    edges = np.array([np.ones_like(angles), MU * np.cos(angles), MU * np.sin(angles)])
    rays = np.kron(np.eye(4), edges)  # a cone of 256 edges, within 8e-5 of the round one
    for k in np.flatnonzero(~forces.feasible):
        G, s, _ = equations(dog, q[k], dq[k], ddq[k])
        least = nnls(G @ rays, s)[1] / np.linalg.norm(s)
        assert forces.shortfall[k] == pytest.approx(least, rel=3e-4, abs=1e-5)
        assert forces.excess[k].max() > 0


def test_contacts_that_do_not_touch_have_no_force(dog: kt.Robot) -> None:
    q, dq, ddq = motions(dog, 8, 0.3)
    mask = np.tile([[1, 1, 1, 0], [1, 0, 1, 1]], (4, 1)).astype(bool)
    forces = dog.contact_inverse_dynamics(q, dq, ddq, contacts=mask)
    assert (forces.forces[~mask] == 0).all() and (forces.forces[mask][:, 2] > 0).any()
    named = dog.contact_inverse_dynamics(q[0], dq[0], ddq[0], contacts=LEGS[:3])
    np.testing.assert_array_equal(named.forces, forces.forces[0])


def test_effort_weighs_joint_forces(dog: kt.Robot) -> None:
    q, dq, ddq = (x[0] for x in motions(dog, 1, 0.3))
    sums = []
    for effort in (0, 1, 100, 1e4):
        forces = dog.contact_inverse_dynamics(q, dq, ddq, effort=effort)
        assert forces.feasible and forces.converged
        sums.append(((forces.forces**2).sum(), (forces.tau**2).sum()))
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(sums))


def test_the_frame_of_the_base_does_not_matter() -> None:
    """A slider on a plane whose base frame is elsewhere needs the same forces."""
    results = []
    for x in (0.0, 0.3):
        builder = kt.Builder("block").link("world")
        builder.link("body", 2.0, (x, 0, 0), np.diag([0.1, 0.2, 0.3]))
        builder.joint("base", "free", "world", "body")
        feet = [
            kt.contacts.ContactPoint(f"p{k}", "body", (x + a, b, -0.1))
            for k, (a, b) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.0)])
        ]
        robot = builder.build().with_contacts(feet, friction=0.3)
        q = robot.neutral()
        q[robot.coordinate_names.index("base.x")] = -x
        ddq = np.array([0, 0, 0, 5.0, 0, 0])  # more than friction allows
        with pytest.warns(KinetreeWarning, match="leave the cones of"):
            results.append(robot.contact_inverse_dynamics(q, np.zeros(6), ddq))
    np.testing.assert_allclose(results[0].forces, results[1].forces, atol=1e-6)


@pytest.mark.parametrize("mu", [0.0, 1e-3, 20.0])
def test_extreme_friction(dog: kt.Robot, mu: float) -> None:
    contacts = replace(dog.model.contacts, friction=mu, ground=kt.contacts.Plane())
    robot = kt.Robot(dog.model.replace(contacts=contacts))
    q, dq, _ = (x[0] for x in motions(dog, 1, 0))
    forces = robot.contact_inverse_dynamics(q, 0 * dq, 0 * dq)
    assert forces.feasible and forces.converged
    weight = 9.81 * robot.model.m.sum()
    assert forces.forces[:, 2].sum() == pytest.approx(weight)
    if mu == 0:
        assert (forces.forces[:, :2] == 0).all()


def test_every_state_may_have_its_own_friction() -> None:
    robot = kt.contacts.monoped()
    kernel = robot.compile("contact_inverse_dynamics", free=["contact_friction"])
    q, still, ddq = robot.neutral(), np.zeros(5), np.array([2.0, 0, 1, 0, 0])
    mu = np.array([[0.002], [0.005], [0.4]])
    forces = kernel(q, still, ddq, [1], mu)[1]
    for friction, f in zip(mu[:, 0], forces, strict=True):
        contacts = replace(robot.model.contacts, friction=friction)
        other = kt.Robot(robot.model.replace(contacts=contacts))
        expected = kt.algorithms.contact_inverse_dynamics(other.model, q, still, ddq).forces
        np.testing.assert_allclose(f, expected, atol=1e-6)
    assert abs(forces[0, 0, 0]) < abs(forces[1, 0, 0]) < abs(forces[2, 0, 0])


def test_wrenches_and_motors(dog: kt.Robot) -> None:
    q, dq, ddq = (x[0] for x in motions(dog, 1, 0.1))
    lift = dog.wrenches({"imu": [0, 0, 0, 0, 0, 40]})
    down, up = (dog.contact_inverse_dynamics(q, dq, ddq, F) for F in (None, lift))
    change = up.forces.sum(0) - down.forces.sum(0)
    np.testing.assert_allclose(change, [0, 0, -40], atol=1e-9)
    without = [x for x in dog.dof_names[6:] if x != "rear_left_knee"]
    with pytest.warns(KinetreeWarning, match="missing at"):
        lame = dog.contact_inverse_dynamics(q, dq, ddq, contacts=["rear_left"], actuated=without)
    assert lame.tau[dog.dof_names.index("rear_left_knee")] == 0


def test_one_state_equals_the_batch_and_the_plain_function(dog: kt.Robot) -> None:
    q, dq, ddq = motions(dog, 5, 0.4)
    batch = dog.contact_inverse_dynamics(q, dq, ddq)
    one = dog.contact_inverse_dynamics(q[2], dq[2], ddq[2])
    plain = kt.algorithms.contact_inverse_dynamics(dog.model, q[2], dq[2], ddq[2])
    np.testing.assert_array_equal(batch[2].forces, one.forces)
    np.testing.assert_allclose(plain.forces, one.forces, atol=1e-8)
    np.testing.assert_allclose(plain.tau, one.tau, atol=1e-8)


def test_shares_of_a_force_add_up(dog: kt.Robot) -> None:
    q, dq, ddq = (x[0] for x in motions(dog, 1, 0.4))
    load = dog.wrenches({"imu": [0, 0, 0, 3, 0, -5]})
    forces = dog.contact_inverse_dynamics(q, dq, ddq, load)
    node = kt.contacts.explain(forces, "rear_left")
    assert [x.name for x in node.children] == ["gravity", "acceleration", "velocity", "loads"]
    np.testing.assert_allclose(np.sum([x.value for x in node.children], 0), node.value, atol=1e-5)
    np.testing.assert_array_equal(node.value, forces.forces[2])
    still = dog.contact_inverse_dynamics(q, 0 * dq, 0 * ddq)
    np.testing.assert_allclose(node["gravity"].value, still.forces[2], atol=1e-5)


def test_bad_input_is_named(dog: kt.Robot) -> None:
    q, dq, ddq = (x[0] for x in motions(dog, 1, 0.4))
    with pytest.raises(ModelError, match="needs a robot with contacts, and"):
        kt.robots.quadruped().contact_inverse_dynamics(q, dq, ddq)
    with pytest.raises(InputError, match="'nose'; expected names of contacts"):
        dog.contact_inverse_dynamics(q, dq, ddq, contacts=["nose"])
    with pytest.raises(InputError, match=r"expected shape \(\.\.\., 4\) of 1 \(touches\) and 0"):
        dog.contact_inverse_dynamics(q, dq, ddq, contacts=[0.5, 1, 1, 1])
    with pytest.raises(InputError, match="have motors, which make every motion"):
        dog.contact_inverse_dynamics(q, dq, ddq, actuated=dog.dof_names)
    with pytest.raises(InputError, match="there is no contact 'nose'"):
        kt.contacts.explain(dog.contact_inverse_dynamics(q, dq, ddq), "nose")

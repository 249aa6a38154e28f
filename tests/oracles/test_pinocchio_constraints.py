"""Constrained dynamics against Pinocchio, on random trees with random loops and held frames.

Pinocchio's mass matrix, bias forces, frame Jacobians and accelerations make the equations
M ddq - J^T lambda = tau - h, J ddq = -gamma, which NumPy solves by singular values. Its own
constraintDynamics solves the same for those without redundant equations.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.constraints import Hold, Loop
from kinetree.model import ALL_TYPES, random_model
from kinetree.spatial import inverse

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-9  # times the condition of the constraints
SEEDS = range(30)  # 100 agree as well


class Case:
    """A robot with a loop, or a hold, or both, at a closed state."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng((1717, seed))
        model = random_model(seed, 4 + seed % 5, types=ALL_TYPES, drives=True)
        tree = kt.Robot(without_what_it_leaves_out(model))
        names, q = list(tree.model.link_names), tree.random(rng=rng)
        i, k = rng.choice(len(names), 2, replace=False)
        tree = tree.with_tool("a", at=rng.normal(size=3) * 0.2, frame=names[i])
        T_sa = algorithms.pose(tree.model, q, "a")
        tree = tree.with_tool(
            "b", inverse(algorithms.pose(tree.model, q, names[k])) @ T_sa, names[k]
        )
        kinds = ("point", "pose")
        self.given = {}
        if seed % 3 < 2:
            self.given["loop"] = Loop("a", "b", kinds[seed % 2])
        if seed % 3 > 0:
            T = algorithms.pose(tree.model, q, names[-1])
            self.given["hold"] = Hold(names[-1], kinds[(seed // 2) % 2], T)
        self.last, self.tree, self.q = names[-1], tree, q
        self.robot = tree.constrained(self.given, near=q)
        self.dq = algorithms.project_rates(self.robot.model, q, rng.normal(size=tree.n))
        self.tau = rng.normal(size=tree.n)
        self.pair = twin(tree.model)
        self.data = self.pair.theirs.createData()
        self.number = {-1: 0} | {i: k + 1 for k, i in enumerate(self.pair.links)}

    def place(self, frame: str):
        """Their joint and the pose of one of our frames in it."""
        own = self.tree.model.frames[frame]
        T = np.linalg.inv(self.pair.T[own.link]) @ own.T_if
        return self.number[own.link], pin.SE3(T)

    def ends(self):
        """Joint and placement of both ends of each constraint, and whether it turns."""
        found = []
        for record in self.given.values():
            if isinstance(record, Loop):
                first, second = self.place(record.frame_a), self.place(record.frame_b)
            else:
                first, second = (0, pin.SE3(np.asarray(record.at))), self.place(record.frame)
            found.append((first, second, record.kind == "pose"))
        return found

    def equations(self):
        """M, h, J, gamma in our order of joints, by their functions, in the axes of the world."""
        model, data, order = self.pair.theirs, self.data, self.pair.order
        q, v = self.pair.q(self.q), self.dq[order]
        n = len(v)
        upper = np.triu(pin.crba(model, data, q))
        M, h = upper + np.triu(upper, 1).T, np.array(pin.nle(model, data, q, v))
        rows, gamma = [], []
        for *ends, turns in self.ends():
            J, a = np.zeros((6, n)), np.zeros(6)
            for sign, (joint, place) in zip((-1, 1), ends, strict=True):
                if joint == 0:
                    continue
                frame = pin.Frame("", joint, place, pin.FrameType.OP_FRAME)
                again = model.copy()
                number = again.addFrame(frame)
                own = again.createData()
                pin.forwardKinematics(again, own, q, v, np.zeros(n))
                axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
                J += sign * pin.computeFrameJacobian(again, own, q, number, axes)
                pin.forwardKinematics(again, own, q, v, np.zeros(n))
                pin.updateFramePlacements(again, own)
                moved = pin.getFrameClassicalAcceleration(again, own, number, axes)
                a += sign * np.concatenate([moved.linear, moved.angular])
            rows.append(J if turns else J[:3])
            gamma.append(a if turns else a[:3])
        inverse_order = np.argsort(order)
        J = np.concatenate(rows)[:, inverse_order]
        return M[np.ix_(inverse_order, inverse_order)], h[inverse_order], J, np.concatenate(gamma)


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_and_forces_agree_with_the_equations_of_pinocchio(seed):
    case = Case(seed)
    M, h, J, gamma = case.equations()
    n, m = len(h), len(gamma)
    # symmetric scaling keeps the rank visible: rows by the masses they move
    scale = 1 / np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", J, np.linalg.inv(M), J), 1e-12))
    K = np.block([[M, (J * scale[:, None]).T], [J * scale[:, None], np.zeros((m, m))]])
    found, _, rank, values = np.linalg.lstsq(
        K, np.concatenate([case.tau - h, -gamma * scale]), rcond=1e-11
    )
    condition = values[0] / values[rank - 1]
    model = case.robot.model
    ddq, lam, residual = algorithms.constrained_forward_dynamics(model, case.q, case.dq, case.tau)
    own = algorithms.constraint_jacobian(model, case.q).T @ lam
    theirs = M @ found[:n] + h - case.tau  # J^T lambda
    size = 1 + np.abs(found[:n]).max()
    assert np.abs(ddq - found[:n]).max() < AGREEMENT * size * max(1, 1e-3 * condition)
    assert np.abs(own - theirs).max() < AGREEMENT * (1 + np.abs(theirs).max()) * condition
    assert np.abs(residual).max() < 1e-9 * size


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed % 5 == 0])
def test_accelerations_agree_with_constraint_dynamics_of_pinocchio(seed):
    case = Case(seed)
    if case.robot.mobility.redundant:
        pytest.skip("constraintDynamics does not converge to the least norm")
    model, data, order = case.pair.theirs, case.data, case.pair.order
    contacts = []
    for (i, A), (k, B), turns in case.ends():
        kind = pin.ContactType.CONTACT_6D if turns else pin.ContactType.CONTACT_3D
        # their constraint is written for the joint that moves
        ends = (k, B, i, A)
        contacts.append(pin.RigidConstraintModel(kind, model, *ends, pin.LOCAL))
    theirs = [contact.createData() for contact in contacts]
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    pin.initConstraintDynamics(model, data, contacts, theirs)
    q, v = case.pair.q(case.q), case.dq[order]
    pin.constraintDynamics(model, data, q, v, case.tau[order], contacts, theirs, settings)
    found = np.empty(len(v))
    found[order] = data.ddq
    ddq = algorithms.constrained_forward_dynamics(case.robot.model, case.q, case.dq, case.tau).ddq
    assert np.abs(ddq - found).max() < 1e-6 * (1 + np.abs(found).max())

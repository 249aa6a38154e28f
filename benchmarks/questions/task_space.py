"""Task space of the tool in a batch and for one state, beside the parts that Pinocchio has.

Pinocchio has no function for the task space. A loop in Python calls those that it has for J, its
rate, M^-1, h and g, and NumPy does the products, as its users write it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import check
from benchmarks.peers.labels import PYTHON_LOOP
from benchmarks.robots import Case, load
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree import dynamics

COUNT = 256
ONE, MANY = "task space, one state", f"task space, {COUNT} states"
TEXTBOOK = "kinetree.dynamics"
ROBOTS = ("panda", "ur5")
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]  # rows of Pinocchio's twists in the order of ours
FIELDS = ("J", "dJ", "Lambda", "eta", "p", "J_bar", "N")


def ask(robot: str, effort: Effort) -> Answer:
    """All terms of the tool in body axes, on one core; results that differ are not timed."""
    answer = Answer()
    if robot not in ROBOTS:
        return answer
    case = load(robot)
    q, dq = states(case, COUNT)
    with one_core():
        for quantity, given in ((MANY, (q, dq)), (ONE, (q[0], dq[0]))):
            jobs = {"kinetree": own_job(case, *given)}
            try:
                jobs[PYTHON_LOOP] = pinocchio_job(case, *given)
            except ImportError as problem:
                answer.notes.append(f"pinocchio: not installed ({problem.name or problem})")
            if quantity == ONE:
                jobs[TEXTBOOK] = textbook_job(case, *given)
            agreed, notes = check(jobs)
            answer.notes += [f"{quantity} of {robot}, {note}" for note in notes]
            parts = COUNT if quantity == MANY else 1
            timings = side_by_side(agreed, effort, parts)
            answer.rows += timing_rows("task_space", robot, quantity, timings, parts)
    return answer


def states(case: Case, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates, (count, n), where J is far from singular."""
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.2, 1.2, (20 * count, case.model.n))
    smallest = np.linalg.svd(case.robot.body_jacobian(q), compute_uv=False)[:, -1]
    chosen = q[np.argsort(-smallest)[:count]]
    return chosen, rng.normal(size=chosen.shape)


def packed(found: Any) -> np.ndarray:
    """All numbers of a record, state by state."""
    parts = [np.asarray(getattr(found, name)) for name in FIELDS]
    count = 1 if found.eta.ndim == 1 else len(found.eta)
    return np.concatenate([x.reshape(count, -1) for x in parts], axis=1)


def own_job(case: Case, q: np.ndarray, dq: np.ndarray) -> Job:
    """robot.task_space, called plainly."""
    names = {"robot": case.robot, "q": q, "dq": dq}
    return Job("robot.task_space(q, dq)", names, lambda: packed(case.robot.task_space(q, dq)))


def textbook_job(case: Case, q: np.ndarray, dq: np.ndarray) -> Job:
    """The algorithm on floats, without a kernel."""
    names = {"run": dynamics.task_space, "model": case.model, "q": q, "dq": dq}
    return Job("run(model, q, dq)", names, lambda: packed(dynamics.task_space(case.model, q, dq)))


def pinocchio_job(case: Case, q: np.ndarray, dq: np.ndarray) -> Job:
    """A loop over the states; one state is called without a loop."""
    from benchmarks.peers.pinocchio import model_of

    model, data, columns = model_of(case)
    one = parts_of(model, data, case, columns)
    own = [np.ascontiguousarray(x[..., columns]) for x in (q, dq)]
    if q.ndim == 1:
        return Job("run(q, dq)", {"run": one, "q": own[0], "dq": own[1]}, lambda: one(*own)[None])
    out = np.empty((len(q), len(one(own[0][0], own[1][0]))))

    def run() -> None:
        for row, a, b in zip(out, *own, strict=True):
            row[...] = one(a, b)

    return Job("run()", {"run": run}, lambda: out)


def parts_of(
    model: Any, data: Any, case: Case, columns: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The terms of one state as one vector, in kinetree's order of joints and rows."""
    import pinocchio as pin

    frame, local = model.getFrameId(case.model.tool), pin.ReferenceFrame.LOCAL
    if not model.existFrame(case.model.tool):
        raise ImportError(f"a frame {case.model.tool!r}")
    n, back = model.nv, np.argsort(columns)
    unit, upper = np.eye(n), np.triu_indices(n, 1)

    def one(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        pin.computeJointJacobiansTimeVariation(model, data, q, dq)
        pin.updateFramePlacement(model, data, frame)
        J = pin.getFrameJacobian(model, data, frame, local)[ANGULAR_FIRST]
        dJ = pin.getFrameJacobianTimeVariation(model, data, frame, local)[ANGULAR_FIRST]
        M_inv = pin.computeMinverse(model, data, q)
        M_inv.T[upper] = M_inv[upper]
        h = pin.nonLinearEffects(model, data, q, dq)
        g = pin.computeGeneralizedGravity(model, data, q)
        X = M_inv @ J.T
        Lambda = np.linalg.inv(J @ X)
        J_bar = X @ Lambda
        eta = J_bar.T @ h - Lambda @ (dJ @ dq)
        N = unit - J_bar @ J
        ours = (
            J[:, back], dJ[:, back], Lambda, eta, J_bar.T @ g, J_bar[back], N[back][:, back],
        )  # fmt: skip
        return np.concatenate([x.ravel() for x in ours])

    return one

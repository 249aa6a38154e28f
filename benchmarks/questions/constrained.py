"""Constrained: Talos on two feet, Panda with its hand held; forward dynamics beside Pinocchio's.

Both libraries compute accelerations and forces of the constraints at the same closed states. The
equations are independent, so that Pinocchio needs neither regularisation nor further iterations:
mu = 0 and one iteration are its fastest settings, and they agree with kinetree to rounding.
Inverse dynamics with forces of motors and constraints has no peer.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.peers.labels import CONSTRAINED
from benchmarks.questions.compile import repeated, row
from benchmarks.questions.labels import COLD, FIRST
from benchmarks.robots import Arrays, load
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.convert import from_pinocchio, to_pinocchio

COUNT = 4096
POSITIONS = 256  # closed positions; each is used with COUNT / POSITIONS rates and forces
SPREAD = 0.3  # of positions about the start, rad, before they are closed
AGREEMENT = 1e-8  # of ddq and of the forces, relative to their norms
ONE, MANY = "constrained, one state", f"constrained, {COUNT} states"
FORWARD, INVERSE = "constrained_forward_dynamics", "constrained_inverse_dynamics"


@dataclass(frozen=True)
class Holds:
    """Frames of a robot that are held at the position `start`, as in kt.constraints.Hold."""

    frames: tuple[str, ...]
    kind: str
    start: dict[str, float]
    floating: bool = False


KNEES = {
    f"leg_{side}_{k}_joint": angle
    for side in ("left", "right")
    for k, angle in ((3, -0.4), (4, 0.8), (5, -0.4))
}
ARM = {f"panda_joint{k}": angle for k, angle in ((1, 0.3), (2, 0.4), (4, -1.8), (6, 2.1), (7, 0.5))}
SOLES = ("left_sole_link", "right_sole_link")
HELD = {
    "talos": {"feet held by pose": Holds(SOLES, "pose", KNEES, floating=True)},
    "panda": {
        "hand held by point": Holds(("panda_hand",), "point", ARM),
        "hand held by pose": Holds(("panda_hand",), "pose", ARM),
    },
}


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A robot with its constraints, the file that peers read, and where its frames are held."""

    key: str
    holds: Holds
    robot: kt.Robot
    urdf: str
    start: np.ndarray
    poses: list[np.ndarray] = field(default_factory=list)


def ask(robot: str, effort: Effort) -> Answer:
    """One state, and a batch on one core; then the kernel in fresh processes."""
    answer = Answer()
    for name in HELD.get(robot, ()):
        made = mechanism(robot, name)
        with one_core():
            forward(answer, made, name, effort)
            inverse(answer, made, name, effort)
        environment = {**os.environ, "KINETREE_CACHE": "0"}
        timing = repeated(environment, effort, robot, FORWARD, "", name)
        answer.rows.append(row(COLD, robot, f"{FORWARD}, {name}", FIRST, timing))
    return answer


def mechanism(key: str, name: str) -> Mechanism:
    """The robot called `key` with its frames held; a floating robot has motors at its joints."""
    holds = HELD[key][name]
    case = load(key, floating=holds.floating)
    tree = case.robot
    start = np.array([holds.start.get(name, 0.0) for name in tree.coordinate_names])
    start[: 7 if holds.floating else 0] = np.eye(7)[0] if holds.floating else 0  # w of a quaternion
    poses = [np.array(tree.pose(start, frame)) for frame in holds.frames]
    at = [T[:3, 3] if holds.kind == "point" else T for T in poses]
    given = {
        frame: kt.constraints.Hold(frame, holds.kind, place)
        for frame, place in zip(holds.frames, at, strict=True)
    }
    motors = tree.joint_names[1 if holds.floating else 0 :]
    robot = tree.constrained(given, actuated=motors, near=start)
    return Mechanism(key, holds, robot, case.urdf, start, poses)


def states(made: Mechanism, count: int) -> Arrays:
    """Closed positions, rates that the constraints allow, and forces, (count, n)."""
    rng, robot = np.random.default_rng(17), made.robot
    away = rng.uniform(-SPREAD, SPREAD, (min(count, POSITIONS), robot.nq))
    away[:, : 7 if made.holds.floating else 0] = 0
    closed = np.array([kt.constraints.project(robot, q) for q in made.start + away])
    q = np.repeat(closed, count // len(closed), axis=0)
    dq, tau = rng.normal(size=(2, count, robot.n))
    return q, np.array(kt.constraints.project_rates(robot, q, dq)), tau


def forward(answer: Answer, made: Mechanism, name: str, effort: Effort) -> None:
    """Accelerations and forces of the constraints."""
    kt.kernels.threads(1)
    for question, count in ((ONE, None), (MANY, COUNT)):
        x = states(made, count or 1)
        kernel = getattr(made.robot, FORWARD)
        jobs = {"kinetree": own_job(kernel, x, single=count is None)}
        ours = kernel(*x)
        try:
            job = pinocchio_job(made, x, single=count is None)
            error = difference(job.result(), ours)
            if not error < AGREEMENT:
                raise Absent(f"differs by {error:.1e} of the norm")
            jobs[CONSTRAINED] = job
        except (Absent, ImportError) as missing:
            answer.notes.append(f"{question}, {name}: {CONSTRAINED} is not measured: {missing}")
        timings = side_by_side(jobs, effort, count or 1)
        answer.rows += timing_rows(question, made.key, f"{FORWARD}, {name}", timings, count)


def inverse(answer: Answer, made: Mechanism, name: str, effort: Effort) -> None:
    """Forces of the motors, alone and with those of the constraints, for a motion they allow."""
    for question, count in ((ONE, None), (MANY, COUNT)):
        q, dq, tau = states(made, count or 1)
        x = q, dq, np.array(made.robot.forward_dynamics(q, dq, tau))
        for quantity in ("inverse_dynamics", INVERSE):
            kernel = getattr(made.robot, quantity)
            jobs = {"kinetree": own_job(kernel, x, single=count is None)}
            timings = side_by_side(jobs, effort, count or 1)
            answer.rows += timing_rows(question, made.key, f"{quantity}, {name}", timings, count)


def own_job(kernel: Callable[..., object], x: Arrays, *, single: bool) -> Job:
    """One state into new arrays, or a batch into arrays that exist."""
    given = [a[0].copy() for a in x] if single else list(x)
    names = {"kernel": kernel, "out": kernel(*given), **dict(zip("abc", given, strict=True))}
    statement = "kernel(a, b, c)" if single else "kernel(a, b, c, out=out)"
    return Job(statement, names, lambda: kernel(*given))


def pinocchio_job(made: Mechanism, x: Arrays, *, single: bool) -> Job:
    """A user's loop: call the function, keep accelerations and forces; or the plain call."""
    import pinocchio as pin

    settings = pin.ProximalSettings(1e-12, 0.0, 1)  # accuracy, mu, iterations: the exact solution
    root = [pin.JointModelFreeFlyer()] if made.holds.floating else []
    model = pin.buildModelFromUrdf(made.urdf, *root)
    joints = list(model.names)[1:]
    if made.holds.floating:
        joints[0] = made.robot.joint_names[0]
    data, there = model.createData(), to_pinocchio(made.robot, joints)
    contacts, theirs = held_frames(made, model)
    pin.initConstraintDynamics(model, data, contacts, theirs)
    q, dq, tau = x
    own = [np.ascontiguousarray(a) for a in (there.q(q), there.dq(q, dq), there.tau(q, tau))]
    back = from_pinocchio(made.robot, joints)
    ddq, lam = (
        np.empty_like(own[1]),
        np.empty((len(q), len(kt.constraints.mobility(made.robot).rows))),
    )

    def run() -> None:
        for k, state in enumerate(zip(*own, strict=True)):
            ddq[k] = pin.constraintDynamics(model, data, *state, contacts, theirs, settings)
            lam[k] = data.lambda_c

    def result() -> Arrays:
        run()
        return back.ddq(*own[:2], ddq), in_our_axes(made, q, lam)

    if not single:
        return Job("run()", {"run": run}, result)
    names = {"run": pin.constraintDynamics, "model": model, "data": data, "settings": settings}
    names |= {"contacts": contacts, "theirs": theirs}
    names |= {letter: a[0].copy() for letter, a in zip("abc", own, strict=True)}
    return Job("run(model, data, a, b, c, contacts, theirs, settings)", names, result)


def held_frames(made: Mechanism, model):  # types of Pinocchio
    """Pinocchio's constraints and their data."""
    import pinocchio as pin

    kind = {"point": pin.ContactType.CONTACT_3D, "pose": pin.ContactType.CONTACT_6D}
    contacts, theirs = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for frame, T in zip(made.holds.frames, made.poses, strict=True):
        own = model.frames[model.getFrameId(frame)]
        ends = own.parentJoint, own.placement, 0, pin.SE3(T)
        contact = pin.RigidConstraintModel(kind[made.holds.kind], model, *ends, pin.LOCAL)
        contacts.append(contact)
        theirs.append(contact.createData())
    return contacts, theirs


def in_our_axes(made: Mechanism, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Pinocchio's forces in the axes of the hold, the moment before the force.

    Pinocchio gives them in the axes of the frame, which are those of the hold for a pose. A point
    is held in the axes of {s}.
    """
    if made.holds.kind == "pose":
        return np.roll(lam.reshape(len(lam), -1, 6), 3, axis=2).reshape(lam.shape)
    R = np.stack([made.robot.pose(q, frame)[:, :3, :3] for frame in made.holds.frames], axis=1)
    return (R @ lam.reshape(len(lam), -1, 3, 1)).reshape(lam.shape)


def difference(found: Arrays, ours: Arrays) -> float:
    """The largest relative difference of ddq and of the forces, in the norm."""
    pairs = zip(found, ours, strict=False)
    return float(max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs))

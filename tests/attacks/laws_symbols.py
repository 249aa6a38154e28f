"""Laws of symbols: closed forms and 40 digits against Pinocchio and kernels."""

import numpy as np
from attack_case import law, note
from attack_plants import close, size, tree, unit

import kinetree as kt

TURNS = [np.eye(3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]]


def simple_arm(rng, n):
    """Joints along coordinate axes with numbers of two digits, as in books."""
    builder = kt.Builder("arm", gravity=(0, 0, -9.81)).link("base")
    parent = "base"
    for i in range(n):
        T = np.eye(4)
        T[:3, :3] = TURNS[int(rng.integers(3))]
        T[:3, 3] = np.round(rng.normal(size=3) * 0.5, 1)
        moments = np.round(rng.uniform(0.1, 0.15, 3), 2)
        m, com = round(float(rng.uniform(0.5, 3)), 1), np.round(rng.normal(size=3) * 0.2, 1)
        builder.link(f"link{i}", m, com, np.diag(moments))
        kind = str(rng.choice(["revolute", "prismatic"]))
        axis = np.eye(3)[int(rng.integers(3))]
        builder.joint(f"joint{i}", kind, parent, f"link{i}", at=T, axis=axis)
        parent = f"link{i}"
    return builder.build()


def expected_forces(robot, q, dq, ddq):
    """tau, M and g by Pinocchio."""
    import pinocchio as pin
    from pinocchio_model import twin

    double = twin(robot.model)
    model, data, order = double.theirs, double.theirs.createData(), double.order
    back, zero = np.argsort(order), np.zeros(robot.n)
    tau = pin.rnea(model, data, double.q(q), dq[order], ddq[order])[back]
    M = pin.crba(model, data, double.q(q))
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(back, back)]
    g = pin.rnea(model, data, double.q(q), zero, zero)[back]
    return tau, M, g


@law(ci=1)
def law_closed_forms_of_simple_arms(rng):
    robot = simple_arm(rng, int(rng.integers(1, 4)))
    parameters = [None, "inertial", "lengths", "gravity"][int(rng.integers(4))]
    note(rng, parameters=parameters)
    s = kt.symbolic(robot, parameters=parameters)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    tau, M, g = expected_forces(robot, q, dq, ddq)
    close(s.evaluate("tau", q, dq, ddq), tau, 1e-10 * size(tau), "tau")
    close(np.asarray(s.evaluate("M", q)), M, 1e-10 * size(M), "M")
    close(np.ravel(s.evaluate("g", q)), g, 1e-10 * size(g), "g")
    C = np.asarray(s.evaluate("C", q, dq))
    close(C @ dq + M @ ddq + g, tau, 1e-10 * size(tau), "C dq")


@law(ci=1, limit=300)
def law_closed_forms_of_random_trees(rng):
    """Rotations become those of nearby fractions, to 1e-10."""
    robot = tree(rng, 2, armature=True)
    s = kt.symbolic(robot)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    tau, M, _ = expected_forces(robot, q, dq, ddq)
    close(s.evaluate("tau", q, dq, ddq), tau, 1e-8 * size(tau), "tau")
    close(np.asarray(s.evaluate("M", q)), M, 1e-8 * size(M), "M")


def law_kernels_agree_with_forty_digits(rng):
    import mpmath

    robot = tree(rng, 4, types=("revolute", "prismatic", "helical", "spherical"))
    q = robot.neutral()
    i = 0
    for joint in robot.model.joints:
        k = len(joint.coords)
        q[i : i + k] = unit(rng.normal(size=4), (1, 0, 0, 0)) if k == 4 else rng.normal(size=k)
        i += k
    dq, ddq = rng.normal(size=(2, robot.n))
    with mpmath.workdps(40):
        model = robot.model.astype(mpmath.mpf)
        exact = [np.array([mpmath.mpf(float(x)) for x in y], object) for y in (q, dq, ddq)]
        tau = kt.algorithms.inverse_dynamics(model, *exact)
        tau = np.array([float(x) for x in tau])
    found = robot.inverse_dynamics(q, dq, ddq)
    close(found, tau, 1e-13 * size(tau) * 10, "tau")

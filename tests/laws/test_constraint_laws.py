"""Laws of constrained motion on random trees that are tied together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import SEEDS, build, close, differences, mechanisms

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Couple, Hold, Loop, Rod

DRIVES = ("armature", "rotor", "spring", "offset", "mimic")  # friction would take energy


@dataclass(eq=False)
class Tied:
    """A tree, its constraints, a closed position with allowed rates, and joint forces."""

    tree: Any
    given: dict[str, Any]
    q: Any
    dq: Any
    tau: Any

    def __post_init__(self):
        self.robot = self.tree.constrained(self.given, near=self.q)
        self.model = self.robot.model
        self.dq = kt.constraints.project_rates(self.model, self.q, self.dq)
        self.J = dynamics.constraint_jacobian(self.model, self.q)
        self.found = self.accelerations(self.robot)

    def accelerations(self, robot):
        return dynamics.constrained_forward_dynamics(robot.model, self.q, self.dq, self.tau)


@st.composite
def tied(draw):
    """Random trees of two to five joints with a loop, and perhaps a rod, a point or a gear."""
    mechanism = draw(mechanisms(drives=DRIVES))
    robot, rng = build(mechanism), np.random.default_rng(draw(SEEDS))
    assume(robot.n >= 2)
    q = dynamics.random(robot.model, rng)
    names = robot.model.link_names
    a, b = draw(st.sampled_from(names)), draw(st.sampled_from(("ground", *names)))
    assume(a != b)
    robot = robot.with_tool("a", at=rng.normal(size=3) * 0.2, frame=a)
    T_sa, T_sb = dynamics.pose(robot.model, q, "a"), link_pose(robot, q, b)
    robot = robot.with_tool("b", at=kt.spatial.inverse(T_sb) @ T_sa, frame=b)
    kind = draw(st.sampled_from(["point", "axis", "plane", "pose"]))
    constraints: dict[str, Any] = {"loop": Loop("a", "b", kind, draw(st.sampled_from("xyz")))}
    last = link_pose(robot, q, names[-1])[:3, 3]
    if draw(st.booleans()):
        constraints["hold"] = Hold(names[-1], "point", last)
    reach = np.linalg.norm(link_pose(robot, q, names[0])[:3, 3] - T_sa[:3, 3])
    if draw(st.booleans()) and a != names[0] and reach > 0.05:
        constraints["rod"] = Rod(names[0], "a", float(reach))
    screws = [k for k in robot.dof_names if k in robot.joint_names]
    if draw(st.booleans()) and len(screws) > 1:
        x, y = (q[robot.coordinate_names.index(k)] for k in screws[:2])
        offset = float(x - 0.7 * y + 0.3 * y * y)
        constraints["gear"] = Couple(screws[0], {screws[1]: (0.7, -0.3)}, offset)
    case = singular = None
    try:
        case = Tied(robot, constraints, q, *rng.normal(size=(2, robot.n)))
    except (kt.errors.KinetreeError, kt.errors.KinetreeWarning) as error:
        singular = error
    assume(singular is None)
    s = np.linalg.svd(case.J, compute_uv=False)  # what is nearly singular magnifies rounding
    assume(not ((s > 1e-9) & (s < 1e-2)).any())
    return case


def link_pose(robot, q, name):
    """Pose of a link in {s}."""
    return np.eye(4) if name == "ground" else dynamics.pose(robot.model, q, name)


@settings(max_examples=40)
@given(tied())
def test_newtons_law_holds_and_constraint_forces_do_no_work(case):
    lam, ddq, tree = case.found.lam, case.found.ddq, case.tree.model
    M, h = dynamics.mass_matrix(tree, case.q), dynamics.bias_forces(tree, case.q, case.dq)
    size = np.abs(case.J.T @ lam).max()
    close(M @ ddq + h, case.tau + case.J.T @ lam, 1e-9, size)
    gamma = dynamics.constraint_bias(case.model, case.q, case.dq)
    close(case.J @ ddq, -gamma, 1e-9, 1 + np.abs(ddq).max())
    close(lam @ (case.J @ case.dq), 0, 1e-10, 1 + np.abs(lam).max())


@settings(max_examples=30)
@given(tied())
def test_the_jacobian_is_the_derivative_of_the_errors_along_any_motion(case):
    v = np.random.default_rng(len(case.q)).normal(size=case.tree.n)

    def errors(t):
        return dynamics.constraint_errors(case.model, dynamics.integrate(case.model, case.q, v * t))

    close(dynamics.constraint_errors(case.model, case.q), 0 * case.J[:, 0], 1e-9, 1.0)
    close(differences(errors, 1e-3), case.J @ v, 1e-7, 1.0)

    def rates(t):
        q_t = dynamics.integrate(case.model, case.q, case.dq * t)
        return dynamics.constraint_jacobian(case.model, q_t) @ case.dq

    gamma = dynamics.constraint_bias(case.model, case.q, case.dq)
    close(differences(rates, 1e-3), gamma, 1e-6, 1.0)


@settings(max_examples=30)
@given(tied())
def test_inverse_dynamics_undoes_forward_dynamics_with_least_forces(case):
    q, dq = case.q, case.dq
    back = dynamics.constrained_inverse_dynamics(case.model, q, dq, case.found.ddq)
    again = dynamics.constrained_forward_dynamics(case.model, q, dq, back.tau)
    size = 1 + np.abs(case.found.ddq).max()
    close(again.ddq, case.found.ddq, 1e-7, size)
    close(case.J @ back.tau, 0 * case.J[:, 0], 1e-8, 1 + np.abs(back.tau).max())


@settings(max_examples=20)
@given(tied())
def test_copies_order_and_names_of_constraints_change_no_motion(case):
    copies = {f"again {name}": x for name, x in reversed(case.given.items())}
    robot = case.tree.constrained(copies | case.given, near=case.q)
    assert (
        kt.constraints.mobility(robot).degrees_of_freedom
        == kt.constraints.mobility(case.robot).degrees_of_freedom
    )
    size = 1 + np.abs(case.found.ddq).max()
    close(case.accelerations(robot).ddq, case.found.ddq, 1e-8, size)


@settings(max_examples=30)
@given(tied())
def test_an_impulse_loses_the_energy_of_the_lost_rates(case):
    """Carnot: the loss is the energy of dq - dq_after."""
    dq = case.dq + np.linspace(0.5, 1, len(case.dq))
    found = dynamics.constraint_impulse(case.model, case.q, dq)
    T = [dynamics.kinetic_energy(case.model, case.q, x) for x in (dq, found.dq, dq - found.dq)]
    close(T[0] - T[1], T[2], 1e-9, T[0])
    M = dynamics.mass_matrix(case.tree.model, case.q)
    close(M @ (found.dq - dq), case.J.T @ found.impulse, 1e-9, 1.0)


@settings(max_examples=30)
@given(tied())
def test_reduced_dynamics_give_the_same_accelerations(case):
    own = list(case.model.constraints.independent)
    assume(own)
    M, h, N = dynamics.reduced_dynamics(case.model, case.q, case.dq)
    assume(np.linalg.cond(N) < 1e3)
    y = np.linalg.solve(M, N.T @ case.tau - h)
    close(y, case.found.ddq[own], 1e-6, 1 + np.abs(case.found.ddq).max())
    close(N @ case.dq[own], case.dq, 1e-8, 1.0)


@settings(max_examples=8)
@given(tied())
def test_a_motion_stays_closed_and_keeps_its_energy(case):
    assume(
        kt.constraints.mobility(case.robot).degrees_of_freedom > 0
        and np.abs(case.found.ddq).max() < 300
    )
    try:
        motion = case.robot.simulate(case.q, case.dq, duration=0.05, dt=5e-4, limits="ignore")
    except kt.simulate.SimulationError:
        assume(False)  # a singular position on the way
    assert motion.meta["closure"].max() < 1e-8
    robot = case.tree
    energy = [
        dynamics.kinetic_energy(robot.model, q, dq) + dynamics.potential_energy(robot.model, q)
        for q, dq in zip(motion.q[::20], motion.dq[::20], strict=True)
    ]
    close(energy, energy[0] + 0 * np.array(energy), 1e-6, 1 + np.abs(energy[0]))


@settings(max_examples=4)
@given(tied())
def test_sensitivities_are_differences_of_closed_motions(case):
    v = kt.constraints.project_rates(case.model, case.q, np.linspace(1, 2, case.tree.n))
    assume(np.linalg.norm(v) > 0.1 and np.abs(case.found.ddq).max() < 100)
    options = {"duration": 0.006, "dt": 0.002, "method": "rk4", "limits": "ignore"}
    try:
        found = kt.simulate.sensitivities(case.robot, case.q, case.dq, wrt="dq0", **options)
        runs = [case.robot.simulate(case.q, case.dq + h * v, **options) for h in (1e-4, -1e-4)]
    except kt.errors.KinetreeError:
        assume(False)  # a singular position on the way
    slope = found.by("dq0")[-1] @ v
    difference = (runs[0].dq[-1] - runs[1].dq[-1]) / 2e-4
    close(slope[case.tree.n :], difference, 1e-5, 1.0)

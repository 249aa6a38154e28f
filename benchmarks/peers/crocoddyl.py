"""Crocoddyl and mim-solvers: the problem of `questions/optimal.py`, term by term, on one thread.

An Euler step of Crocoddyl is semi-implicit, and its costs are dt w/2 |r|^2, with dt = 0 in the last
node w/2 |r|^2: those of kinetree.
"""

from importlib.metadata import version
from typing import Any

import crocoddyl
import mim_solvers
import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.labels import SOLVERS
from benchmarks.peers.pinocchio import model_of
from benchmarks.robots import Case
from benchmarks.timing import Job

BUILT_WITH = "4.0."  # of pin; with 4.1 the wheels of Crocoddyl 3.2.1 read frames at wrong places
NEVER = 1e-300  # a criterion that no iteration meets
KINDS = (crocoddyl.SolverDDP, crocoddyl.SolverFDDP, mim_solvers.SolverSQP)


def solver_jobs(case: Case, task: Any, u: np.ndarray, iterations: int) -> dict[str, Job]:
    """Jobs of so many iterations from the motion under the forces u; results are least costs."""
    if not version("pin").startswith(BUILT_WITH):
        raise Absent(f"its wheel needs pin {BUILT_WITH}*, here is {version('pin')}")
    model, _, columns = model_of(case)
    problem = shooting_problem(model, columns, task)
    forces = [np.array(row) for row in u[:, columns]]
    states = list(problem.rollout(forces))
    return {
        who: solver_job(kind(problem), states, forces, iterations)
        for who, kind in zip(SOLVERS, KINDS, strict=True)
    }


def solver_job(
    solver: Any, states: list[np.ndarray], forces: list[np.ndarray], iterations: int
) -> Job:
    """So many iterations, whatever they reach."""
    criterion = "th_stop" if hasattr(solver, "th_stop") else "termination_tolerance"

    def least() -> float:
        setattr(solver, criterion, 1e-10)
        solver.solve(states, forces, 200, True)
        cost = solver.cost
        setattr(solver, criterion, NEVER)
        return cost

    names = {"solver": solver, "x": states, "u": forces, "count": iterations}
    return Job("solver.solve(x, u, count, True)", names, least)


def shooting_problem(model: Any, columns: np.ndarray, task: Any) -> Any:
    """The task in Crocoddyl's terms."""
    state = crocoddyl.StateMultibody(model)
    start, goal = (np.concatenate([q[columns], np.zeros(model.nv)]) for q in (task.q0, task.goal))
    frame = model.getFrameId(task.frame)

    def node(dt: float, weights: dict[str, float]) -> Any:
        costs, n = crocoddyl.CostModelSum(state, model.nv), model.nv
        of_state = np.repeat([weights["posture"], weights["rates"]], n)
        activation = crocoddyl.ActivationModelWeightedQuad(of_state)
        residual = crocoddyl.ResidualModelState(state, goal, n)
        costs.addCost("state", crocoddyl.CostModelResidual(state, activation, residual), 1.0)
        residual = crocoddyl.ResidualModelFrameTranslation(state, frame, task.place, n)
        place = crocoddyl.CostModelResidual(state, residual)
        costs.addCost("place", place, weights["place"])
        if "effort" in weights:
            effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, n))
            costs.addCost("effort", effort, weights["effort"])
        motors = crocoddyl.ActuationModelFull(state)
        dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, motors, costs)
        return crocoddyl.IntegratedActionModelEuler(dynamics, dt)

    nodes = [node(task.dt, task.weights)] * task.steps
    problem = crocoddyl.ShootingProblem(start, nodes, node(0.0, task.finals))
    problem.nthreads = 1
    return problem

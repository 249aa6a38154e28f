"""What the peers of `benchmarks.speed` run: calls without arguments, and what they found."""

import hashlib
import inspect
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt

BUILD = Path(__file__).parents[1] / "build" / "speed"  # compiled C of CasADi
Call = Callable[[], Any]


def pinocchio_batch(both: Any, quantity: str) -> tuple[Call, Call]:
    """A call and its result: the pool on one thread or, where it has no such quantity, a loop."""
    import pinocchio as pin

    (q, dq, last), model, data = both.theirs, both.model, both.data
    pools = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    if quantity in pools:
        found = np.empty_like(q.T)
        arrays = q.T, dq.T, last.T, found
        return partial(pools[quantity], 1, pin.ModelPool(model, 1), *arrays), lambda: found.T
    out = np.empty((2, *q.shape, model.nv))

    def mass_matrices() -> None:
        for k in range(len(q)):
            out[0, k] = pin.crba(model, data, q[k])

    def derivatives() -> None:
        for k in range(len(q)):
            out[0, k], out[1, k], _ = pin.computeRNEADerivatives(model, data, q[k], dq[k], last[k])

    if quantity == "mass_matrix":
        return mass_matrices, lambda: out[0]
    return derivatives, lambda: out


def casadi_batch(both: Any, quantity: str) -> tuple[Call, Call]:
    """A call and its result: generated C, mapped over the states on buffers."""
    import casadi

    count, n = both.theirs[0].shape
    function = casadi.external("f", str(casadi_library(both, quantity))).map(count)
    out = np.zeros((function.n_out(), count, function.size2_out(0) // count, n))
    buffer, run = function.buffer()
    for k in range(function.n_in()):
        buffer.set_arg(k, memoryview(both.theirs[k]))
    for k, found in enumerate(out):
        buffer.set_res(k, memoryview(found))
    run.kept = buffer, out, both  # it has their addresses only
    return run, lambda: out.swapaxes(-1, -2).squeeze()


def casadi_library(both: Any, quantity: str) -> Path:
    """The function in machine code, which is kept in build/speed."""
    import casadi

    from benchmarks import casadi_graph

    text = inspect.getsource(casadi_graph) + casadi.__version__
    library = BUILD / f"{both.name}_{quantity}_{hashlib.sha1(text.encode()).hexdigest()[:10]}.so"
    if not library.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        source, function = library.with_suffix(".c"), casadi_graph.function_of(both.model, quantity)
        generator = casadi.CodeGenerator(source.name)
        generator.add(function)
        generator.generate(f"{BUILD}/")
        effort = "-O3" if function.n_instructions() < 50_000 else "-O1"  # -O3 takes minutes
        command = ["gcc", effort, "-march=native", "-fPIC", "-shared", str(source), "-lm", "-o"]
        subprocess.run([*command, str(library)], check=True)
    return library


def mujoco_model(robot: Any, feet: list[Any], friction: float, dt: float) -> Any:
    """The robot with its servos, spheres as feet and a floor, for steps with rigid contacts."""
    import mujoco

    spec = mujoco.MjSpec.from_string(kt.convert.to_mjcf(robot, losses="allow"))
    rough = [friction, 0.005, 0.0001]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=rough)
    for x in feet:
        sphere = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [x.radius, 0, 0], "mass": 0}
        site = spec.site(x.link)  # of a link that is fixed to a body, here without a turn
        body, at = (site.parent, site.pos) if site else (spec.body(x.link), np.zeros(3))
        body.add_geom(pos=at + np.array(x.position), friction=rough, **sphere)
    spec.option.timestep, spec.option.cone = dt, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()


def mujoco_rollout(
    model: Any, robot: Any, starts: np.ndarray, u: np.ndarray, steps: int
) -> tuple[Call, np.ndarray]:
    """So many steps from each start under the controls u, and where the base is at the end."""
    import mujoco
    from mujoco import rollout

    joints = list(robot.joint_names[1:])
    columns = [joints.index(model.joint(k).name) for k in range(1, model.njnt)]
    servos = [joints.index(model.actuator(k).name) for k in range(model.nu)]
    qpos = np.c_[starts[:, 4:7], starts[:, :4], starts[:, 7:][:, columns]]
    states = np.c_[np.zeros(len(starts)), qpos, np.zeros((len(starts), model.nv))]
    controls = np.tile(u[servos], (len(starts), steps, 1))
    run = partial(rollout.rollout, model, mujoco.MjData(model), states, controls)
    return run, run()[0][:, -1, 1:4]


def crocoddyl_solver(
    model: Any, start: Any, goal: Any, place: Any, flange: str, guess: Any, iterations: int
) -> tuple[Call, float]:
    """The problem of `optimal_rows`, and its least cost; Crocoddyl's Euler is semi-implicit."""
    import crocoddyl as c

    state, n = c.StateMultibody(model), model.nv
    motors, frame = c.ActuationModelFull(state), model.getFrameId(flange)
    residuals = [  # with weights of the steps, and the factor of the last state
        (c.ResidualModelState(state, np.r_[goal, np.zeros(n)], n), np.repeat([1.0, 0.1], n), 100.0),
        (c.ResidualModelFrameTranslation(state, frame, place, n), np.full(3, 10.0), 100.0),
        (c.ResidualModelControl(state, n), np.full(n, 1e-3), 0.0),
    ]

    def node(dt: float) -> Any:
        costs = c.CostModelSum(state, n)
        for k, (residual, weights, final) in enumerate(residuals):
            square = c.ActivationModelWeightedQuad(weights)
            cost = c.CostModelResidual(state, square, residual)
            costs.addCost(str(k), cost, 1.0 if dt else final)
        dynamics = c.DifferentialActionModelFreeFwdDynamics(state, motors, costs)
        return c.IntegratedActionModelEuler(dynamics, dt)

    forces = list(np.array(guess))
    nodes = [node(0.01)] * len(forces)
    shooting = c.ShootingProblem(np.r_[start, np.zeros(n)], nodes, node(0.0))
    shooting.nthreads = 1
    solver, states = c.SolverFDDP(shooting), list(shooting.rollout(forces))
    solver.th_stop = 1e-10
    solver.solve(states, forces, 200, True)
    cost, solver.th_stop = solver.cost, 1e-300  # no later call ends early
    return partial(solver.solve, states, forces, iterations, True), cost

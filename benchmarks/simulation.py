"""The simulation benchmark: the same rollouts with classical Runge-Kutta steps.

A thousand rollouts of a thousand steps for kinetree; peers, whose time a step does not depend on
the number of rollouts, run fewer. Every job comes with the number of its steps.
"""

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.robots import Case
from benchmarks.timing import Job

DT = 1e-3
STEPS = 1000
ROLLOUTS = 1000
FEW = 16  # rollouts of MuJoCo for each thread
GAINS = 100.0, 20.0
CONSTANT, CONTROLLED = "constant torque", "computed torque"
LOOP = "Pinocchio, Python loop"
MUJOCO = "MuJoCo rollout"

Jobs = dict[str, tuple[Job, int]]


def start(case: Case, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and torques, (count, n); the robot begins at rest."""
    rng = np.random.default_rng(11)
    q = rng.uniform(-1, 1, (count, case.model.n))
    return q, rng.normal(size=(count, case.model.n))


def goal(case: Case) -> np.ndarray:
    """Goal of computed torque, from every start."""
    return np.full(case.model.n, 0.3)


def kinetree_job(case: Case, quantity: str, threads: int, rollouts: int = ROLLOUTS) -> Job:
    """All steps in one call, every step recorded."""
    q, tau = start(case, rollouts)
    kp, kd = GAINS
    controller = kt.controllers.ComputedTorque(goal(case), kp=kp, kd=kd)
    acting = {"tau": tau} if quantity == CONSTANT else {"controller": controller}
    options = {"duration": STEPS * DT, "dt": DT, "method": "rk4", "limits": "ignore", **acting}

    def run() -> kt.simulate.Trajectory:
        with kt.kernels.threads(threads):
            return case.robot.simulate(q, **options)

    return Job("run()", {"run": run}, lambda: run().q[-1])


def mujoco_job(case: Case, threads: int) -> tuple[Job, int]:
    """MuJoCo's own threaded rollout, no contacts, no constraints, classical Runge-Kutta."""
    import mujoco
    from mujoco import rollout

    from benchmarks.peers.mujoco import model_of

    model, _, columns = model_of(case)
    model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_RK4
    count = FEW * threads
    q, tau = (x[:, columns] for x in start(case, count))
    initial = np.concatenate([np.zeros((count, 1)), q, np.zeros_like(q)], 1)
    control = np.repeat(tau[:, None], STEPS, 1)
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    if initial.shape[1] != mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS):
        raise Absent("has states beside time, positions and rates")
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
    data = [mujoco.MjData(model) for _ in range(threads)]

    def run() -> np.ndarray:
        states, _ = pool.rollout(
            model, data, initial, control, control_spec=spec, nstep=STEPS, skip_checks=False
        )
        return states

    def result() -> np.ndarray:
        return run()[:, -1, 1 : 1 + case.model.n][:, np.argsort(columns)]

    return Job("run()", {"run": run}, result), count * STEPS


def pinocchio_job(case: Case, quantity: str) -> tuple[Job, int]:
    """A user's loop: Runge-Kutta steps in Python around pin.aba, and pin.rnea to control."""
    import pinocchio as pin

    from benchmarks.peers.pinocchio import model_of

    model, data, columns = model_of(case)
    q0, tau0 = (x[0][columns] for x in start(case, 1))
    wanted, (kp, kd) = goal(case)[columns], GAINS
    aba, rnea = pin.aba, pin.rnea

    def rate(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        tau = tau0
        if quantity == CONTROLLED:
            tau = rnea(model, data, q, dq, kp * (wanted - q) - kd * dq)
        return aba(model, data, q, dq, tau)

    def run() -> np.ndarray:
        q, dq, h = q0, np.zeros_like(q0), DT
        for _ in range(STEPS):
            a1 = rate(q, dq)
            v2 = dq + 0.5 * h * a1
            a2 = rate(q + 0.5 * h * dq, v2)
            v3 = dq + 0.5 * h * a2
            a3 = rate(q + 0.5 * h * v2, v3)
            v4 = dq + h * a3
            a4 = rate(q + h * v3, v4)
            q = q + h / 6 * (dq + 2 * v2 + 2 * v3 + v4)
            dq = dq + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return q

    return Job("run()", {"run": run}, lambda: run()[None, np.argsort(columns)]), STEPS

"""Steps: one step of one state beside forward dynamics, and of a batch beside MuJoCo's."""

from dataclasses import replace

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.robots import Case, load
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, Timing, one_core, side_by_side

ROBOT = "panda"
COUNT = 4096
DT = 1e-3
AGREEMENT = 1e-10
ONE, MANY = "step, one state", f"step, {COUNT} states"
FORWARD, LOOP, ROLLOUT = "kinetree, forward dynamics", "MuJoCo, loop over mj_step", "MuJoCo rollout"
# ours -> MuJoCo's; without springs "implicit" and "implicitfast" are the same
METHODS = {"semi_implicit_euler": "EULER", "implicitfast": "IMPLICITFAST"}
SINGLE = ("semi_implicit_euler", "implicit", "implicitfast", "euler", "rk4")
SERVOS = " with servos"
KP, KD = 600.0, 50.0


def ask(robot: str, effort: Effort) -> Answer:
    """One state, and a batch on one core; peers that end elsewhere are not timed."""
    answer = Answer()
    if robot != ROBOT:
        return answer
    case = load(robot)
    with one_core():
        one_state(answer, case, effort)
        for method in METHODS:
            for servos in (False, True):
                fewer = replace(effort, repeats=min(effort.repeats, 10))
                many_states(answer, case, method, servos, fewer)
    return answer


def states(case: Case, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rates and forces, (count, n)."""
    rng = np.random.default_rng(12)
    q = rng.uniform(-1, 1, (count, case.model.n))
    return q, *rng.normal(size=(2, count, case.model.n))


def servo_robot(case: Case) -> kt.Robot:
    """The robot with a position servo at every joint."""
    servos = {name: kt.joints.Actuator.position(name, KP, KD) for name in case.robot.joint_names}
    return case.robot.with_actuators(servos)


def one_state(answer: Answer, case: Case, effort: Effort) -> None:
    """robot.step called plainly, with a float for dt."""
    q, dq, tau = (x[0] for x in states(case, 1))
    names = {"robot": case.robot, "q": q, "dq": dq, "tau": tau, "dt": DT}
    for method in SINGLE:
        case.robot.step(q, dq, tau, DT, method=method)
        option = "" if method == "semi_implicit_euler" else f", method={method!r}"
        jobs = {
            "kinetree": Job(f"robot.step(q, dq, tau, dt{option})", names, lambda: None),
            FORWARD: Job("robot.forward_dynamics(q, dq, tau)", names, lambda: None),
        }
        answer.rows += timing_rows(ONE, case.key, method, side_by_side(jobs, effort))


def many_states(answer: Answer, case: Case, method: str, servos: bool, effort: Effort) -> None:
    """One call for the batch, MuJoCo's loop in Python, and its own loop over rollouts.

    With servos, the third array of a state is the controls of the actuators.
    """
    x = states(case, COUNT)
    robot = servo_robot(case) if servos else case.robot
    names = {"robot": robot, "x": x, "q": x[0], "dq": x[1], "u": x[2], "tau": np.zeros_like(x[2])}
    names |= {"dt": DT, "method": method}
    call = "robot.step(*x, dt, method=method)"
    if servos:
        call = "robot.step(q, dq, tau, dt, controls=u, method=method)"
    ours = eval(call, names)
    jobs = {"kinetree": (Job(call, names, lambda: ours), COUNT)}
    for who, make in ((LOOP, loop_job), (ROLLOUT, rollout_job)):
        try:
            job, count = make(case, method, servos, x)
            found = job.result()
            error = max(abs(a - b[:count]).max() for a, b in zip(found, ours, strict=True))
            if not error < AGREEMENT * abs(ours[1]).max():
                raise Absent(f"ends {error:.1e} away from kinetree")
            jobs[who] = job, count
        except (Absent, ImportError) as missing:
            answer.notes.append(f"{MANY}: {who} is not measured: {missing}")
    found = side_by_side({who: job for who, (job, _) in jobs.items()}, effort)
    timings = {who: each(found[who], count) for who, (_, count) in jobs.items()}
    quantity = method + SERVOS * servos
    answer.rows += timing_rows(MANY, case.key, quantity, timings, COUNT)


def mujoco_model(case: Case, method: str, servos: bool):
    """MuJoCo's model with the integrator, and the columns of its joints."""
    import mujoco

    from benchmarks.peers.mujoco import model_of, servo_model_of

    model, data, columns = servo_model_of(case, KP, KD) if servos else model_of(case)
    model.opt.timestep = DT
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{METHODS[method]}")
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    return model, data, columns


def loop_job(case: Case, method: str, servos: bool, x: tuple[np.ndarray, ...]) -> tuple[Job, int]:
    """A user's loop: set the state, call mj_step, keep the next state; of some of the states."""
    import mujoco

    model, data, columns = mujoco_model(case, method, servos)
    count = 256
    q, dq, u = (np.ascontiguousarray(part[:count, columns]) for part in x)
    acting = data.ctrl if servos else data.qfrc_applied
    ends = np.empty((2, count, model.nv))

    def run() -> None:
        for k in range(count):
            data.qpos[:], data.qvel[:], acting[:] = q[k], dq[k], u[k]
            mujoco.mj_step(model, data)
            ends[0, k], ends[1, k] = data.qpos, data.qvel

    def result() -> np.ndarray:
        run()
        return ends[..., np.argsort(columns)]

    return Job("run()", {"run": run}, result), count


def rollout_job(
    case: Case, method: str, servos: bool, x: tuple[np.ndarray, ...]
) -> tuple[Job, int]:
    """MuJoCo's own loop in C over states, one step each, on one thread."""
    import mujoco
    from mujoco import rollout

    model, _, columns = mujoco_model(case, method, servos)
    q, dq, u = (part[:, columns] for part in x)
    initial = np.concatenate([np.zeros((COUNT, 1)), q, dq], 1)
    kind = mujoco.mjtState.mjSTATE_CTRL if servos else mujoco.mjtState.mjSTATE_QFRC_APPLIED
    control, spec = u[:, None].copy(), int(kind)
    if initial.shape[1] != mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS):
        raise Absent("has states beside time, positions and rates")
    pool, data = rollout.Rollout(nthread=0), [mujoco.MjData(model)]

    def run() -> np.ndarray:
        found, _ = pool.rollout(model, data, initial, control, control_spec=spec, nstep=1)
        return found

    def result() -> np.ndarray:
        end, n = run()[:, -1], case.model.n
        order = np.argsort(columns)
        return np.array([end[:, 1 : 1 + n][:, order], end[:, 1 + n : 1 + 2 * n][:, order]])

    return Job("run()", {"run": run}, result), COUNT


def each(timing: Timing, count: int) -> Timing:
    """The same for one state."""
    return Timing(tuple(s / count for s in timing.seconds), tuple(s / count for s in timing.cpu))

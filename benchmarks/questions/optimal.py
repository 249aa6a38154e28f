"""Optimal control: an iteration of iLQR, one of MPPI, and the ticks of an MPC at 1 kHz.

The same problem with the same start for all: posture, rates, forces and the place of a frame, steps
of semi-implicit Euler. Solvers whose least cost is another are not timed. Each then runs as many
iterations from the same motion. MPPI: one iteration with a cost of pose beside the same loop over
MuJoCo's rollout, whose sensors give the pose and NumPy the costs.

`python -m benchmarks.questions.optimal 60` runs the MPC for 60 s.
"""

import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.robots import Case, load
from benchmarks.rows import Answer, Row, timing_rows
from benchmarks.timing import QUICK, Effort, Job, one_core, side_by_side
from kinetree import optimal

ITERATION, SAMPLING, TICKS = "optimal, iLQR", "optimal, MPPI", "optimal, MPC at 1 kHz"
ITERATIONS = 5  # the sixth ends most solvers
AGREEMENT = 1e-6
SAMPLES, HORIZON = 4096, 30
NOISE, KNOTS, SHARE = 1.0, 8, 0.1  # N m, so that the first iteration improves the plan
WEIGHT_ERROR = 0.01  # of a plan: kinetree rounds weights to a 16,384th of their sum
RUNS = f"{SAMPLES} x {HORIZON} steps"
ROLLOUT = "MuJoCo rollout, costs in NumPy"
LATE = "missed deadlines"
PERIOD, SECONDS = 1e-3, 10.0
PERCENTILES = (50.0, 99.0, 99.9)
WEIGHTS = {"posture": (1.0, 100.0), "rates": (0.1, 10.0), "place": (10.0, 1000.0)}
EFFORT = 1e-3
PANDA = (0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7)
# steps of the horizon, and the frame that has a cost
ROBOTS = {"panda": (32, "panda_link8"), "talos": (20, "gripper_right_base_link")}
BODY = "panda_link7"  # the last one that MuJoCo keeps, for MPPI


@dataclass(frozen=True, eq=False)
class Task:
    """What all solvers solve: from q0 at rest to a goal."""

    case: Case
    dt: float = 0.01

    @property
    def steps(self) -> int:
        """Of the horizon."""
        return ROBOTS[self.case.key][0]

    @property
    def frame(self) -> str:
        """The frame with a cost."""
        return ROBOTS[self.case.key][1]

    @property
    def weights(self) -> dict[str, float]:
        """Of the steps."""
        return {name: w for name, (w, _) in WEIGHTS.items()} | {"effort": EFFORT}

    @property
    def finals(self) -> dict[str, float]:
        """Of the last state."""
        return {name: w for name, (_, w) in WEIGHTS.items()}

    @cached_property
    def q0(self) -> np.ndarray:
        """The start."""
        n = self.case.model.n
        return np.array(PANDA) if n == 7 else np.random.default_rng(3).uniform(-0.3, 0.3, n)

    @cached_property
    def goal(self) -> np.ndarray:
        """Where the posture shall be."""
        return self.q0 + np.random.default_rng(4).uniform(-0.3, 0.3, self.case.model.n)

    @cached_property
    def place(self) -> np.ndarray:
        """Where the frame shall be."""
        return np.array(self.case.robot.pose(self.goal, self.frame)[:3, 3])

    def problem(self) -> optimal.Problem:
        """The task for kinetree."""
        w, final = self.weights, self.finals
        costs = {
            "posture": optimal.Posture(self.goal, w["posture"], final["posture"]),
            "rates": optimal.Rates(None, w["rates"], final["rates"]),
            "place": optimal.FramePosition(self.place, w["place"], final["place"], self.frame),
            "effort": optimal.Effort(None, w["effort"]),
        }
        return optimal.Problem(
            self.case.robot, dt=self.dt, steps=self.steps, costs=costs, limits=None
        )


def horizon(robot: str) -> str:
    """The name of a problem in the table."""
    return f"N = {ROBOTS[robot][0]}"


def percentile(share: float) -> str:
    """The name of a percentile in the table."""
    return f"{share:g}th percentile"


def ask(robot: str, effort: Effort) -> Answer:
    """One thread on one core."""
    answer = Answer()
    if robot not in ROBOTS:
        return answer
    with one_core(), kt.kernels.threads(1):
        case = load(robot)
        iteration(answer, Task(case), effort)
        if robot == "panda":
            sampling(answer, case, replace(effort, repeats=min(effort.repeats, 5)))
            ticks(answer, case, SECONDS if effort.repeats > QUICK.repeats else 1.0)
    return answer


def iteration(answer: Answer, task: Task, effort: Effort) -> None:
    """One of the first iterations, everybody's."""
    problem = task.problem()
    guess = problem.solve(task.q0, iterations=0)
    least = problem.solve(task.q0, tolerance=1e-12).cost
    names = {"problem": problem, "q0": task.q0, "guess": guess, "count": ITERATIONS}
    call = "problem.solve(q0, guess=guess, iterations=count, tolerance=0.0, progress=False)"
    moves = len(eval(call, names).history)
    if moves != ITERATIONS:
        answer.notes.append(f"{ITERATION}: {moves} of {ITERATIONS} iterations found a better plan")
    jobs = {"kinetree": Job(call, names, lambda: least)}
    try:
        from benchmarks.peers.crocoddyl import solver_jobs

        peers = ", ".join(f"{x} {version(x)}" for x in ("crocoddyl", "mim-solvers", "pin"))
        answer.notes.append(f"{ITERATION}: measured with {peers}")
        for who, job in solver_jobs(task.case, task, guess.tau, ITERATIONS).items():
            error = abs(job.result() / least - 1)
            if error < AGREEMENT:
                jobs[who] = job
            else:
                answer.notes.append(f"{ITERATION}: {who} is not timed, its cost is {error:.1e} off")
    except (Absent, ImportError) as missing:
        answer.notes.append(f"{ITERATION}: Crocoddyl and mim-solvers are not measured: {missing}")
    timings = side_by_side(jobs, effort, ITERATIONS)
    answer.rows += timing_rows(ITERATION, task.case.key, horizon(task.case.key), timings)


def sampling(answer: Answer, case: Case, effort: Effort) -> None:
    """One iteration of MPPI."""
    q0, goal = np.array(PANDA), case.robot.pose(np.array(PANDA) + 0.2, BODY)
    costs = {
        "place": optimal.FramePosition(goal[:3, 3], 100.0, frame=BODY),
        "turn": optimal.FrameRotation(goal[:3, :3], 10.0, frame=BODY),
        "rates": optimal.Rates(None, 0.1, 1.0),
        "effort": optimal.Effort(None, EFFORT),
    }
    problem = optimal.Problem(case.robot, dt=0.01, steps=HORIZON, costs=costs, limits=None)
    options = {"samples": SAMPLES, "iterations": 1, "noise": NOISE}
    options |= {"knots": KNOTS, "share": SHARE}
    found = problem.sample(q0, **options)
    names = {"problem": problem, "q0": q0, "options": options}
    call = "problem.sample(q0, progress=False, **options)"
    jobs = {"kinetree": Job(call, names, lambda: found.tau)}
    try:
        job = rollout_job(case, problem, q0, goal)
        error = np.abs(job.result() - found.tau).max() / np.abs(found.tau).max()
        if not error < WEIGHT_ERROR:
            raise Absent(f"its plan differs by {error:.1e}")
        jobs[ROLLOUT] = job
    except (Absent, ImportError) as missing:
        answer.notes.append(f"{SAMPLING}: MuJoCo is not measured: {missing}")
    timings = side_by_side(jobs, effort)
    answer.rows += timing_rows(SAMPLING, case.key, RUNS, timings, SAMPLES)


def rollout_job(case: Case, problem: optimal.Problem, q0: np.ndarray, goal: np.ndarray) -> Job:
    """The same iteration with MuJoCo's loop in C; its result, with the noise of kinetree."""
    import mujoco
    from mujoco import rollout

    from benchmarks.peers.mujoco import posed_model_of

    model, columns = posed_model_of(case, BODY, problem.dt)
    n, dt, order = case.model.n, problem.dt, np.argsort(columns)
    hold = np.asarray(case.robot.gravity_forces(q0))[columns]
    initial = np.tile(np.concatenate([[0.0], q0[columns], np.zeros(n)]), (SAMPLES, 1))
    turn = np.empty(4)
    mujoco.mju_mat2Quat(turn, np.ascontiguousarray(goal[:3, :3]).ravel())
    pool, data = rollout.Rollout(nthread=0), [mujoco.MjData(model)]
    spec, source = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), np.random.default_rng(0)

    at = np.linspace(0, KNOTS - 1, HORIZON)
    hats = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(KNOTS)))

    def plan(noise: np.ndarray) -> np.ndarray:
        noise[0] = 0
        u = hold + NOISE * (hats @ noise)
        states, sensed = pool.rollout(
            model, data, initial, u, control_spec=spec, nstep=HORIZON, skip_checks=False
        )
        rates = states[..., 1 + n :]  # after each step; the sensors are those before it
        away = ((sensed[..., :3] - goal[:3, 3]) ** 2).sum((1, 2))
        turned = (4 * np.arccos(np.minimum(np.abs(sensed[..., 3:] @ turn), 1)) ** 2).sum(1)
        fast = (rates**2).sum(2)
        forces = (u**2).sum((1, 2))
        costs = 0.5 * dt * (100 * away + 10 * turned + EFFORT * forces)
        costs += 0.5 * (0.1 * dt * fast[:, :-1].sum(1) + fast[:, -1])
        low, high = 1e-12 * np.ptp(costs), np.ptp(costs)
        for _ in range(40):  # the temperature at which the share of the samples counts
            scale = np.sqrt(low * high)
            w = np.exp((costs.min() - costs) / scale)
            few = w.sum() ** 2 < SHARE * SAMPLES * (w @ w)
            low, high = (scale, high) if few else (low, scale)
        return np.tensordot(w / w.sum(), u, 1)

    def result() -> np.ndarray:
        random = np.random.Generator(np.random.Philox(0))
        noise = random.standard_normal((SAMPLES, KNOTS, n))
        return plan(noise[..., columns])[:, order]

    names = {"plan": plan, "draw": source.standard_normal, "shape": (SAMPLES, KNOTS, n)}
    return Job("plan(draw(shape))", names, result)


def ticks(answer: Answer, case: Case, seconds: float) -> None:
    """Ticks of an MPC by the clock: one iteration each, for a Panda that moves in between."""
    task = Task(case, dt=PERIOD)
    mpc, robot = optimal.MPC(task.problem()), case.robot
    q, dq = task.q0, np.zeros(case.model.n)
    taken = np.empty(round(seconds / PERIOD))
    late = 0
    for _ in range(3):  # compile
        robot.step(q, dq, mpc(q, dq), PERIOD)
    due = time.perf_counter()
    for k in range(len(taken)):
        while time.perf_counter() < due:
            pass
        tau = mpc(q, dq)
        q, dq = robot.step(q, dq, tau, PERIOD)
        taken[k] = mpc.tick.seconds
        over = int((time.perf_counter() - due) / PERIOD)  # periods that have passed
        late += over > 0
        due += PERIOD * (over + 1)
    for share, value in zip(PERCENTILES, np.percentile(taken, PERCENTILES), strict=True):
        row = Row(TICKS, case.key, percentile(share), "kinetree", value * 1e9, "ns")
        answer.rows.append(row)
    answer.rows.append(Row(TICKS, case.key, LATE, "kinetree", float(late), "ticks"))
    answer.notes.append(
        f"{TICKS}: {late} of {len(taken)} ticks missed their deadline; the longest took "
        f"{taken.max() * 1e3:.2f} ms"
    )


def main() -> None:
    """Print rows and notes of an MPC that runs for so many seconds."""
    answer: Any = Answer()
    with one_core(), kt.kernels.threads(1):
        ticks(answer, load("panda"), float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
    for row in answer.rows:
        print(f"{row.quantity}: {row.value:.6g} {row.unit}")
    print(*answer.notes, sep="\n")


if __name__ == "__main__":
    main()

"""IFToMM's mechanisms A01 to A05: the time of a simulated second, at the published accuracy.

The mechanisms are those of examples/iftomm. A method takes its longest steps, or its largest
tolerance, with which everything measured is within 1e-3 of the reference at ten times, the "high
precision" of the library. The reference is rk4 with short steps, which must reach the end that the
example has. Exudyn has the same bodies and joints in redundant coordinates. The column of the
processor counts where the machine has other work; a note has the setting and error of each.
"""

import runpy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.simulate import SimulationError

FOLDER = Path(__file__).parents[2] / "examples" / "iftomm"
TITLE, QUANTITY = "mechanisms of IFToMM", "a simulated second"
ACCURACY = 1e-3  # m, m/s or rad
TIMES = 10  # at which results are compared
END = 1e-7  # largest distance of the reference from the end that the example has
STEPS = tuple(100 * 2**k for k in range(12))
EXUDYN_STEPS = STEPS[:7]
EXUDYN_SECONDS = 10  # of trials; A02 needs more than two minutes
COMPARED = (7, TIMES)  # times at which the places of Exudyn's bodies are compared
TOLERANCES = tuple(10.0**-k for k in range(3, 11))
FIXED = ("rk4", "semi_implicit_euler", "implicit", "implicitfast")
ADAPTIVE = ("auto", "dop853", "radau")


@dataclass(frozen=True)
class Mechanism:
    """One of the examples, by the name of its file."""

    key: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The names that the file defines."""
        return runpy.run_path(str(FOLDER / f"{self.key}.py"))

    @cached_property
    def robot(self) -> kt.Robot:
        """Its robot."""
        return self.data["build"]()

    @cached_property
    def accurate(self) -> kt.motion.Trajectory:
        """The run with the shortest steps that reach the end that the file has."""
        for count in reversed(STEPS):
            try:
                run = self.run({"method": "rk4", **self.steps(count)})
            except SimulationError:  # a step ended in a singular position
                continue
            if np.abs(self.data["measured"](self.robot, run)[-1] - self.data["END"]).max() < END:
                return run
        raise AssertionError(f"no steps of rk4 reach the end of {self.key}")

    @cached_property
    def reference(self) -> np.ndarray:
        """What the benchmark measures, (TIMES, ...)."""
        return self.data["measured"](self.robot, self.accurate)[1:]

    def centres(self, k: int) -> np.ndarray:
        """Centres of mass at the k-th time, (links, 3), m."""
        model, q = self.robot.model, self.accurate.q[k]
        poses = [self.robot.pose(q, name) for name in model.link_names]
        coms = np.asarray(model.com, float)
        return np.array([T[:3, :3] @ x + T[:3, 3] for T, x in zip(poses, coms, strict=True)])

    def steps(self, count: int) -> dict[str, Any]:
        """Options of so many fixed steps."""
        return {"dt": self.data["SECONDS"] / count, "every": count // TIMES}

    def run(self, options: dict[str, Any]) -> kt.motion.Trajectory:
        """Simulate; results at the times."""
        data = self.data
        return self.robot.simulate(
            data["START"], data["RATES"], duration=data["SECONDS"], tau=data["TAU"],
            limits="ignore", **options,
        )  # fmt: skip

    def measured(self, options: dict[str, Any]) -> np.ndarray:
        """What the benchmark measures, (TIMES, ...)."""
        return self.data["measured"](self.robot, self.run(options))[1:]

    def settings(self, method: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Options of a method in words and as arguments, the cheapest first."""
        if method in ADAPTIVE:
            for rtol in TOLERANCES:
                spacing = {"dt": self.data["SECONDS"] / TIMES, "atol": rtol / 100}
                yield f"rtol {rtol:.0e}", {"method": method, "rtol": rtol, **spacing}
        else:
            for count in STEPS:
                step = self.steps(count)
                yield f"dt {step['dt']:.1e} s", {"method": method, **step}

    def error(self, measure: Callable[[], np.ndarray]) -> float:
        """The largest at the times; infinite where the motion is lost."""
        try:
            return float(np.abs(measure() - self.reference).max())
        except SimulationError:
            return np.inf


def ask(robot: str, effort: Effort) -> Answer:
    """Every method on one core, and Exudyn."""
    answer, mechanism = Answer(), Mechanism(robot)
    jobs = dict[str, Job]()
    with one_core():
        for method in (*ADAPTIVE, *FIXED):
            for words, options in mechanism.settings(method):
                error = mechanism.error(lambda options=options: mechanism.measured(options))
                if error <= ACCURACY:
                    who = "kinetree" if method == "auto" else f"kinetree {method}"
                    names = {"run": mechanism.run, "options": options}
                    jobs[who] = Job("run(options)", names, lambda: None)
                    answer.notes.append(f"{TITLE}, {robot}: {who}: {words}, error {error:.1e}")
                    break
            else:
                answer.notes.append(f"{TITLE}, {robot}: {method} does not reach {ACCURACY:g}")
        try:
            jobs |= exudyn_jobs(mechanism, answer)
        except (Absent, ImportError) as missing:
            answer.notes.append(f"{TITLE}, {robot}: Exudyn is not measured: {missing}")
        effort = replace(effort, repeats=min(effort.repeats, 3))
        timings = side_by_side(jobs, effort, mechanism.data["SECONDS"])
    answer.rows += timing_rows(TITLE, robot, QUANTITY, timings)
    return answer


def exudyn_jobs(mechanism: Mechanism, answer: Answer) -> dict[str, Job]:
    """Exudyn with the longest steps that bring all bodies to their places at two times."""
    from benchmarks.peers import exudyn

    data, who = mechanism.data, "Exudyn"
    peer = exudyn.Mechanism(mechanism.robot, data["START"], data["RATES"], data["TAU"])
    size = min(1.0, float(np.abs(mechanism.centres(TIMES)).max()))
    begin = time.perf_counter()
    for count in EXUDYN_STEPS:
        if time.perf_counter() - begin > EXUDYN_SECONDS:
            raise Absent(f"it does not reach {ACCURACY:g} within {EXUDYN_SECONDS} s of trials")
        error = 0.0
        for k in COMPARED:
            try:
                peer.run(data["SECONDS"] * k / TIMES, count * k // TIMES)
            except Exception as problem:  # SolverError, of a class that the package does not export
                raise Absent(f"{count} steps: {problem}") from problem
            error = max(error, float(np.abs(peer.centres() - mechanism.centres(k)).max()) / size)
        if error <= ACCURACY:
            words = f"dt {data['SECONDS'] / count:.1e} s, error {error:.1e}"
            answer.notes.append(f"{TITLE}, {mechanism.key}: {who}: {words}")
            names = {"run": peer.run, "seconds": data["SECONDS"], "count": count}
            return {who: Job("run(seconds, count)", names, lambda: None)}
    raise Absent(f"it does not reach {ACCURACY:g} with {EXUDYN_STEPS[-1]} steps")

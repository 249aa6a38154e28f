"""Drift of simulations with constraints: the built-in four-bar, without friction.

Run `python -m benchmarks.closed_loops`; it prints the table of a record. Energies are relative to
the kinetic energy at the start, plus the largest change of the potential energy in a turn. Times
are those of the wall and show only the order of magnitude.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.machine import commit, processor, versions

CRANK, RATE = 0.5, 20.0  # rad, rad/s of the crank at the start
TURNS, STEPS = 1000, 1_000_000


@dataclass(frozen=True)
class Drift:
    """Figures of one run: turns of the crank, and the largest errors at the recorded states."""

    turns: float
    energy: float
    closure: float
    rates: float
    steps: int
    seconds: float

    def row(self, words: str) -> str:
        """A row of the table."""
        figures = f"{self.energy:.1e} | {self.closure:.1e} | {self.rates:.1e}"
        return f"| {words} | {self.turns:.0f} | {self.steps} | {figures} | {self.seconds:.0f} |"


def start(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """A state on the constraints."""
    q = kt.constraints.project(robot, [CRANK, 0.0, 0.0], keep=["crank"])
    N = kt.constraints.reduced_dynamics(robot, q, np.zeros(robot.n))[2][:, 0]
    return q, N / N[0] * RATE


def measure(robot: Any, **options: Any) -> Drift:
    """Simulate and compare energy, Phi and J dq with those of the start."""
    q, dq = start(robot)
    begin = time.perf_counter()
    motion = robot.simulate(q, dq, **options)
    seconds = time.perf_counter() - begin
    potential = robot.potential_energy(motion.q)
    energy = robot.kinetic_energy(motion.q, motion.dq) + potential
    size = float(robot.kinetic_energy(q, dq)) + float(np.ptp(potential))
    rates = np.einsum("tij,tj->ti", kt.constraints.jacobian(robot, motion.q), motion.dq)
    return Drift(
        turns=float(motion.q[-1, 0] - q[0]) / (2 * np.pi),
        energy=float(np.abs(energy - energy[0]).max()) / size,
        closure=float(motion.meta["closure"].max()),
        rates=float(np.abs(rates).max()),
        steps=int(motion.meta["steps"]),
        seconds=seconds,
    )


def main() -> None:
    """Print the table."""
    robot = kt.robots.four_bar()
    print(f"commit {commit()}, {processor()}, {versions()}")
    print("| run | turns | steps | energy | Phi, rad or m | J dq, rad/s or m/s | s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    per_turn = measure(robot, duration=20.0, method="rk4", dt=5e-4).turns / 20.0
    long = (TURNS + 5) / per_turn
    runs: dict[str, dict[str, Any]] = {
        "rk4, 0.1 ms, projected": {"duration": long, "dt": 1e-4, "method": "rk4", "every": 5000},
        "dop853, rtol = atol = 1e-12": {"duration": long, "dt": 0.5, "rtol": 1e-12, "atol": 1e-12},
    }
    for method in ("rk4", "semi_implicit_euler", "euler"):
        own = {"duration": STEPS * 2e-5, "dt": 2e-5, "method": method, "every": 500}
        runs[f"{method}, 0.02 ms, projected"] = own
        runs[f"{method}, 0.02 ms, closure_time 2 ms"] = own | {"closure_time": 2e-3}
    for words, options in runs.items():
        print(measure(robot, **options).row(words), flush=True)


if __name__ == "__main__":
    main()

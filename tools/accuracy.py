"""Measure the errors of kernels against fifty digits on the built-in robots; write a record.

python tools/accuracy.py            # prints the table and writes a dated record
"""

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from rich.progress import track

import kinetree as kt
from kinetree import dynamics

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
ROBOTS = (
    "planar_2r", "cart_pole", "scara", "spatial_3r", "puma_560", "ur5e", "panda", "iiwa_14",
    "quadruped", "humanoid",
)  # fmt: skip
EPS = float(np.finfo(float).eps)


def numbers(x: Any) -> Any:
    """The same floats as mpmath numbers, exactly."""
    x = np.asarray(x)
    return np.array([mpmath.mpf(v) for v in x.ravel().tolist()], object).reshape(x.shape)


def size(x: Any) -> float:
    """Euclidean norm."""
    return float(mpmath.sqrt(sum(mpmath.mpf(v) ** 2 for v in np.asarray(x).ravel())))


def errors(robot: kt.Robot, states: int, seed: int = 0) -> dict[str, float]:
    """Worst error of each quantity, in eps of the terms that add up to it.

    tau is the sum of M ddq, c, g and friction; ddq is read back through inverse dynamics, so that
    the condition number of M has no effect.
    """
    model, rng = robot.model, np.random.default_rng(seed)
    precise = model.astype(mpmath.mpf)
    worst = dict.fromkeys(("tau", "M", "T", "ddq"), 0.0)
    for _ in range(states):
        q = robot.random(rng=rng)
        dq, ddq = rng.normal(size=(2, robot.n))
        q_, dq_, ddq_ = map(numbers, (q, dq, ddq))
        tau_, M_ = (
            dynamics.inverse_dynamics(precise, q_, dq_, ddq_),
            dynamics.mass_matrix(precise, q_),
        )
        parts = (
            M_ @ ddq_,
            robot.coriolis_forces(q, dq),
            robot.gravity_forces(q),
            robot.friction_forces(dq),
        )
        terms = sum(size(part) for part in parts)
        T_ = dynamics.forward_kinematics(precise, q_)
        tau = robot.inverse_dynamics(q, dq, ddq)
        found = robot.forward_dynamics(q, dq, tau)
        back = dynamics.inverse_dynamics(precise, q_, dq_, numbers(found)) - numbers(tau)
        for name, difference, scale in (
            ("tau", numbers(tau) - tau_, terms),
            ("M", numbers(robot.mass_matrix(q)) - M_, size(M_)),
            ("T", numbers(robot.link_poses(q)) - T_, size(T_)),
            ("ddq", back, terms),
        ):
            worst[name] = max(worst[name], size(difference) / scale / EPS)
    return worst


def main() -> None:
    """All robots, as a table and as a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=50)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    with mpmath.workdps(50):
        for name in track(ROBOTS, "fifty digits"):
            robot = getattr(kt.robots, name)()
            rows.append({"robot": name, "joints": robot.n, **errors(robot, given.states)})
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    record = {"date": date, "states": given.states, "unit": "eps", "rows": rows}
    path = given.results / f"{date}-accuracy.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(
            row["robot"], row["joints"], *(f"{row[name]:.2f}" for name in ("tau", "M", "T", "ddq"))
        )
    print(f"written to {path.name}; now run tools/record_tables.py")


if __name__ == "__main__":
    main()

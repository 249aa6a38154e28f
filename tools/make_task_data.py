"""Make the files that the scripts of examples/tasks read: a motion, and a recording with noise.

The recording is that of the arm with friction at its joints, which 5_friction_from_data.py finds.

    python tools/make_task_data.py
"""

import csv
from pathlib import Path

import numpy as np

import kinetree as kt

FOLDER = Path(__file__).parents[1] / "examples" / "tasks"
FRICTION = {"shoulder": kt.friction.Friction(0.9, 1.2), "elbow": kt.friction.Friction(0.4, 0.6)}
HEADS = ["time", "elbow_position", "shoulder_position", "elbow_effort", "shoulder_effort"]


def main() -> None:
    """Write move.csv and recording.csv."""
    robot = kt.load(FOLDER / "arm.urdf")
    t = np.linspace(0, 2, 81)
    way = 10 * (t / 2) ** 3 - 15 * (t / 2) ** 4 + 6 * (t / 2) ** 5
    write("move.csv", HEADS[:3], [t, 2.0 * way - 0.5, 0.1 + 2.3 * way])

    true = robot.with_friction(FRICTION)
    rng = np.random.default_rng(1)
    t = np.arange(0, 16, 0.02)
    rates = 2 * np.pi * np.array([[0.13, 0.41, 0.77], [0.19, 0.53, 0.89]])
    sizes = np.array([[0.5, 0.25, 0.12], [0.7, 0.3, 0.15]])
    angle = rates[:, :, None] * t + rng.uniform(0, 2 * np.pi, (2, 3, 1))
    q = np.einsum("jk,jkt->tj", sizes, np.sin(angle)) + np.array([0.5, 0.2])
    dq = np.einsum("jk,jkt->tj", sizes * rates, np.cos(angle))
    ddq = -np.einsum("jk,jkt->tj", sizes * rates**2, np.sin(angle))
    tau = true.inverse_dynamics(q, dq, ddq) + rng.normal(0, [0.15, 0.05], q.shape)
    q = q + rng.normal(0, 2e-5, q.shape)
    columns = [t, q[:, 1], q[:, 0], tau[:, 1], tau[:, 0]]
    write("recording.csv", HEADS, columns)


def write(name: str, heads: list[str], columns: list[np.ndarray]) -> None:
    """Write columns of numbers with six decimals."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows([f"{x:.6f}" for x in row] for row in np.column_stack(columns))


if __name__ == "__main__":
    main()

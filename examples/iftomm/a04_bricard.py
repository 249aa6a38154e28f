"""IFToMM A04: Bricard's mechanism, five rods and six hinges, falls from rest for 10 s.

Rods of 1 m and 1 kg with a square section of 0.1 m. They begin along edges of a cube. Gruebler's
count has no freedom left; the axes are placed so that one remains. Measured is the position of P3.
The reference is the exact motion: every second angle is equal, a and b, and
cos a + cos b + cos a cos b = 0.
"""

import numpy as np

import kinetree as kt
from kinetree.constraints import Loop

START, RATES, TAU, SECONDS = np.zeros(5), np.zeros(5), None, 10.0
END = [0.9997309873039, -0.9999999638258, -0.0002689765122]
# direction of each rod and axis of the hinge at its beginning, in {s} at the start
RODS = [((1, 0, 0), (0, 1, 0)), ((0, -1, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0)),
        ((-1, 0, 0), (0, 1, 0)), ((0, 1, 0), (0, 0, 1))]  # fmt: skip


def build():
    """The mechanism; at q = 0 it is in its start position."""
    builder = kt.Builder("bricard", gravity=(0, -9.81, 0)).link("ground")
    parent, at = "ground", np.zeros(3)
    for k, (direction, axis) in enumerate(RODS, 1):
        u = np.array(direction, dtype=float)
        inertia = np.diag(np.where(u, 2 * 0.1**2, 1 + 0.1**2)) / 12
        builder.link(f"rod {k}", m=1, com=u / 2, I_com=inertia)
        builder.joint(f"hinge {k}", "revolute", parent, f"rod {k}", axis=axis, at=at)
        parent, at = f"rod {k}", u
    builder.frame("P3", "rod 3", (0, 0, 0)).frame("end", parent, at)
    builder.frame("hinge 6", "ground", (0, 0, 1))
    loop = {"last hinge": Loop("hinge 6", "end", "axis", axis="x")}
    return builder.build().constrained(loop, near=START, actuated=["hinge 1"])


def measured(robot, run):
    """x, y and z of P3 at each time, m."""
    return robot.pose(run.q, "P3")[..., :3, 3]


if __name__ == "__main__":
    robot = build()
    run = robot.simulate(START, RATES, duration=SECONDS, limits="ignore")
    print(kt.constraints.mobility(robot))
    print(f"error at the end: {np.abs(measured(robot, run)[-1] - END).max():.1e} m")

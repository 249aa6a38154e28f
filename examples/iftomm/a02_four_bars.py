"""IFToMM A02: N four-bar linkages in a row, of 2 N + 1 equal rods, turn over and over for 10 s.

Rods of 1 m and 1 kg; the upright ones begin with 1 rad/s. When all lie flat, the mechanism is
singular: each rod could turn on its own. Measured are x and y of the first corner and their rates.
The reference is the exact motion: all uprights turn alike, as one pendulum does.
"""

import numpy as np

import kinetree as kt
from kinetree.constraints import Loop

TAU, SECONDS = None, 10.0
# for N = 2; the uprights come first
START, RATES = np.zeros(5), np.array([-1.0, -1.0, -1.0, 1.0, 1.0])
END = [0.328458111536, 0.944518538180, 1.42305147020, -0.494868845475]
END_OF_40 = [0.180512226683, 0.983572740583, 1.14844127746, -0.210770066774]


def build(cells=2):
    """The mechanism; q = 0: uprights along y, and the rods between them along x."""
    z, rod = (0, 0, 1), np.diag([0, 1, 1]) / 12
    builder = kt.Builder(f"{cells}_four_bars", gravity=(0, -9.81, 0)).link("ground")
    for k in range(cells + 1):
        builder.link(f"upright {k}", m=1, com=(0, 0.5, 0), I_com=np.diag([1, 0, 1]) / 12)
        builder.joint(f"A{k}", "revolute", "ground", f"upright {k}", axis=z, at=(k, 0, 0))
        builder.frame(f"top {k}", f"upright {k}", (0, 1, 0))
    for k in range(cells):
        builder.link(f"rod {k}", m=1, com=(0.5, 0, 0), I_com=rod)
        builder.joint(f"B{k}", "revolute", f"upright {k}", f"rod {k}", axis=z, at=(0, 1, 0))
        builder.frame(f"end {k}", f"rod {k}", (1, 0, 0))
    loops = {f"C{k}": Loop(f"end {k}", f"top {k + 1}", "axis") for k in range(cells)}
    return builder.build().constrained(loops, near=np.zeros(2 * cells + 1), actuated=["A0"])


def measured(robot, run):
    """x and y of corner B0, m, and their rates, m/s, at each time."""
    x, y = -np.sin(run.q[..., 0]), np.cos(run.q[..., 0])
    return np.stack([x, y, -y * run.dq[..., 0], x * run.dq[..., 0]], axis=-1)


if __name__ == "__main__":
    robot = build()
    run = robot.simulate(START, RATES, duration=SECONDS)
    print(kt.constraints.mobility(robot))
    print(f"error at the end: {np.abs(measured(robot, run)[-1] - END).max():.1e} m and m/s")

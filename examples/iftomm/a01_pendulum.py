"""IFToMM A01: a mass of 1 kg on a massless bar of 1 m falls from the horizontal for 10 s.

Gonzalez and others, library of computational benchmark problems (2006). Measured are x and y of the
mass. The reference is the exact motion, in Jacobi's elliptic functions.
"""

import numpy as np

import kinetree as kt

START, RATES, TAU, SECONDS = [0.0], [0.0], None, 10.0
END = [0.2750874625762, -0.9614192050991]


def build():
    """The pendulum; at q = 0 the mass is at x = 1 m."""
    builder = kt.Builder("simple_pendulum", gravity=(0, -9.81, 0)).link("ground")
    builder.link("bar", m=1, com=(1, 0, 0))
    builder.joint("hinge", "revolute", "ground", "bar", axis=(0, 0, 1))
    return builder.frame("mass", "bar", (1, 0, 0)).build()


def measured(robot, run):
    """x and y of the mass at each time, m."""
    return robot.pose(run.q, "mass")[..., :2, 3]


if __name__ == "__main__":
    robot = build()
    run = robot.simulate(START, RATES, duration=SECONDS)
    energy = robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q)
    print(f"energy drifts by {np.ptp(energy):.1e} J")
    print(f"error at the end: {np.abs(measured(robot, run)[-1] - END).max():.1e} m")

"""IFToMM A05: a stiff flyball governor turns freely for 10 s.

A shaft, two rods with balls of 5 kg, a slider on the shaft. Springs of 8e5 N/m with dampers of
4e4 N s/m stand in place of the bars between rods and slider: the motion is stiff. Measured is s,
the height of the slider. The reference is an integration of the equations of a symmetric governor,
in shaft angle, s and rod angle, to 1e-13.
"""

import numpy as np

import kinetree as kt

START, RATES, TAU, SECONDS = [0, 0.5, np.pi / 6, np.pi / 6], [2 * np.pi, 0, 0, 0], None, 10.0
END = [0.6196229170614]
BAR, CUBE, BALL = 0.3, 3.0, 5.0  # kg: bars of 1 m x 0.01 m x 0.01 m, 3000 kg/m^3


def build():
    """The governor: angle of the shaft, height of the slider, angles of the rods below level."""
    builder = kt.Builder("governor").link("ground")
    builder.link("shaft", m=BAR, com=(0, 0, 0.5), I_com=bar(2))
    builder.joint("shaft", "revolute", "ground", "shaft", axis=(0, 0, 1))
    builder.link("slider", m=CUBE, I_com=np.eye(3) * CUBE * 0.1**2 / 6)
    builder.joint("s", "prismatic", "shaft", "slider", axis=(0, 0, 1))
    mass, com = BAR + BALL, (BAR / 2 + BALL) / (BAR + BALL)
    offsets = BAR * (com - 0.5) ** 2 + BALL * (1 - com) ** 2
    springs = {}
    for name, side in {"left": -1, "right": 1}.items():
        inertia = bar(0) + np.diag([0, offsets, offsets])
        builder.link(name, m=mass, com=(side * com, 0, 0), I_com=inertia)
        builder.joint(name, "revolute", "shaft", name, axis=(0, side, 0), at=(side * 0.05, 0, 1))
        ends = [("slider", (side * 0.05, 0, 0)), (name, (side * 0.5, 0, 0))]
        springs[f"spring {name}"] = kt.joints.Spring(8e5, rest=0.5, damping=4e4, points=ends)
    return builder.build().with_springs(springs)


def bar(axis):
    """Moments of inertia of a bar along an axis of its frame, about its centre, kg m^2."""
    moments = np.full(3, BAR * (1 + 0.01**2) / 12)
    moments[axis] = BAR * 2 * 0.01**2 / 12
    return np.diag(moments)


def measured(robot, run):
    """Height of the slider at each time, m."""
    return run.q[..., 1:2]


if __name__ == "__main__":
    robot = build()
    options = {"method": "Radau", "rtol": 1e-10, "limits": "ignore"}
    run = robot.simulate(START, RATES, duration=SECONDS, **options)
    print(f"method: {run.meta['method']}, {run.meta['steps']} steps")
    print(f"error at the end: {np.abs(measured(robot, run)[-1] - END).max():.1e} m")

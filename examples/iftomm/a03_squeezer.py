"""IFToMM A03: Andrew's squeezing mechanism, seven bodies, three loops, a spring between points.

A motor of 0.033 N m drives it through many turns within hundredths of a second. Data and the
solution at 0.03 s are those of the test set of initial value problems (Schiehlen 1990; Hairer and
Wanner, section VII.7), which has fourteen digits. Measured are the seven angles.
"""

import numpy as np

import kinetree as kt
from kinetree.constraints import Loop

A, B, C = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0), (0.014, 0.072, 0)
# body: parent, joint, its place, mass, inertia about z, centre of mass
BODIES = {
    "k1": ("base", "beta", (0, 0, 0), 0.04325, 2.194e-6, (0.00092, 0, 0)),
    "k2": ("k1", "theta", (0.007, 0, 0), 0.00365, 4.410e-7, (-0.0115, 0, 0)),
    "k3": ("base", "gamma", B, 0.02373, 5.255e-6, (0.01043, -0.01874, 0)),
    "k5": ("base", "delta", A, 0.07050, 1.169e-5, (0.02308, 0.00916, 0)),
    "k4": ("k5", "phi", (0.04, 0, 0), 0.00706, 5.667e-7, (0, -0.00579, 0)),
    "k7": ("base", "epsilon", A, 0.05498, 1.912e-5, (-0.00449, -0.01228, 0)),
    "k6": ("k7", "omega", (0, -0.04, 0), 0.00706, 5.667e-7, (0.00579, 0, 0)),
}
ENDS = {"k2": (-0.028, 0, 0), "k3": (0, -0.035, 0), "k4": (0, -0.02, 0), "k6": (0.02, 0, 0)}
START = [
    -0.0617138900142764496, 0, 0.455279819163070380, 0.487364979543842550,
    0.222668390165885885, 1.23054744454982119, -0.222668390165885885,
]  # fmt: skip
RATES, TAU, SECONDS = np.zeros(7), np.array([0.033, 0, 0, 0, 0, 0, 0]), 0.03
END = [
    15.81077119629904, -15.75637105984298, 0.04082224013073101, 0.5244099658805304,
    -0.5347301163226948, 1.048080741042263, 0.5347301163226948,
]  # fmt: skip


def build():
    """The mechanism, with a motor in `beta`."""
    builder = kt.Builder("squeezer", gravity=(0, 0, 0)).link("base")
    for name, (parent, joint, at, m, inertia, com) in BODIES.items():
        builder.link(name, m=m, com=com, I_com=np.eye(3) * inertia)
        builder.joint(joint, "revolute", parent, name, axis=(0, 0, 1), at=at)
    for name, at in ENDS.items():
        builder.frame(f"end of {name}", name, at)
    spring = kt.joints.Spring(4530, rest=0.07785, points=[("base", C), ("k3", (0.02, -0.018, 0))])
    loops = {name: Loop(f"end of {name}", "end of k2", "axis") for name in ("k3", "k4", "k6")}
    tree = builder.build().with_springs({"spring": spring})
    return tree.constrained(loops, near=START, actuated=["beta"])


def measured(robot, run):
    """The angles at each time, rad."""
    return run.q


if __name__ == "__main__":
    robot = build()
    options = {"method": "DOP853", "record": 1e-3, "limits": "ignore"}
    run = robot.simulate(START, RATES, duration=SECONDS, tau=TAU, **options)
    print(kt.constraints.mobility(robot))
    print(f"error at the end: {np.abs(measured(robot, run)[-1] - END).max():.1e} rad")

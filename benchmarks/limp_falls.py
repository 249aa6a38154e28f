"""Robots of MuJoCo Menagerie fall without motors: energy, penetration, stops and residuals.

    python -m benchmarks.limp_falls FOLDER [ROBOT ...]

FOLDER is a copy of Menagerie. Contacts are the feet of the file and corners of a box on the trunk
(links do not touch each other). Each of 50 robots starts with random joints within their limits, a
random orientation, 5 cm above the ground, with random rates, and falls for 5 s at 2 ms.
"""

import sys
from itertools import product

import numpy as np

import kinetree as kt
from kinetree.contacts import ContactPoint

STARTS, SECONDS, DT = 50, 5.0, 2e-3
HEIGHT, RATE = 0.05, 0.5  # m; rad/s and m/s
UNLIMITED = 3.0  # rad: range of joints without limits
# by robot: its file, its feet, and the link, half the size and the centre of boxes
ROBOTS = {
    "go1": ("unitree_go1", ("FL", "FR", "RL", "RR"), [("trunk", (0.19, 0.05, 0.057), (0, 0, 0))]),
    "g1": (
        "unitree_g1",
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        [
            ("torso_link", (0.08, 0.12, 0.2), (0, 0, 0.15)),
            ("pelvis", (0.06, 0.08, 0.06), (0, 0, -0.05)),
        ],
    ),
    "h1": (
        "unitree_h1",
        ("left_ankle_link", "right_ankle_link", "left_knee_link", "right_knee_link"),
        [("torso_link", (0.1, 0.15, 0.3), (0, 0, 0.3))],
    ),
    "anymal_b": (
        "anybotics_anymal_b",
        tuple(f"{leg}_SHANK 3" for leg in ("LF", "RF", "LH", "RH")),
        [("base", (0.265, 0.135, 0.12), (0, 0, 0))],
    ),
    "anymal_c": (
        "anybotics_anymal_c",
        tuple(f"{leg}_SHANK 4" for leg in ("LF", "RF", "LH", "RH")),
        [("base", (0.265, 0.135, 0.12), (0, 0, 0))],
    ),
}


def loaded(folder: str, name: str) -> kt.Robot:
    """The robot with its contacts."""
    path, feet, boxes = ROBOTS[name]
    corners = [
        ContactPoint(f"{link} {k}", link, tuple(np.array(centre) + np.array(size) * signs))
        for link, size, centre in boxes
        for k, signs in enumerate(product((-1, 1), repeat=3))
    ]
    return kt.load(f"{folder}/{path}/scene.xml").with_contacts([*feet, *corners])


def falls(robot: kt.Robot) -> str:
    """The figures of all falls as a line."""
    rng = np.random.default_rng(1)
    limits = [x.limits for x in robot.model.joints if len(x.dofs) == 1]
    low, high = (np.array([getattr(x, side) for x in limits]) for side in ("lower", "upper"))
    least, most = np.maximum(low, -UNLIMITED), np.minimum(high, UNLIMITED)
    q = np.tile(kt.dynamics.start_position(robot), (STARTS, 1))
    q[:, 7:] = least + (most - least) * rng.uniform(size=(STARTS, len(low)))
    turned = rng.normal(size=(STARTS, 4))
    q[:, :4] = turned / np.linalg.norm(turned, axis=1)[:, None]
    q = np.array([kt.contacts.on_ground(robot, x, gap=HEIGHT) for x in q])
    dq = rng.normal(size=(STARTS, robot.n)) * RATE
    motion = robot.simulate(q, dq, duration=SECONDS, dt=DT)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    risen = (energy - np.minimum.accumulate(energy, axis=0)).max(0) / np.ptp(energy, axis=0)
    gap = min(x.min() for x in motion.meta["contact_gaps"].values())
    beyond = max((low - motion.q[..., 7:]).max(), (motion.q[..., 7:] - high).max())
    residual = motion.meta["contact_residual"]
    return (
        f"energy rises by {risen.max():.1e} of its range, deepest {-gap * 1e3:.3f} mm, beyond "
        f"stops {beyond:.1e} rad, residual above 1e-8 in {np.mean(residual > 1e-8):.1e} and above "
        f"1e-4 in {np.mean(residual > 1e-4):.1e} of the steps, at most {residual.max():.1e}"
    )


if __name__ == "__main__":
    for name in sys.argv[2:] or ROBOTS:
        print(f"{name}: {falls(loaded(sys.argv[1], name))}", flush=True)

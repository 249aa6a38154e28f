"""Built-in robots, from published parameters."""

from kinetree.robots.arms import iiwa_14, panda, ur5e
from kinetree.robots.classics import (
    cart_pole,
    double_pendulum,
    planar_2r,
    puma_560,
    rp,
    scara,
    spatial_3r,
)
from kinetree.robots.hands import hand
from kinetree.robots.legged import humanoid, quadruped

__all__ = [
    "cart_pole",
    "double_pendulum",
    "hand",
    "humanoid",
    "iiwa_14",
    "panda",
    "planar_2r",
    "puma_560",
    "quadruped",
    "rp",
    "scara",
    "spatial_3r",
    "ur5e",
]

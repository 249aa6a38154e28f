"""Built-in robots, written down from published parameters."""

from kinetree.robots.classics import cart_pole, double_pendulum, puma_560, scara
from kinetree.robots.exercises import planar_2r, rp, spatial_3r

__all__ = [
    "cart_pole",
    "double_pendulum",
    "planar_2r",
    "puma_560",
    "rp",
    "scara",
    "spatial_3r",
]

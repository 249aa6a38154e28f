"""Built-in robots, from published parameters; each is imported when it is used."""

from collections.abc import Callable
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetree.robot import Robot
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
    from kinetree.robots.mechanisms import delta, five_bar, four_bar, slider_crank, two_arms

__all__ = [
    "cart_pole",
    "delta",
    "double_pendulum",
    "five_bar",
    "four_bar",
    "hand",
    "humanoid",
    "iiwa_14",
    "panda",
    "planar_2r",
    "puma_560",
    "quadruped",
    "rp",
    "scara",
    "slider_crank",
    "spatial_3r",
    "two_arms",
    "ur5e",
]

MECHANISMS = ("delta", "five_bar", "four_bar", "slider_crank", "two_arms")  # with closed loops
TREES = tuple(x for x in __all__ if x not in MECHANISMS)

_FILES = {
    "kinetree.robots.arms": ("iiwa_14", "panda", "ur5e"),
    "kinetree.robots.classics": (
        "cart_pole", "double_pendulum", "planar_2r", "puma_560", "rp", "scara", "spatial_3r",
    ),
    "kinetree.robots.hands": ("hand",),
    "kinetree.robots.legged": ("humanoid", "quadruped"),
    "kinetree.robots.mechanisms": MECHANISMS,
}  # fmt: skip


def __getattr__(name: str) -> "Callable[[], Robot]":
    for file, names in _FILES.items():
        if name in names:
            return getattr(_import_module(file), name)
    from kinetree.core.text import nearest

    raise AttributeError(
        f"there is no built-in robot {name!r}.{nearest(name, __all__)} Choose "
        f"{', '.join(__all__)}; kt.load reads others from files."
    )

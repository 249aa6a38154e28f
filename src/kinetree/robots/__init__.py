"""Built-in robots, from published parameters; each is imported when it is used."""

from collections.abc import Callable
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinetree.robot import Robot
    from kinetree.robots.arms import iiwa_14 as iiwa_14
    from kinetree.robots.arms import panda as panda
    from kinetree.robots.arms import ur5e as ur5e
    from kinetree.robots.classics import cart_pole as cart_pole
    from kinetree.robots.classics import double_pendulum as double_pendulum
    from kinetree.robots.classics import planar_2r as planar_2r
    from kinetree.robots.classics import puma_560 as puma_560
    from kinetree.robots.classics import rp as rp
    from kinetree.robots.classics import scara as scara
    from kinetree.robots.classics import spatial_3r as spatial_3r
    from kinetree.robots.hands import hand as hand
    from kinetree.robots.legged import humanoid as humanoid
    from kinetree.robots.legged import quadruped as quadruped
    from kinetree.robots.mechanisms import delta as delta
    from kinetree.robots.mechanisms import five_bar as five_bar
    from kinetree.robots.mechanisms import four_bar as four_bar
    from kinetree.robots.mechanisms import slider_crank as slider_crank
    from kinetree.robots.mechanisms import two_arms as two_arms

_FILES = {
    "arms": "iiwa_14 panda ur5e",
    "classics": "cart_pole double_pendulum planar_2r puma_560 rp scara spatial_3r",
    "hands": "hand",
    "legged": "humanoid quadruped",
    "mechanisms": "delta five_bar four_bar slider_crank two_arms",
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names.split()}
__all__ = sorted(_FILE_OF)  # pyright: ignore[reportUnsupportedDunderAll]
MECHANISMS = tuple(x for x in __all__ if _FILE_OF[x] == "mechanisms")  # with closed loops
TREES = tuple(x for x in __all__ if x not in MECHANISMS)


def __getattr__(name: str) -> "Callable[[], Robot]":
    if name in _FILE_OF:
        return getattr(_import_module(f"kinetree.robots.{_FILE_OF[name]}"), name)
    from kinetree.core.text import nearest

    raise AttributeError(
        f"there is no built-in robot {name!r}.{nearest(name, __all__)} Choose "
        f"{', '.join(__all__)}; kt.load reads others from files."
    )

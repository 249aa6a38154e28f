"""3-D and 6-D maths: rotations, poses, twists, screws, inertia; nothing about robots."""

from kinetree.spatial.inertia import box as box
from kinetree.spatial.inertia import check_physical as check_physical
from kinetree.spatial.inertia import compose as compose
from kinetree.spatial.inertia import cylinder as cylinder
from kinetree.spatial.inertia import ellipsoid as ellipsoid
from kinetree.spatial.inertia import inertia_parts as inertia_parts
from kinetree.spatial.inertia import move_body as move_body
from kinetree.spatial.inertia import physical_faults as physical_faults
from kinetree.spatial.inertia import pseudo_inertia as pseudo_inertia
from kinetree.spatial.inertia import rod as rod
from kinetree.spatial.inertia import second_moment as second_moment
from kinetree.spatial.inertia import shell as shell
from kinetree.spatial.inertia import spatial_inertia as spatial_inertia
from kinetree.spatial.inertia import sphere as sphere
from kinetree.spatial.inertia import transform_inertia as transform_inertia
from kinetree.spatial.se3 import Ad as Ad
from kinetree.spatial.se3 import ad as ad
from kinetree.spatial.se3 import exp_se3 as exp_se3
from kinetree.spatial.se3 import exp_twist as exp_twist
from kinetree.spatial.se3 import inverse as inverse
from kinetree.spatial.se3 import log_se3 as log_se3
from kinetree.spatial.se3 import pose as pose
from kinetree.spatial.se3 import screw as screw
from kinetree.spatial.se3 import screw_parts as screw_parts
from kinetree.spatial.se3 import swap_order as swap_order
from kinetree.spatial.se3 import translation as translation
from kinetree.spatial.se3 import unit_screw as unit_screw
from kinetree.spatial.so3 import cross as cross
from kinetree.spatial.so3 import exp_so3 as exp_so3
from kinetree.spatial.so3 import from_quaternion as from_quaternion
from kinetree.spatial.so3 import log_so3 as log_so3
from kinetree.spatial.so3 import quaternion as quaternion
from kinetree.spatial.so3 import rotation as rotation
from kinetree.spatial.so3 import rpy as rpy
from kinetree.spatial.so3 import skew as skew
from kinetree.spatial.so3 import unskew as unskew

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, x in [*globals().items()] if callable(x) and not name.startswith("_")
]

"""Robots of courses: exercises by points and axes, double pendulum, cart-pole, SCARA, Puma 560."""

from math import inf, pi
from typing import Any

import numpy as np

from kinetree.core.options import typed
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Limits
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.robot.tables import from_dh, from_points
from kinetree.spatial import box, rod

DOWN_Y = (0, -9.81, 0)  # gravity of the planar exercises


def planar_2r() -> Robot:
    """Planar arm of two links, 1 m and 0.8 m, turning about z; gravity along -y."""
    return from_points(
        P=[(0, 0, 0), (1, 0, 0), (1.8, 0, 0)],
        C=[(0.5, 0, 0), (1.4, 0, 0)],
        k=[(0, 0, 1), (0, 0, 1)],
        m=[22, 19],
        I_com=[np.diag([0, 0.4, 0.4]), np.diag([0, 0.3, 0.3])],
        gravity=DOWN_Y,
        name="planar 2R",
    )


def rp() -> Robot:
    """A turning arm with a sliding link along it; gravity along -y.

    q2 = d2 - 0.6 m, where d2 is the distance from the end of the first link to the centre of the
    second, less half its length: at q2 = 0 the second centre is 2.6 m from the first joint.
    """
    return from_points(
        P=[(0, 0, 0), (2, 0, 0), (3.2, 0, 0)],
        C=[(1, 0, 0), (2.6, 0, 0)],
        k=[(0, 0, 1), (1, 0, 0)],
        types=["revolute", "prismatic"],
        m=[10, 6],
        I_com=[np.diag([0, 0.4, 0.4]), np.diag([0, 0.3, 0.3])],
        gravity=DOWN_Y,
        name="RP",
    )


def spatial_3r() -> Robot:
    """Three links of 1, 0.8 and 0.35 m; the first turns about z, the others about -y at q = 0.

    The assignment prints m1 = 22 kg, but its results need 20. Its inertias diag(0.2, 0.2, 0.8)
    break the triangle inequality; they are used as printed.
    """
    frame_2 = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # turned by +90 degrees about x
    return from_points(
        P=[(0, 0, 0), (1, 0, 0), (1.8, 0, 0), (2.15, 0, 0)],
        C=[(0.5, 0, 0), (1.4, 0, 0), (1.975, 0, 0)],
        k=[(0, 0, 1), (0, -1, 0), (0, -1, 0)],
        R=[np.eye(3), frame_2, frame_2],
        m=[20, 20, 6],
        I_com=[np.diag([0.2, 0.2, 0.8]), np.diag([0.2, 0.2, 0.8]), np.diag([0.08, 0.08, 0.1])],
        gravity=(0, 0, -9.81),
        name="spatial 3R",
        unphysical="allow",
    )


@typed
def double_pendulum(m1: float = 1, m2: float = 1, l1: float = 1, l2: float = 1) -> Robot:
    """Two point masses on massless rods, hanging along -z and swinging about y.

    Args:
        m1: mass of the inner point, kg.
        m2: mass of the outer point, kg.
        l1: length of the inner rod, m.
        l2: length of the outer rod, m.
    """
    builder = Builder("double pendulum").link("base")
    builder.link("upper", m1, (0, 0, -l1)).link("lower", m2, (0, 0, -l2))
    builder.joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.joint("elbow", "revolute", "upper", "lower", at=(0, 0, -l1), axis=(0, 1, 0))
    builder.frame("tip", "lower", (0, 0, -l2), tool=True)
    return builder.build()


@typed
def cart_pole(
    m_cart: float = 1, m_pole: float = 0.1, length: float = 0.5, friction: float = 0
) -> Robot:
    """A cart on a rail along x with a uniform pole of the given length, upright at q = 0.

    Args:
        m_cart: mass of the cart, kg.
        m_pole: mass of the pole, kg.
        length: length of the pole, m.
        friction: viscous friction of the cart, N s/m.
    """
    builder = Builder("cart-pole").link("rail").link("cart", m_cart, (0, 0, 0))
    builder.link("pole", m_pole, (0, 0, length / 2), rod(m_pole, length))
    builder.joint(
        "slide", "prismatic", "rail", "cart", axis=(1, 0, 0), friction=Friction(viscous=friction)
    )
    builder.joint("hinge", "revolute", "cart", "pole", axis=(0, 1, 0))
    builder.frame("tip", "pole", (0, 0, length), tool=True)
    return builder.build()


def scara() -> Robot:
    """A four-joint SCARA of the size of table-top models: two arms, a quill, a wrist turn."""
    builder = Builder("SCARA").link("base")
    builder.link("inner", 4.0, (0.1125, 0, 0), box(4.0, 0.225, 0.1, 0.08))
    builder.link("outer", 3.0, (0.0875, 0, 0), box(3.0, 0.175, 0.09, 0.07))
    builder.link("quill", 0.5, (0, 0, -0.05), rod(0.5, 0.2))
    builder.link("wrist", 0.3, (0, 0, -0.02), box(0.3, 0.05, 0.05, 0.04))
    builder.joint("j1", "revolute", "base", "inner", limits=Limits(-2.2, 2.2, 7.5, 120))
    builder.joint(
        "j2", "revolute", "inner", "outer", at=(0.225, 0, 0), limits=Limits(-2.5, 2.5, 12, 60)
    )
    builder.joint(
        "j3", "prismatic", "outer", "quill", at=(0.175, 0, 0), limits=Limits(-0.15, 0, 1.1, 200)
    )
    builder.joint("j4", "revolute", "quill", "wrist", at=(0, 0, -0.1), limits=Limits(-6, 6, 30, 5))
    builder.frame("flange", "wrist", (0, 0, -0.04), tool=True)
    return builder.build()


# a, alpha, d, theta of the standard Denavit-Hartenberg table; mass; centre; principal moments
PUMA: list[tuple[Any, ...]] = [
    ((0, pi / 2, 0, 0), 0, (0, 0, 0), (0, 0.35, 0)),
    ((0.4318, 0, 0, 0), 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    ((0.0203, -pi / 2, 0.15005, 0), 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    ((0, pi / 2, 0.4318, 0), 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    ((0, -pi / 2, 0, 0), 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    ((0, 0, 0, 0), 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
]
# motors: gear ratio, inertia, viscous and Coulomb friction; range in deg, torque of the joint
PUMA_MOTORS: list[tuple[Any, ...]] = [
    (-62.6111, 200e-6, 1.48e-3, (0.395, 0.435), (-160, 160), 97.6),
    (107.815, 200e-6, 0.817e-3, (0.126, 0.071), (-45, 225), 186.4),
    (-53.7063, 200e-6, 1.38e-3, (0.132, 0.105), (-225, 45), 89.4),
    (76.0364, 33e-6, 71.2e-6, (11.2e-3, 16.9e-3), (-110, 170), 24.2),
    (71.923, 33e-6, 82.6e-6, (9.26e-3, 14.5e-3), (-100, 100), 20.1),
    (76.686, 33e-6, 36.7e-6, (3.96e-3, 10.5e-3), (-266, 266), 21.3),
]


def puma_560() -> Robot:
    """The Unimation Puma 560 with the parameters collected by Corke and Armstrong-Helouvry.

    Motor inertia and friction are published at the motor and referred to the joints here by the
    gear ratios; the first link is known by its inertia about the joint axis alone.
    """
    table, m, com, moments = zip(*PUMA, strict=True)
    friction = [Friction(b * r * r, _coulomb(pair, r)) for r, _, b, pair, *_ in PUMA_MOTORS]
    limits = [
        Limits(np.radians(low), np.radians(high), inf, effort)
        for *_, (low, high), effort in PUMA_MOTORS
    ]
    return from_dh(
        table,
        m=m,
        com=com,
        I_com=[np.diag(diagonal) for diagonal in moments],
        armature=[inertia * r**2 for r, inertia, *_ in PUMA_MOTORS],
        friction=friction,
        limits=limits,
        name="Puma 560",
        unphysical="allow",
    )


def _coulomb(motor: tuple[float, float], ratio: float) -> tuple[float, float]:
    """Joint friction in both directions; a negative ratio turns the motor the other way."""
    forward, backward = (abs(ratio) * value for value in motor)
    return (forward, backward) if ratio > 0 else (backward, forward)

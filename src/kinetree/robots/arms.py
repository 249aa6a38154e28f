"""Three arms of laboratories: Franka Panda, Universal Robots UR5e, KUKA LBR iiwa 14 R820."""

from math import pi
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.files.description.friction import Friction, Sigmoid
from kinetree.files.description.records import Limits
from kinetree.robot import Robot
from kinetree.robot.tables import from_dh
from kinetree.spatial import box, translation

HALF = pi / 2

# a, alpha, d, theta of the modified Denavit-Hartenberg table; mass; centre; m, rad and kg
PANDA: list[tuple[Any, ...]] = [
    ((0, 0, 0.333, 0), 4.970684, (0.003875, 0.002081, -0.04762)),
    ((0, -HALF, 0, 0), 0.646926, (-0.003141, -0.02872, 0.003495)),
    ((0, HALF, 0.316, 0), 3.228604, (0.027518, 0.039252, -0.066502)),
    ((0.0825, HALF, 0, 0), 3.587895, (-0.05317, 0.104419, 0.027454)),
    ((-0.0825, -HALF, 0.384, 0), 1.225946, (-0.011953, 0.041065, -0.038437)),
    ((0, HALF, 0, 0), 1.666555, (0.060149, -0.014117, -0.010517)),
    ((0.088, HALF, 0, 0), 0.735522, (0.010517, -0.004252, 0.061597)),
]
PANDA_FLANGE = 0.107
PANDA_INERTIA = [  # xx, yy, zz, xy, xz, yz
    (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
    (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
    (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
    (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
    (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
    (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
    (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
]
# limits of position, speed and torque; size, steepness and offset of sigmoid friction; SI units
PANDA_DRIVES: list[tuple[Any, ...]] = [
    ((-2.8973, 2.8973, 2.175, 87), (0.54615, 5.1181, 0.039533)),
    ((-1.7628, 1.7628, 2.175, 87), (0.87224, 9.0657, 0.025882)),
    ((-2.8973, 2.8973, 2.175, 87), (0.64068, 10.136, -0.04607)),
    ((-3.0718, -0.0698, 2.175, 87), (1.2794, 5.5903, 0.036194)),
    ((-2.8973, 2.8973, 2.61, 12), (0.83904, 8.3469, 0.026226)),
    ((-0.0175, 3.7525, 2.61, 12), (0.30301, 17.133, -0.021047)),
    ((-2.8973, 2.8973, 2.61, 12), (0.56489, 10.336, 0.0035526)),
]


@typed
def panda(friction: bool = False) -> Robot:
    """The Franka Emika Panda, seven joints, tool at the flange, without a hand.

    Geometry and limits: Franka Control Interface documentation. Masses, centres and inertias:
    identified by Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca, "Dynamic identification of the
    Franka Emika Panda robot with retrieval of feasible parameters using penalty-based
    optimization", RA-L 4 (2019). They reproduce the joint torques of the robot; single links
    need not look like the real ones. The height of the first centre, which no torque depends on,
    is the one that the manufacturer's own description uses.

    Args:
        friction: with the sigmoid friction that the same authors identified; False: without.
    """
    table, m, com = zip(*PANDA, strict=True)
    rubbing = [Friction(sigmoid=Sigmoid(*numbers)) for _, numbers in PANDA_DRIVES]
    return from_dh(
        table,
        m=m,
        com=com,
        I_com=[_symmetric(*entries) for entries in PANDA_INERTIA],
        convention="modified",
        tool=translation((0, 0, PANDA_FLANGE)),
        limits=[Limits(*numbers) for numbers, _ in PANDA_DRIVES],
        friction=rubbing if friction else None,
        joint_names=[f"panda_joint{k}" for k in range(1, 8)],
        link_names=[f"panda_link{k}" for k in range(1, 8)],
        base_name="panda_link0",
        name="Franka Panda",
    )


# a, alpha, d, theta of the standard Denavit-Hartenberg table; mass; centre; size of a solid box
# along the link frame; torque; m, rad, kg and N m
UR5E: list[tuple[Any, ...]] = [
    ((0, HALF, 0.1625, 0), 3.761, (0, -0.02561, 0.00193), (0.12, 0.18, 0.13), 150),
    ((-0.425, 0, 0, 0), 8.058, (0.2125, 0, 0.11336), (0.54, 0.12, 0.12), 150),
    ((-0.3922, 0, 0, 0), 2.846, (0.15, 0, 0.0265), (0.48, 0.09, 0.09), 150),
    ((0, HALF, 0.1333, 0), 1.37, (0, -0.0018, 0.01634), (0.09, 0.11, 0.09), 28),
    ((0, -HALF, 0.0997, 0), 1.3, (0, 0.0018, 0.01634), (0.09, 0.11, 0.09), 28),
    ((0, 0, 0.0996, 0), 0.365, (0, 0, -0.001159), (0.075, 0.075, 0.04), 28),
]
UR5E_JOINTS = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
UR5E_LINKS = ["shoulder", "upper_arm", "forearm", "wrist_1_link", "wrist_2_link", "wrist_3_link"]


def ur5e() -> Robot:
    """The Universal Robots UR5e, six joints, tool at the flange.

    Geometry, masses and centres: the manufacturer's article "DH parameters for calculations of
    kinematics and dynamics"; limits: its data sheet (one turn each way, 180 deg/s). The article
    calls the links' own inertias negligible and prints none; here they are APPROXIMATE, those of
    solid boxes of the outer size of the links.
    """
    table, masses, com, sizes, efforts = zip(*UR5E, strict=True)
    return from_dh(
        table,
        m=masses,
        com=com,
        I_com=[box(m, *size) for m, size in zip(masses, sizes, strict=True)],
        tool=np.eye(4),
        limits=[Limits(-2 * pi, 2 * pi, pi, effort) for effort in efforts],
        joint_names=UR5E_JOINTS,
        link_names=UR5E_LINKS,
        base_name="base",
        name="Universal Robots UR5e",
    )


# height of the joint and axis with the arm upright; mass, centre in {s} and principal moments;
# range in deg, speed in deg/s, torque in N m
IIWA = [
    (0.36, (0, 0, 1), 6.404, (0, -0.014, 0.2545), (0.069, 0.071, 0.02), 170, 85, 320),
    (0.36, (0, 1, 0), 7.89, (0, 0.003, 0.424), (0.08, 0.08, 0.01), 120, 85, 320),
    (0.78, (0, 0, 1), 2.54, (0, 0.019, 0.6905), (0.02, 0.02, 0.006), 170, 100, 176),
    (0.78, (0, -1, 0), 4.82, (0, -0.009, 0.866), (0.04, 0.03, 0.01), 120, 75, 176),
    (1.18, (0, 0, 1), 1.76, (0, -0.013, 1.0585), (0.01, 0.01, 0.01), 170, 130, 110),
    (1.18, (0, 1, 0), 2.5, (0, -0.002, 1.196), (0.007, 0.006, 0.005), 120, 135, 40),
    (1.18, (0, 0, 1), 0.42, (0, 0, 1.2706), (0.0003, 0.0003, 0.0005), 175, 135, 40),
]
IIWA_FLANGE = 1.306


def iiwa_14() -> Robot:
    """The KUKA LBR iiwa 14 R820, seven joints, upright at q = 0, tool at the flange.

    Geometry (0.36, 0.42, 0.4 and 0.126 m from the floor to the flange) and limits: KUKA's data
    sheet. KUKA publishes no inertial data; masses, centres and principal moments are those that
    Lachner, Nah and Hogan tabulate for this robot in the documentation of Exp[licit], rounded as
    there. For link 3 they print 0.06 kg m^2 about its length, which no body with the other
    moments 0.02 can have; 0.006 is used, what its mass has at a radius of 0.07 m.
    """
    from kinetree.robot.builder import Builder  # the other arms are tables

    builder = Builder("KUKA LBR iiwa 14 R820").link("link_0")
    below = 0.0
    for k, (height, axis, m, com, moments, reach, speed, effort) in enumerate(IIWA, start=1):
        builder.link(f"link_{k}", m, np.subtract(com, (0, 0, height)), np.diag(moments))
        limits = Limits(-np.radians(reach), np.radians(reach), np.radians(speed), effort)
        at = (0, 0, round(height - below, 6))
        builder.joint(
            f"joint_{k}", "revolute", f"link_{k - 1}", f"link_{k}", at=at, axis=axis, limits=limits
        )
        below = height
    builder.frame("flange", "link_7", (0, 0, round(IIWA_FLANGE - below, 6)), tool=True)
    return builder.build()


def _symmetric(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Array:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

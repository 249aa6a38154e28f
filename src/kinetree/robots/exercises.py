"""The three robots of a classic assignment, given by points, axes and inertias at q = 0."""

import numpy as np

from kinetree.robot import Robot

DOWN_Y = (0, -9.81, 0)


def planar_2r() -> Robot:
    """Planar arm of two links, 1 m and 0.8 m, turning about z; gravity along -y."""
    return Robot.from_points(
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

    q2 = d2 - 0.6 m, where d2 is the way from the end of the first link to the second's centre less
    the half length: at q2 = 0 the second centre is 2.6 m from the first joint.
    """
    return Robot.from_points(
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
    return Robot.from_points(
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

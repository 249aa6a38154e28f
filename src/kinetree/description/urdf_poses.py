"""Where things of a URDF stand: origins, frames, directions."""

import math

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.records import FrameDescription
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_values import fault, name_of, numbers, show
from kinetree.description.urdf_vocabulary import check_words
from kinetree.description.xml import Element
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import from_quaternion, rpy

FAR = 100.0  # metres; a joint or a centre of mass further away is most likely in millimetres
LARGE_ANGLE = 2 * math.pi + 0.01  # rad; a larger roll, pitch or yaw is most likely in degrees


def only(element: Element, tag: str, owner: str, findings: Findings) -> Element | None:
    """The child of that tag; of several the first counts, with a warning."""
    found = element.all(tag)
    if len(found) > 1:
        text = (
            f"{owner} has {len(found)} elements <{tag}>; the first (line {found[0].line}) counts."
        )
        findings.warn(found[1], text)
    return found[0] if found else None


def read_origin(
    element: Element | None, owner: str, findings: Findings
) -> tuple[Array | None, Array]:
    """Rotation (None: no turn) and position of an <origin>; both zero where it says nothing."""
    if element is None:
        return None, np.zeros(3)
    check_words(element, owner, findings)
    p = numbers(element, "xyz", 3, owner, (0.0, 0.0, 0.0))
    if max(map(abs, p)) > FAR:
        text = f"xyz={show(element.attributes['xyz'])} lies more than {FAR:g} m away"
        findings.warn(element, f"{owner}: {text}; lengths are in metres, are these millimetres?")
    if "quat_xyzw" in element.attributes:
        return _quaternion(element, owner, findings), np.array(p)
    angles = numbers(element, "rpy", 3, owner, (0.0, 0.0, 0.0))
    if max(map(abs, angles)) > LARGE_ANGLE:
        text = f"rpy={show(element.attributes['rpy'])} is more than a turn"
        findings.warn(element, f"{owner}: {text}; angles are in radians, are these degrees?")
    return rpy(*angles) if any(angles) else None, np.array(p)


def _quaternion(element: Element, owner: str, findings: Findings) -> Array:
    """Rotation of the attribute quat_xyzw (URDF 1.1), normalised."""
    if "rpy" in element.attributes:
        raise fault(element, owner, "<origin> has both rpy and quat_xyzw; give one of them.")
    given = numbers(element, "quat_xyzw", 4, owner)
    x, y, z, w = unit_vector(given, "quat_xyzw", element, owner, findings)
    return from_quaternion((w, x, y, z))


def unit_vector(
    given: tuple[float, ...], what: str, element: Element, owner: str, findings: Findings
) -> tuple[float, ...]:
    """`given` scaled to length 1, with a warning when it plainly is not; zero is refused."""
    largest = max(map(abs, given))
    if largest == 0:
        raise fault(element, owner, f"{what} is zero; expected a direction, such as 0 0 1.")
    scaled = [x / largest for x in given]  # first, so that tiny and huge ones keep their digits
    length = math.hypot(*scaled)
    if abs(length * largest - 1) > 1e-6:
        text = f"{what} has length {length * largest:.9g}, expected 1"
        findings.warn(element, f"{owner}: {text}; only its direction is used.")
    return given if abs(length * largest - 1) < 4e-16 else tuple(x / length for x in scaled)


def origin_pose(element: Element | None, owner: str, findings: Findings) -> Array:
    """Pose of an <origin>, shape (4, 4)."""
    R, p = read_origin(element, owner, findings)
    return pose(np.eye(3) if R is None else R, p)


def read_frame(element: Element, findings: Findings) -> FrameDescription:
    """A <frame> (Drake's addition to URDF): a named frame fixed in a link."""
    name = name_of(element, "name", "frame")
    owner = f"frame {show(name)}"
    check_words(element, owner, findings)
    p = numbers(element, "xyz", 3, owner, (0.0, 0.0, 0.0))
    angles = numbers(element, "rpy", 3, owner, (0.0, 0.0, 0.0))
    T = pose(rpy(*angles) if any(angles) else np.eye(3), np.array(p))
    return FrameDescription(name, name_of(element, "link", owner), T)

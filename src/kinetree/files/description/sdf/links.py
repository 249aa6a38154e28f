"""Links of an SDF model: mass distribution and mesh files.

SDF gives a link without <inertial> a mass of 1 kg and unit moments of inertia. These defaults are
part of the format and are used, with a warning that names the links.
"""

import numpy as np

from kinetree.base.arrays import Array, times
from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.records import Body, LinkDescription, Mesh
from kinetree.files.description.sdf.frames import Frame, between, lookup
from kinetree.files.description.sdf.parts import (
    INERTIA,
    child_of,
    flag_attribute,
    flag_of,
    number_of,
    numbers_in,
    part_of,
    read_pose,
    text_of,
)
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import Element, show
from kinetree.spatial.inertia import symmetric

DEFAULTS = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # of ixx, iyy, izz, ixy, ixz, iyz


def read_link(frame: Frame, findings: Findings) -> LinkDescription:
    """A link and the body of its <inertial>."""
    link = Part(frame.element, f"link {show(frame.name)}", findings)
    if not flag_of(link, "gravity", True):
        link.warn_together("<gravity>false</gravity> is not honoured: gravity acts on every link.")
    if flag_of(link, "kinematic"):
        link.warn_together("<kinematic>true</kinematic> is not honoured.")
    decays = [part_of(x, link.owner, findings) for x in frame.element.all("velocity_decay")]
    if any(number_of(x, "linear", 0) or number_of(x, "angular", 0) for x in decays):
        link.warn_together("<velocity_decay> is not honoured.")
    return LinkDescription(frame.name, (_body(link, frame),), frame.element.where)


def _body(link: Part, frame: Frame) -> Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    inertial = child_of(link, "inertial")
    if inertial is None:
        link.warn_together("no <inertial>: 1 kg and unit moments of inertia by the rules of SDF.")
        return Body(1.0, np.zeros(3), np.eye(3))
    if flag_attribute(inertial, "auto"):
        raise inertial.fault(
            "<inertial auto='true'> takes the mass from the shapes of the link, which is not "
            "supported; write <mass>, <pose> and <inertia> instead."
        )
    T, relative_to = read_pose(child_of(inertial, "pose"))
    if relative_to:
        what = "relative_to of <pose>"
        base = lookup(frame.scope, relative_to, inertial.element, link.owner, what)
        if np.any(np.eye(4) != between(frame, base)):
            raise inertial.fault(
                f"<pose> of <inertial> is relative to {show(relative_to)}, which is not where the "
                "link is; expected it in the frame of the link, without relative_to, since "
                "programs disagree about its meaning."
            )
    if child_of(inertial, "mass") is None:
        inertial.warn_together("no <mass>: 1 kg by the rules of SDF.")
    m = number_of(inertial, "mass", 1.0)
    if m < 0:
        raise inertial.fault(f"mass is {m:g} kg, less than zero; correct the <mass>.")
    if inertial.element.all("fluid_added_mass"):
        inertial.warn_together("<fluid_added_mass> is not honoured.")
    R, p = T[:3, :3], T[:3, 3]
    I = _inertia_matrix(inertial)
    is_turned = bool(np.any(np.eye(3) != R))
    return Body(m, p, symmetric(times(R, I, R.T)) if is_turned else I)


def _inertia_matrix(inertial: Part) -> Array:
    """The inertia about the centre, in the axes of the pose of <inertial>."""
    inertia = child_of(inertial, "inertia")
    if inertia is None:
        inertial.warn_together("no <inertia>: unit moments of inertia by the rules of SDF.")
        return np.eye(3)
    absent = [tag for tag in INERTIA[:3] if not inertia.element.all(tag)]
    if absent:
        inertia.warn_together(f"no <{'>, <'.join(absent)}>: 1 kg m^2 by the rules of SDF.")
    pairs = zip(INERTIA, DEFAULTS, strict=True)
    xx, yy, zz, xy, xz, yz = (number_of(inertia, tag, default) for tag, default in pairs)
    for tag, moment in zip(INERTIA, (xx, yy, zz), strict=False):
        if moment < 0:
            raise inertia.fault(f"<{tag}> is {moment:g} kg m^2, less than zero; correct it.")
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_meshes(frame: Frame, findings: Findings) -> list[Mesh]:
    """Mesh files of a link, for viewers; one that cannot be read is noted and skipped."""
    meshes: list[Mesh] = []
    for shape in frame.element.children:
        if shape.tag not in ("visual", "collision"):
            continue
        for mesh in (m for geometry in shape.all("geometry") for m in geometry.all("mesh")):
            try:
                T = shape_pose(shape, frame)
                part = Part(mesh, f"{shape.tag} of link {show(frame.name)}", Findings())
                x, y, z = numbers_in(part, "scale", 3, (1.0, 1.0, 1.0))
                path = text_of(part, "uri")
            except ParseError as error:
                findings.note(mesh, f"a mesh is skipped, dynamics do not need it: {error}")
                continue
            if path:
                meshes.append(Mesh(frame.name, path, T, (x, y, z), shape.tag))
    return meshes


def shape_pose(shape: Element, frame: Frame) -> Array:
    """Pose of a <visual> or <collision> in its link."""
    part = Part(shape, f"{shape.tag} of link {show(frame.name)}", Findings())
    T, relative_to = read_pose(child_of(part, "pose"))
    if not relative_to:
        return T
    base = lookup(frame.scope, relative_to, shape, part.owner, "relative_to of <pose>")
    return times(between(frame, base), T)

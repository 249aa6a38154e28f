"""Links of a URDF: mass distribution, mesh files, and frames fixed in them."""

import math

import numpy as np

from kinetree.base.arrays import Array, times
from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.records import Body, FrameDescription, LinkDescription, Mesh
from kinetree.files.description.urdf.parts import ZEROS, Part, named_part, origin_pose, read_origin
from kinetree.files.description.xml import Element, show
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import rpy

LARGE_RADIUS = 50.0  # metres; a larger radius of gyration is most likely a mistaken unit
DIAGONAL, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")


def read_link(element: Element, findings: Findings) -> LinkDescription:
    """A link and the body of its <inertial>; a link without one has no body."""
    link = named_part(element, findings)
    inertial = link.child("inertial")
    bodies = () if inertial is None else (_body(inertial),)
    return LinkDescription(element.attributes["name"], bodies, element.where)


def _body(inertial: Part) -> Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    R, p = read_origin(inertial.only("origin"))
    mass, inertia = inertial.only("mass"), inertial.only("inertia")
    if mass is None:
        inertial.warn("<inertial> has no <mass>; taken as 0 kg.")
    m = 0.0 if mass is None else mass.checked().number("value")
    if m < 0:
        text = f"mass is {m:g} kg, less than zero; no body has that. Correct the <mass>."
        raise inertial.fault(text)
    if inertia is None:
        inertial.warn("<inertial> has no <inertia>; taken as a point mass.")
        return Body(m, p, np.zeros((3, 3)))
    I = _inertia_matrix(inertia.checked())
    moment = float(np.trace(I)) / 2
    if m > 0 and moment > LARGE_RADIUS**2 * m:  # mostly moments in kg mm^2 or g mm^2
        text = f"inertia ({moment:g} kg m^2) is that of a body of {2 * math.sqrt(moment / m):.3g} m"
        inertial.warn(f"{text} for its mass of {m:g} kg; is it in kg m^2?")
    return Body(m, p, I if R is None else symmetric(times(R, I, R.T)))


def _inertia_matrix(inertia: Part) -> Array:
    """The inertia about the centre, in the axes of the inertial's origin."""
    absent = [key for key in PRODUCTS if key not in inertia.element.attributes]
    if absent:
        inertia.warn(f"<inertia> has no {', '.join(absent)}; taken as 0.")
    xx, yy, zz = (inertia.number(key) for key in DIAGONAL)
    xy, xz, yz = (inertia.number(key, 0.0) for key in PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_meshes(element: Element, findings: Findings) -> list[Mesh]:
    """Mesh files of a <link>, for viewers; one that cannot be read is noted and skipped."""
    link, meshes = element.attributes["name"], []
    for shape in element.children:
        if shape.tag not in ("visual", "collision"):
            continue
        # findings of its own: dynamics do not depend on the origin of a shape
        part = Part(shape, f"{shape.tag} of link {show(link)}", Findings())
        for mesh in (m for geometry in part.all("geometry") for m in geometry.all("mesh")):
            try:
                T = origin_pose(next(iter(part.all("origin")), None))
                x, y, z = mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
            except ParseError as error:
                text = f"a mesh is skipped, dynamics do not need it: {error}"
                findings.note(mesh.element, text)
                continue
            path = mesh.element.attributes.get("filename", "")
            if path:
                meshes.append(Mesh(link, path, T, (x, y, z), shape.tag))
    return meshes


def read_frame(element: Element, findings: Findings) -> FrameDescription:
    """A <frame> (Drake's addition to URDF): a named frame fixed in a link."""
    frame = named_part(element, findings)
    p, angles = frame.numbers("xyz", 3, ZEROS), frame.numbers("rpy", 3, ZEROS)
    T = pose(rpy(*angles) if any(angles) else np.eye(3), np.array(p))
    return FrameDescription(element.attributes["name"], frame.name("link"), T)

"""Links of a URDF: their mass distribution."""

import math

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.records import Body, LinkDescription
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_poses import only, read_origin
from kinetree.description.urdf_values import fault, name_of, number, show
from kinetree.description.urdf_vocabulary import check_words
from kinetree.description.xml import Element
from kinetree.spatial.inertia import symmetric

LARGE_RADIUS = 50.0  # metres; a larger radius of gyration is most likely a mistaken unit
DIAGONAL, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")


def read_link(element: Element, findings: Findings) -> LinkDescription:
    """A link and the body of its <inertial>; none when that is absent."""
    name = name_of(element, "name", "link")
    owner = f"link {show(name)}"
    check_words(element, owner, findings)
    inertial = only(element, "inertial", owner, findings)
    bodies = () if inertial is None else (read_inertial(inertial, owner, findings),)
    return LinkDescription(name, bodies, element.where)


def read_inertial(element: Element, owner: str, findings: Findings) -> Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    check_words(element, owner, findings)
    R, p = read_origin(only(element, "origin", owner, findings), owner, findings)
    mass = only(element, "mass", owner, findings)
    inertia = only(element, "inertia", owner, findings)
    if mass is None:
        findings.warn(element, f"{owner}: <inertial> has no <mass>; taken as 0 kg.")
        m = 0.0
    else:
        check_words(mass, owner, findings)
        m = number(mass, "value", owner)
    if m < 0:
        text = f"mass is {m:g} kg, less than zero; no body has that. Correct the <mass>."
        raise fault(element, owner, text)
    if inertia is None:
        findings.warn(element, f"{owner}: <inertial> has no <inertia>; taken as a point mass.")
        return Body(m, p, np.zeros((3, 3)))
    I = _inertia_matrix(inertia, owner, findings)
    _check_radius(element, m, I, owner, findings)
    return Body(m, p, I if R is None else symmetric(R @ I @ R.T))


def _inertia_matrix(element: Element, owner: str, findings: Findings) -> Array:
    """The inertia about the centre, in the axes of the inertial's origin."""
    check_words(element, owner, findings)
    absent = [key for key in PRODUCTS if key not in element.attributes]
    if absent:
        text = f"{owner}: <inertia> has no {', '.join(absent)}; taken as 0."
        findings.warn(element, text)
    xx, yy, zz = (number(element, key, owner) for key in DIAGONAL)
    xy, xz, yz = (number(element, key, owner, 0.0) for key in PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _check_radius(element: Element, m: float, I: Array, owner: str, findings: Findings) -> None:
    """Warn about moments that belong to a body of a hundred metres: mostly kg mm^2 or g mm^2."""
    moment = float(np.trace(I)) / 2
    if m > 0 and moment > LARGE_RADIUS**2 * m:
        text = f"inertia ({moment:g} kg m^2) is that of a body of {2 * math.sqrt(moment / m):.3g} m"
        findings.warn(element, f"{owner}: {text} for its mass of {m:g} kg; is it in kg m^2?")

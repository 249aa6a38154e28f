"""Joints of a URDF: ends, pose, axis, friction; a screw axis in the child's frame."""

from kinetree.description.joints import (
    FIXED,
    FREE,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    joint_screw,
)
from kinetree.description.records import Friction, JointDescription, Mimic
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_limits import read_limits
from kinetree.description.urdf_poses import only, origin_pose, unit_vector
from kinetree.description.urdf_values import fault, name_of, number, numbers, show
from kinetree.description.urdf_vocabulary import check_words
from kinetree.description.xml import Element

TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": FIXED,
    "floating": FREE,
    "planar": PLANAR,
}
DEFAULT_AXIS = (1.0, 0.0, 0.0)


def read_joint(element: Element, findings: Findings) -> JointDescription:
    """A joint; everything but its ends and its pose depends on its type."""
    name = name_of(element, "name", "joint")
    owner = f"joint {show(name)}"
    check_words(element, owner, findings)
    word = _type(element, owner)
    kind = TYPES[word]
    M_pc = origin_pose(only(element, "origin", owner, findings), owner, findings)
    _uncontrolled(element, findings)
    return JointDescription(
        name=name,
        type=kind,
        parent=_end(element, "parent", owner, findings),
        child=_end(element, "child", owner, findings),
        M_pc=M_pc,
        A=joint_screw(kind, _axis(element, kind, owner, findings), 0, (0, 0, 0), name),
        mimic=_mimic(element, kind, owner, findings),
        friction=_friction(element, kind, owner, findings),
        limits=read_limits(element, word, owner, findings),
        where=element.where,
    )


def _type(element: Element, owner: str) -> str:
    word = element.attributes.get("type")
    expected = f"expected one of {', '.join(TYPES)}"
    if word is None:
        raise fault(element, owner, f"<joint> has no attribute 'type'; {expected}.")
    if word not in TYPES:
        meant = word.strip().lower()
        hint = f" Was {meant!r} meant? (Case and blanks count.)" if meant in TYPES else ""
        raise fault(element, owner, f"type is {show(word)}; {expected}.{hint}")
    return word


def _end(element: Element, tag: str, owner: str, findings: Findings) -> str:
    """Name of the parent or child link."""
    found = element.all(tag)
    if len(found) != 1:
        raise fault(element, owner, f"found {len(found)} elements <{tag}>; expected one.")
    check_words(found[0], owner, findings)
    return name_of(found[0], "link", owner)


def _axis(element: Element, kind: str, owner: str, findings: Findings) -> tuple[float, ...]:
    """Unit axis of a revolute or prismatic joint; what others give is not used."""
    axis = only(element, "axis", owner, findings)
    if kind in (FIXED, FREE):
        return DEFAULT_AXIS
    if axis is None:
        if kind in SCREW_TYPES:
            findings.note(element, f"{owner} has no <axis>; the default is 1 0 0.")
        return DEFAULT_AXIS
    check_words(axis, owner, findings)
    given = numbers(axis, "xyz", 3, owner)
    if kind == PLANAR:
        if given[:2] != (0, 0):
            text = f"axis {show(axis.attributes['xyz'])} of a planar joint is not used"
            findings.warn(axis, f"{owner}: {text}; it moves in the xy-plane of its own frame.")
        return DEFAULT_AXIS
    return unit_vector(given, "axis", axis, owner, findings)


def _friction(element: Element, kind: str, owner: str, findings: Findings) -> Friction:
    """Damping and friction of <dynamics>, for joints that have one direction to rub in."""
    dynamics = only(element, "dynamics", owner, findings)
    if dynamics is None:
        return Friction()
    check_words(dynamics, owner, findings)
    viscous = number(dynamics, "damping", owner, 0.0)
    coulomb = number(dynamics, "friction", owner, 0.0)
    if kind == FIXED:
        if viscous or coulomb:
            findings.count(dynamics, "<dynamics> of a fixed joint has no effect: nothing moves")
        return Friction()
    for key, value in (("damping", viscous), ("friction", coulomb)):
        if value < 0:
            raise fault(
                dynamics, owner, f"{key} is {value:g}; expected >= 0 (it takes energy out)."
            )
    if kind in SCREW_TYPES:
        return Friction(viscous, coulomb)
    if viscous or coulomb:
        findings.warn(dynamics, f"{owner}: <dynamics> of a {kind} joint is not used.")
    return Friction()


def _mimic(element: Element, kind: str, owner: str, findings: Findings) -> Mimic | None:
    """The joint that this one follows; whether that exists is seen when all are read."""
    mimic = only(element, "mimic", owner, findings)
    if mimic is None:
        return None
    check_words(mimic, owner, findings)
    leader = name_of(mimic, "joint", owner)
    multiplier = number(mimic, "multiplier", owner, 1.0)
    offset = number(mimic, "offset", owner, 0.0)
    if kind == FIXED:
        findings.warn_together(mimic, "the joint is fixed; its <mimic> is ignored.", owner)
        return None
    if kind not in SCREW_TYPES:
        text = f"<mimic> needs a joint with one coordinate, this one is {kind}; delete <mimic>."
        raise fault(mimic, owner, text)
    if multiplier == 0:
        text = f"<mimic> has multiplier 0; the joint is locked at {offset:g}."
        findings.warn(mimic, f"{owner}: {text}")
    return Mimic(leader, multiplier, offset)


def _uncontrolled(element: Element, findings: Findings) -> None:
    """Note, once for the file, what is read by controllers and means nothing to dynamics."""
    for child in element.children:
        if child.tag in ("safety_controller", "calibration"):
            findings.count(child, f"<{child.tag}> of a joint does not affect dynamics")

"""Joints of a URDF: ends, pose, axis, friction, mimic and limits.

Limits never change the dynamics, so doubts about them are warnings. A velocity or effort limit of 0
is taken as not given: exporters write 0 where nothing was filled in, and many robot descriptions
use effort="0" for "not known". Four zeros are an empty form: no limit at all. A range of 0 to 0
beside other limits is kept. Each of these is warned about.
"""

import math
from math import inf

from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import (
    FIXED,
    FREE,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    joint_screw,
)
from kinetree.files.description.records import JointDescription, Limits, Mimic
from kinetree.files.description.urdf.parts import (
    Part,
    checked_range,
    friction_of,
    named_part,
    origin_pose,
)
from kinetree.files.description.xml import Element, show

TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": FIXED,
    "floating": FREE,
    "planar": PLANAR,
}
DEFAULT_AXIS = (1.0, 0.0, 0.0)
NO_LIMIT = 1e30  # means "no limit" outright; urdfdom needs a number, and float32 can hold this one
LIMITED = ("revolute", "prismatic")
LIMITS = ("lower", "upper", "velocity", "effort")


def read_joint(element: Element, findings: Findings) -> JointDescription:
    """A joint, its screw axis in the child's frame."""
    joint = named_part(element, findings)
    name, word = element.attributes["name"], joint.choice("type", TYPES)
    kind = TYPES[word]
    M_pc = origin_pose(joint.only("origin"))
    for child in element.children:
        if child.tag in ("safety_controller", "calibration"):
            findings.count(child, f"<{child.tag}> of a joint does not affect dynamics")
    return JointDescription(
        name=name,
        type=kind,
        parent=_end(joint, "parent"),
        child=_end(joint, "child"),
        M_pc=M_pc,
        A=joint_screw(kind, _axis(joint, kind), 0, (0, 0, 0), name),
        mimic=_mimic(joint, kind),
        friction=_friction(joint, kind),
        limits=_limits(joint, word),
        where=element.where,
    )


def _end(joint: Part, tag: str) -> str:
    """Name of the parent or child link."""
    found = joint.all(tag)
    if len(found) != 1:
        raise joint.fault(f"found {len(found)} elements <{tag}>; expected one.")
    return found[0].checked().name("link")


def _axis(joint: Part, kind: str) -> tuple[float, ...]:
    """Unit axis of a revolute or prismatic joint; joints of other types do not use it."""
    axis = joint.only("axis")
    if kind in (FIXED, FREE):
        return DEFAULT_AXIS
    if axis is None:
        if kind in SCREW_TYPES:
            joint.note("no <axis>; the default 1 0 0 is used.")
        return DEFAULT_AXIS
    given = axis.checked().numbers("xyz", 3)
    if kind == PLANAR:
        if given[:2] != (0, 0):
            text = f"axis {show(axis.element.attributes['xyz'])} of a planar joint is not used"
            axis.warn(f"{text}; it moves in the xy-plane of its own frame.")
        return DEFAULT_AXIS
    return axis.unit(given, "axis")


def _friction(joint: Part, kind: str) -> Friction:
    """Damping and friction of <dynamics>, which only joints with one coordinate can have."""
    dynamics = joint.child("dynamics")
    if dynamics is None:
        return Friction()
    viscous, coulomb = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    if kind == FIXED:
        if viscous or coulomb:
            dynamics.count("<dynamics> of a fixed joint has no effect: nothing moves")
        return Friction()
    friction = friction_of(dynamics, viscous, coulomb)
    if kind in SCREW_TYPES:
        return friction
    if viscous or coulomb:
        dynamics.warn(f"<dynamics> of a {kind} joint is not used.")
    return Friction()


def _mimic(joint: Part, kind: str) -> Mimic | None:
    """The joint that this one follows; `structure.follow` checks that it exists."""
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    leader = mimic.name("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if kind == FIXED:
        mimic.warn_together("the joint is fixed; its <mimic> is ignored.")
        return None
    if kind not in SCREW_TYPES:
        text = f"<mimic> needs a joint with one coordinate, this one is {kind}; delete <mimic>."
        raise mimic.fault(text)
    if multiplier == 0:
        mimic.warn(f"<mimic> has multiplier 0; the joint is locked at {offset:g}.")
    return Mimic(leader, multiplier, offset)


def _limits(joint: Part, word: str) -> Limits:
    """Limits of a joint of URDF type `word`; infinite where the file sets none, or `NO_LIMIT`.

    By the rules of URDF a limit that gives one of lower and upper, or neither, leaves the others
    at zero.
    """
    limit = joint.only("limit")
    if word not in (*LIMITED, "continuous"):
        return Limits()
    if limit is None:
        if word in LIMITED:
            text = f"a {word} joint needs a <limit>; without one it is taken as unlimited."
            joint.warn_together(text)
        return Limits()
    attributes = limit.checked().element.attributes
    given = {key: limit.number(key, largest=inf) for key in LIMITS if key in attributes}
    for key, value in given.items():
        none = -inf if key == "lower" else inf
        if math.copysign(value, none) == value and abs(value) >= NO_LIMIT:
            given[key] = none
            limit.count(f"limits of {NO_LIMIT:g} and beyond are taken as none")
    if set(given) == set(LIMITS) and not any(given.values()) and word in LIMITED:
        text = "<limit> has zeros only, as if it was never filled in; taken as unlimited."
        limit.warn_together(text)
        return Limits()
    for key in ("velocity", "effort"):
        if given.get(key, 0) < 0:
            limit.warn(f"{key} limit {given.pop(key):g} is negative; taken as unlimited.")
        elif given.get(key) == 0:
            given.pop(key)
            limit.warn_together(f"{key} limit 0 is taken as not given: unlimited.")
    if word == "continuous":
        ends = [given.pop(key, 0) for key in ("lower", "upper")]
        if any(ends):
            limit.note("continuous, so its lower and upper limits are ignored.")
        return Limits(**given)
    lower, upper = _range(limit, word, given)
    return Limits(lower, upper, given.get("velocity", inf), given.get("effort", inf))


def _range(limit: Part, word: str, given: dict[str, float]) -> tuple[float, float]:
    """(lower, upper), with a warning if they look wrong."""
    absent = [key for key in ("lower", "upper") if key not in given]
    lower, upper = given.get("lower", 0.0), given.get("upper", 0.0)
    if absent:
        text = f"<limit> has no {' and no '.join(absent)}; 0 by the rules of URDF."
        limit.warn_together(text)
    elif lower == upper == 0:
        limit.warn_together("lower and upper limit are both 0: the joint can only stand at 0.")
    return checked_range(limit, TYPES[word], lower, upper)

"""Transmissions of a URDF: gear reduction, and the rotor where its inertia is given."""

from dataclasses import replace

from kinetree.description.joints import SCREW_TYPES
from kinetree.description.records import JointDescription, Rotor
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_values import clip, fault, parse_numbers, show
from kinetree.description.xml import Element

INERTIA_TAGS = ("rotor_inertia", "rotorInertia")
RATIO_TAGS = ("gear_ratio", "gearRatio", "mechanicalReduction")


def add_rotors(
    elements: list[Element], joints: list[JointDescription], findings: Findings
) -> list[JointDescription]:
    """The joints with the rotors that transmissions give them, carried by the parent link.

    Inertia and ratio stand in the actuator (`drake:rotor_inertia`, `drake:gear_ratio`), the
    reduction elsewhere in the transmission. Without a rotor inertia a reduction means nothing to
    dynamics.
    """
    by_name = {joint.name: joint for joint in joints}
    for element in elements:
        owner = f"transmission {show(element.attributes.get('name', ''))}"
        names = [end.attributes.get("name", "") for end in element.all("joint")]
        for name in names:
            if name not in by_name:
                findings.warn(element, f"{owner} drives joint {show(name)}, which does not exist.")
        rotor = _rotor(element, owner)
        driven = [name for name in names if name in by_name]
        if rotor is None:
            findings.count(
                element, "transmission without rotor inertia: nothing to add to dynamics"
            )
        elif _is_simple(element, names, driven, by_name, owner, findings):
            by_name[driven[0]] = replace(by_name[driven[0]], rotor=rotor)
    return list(by_name.values())


def _is_simple(
    element: Element,
    names: list[str],
    driven: list[str],
    joints: dict[str, JointDescription],
    owner: str,
    findings: Findings,
) -> bool:
    """One actuator on one moving joint that has no rotor yet; anything else is warned about."""
    actuators = len(element.all("actuator"))
    if not driven or len(names) != 1 or actuators != 1:
        text = f"{owner} has {actuators} actuators and joints {', '.join(map(show, names)) or '-'}"
        findings.warn(element, f"{text}; expected one of each, its rotor inertia is not used.")
        return False
    joint = joints[driven[0]]
    if joint.type not in SCREW_TYPES or joint.rotor is not None:
        why = "has a rotor already" if joint.rotor else f"is {joint.type}"
        text = f"{owner}: rotor inertia is not used, joint {show(joint.name)} {why}."
        findings.warn(element, text)
        return False
    return True


def _rotor(element: Element, owner: str) -> Rotor | None:
    """Rotor of the one actuator; None when the file gives no inertia."""
    inside = [part for actuator in element.all("actuator") for part in actuator.children]
    inertia = _value(_find(inside, INERTIA_TAGS), owner)
    if inertia is None:
        return None
    if inertia < 0:
        raise fault(element, owner, f"rotor inertia is {inertia:g}; expected >= 0 kg m^2.")
    outside = [part for joint in element.all("joint") for part in joint.children]
    ratio = _value(_find([*inside, *element.children, *outside], RATIO_TAGS), owner)
    return Rotor(inertia, 1.0 if ratio is None else ratio)


def _find(elements: list[Element], names: tuple[str, ...]) -> Element | None:
    """The first element of the first of these names that occurs, with any prefix."""
    for name in names:
        for element in elements:
            if element.tag.rpartition(":")[2] == name:
                return element
    return None


def _value(element: Element | None, owner: str) -> float | None:
    """The number in the attribute `value` or in the text of an element."""
    if element is None:
        return None
    text = element.attributes.get("value", element.text)
    return parse_numbers(text, 1, f"<{clip(element.tag)}> {show(text)}", element, owner)[0]

"""<transmission> of URDF: rotors of single joints."""

from collections.abc import Mapping
from dataclasses import replace

from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.files.description.records import JointDescription, Rotor
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import Element, clip, show

INERTIA_TAGS = ("rotor_inertia", "rotorInertia")
REDUCTION_TAGS = ("mechanicalReduction", "mechanical_reduction")
RATIO_TAGS = ("gear_ratio", "gearRatio", *REDUCTION_TAGS)


def add_rotors(
    elements: list[Element], joints: list[JointDescription], findings: Findings
) -> list[JointDescription]:
    """The joints with the rotors that transmissions give them, carried by the parent link.

    Inertia and ratio stand in the actuator (`drake:rotor_inertia`, `drake:gear_ratio`), the
    reduction elsewhere in the transmission. Without a rotor inertia a reduction does not change
    the dynamics.
    """
    by_name = {joint.name: joint for joint in joints}
    for element in elements:
        owner = f"transmission {show(element.attributes.get('name', ''))}"
        part = Part(element, owner, findings)
        names = [end.attributes.get("name", "") for end in element.all("joint")]
        for name in names:
            if name not in by_name:
                findings.warn(element, f"{owner} drives joint {show(name)}, which does not exist.")
        rotor = _rotor(part)
        if rotor is None:
            part.count("transmission without rotor inertia: nothing to add to dynamics")
            continue
        joint = _driven(part, names, by_name)
        if joint is not None:
            by_name[joint.name] = replace(joint, rotor=rotor)
    return list(by_name.values())


def _driven(
    part: Part, names: list[str], joints: Mapping[str, JointDescription]
) -> JointDescription | None:
    """The one moving joint that one actuator drives; None with a warning for anything else."""
    actuators = len(part.element.all("actuator"))
    if len(names) != 1 or names[0] not in joints or actuators != 1:
        listed = f"{actuators} actuators and joints {', '.join(map(show, names)) or '-'}"
        text = f"{part.owner} has {listed}; expected one of each, its rotor inertia is not used."
        part.findings.warn(part.element, text)
        return None
    joint = joints[names[0]]
    if joint.type not in SCREW_TYPES or joint.rotor is not None:
        why = "has a rotor already" if joint.rotor else f"is {joint.type}"
        part.warn(f"rotor inertia is not used, joint {show(joint.name)} {why}.")
        return None
    return joint


def _rotor(part: Part) -> Rotor | None:
    """Rotor of the one actuator; None when the file gives no inertia."""
    element = part.element
    inside = [inner for actuator in element.all("actuator") for inner in actuator.children]
    inertia = tagged_value(part, inside, INERTIA_TAGS)
    if inertia is None:
        return None
    if inertia < 0:
        raise part.fault(f"rotor inertia is {inertia:g}; expected >= 0 kg m^2.")
    outside = [inner for joint in element.all("joint") for inner in joint.children]
    ratio = tagged_value(part, [*inside, *element.children, *outside], RATIO_TAGS)
    return Rotor(inertia, 1.0 if ratio is None else ratio)


def tagged_value(part: Part, elements: list[Element], tags: tuple[str, ...]) -> float | None:
    """The number of the first element of the first of these tags, in `value` or as its text."""
    for tag in tags:
        for element in elements:
            if element.tag.rpartition(":")[2] == tag:  # with any prefix
                written = element.attributes.get("value")
                text = element.value if written is None else written
                what = f"<{clip(element.tag)}> {show(text)}"
                return replace(part, element=element).parse(text, 1, what)[0]
    return None

"""<transmission> of URDF: rotors of single joints, or motors of coupled joints where asked for.

Angles of actuators follow from those of joints as in the library transmission_interface of ROS,
with the reductions r of the actuators and n of the joints:

    SimpleTransmission             x = r q
    DifferentialTransmission       x1 = r1 (n1 q1 + n2 q2),    x2 = r2 (n1 q1 - n2 q2)
    FourBarLinkageTransmission     x1 = r1 n1 q1,              x2 = r2 (q1 + n2 q2)

Forces follow by virtual work. (The efforts of ROS do not, for a four-bar linkage.)
"""

from collections.abc import Mapping
from dataclasses import replace

from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.files.description.records import JointDescription, Motor, Rotor
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import Element, clip, show

INERTIA_TAGS = ("rotor_inertia", "rotorInertia")
REDUCTION_TAGS = ("mechanicalReduction", "mechanical_reduction")
RATIO_TAGS = ("gear_ratio", "gearRatio", *REDUCTION_TAGS)
ENDS = {"SimpleTransmission": 1, "DifferentialTransmission": 2, "FourBarLinkageTransmission": 2}


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
    return Rotor(inertia, _ratio(part, inside))


def _ratio(part: Part, inside: list[Element]) -> float:
    """The reduction of a transmission of one joint; inside: the elements of its actuator."""
    outside = [inner for joint in part.element.all("joint") for inner in joint.children]
    ratio = tagged_value(part, [*inside, *part.element.children, *outside], RATIO_TAGS)
    return 1.0 if ratio is None else ratio


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


def read_motors(
    root: Element, joints: list[JointDescription], findings: Findings
) -> dict[str, Motor]:
    """Every transmission as motors by the names of its actuators, those of <ros2_control> too."""
    by_name = {joint.name: joint for joint in joints}
    inside = [x for control in root.all("ros2_control") for x in control.all("transmission")]
    motors: dict[str, Motor] = {}
    for element in (*root.all("transmission"), *inside):
        name = element.attributes.get("name", "")
        part = Part(element, f"transmission {show(name)}", findings)
        kind = next((x.value for x in element.children if x.tag in ("type", "plugin")), "")
        kind = kind.strip().rpartition("/")[2]
        if kind not in ENDS:
            part.warn(f"the type {show(kind)} is not read; expected one of {', '.join(ENDS)}.")
            continue
        ends, drives = (_in_order(part, tag, ENDS[kind]) for tag in ("joint", "actuator"))
        names = [x.attributes.get("name", "") for x in ends]
        wrong = [x for x in names if x not in by_name or by_name[x].type not in SCREW_TYPES]
        if wrong or len({*names}) < len(names):
            part.warn(
                f"it is left out: it drives {', '.join(map(show, names))}; expected {len(names)} "
                "joints of the file with one degree of freedom."
            )
            continue
        for drive, row in zip(drives, _rows(part, kind, ends, drives), strict=True):
            word = drive.attributes.get("name", "") or name
            word = f"{name}/{word}" if word in motors else word
            inertia = tagged_value(part, drive.children, INERTIA_TAGS) or 0.0
            if inertia < 0:
                raise part.fault(f"rotor inertia is {inertia:g}; expected >= 0 kg m^2.")
            motors[word] = Motor(dict(zip(names, row, strict=False)), inertia)
            turns = " + ".join(f"{ratio:g} {x}" for x, ratio in zip(names, row, strict=False))
            findings.note(element, f"{part.owner}: motor {show(word)} turns by {turns}.")
    return motors


def _in_order(part: Part, tag: str, count: int) -> list[Element]:
    """The joints or actuators of a transmission, by their roles joint1, joint2 if it has two."""
    elements = part.element.all(tag)
    if len(elements) != count:
        raise part.fault(f"it has {len(elements)} <{tag}>; expected {count}.")
    if count == 1:
        return elements
    roles: dict[str, Element] = {}
    for x in elements:
        inner = [role.value for role in x.all("role")]
        roles[(x.attributes.get("role") or "".join(inner)).strip()] = x
    wanted = [f"{tag}{k + 1}" for k in range(count)]
    if sorted(roles) != wanted:
        listed = ", ".join(map(show, roles))
        raise part.fault(f"<{tag}> has the roles {listed}; expected {' and '.join(wanted)}.")
    return [roles[word] for word in wanted]


def _rows(
    part: Part, kind: str, ends: list[Element], drives: list[Element]
) -> list[tuple[float, ...]]:
    """Angles of the actuators by those of the joints."""
    if kind == "SimpleTransmission":
        rows: list[tuple[float, ...]] = [(_ratio(part, drives[0].children),)]
    else:
        given = [tagged_value(part, x.children, REDUCTION_TAGS) for x in (*ends, *drives)]
        n1, n2, r1, r2 = (1.0 if x is None else x for x in given)
        differential = [(r1 * n1, r1 * n2), (r2 * n1, -r2 * n2)]
        rows = [(r1 * n1,), (r2, r2 * n2)] if kind[0] == "F" else [*differential]
    if not all(ratio for row in rows for ratio in row):
        raise part.fault("a reduction is 0; expected other numbers.")
    return rows

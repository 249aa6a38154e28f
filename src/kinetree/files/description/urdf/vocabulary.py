"""The elements and attributes of URDF, and messages about those that it does not have.

Elements for simulators, <gazebo> and <mujoco>, are not read, and never in silence: a note lists
their contents. What changes the motion of the robot in such a simulator, a spring, a link without
gravity, a joint that closes a loop, is a warning, which strict=True refuses.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from kinetree.files.description.findings import Findings, fault
from kinetree.files.description.xml import Element, clip, show

XACRO_HINT = "expand the file with xacro first, or load the .xacro file itself"


@dataclass(frozen=True)
class Known:
    """Contents of an element: children and attributes that are read, and children that are not.

    others: children for other programs, skipped without a message. matters: anything else may
    change the dynamics and is warned about.
    """

    children: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    matters: bool = False


def known_words(
    children: str = "", attributes: str = "", others: str = "", matters: bool = True
) -> Known:
    """The contents of an element, from words separated by blanks."""
    read, words, left = (frozenset(text.split()) for text in (children, attributes, others))
    return Known(read, words, left, matters)


FOREIGN = "gazebo mujoco ros2_control sensor material plugin sdf"
VOCABULARY = {
    "robot": known_words("link joint transmission frame", "name version", FOREIGN, matters=False),
    "link": known_words(
        "inertial visual collision",
        "name type",
        "contact sensor gravity kinematic self_collide audio_source surface verbose "
        "collision_checking self_collision_checking self_filter drake_compliance",
        matters=False,
    ),
    "inertial": known_words("origin mass inertia"),
    "mass": known_words("", "value"),
    "inertia": known_words("", "ixx ixy ixz iyy iyz izz"),
    "origin": known_words("", "xyz rpy quat_xyzw"),
    "joint": known_words(
        "parent child origin axis limit dynamics mimic safety_controller calibration",
        "name type dont_collapse",
    ),
    "parent": known_words("", "link"),
    "child": known_words("", "link"),
    "axis": known_words("", "xyz"),
    "dynamics": known_words("", "damping friction"),
    "mimic": known_words("", "joint multiplier offset"),
    "limit": known_words(
        "", "lower upper velocity effort acceleration deceleration jerk", matters=False
    ),
    "frame": known_words("", "name link xyz rpy", matters=False),
}
DEFINITIONS = ("link", "joint")


def check_words(element: Element, owner: str, findings: Findings) -> None:
    """Warn about children and attributes of an element that URDF does not have."""
    known = VOCABULARY[element.tag]
    for child in element.children:
        if child.tag not in known.children and child.tag not in known.others:
            _unknown_child(child, element, owner, known, findings)
    check_attributes(element, owner, known, findings)
    check_no_text(element, owner, findings)


def check_no_text(element: Element, owner: str, findings: Findings) -> None:
    """Warn about text in an element that has none."""
    if element.text.strip():
        text = f"text {show(element.text.strip())} in <{element.tag}> is not read."
        findings.warn_together(element, text, owner)


def check_attributes(element: Element, owner: str, known: Known, findings: Findings) -> None:
    """One warning or note for all attributes of an element that are not read."""
    if element.attributes.keys() <= known.attributes:
        return
    unknown = [
        key
        for key in element.attributes
        if key not in known.attributes and ":" not in key and key != "xmlns"
    ]
    if not unknown:
        return
    words, verb = ("attribute", "is") if len(unknown) == 1 else ("attributes", "are")
    names = ", ".join(map(show, unknown[:6]))
    text = f"{words} {names} of <{element.tag}> {verb} not read"
    near = "" if findings.is_full else near_word(unknown[0], known.attributes)
    if known.matters or near:
        findings.warn_together(element, f"{text}{near or '.'}", owner)
    else:
        findings.count(element, text)


def _unknown_child(
    child: Element, element: Element, owner: str, known: Known, findings: Findings
) -> None:
    tag = clip(child.tag)
    prefix, _, local = child.tag.rpartition(":")
    if prefix == "xacro":
        _xacro(child, element, owner, findings)
        return
    if local in DEFINITIONS and (prefix or element.tag != "robot"):
        text = f"<{tag}> stands inside <{element.tag}> or has a prefix; only <{local}> directly "
        raise fault(child, owner, f"{text}under <robot> is a {local}. Move or rename it.")
    if _defines(child):
        text = f"<{tag}> is not an element of URDF but holds links or joints, which would be lost; "
        raise fault(child, owner, f"{text}move them directly under <robot>.")
    near = "" if findings.is_full else near_word(local, known.children)
    misplaced = child.tag in VOCABULARY
    if near or misplaced or (known.matters and not prefix) or _sounds_like_tree(local):
        text = f"<{tag}> in <{element.tag}> is not read"
        findings.warn_together(child, f"{text}{near or '.'}", owner)
    else:
        findings.count(child, f"<{tag}> in <{element.tag}> is not read")


def _sounds_like_tree(word: str) -> bool:
    return any(part in word.lower() for part in DEFINITIONS)


def _xacro(child: Element, element: Element, owner: str, findings: Findings) -> None:
    """Warn about an unexpanded xacro element; raise if it may hold links or joints."""
    tag = clip(child.tag)
    if element.tag != "robot" or _defines(child):
        text = f"<{tag}> is an unexpanded xacro element that may hold part of the robot; "
        raise fault(child, owner, f"{text}{XACRO_HINT}.")
    text = f"unexpanded xacro elements are ignored; {XACRO_HINT}."
    findings.warn_together(child, text, f"<{tag}>")


def _defines(element: Element) -> bool:
    """Return True if links with content or joints with ends stand anywhere below."""
    waiting = list(element.children)
    while waiting:
        inner = waiting.pop()
        if inner.tag == "link" and (inner.children or element.tag.startswith("xacro:")):
            return True
        if inner.tag == "joint" and inner.all("parent") and inner.all("child"):
            return True
        waiting += inner.children
    return False


def near_word(word: str, known: frozenset[str]) -> str:
    """A hint at the word that was meant, if one is near."""
    same = [right for right in known if right == word.lower().strip()]
    close = same or get_close_matches(word[:40].lower(), sorted(known), 1, 0.8)
    return f"; was {close[0]!r} meant?" if close else ""


EXTENSIONS = ("gazebo", "mujoco")
# what changes the motion, and values that do not
OFF = {"", "0", "false"}
CHILDREN = {
    "turnGravityOff": OFF, "gravity": {"1", "true"}, "kinematic": OFF, "static": OFF,
    "springStiffness": OFF, "dampingFactor": OFF, "velocity_decay": OFF, "fluid_added_mass": OFF,
    "joint": set[str](), "link": set[str](),
}  # fmt: skip
ATTRIBUTES = {
    ("option", "gravity"): {"0 0 -9.81"}, ("option", "wind"): {"0 0 0"}, ("option", "density"): OFF,
    ("option", "viscosity"): OFF, ("compiler", "balanceinertia"): OFF,
    ("compiler", "boundmass"): OFF, ("compiler", "boundinertia"): OFF,
    ("compiler", "settotalmass"): {"-1"}, ("compiler", "inertiafromgeom"): {"false", "auto"},
}  # fmt: skip
MOST_NAMES = 8  # in one note


def note_extensions(root: Element, findings: Findings) -> None:
    """Add a note on the contents of the elements for simulators, and warn of what matters."""
    for element in root.children:
        if element.tag not in EXTENSIONS:
            continue
        names = dict.fromkeys(f"<{clip(x.tag)}>" for x in element.children)
        listed = ", ".join(list(names)[:MOST_NAMES]) + (" ..." if len(names) > MOST_NAMES else "")
        findings.count(element, f"<{element.tag}> is for simulators and is not read: {listed}")
        of = element.attributes.get("reference", "").strip()
        owner = f"<{element.tag}>{f' of {show(of)}' if of else ''}"
        for child in element.children:
            for name, value, idle in _effects(child):
                if value not in idle and not _is_zero(value, idle):
                    text = f"{name} changes the motion there and is not read."
                    findings.warn_together(child, text, owner)


def _effects(child: Element) -> list[tuple[str, str, set[str]]]:
    """Names, values and idle values of a child and its attributes that may change the motion."""
    effects = [
        (f"{key} of <{child.tag}>", " ".join(value.lower().split()), ATTRIBUTES[child.tag, key])
        for key, value in child.attributes.items()
        if (child.tag, key) in ATTRIBUTES
    ]
    if child.tag in CHILDREN:
        effects.append((f"<{child.tag}>", child.value.lower(), CHILDREN[child.tag]))
    return effects


def _is_zero(value: str, idle: set[str]) -> bool:
    try:
        return idle is OFF and float(value) == 0
    except ValueError:
        return False

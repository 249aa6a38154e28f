"""Elements of a URDF for simulators, <gazebo> and <mujoco>: not read, and never in silence.

A note lists their contents. What changes the motion of the robot in such a simulator, a spring, a
link without gravity, a joint that closes a loop, is a warning, which strict=True refuses.
"""

from kinetree.files.description.findings import Findings
from kinetree.files.description.xml import Element, clip, show

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
    found = [
        (f"{key} of <{child.tag}>", " ".join(value.lower().split()), ATTRIBUTES[child.tag, key])
        for key, value in child.attributes.items()
        if (child.tag, key) in ATTRIBUTES
    ]
    if child.tag in CHILDREN:
        found.append((f"<{child.tag}>", child.value.lower(), CHILDREN[child.tag]))
    return found


def _is_zero(value: str, idle: set[str]) -> bool:
    try:
        return idle is OFF and float(value) == 0
    except ValueError:
        return False

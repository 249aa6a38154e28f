"""Elements of a URDF for simulators, <gazebo> and <mujoco>: not read, and never in silence.

A note lists their contents. What changes the motion of the robot in such a simulator, a spring, a
link without gravity, a joint that closes a loop, is a warning, which strict=True refuses.
"""

from kinetree.files.description.findings import Findings
from kinetree.files.description.xml import Element, clip, show

EXTENSIONS = ("gazebo", "mujoco")
MOST_NAMES = 8  # in one note
# elements and attributes that change the motion, with their values that do not
ZERO = ("", "0", "false")
EFFECTS = {
    **dict.fromkeys(("turnGravityOff", "kinematic", "static", "springStiffness"), ZERO),
    **dict.fromkeys(("dampingFactor", "velocity_decay", "fluid_added_mass"), ZERO),
    **dict.fromkeys(("joint", "link"), ()),
    "gravity": ("1", "true"),
    "option.gravity": ("0 0 -9.81",),
    "option.wind": ("0 0 0",),
    **dict.fromkeys(("option.density", "option.viscosity", "compiler.balanceinertia"), ZERO),
    **dict.fromkeys(("compiler.boundmass", "compiler.boundinertia"), ZERO),
    "compiler.settotalmass": ("-1",),
    "compiler.inertiafromgeom": ("false", "auto"),
}


def note_extensions(root: Element, findings: Findings) -> None:
    """Add a note on the contents of the elements for simulators, and warn of what matters."""
    for element in (x for x in root.children if x.tag in EXTENSIONS):
        names = list(dict.fromkeys(f"<{clip(x.tag)}>" for x in element.children))
        more = " ..." if len(names) > MOST_NAMES else ""
        listed = ", ".join(names[:MOST_NAMES]) + more
        findings.count(element, f"<{element.tag}> is for simulators and is not read: {listed}")
        of = element.attributes.get("reference", "").strip()
        owner = f"<{element.tag}>{f' of {show(of)}' if of else ''}"
        for child in element.children:
            values = {child.tag: child.value} if child.tag in EFFECTS else {}
            values |= {f"{child.tag}.{key}": value for key, value in child.attributes.items()}
            for name, value in values.items():
                if name in EFFECTS and not _is_idle(value, EFFECTS[name]):
                    tag, _, key = name.partition(".")
                    what = f"{key} of <{tag}>" if key else f"<{tag}>"
                    text = f"{what} changes the motion there and is not read."
                    findings.warn_together(child, text, owner)


def _is_idle(value: str, idle: tuple[str, ...]) -> bool:
    value = " ".join(value.lower().split())
    try:
        return value in idle or (idle is ZERO and float(value) == 0)
    except ValueError:
        return False

"""Springs of a compiled MJCF model: stiffness of hinges and slides, and of tendons over joints.

MuJoCo pulls a joint towards `springref`, and a <fixed> tendon, whose length is the sum of
coefficient times position of its joints, towards `springlength`. Positions count as in q, which a
joint's `ref` shifts: a spring of `springref` 0 rests at q = 0, wherever the body is drawn. Springs
of ball and free joints, of tendons along a path (<spatial>) and with a range of slack are left out;
of springs that are not linear, the linear part is kept. `notes` names them.
"""

from math import isfinite

from kinetree.errors import ParseError
from kinetree.files.description.mjcf.compile import Compiled, unused
from kinetree.files.description.mjcf.drives import BALL, disabled
from kinetree.files.description.records import Spring

ALONG_JOINTS = 1  # MuJoCo's mjWRAP_JOINT: the element of a <fixed> tendon


def springs_of(compiled: Compiled) -> dict[str, Spring]:
    """Springs by the names of their joints and tendons; none if <option> disables springs."""
    if disabled(compiled, "SPRING"):
        return {}
    model, names = compiled.model, compiled.joint_names
    found: dict[str, Spring] = {}
    for j, name in enumerate(names):
        stiffness = float(model.jnt_stiffness[j])
        if stiffness and int(model.jnt_type[j]) > BALL:
            rest = float(model.qpos_spring[int(model.jnt_qposadr[j])])
            found[name] = _spring(stiffness, rest, None, f"joint {name!r}", compiled)
    taken = set(names)
    for t in range(model.ntendon):
        if is_spring(compiled, t):
            name = tendon_name(compiled, t)
            stiffness, rest = (
                float(model.tendon_stiffness[t]),
                float(model.tendon_lengthspring[t, 0]),
            )
            ends = coefficients(compiled, t)
            own = unused(f"tendon/{name}" if name in taken else name, taken)
            found[own] = _spring(stiffness, rest, ends, f"tendon {name!r}", compiled)
    return found


def _spring(
    stiffness: float, rest: float, joints: dict[str, float] | None, name: str, compiled: Compiled
) -> Spring:
    if not (isfinite(stiffness) and stiffness >= 0 and isfinite(rest)):
        raise ParseError(
            f"{compiled.nodes[0].file}: {name} has stiffness {stiffness:g} and rests at {rest:g}; "
            "expected finite numbers, and a stiffness >= 0."
        )
    return Spring(stiffness, rest, joints)


def is_spring(compiled: Compiled, t: int) -> bool:
    """Return True if tendon t is a spring between joints that is read."""
    model = compiled.model
    low, high = (float(x) for x in model.tendon_lengthspring[t])
    fixed = int(model.wrap_type[int(model.tendon_adr[t])]) == ALONG_JOINTS
    stiff = bool(model.tendon_stiffness[t]) and not disabled(compiled, "SPRING")
    return fixed and stiff and low == high and bool(coefficients(compiled, t))


def coefficients(compiled: Compiled, t: int) -> dict[str, float]:
    """Coefficients of the joints of a <fixed> tendon that are not zero, by name."""
    model, found = compiled.model, dict[str, float]()
    first = int(model.tendon_adr[t])
    for w in range(first, first + int(model.tendon_num[t])):
        name = compiled.joint_names[int(model.wrap_objid[w])]
        found[name] = found.get(name, 0.0) + float(model.wrap_prm[w])
    return {name: c for name, c in found.items() if c}


def tendon_name(compiled: Compiled, t: int) -> str:
    """Name of a tendon; one without name is "tendon <id>"."""
    return compiled.model.tendon(t).name or f"tendon {t}"


def unread_joint_springs(compiled: Compiled) -> list[str]:
    """Ball and free joints that have a spring."""
    if disabled(compiled, "SPRING"):
        return []
    model = compiled.model
    return [
        name
        for j, name in enumerate(compiled.joint_names)
        if int(model.jnt_type[j]) <= BALL and (model.jnt_stiffness[j] or _is_curved(compiled, j))
    ]


def curved_springs(compiled: Compiled) -> list[str]:
    """Hinges, slides and tendons whose spring is not linear, or yields."""
    if disabled(compiled, "SPRING"):
        return []
    model, names = compiled.model, compiled.joint_names
    joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) > BALL]
    tendons = [t for t in range(model.ntendon) if is_spring(compiled, t)]
    return [
        *(names[j] for j in joints if _is_curved(compiled, j)),
        *(tendon_name(compiled, t) for t in tendons if _is_curved(compiled, t, "tendon")),
    ]


def _is_curved(compiled: Compiled, k: int, kind: str = "jnt") -> bool:
    """Return True for a polynomial or plastic spring, which newer versions of MuJoCo have."""
    poly = getattr(compiled.model, f"{kind}_stiffnesspoly", None)
    yields = getattr(compiled.model, f"{kind}_springyield", None)
    stiff = bool(getattr(compiled.model, f"{kind}_stiffness")[k])
    curved = poly is not None and bool(poly[k].any())
    return curved or (stiff and yields is not None and bool(yields[k]))


def has_curved_damping(compiled: Compiled, kind: str, k: int) -> bool:
    """Return True if the damping of a "dof", "actuator" or "tendon" is not linear in the speed."""
    poly = getattr(compiled.model, f"{kind}_dampingpoly", None)  # only newer versions have it
    return poly is not None and bool(poly[k].any()) and not disabled(compiled, "DAMPER")


def has_other_effects(compiled: Compiled, t: int) -> bool:
    """Return True if tendon t changes the motion by more than a spring that is read."""
    model = compiled.model
    others = ("damping", "frictionloss", "armature", "limited")
    slack = not is_spring(compiled, t) and not disabled(compiled, "SPRING")
    others = (*others, "stiffness") if slack else others
    found = any(getattr(model, f"tendon_{x}")[t] for x in others)
    curved = slack and _is_curved(compiled, t, "tendon")
    return found or curved or has_curved_damping(compiled, "tendon", t)
